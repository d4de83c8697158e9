"""Products, solvers, decompositions, norms; Fourier transforms."""

import ctypes

import numpy as np
import pytest
from face import DTYPES, FLATTENED, Failure, array, axes, c, extents
from hypothesis import given
from hypothesis import strategies as st
from strategies import elements, pairs, same

seeds = st.integers(0, 2**32)
FLOATS = ["float32", "float64", "complex64", "complex128"]


def loose(dtype):
    return 1e-4 if np.dtype(dtype) in (np.float32, np.complex64) else 1e-10


def matrices(seed, dtype, *shape):
    x = elements(np.random.default_rng(seed), shape, dtype)
    if shape[-1] == shape[-2]:
        x = x + (4 * shape[-1] * np.eye(shape[-1])).astype(dtype)
    return x, array(x)


# ---- products


@given(seeds, st.sampled_from(["float32", "float64", "int32", "complex128"]), st.data())
def test_products(seed, dtype, data):
    rng = np.random.default_rng(seed)
    n, m, k = (data.draw(st.integers(1, 5)) for _ in range(3))
    x, y = elements(rng, (2, n, m), dtype), elements(rng, (m, k), dtype)
    a, b = array(x), array(y)
    rtol = loose(dtype)
    same(c.matmul(a, b), x @ y, rtol)
    same(c.dot(a, b), np.dot(x, y), rtol)
    same(c.outer(a, b), np.outer(x, y), rtol)
    same(c.tensordot(a, b, 1, axes(2), axes(-2)), np.tensordot(x, y, ([2], [0])), rtol)
    z = rng.permutation(x.ravel()).reshape(m, 2, n)
    same(
        c.tensordot(a, array(z), 2, axes(2, 0), axes(0, 1)),
        np.tensordot(x, z, ([2, 0], [0, 1])),
        rtol,
    )
    same(c.tensordot(b, b, 0, None, None), np.tensordot(y, y, 0), rtol)
    same(c.trace(a, 1), np.trace(x, 1, -2, -1), rtol)


# ---- solvers


@given(seeds, st.sampled_from(FLOATS), st.integers(1, 5))
def test_systems(seed, dtype, n):
    x, a = matrices(seed, dtype, 2, n, n)
    y, b = matrices(seed + 1, dtype, n, 3)
    v, w = y[:, 0].copy(), array(y[:, 0])
    rtol = loose(dtype)
    same(c.solve(a, b), np.linalg.solve(x, y), rtol)
    same(c.solve(a, w), np.linalg.solve(x, v), rtol)
    same(c.inv(a), np.linalg.inv(x), rtol)
    same(c.det(a), np.linalg.det(x), rtol)
    for ours, expected in zip(c.slogdet(a), np.linalg.slogdet(x), strict=True):
        same(ours, expected, rtol)
    hermitian = x @ np.conj(np.swapaxes(x, -1, -2))
    h = array(hermitian)
    same(c.cholesky(h, 0), np.linalg.cholesky(hermitian), rtol)
    same(c.cholesky(h, 1), np.linalg.cholesky(hermitian, upper=True), rtol)
    values, vectors = c.eigh(h, 0)
    same(values, np.linalg.eigh(hermitian).eigenvalues, rtol)
    u = vectors.numpy()
    np.testing.assert_allclose(
        hermitian @ u, u * values.numpy()[..., None, :], rtol=rtol, atol=rtol * 1e3
    )
    only = c.eigh(h, 1, want=[True, False])
    same(only[0], np.linalg.eigvalsh(hermitian, "U"), rtol)


@given(seeds, st.sampled_from(FLOATS), st.integers(1, 5), st.integers(1, 5))
def test_factors(seed, dtype, m, n):
    x, a = matrices(seed, dtype, 2, m, n)
    rtol = loose(dtype)
    for complete, mode in ((0, "reduced"), (1, "complete")):
        q, r = c.qr(a, complete)
        expected = np.linalg.qr(x, mode)
        assert q.shape == expected.Q.shape and q.dtype == expected.Q.dtype
        same(r, expected.R, rtol)
        np.testing.assert_allclose(q.numpy() @ r.numpy(), x, rtol=rtol, atol=rtol * 50)
    same(c.qr(a, 0, want=[False, True])[1], np.linalg.qr(x, "r"), rtol)
    u, s, vh = c.svd(a, 0)
    same(s, np.linalg.svd(x, compute_uv=False), rtol)
    np.testing.assert_allclose(
        (u.numpy() * s.numpy()[..., None, :]) @ vh.numpy(), x, rtol=rtol, atol=rtol * 50
    )
    assert [r.shape for r in c.svd(a, 1)] == [r.shape for r in np.linalg.svd(x)]
    same(c.svd(a, 0, want=[False, True, False])[1], np.linalg.svd(x, compute_uv=False), rtol)
    assert c.svd(a, 0, want=[True, True, False])[0].shape == u.shape
    same(c.pinv(a, 1e-6), np.linalg.pinv(x, 1e-6), rtol)


