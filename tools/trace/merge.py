"""Spans of a trace as the blocks that are drawn: narrow neighbours become one."""

from collections import defaultdict

from read_trace import KINDS, TRANSFERS

MOST_SHAPES = 30_000  # About 4 MB of SVG; more, and blocks are merged more coarsely.
LONGEST_MERGED = 16  # Times what is merged: long enough to be few, short enough to show changes.


class Block:
    """A span, or some that are too narrow to be drawn one by one."""

    def __init__(self, span, is_narrow):
        self.first = span
        self.begin, self.end = span.begin, span.end
        self.busy = span.end - span.begin
        self.count = 1
        self.is_narrow = is_narrow

    def takes(self, span, grain):
        return (
            self.is_narrow
            and span.begin - self.end < grain
            and span.end - self.begin < LONGEST_MERGED * grain
        )

    def take(self, span):
        self.end = max(self.end, span.end)
        self.busy += span.end - span.begin
        self.count += 1

    def coverage(self):
        return min(1.0, self.busy / (self.end - self.begin)) if self.end > self.begin else 1.0

    def title(self):
        if self.count > 1:
            took = f"{duration_text(self.busy)} in {duration_text(self.end - self.begin)}"
            return f"{self.count} times {self.first.kind}: {took}"
        parts = [f"{self.first.name}: {duration_text(self.first.duration)}"]
        if self.first.kind in TRANSFERS:
            parts.append(bytes_text(self.first.bytes))
        if self.first.node:
            parts.append(f"for {self.first.node}")
        return ", ".join(parts)


def merge(spans, grain):
    """Spans of one kind as blocks: neighbours that are shorter than the grain become one."""
    blocks = []
    for span in spans:
        is_narrow = span.end - span.begin < grain
        if is_narrow and blocks and blocks[-1].takes(span, grain):
            blocks[-1].take(span)
        else:
            blocks.append(Block(span, is_narrow))
    return blocks


def merge_rows(rows, grain):
    """Gives every row its blocks. Returns how many they are."""
    for row in rows:
        kinds = defaultdict(list)
        for span in row.spans:
            kinds[span.kind].append(span)
        row.blocks = {kind: merge(kinds[kind], grain) for kind in KINDS if kind in kinds}
    return sum(len(blocks) for row in rows for blocks in row.blocks.values())


def merge_to_fit(rows, pixel, duration):
    """As `merge_rows`, by the time that a pixel shows, or more where the drawing gets too large."""
    while merge_rows(rows, pixel) > MOST_SHAPES and pixel < duration:
        pixel *= 2


def duration_text(ms):
    return f"{ms:.3f} ms" if ms >= 1 else f"{1000 * ms:.3g} µs"


def bytes_text(count):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
