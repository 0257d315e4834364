"""The number of tilings, against the known value (Kasteleyn 1961; Temperley and Fisher 1961)."""

import numpy as np

tilings = np.load("out_Tilings.npy")
print(f"tilings of the 8x8 board: {tilings:.0f}")
if tilings != 12988816:
    raise SystemExit("expected exactly 12988816")
