"""random_contractions.py SEED COUNT DTYPE [large|narrow|written|batched|packed]: prints random contractions.

Each has two to nine dims of random classes, extents and orders, up to some million multiplications:
enough that blocks are cut, packed and have remainders along every dim. Large ones have three to
five dims and an A beyond the caches, which is fetched during the product if B has few columns.
Narrow ones lack rows, columns or sums, and have many dims of batches. Those that are written have few
sums and a result beyond the caches, by far their largest tensor; batched ones have a batch dim among
the two fastest of it, too. Packed ones have three to five dims, no batch, long sums, and enough rows and
columns for blocks of both operands to be packed.
"""

import math
import random
import sys

ITERATIONS = 3_000_000
LARGE_ITERATIONS, LARGE_ELEMENTS = 30_000_000, 1_200_000
NARROW_ITERATIONS = 50_000
PACKED_SUMS, PACKED_ROWS = 48, 24
WRITTEN_ELEMENTS, WRITTEN_SUMS = 4_400_000, 6
CLASSES = {"C": "AB>", "M": "A>", "N": "B>", "K": "AB"}  # in which of A, B and the result


def extents_of(generator, count, iterations):
    """Odd and even, long and short extents with a bounded product."""
    left = iterations
    extents = []
    for position in range(count):
        most = max(1, min(400, int(left ** (1 / (1 + 0.4 * (count - 1 - position))))))
        extents.append(max(1, round(most ** generator.random())))
        left //= extents[-1]
    generator.shuffle(extents)
    return extents


def draw_dims(generator, number, kind):
    """By letter: name, extent, and the tensors that have the dim."""
    is_large, is_narrow, is_batched = (kind == of for of in ("large", "narrow", "batched"))
    is_written = kind == "written" or is_batched
    is_long = is_large or is_written
    has_few = is_large or kind == "packed"
    while True:
        count = (generator.randint(3, 5 if has_few else 7) if is_long or has_few else
                 generator.randint(2, 9))
        classes = generator.choices("CMNK", weights=[4 if is_narrow or is_batched else 1, 4, 4, 4],
                                    k=count)
        extents = extents_of(generator, count, LARGE_ITERATIONS if is_long else ITERATIONS)

        def size(of_classes):
            return math.prod(extent for extent, c in zip(extents, classes) if c in of_classes)

        if kind == "packed" and not (size("C") == 1 and size("K") >= PACKED_SUMS and
                                     size("M") >= PACKED_ROWS and size("N") >= PACKED_ROWS):
            continue
        if is_narrow and (set("MNK") <= set(classes) or math.prod(extents) < NARROW_ITERATIONS):
            continue

        if is_written and (size("CMN") < max(WRITTEN_ELEMENTS, 2 * size("CMK") + 2 * size("CNK")) or
                           not 2 <= size("K") <= WRITTEN_SUMS):
            continue
        if is_batched and not set("CMN") <= set(classes):
            continue
        if not is_large or (size("CMK") >= LARGE_ELEMENTS and size("N") >= 4 <= size("M")):
            return {letter: (f"{letter}{number}", extent, CLASSES[c])
                    for letter, extent, c in zip("abcdefghi", extents, classes)}


def contraction(generator, number, kind):
    """The lines of one contraction: its declarations, then its oracle."""
    dims = draw_dims(generator, number, kind)

    def order(tensor):
        letters = [letter for letter, (_, _, where) in dims.items() if tensor in where]
        generator.shuffle(letters)
        if kind == "batched" and tensor == ">":
            batch = next(letter for letter in letters if dims[letter][2] == CLASSES["C"])
            letters.remove(batch)
            letters.insert(len(letters) - generator.randint(0, 1), batch)
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
    kind = "".join(sys.argv[4:])
    generator = random.Random(seed)
    print(f"# RANKS: {'1' if kind in ('large', 'written') else '1,3'}\ndtype {dtype};")
    for number in range(count):
        print("\n".join(contraction(generator, number, kind)))


main()
