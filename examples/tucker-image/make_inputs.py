"""Reads the photograph of Grace Hopper that Debian's python-matplotlib-data ships and writes it and
the factors of its higher-order SVD (De Lathauwer, De Moor, Vandewalle 2000) as .npy files."""

import numpy as np
from PIL import Image

PHOTO = "/usr/share/matplotlib/mpl-data/sample_data/grace_hopper.jpg"
KEPT = (60, 51, 3)

image = np.asarray(Image.open(PHOTO), dtype=np.float32) / 255
np.save("in_Image.npy", image)
for axis, (name, kept) in enumerate(zip("UVW", KEPT)):
    unfolded = np.moveaxis(image, axis, 0).reshape(image.shape[axis], -1).astype(np.float64)
    _, vectors = np.linalg.eigh(unfolded @ unfolded.T)
    np.save(f"in_{name}.npy", np.ascontiguousarray(vectors[:, ::-1][:, :kept], dtype=np.float32))
print(f"read {PHOTO}: {image.shape[0]} x {image.shape[1]} x {image.shape[2]}")
