#!/usr/bin/env python3
"""Draws a trace (--trace of an einsumc program) as one SVG timeline, and sums up every rank.

A rank is a band: a row for every thread, then thin rows of what it sends and receives. The pale
stripes across a band are where its thread 0 waits. Point at anything to see what it is.

A line for every rank says how long its thread 0 computed and waited, how long transfers were under
way, and how much of that was hidden: thread 0 neither waited then nor was in an exchange.
"""

import argparse
import json
import math
import re
import sys
from collections import defaultdict
from html import escape
from pathlib import Path
from typing import NamedTuple

# Of what fills rows: colours, in the order of painting, what is within something else later.
COLOURS = {
    "step": "#cfe0f3",
    "exchange": "#f3cf7c",
    "kernel": "#3f78b5",
    "pack": "#86b6dc",
    "reduce": "#7d63ab",
    "wait": "#e0202d",
    "send": "#3c9a5f",
    "receive": "#27a5a5",
}
COMPUTE = ("step", "kernel", "pack", "reduce")
TRANSFERS = ("send", "receive")

MOST_SHAPES = 30_000  # About 4 MB of SVG; more, and blocks are merged more coarsely.
LONGEST_MERGED = 16  # Times what is merged: long enough to be few, short enough to show changes.
LATEST = 1e9  # ms, so that any two times can be told apart.


class Failure(Exception):
    """What the user is told before the program ends with status 1."""


# --- Reading -------------------------------------------------------------------------------------


class Span(NamedTuple):
    """An event, in ms."""

    kind: str
    begin: float
    end: float
    duration: float  # also when only a part of it is shown
    name: str
    node: str  # the name of the node's result; empty: none
    bytes: float  # of a transfer


class Row:
    """What one thread did, or transfers of one kind that do not overlap."""

    def __init__(self, name, spans):
        self.name = name
        self.spans = spans  # by begin
        self.blocks = {}  # by kind: what is drawn


class Rank:
    def __init__(self, number, name):
        self.number = number
        self.name = name
        self.nodes = []
        self.threads = []
        self.transfers = {kind: [] for kind in TRANSFERS}

    def rows(self):
        return self.threads + self.transfers["send"] + self.transfers["receive"]


class Trace(NamedTuple):
    about: dict  # program, dropped_events, ...
    ranks: list  # by number


