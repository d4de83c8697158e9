"""Norms, traces, counts and frequencies of random arrays in random layouts, against NumPy."""

import asnumpy as anp
import numpy as np
import pytest
from conftest import NPU
from hypothesis import given
from hypothesis import strategies as st

DTYPES = ["f8", "f4", "f2", "c16", "c8", "i4", "u1", "?"]
ORDERS = [None, 0, 1, 2, -1, -2, 3, 0.5, 2.5, -1.5, np.inf, -np.inf, np.float64(4), True]
MATRIX_ORDERS = [None, "fro", "f", "nuc", 1, -1, 2, -2, np.inf, -np.inf]
EPS = {"e": 2e-3, "f": 2e-6, "d": 1e-12, "F": 2e-6, "D": 1e-12}


@st.composite
def arrays(draw, least=1, most=4, dtypes=DTYPES):
    """(NumPy's, ours): a view of a larger array, in some order of axes, whose elements are from 1 to 3 in size."""
    shape = draw(
        st.lists(st.integers(0 if draw(st.booleans()) else 1, 5), min_size=least, max_size=most)
    )
    dtype = draw(st.sampled_from(dtypes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    host = rng.uniform(1, 3, [2 * n for n in shape]) * rng.choice([-1, 1], [2 * n for n in shape])
    if dtype[0] == "c":
        host = host + 1j * rng.uniform(1, 3, host.shape)
    host = (abs(host) if dtype[0] in "u?" else host).astype(dtype)
    order = draw(st.permutations(range(len(shape))))
    steps = draw(
        st.lists(st.sampled_from([1, 2, -1, -2]), min_size=len(shape), max_size=len(shape))
    )
    key = tuple(
        slice(None, None, s) if abs(s) == 2 else slice(0, n)
        for s, n in zip(steps, shape, strict=True)
    )
    return [x.transpose(order)[tuple(key[d] for d in order)] for x in (host, anp.asarray(host))]


def same(call, x, y, eps=None):
    """call(module, array) of both: values, dtype, shape, or the class of the exception."""
    try:
        expected = call(np, x)
    except Exception as error:
        with pytest.raises(type(error)):
            call(anp, y)
        return
    got = call(anp, y)
    assert (type(got) is anp.ndarray) == isinstance(expected, np.ndarray)
    host = np.asarray(got)
    assert host.dtype == np.asarray(expected).dtype and host.shape == np.shape(expected)
    rtol = (1 if host.dtype.kind in "iu" else EPS[host.dtype.char]) if eps is None else eps
    np.testing.assert_allclose(host, expected, rtol=rtol, atol=rtol)


pytestmark = pytest.mark.filterwarnings("ignore")


@given(arrays(), st.sampled_from(ORDERS), st.booleans(), st.data())
def test_norms_of_vectors(pair, ord, keepdims, data):
    x, y = pair
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    same(lambda m, a: m.linalg.norm(a, ord, axis, keepdims), x, y)
    same(lambda m, a: m.linalg.norm(a.ravel(), ord, None, keepdims), x, y)


@given(arrays(), st.sampled_from(ORDERS), st.booleans(), st.data())
def test_norms_along_several_axes(pair, ord, keepdims, data):
    x, y = pair
    axes = data.draw(
        st.none() | st.lists(st.integers(-x.ndim, x.ndim - 1), max_size=x.ndim).map(tuple)
    )
    same(lambda m, a: m.linalg.vector_norm(a, axis=axes, keepdims=keepdims, ord=ord), x, y)


@given(arrays(2), st.sampled_from(MATRIX_ORDERS), st.booleans(), st.data())
def test_norms_of_matrices(pair, ord, keepdims, data):
    x, y = pair
    if x.dtype == "f2" and ord in ("nuc", 2, -2):
        return  # whose singular values neither library has
    axes = data.draw(st.permutations(range(x.ndim)).map(lambda p: tuple(p[:2])))
    eps = 2e-5 if x.dtype.itemsize < 8 and x.dtype.kind == "f" or x.dtype == "c8" else None
    eps = 4e-3 if x.dtype == "f2" else eps
    same(lambda m, a: m.linalg.norm(a, ord, axes, keepdims), x, y, eps)
    same(lambda m, a: m.linalg.matrix_norm(a, ord=ord or "fro", keepdims=keepdims), x, y, eps)
    if x.ndim == 2:
        same(lambda m, a: m.linalg.norm(a, ord, None, keepdims), x, y, eps)


@pytest.mark.skipif(NPU, reason="an NPU adds up in its own order")
@given(arrays(2), st.integers(-6, 6), st.sampled_from([None, "f8", "c8", "i2"]), st.data())
def test_traces(pair, offset, dtype, data):
    x, y = pair
    axes = [data.draw(st.integers(-x.ndim, x.ndim - 1)) for _ in range(2)]
    same(lambda m, a: m.trace(a, offset, *axes, dtype), x, y)
    same(lambda m, a: m.linalg.trace(a, offset=offset, dtype=dtype), x, y)
    same(lambda m, a: a.diagonal(offset, *axes).copy(), *(z.astype("c16") for z in pair))


@given(arrays(), st.booleans(), st.data())
def test_counts(pair, keepdims, data):
    x, y = pair
    x[..., :1], y[..., :1] = 0, 0
    axes = data.draw(
        st.none() | st.lists(st.integers(-x.ndim, x.ndim - 1), max_size=x.ndim).map(tuple)
    )
    expected = np.asarray(np.count_nonzero(x, axes, keepdims=keepdims)) if axes is None or len(
        {d % x.ndim for d in axes}) == len(axes) else None  # fmt: skip
    if expected is None:
        with pytest.raises(ValueError):
            anp.count_nonzero(y, axes, keepdims=keepdims)
        return
    got = np.asarray(anp.count_nonzero(y, axes, keepdims=keepdims))
    assert got.dtype == expected.dtype and got.shape == expected.shape and (got == expected).all()


@given(st.integers(-2, 70), st.floats(-1e3, 1e3) | st.integers(-3, 3) | st.just(np.float32(0.1)))
def test_frequencies(n, d):
    same(lambda m, _: m.fft.fftfreq(n, d), None, None, 0)
    same(lambda m, _: m.fft.rfftfreq(n, d), None, None, 0)


@given(arrays(2, 4, ["f8", "c16", "i4"]), st.sampled_from([None, 1e-9, 0.4]), st.booleans())
def test_pseudo_inverses(pair, rcond, by_rtol):
    x, y = pair
    if x.dtype == "i4" and by_rtol and rcond is None:
        return
    options = {"rtol": rcond} if by_rtol else {"rcond": rcond}
    same(lambda m, a: m.linalg.pinv(a, **options), x, y, 1e-9)


@given(arrays(2, 3, ["f8", "c16"]), st.sampled_from([1e-9, 0.4]))
def test_pseudo_inverses_of_hermitian_matrices(pair, rcond):
    x = pair[0]
    n = min(x.shape[-2:])
    square = x[..., :n, :n]
    hermitian = square + np.swapaxes(square, -1, -2).conj()
    same(lambda m, a: m.linalg.pinv(a, rcond, True), hermitian, anp.asarray(hermitian), 1e-8)


def apart(values):
    """Whether no two eigenvalues of a matrix are (almost) one: rounding then decides whether a pair
    of them is real, and moves k of them by the k-th root of what it moves others."""
    distances = np.abs(values[..., :, None] - values[..., None, :])
    distances += 2 * np.abs(values).max(initial=1) * np.eye(values.shape[-1])
    return distances.min(initial=1) > 1e-3 * np.abs(values).max(initial=1)


def in_order(values):
    """By real, then by imaginary parts; parts that differ by rounding alone are the same."""
    rounded = np.round(values, 6) + 0  # no negative zeros
    order = np.lexsort((rounded.imag, rounded.real), axis=-1)
    return np.take_along_axis(values, order, axis=-1)


@given(arrays(2, 3, ["f8", "c16", "i4"]))
def test_eigenvalues(pair):
    n = min(pair[0].shape[-2:])
    x, y = (a[..., :n, :n] for a in pair)
    expected, vectors = np.linalg.eig(x)
    got, ours = anp.linalg.eig(y)
    if not apart(expected):
        x = x + 0j  # the equation alone is compared
        np.testing.assert_allclose(
            x @ np.asarray(ours), np.asarray(ours) * np.asarray(got)[..., None, :], atol=1e-8
        )
        return
    only = anp.linalg.eigvals(y)
    for a, b in ((got, expected), (ours, vectors), (only, expected)):
        assert a.dtype == b.dtype and a.shape == b.shape
    # each is one, and each vector is its value's
    np.testing.assert_allclose(in_order(np.asarray(only)), in_order(expected), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(
        x @ np.asarray(ours), np.asarray(ours) * np.asarray(got)[..., None, :], atol=1e-8
    )


def test_values_that_are_real_in_single_precision_only():
    # imaginary parts of 1e-60, which float32 would round to 0
    a = np.array([[1, 1], [-1e-14, 1]], "f4")
    assert anp.linalg.eigvals(anp.asarray(a)).dtype == np.complex64


def test_bfloat16_counts_as_float64():
    bfloat16 = anp.bfloat16
    x = np.arange(6).astype(bfloat16)
    for order in (None, 1, 3, np.inf):
        got = anp.linalg.norm(anp.asarray(x), order, 0)
        assert got.dtype == np.float64 and np.isclose(got, np.linalg.norm(x.astype("f8"), order, 0))
