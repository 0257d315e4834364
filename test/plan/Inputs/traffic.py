"""traffic.py EINSUMC: what every algorithm sends for a matrix product, against closed formulas.

Execution tests hold what programs send equal to what einsumc predicts; this holds the prediction
equal to the literature's count, in elements over all ranks: a tensor of which each rank of an axis
of q ranks needs what one of them stores is sent q - 1 times; sums likewise.
"""

import itertools
import json
import subprocess
import sys

EINSUMC = sys.argv[1]
M, N, K = 720, 360, 1440
A, B, C = M * K, K * N, M * N


def predicted(algorithm, ranks, einsum="mk,kn->mn", sizes=(K, M, N)):
    """Bytes of f32 that are sent, and the grid."""
    output = subprocess.run(
        [EINSUMC, "--einsum", einsum, "--sizes", ",".join(map(str, sizes)), f"--ranks={ranks}",
         f"--algorithm=out={algorithm}", "--emit=json"],
        check=True, stdout=subprocess.PIPE, text=True).stdout
    node = json.loads(output)["nodes"][-1]
    grid = [int(extent) for extent in node["schedule"].split("]")[0][1:].split(",")]
    return node["predicted_bytes"], grid


# By algorithm: the extents of its grid -> elements.
FORMULAS = {
    "local": lambda p: 0,
    "ring_m": lambda p: (p - 1) * B,
    "ring_n": lambda p: (p - 1) * A,
    "ring_k": lambda p: (p - 1) * C,
    "tp1d": lambda p: 0,
    "reduce_k": lambda p: (p - 1) * C,
    "tp2d": lambda a, b: (a - 1) * C,
    "cannon": lambda a, b: (b - 1) * A + (a - 1) * B,
    "summa": lambda a, b: (b - 1) * A + (a - 1) * B,
    "one_sided": lambda a, b: (b - 1) * A + (a - 1) * B,
    "summa_a": lambda a, b: (a - 1) * B + (b - 1) * C,
    "summa_b": lambda a, b: (a - 1) * C + (b - 1) * A,
    "summa_3d": lambda a, b, c: (b - 1) * A + (a - 1) * B + (c - 1) * C,
    "cube_3d": lambda a, b, c: (b - 1) * A + (a - 1) * B + (c - 1) * C,
    "summa_25d": lambda a, b, c: (b - 1) * A + (a - 1) * B + (c - 1) * C,
    "cannon_25d": lambda a, b, c: (b - 1) * A + (a - 1) * B + (c - 1) * C,
    "tesseract": lambda a, b, c: (b - 1) * A + (a - 1) * c * B,
    "rotating": lambda a, b: a * (b - 1) * B,
    # A and C go to and fro in parts; B, which all need, is there.
    "master_worker": lambda p: (A + C) * (p - 1) / p,
}


def check(algorithm, ranks):
    sent, grid = predicted(algorithm, ranks)
    expected = 4 * FORMULAS[algorithm.split("(")[0]](*grid)
    if abs(sent - expected) > 1e-9 * expected:
        sys.exit(f"{algorithm} on {grid} sends {sent} bytes, expected {expected}")


def main():
    squares, cubes = (1, 4, 9, 16), (1, 8)
    for algorithm in FORMULAS:
        counts = {"cannon": squares, "cube_3d": cubes}.get(algorithm, (1, 2, 3, 4, 6, 8, 9, 16))
        for ranks in counts:
            check(algorithm, ranks)
    # Parts cost no more, and neither does which dim chunks are cut along or how they move.
    for algorithm, ranks in itertools.product(
            ("ring_m(pace=3)", "ring_m(t=n)", "ring_n(t=m,pace=2)", "ring_k(t=m,pace=5)",
             "summa(grid=4x2)", "summa(grid=8x1,pace=2)", "one_sided(grid=2x4)", "rotating(grid=2x4)",
             "rotating(grid=4x2)", "summa_3d(grid=4x2x1)"), (8,)):
        check(algorithm, ranks)
    # The best known for a square product (MB a rank) on so many ranks, when memory does not limit.
    for algorithm, ranks, best in (("cannon", 4, 33.6), ("summa", 4, 33.6), ("one_sided", 4, 33.6),
                                   ("summa_3d", 8, 25.2), ("summa_25d", 8, 25.2),
                                   ("cannon_25d", 8, 25.2), ("cannon", 9, 29.8),
                                   ("summa", 9, 29.8), ("one_sided", 9, 29.8),
                                   ("summa_3d(grid=4x2x2)", 16, 21.0),
                                   ("summa_25d(grid=4x2x2)", 16, 21.0)):
        sent, _ = predicted(algorithm, ranks, sizes=(4096, 4096, 4096))
        if sent / ranks / 1e6 > best + 0.05:
            sys.exit(f"{algorithm} on {ranks} ranks sends {sent / ranks / 1e6} MB a rank")
    # A dim of all tensors is cut without messages.
    sent, _ = predicted("dist_c", 6, "bmk,bkn->bmn", (7, 10, 11, 12))
    if sent != 0:
        sys.exit("dist_c sends messages")


main()
