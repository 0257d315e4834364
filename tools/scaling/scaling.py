#!/usr/bin/env python3
"""scaling.py [OPTION]...: simulates how programs scale, and brings docs/scaling.md up to date.

Runs einsumc-sim on the cases below for 1 to 65,536 ranks of `cluster-100g`, draws the parts of the
peak that they reach as SVGs beside docs/scaling.md, and writes the tables between the marks of its
text. Takes some minutes on two cores. Needs a build (build/release); nothing is measured, so the
machine may be busy.
"""

import argparse
import concurrent.futures
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "trace"))
from svg import Canvas  # noqa: E402 (of tools/trace)

PLANNED = "planned"
GEMM = ["ring_m", "cannon", "summa", "summa_3d", "summa_25d", "reduce_k"]
# What is tried on whole trees: a name holds for every node that has the dims.
TREES = ["summa", "cannon", "summa_3d", "tp1d", "reduce_k", "ring_m"]


class Point(NamedTuple):
    """One simulation."""

    text: str  # of the .ein file
    ranks: int
    algorithm: str
    topology: str


class Plot(NamedTuple):
    name: str
    title: str
    ranks: list
    lines: dict  # name -> list of shares of the peak, None where it does not run, by `ranks`


def matrix_product(extent):
    return (f"dim m = {extent}, n = {extent}, k = {extent};\ninput A[m, k];\ninput B[k, n];\n"
            "output C[m, n] = A[m, k] * B[k, n];\n")


def example(name, extents):
    """An example's tree with other extents."""
    with open(os.path.join(ROOT, "examples", name, "tree.ein")) as file:
        text = file.read()
    for dim, extent in extents.items():
        text, count = re.subn(rf"\b{dim} = \d+", f"{dim} = {extent}", text)
        if count != 1:
            sys.exit(f"scaling.py: {name} has no dim {dim}")
    return text


def coupled_cluster(scale):
    """Flops grow with the sixth power of the scale, from 32 occupied and 128 virtual orbitals."""
    occupied, virtual = round(32 * scale), round(128 * scale)
    return example("ccsd-terms", dict.fromkeys("ijkl", occupied) | dict.fromkeys("abcd", virtual))


def tucker(scale):
    """Flops grow with the third power of the scale."""
    return example("tucker-image", {"h": round(6000 * scale), "w": round(5120 * scale),
                                    "p": round(600 * scale), "q": round(512 * scale)})


def thesis(scale):
    """Flops grow with the third power of the scale."""
    return example("thesis-contraction", {"m0": round(85 * scale), "n0": round(95 * scale),
                                          "k0": round(25 * scale), "c0": 48})


# The tree for a scale, the power of the scale that flops grow with, the scale of strong scaling.
EXAMPLES = {"ccsd-terms": (coupled_cluster, 6, 2), "tucker-image": (tucker, 3, 10),
            "thesis-contraction": (thesis, 3, 4)}


