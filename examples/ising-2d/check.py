"""The partition function, against Kaufman's closed form for finite tori (Phys. Rev. 76, 1949)."""

import numpy as np

L, K = 6, 0.4


def gamma(q):
    """Onsager's gamma_q: cosh(gamma_q) = cosh 2K coth 2K - cos(pi q / L); gamma_0 has a sign."""
    if q == 0:
        return 2 * K + np.log(np.tanh(K))
    return np.arccosh(np.cosh(2 * K) / np.tanh(2 * K) - np.cos(np.pi * q / L))


odd = [gamma(2 * q + 1) for q in range(L)]
even = [gamma(2 * q) for q in range(L)]
closed = (
    0.5
    * (2 * np.sinh(2 * K)) ** (L * L / 2)
    * (
        np.prod([2 * np.cosh(L * g / 2) for g in odd])
        + np.prod([2 * np.sinh(L * g / 2) for g in odd])
        + np.prod([2 * np.cosh(L * g / 2) for g in even])
        + np.prod([2 * np.sinh(L * g / 2) for g in even])
    )
)
z = float(np.load("out_Z.npy"))
print(f"Z = {z:.15g}, closed form {closed:.15g}, relative difference {abs(z / closed - 1):.2e}")
if abs(z / closed - 1) > 1e-12:
    raise SystemExit("the partition function differs from the closed form")
