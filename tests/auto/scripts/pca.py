"""Principal components by the SVD."""

import numpy as np

rng = np.random.default_rng(1)
latent = rng.normal(size=(200, 2))
mixing = rng.normal(size=(2, 6))
data = latent @ mixing + 0.05 * rng.normal(size=(200, 6))
centred = data - data.mean(axis=0)
u, s, vt = np.linalg.svd(centred, full_matrices=False)
explained = s**2 / (s**2).sum()
print(np.array2string(explained, precision=6, suppress_small=True))
print("components for 99%:", int(np.searchsorted(explained.cumsum(), 0.99)) + 1)
scores = u[:, :2] * s[:2]
back = scores @ vt[:2] + data.mean(axis=0)
print("error %.8f" % np.sqrt(np.mean((back - data) ** 2)))
cov = np.cov(centred, rowvar=False)
w, v = np.linalg.eigh(cov)
print(np.allclose(w[::-1], s**2 / 199), w.shape, v.shape)
np.set_printoptions(precision=3, suppress=True)
print(np.abs(vt[:2]))