def torus(ranks):
    """As near to a cube as the nodes of two ranks, a power of two, factor."""
    power = max(0, round(math.log2(max(1, ranks // 2))))
    return "torus:" + "x".join(str(2 ** ((power + i) // 3)) for i in (2, 1, 0))


class Simulator:
    def __init__(self, options):
        self.ranks = [4**power for power in range(9) if 4**power <= options.most]
        self.program = os.path.join(options.build, "bin", "einsumc-sim")
        self.known = {}
        self.pool = concurrent.futures.ThreadPoolExecutor(options.jobs)

    def run(self, point):
        with tempfile.NamedTemporaryFile("w", suffix=".ein") as file:
            file.write(point.text)
            file.flush()
            command = [self.program, file.name, f"--ranks={point.ranks}", "--machine=cluster-100g",
                       f"--topology={point.topology}", "--json", "--busiest=0"]
            if point.algorithm != PLANNED:
                command.append(f"--algorithm=*={point.algorithm}")
            result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode == 1:  # The algorithm needs another number of ranks, or other dims.
            return None
        if result.returncode != 0:
            sys.exit(f"scaling.py: {' '.join(command)} failed:\n{result.stderr}")
        simulation = json.loads(result.stdout)
        return simulation["efficiency"] if simulation["fits_memory"] else None

    def all(self, points):
        """The shares of the peak of points; those known already are not simulated again."""
        missing = [point for point in dict.fromkeys(points) if point not in self.known]
        self.known.update(zip(missing, self.pool.map(self.run, missing)))
        return [self.known[point] for point in points]


def line(simulator, tree, algorithm, topology):
    """\\param tree, topology functions of the number of ranks"""
    return simulator.all([Point(tree(ranks), ranks, algorithm, topology(ranks))
                          for ranks in simulator.ranks])


def best_of(lines):
    """By ranks, the largest of those that there are."""
    return [max((share for share in shares if share is not None), default=None)
            for shares in zip(*lines)]


def gemm_plots(simulator):
    def weak(ranks):
        return matrix_product(round(16384 * ranks ** (1 / 3)))

    def strong(ranks):
        return matrix_product(131072)

    def plot(name, title, tree, topology=lambda ranks: "full"):
        lines = {algorithm: line(simulator, tree, algorithm, topology)
                 for algorithm in [PLANNED, *GEMM]}
        return Plot(name, title, simulator.ranks, lines)

    yield plot("gemm-strong", "C = A B of extents 131,072, fixed", strong)
    yield plot("gemm-weak", "C = A B, as many flops on every rank", weak)
    yield plot("gemm-torus", "The same on a three-dimensional torus", weak, torus)
    yield plot("gemm-ring", "The same on a ring of nodes", weak, lambda ranks: "ring")


def example_plots(simulator):
    def plot(name, title, trees):
        lines = {}
        for example_name, tree in trees.items():
            tried = [line(simulator, tree, algorithm, lambda ranks: "full")
                     for algorithm in [PLANNED, *TREES]]
            lines[example_name] = best_of(tried)
            lines[f"{example_name}, planned"] = tried[0]
        return Plot(name, title, simulator.ranks, lines)

    def weak(make, power):
        return lambda ranks: make(ranks ** (1 / power))

    def strong(make, scale):
        return lambda ranks: make(scale)

    yield plot("examples-strong", "Examples with grown extents, fixed",
               {name: strong(make, scale) for name, (make, _, scale) in EXAMPLES.items()})
    yield plot("examples-weak", "Examples that grow with the ranks",
               {name: weak(make, power) for name, (make, power, _) in EXAMPLES.items()})


COLOURS = ["#15202b", "#c4121f", "#2f6fb3", "#2e8b57", "#d98c00", "#7b4ea3", "#1aa3a3"]
LEFT, TOP, WIDTH, HEIGHT, LEGEND = 50, 34, 480, 260, 190


def draw(plot):
    """The shares over the ranks, on a logarithmic axis."""
    canvas = Canvas()
    most = max((share for line in plot.lines.values() for share in line if share), default=0.1)
    top = max(1, math.ceil(most * 10)) / 10

    def place(index, share):
        return LEFT + WIDTH * index / max(1, len(plot.ranks) - 1), TOP + HEIGHT * (1 - share / top)

    canvas.text(LEFT, 20, plot.title, "title")
    for tick in range(round(top * 10) + 1):
        y = place(0, tick / 10)[1]
        canvas.line(LEFT, y, LEFT + WIDTH, y, "grid")
        canvas.text(LEFT - 6, y + 3, f"{tick * 10} %", "end")
    for index, ranks in enumerate(plot.ranks):
        canvas.text(place(index, 0)[0], TOP + HEIGHT + 15, f"{ranks:,}", "middle")
    canvas.text(LEFT + WIDTH / 2, TOP + HEIGHT + 32, "ranks; shares of the peak, simulated",
                "middle")
    for number, (name, shares) in enumerate(plot.lines.items()):
        is_pair = "examples" in plot.name  # the best and the planned line of an example
        colour = COLOURS[(number // 2 + 1 if is_pair else number) % len(COLOURS)]
        dashes = ' stroke-dasharray="5 4"' if PLANNED in name else ""
        points = [place(i, share) for i, share in enumerate(shares) if share is not None]
        draw_line(canvas, points, colour, dashes)
        y = TOP + 8 + 16 * number
        draw_line(canvas, [(LEFT + WIDTH + 14, y), (LEFT + WIDTH + 34, y)], colour, dashes)
        canvas.text(LEFT + WIDTH + 40, y + 3, name)
    return canvas.svg(LEFT + WIDTH + LEGEND, TOP + HEIGHT + 44)


def draw_line(canvas, points, colour, dashes):
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    canvas.add(f'<polyline points="{corners}" fill="none" stroke="{colour}" stroke-width="2"'
               f"{dashes}/>")
    for x, y in points:
        canvas.add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>')


def table(plot):
    def cell(share):
        return "" if share is None else f"{100 * share:.1f}"

    rows = ["| % of the peak | " + " | ".join(f"{ranks:,}" for ranks in plot.ranks) + " |",
            "| --- |" + " ---: |" * len(plot.ranks)]
    rows += [f"| {name} | " + " | ".join(map(cell, shares)) + " |"
             for name, shares in plot.lines.items()]
    return "\n".join(rows)


def update_text(path, plots):
    with open(path) as file:
        text = file.read()
    for plot in plots:
        begin, end = f"<!-- {plot.name} -->\n", f"\n<!-- end of {plot.name} -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            sys.exit(f"scaling.py: {path} has no place for {plot.name}")
        head, rest = text.split(begin)
        text = head + begin + table(plot) + end + rest.split(end)[1]
    with open(path, "w") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"),
                        help="build directory (default: build/release)")
    parser.add_argument("--jobs", type=int, default=2, help="simulations at a time (default: 2)")
    parser.add_argument("--docs", default=os.path.join(ROOT, "docs"),
                        help="folder of scaling.md (default: docs)")
    parser.add_argument("--most", type=int, default=65536, help="ranks (default: 65536)")
    options = parser.parse_args()
    simulator = Simulator(options)
    plots = []
    for plot in [*gemm_plots(simulator), *example_plots(simulator)]:
        with open(os.path.join(options.docs, "scaling", f"{plot.name}.svg"), "w") as file:
            file.write(draw(plot))
        plots.append(plot)
        print(plot.title, table(plot), sep="\n", end="\n\n")
    update_text(os.path.join(options.docs, "scaling.md"), plots)


if __name__ == "__main__":
    main()
