"""Random arrays of any dtype, shape and strides, and the comparison of results."""

import numpy as np
from face import DTYPES, adopt, array
from hypothesis import strategies as st

INTEGERS = [d for d in DTYPES if d.startswith(("int", "uint"))]
REALS = ["float16", "float32", "float64"]
INEXACT = [*REALS, "complex64", "complex128"]


def elements(rng, shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -20, 20, shape).astype(dtype)
    values = rng.normal(0, 3, shape)
    return (values + (1j * rng.normal(0, 3, shape) if dtype.kind == "c" else 0)).astype(dtype)


@st.composite
def numpy_arrays(draw, dtypes=tuple(DTYPES), least=0, most=4, empty=True):
    """Slices with steps, negative ones too, of transposed arrays."""
    ndim = draw(st.integers(least, most))
    steps = [draw(st.sampled_from([1, 1, 2, -1, -3])) for _ in range(ndim)]
    shape = [draw(st.integers(0 if empty else 1, 5)) for _ in range(ndim)]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    whole = elements(rng, [n * abs(s) for n, s in zip(shape, steps, strict=True)],
                     draw(st.sampled_from(dtypes)))  # fmt: skip
    x = whole[tuple(slice(None, None, s) for s in steps)]
    return np.asarray(x).transpose(draw(st.permutations(range(ndim))))


@st.composite
def pairs(draw, **kwargs):
    """(NumPy's, ours): a copy, or the same memory."""
    x = draw(numpy_arrays(**kwargs))
    return x, adopt(x) if draw(st.booleans()) and x.size else array(x)


def same(ours, expected, rtol=None, least=0):
    """Equal dtype and shape; values equal, or for floats within rtol (default 16 eps) of the largest, or of `least`."""
    got, expected = ours.numpy(), np.asarray(expected)
    assert got.dtype == expected.dtype, (got.dtype, expected.dtype)
    assert got.shape == expected.shape, (got.shape, expected.shape)
    if expected.dtype.kind not in "fc" or rtol == 0:
        np.testing.assert_array_equal(got, expected)
        return
    rtol = 16 * np.finfo(expected.dtype).eps if rtol is None else rtol
    finite = np.abs(expected[np.isfinite(expected)])
    scale = float(finite.max(initial=least))
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * scale)
