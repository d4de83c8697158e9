"""Elementary functions of float64 against mpmath at 120 bits: the error stays below the bound of the row.

Points: every binade of the function's domain, the neighbourhood of special points, and a range that
programs use. `HYPOTHESIS_PROFILE=full` takes forty times as many.
"""

import math
import os

import asnumpy
import numpy as np
import optable
import pytest

mpmath = pytest.importorskip("mpmath")
mp = mpmath.mp.clone()
mp.prec = 120

ROWS = {r.name: r for r in optable.rows()}
POINTS = 20_000 if os.environ.get("HYPOTHESIS_PROFILE") == "full" else 500
# name: (mpmath's function, low, high, points of which the neighbours are tried)
UNARY = {
    "exp": (mp.exp, -708, 709, [0, 1]),
    "exp2": (lambda x: mp.power(2, x), -1021, 1023, [0, 0.5, 1]),
    "expm1": (mp.expm1, -40, 709, [0, 0.34, -0.34]),
    "log": (mp.log, 1e-300, 1e300, [1, math.sqrt(0.5), math.sqrt(2)]),
    "log2": (lambda x: mp.log(x) / mp.ln2, 1e-300, 1e300, [1, math.sqrt(0.5), math.sqrt(2)]),
    "log10": (mp.log10, 1e-300, 1e300, [1, math.sqrt(0.5), math.sqrt(2)]),
    "log1p": (mp.log1p, -0.999999, 1e300, [0, 0.4142, -0.2929]),
    "sin": (mp.sin, -1e5, 1e5, [math.pi * k / 2 for k in (0, 1, 2, 3, 1000, 63661)]),
    "cos": (mp.cos, -1e5, 1e5, [math.pi * k / 2 for k in (0, 1, 2, 3, 1000, 63661)]),
    "tan": (mp.tan, -1e5, 1e5, [math.pi * k / 2 for k in (0, 1, 2, 3, 1000, 63661)]),
    "sinh": (mp.sinh, -710, 710, [0, 0.35, 1.04]),
    "cosh": (mp.cosh, -710, 710, [0, 0.35, 1.04]),
    "tanh": (mp.tanh, -22, 22, [0, 1, 18]),
    "arcsin": (mp.asin, -1, 1, [0, 0.5]),
    "arccos": (mp.acos, -1, 1, [0, 0.5]),
    "arctan": (mp.atan, -1e300, 1e300, [0, 0.41421, 2.41421, 1]),
    "arcsinh": (mp.asinh, -1e300, 1e300, [0, 0.35, 2.0**30]),
    "arccosh": (mp.acosh, 1, 1e300, [1.0001, 1.06, 2.0**30]),
    "arctanh": (mp.atanh, -1, 1, [0, 0.17, 0.33]),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), -1e300, 1e300, [1, 2, 8]),
}
BINARY = {
    "power": (mp.power, (1e-3, 1e3), (-100, 100)),
    "arctan2": (mp.atan2, (-1e3, 1e3), (-1e3, 1e3)),
    "hypot": (mp.hypot, (-1e3, 1e3), (-1e3, 1e3)),
}


