"""The Mandelbrot set in letters."""

import numpy as np


def mandelbrot(width, height, rounds):
    y, x = np.ogrid[-1.2 : 1.2 : height * 1j, -2.2 : 0.8 : width * 1j]
    c = x + 1j * y
    z = np.zeros_like(c)
    count = np.full(c.shape, rounds, dtype=int)
    for i in range(rounds):
        z = z * z + c
        escaped = z.real * z.real + z.imag * z.imag > 4
        count[escaped & (count == rounds)] = i
        z[escaped] = 2
    return count


count = mandelbrot(72, 24, 30)
letters = np.array(list(" .:-=+*#%@"))
for row in letters[np.minimum(count // 3, 9)]:
    print("".join(row))
print(count.sum(), (count == 30).sum(), np.bincount(count.ravel())[:8])
