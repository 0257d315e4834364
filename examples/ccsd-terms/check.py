"""Compares every output with NumPy."""

import numpy as np

t2, voovv, vvvvv, vovov = (np.load(f"in_{n}.npy") for n in ("T2", "Voovv", "Vvvvv", "Vovov"))
w = np.einsum("klcd,cdij->klij", voovv, t2)
expected = {
    "Ladder": np.einsum("abcd,cdij->abij", vvvvv, t2),
    "Holes": np.einsum("klij,abkl->abij", w, t2),
    "Ring": np.einsum("kbjc,acik->abij", vovov, t2),
    "Energy": np.einsum("klcd,cdkl->", voovv, t2),
    "WTrace": np.einsum("kkij->ij", w),
}
for name, value in expected.items():
    error = np.abs(np.load(f"out_{name}.npy") - value).max() / np.abs(value).max()
    print(f"{name}: largest difference from NumPy {error:.1e} of the largest element")
    if not error < 1e-12:
        raise SystemExit(f"{name} differs from NumPy")
