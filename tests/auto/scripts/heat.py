"""The heat equation in one and two dimensions."""

import numpy as np

n = 101
u = np.zeros(n)
u[n // 2] = 1.0
for step in range(500):
    u[1:-1] += 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
print(f"total {u.sum():.10f} peak {u.max():.8f}")
print(u[45:56].round(6))

plate = np.zeros((60, 60))
plate[0, :] = 100.0
plate[:, 0] = 50.0
for step in range(300):
    before = plate.copy()
    plate[1:-1, 1:-1] = 0.25 * (
        before[2:, 1:-1] + before[:-2, 1:-1] + before[1:-1, 2:] + before[1:-1, :-2]
    )
    change = np.abs(plate - before).max()
    if step % 100 == 0:
        print(step, f"{change:.8f}")
print(plate[::12, ::12].round(4))
gy, gx = np.gradient(plate)
print(np.hypot(gx, gy).max().round(6), np.unravel_index(plate[1:, 1:].argmin(), (59, 59)))
