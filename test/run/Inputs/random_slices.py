"""random_slices.py SEED VARIANTS DTYPE: prints a case with some outputs of random dims,
products of the same random inputs, and so many variants of it in random slices.

Extents have divisors or are prime; outputs have some of the sliced dims and are sums over others.
"""

import random
import sys

EXTENTS = [1, 2, 3, 4, 5, 6, 7, 8, 12]
ALGORITHMS = ["local", "tp1d", "reduce_k", "dist_c", "master_worker"]


def some(generator, dims, least, most):
    return generator.sample(dims, generator.randint(least, min(most, len(dims))))


def sizes_of(generator):
    """Extents of six dims whose product is small enough to be summed over in NumPy."""
    while True:
        sizes = {dim: generator.choice(EXTENTS) for dim in "abcdef"}
        product = 1
        for size in sizes.values():
            product *= size
        if 100 <= product <= 60_000:
            return sizes


def slices_of(generator, sizes, used):
    """Up to three dims with random parts, in a random order of the loops."""
    slices = []
    for dim in some(generator, sorted(used), 1, 3):
        divisors = [n for n in range(2, sizes[dim] + 1) if sizes[dim] % n == 0]
        if divisors:
            slices.append(f"{dim}={generator.choice(divisors)}")
    return slices


def main():
    seed, variants, dtype = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    generator = random.Random(seed)
    sizes = sizes_of(generator)
    inputs = {f"A{n}": some(generator, sorted(sizes), 1, 4) for n in range(4)}
    lines, used = [], set()
    for number in range(3):
        factors = some(generator, sorted(inputs), 2, 3)
        dims = sorted(set().union(*(inputs[name] for name in factors)))
        kept = some(generator, dims, 0, 4)
        used.update(dims)
        product = " * ".join(f"{name}[{','.join(inputs[name])}]" for name in factors)
        lines.append(f"output Y{number}[{','.join(kept)}] = {product};")
        subscripts = ",".join("".join(inputs[name]) for name in factors)
        lines.append(f"# ORACLE: Y{number} = np.einsum('{subscripts}->{''.join(kept)}', "
                     f"{', '.join(factors)})")
    used_inputs = [name for name in inputs if any(f"{name}[" in line for line in lines)]

    print(f"# RANKS: 1\ndtype {dtype};")
    print("dim " + ", ".join(f"{dim} = {size}" for dim, size in sizes.items()) + ";")
    for name in used_inputs:
        print(f"input {name}[{','.join(inputs[name])}];")
    print("\n".join(lines))
    while variants > 0:
        slices = slices_of(generator, sizes, used)
        if slices:
            variants -= 1
            ranks = generator.choice(["1,3", "2,4", "3,6"])
            print(f"# OPTIONS {ranks}: --slice={','.join(slices)} "
                  f"--algorithm=*={generator.choice(ALGORITHMS)}")


main()
