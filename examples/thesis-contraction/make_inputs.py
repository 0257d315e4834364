"""Writes random inputs."""

import numpy as np

rng = np.random.default_rng(2)
np.save("in_A.npy", rng.uniform(-1, 1, (17, 6, 5, 32, 32)).astype(np.float32))
np.save("in_B.npy", rng.uniform(-1, 1, (19, 6, 5, 32, 32)).astype(np.float32))
