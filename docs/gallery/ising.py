"""
A magnet that cools
===================

Ising's model on a torus: spins of a chessboard's white fields turn at once, then those of the black
ones, by Metropolis's rule. Below the critical temperature 2.27 regions of one direction grow.
"""

import asnumpy as np
import matplotlib.pyplot as plt

size = 128
steps = 150

rng = np.random.default_rng(6)
white = np.indices((size, size)).sum(axis=0) % 2 == 0
pictures = []

for temperature in (1.5, 2.27, 3.5):
    spin = np.where(rng.random((size, size)) < 0.5, 1, -1).astype(np.int8)
    chance = np.exp(-np.arange(-8, 9) / temperature)  # of a turn that costs -8 ... 8
    for _ in range(steps):
        for field in (white, ~white):
            around = sum(np.roll(spin, shift, axis) for axis in (0, 1) for shift in (1, -1))
            turned = rng.random((size, size)) < chance[2 * spin * around + 8]
            spin = np.where(field & turned, -spin, spin)
    pictures.append((temperature, spin))

magnetisation = np.array([abs(spin.mean()) for _, spin in pictures])

fig, axes = plt.subplots(1, 3, figsize=(10, 3.6))
for ax, (temperature, spin), m in zip(axes, pictures, magnetisation.tolist(), strict=True):
    ax.imshow(spin, cmap="coolwarm")
    ax.set_title(f"T = {temperature}, |m| = {m:.2f}")
    ax.axis("off")
fig.tight_layout()
plt.show()
