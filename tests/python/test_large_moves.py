"""Moves and fills that are large or come in several pieces, against NumPy."""

import asnumpy as anp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def check(got, want):
    got = np.asarray(got)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 1000, 100003])
@pytest.mark.parametrize("ends", [(0.0, 1.0), (-3.5, 1e9), (5.0, -2.0), (1.0, 1.0), (0.0, 5e-324)])
def test_linspace_of_floats(n, ends):
    check(anp.linspace(*ends, n), np.linspace(*ends, n))
    got, want = (m.linspace(*ends, n, retstep=True) for m in (anp, np))
    check(got[0], want[0])
    assert np.array_equal(got[1], want[1], equal_nan=True) and type(got[1]) is type(want[1])


@pytest.mark.parametrize("dtype", "bhilefdFD")
@pytest.mark.parametrize("n", [1, 5, 40, 70000])
def test_arange_dtypes(dtype, n):
    if np.dtype(dtype).itemsize < 4:
        n = min(n, 40)
    check(anp.arange(3, 3 + 2 * n, 2, dtype=dtype), np.arange(3, 3 + 2 * n, 2, dtype=dtype))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_pad_constant(data):
    shape = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    pairs = st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=2),
                     min_size=len(shape), max_size=len(shape))  # fmt: skip
    widths, values = data.draw(pairs), data.draw(pairs)
    a = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    if data.draw(st.booleans()):
        a = np.asfortranarray(a)
    want = np.pad(a, widths, constant_values=values)
    got = anp.pad(anp.array(a), widths, constant_values=values)
    check(got, want)
    assert (got.flags.fnc, got.flags.c_contiguous) == (want.flags.fnc, want.flags.c_contiguous)


@pytest.mark.parametrize("shift", [0, 1, 7])
def test_results_past_the_caches(shift):
    """Sizes that are stored so, at addresses that begin a line and others; every element."""
    n = 1_600_003
    a = np.random.default_rng(0).standard_normal(n + shift)[shift:]
    x = anp.array(np.concatenate([np.zeros(shift), a]))[shift:]
    out = anp.empty(n + shift)[shift:]
    anp.add(x, x, out=out)
    check(out, a + a)
    check(x * 2.0, a * 2.0)
    check(x.astype(anp.float32), a.astype(np.float32))
    check((x > 0).astype(anp.float64), (a > 0).astype(np.float64))
    check(x.copy(), a.copy())
    check(anp.concatenate((x, x)), np.concatenate((a, a)))
    rows = n // 1001
    plane, p = a[: rows * 1001].reshape(rows, 1001), x[: rows * 1001].reshape(rows, 1001)
    check(p[:, 1:] + p[:, :-1], plane[:, 1:] + plane[:, :-1])
    check(anp.concatenate((p, p), axis=1), np.concatenate((plane, plane), axis=1))
