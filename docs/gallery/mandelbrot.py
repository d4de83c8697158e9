"""
Mandelbrot set
==============

At which step does z = z² + c leave the circle of radius 2? All points of the plane are computed at
once; in each step the square, the sum, the test and the choice are one pass over memory.
"""

import asnumpy as np
import matplotlib.pyplot as plt

size = 600
steps = 50

x = np.linspace(-2.1, 0.6, size)
y = np.linspace(-1.2, 1.2, size)
c = x + 1j * y[:, None]
z = np.zeros_like(c)
left = np.full(c.shape, steps)

with np.errstate(over="ignore", invalid="ignore"):  # what has left may grow beyond all bounds
    for step in range(steps):
        z = z * z + c
        left = np.where((left == steps) & (z.real**2 + z.imag**2 > 4), step, left)

# %%
# Points that never leave keep the number of steps.

plt.figure(figsize=(7, 6))
plt.imshow(left, extent=(-2.1, 0.6, -1.2, 1.2), cmap="twilight_shifted", origin="lower")
plt.xlabel("real part of c")
plt.ylabel("imaginary part of c")
plt.tight_layout()
plt.show()
