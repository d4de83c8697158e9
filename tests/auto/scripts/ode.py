"""Lotka-Volterra by Runge-Kutta, and a pendulum."""

import numpy as np


def rk4(f, y, t):
    out = np.empty((len(t), len(y)))
    out[0] = y
    for i in range(len(t) - 1):
        h = t[i + 1] - t[i]
        k1 = f(t[i], out[i])
        k2 = f(t[i] + h / 2, out[i] + h * k1 / 2)
        k3 = f(t[i] + h / 2, out[i] + h * k2 / 2)
        k4 = f(t[i] + h, out[i] + h * k3)
        out[i + 1] = out[i] + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6
    return out


def hunters(t, y):
    prey, predator = y
    return np.array([1.1 * prey - 0.4 * prey * predator, 0.1 * prey * predator - 0.4 * predator])


def pendulum(t, y):
    return np.array([y[1], -9.81 * np.sin(y[0]) - 0.1 * y[1]])


t = np.linspace(0, 30, 601)
path = rk4(hunters, [10.0, 5.0], t)
print(np.round(path[::100], 6))
print("prey between %.4f and %.4f" % (path[:, 0].min(), path[:, 0].max()))
peaks = np.flatnonzero((path[1:-1, 0] > path[:-2, 0]) & (path[1:-1, 0] > path[2:, 0])) + 1
print("period", np.diff(t[peaks]).round(3))
swing = rk4(pendulum, [np.pi / 3, 0.0], np.linspace(0, 10, 1001))
print(swing[-1].round(8), np.abs(swing[:, 0]).argmax())
