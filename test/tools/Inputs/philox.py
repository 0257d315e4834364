"""philox.py FILE.npy SEED NAME

Compares a file with the numbers that an input of this name gets from the seed: Philox4x32-10
(Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3), as docs/programs.md
says. The key is the seed. The counter is the index of a group of elements in row-major order (four
f32 or two f64) and the FNV-1a hash of the name, both 64 bits, low word first.
"""

import sys

import numpy as np


def philox(counter, key):
    """counter: four arrays of 32-bit words (as uint64), key: two words."""
    word = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        product0 = counter[0] * np.uint64(0xD2511F53)
        product1 = counter[2] * np.uint64(0xCD9E8D57)
        counter = [(product1 >> np.uint64(32)) ^ counter[1] ^ np.uint64(key[0]), product1 & word,
                   (product0 >> np.uint64(32)) ^ counter[3] ^ np.uint64(key[1]), product0 & word]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def uniform(shape, dtype, seed, name):
    """An input: uniform in [-1, 1), multiples of 2^-23 for f32 and of 2^-52 for f64."""
    size = int(np.prod(shape, dtype=int))
    digest = 0xCBF29CE484222325
    for byte in name.encode():
        digest = (digest ^ byte) * 0x100000001B3 % 2**64
    per_group = 16 // np.dtype(dtype).itemsize
    group = np.arange(-(-size // per_group), dtype=np.uint64)
    words = philox([group & np.uint64(0xFFFFFFFF), group >> np.uint64(32),
                    np.full_like(group, digest & 0xFFFFFFFF), np.full_like(group, digest >> 32)],
                   [seed & 0xFFFFFFFF, seed >> 32])
    if dtype == np.float32:
        values = [(w >> np.uint64(8)).astype(np.float64) * 2.0**-23 - 1 for w in words]
    else:
        values = [((high << np.uint64(32) | low) >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1
                  for low, high in (words[:2], words[2:])]
    return np.stack(values, axis=1).ravel()[:size].reshape(shape).astype(dtype)


def main():
    file, seed, name = sys.argv[1:]
    actual = np.load(file)
    expected = uniform(actual.shape, actual.dtype, int(seed), name)
    if not np.array_equal(actual, expected):
        sys.exit(f"{name}: got {actual.ravel()[:8]}, expected {expected.ravel()[:8]}")


main()
