"""Matrix products of one- and two-byte elements, which have kernels of their own."""

import asnumpy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

EXTENTS = st.sampled_from([1, 2, 5, 6, 7, 31, 64, 65, 130, 200])


@given(st.sampled_from(["int8", "uint8"]), EXTENTS, EXTENTS, EXTENTS, st.integers(0, 5))
def test_bytes_wrap(dtype, m, k, n, layout):
    r = np.random.default_rng(m * 7 + k * 3 + n)
    info = np.iinfo(dtype)
    x = r.integers(info.min, info.max + 1, (m, k)).astype(dtype)
    y = r.integers(info.min, info.max + 1, (k, n)).astype(dtype)
    a, b = asnumpy.array(x), asnumpy.array(y)
    if layout == 1:
        b = asnumpy.array(y.T.copy()).T
    elif layout == 2:
        a = asnumpy.array(x.T.copy()).T
    elif layout == 3:
        a, x, b, y = a[::-1], x[::-1], b[:, ::-1], y[:, ::-1]
    elif layout == 4:
        a, x, b, y = a[None].repeat(3, 0), x[None].repeat(3, 0), b[None], y[None]
    np.testing.assert_array_equal((a @ b).to_numpy(), x @ y)


def test_long_sums_of_bytes():
    """A k beyond one packed panel is added up in pieces."""
    r = np.random.default_rng(1)
    x = r.integers(-128, 128, (9, 9001)).astype("int8")
    y = r.integers(-128, 128, (9001, 70)).astype("int8")
    np.testing.assert_array_equal((asnumpy.array(x) @ asnumpy.array(y)).to_numpy(), x @ y)


@pytest.mark.parametrize("k", [1, 3, 64, 515, 4099])
def test_bfloat16_accumulates_in_float32(k):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    r = np.random.default_rng(k)
    x = r.standard_normal((70, k)).astype(ml_dtypes.bfloat16)
    y = r.standard_normal((k, 90)).astype(ml_dtypes.bfloat16)
    ours = (asnumpy.array(x) @ asnumpy.array(y)).astype(np.float32).to_numpy()
    exact = x.astype(np.float64) @ y.astype(np.float64)
    bound = np.abs(x.astype(np.float64)) @ np.abs(y.astype(np.float64))
    # one rounding to eight bits, and float32's of the sums
    assert np.all(np.abs(ours - exact) <= 2.0**-8 * np.abs(exact) + 2.0**-20 * bound)
