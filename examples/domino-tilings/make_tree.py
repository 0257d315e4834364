"""Writes tree.ein: the tilings of an N x N board by dominoes as a tensor network.

Every cell is a tensor with a dim for each neighbour: 1 where exactly one of its dims is 1 (the
cell shares its domino with that neighbour), otherwise 0. The sum of the product of all cells over
all dims counts the tilings.
"""

import pathlib

N = 8


def cell(row, column):
    """The dims of a cell: up, left, right, down, as far as there are neighbours."""
    dims = []
    if row > 0:
        dims.append(f"v{row - 1}{column}")
    if column > 0:
        dims.append(f"h{row}{column - 1}")
    if column < N - 1:
        dims.append(f"h{row}{column}")
    if row < N - 1:
        dims.append(f"v{row}{column}")
    return dims


lines = [
    f"# The domino tilings of the {N}x{N} board. Written by make_tree.py.",
    "dtype f64;",
    "dim " + ", ".join(f"h{r}{c} = 2" for r in range(N) for c in range(N - 1)) + ";",
    "dim " + ", ".join(f"v{r}{c} = 2" for r in range(N - 1) for c in range(N)) + ";",
    "",
    "# Cells with two, three and four neighbours.",
    "input Corner[h00, v00];",
    "input Edge[h00, h01, v01];",
    "input Inner[v01, h10, h11, v11];",
    "",
]
name = {2: "Corner", 3: "Edge", 4: "Inner"}
rows = []
for r in range(N):
    factors = [f"{name[len(cell(r, c))]}[{', '.join(cell(r, c))}]" for c in range(N)]
    rows.append(" * ".join(factors))
lines.append("output Tilings[] =\n    " + "\n  * ".join(rows) + ";")
pathlib.Path(__file__).with_name("tree.ein").write_text("\n".join(lines) + "\n")
