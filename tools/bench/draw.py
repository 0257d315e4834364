"""Contractions drawn at random, for run.py."""

import math
import random

MOST_DIMS = 9
LONGEST = 501  # indices of a dim
MOST_FLOPS = 8e9
ELEMENTS = (2e6, 1e8)  # of all three tensors together
CLASSES = ["mac", "nbc", "kab", "cabc"]  # of a dim: its name, and the tensors that have it
WEIGHTS = [3, 3, 3, 1]


def contractions(seed, count):
    """As many pairs of an einsum and its sizes: of 3 to 9 dims of odd extents, each in two of the
    tensors or, more seldom, in all three, and in any order; as large as ELEMENTS and MOST_FLOPS
    say."""
    source = random.Random(seed)
    drawn = []
    while len(drawn) < count:
        dims = "abcdefghi"[:source.randint(3, MOST_DIMS)]
        classes = dict(zip(dims, source.choices(CLASSES, WEIGHTS, k=len(dims))))
        # Extents as even in the logarithm as the number of dims allows.
        longest = max(4.0, min(LONGEST, 2 * ELEMENTS[1] ** (1.5 / len(dims))))
        sizes = {dim: 2 * int(math.exp(source.uniform(math.log(2), math.log(longest))) / 2) + 1
                 for dim in dims}
        tensors = [[dim for dim in dims if tensor in classes[dim][1:]] for tensor in "abc"]
        elements = sum(math.prod(sizes[dim] for dim in tensor) for tensor in tensors)
        has_all = {"m", "n", "k"} <= {of[0] for of in classes.values()}
        fits = (ELEMENTS[0] <= elements <= ELEMENTS[1] and
                2 * math.prod(sizes.values()) <= MOST_FLOPS)
        if not (has_all and fits):
            continue
        for tensor in tensors:
            source.shuffle(tensor)
        a, b, c = ("".join(tensor) for tensor in tensors)
        drawn.append((f"{a},{b}->{c}", ",".join(f"{dim}={sizes[dim]}" for dim in dims)))
    return drawn
