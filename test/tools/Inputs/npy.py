"""npy.py write FILE DTYPE SHAPE [fortran]     writes 0, 1, 2, ... as a .npy file
npy.py same FILE FILE [TOLERANCE]           compares two arrays
npy.py eval FILE EXPRESSION NAME=FILE...    compares an array with a NumPy expression of others
"""

import sys

import numpy as np


def compare(actual, expected, tolerance=0.0):
    if actual.shape != expected.shape:
        sys.exit(f"shapes differ: {actual.shape}, {expected.shape}")
    error = np.abs(actual.astype(np.float64) - expected.astype(np.float64)).max(initial=0)
    if not error <= tolerance:
        sys.exit(f"largest difference {error}, allowed {tolerance}")


def main():
    action, file, *arguments = sys.argv[1:]
    if action == "write":
        dtype, shape, *order = arguments
        shape = [int(extent) for extent in shape.split(",") if extent]
        array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
        np.save(file, np.asfortranarray(array) if order else array)
    elif action == "same":
        compare(np.load(file), np.load(arguments[0]), *map(float, arguments[1:]))
    elif action == "eval":
        expression, *files = arguments
        arrays = {name: np.load(path).astype(np.float64)
                  for name, path in (text.split("=", 1) for text in files)}
        compare(np.load(file), eval(expression, {"np": np} | arrays))


main()
