"""
An image of low rank
====================

The singular values of an image fall quickly: a few columns of U and rows of V say most of it. Rank
r of an n x n image takes 2 n r numbers instead of n².
"""

import asnumpy as np
import matplotlib.pyplot as plt

size = 256

y, x = np.mgrid[:size, :size] / size
image = np.exp(-8 * ((x - 0.35) ** 2 + (y - 0.4) ** 2))
image += 0.5 * (np.sin(18 * x * y) > 0.3) + 0.3 * np.cos(25 * np.hypot(x - 0.8, y - 0.9))

u, s, v = np.linalg.svd(image)
ranks = [4, 16, 48]
near = [(u[:, :r] * s[:r]) @ v[:r] for r in ranks]
errors = np.array([np.linalg.norm(image - a) / np.linalg.norm(image) for a in near])
values = s / s[0]

fig, axes = plt.subplots(1, 5, figsize=(12, 2.9))
axes[0].imshow(image, cmap="gray")
axes[0].set_title("the image")
for ax, a, r, e in zip(axes[1:], near, ranks, errors.tolist(), strict=False):
    ax.imshow(a, cmap="gray")
    ax.set_title(f"rank {r}: {100 * e:.0f} % off")
for ax in axes[:4]:
    ax.axis("off")
axes[4].semilogy(values)
axes[4].set_title("singular values")
fig.tight_layout()
plt.show()
