"""Writes random amplitudes and integrals."""

import numpy as np

rng = np.random.default_rng(1)
o, v = 7, 19
for name, shape in [
    ("T2", (v, v, o, o)),
    ("Voovv", (o, o, v, v)),
    ("Vvvvv", (v, v, v, v)),
    ("Vovov", (o, v, o, v)),
]:
    np.save(f"in_{name}.npy", rng.uniform(-1, 1, shape))
