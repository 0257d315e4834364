"""Cases drawn at random, for run.py."""

import math
import random
import sys

KINDS = ("random:", "narrow:", "unary:")  # how names that `read` knows begin
MOST_DIMS = 9
LONGEST = 501  # indices of a dim
MOST_FLOPS = 8e9
ELEMENTS = (2e6, 1e8)  # of all tensors together
# Of a dim: its name, and the tensors that have it.
CLASSES = ["mac", "nbc", "kab", "cabc"]
WEIGHTS = [3, 3, 3, 1]
UNARY_CLASSES = ["mac", "ka"]
UNARY_WEIGHTS = [4, 1]


def cases(kind, seed, count):
    """As many pairs of an einsum and its sizes, whose dims have odd extents and are in any order:
    `random`, contractions of 3 to 9 dims, each in two of the tensors or, more seldom, in all three,
    that have rows, columns and sums; `narrow`, those of 2 to 9 dims that lack rows, columns or sums
    (matrix-vector, outer and element-wise products); `unary`, permutations and sums of one tensor.
    As large as ELEMENTS and MOST_FLOPS say."""
    source = random.Random(seed)
    names, weights = (UNARY_CLASSES, UNARY_WEIGHTS) if kind == "unary" else (CLASSES, WEIGHTS)
    drawn = []
    while len(drawn) < count:
        dims = "abcdefghi"[:source.randint(3 if kind == "random" else 2, MOST_DIMS)]
        classes = dict(zip(dims, source.choices(names, weights, k=len(dims))))
        # Extents as even in the logarithm as the number of dims allows.
        longest = max(4.0, min(LONGEST, 2 * ELEMENTS[1] ** (1.5 / len(dims))))
        sizes = {dim: 2 * int(math.exp(source.uniform(math.log(2), math.log(longest))) / 2) + 1
                 for dim in dims}
        tensors = [[dim for dim in dims if tensor in classes[dim][1:]] for tensor in "abc"]
        elements = sum(math.prod(sizes[dim] for dim in tensor) for tensor in tensors)
        has_all = {"m", "n", "k"} <= {of[0] for of in classes.values()}
        fits = (ELEMENTS[0] <= elements <= ELEMENTS[1] and
                2 * math.prod(sizes.values()) <= MOST_FLOPS)
        if not fits or has_all != (kind == "random"):
            continue
        for tensor in tensors:
            source.shuffle(tensor)
        a, b, c = ("".join(tensor) for tensor in tensors)
        drawn.append((f"{a}->{c}" if kind == "unary" else f"{a},{b}->{c}",
                      ",".join(f"{dim}={sizes[dim]}" for dim in dims)))
    return drawn


def read(name):
    """The cases that a name like `random:SEED:COUNT` stands for, as (name, einsum, sizes)."""
    try:
        kind, seed, count = name.split(":")
        drawn = cases(kind, int(seed), int(count))
    except ValueError:
        sys.exit(f"'{name}' is not of the form random:SEED:COUNT (or narrow, unary)")
    return [(f"{kind}{seed}-{index}", *case) for index, case in enumerate(drawn)]
