"""Casts of whole lines, every rest of a vector, extremes and halfway cases, in place, alone and inside programs.
NumPy is the oracle, warnings included."""

import warnings

import asnumpy
import numpy as np
import pytest
from conftest import SINGLE_OPERATORS
from hypothesis import given, settings
from hypothesis import strategies as st

NUMBERS = ["i8", "u8", "i4", "u4", "i2", "u1", "f8", "f4", "?"]


def line(rng, n, dtype):
    """Numbers of every magnitude, a few of them extreme, one below or above a power of two or halfway."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(n) < 0.5
    if dtype.kind == "f":
        x = (rng.standard_normal(n) * 2.0 ** rng.integers(-3, 20, n)).astype(dtype)
        ends = [
            0.0,
            -0.0,
            0.5,
            -0.5,
            2.0**31,
            2.0**51,
            -(2.0**51),
            2.0**52 + 1,
            2.0**62,
            -(2.0**63),
        ]
        few = rng.random(n) < rng.choice([0, 0.02])
    else:
        bits = 8 * dtype.itemsize - (dtype.kind == "i")
        x = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, n, dtype, endpoint=True)
        x >>= rng.integers(0, bits, n).astype(dtype)
        ends = [np.iinfo(dtype).max, np.iinfo(dtype).min, 1]
        ends += [
            v + d
            for v in (1 << 24, 1 << 51, 1 << 53)
            if v < np.iinfo(dtype).max
            for d in (-1, 0, 1)
        ]
        few = rng.random(n) < 0.1
    x[few] = rng.choice(np.array(ends, dtype), int(few.sum()))
    return x


def with_warnings(call):
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        result = np.asarray(call())
    return result, sorted({str(w.message) for w in met})


@pytest.mark.parametrize("source", NUMBERS)
@given(n=st.integers(0, 75), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_lines(source, n, seed):
    """Every cast, from memory that begins at any element, to the bit."""
    x = line(np.random.default_rng(seed), n + 3, source)
    for target in NUMBERS:
        if source[0] == "f" and target not in ("f8", "f4", "i8", "?"):
            x = np.clip(x, -(2**30), 2**30)  # beyond, C says nothing, nor does NumPy
        a = asnumpy.array(x)
        for first in (0, 1, 3):
            part = slice(first, first + n)
            with np.errstate(invalid="ignore"):
                want = x[part].astype(target)
            with asnumpy.errstate(invalid="ignore"):
                got = np.asarray(a[part].astype(target))
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got.view("u1"), want.view("u1"), f"{source} to {target}")


@pytest.mark.parametrize("source", ["f8", "f4"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 2.0**63, -(2.0**70)])
@pytest.mark.parametrize("at", [0, 5, 16])
def test_what_no_integer_holds(source, bad, at):
    """The value that the processor gives, and its warning, wherever in a vector."""
    x = np.linspace(-3, 3, 17).astype(source)
    x[at] = bad
    want, met = with_warnings(lambda: x.astype("i8"))
    got, said = with_warnings(lambda: asnumpy.array(x).astype("i8"))
    np.testing.assert_array_equal(got, want)
    if not SINGLE_OPERATORS:  # which report no exceptions
        assert bool(said) == bool(met)


@pytest.mark.parametrize("dtype", ["i8", "u8", "u4"])
@given(n=st.sampled_from([1, 7, 1000, 4097, 70001]), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=12, deadline=None)
def test_in_programs(dtype, n, seed):
    """Integers and floats mixed: the conversion is part of a program, in place, or below a sum."""
    rng = np.random.default_rng(seed)
    x, y = line(rng, n, dtype), rng.standard_normal(n)
    a, b = asnumpy.array(x), asnumpy.array(y)
    np.testing.assert_array_equal(np.asarray(a * b + a), x * y + x)
    np.testing.assert_array_equal(np.asarray(a / (a | 1)), x / (x | 1))
    size = float(np.abs(x.astype(np.longdouble)).max())  # what cancels leaves its rounding
    np.testing.assert_allclose(
        float(a.mean()), np.mean(x, dtype=np.longdouble), rtol=1e-12, atol=1e-15 * size
    )
    b[...] = a
    np.testing.assert_array_equal(np.asarray(b), x.astype("f8"))
