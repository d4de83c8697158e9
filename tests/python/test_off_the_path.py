"""Elements off a function's fast path (outside its domain, overflowing, huge) send a block of a
program back to the interpreter: what else the program reads there must not change by it."""

import asnumpy
import numpy as np
import pytest
from conftest import SINGLE_OPERATORS

FUNCTIONS = ["log", "exp", "sqrt", "sin", "tan", "arcsin", "log1p", "expm1", "cosh", "tanh", "cbrt"]
REDUCTIONS = ["min", "max", "sum", "prod", "mean"]


def odd_values(shape, dtype):
    """1 to 1.5, but for a few elements that every function has trouble with."""
    x = 1 + np.random.default_rng(0).random(shape) / 2
    x.flat[:: x.size // 7 + 1] = [-1, np.nan, 1e30, -1e30, 800, 2, 0][
        : len(x.flat[:: x.size // 7 + 1])
    ]
    return x.astype(dtype)


def close(ours, theirs, dtype):
    np.testing.assert_allclose(
        np.asarray(ours), theirs, rtol=2e-5 if dtype == "f4" else 1e-12, equal_nan=True
    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_raw_beside_functions(function, reduction, dtype):
    for shape, axis in [
        ((64, 100, 3), 1),
        ((64, 100, 3), -2),
        ((40, 900), 0),
        ((7, 50, 5), (0, 1)),
    ]:
        x = odd_values(shape, dtype)
        a = asnumpy.array(x)
        with np.errstate(all="ignore"):
            computed, reduced = getattr(np, function)(x), getattr(np, reduction)(x, axis=axis)
        for _ in range(3):  # new, met again, kept
            y = getattr(asnumpy, function)(a)
            z = getattr(asnumpy, reduction)(a, axis=axis)
            close(z, reduced, dtype)
            close(y, computed, dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_raw_beside_functions_in_replays(dtype):
    x = odd_values((64, 100, 3), dtype)
    step = asnumpy.jit(lambda a: (asnumpy.exp(a), asnumpy.max(a, axis=-2)))
    for _ in range(4):
        y, z = step(asnumpy.array(x))
        np.testing.assert_array_equal(np.asarray(z), np.max(x, axis=-2))
    with np.errstate(all="ignore"):
        close(y, np.exp(x), dtype)


@pytest.mark.skipif(SINGLE_OPERATORS, reason="complex extremes stay with the fused operator")
def test_complex_extremes_keep_the_first_nan():
    rng = np.random.default_rng(2)
    for shape, axis in [((1000, 2), 0), ((4, 900, 2), 1), ((3000,), 0), ((50, 300), 1)]:
        x = rng.normal(size=shape) + 1j * rng.normal(size=shape)
        x[rng.random(shape) < 0.01] = complex(np.nan, 1)
        x[rng.random(shape) < 0.01] *= complex(1, np.nan)
        for name in ("max", "min"):
            ours = getattr(asnumpy.array(x), name)(axis=axis)
            theirs = np.atleast_1d(getattr(x, name)(axis=axis))
            for part in ("real", "imag"):  # a NaN in one part hides the other from the comparison
                got = getattr(np.atleast_1d(np.asarray(ours)), part)
                np.testing.assert_array_equal(got, getattr(theirs, part))
