"""Writes tree.ein: the partition function of the Ising model on an L x L torus.

One dim of extent 2 a spin, one factor exp(K s s') a bond: every spin's dim stands in four factors.
"""

import pathlib

L = 6


def spin(row, column):
    return f"s{row % L}{column % L}"


lines = [
    f"# The partition function of the Ising model on a {L}x{L} torus. Written by make_tree.py.",
    "dtype f64;",
    "dim " + ", ".join(f"{spin(r, c)} = 2" for r in range(L) for c in range(L)) + ";",
    "",
    "input Bond[s00, s01];  # exp(K s s')",
    "",
]
rows = []
for r in range(L):
    across = [f"Bond[{spin(r, c)}, {spin(r, c + 1)}]" for c in range(L)]
    down = [f"Bond[{spin(r, c)}, {spin(r + 1, c)}]" for c in range(L)]
    rows.append(" * ".join(across) + "\n  * " + " * ".join(down))
lines.append("output Z[] =\n    " + "\n  * ".join(rows) + ";")
pathlib.Path(__file__).with_name("tree.ein").write_text("\n".join(lines) + "\n")
