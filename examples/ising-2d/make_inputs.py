"""Writes the Boltzmann factors of one bond, exp(K s s') for s, s' = +1, -1, at K = 0.4."""

import numpy as np

K = 0.4
spins = np.array([1.0, -1.0])
np.save("in_Bond.npy", np.exp(K * np.outer(spins, spins)))