def test_pinv_of_nothing():
    assert c.pinv(array(np.zeros((2, 0, 3))), 1e-15).shape == (2, 3, 0)


@given(seeds, st.sampled_from(FLOATS), st.integers(1, 5))
def test_eigenvalues(seed, dtype, n):
    x, a = matrices(seed, dtype, n, n)
    values, vectors = c.eig(a)
    assert values.dtype.kind == "c"
    np.testing.assert_allclose(np.sort(values.numpy()), np.sort(np.linalg.eigvals(x).astype(values.dtype)),
                               rtol=loose(dtype), atol=loose(dtype) * 50)  # fmt: skip
    u = vectors.numpy()
    np.testing.assert_allclose(
        x @ u, u * values.numpy(), rtol=loose(dtype), atol=loose(dtype) * 100
    )
    assert c.eig(a, want=[True, False])[1] is None


@given(seeds, st.integers(1, 6), st.integers(1, 4), st.booleans(), st.booleans())
def test_least_squares(seed, m, n, vector, deficient):
    x, _ = matrices(seed, "float64", m, n)
    if deficient:
        x[:, -1] = x[:, 0]
    y = elements(np.random.default_rng(seed + 1), (m,) if vector else (m, 2), "float64")
    rank = ctypes.c_int64()
    got = c.lstsq(array(x), array(y), -1.0, ctypes.byref(rank))
    expected = np.linalg.lstsq(x, y)
    same(got[0], expected[0], 1e-8)
    same(got[1], expected[1], 1e-8)
    assert rank.value == expected[2]
    same(got[2], expected[3], 1e-8)
    alone = c.lstsq(array(x), array(y), -1.0, None, want=[True, False, False])
    same(alone[0], expected[0], 1e-8)


@given(pairs(dtypes=["int32", *FLOATS], least=2, empty=False), st.booleans())
def test_norms(pair, keep):
    x, a = pair
    rtol = loose(x.dtype)
    for order in (2.0, 1.0, 0.0, np.inf, -np.inf, 3.0):
        same(c.vector_norm(a, order, 1, axes(1), keep), np.linalg.norm(x, order, 1, keep), rtol)
        same(
            c.vector_norm(a, order, 0, None, keep),
            np.linalg.vector_norm(x, ord=order, keepdims=keep),
            rtol,
        )
    for order in ("fro", "nuc", "1", "-1", "2", "-2", "inf", "-inf"):
        theirs = order if order in ("fro", "nuc") else float(order)
        same(c.matrix_norm(a, order, keep), np.linalg.norm(x, theirs, (-2, -1), keep), rtol)


def test_no_result():
    singular, tall = array(np.zeros((2, 2))), array(np.zeros((3, 2)))
    nan = array(np.full((2, 2), np.nan))
    for call, kind, message in (
        (lambda: c.inv(singular), "LinAlgError", "Singular matrix"),
        (lambda: c.solve(singular, singular), "LinAlgError", "Singular matrix"),
        (lambda: c.det(tall), "LinAlgError", "must be square"),
        (lambda: c.cholesky(singular, 0), "LinAlgError", "not positive definite"),
        (lambda: c.eig(nan), "LinAlgError", "infs or NaNs"),
        (lambda: c.inv(array(np.zeros(3))), "LinAlgError", "1-dimensional array given"),
        (lambda: c.inv(array(np.zeros((2, 2), np.float16))), "TypeError", "float16 is unsupported"),
        (lambda: c.solve(array(np.eye(2)), tall), "ValueError", "size 3 is different from 2"),
        (lambda: c.lstsq(tall, singular, -1.0, None), "LinAlgError", "a has 3 rows and b 2"),
        (lambda: c.matmul(tall, tall), "ValueError", "matmul"),
        (lambda: c.matrix_norm(tall, "three", 0), "ValueError", "ord is 'three'"),
        (lambda: c.tensordot(tall, tall, 1, axes(0), axes(1)), "ValueError", "3 elements"),
    ):
        with pytest.raises(Failure, match=message) as failure:
            call()
        assert failure.value.kind == kind


