"""Compares both tensors with NumPy and writes the restored picture."""

import numpy as np
from PIL import Image

image, u, v, w = (np.load(f"in_{name}.npy").astype(np.float64) for name in ("Image", "U", "V", "W"))
core, restored = np.load("out_Core.npy"), np.load("out_Restored.npy")
core_expected = np.einsum("hwc,hp,wq,cr->pqr", image, u, v, w, optimize=True)
restored_expected = np.einsum("pqr,hp,wq,cr->hwc", core_expected, u, v, w, optimize=True)
for name, got, expected in [
    ("Core", core, core_expected),
    ("Restored", restored, restored_expected),
]:
    error = np.abs(got - expected).max() / np.abs(expected).max()
    print(f"{name}: largest difference from NumPy {error:.1e} of the largest element")
    if error > 1e-5:
        raise SystemExit(f"{name} differs from NumPy")
kept = core.size + u.size + v.size + w.size
lost = np.linalg.norm(restored - image) / np.linalg.norm(image)
print(f"kept {kept} of {image.size} numbers ({kept / image.size:.1%}); relative error {lost:.3f}")
Image.fromarray((restored.clip(0, 1) * 255).astype(np.uint8)).save("restored.png")
print("wrote restored.png")
