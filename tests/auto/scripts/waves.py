"""The wave equation on a string, its energy and its modes."""

import numpy as np

n, steps, c = 200, 400, 0.5
x = np.linspace(0, 1, n)
now = np.exp(-((x - 0.3) ** 2) / 0.002)
before = now.copy()
energies = []
for _ in range(steps):
    after = np.zeros_like(now)
    after[1:-1] = 2 * now[1:-1] - before[1:-1] + c**2 * (now[2:] - 2 * now[1:-1] + now[:-2])
    velocity, slope = after - before, np.diff(now)
    energies.append(0.5 * (velocity**2).sum() / 4 + 0.5 * c**2 * (slope**2).sum())
    before, now = now, after
energies = np.asarray(energies)
print(energies[[0, 100, 399]].round(8), (np.ptp(energies) / energies.mean()).round(4))
modes = np.abs(np.fft.rfft(np.concatenate([now, -now[::-1]])))[:6]
print(modes.round(6), np.abs(now[::40]).round(6))
