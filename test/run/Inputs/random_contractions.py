"""random_contractions.py SEED COUNT DTYPE: prints a case with so many random contractions.

Each has two to nine dims of random classes, extents and orders, up to some million multiplications:
enough that blocks are cut, packed and have remainders along every dim.
"""

import random
import sys

ITERATIONS = 3_000_000
CLASSES = {"C": "AB>", "M": "A>", "N": "B>", "K": "AB"}  # in which of A, B and the result


def extents_of(generator, count):
    """Odd and even, long and short extents with a bounded product."""
    left = ITERATIONS
    extents = []
    for position in range(count):
        most = max(1, min(400, int(left ** (1 / (1 + 0.4 * (count - 1 - position))))))
        extents.append(max(1, round(most ** generator.random())))
        left //= extents[-1]
    generator.shuffle(extents)
    return extents


def contraction(generator, number):
    """The lines of one contraction: its declarations, then its oracle."""
    count = generator.randint(2, 9)
    classes = generator.choices("CMNK", weights=[1, 4, 4, 4], k=count)
    dims = {}
    for letter, extent, dim_class in zip("abcdefghi", extents_of(generator, count), classes):
        dims[letter] = (f"{letter}{number}", extent, CLASSES[dim_class])

    def order(tensor):
        letters = [letter for letter, (_, _, where) in dims.items() if tensor in where]
        generator.shuffle(letters)
        return letters

    orders = {tensor: order(tensor) for tensor in "AB>"}

    def text(name, tensor):
        return f"{name}{number}[{', '.join(dims[letter][0] for letter in orders[tensor])}]"

    declared = ", ".join(f"{name} = {extent}" for name, extent, _ in dims.values())
    strings = {tensor: "".join(letters) for tensor, letters in orders.items()}
    yield f"dim {declared};"
    yield f"input {text('A', 'A')};"
    yield f"input {text('B', 'B')};"
    yield f"output {text('Y', '>')} = {text('A', 'A')} * {text('B', 'B')};"
    yield (f"# ORACLE: Y{number} = np.einsum('{strings['A']},{strings['B']}->{strings['>']}', "
           f"A{number}, B{number}, optimize=True)")


def main():
    seed, count, dtype = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    generator = random.Random(seed)
    print(f"# RANKS: 1,3\ndtype {dtype};")
    for number in range(count):
        print("\n".join(contraction(generator, number)))


main()
