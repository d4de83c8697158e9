"""A fractal landscape, its water, its slopes; a game board's lines."""

import numpy as np


def landscape(power, roughness, rng):
    n = 2**power + 1
    ground = np.zeros((n, n))
    ground[:: n - 1, :: n - 1] = rng.uniform(-1, 1, (2, 2))
    step, scale = n - 1, 1.0
    while step > 1:
        half = step // 2
        corners = ground[::step, ::step]
        centre = (corners[:-1, :-1] + corners[1:, :-1] + corners[:-1, 1:] + corners[1:, 1:]) / 4
        ground[half::step, half::step] = centre + scale * rng.uniform(-1, 1, centre.shape)
        ground[::step, half::step] = (corners[:, :-1] + corners[:, 1:]) / 2
        ground[half::step, ::step] = (corners[:-1] + corners[1:]) / 2
        step, scale = half, scale * roughness
    return ground


ground = landscape(5, 0.55, np.random.default_rng(4))
print(ground.shape, ground.min().round(6), ground.max().round(6), ground[::16, ::16].round(5))
water = ground < np.median(ground)
print(water.sum(), water.mean(axis=0)[:4].round(5))
slope = np.sqrt(sum(g**2 for g in np.gradient(ground)))
print(np.round(slope[1:4, 1:4], 6), np.histogram(slope, bins=4)[0])
shades = np.array([" ", ".", "+", "^"])
levels = np.digitize(ground, np.quantile(ground, [0.25, 0.5, 0.75]))
print("\n".join("".join(row) for row in shades[levels][::4, ::2]))
board = np.array([[1, 2, 1], [2, 1, 2], [1, 1, 2]])
lines = [*board, *board.T, board.diagonal(), np.fliplr(board).diagonal()]
print([int(p) for p in (1, 2) if any((line == p).all() for line in lines)], np.rot90(board, -1))