def compact(record):
    """The JSON objects of complete events as (rank, row, span), as soon as each is read: a large
    trace has millions. Others as they are."""
    if record.get("ph") != "X":
        return record
    try:
        begin, duration = float(record["ts"]) / 1000, float(record["dur"]) / 1000
        args = record.get("args", {})
        span = Span(
            sys.intern(record["cat"]),
            begin,
            begin + duration,
            duration,
            sys.intern(record["name"]),
            sys.intern(args.get("node", "")),
            float(args.get("bytes", 0)),
        )
        place = (int(record["pid"]), int(record["tid"]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise Failure(f"not an event of an einsumc program: {json.dumps(record)[:200]}") from None
    if not (abs(begin) <= LATEST and 0 <= duration <= LATEST):
        raise Failure(f"an event without a proper time: {json.dumps(record)[:200]}")
    return (*place, span)


def read_trace(file):
    try:
        with open(file, encoding="utf-8") as text:
            content = json.load(text, object_hook=compact)
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise Failure(f"{file}: not a JSON file: {error}") from None
    except Failure as failure:
        raise Failure(f"{file}: {failure}") from None
    events = content.get("traceEvents") if isinstance(content, dict) else None
    if not isinstance(events, list):
        raise Failure(f"{file}: not a trace: it has no list of traceEvents")
    about = content.get("otherData")
    trace = Trace(about if isinstance(about, dict) else {}, build_ranks(events))
    if not trace.ranks:
        raise Failure(f"{file}: a trace without events")
    return trace


def build_ranks(events):
    """The ranks with what happens on them, from the file's events."""
    names, rows = {}, defaultdict(list)
    for event in events:
        if isinstance(event, tuple):
            rank, row, span = event
            rows[rank, row].append(span)
        elif isinstance(event, dict):
            names |= name_in(event)

    ranks = {}
    for number, row in sorted(rows):
        if number not in ranks:
            ranks[number] = Rank(number, names.get((number, None), f"rank {number}"))
        add_row(ranks[number], names.get((number, row), f"thread {row}"), rows[number, row])
    return list(ranks.values())


def name_in(event):
    """If the event names a rank or one of its rows: by (rank, row or None) the name."""
    match event:
        case {"name": "process_name", "pid": int(pid), "args": {"name": str(name)}}:
            return {(pid, None): name}
        case {"name": "thread_name", "pid": int(pid), "tid": int(tid), "args": {"name": str(name)}}:
            return {(pid, tid): name}
    return {}


def add_row(rank, name, spans):
    """What kind of row it is its spans say. Threads without any are not shown."""
    rank.nodes += (span for span in spans if span.kind == "node")
    rest = sorted((span for span in spans if span.kind in COLOURS), key=lambda span: span.begin)
    if rest and rest[0].kind in TRANSFERS:
        rank.transfers[rest[0].kind].append(Row(name, rest))
    elif rest or rank.nodes:
        rank.threads.append(Row(name, rest))


# --- What is shown -------------------------------------------------------------------------------


def select_ranks(trace, wanted):
    if wanted is None:
        return trace
    missing = sorted(wanted - {rank.number for rank in trace.ranks})
    if missing:
        raise Failure(f"the trace has no rank {missing[0]}")
    return trace._replace(ranks=[rank for rank in trace.ranks if rank.number in wanted])


def time_range(trace, begin, end):
    """The times to show: those given, else from the first event or to the last."""
    spans = [s for rank in trace.ranks for row in rank.rows() for s in row.spans]
    spans += (s for rank in trace.ranks for s in rank.nodes)
    first, last = min(s.begin for s in spans), max(s.end for s in spans)
    begin = first if begin is None else begin
    end = last if end is None else end
    if not any(s.begin <= end and s.end >= begin for s in spans):
        raise Failure(f"nothing happens then: the trace is from {first:g} to {last:g} ms")
    return begin, end if end > begin else begin + 1e-3


def clip(spans, begin, end):
    return [
        span._replace(begin=max(span.begin, begin), end=min(span.end, end))
        for span in spans
        if span.end > begin and span.begin < end
    ]


def clip_ranks(trace, begin, end):
    for rank in trace.ranks:
        rank.nodes = clip(rank.nodes, begin, end)
        for row in rank.rows():
            row.spans = clip(row.spans, begin, end)


# --- Summary -------------------------------------------------------------------------------------


def union(spans):
    """Disjoint intervals, by begin, that cover what the spans cover."""
    result = []
    for begin, end in sorted((span.begin, span.end) for span in spans):
        if result and begin <= result[-1][1]:
            result[-1][1] = max(result[-1][1], end)
        else:
            result.append([begin, end])
    return result


def length(intervals):
    return sum(end - begin for begin, end in intervals)


def common_length(some, others):
    """How long two sequences of disjoint intervals overlap."""
    total, i, j = 0.0, 0, 0
    while i < len(some) and j < len(others):
        total += max(0.0, min(some[i][1], others[j][1]) - max(some[i][0], others[j][0]))
        if some[i][1] < others[j][1]:
            i += 1
        else:
            j += 1
    return total


class Summary:
    """Of one rank, in ms of thread 0 and of transfers."""

    def __init__(self, rank):
        first = rank.threads[0].spans if rank.threads else []
        transfers = union(s for rows in rank.transfers.values() for row in rows for s in row.spans)
        busy_with_messages = union(s for s in first if s.kind in ("wait", "exchange"))
        self.compute = length(union(s for s in first if s.kind in COMPUTE))
        self.wait = length(union(s for s in first if s.kind == "wait"))
        self.transfer = length(transfers)
        self.hidden = self.transfer - common_length(transfers, busy_with_messages)

    def hidden_share(self):
        return f"{percent(self.hidden, self.transfer)} hidden" if self.transfer > 0 else ""

    def line(self, rank, duration):
        parts = [
            f"compute {self.compute:.3f} ms ({percent(self.compute, duration)})",
            f"wait {self.wait:.3f} ms ({percent(self.wait, duration)})",
            f"transfers {self.transfer:.3f} ms" + (", " if self.transfer > 0 else ""),
        ]
        return f"{rank.name}: {', '.join(parts)}{self.hidden_share()}"


def percent(part, whole):
    return f"{100 * part / whole:.0f} %"


# --- Merging -------------------------------------------------------------------------------------


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
        row.blocks = {kind: merge(kinds[kind], grain) for kind in COLOURS if kind in kinds}
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


# --- Drawing -------------------------------------------------------------------------------------

LEFT, RIGHT = 130, 150  # Margins, for names and for summaries.
BAND_GAP = 7
LETTER = 6.0  # Width of one at 10 px, at most nearly always.
STYLE = """
text { font-family: system-ui, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', sans-serif;
       font-size: 10px; fill: #33404d; }
.title { font-size: 16px; font-weight: 600; fill: #15202b; }
.rank { font-size: 11px; font-weight: 600; fill: #15202b; }
.row { font-size: 9px; fill: #77838f; }
.much { fill: #c4121f; font-weight: 600; }
.note { fill: #c4121f; }
.middle { text-anchor: middle; }
.end { text-anchor: end; }
.even { fill: #f1f3f6; }
.odd { fill: #e6eaef; }
.grid { stroke: #c9d0d8; stroke-width: 1; stroke-opacity: 0.6; }
.boundary { stroke: #5b6875; stroke-width: 1; }
.waiting { fill: #e0202d; fill-opacity: 0.16; }
"""


class Heights(NamedTuple):
    """In px: of the row of a thread, and of all rows of sends, and of all of receives."""

    thread: float
    transfers: float

    @staticmethod
    def of(trace):
        threads = sum(len(rank.threads) for rank in trace.ranks)
        for most, heights in ((24, Heights(16, 10)), (64, Heights(10, 9)), (200, Heights(6, 4))):
            if threads <= most:
                return heights
        return Heights(4, 3)


class Canvas:
    """Text of an SVG, which grows downwards."""

    def __init__(self):
        self.parts = []

    def add(self, text):
        self.parts.append(text)

    def rect(self, x, y, width, height, title="", style=""):
        tooltip = f"<title>{xml(title)}</title>" if title else ""
        self.add(
            f'<rect x="{x:.2f}" y="{y:.1f}" width="{max(width, 0.6):.2f}" height="{height:.1f}"'
            f"{style}>{tooltip}</rect>"
        )

    def line(self, x0, y0, x1, y1, style):
        self.add(f'<line class="{style}" x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"/>')

    def text(self, x, y, text, style="", title=""):
        tooltip = f"<title>{xml(title)}</title>" if title else ""
        self.add(f'<text class="{style}" x="{x:.1f}" y="{y:.1f}">{xml(text)}{tooltip}</text>')

    def svg(self, width, height):
        kinds = "".join(f".{kind} {{ fill: {colour}; }}\n" for kind, colour in COLOURS.items())
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:.0f}" '
            f'viewBox="0 0 {width} {height:.0f}">\n<style>{STYLE}{kinds}</style>\n'
            '<rect width="100%" height="100%" fill="#ffffff"/>'
        )
        return "\n".join([head, *self.parts, "</svg>\n"])