# ---- Fourier transforms


@given(pairs(dtypes=["int16", "float16", *FLOATS], least=1, empty=False), st.sampled_from([None, "ortho", "forward", "backward"]),
       st.data())  # fmt: skip
def test_transforms(pair, norm, data):
    x, a = pair
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    n = data.draw(st.sampled_from([0, 1, 4, 7]))
    rtol = 1e-4 if x.dtype in (np.float16, np.float32, np.complex64) else 1e-12
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    same(c.fft(a, n, axis, norm), np.fft.fft(wide, n or None, axis, norm), rtol)
    same(c.ifft(a, n, axis, norm), np.fft.ifft(wide, n or None, axis, norm), rtol)
    if x.dtype.kind != "c":
        same(c.rfft(a, n, axis, norm), np.fft.rfft(wide, n or None, axis, norm), rtol)
    if n or x.shape[axis] > 1:
        same(c.irfft(a, n, axis, norm), np.fft.irfft(wide, n or None, axis, norm), rtol)


@given(pairs(dtypes=FLOATS, least=2, empty=False), st.data())
def test_transforms_of_axes(pair, data):
    x, a = pair
    which = data.draw(st.permutations(range(x.ndim)))[: data.draw(st.integers(1, x.ndim))]
    lengths = [data.draw(st.integers(2, 6)) for _ in which]
    rtol = 1e-4 if x.dtype in (np.float32, np.complex64) else 1e-12
    ours = (len(which), extents(*lengths), axes(*which), None)
    same(c.fftn(a, *ours), np.fft.fftn(x, lengths, which), rtol)
    same(c.ifftn(a, *ours), np.fft.ifftn(x, lengths, which), rtol)
    same(c.irfftn(a, *ours), np.fft.irfftn(x, lengths, which), rtol)
    same(c.fftn(a, 0, None, None, "ortho"), np.fft.fftn(x, norm="ortho"), rtol)
    if x.dtype.kind == "f":
        same(c.rfftn(a, *ours), np.fft.rfftn(x, lengths, which), rtol)
        same(c.rfftn(a, 0, None, None, None), np.fft.rfftn(x), rtol)


@given(st.integers(1, 40), st.sampled_from([1.0, 0.1, 3.0]))
def test_frequencies(n, d):
    same(c.fftfreq(n, d), np.fft.fftfreq(n, d), 0)
    same(c.rfftfreq(n, d), np.fft.rfftfreq(n, d), 0)


@given(pairs(least=1), st.data())
def test_shifts(pair, data):
    x, a = pair
    some = sorted(data.draw(st.sets(st.integers(0, x.ndim - 1))))
    same(c.fftshift(a, len(some), axes(*some)), np.fft.fftshift(x, some), 0)
    same(c.ifftshift(a, len(some), axes(*some)), np.fft.ifftshift(x, some), 0)
    same(c.fftshift(a, 0, None), np.fft.fftshift(x), 0)


def test_no_transform():
    z = array(np.zeros(3, complex))
    for call, message in (
        (lambda: c.rfft(z, 0, 0, None), "real numbers, not complex128"),
        (lambda: c.fft(z, -2, 0, None), "data points"),
        (lambda: c.fft(z, 0, 0, "none"), "Invalid norm value none"),
        (lambda: c.fft(z, 0, 1, None), "axis 1 is out of bounds"),
        (lambda: c.fft(z, 0, FLATTENED, None), "out of bounds"),
        (lambda: c.fftfreq(0, 1.0), "1 or more"),
        (lambda: c.irfftn(array(np.array(1.0)), 0, None, None, None), "at least 1 axis"),
    ):
        with pytest.raises(Failure, match=message):
            call()


def test_dtypes_are_numpys():
    assert c.fft(array(np.zeros(2, np.float32)), 0, 0, None).dtype == np.complex64
    assert DTYPES["float64"] == 11
