"""Programs that recur: the first launch is described, later ones are by handle (src/graph/plan/handles.c). Each turn has
other values, other numbers and, since earlier arrays are held, other addresses; NumPy is the oracle in every turn."""

import subprocess
import sys

import asnumpy
import numpy as np
import pytest
from conftest import SINGLE_OPERATORS

TURNS = 6
RNG = np.random.default_rng(25)


def both(shape, dtype="float64"):
    values = RNG.normal(size=shape)
    if np.dtype(dtype).kind in "iu":
        values = values * 50
    values = values.astype(dtype)
    return values, asnumpy.array(values)


def chain(xp, a, b, k):
    return ((a + b) * k - a) / (b * b + 1)


def shared(xp, a, b, k):
    t = xp.exp(-a * a) * k
    return t + b, t - b, (t * b).sum()


def slices(xp, a, b, k):
    u = a[1:-1, 1:-1] + k * (a[:-2, 1:-1] + a[2:, 1:-1] - 2 * a[1:-1, 1:-1])
    return u, u.sum(axis=0), u.max()


def in_place(xp, a, b, k):
    a += b
    a[1:] -= k * a[:-1]
    a *= 2
    return (a,)


def rolled(xp, a, b, k):
    """Regions: the pieces of four rolls are read where they lie."""
    near = xp.roll(a, 1, 0) + xp.roll(a, -1, 0) + xp.roll(a, 1, 1) + xp.roll(a, -1, 1)
    return a + k * (near - 4 * a), xp.concatenate((a, b), axis=1) * k + 1


def banded(xp, a, b, k):
    """Bands of rows: what is stored in between does not leave the cache."""
    e = xp.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True) * k, (b - b.mean(axis=1, keepdims=True)) / (
        b.std(axis=1, keepdims=True) + 1
    )


def turned(xp, a, b, k):
    return a.T + b.T * k, a[::-1, ::-1] - b[:, ::-1], (a.T * k).sum(axis=1)


def stretched(xp, a, b, k):
    return a * b[:, :1] + b[0], a[:, 0] * k + b[:, -1], xp.where(a > k, a, b)


def onto(xp, a, b, k):
    """The output on the first input, on the second, on a new array: one structure in three places."""
    c = a + 0
    xp.add(a, b, out=a)
    xp.add(c, b, out=b)
    return a, b, xp.add(c, b)


@pytest.mark.parametrize("shape", [(7, 5), (64, 48), (300, 200), (1100, 700)])
@pytest.mark.parametrize(
    "function", [chain, shared, slices, in_place, rolled, banded, turned, stretched, onto]
)
def test_every_turn(function, shape):
    held = []
    for turn in range(TURNS):
        a, x = both(shape)
        b, y = both(shape)
        held += [x, y, asnumpy.empty(17 * turn + 1)]
        k = 0.5 + turn
        wanted, got = function(np, a, b, k), function(asnumpy, x, y, k)
        for w, g in zip(wanted if isinstance(wanted, tuple) else (wanted,), got if isinstance(got, tuple) else (got,), strict=True):  # fmt: skip
            np.testing.assert_allclose(np.asarray(g), w, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "complex64"]
)
def test_dtypes(dtype):
    """Conversions and sums: the bits of a program by handle are those of its first launch."""
    a, x = both((90, 70), dtype)
    b, y = both((90, 70), dtype)
    wider = "complex128" if dtype == "complex64" else "float64"
    first = None
    for _ in range(TURNS):
        made = [(x + y) * 2, (x * y).sum(), (x != y) | (y == 1), x.astype(wider) + y]
        got = [np.asarray(m).tobytes() for m in made]
        first = first or got
        assert got == first


@pytest.mark.skipif(SINGLE_OPERATORS, reason="single operators tell of no exceptions")
def test_conditions():
    """Warnings come at every launch or at none, whichever way it goes."""
    for _ in range(TURNS):
        a, x = both((60, 60))
        with np.errstate(all="ignore"):
            wanted = np.log(np.abs(a)) * 2 / (a - a)
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            got = np.asarray(asnumpy.log(asnumpy.abs(x)) * 2 / (x - x))
        np.testing.assert_allclose(got, wanted, rtol=1e-14)
        with asnumpy.errstate(all="ignore"):
            np.asarray(asnumpy.log(asnumpy.abs(x)) * 2 / (x - x))


def test_empty():
    for _ in range(TURNS):
        x = asnumpy.zeros((0, 3))
        assert np.asarray((x + 1) * 2).shape == (0, 3)
        assert float((x * 2 + 1).sum()) == 0


def test_finalized():
    """Handles go with the device; the next one has its own. What is recorded and needed by nobody is no reason not to
    close it."""
    code = """
import asnumpy as np
def turn():
    a = np.arange(5000.0)
    for _ in range(4):
        s = float(((a + 1) * 2 - a).sum())
    return s
first = turn()
np.finalize()
assert turn() == first
print("ok")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "ok", done.stderr