def xml(text):
    """Names are the user's: what XML does not allow at all is replaced."""
    return re.sub("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", escape(text))


class Drawing:
    def __init__(self, trace, summaries, begin, end, width):
        self.trace = trace
        self.summaries = summaries
        self.begin, self.end = begin, end
        self.width = width
        self.heights = Heights.of(trace)
        self.scale = (width - LEFT - RIGHT) / (end - begin)
        self.rows = [row for rank in trace.ranks for row in rank.rows()]
        merge_to_fit(self.rows, 1 / self.scale, end - begin)
        self.canvas = Canvas()

    def x(self, time):
        return LEFT + (time - self.begin) * self.scale

    def draw(self):
        self.draw_head()
        top = 86
        self.draw_node_names(top)
        y = top + 8
        for rank in self.trace.ranks:
            self.draw_rank(rank, y)
            y += self.band_height(rank) + BAND_GAP
        self.draw_axis(top - 18, y)
        return self.canvas.svg(self.width, y + 26)

    def draw_head(self):
        about = self.trace.about
        program = str(about.get("program", "")) or "einsumc program"
        shown = len(self.trace.ranks)
        count = about.get("ranks", shown)
        ranks = ("" if count == shown else f"{shown} of ") + f"{count} rank" + "s" * (count != 1)
        took = duration_text(self.end - self.begin)
        self.canvas.text(12, 24, f"{program} on {ranks}, {took}", "title")
        if about.get("dropped_events"):
            note = f"{about['dropped_events']} events were dropped: there was no room"
            self.canvas.text(self.width - 12, 24, note, "note end")
        x = 12
        kinds = {kind for row in self.rows for kind in row.blocks}
        for kind in (kind for kind in COLOURS if kind in kinds):
            self.canvas.rect(x, 37, 11, 11, style=f' class="{kind}"')
            self.canvas.text(x + 15, 46, kind)
            x += 15 + LETTER * len(kind) + 18

    def draw_axis(self, y, bottom):
        """Grid lines too: over everything, as nothing is finer than they are."""
        step = tick_step((self.end - self.begin) / max(1, (self.width - LEFT - RIGHT) // 100))
        decimals = max(0, -math.floor(math.log10(step)))
        for i in range(math.ceil(self.begin / step), math.floor(self.end / step * (1 + 1e-12)) + 1):
            x = self.x(i * step)
            self.canvas.line(x, y + 4, x, bottom, "grid")
            for at in (y, bottom + 12):
                self.canvas.text(x, at, f"{i * step:.{decimals}f}", "middle")
        for at in (y, bottom + 12):
            self.canvas.text(self.width - RIGHT + 22, at, "ms")

    def draw_node_names(self, y):
        """Of the first rank, as far as there is room; boundaries are in the bands."""
        for node in self.trace.ranks[0].nodes:
            room = int(((node.end - node.begin) * self.scale - 4) / LETTER)
            self.canvas.text(self.x(node.begin) + 2, y, shorten(node, room), title=node.name)

    def band_height(self, rank):
        kinds = sum(1 for rows in rank.transfers.values() if rows)
        content = len(rank.threads) * self.heights.thread + kinds * self.heights.transfers
        return max(content, 14)

    def draw_rank(self, rank, y):
        height = self.band_height(rank)
        self.canvas.add(f'<g id="rank-{rank.number}">')
        self.canvas.text(12, y + 11, f"rank {rank.number}", "rank", title=rank.name)
        self.draw_summary(self.summaries[rank.number], y + 11)
        self.draw_nodes(rank, y, height)
        self.draw_waits(rank, y, height)
        for thread in rank.threads:
            self.draw_row(thread, y + 0.5, self.heights.thread - 1)
            self.draw_row_name(thread.name, y, self.heights.thread)
            y += self.heights.thread
        for kind, rows in rank.transfers.items():
            for i, row in enumerate(rows):
                part = self.heights.transfers / len(rows)
                gap = min(0.5, part / 8)
                self.draw_row(row, y + i * part + gap, part - 2 * gap)
            if rows:
                self.draw_row_name(kind + "s", y, self.heights.transfers)
                y += self.heights.transfers
        self.canvas.add("</g>")

    def draw_row_name(self, name, y, height):
        if height >= 9:
            self.canvas.text(LEFT - 6, y + height / 2 + 3, name, "row end")

    def draw_summary(self, summary, y):
        share = summary.wait / (self.end - self.begin)
        x = self.width - RIGHT + 8
        style = "much" if share >= 0.1 else ""
        self.canvas.text(x, y, f"wait {100 * share:.0f} %", style)
        self.canvas.text(x + 62, y, summary.hidden_share())

    def draw_nodes(self, rank, y, height):
        for i, node in enumerate(rank.nodes):
            title = f"{node.name}: {duration_text(node.duration)}"
            style = ' class="{}"'.format("odd" if i % 2 else "even")
            width = (node.end - node.begin) * self.scale
            self.canvas.rect(self.x(node.begin), y, width, height, title, style)
            x = self.x(node.begin)
            self.canvas.line(x, y - 3, x, y + height + 3, "boundary")

    def draw_waits(self, rank, y, height):
        """Across the whole band, as waits are what one looks for."""
        if not rank.threads:
            return
        for block in rank.threads[0].blocks.get("wait", []):
            x, width = self.x(block.begin), (block.end - block.begin) * self.scale
            self.canvas.rect(x, y, width, height, style=' class="waiting"')

    def draw_row(self, row, y, height):
        for kind, blocks in row.blocks.items():
            self.canvas.add(f'<g class="{kind}">')
            for block in blocks:
                x, width = self.x(block.begin), (block.end - block.begin) * self.scale
                self.canvas.rect(x, y, width, height, block.title(), opacity(block.coverage()))
            self.canvas.add("</g>")


def opacity(coverage):
    """Of merged blocks: as dense as they are, but not invisible."""
    return f' opacity="{max(0.25, coverage):.2f}"' if coverage < 0.99 else ""


def shorten(node, room):
    """A node's einsum, its beginning, the name of its result, or nothing."""
    if len(node.name) <= room:
        return node.name
    if room >= max(8, len(node.node) + 4):
        return node.name[: room - 1] + "…"
    return node.node if len(node.node) <= room else ""


def tick_step(least):
    """The next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * 0.999)


# --- The command line ----------------------------------------------------------------------------


def ranks_of(text):
    """`0-3,7` as a set."""
    result = set()
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise argparse.ArgumentTypeError(f"expected ranks as in 0-3,7, not '{text}'")
        result.update(range(first, last + 1))
    return result


def milliseconds(text):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not abs(value) <= LATEST:
        raise argparse.ArgumentTypeError(f"expected a time in ms, not '{text}'")
    return value


def pixels(text):
    if not re.fullmatch(r"\d{3,5}", text) or int(text) < 500:
        raise argparse.ArgumentTypeError(f"expected 500 to 99999 pixels, not '{text}'")
    return int(text)


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="einsumc-trace",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("trace", metavar="TRACE.json")
    parser.add_argument("-o", dest="output", metavar="FILE", help="default: TRACE.svg")
    parser.add_argument("--width", type=pixels, default=1400, help="in pixels; default: 1400")
    parser.add_argument("--from", dest="begin", type=milliseconds, metavar="MS")
    parser.add_argument("--to", dest="end", type=milliseconds, metavar="MS")
    parser.add_argument("--ranks", type=ranks_of, help="such as 0-3,7; default: all")
    arguments = parser.parse_args()
    if arguments.begin is not None and arguments.end is not None:
        if arguments.begin >= arguments.end:
            parser.error("--from must be before --to")
    if arguments.output is None:
        arguments.output = arguments.trace.removesuffix(".json") + ".svg"
    if Path(arguments.output) == Path(arguments.trace):
        parser.error("the drawing would overwrite the trace: name another file with -o")
    return arguments


def write(file, text):
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}") from None


def run(arguments):
    trace = select_ranks(read_trace(arguments.trace), arguments.ranks)
    begin, end = time_range(trace, arguments.begin, arguments.end)
    clip_ranks(trace, begin, end)
    summaries = {rank.number: Summary(rank) for rank in trace.ranks}
    write(arguments.output, Drawing(trace, summaries, begin, end, arguments.width).draw())
    sys.stdout.reconfigure(errors="replace")  # Names are anyone's.
    for rank in trace.ranks:
        print(summaries[rank.number].line(rank, end - begin))


def main():
    try:
        run(parse_arguments())
    except Failure as failure:
        sys.exit(f"einsumc-trace: {failure}")


if __name__ == "__main__":
    main()
