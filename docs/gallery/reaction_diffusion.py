"""
Patterns of reaction and diffusion
==================================

Gray and Scott's model: two substances spread, and two of the one with one of the other make a
third. From a few drops, patterns like those of corals grow.
"""

import asnumpy as np
import matplotlib.pyplot as plt

size = 192
steps = 2500
feed, kill = 0.055, 0.062

rng = np.random.default_rng(4)
u = np.ones((size, size), dtype=np.float32)
v = np.zeros((size, size), dtype=np.float32)
for top, left in rng.integers(0, size - 8, (12, 2)).tolist():
    v[top : top + 8, left : left + 8] = 0.5


def spread(a):
    """What flows into each cell of a torus from its four neighbours."""
    rows = np.roll(a, 1, axis=0) + np.roll(a, -1, axis=0)
    return rows + np.roll(a, 1, axis=1) + np.roll(a, -1, axis=1) - 4 * a


for _ in range(steps):
    made = u * v * v
    u, v = (
        u + 0.16 * spread(u) - made + feed * (1 - u),
        v + 0.08 * spread(v) + made - (feed + kill) * v,
    )

plt.figure(figsize=(6, 6))
plt.imshow(v, cmap="cividis", interpolation="bilinear")
plt.axis("off")
plt.tight_layout()
plt.show()
