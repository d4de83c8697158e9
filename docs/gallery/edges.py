"""
Edges of an image
=================

Sobel's filter on an image of discs with noise: the image is smoothed, its slopes are differences of
slices, and their length and direction say where the edges are.
"""

import asnumpy as np
import matplotlib.pyplot as plt

size = 400

rng = np.random.default_rng(3)
y, x = np.mgrid[:size, :size] / size
image = 0.2 + 0.15 * x
for cx, cy, r, light in zip(*rng.random((4, 12)).tolist(), strict=True):
    inside = (x - cx) ** 2 + (y - cy) ** 2 < (0.05 + 0.1 * r) ** 2
    image = np.where(inside, 0.4 + 0.6 * light, image)
image += 0.05 * rng.standard_normal(image.shape)


def smooth(a):
    """The binomial mean of 5 x 5 elements."""
    for axis in (0, 1):
        a = np.moveaxis(np.pad(a, 2, mode="edge"), axis, 0)
        a = (a[:-4] + 4 * a[1:-3] + 6 * a[2:-2] + 4 * a[3:-1] + a[4:]) / 16
        a = np.moveaxis(a[:, 2:-2], 0, axis)
    return a


soft = smooth(smooth(image))
down = soft[2:] - soft[:-2]
down = down[:, 2:] + 2 * down[:, 1:-1] + down[:, :-2]
right = soft[:, 2:] - soft[:, :-2]
right = right[2:] + 2 * right[1:-1] + right[:-2]
strength = np.hypot(down, right)
angle = np.arctan2(down, right)

fig, axes = plt.subplots(1, 3, figsize=(10, 3.7))
shown = [(image, "gray", "the image"), (strength, "magma", "strength"), (angle, "hsv", "direction")]
for ax, (what, colours, title) in zip(axes, shown, strict=True):
    ax.imshow(what, cmap=colours)
    ax.set_title(title)
    ax.axis("off")
fig.tight_layout()
plt.show()
