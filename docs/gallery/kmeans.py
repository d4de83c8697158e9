"""
Clusters by k-means
===================

Points are given to the nearest of k centres, and centres move to the mean of their points. The
distances are a product of matrices; the sums over a cluster are ``np.bincount`` with weights.
"""

import asnumpy as np
import matplotlib.pyplot as plt

count = 30_000
k = 6
steps = 15

rng = np.random.default_rng(5)
true = rng.uniform(-6, 6, (k, 2))
points = true[rng.integers(0, k, count)] + rng.standard_normal((count, 2))
centres = points[:: count // k][:k].copy()
path = [centres]

for _ in range(steps):
    squares = (centres**2).sum(axis=1) - 2 * points @ centres.T  # less a term that is the same
    nearest = squares.argmin(axis=1)
    members = np.maximum(np.bincount(nearest, minlength=k), 1)
    sums = [np.bincount(nearest, weights=points[:, axis], minlength=k) for axis in (0, 1)]
    centres = np.stack(sums, axis=1) / members[:, None]
    path.append(centres)

# %%
# The lines are the ways of the centres.

path = np.stack(path)
plt.figure(figsize=(6.4, 5.6))
plt.scatter(points[::10, 0], points[::10, 1], c=nearest[::10], s=4, cmap="Set2", alpha=0.7)
plt.plot(path[:, :, 0], path[:, :, 1], "k.-", lw=1, ms=3)
plt.plot(centres[:, 0], centres[:, 1], "kX", ms=11)
plt.axis("equal")
plt.tight_layout()
plt.show()
