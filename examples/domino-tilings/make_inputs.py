"""Writes the three cell tensors: 1 where exactly one index is 1."""

import numpy as np

for name, order in [("Corner", 2), ("Edge", 3), ("Inner", 4)]:
    indices = np.indices((2,) * order)
    np.save(f"in_{name}.npy", (indices.sum(axis=0) == 1).astype(np.float64))
