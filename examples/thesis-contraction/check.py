"""Compares the result with NumPy."""

import numpy as np

a, b = (np.load(f"in_{name}.npy").astype(np.float64) for name in "AB")
expected = np.einsum("mcklo,nckpl->mncpo", a, b, optimize=True)
error = np.abs(np.load("out_C.npy") - expected).max() / np.abs(expected).max()
print(f"C: largest difference from NumPy {error:.1e} of the largest element")
if not error < 1e-5:
    raise SystemExit("C differs from NumPy")