def arguments(low, high, around, rng):
    """POINTS or so values of [low, high]: evenly, by magnitude, and beside given points."""
    exponents = rng.uniform(-300, math.log10(max(abs(low), abs(high))), POINTS)
    magnitudes = 10.0**exponents * rng.choice([-1, 1], POINTS)
    near = np.concatenate([c + 10.0 ** rng.uniform(-17, -1, POINTS // 5) for c in around or [1]])
    x = np.concatenate(
        [rng.uniform(max(low, -1e3), min(high, 1e3), POINTS), magnitudes, near, -near]
    )
    return x[(x > low) & (x < high) & (np.abs(x) > 1e-300)]


def worst(got, expected):
    """The largest error in units of the last place, where the result is a normal number."""
    error = 0
    for g, e in zip(got.tolist(), expected, strict=True):
        if abs(e) < 2.3e-308 or abs(e) > 1.7e308:
            continue
        unit = math.ldexp(1, int(mp.floor(mp.log(abs(e), 2))) - 52)
        error = max(error, float(abs(mp.mpf(g) - e) / unit))
    return error


@pytest.mark.parametrize("name", UNARY)
def test_unary(name, rng):
    function, low, high, around = UNARY[name]
    x = arguments(low, high, around, rng)
    got = getattr(asnumpy, name)(asnumpy.array(x)).to_numpy()
    error = worst(got, [function(mp.mpf(v)) for v in x.tolist()])
    print(f"{name}: {error:.3f} ULP")
    assert error <= ROWS[name].ulp["float64"]


@pytest.mark.parametrize("name", BINARY)
def test_binary(name, rng):
    function, first, second = BINARY[name]
    a, b = (rng.uniform(*r, 3 * POINTS) for r in (first, second))
    got = getattr(asnumpy, name)(asnumpy.array(a), asnumpy.array(b)).to_numpy()
    error = worst(
        got, [function(mp.mpf(p), mp.mpf(q)) for p, q in zip(a.tolist(), b.tolist(), strict=True)]
    )
    print(f"{name}: {error:.3f} ULP")
    assert error <= ROWS[name].ulp["float64"]


# Rows with a bound that have no entry above: against NumPy in long double.
OTHERS = [
    r
    for r in ROWS.values()
    if {"float32", "float64"} & set(r.ulp)
    and "kernel" not in r.flags
    and r.name not in {*UNARY, *BINARY}
]


@pytest.mark.parametrize("row", OTHERS, ids=lambda r: r.name)
@pytest.mark.filterwarnings("ignore")
def test_other_rows(row, rng):
    args = ", ".join(row.args)
    function = eval(f"lambda {args}: {row.host or f'np.{row.name}({args})'}", {"np": np})
    for dtype in set(row.ulp) & {"float32", "float64"} & set(row.dtypes):
        inputs = [rng.uniform(0.01, 20, POINTS).astype(dtype) for _ in row.args]
        got = asnumpy._core.ufuncs[row.name](*map(asnumpy.array, inputs)).to_numpy()
        exact = function(*[x.astype(np.longdouble) for x in inputs])
        error = np.abs(got - exact) / np.spacing(np.abs(exact).astype(dtype))
        assert np.nanmax(np.where(np.isfinite(exact), error, 0)) <= row.ulp[dtype], dtype


def test_arctanh_next_to_one():
    """1 + 2**k, which the quotient of 1 + x and 1 - x was made of, has no 1 left there."""
    for dtype, digits in (("f4", 24), ("f8", 53)):
        x = (1 - 2.0 ** -np.arange(1, digits + 1)).astype(dtype)
        found = asnumpy.arctanh(asnumpy.array(np.tile(x, 100))).to_numpy()[: len(x)]
        exact = np.arctanh(x.astype(np.longdouble)).astype(dtype)
        assert (np.abs(found - exact) <= 2 * np.spacing(exact)).all()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize(
    "name",
    ["arcsinh", "sinh", "tanh", "arctan", "expm1", "log1p", "arcsin", "arctanh", "tan", "sin"],
)
def test_least_numbers_are_their_own_results(name, dtype):
    """Subnormal numbers and the first normal ones, of which no bit may be lost on the way."""
    digits = np.finfo(dtype).nmant
    integers = np.concatenate(
        [np.arange(1, 70), 2 ** np.arange(digits + 2), 3 * 2 ** np.arange(digits)]
    )
    x = integers.astype({2: "u2", 4: "u4", 8: "u8"}[np.dtype(dtype).itemsize]).view(dtype)
    x = np.concatenate([x, -x])
    for count in (1, 50):
        for some in (x[:1], x):
            a = np.tile(some, count)
            found = getattr(asnumpy, name)(asnumpy.array(a)).to_numpy()
            assert (found == getattr(np, name)(a)).all(), (name, count)
