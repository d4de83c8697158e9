"""
Random walks
============

A hundred thousand walkers step to one of four sides at each tick. Where they are in the end is a
bell; how far they came grows with the root of the time.
"""

import asnumpy as np
import matplotlib.pyplot as plt

walkers = 100_000
steps = 200

rng = np.random.default_rng(9)
place = np.zeros((walkers, 2), dtype=np.int32)
distance = np.zeros(steps + 1)
sides = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]], dtype=np.int32)

for step in range(1, steps + 1):
    place += sides[rng.integers(0, 4, walkers)]
    distance[step] = np.sqrt((place.astype(float) ** 2).sum(axis=1).mean())

bins = np.arange(-45, 47, 2) - 0.5
crowd, _, _ = np.histogram2d(place[:, 0], place[:, 1], bins=(bins, bins))

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
left.imshow(crowd, extent=(-45, 45, -45, 45), cmap="viridis")
left.set_title(f"{walkers:,} walkers after {steps} steps")
time = np.arange(steps + 1)
right.plot(time, distance, lw=3, alpha=0.5, label="root mean square")
right.plot(time, np.sqrt(time), "k--", lw=1, label="root of the time")
right.set(xlabel="step", ylabel="distance")
right.legend()
fig.tight_layout()
plt.show()
