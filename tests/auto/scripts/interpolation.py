"""Interpolation, polynomials, integration."""

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial

x = np.linspace(0, 2 * np.pi, 9)
y = np.sin(x)
fine = np.linspace(0, 2 * np.pi, 5)
print(np.interp(fine + 0.1, x, y).round(8))
p = Polynomial.fit(x, y, 5)
print(np.abs(p(x) - y).max().round(8), p.degree())
q = Polynomial([1, -3, 2])
print(q, q.roots(), q.deriv(), q.integ()(1.0), (q * q).coef)
print(np.roots([1, -6, 11, -6]).round(6), np.polyval([1, 0, -1], 3), np.poly1d([1, 2]))
c = Chebyshev.interpolate(np.exp, 8, domain=[-1, 1])
print(abs(c(0.3) - np.exp(0.3)) < 1e-8)
print(np.trapezoid(y[:5], x[:5]).round(8), np.gradient(y, x)[:3].round(8))


def simpson(f, a, b, n):
    t = np.linspace(a, b, n + 1)
    w = np.ones(n + 1)
    w[1:-1:2], w[2:-1:2] = 4, 2
    return (b - a) / n / 3 * (w * f(t)).sum()


print(f"{simpson(np.sin, 0, np.pi, 20):.10f}", f"{simpson(lambda t: t**3, 0, 1, 4):.10f}")


def bilinear(table, u, v):
    i, j = np.floor(u).astype(int), np.floor(v).astype(int)
    a, b = u - i, v - j
    return (
        (1 - a) * (1 - b) * table[i, j] + a * (1 - b) * table[i + 1, j]
        + (1 - a) * b * table[i, j + 1] + a * b * table[i + 1, j + 1]
    )  # fmt: skip


print(bilinear(np.arange(16.0).reshape(4, 4), np.array([0.5, 1.25]), np.array([0.5, 2.0])))
