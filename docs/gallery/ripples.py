"""
Ripples around a wall
=====================

The wave equation by finite differences. The inner part of the pond is a view, and the step is
written into it; the wall and the rim stay at zero because nothing writes there.
"""

import asnumpy as np
import matplotlib.pyplot as plt

size = 300
steps = 420

before = np.zeros((size, size))
now = np.zeros((size, size))
water = np.ones((size, size), dtype=bool)
water[size // 2 - 3 : size // 2 + 3] = False  # a wall ...
water[:, size // 3 : size // 3 + size // 15] = True  # ... with two gaps
water[:, 2 * size // 3 - size // 15 : 2 * size // 3] = True
speed = 0.25 * water[1:-1, 1:-1]

for step in range(steps):
    now[size // 3, size // 2 - 2 : size // 2 + 2] += np.sin(0.3 * step)  # the source
    around = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2]
    inner = before[1:-1, 1:-1]  # a view: what is written to it is written to `before`
    inner[...] = 2 * now[1:-1, 1:-1] - inner + speed * (around - 4 * now[1:-1, 1:-1])
    inner *= 0.999
    before, now = now, before

# %%
# Behind the two gaps the waves add up and cancel.

bound = 3 * float(now.std())
plt.figure(figsize=(6, 5.6))
plt.imshow(np.where(water, now, np.nan), cmap="RdBu", vmin=-bound, vmax=bound)
plt.axis("off")
plt.tight_layout()
plt.show()
