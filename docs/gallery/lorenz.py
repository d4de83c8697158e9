"""
Lorenz's butterfly
==================

Two thousand starts, closer together than a ten-thousandth, are integrated at once by Runge and
Kutta's method: one array of shape (3, 2000). They stay together for a while, and then are
everywhere.
"""

import asnumpy as np
import matplotlib.pyplot as plt

starts = 2000
steps = 2500
h = 0.01

rng = np.random.default_rng(1)
state = np.array([[1.0], [1.0], [25.0]]) + 1e-4 * rng.standard_normal((3, starts))
track = np.empty((steps, 3))
spread = np.empty(steps)


def slope(s):
    x, y, z = s
    return np.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])


for step in range(steps):
    k1 = slope(state)
    k2 = slope(state + h / 2 * k1)
    k3 = slope(state + h / 2 * k2)
    k4 = slope(state + h * k3)
    state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    track[step] = state[:, 0]
    spread[step] = state[0].std()

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2))
left.plot(track[:, 0], track[:, 2], lw=0.5)
left.plot(state[0], state[2], "r.", ms=1)
left.set(title="one of them, and where all are in the end", xlabel="x", ylabel="z")
right.semilogy(h * np.arange(steps), spread)
right.set(title="deviation of x among them", xlabel="time")
fig.tight_layout()
plt.show()
