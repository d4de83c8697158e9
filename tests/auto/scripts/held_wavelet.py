"""Haar wavelets: a signal taken apart, made small, and put together again."""

import sys

import numpy as np


def step(a):
    a = np.asarray(a, dtype=np.float64)
    if a.shape[-1] % 2:
        a = np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, 1)], mode="edge")
    even, odd = a[..., ::2], a[..., 1::2]
    return (even + odd) / np.sqrt(2), (even - odd) / np.sqrt(2)


def levels(a):
    while a.shape[-1] > 1:
        a, detail = step(a)
        yield detail
    yield a


def back(parts):
    *details, a = parts
    for detail in reversed(details):
        both = np.empty((*a.shape[:-1], 2 * a.shape[-1]))
        both[..., ::2], both[..., 1::2] = a + detail, a - detail
        a = both / np.sqrt(2)
    return a


def keep(parts, share):
    every = np.concatenate([np.abs(p).ravel() for p in parts])
    limit = np.partition(every, -max(int(share * every.size), 1))[-max(int(share * every.size), 1)]
    return [np.where(np.abs(p) >= limit, p, 0) for p in parts]


t = np.linspace(0, 1, 256, endpoint=False)
chirp = np.sin(40 * np.pi * t**2) * (t < 0.8) + np.sign(t - 0.3) * 0.5
parts = list(levels(chirp))
print([p.size for p in parts], np.allclose(back(parts), chirp))
for share in (0.5, 0.2, 0.05):
    rest = back(keep(parts, share)) - chirp
    print(
        f"{share:4.0%} kept: error {np.sqrt(np.mean(rest**2)):.5f}, worst {np.abs(rest).max():.4f}"
    )
energy = np.array([np.vdot(p, p) for p in parts])
print(np.round(energy / energy.sum(), 5), np.isclose(energy.sum(), chirp @ chirp))
image = np.add.outer(np.arange(8.0), np.arange(8) % 3)
rows = step(image)
low, high = step(rows[0].T)
print(low.T)
print(np.count_nonzero(np.abs(high) < 1e-12), low.flags["C_CONTIGUOUS"], low.T.strides)
print(step(np.arange(5)), file=sys.stderr)
