"""The drawing of a trace: a band for every rank, with its rows and their blocks over time."""

import math
from typing import NamedTuple

from merge import duration_text, merge_to_fit
from svg import Canvas

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

LEFT, RIGHT = 130, 150  # Margins, for names and for summaries.
BAND_GAP = 7
LETTER = 6.0  # Width of one at 10 px, at most nearly always.
RULES = """\
.rank { font-size: 11px; font-weight: 600; fill: #15202b; }
.row { font-size: 9px; fill: #77838f; }
.much { fill: #c4121f; font-weight: 600; }
.note { fill: #c4121f; }
.even { fill: #f1f3f6; }
.odd { fill: #e6eaef; }
.boundary { stroke: #5b6875; stroke-width: 1; }
.waiting { fill: #e0202d; fill-opacity: 0.16; }
""" + "".join(f".{kind} {{ fill: {colour}; }}\n" for kind, colour in COLOURS.items())


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
        self.canvas = Canvas(RULES)

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
