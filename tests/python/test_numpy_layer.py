"""Composed functions (src/numpy) against NumPy: values, dtypes, layouts, classes of errors and warnings."""

import warnings

import asnumpy as anp
import numpy as np
import pytest
from conftest import SINGLE_OPERATORS

ARRAYS = """
A, B, C = m.arange(6.).reshape(2, 3), m.arange(12).reshape(3, 4), m.arange(24).reshape(2, 3, 4)
c, h, z, e = m.arange(3) + 1j, m.arange(4, dtype='f2'), m.array(2.), m.array([])
t, u = m.array([True, False, True]), m.array([5, 200], 'u1')
"""
EXPRESSIONS = """
m.moveaxis(C, (0, 2), (1, 0)) | m.moveaxis(C, 0, 3) | m.moveaxis(C, (0, 0), (1, 2)) | m.moveaxis(C, (0, 1), 1)
m.moveaxis(C, -1, 2**40) | m.moveaxis(C, 0.5, 0) | m.rollaxis(C, 2) | m.rollaxis(C, 0, 3) | m.rollaxis(C, 1, 1) | m.rollaxis(C, 1, 5)
m.rollaxis(C, 2, 2**70) | m.swapaxes(C, 0, -1) | m.swapaxes(C, 0, 3) | m.flip(C) | m.flip(C, (0, -1)) | m.flip(C, (0, 0))
m.flip([[1, 2]], m.array(1)) | m.fliplr(B) | m.fliplr(c) | m.flipud(B) | m.flipud(z) | m.rot90(B) | m.rot90(B, -1)
m.rot90(B, 2.0, (1, 0)) | m.rot90(B, 4) | m.rot90(C, 3, (0, 2)) | m.rot90(B, 1, (0, 2)) | m.rot90(B, 1, (0, 0))
m.rot90(B, 1, (0,)) | m.roll(B, 1) | m.roll(B, (1, -2), (0, 1)) | m.roll(B, 5, (0, 0, 1)) | m.roll(B.T, 0, 0)
m.roll(B.T, (1, 1), (0, 1)) | m.roll(B, 2**70, 1) | m.roll(B, [[1]], 0) | m.roll(B, (1, 2), (0, 1, 0)) | m.roll(z, 3)
m.roll(B, 1.5, 1) | m.roll(m.broadcast_to(c, (4, 3)), 1, 0) | m.fft.fftshift(B) | m.fft.ifftshift(C, (1, -1))
m.fft.fftshift(C, 3) | m.fft.fftshift(e)
m.stack([A, A], -1) | m.stack([A, B]) | m.stack([]) | m.stack(A) | m.stack(3) | m.stack([1, 2.5]) | m.stack([A, A], 3)
m.stack([A.T, A.T], 2) | m.stack([A, A], dtype=int, casting='safe') | m.stack([A, A], out=m.zeros((2, 2, 3), 'f4'))
m.stack([A, A], dtype='f4', out=m.zeros(3)) | m.vstack((A, [1, 2, 3])) | m.vstack((A.T, A.T)) | m.vstack((1, 2))
m.hstack((A, A.T)) | m.hstack((1, [2, 3])) | m.hstack(()) | m.dstack((c, c)) | m.dstack((A, A)) | m.column_stack((c, h))
m.column_stack((A, [5, 6])) | m.concatenate((A, A), None) | m.concatenate(([1], 2), axis=None) | m.hstack([A] * 20)
m.eye(3) | m.eye(2, 3, 1, int, 'F') | m.eye(3, k=2**70) | m.eye(3, k=-9) | m.eye(-1) | m.eye(2.5) | m.eye(0, 4)
m.eye(2, dtype='?') | m.eye(2, order='A') | m.identity(2) | m.identity(2, complex) | m.eye(2**70)
m.inner(A, A) | m.inner(A, z) | m.inner(A, B) | m.inner(c, c) | m.inner(C, m.ones((5, 4))) | m.vdot(c, c) | m.vdot(c, A)
m.vdot(A.T, A) | m.vdot(c, [1, 2, 3]) | m.outer(c, A) | m.outer(3, 4) | m.outer([1.5, 2], [3, 4], m.zeros((2, 2), int))
m.tensordot(A, B, 1) | m.tensordot(A, A, 2) | m.tensordot(A, B, ([1], [0])) | m.tensordot(C, C, ((0, 2), (0, 2)))
m.tensordot(A, B, 0) | m.tensordot(A, B, 2) | m.tensordot(A, A, ((0, 0), (0, 0))) | m.tensordot(A, B, ((1,), (0, 1)))
m.tensordot(A, B, -1) | m.tensordot(A, B, 1.5) | m.tensordot(A, B, ((1,),)) | m.correlate(c, [1, 2], 'full')
m.correlate([1, 2], c, 'same') | m.correlate(h, c, 'same') | m.correlate(h, h, 'full') | m.correlate(t, t, 2) | m.correlate(e, c) | m.correlate(A, c)
m.correlate(c, c, 'x') | m.correlate(c, c, 7) | m.correlate(c, c, None) | m.convolve(c, h) | m.convolve(3, 4)
m.convolve(t, t) | m.convolve([1, 2], [0, 1, .5, 4], 'valid') | m.convolve(e, c) | m.convolve(A, c) | m.convolve(c, A)
m.linalg.det([[1, 2], [3, 5.]]) | m.linalg.inv([[1, 2], [2, 4.]]) | m.linalg.solve([[1, 2], [3, 5.]], [1, 2]) | m.linalg.det(A)
m.take_along_axis(A, m.array([[2], [0]]), 1) | m.take_along_axis(A, m.array([0]), 1) | m.take_along_axis(A, A, 0)
m.take_along_axis(A, m.array([5, 0]), None) | m.take_along_axis(A, m.array([[7]]), 1) | m.take_along_axis(A, m.array([[0]]), 2)
m.lexsort((A, -A)) | m.lexsort((A, A), 0) | m.lexsort(()) | m.lexsort(([1], [1, 2])) | m.lexsort((1, 2)) | m.lexsort([c] * 20)
m.packbits([1, 0, 1]) | m.packbits(C, 1) | m.packbits(C.T % 3, 0) | m.packbits(C % 2, -1, 'little') | m.packbits(A)
m.packbits(t, True) | m.packbits(t, 2) | m.packbits(t, bitorder='x') | m.unpackbits(u) | m.unpackbits(u, count=-3)
m.unpackbits(u, count=20) | m.unpackbits(u, count=-17) | m.unpackbits(C.T.astype('u1'), 1) | m.unpackbits(B)
m.interp([.5, 3, -1], [0, 1, 2], [1, 2, 4]) | m.interp(.5, [0, 1], [1, 2j]) | m.interp([-5, 9.], [0, 1], [1, 2], -1, 9)
m.interp([361, -1], [0, 90, 180], [1, 2, 3], period=360) | m.interp(1, [], []) | m.interp(1, [1], [2, 3]) | m.interp(1, 1, 1)
m.interp(A.T, [0, 5], [1, 2]) | m.interp(1, [1, 2], [3, 4], period=0) | m.interp([1, m.nan], [0, 2], [2, 3])
m.pad(A, 1, 'wrap') | m.pad(A.T, 1, 'wrap') | m.pad(A, ((0, 1), (7, 0)), 'wrap') | m.pad(A, 0, 'wrap') | m.pad(A, -1, 'wrap')
m.pad(m.zeros((0, 2)), 1, 'wrap') | m.pad(z, 1, 'wrap') | m.pad(A, 1.5, 'wrap') | m.pad(A, 1, 'wrap', x=1) | m.pad(A, 1, 'none')
m.isreal(C.T) | m.isreal(c) | m.isreal(z) | m.isreal(1j) | m.isreal([1, 2j]) | m.isscalar(3) | m.isscalar(z) | m.isscalar('a')
m.unravel_index([22, 41], (7, 6), 'F') | m.unravel_index(-1, (7, 6)) | m.unravel_index([1, 100], (7, 6)) | m.unravel_index(0, ())
m.unravel_index(1.5, (3,)) | m.unravel_index([], (7, 6)) | m.ravel_multi_index((3, -2), (3, 4), 'wrap')
m.ravel_multi_index(([3, -1], [-2, 9]), (3, 4), ('clip', 'wrap')) | m.ravel_multi_index((1,), (3, 4)) | m.ravel_multi_index((), ())
m.ravel_multi_index((m.zeros((3, 0), int), 9), (3, 4)) | m.ravel_multi_index(([1], [[0], [1]]), (3, 4), order='F') | m.ravel_multi_index((1, 2), (3, 4), 'x')
m.trace(B) | m.trace(B, 1) | m.trace(C, -1, 2, 0) | m.trace(c) | m.trace(C, 0, 0, 0) | m.trace(C, 0, 3) | m.trace(B > 3) | m.trace(u.reshape(2, 1))
m.trace(B, 9) | m.trace(B, dtype='f4') | m.trace(B * 1j, dtype=float) | m.trace(B, out=m.array(0.)) | m.trace(C, out=m.zeros(4)) | m.trace(C, out=m.zeros(3))
m.trace(C, dtype='?', axis1=-1, axis2=-2) | m.trace(m.zeros((0, 3))) | m.trace(m.full((2, 2), 6e4, 'f2')) | m.trace(B, 1.5) | m.trace([[1, 2], [3, 4]])
m.linalg.trace(C) | m.linalg.trace(C, offset=2) | m.linalg.trace(C.T, dtype='c8') | m.linalg.trace(c) | B.trace(0, 1, 0) | C.diagonal(1, -1, 0) | B.diagonal(9)
B.diagonal(0, 1, 1) | c.diagonal() | C.diagonal(0, 5)
m.count_nonzero(C) | m.count_nonzero(c) | m.count_nonzero(h, 0) | m.count_nonzero(z) | m.count_nonzero(e) | m.count_nonzero(C, (0, -1))
m.count_nonzero(C, (0, 0)) | m.count_nonzero(C, 3) | m.count_nonzero(C, ()) | m.count_nonzero(C, keepdims=True) | m.count_nonzero(t, keepdims=1)
m.count_nonzero(C, 1, keepdims=True) | m.count_nonzero([m.nan, 0, -0.0]) | m.count_nonzero(m.array([])[None], 1) | m.count_nonzero(t.reshape(3, 1), 0)
m.fft.fftfreq(1) | m.fft.fftfreq(4) | m.fft.fftfreq(5, .1) | m.fft.fftfreq(6, m.float32(3)) | m.fft.fftfreq(0) | m.fft.fftfreq(-3) | m.fft.fftfreq(3.)
m.fft.fftfreq(3, 0) | m.fft.fftfreq(3, m.array([1, 2, 3.])) | m.fft.fftfreq(3, 1j) | m.fft.fftfreq(m.int8(5)) | m.fft.fftfreq(m.int64(3), m.float64(0))
m.fft.fftfreq(3, 'x') | m.fft.fftfreq(3, device='gpu') | m.fft.fftfreq(True) | m.fft.fftfreq(2, m.inf) | m.fft.rfftfreq(1) | m.fft.rfftfreq(4) | m.fft.rfftfreq(5, -.1)
m.fft.rfftfreq(-3) | m.fft.rfftfreq(-1) | m.fft.rfftfreq(0) | m.fft.rfftfreq(4.) | m.fft.rfftfreq(5, m.array(2.)) | m.fft.rfftfreq(7, device=None)
m.linalg.norm(B) | m.linalg.norm(c) | m.linalg.norm(h) | m.linalg.norm(z) | m.linalg.norm(e) | m.linalg.norm(C.T) | m.linalg.norm(C * 1j) | m.linalg.norm(C, keepdims=True)
m.linalg.norm(t) | m.linalg.norm(u, 3) | m.linalg.norm(h, 3) | m.linalg.norm(h, .5) | m.linalg.norm(A[0], m.float64(3)) | m.linalg.norm(A.astype('f4')[0], m.float64(3))
m.linalg.norm(c, m.inf) | m.linalg.norm(c, -m.inf) | m.linalg.norm(c, 0) | m.linalg.norm(c, -1) | m.linalg.norm(e, m.inf) | m.linalg.norm(e, -m.inf) | m.linalg.norm(e, 0)
m.linalg.norm(c, 'fro') | m.linalg.norm(c, 'x') | m.linalg.norm(c, None, 0, True) | m.linalg.norm(c, 2, 1) | m.linalg.norm(c, 2, -1)
m.linalg.norm(A, 1) | m.linalg.norm(A, -1) | m.linalg.norm(A, 2) | m.linalg.norm(A, -2) | m.linalg.norm(A, m.inf) | m.linalg.norm(A, -m.inf) | m.linalg.norm(A, 'fro')
m.linalg.norm(A, 'nuc') | m.linalg.norm(A, 'f', keepdims=True) | m.linalg.norm(A, 3) | m.linalg.norm(A, '2') | m.linalg.norm(A, 0) | m.linalg.norm(C, 2) | m.linalg.norm(C, 'fro')
m.linalg.norm(C, 'nuc', (2, 0)) | m.linalg.norm(C**2 % 11, -2, (0, 1), True) | m.linalg.norm(C, 1, (-1, 0)) | m.linalg.norm(C, m.inf, (1, 2), True) | m.linalg.norm(C, 2, (1, 1))
m.linalg.norm(C, None, (0, 3)) | m.linalg.norm(C, None, (0, 1, 2)) | m.linalg.norm(C, None, ()) | m.linalg.norm(C, None, [0, 1]) | m.linalg.norm(C, 4, 1.0) | m.linalg.norm(C, 'x', 7)
m.linalg.norm(z, 2) | m.linalg.norm(z, 1) | m.linalg.norm(m.zeros((0, 3)), 1) | m.linalg.norm(m.zeros((0, 3)), 2) | m.linalg.norm(m.zeros((3, 0)), -1) | m.linalg.norm(m.zeros((2, 0)), 'nuc')
m.linalg.norm(m.array([1e200, 1e200])) | m.linalg.norm([1e200, 1], 2, 0) | m.linalg.norm(m.array([m.nan, 1])) | m.linalg.norm([0., 1], -2) | m.linalg.norm([3, 4]) | m.linalg.norm([[1, 2], [3, 4j]], 1)
m.linalg.norm('a') | m.linalg.norm(c, 2.0) | m.linalg.norm(c, True) | m.linalg.norm(B.astype('f2'), 1) | m.linalg.norm(B.astype('f2'), 2) | m.linalg.norm(h, m.array(3))
m.linalg.vector_norm(C) | m.linalg.vector_norm(C, keepdims=True) | m.linalg.vector_norm(C, axis=(0, 2)) | m.linalg.vector_norm(C, axis=(2, 0), ord=3, keepdims=True)
m.linalg.vector_norm(C, axis=(0, 0)) | m.linalg.vector_norm(C, axis=()) | m.linalg.vector_norm(C, axis=(0, 5)) | m.linalg.vector_norm(C, axis=[0]) | m.linalg.vector_norm(C, ord='fro')
m.linalg.vector_norm(C, ord=m.inf, axis=-1) | m.linalg.vector_norm(z) | m.linalg.vector_norm(z, ord=1, keepdims=True) | m.linalg.vector_norm(c, ord=None) | m.linalg.vector_norm(e, ord=-m.inf)
m.linalg.vector_norm(C, axis=(0, 1), ord=0) | m.linalg.vector_norm(C, ord=.5) | m.linalg.vector_norm(h, ord=2, axis=0)
m.linalg.matrix_norm(C) | m.linalg.matrix_norm(C, keepdims=True) | m.linalg.matrix_norm(C, ord='nuc') | m.linalg.matrix_norm(C**2 % 7, ord=-2, keepdims=True) | m.linalg.matrix_norm(c)
m.linalg.matrix_norm(C, ord=m.inf) | m.linalg.matrix_norm(C, ord='x') | m.linalg.matrix_norm(C, ord=None) | m.linalg.matrix_norm(z)
m.linalg.eigvals([[0, 1], [-1, 0]]) | m.linalg.eigvals([[2., 0], [0, 3]]) | m.linalg.eigvals(m.zeros((0, 0))) | m.linalg.eigvals(m.ones((2, 1, 1), 'f4')) | m.linalg.eigvals([[1j]])
m.linalg.eigvals([[m.nan]]) | m.linalg.eigvals(A) | m.linalg.eigvals(c) | m.linalg.eigvals([[m.inf, 1, 2]]) | m.linalg.eig([[2, 0], [0, 3]]) | m.linalg.eig(m.eye(2, dtype='c8'))
m.linalg.eig([[m.inf]]) | m.linalg.eig(m.eye(2, dtype='f2')) | m.linalg.eig(A)
m.linalg.pinv(A) | m.linalg.pinv(C) | m.linalg.pinv(B, .5) | m.linalg.pinv(C, m.array([.1, .9])) | m.linalg.pinv(m.zeros((2, 0, 3))) | m.linalg.pinv(c) | m.linalg.pinv(z) | m.linalg.pinv(h)
m.linalg.pinv(A, rtol=None) | m.linalg.pinv(B, rtol=None) | m.linalg.pinv(A.astype('f4'), rtol=.1).dtype == 'f4' | m.linalg.pinv(A, .1, rtol=.1) | m.linalg.pinv([[2, 1], [1, 2]], hermitian=True)
m.linalg.pinv([[2, 1j], [-1j, 2]], 1e-9, True) | m.linalg.pinv(m.zeros((2, 2))) | m.linalg.pinv(m.zeros((2, 3), int)) | m.linalg.pinv(A * (1 + 1j)) | m.linalg.pinv(A, [.1]) | m.linalg.pinv(z, rtol=None)
m.linalg.svd([[2, 1], [1, 3.]], hermitian=True)[1] | m.linalg.svd([[2, 1], [1, 2]], True, False, True) | m.linalg.pinv(A, 'x') | m.linalg.pinv(m.full((2, 2), m.inf))
m.searchsorted([1, 2, 2, 3], [2, 2.5]) | m.searchsorted([1, 2, 2, 3], 2, 'right') | m.searchsorted(B, 1) | m.searchsorted(z, 1) | m.searchsorted(c, A)
m.searchsorted(B, 1, sorter=[0, 1]) | m.searchsorted([3, 1, 2], [2.5], sorter=[1, 2, 0]) | m.searchsorted(u, [7, 300]) | m.searchsorted(t[:1], 1)
m.bincount([1, 1, 3]) | m.bincount(u[:1], [2]) | m.bincount(t) | m.bincount(B) | m.bincount(m.array(1)) | m.bincount([1], minlength=-1) | m.bincount(h)
m.bincount([1, 2], [1, 2, 3]) | m.bincount([1, 2], [1j, 2]) | m.bincount([1, 2, 2], [1, 2, 3], 7) | m.bincount([-1]) | m.bincount([1, 2], m.array([3, 4], 'f4'))
m.bincount(m.array([3], 'u8')) | m.bincount([1, 2], [[1, 2]]) | m.partition(c, 5) | m.partition(c, -4) | m.argpartition(A, (0, -1), 1) | m.partition(A, 3, 1) | m.partition(e, 9)
put(m.put_along_axis, m.array([[0], [1]]), [[5], [6.5]], 1)
put(m.put_along_axis, m.array([[7]]), 1, 1) | put(m.put_along_axis, A, 1, 1) | put(m.place, A > 2, [7, 8]) | put(m.place, A > 2, [])
put(m.place, A > 9, []) | put(m.place, [1, 0], 1) | put(m.place, A > 2, c) | put(m.putmask, A > 2, [7, 8]) | put(m.putmask, A > 2, 1.5)
put(m.putmask, A > 2, A * 10) | put(m.putmask, A > 2, [])
"""
# NumPy's coordinates are columns of one table, its real eigenvalues parts of complex ones.
OTHER_LAYOUTS = {
    "m.unravel_index([22, 41], (7, 6), 'F')",
    "m.linalg.eigvals([[2., 0], [0, 3]])",
    "m.linalg.eig([[2, 0], [0, 3]])",
}
CASES = [x.strip() for line in EXPRESSIONS.strip().splitlines() for x in line.split("|")]


def result(module, text):
    """(kind, value, warnings): what the expression gives, or the exception that it raises."""

    def put(function, *arguments):
        a, b = module.arange(6.0).reshape(2, 3), module.arange(6.0).reshape(3, 2).T
        function(a, *arguments)
        function(b, *arguments)
        return a, b

    scope = {"m": module, "put": put}
    exec(ARRAYS, scope)
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        try:
            value = eval(text, scope)
        except Exception as error:
            value = error
    return value, [w.category for w in met]


def same(got, expected, layout):
    if isinstance(expected, tuple):
        assert len(got) == len(expected)
        for x, y in zip(got, expected, strict=True):
            same(x, y, layout)
        return
    assert isinstance(expected, np.ndarray) == (type(got) is anp.ndarray)
    host = np.asarray(got)
    assert host.dtype == np.asarray(expected).dtype and host.shape == np.shape(expected)
    np.testing.assert_allclose(host, expected, rtol=1e-12, equal_nan=True)
    if layout and isinstance(expected, np.ndarray) and expected.size:
        assert got.strides == expected.strides


@pytest.mark.parametrize("text", CASES)
def test_same_as_numpy(text):
    (expected, warned), (got, met) = result(np, text), result(anp, text)
    if SINGLE_OPERATORS:  # which know no floating-point exceptions
        met, warned = ([w for w in x if w is not RuntimeWarning] for x in (met, warned))
    assert met == warned
    if isinstance(expected, Exception):
        assert isinstance(got, type(expected)), (got, expected)
        return
    assert not isinstance(got, Exception), got
    same(got, expected, text not in OTHER_LAYOUTS)


def test_numpy_arrays_become_ours():
    host = np.arange(6.0).reshape(2, 3)
    for call in (
        lambda a: anp.moveaxis(a, 0, 1), anp.flip, anp.rot90, lambda a: anp.roll(a, 1),
        lambda a: anp.stack([a, a]), lambda a: anp.inner(a, a),
    ):  # fmt: skip
        assert type(call(host)) is anp.ndarray


def test_what_has_a_transpose_of_its_own():
    class Turning:
        ndim = 2

        def transpose(self, order):
            return "turned", tuple(order)

    class Sub(anp.ndarray):
        def transpose(self, *order):
            return "ours", *order

    assert anp.moveaxis(Turning(), 0, 1) == ("turned", (1, 0))
    assert anp.moveaxis(anp.ones((2, 3)).view(Sub), 0, 1) == ("ours", (1, 0))
    assert type(anp.flip(anp.ones((2, 3)).view(Sub))) is Sub


def test_subclasses_in_lists_stay_on_the_host():
    rows = np.matrix([[1.0, 2.0]])
    for name in ("hstack", "vstack", "concatenate", "stack"):
        assert type(getattr(anp, name)((rows, rows))) is type(getattr(np, name)((rows, rows)))
    assert type(anp.vstack((rows, rows))) is np.matrix


def test_elements_put_into_a_flattened_array():
    a = anp.arange(6.0).reshape(3, 2).T
    anp.put_along_axis(a, anp.array([0, 5]), [7, 8], None)
    np.testing.assert_array_equal(a.to_numpy(), [[7, 2, 4], [1, 3, 8]])


def test_values_of_read_only_arrays_stay():
    a = anp.zeros(3)
    a.flags.writeable = False
    for call in (
        lambda: anp.place(a, [True, False, True], [1, 2]), lambda: anp.putmask(a, [True] * 3, [1, 2, 3]),
        lambda: anp.put_along_axis(a, anp.array([0]), 1, 0),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="read-only"):
            call()
    assert a.tolist() == [0, 0, 0]


def test_functions_of_modules_say_so():
    import pickle

    for name in ("linalg.det", "linalg.inv", "linalg.solve", "fft.fftshift"):
        module, _, short = name.partition(".")
        function = getattr(getattr(anp, module), short)
        assert function.__module__ == f"asnumpy.{module}" and not hasattr(anp, f"{module}_{short}")
        assert pickle.loads(pickle.dumps(function)) is function


def test_large_rolls_along_several_axes():
    host = np.arange(300 * 400.0).reshape(300, 400)
    for a in (host, host.T, host[::2, ::-1]):
        got = anp.roll(anp.array(a), (7, -11), (0, 1))
        np.testing.assert_array_equal(got.to_numpy(), np.roll(a, (7, -11), (0, 1)))


def test_in_a_traced_function():
    def both(np, x, y):
        return np.interp(x, y, y * 2), np.roll(x, 1), np.stack([x, y]), np.rot90(np.stack([x, y]))

    x, y = np.linspace(-1, 9, 8), np.arange(8.0)
    ours = anp.jit(lambda x, y: both(anp, x, y))
    for _ in range(3):
        for got, expected in zip(ours(anp.array(x), anp.array(y)), both(np, x, y), strict=True):
            np.testing.assert_allclose(np.asarray(got), expected)
        y = y + 0.5


class Emptying:
    """An array, or an axis, whose conversion empties the list that it is in."""

    def __init__(self, items):
        self.items = items

    def __array__(self, dtype=None, copy=None):
        self.items.clear()
        return np.ones(3)

    def __index__(self):
        self.items.clear()
        return 0


CALLS_OF_LISTS = {
    "concatenate": lambda items: anp.concatenate(items),
    "stack": lambda items: anp.stack(items),
    "vstack": lambda items: anp.vstack(items),
    "lexsort": lambda items: anp.lexsort(items),
    "zeros": lambda items: anp.zeros(items[:1] + items),
    "reshape": lambda items: anp.zeros(1).reshape(items),
    "moveaxis": lambda items: anp.moveaxis(anp.zeros((1,) * 41), items, items),
    "roll": lambda items: anp.roll(anp.zeros((2, 2)), 1, items),
    "tensordot": lambda items: anp.tensordot([1.0], [1.0], (items, items)),
    "expand_dims": lambda items: anp.expand_dims(anp.zeros(2), items),
    "squeeze": lambda items: anp.squeeze(anp.zeros((1, 1)), axis=items),
    "fftshift": lambda items: anp.fft.fftshift(anp.zeros((2, 2)), items),
    "ravel_multi_index": lambda items: anp.ravel_multi_index(items, (2,) * 41),
    "unravel_index": lambda items: anp.unravel_index(0, items),
    "transpose": lambda items: anp.zeros((1,) * 41).transpose(items),
    "sum": lambda items: anp.sum(anp.zeros((1,) * 41), axis=tuple(items)),
    "pad": lambda items: anp.pad(anp.zeros(2), items, mode="wrap"),
    "choose": lambda items: anp.choose(0, items),
    "take": lambda items: anp.take(anp.zeros(2), items),
    "index": lambda items: anp.zeros(2)[items],
    "array": lambda items: anp.array(items),
    "partition": lambda items: anp.partition(anp.zeros(50), items),
    "empty": lambda items: anp.empty(items),
    "flip": lambda items: anp.flip(anp.zeros((2, 2)), items),
}


@pytest.mark.parametrize("name", CALLS_OF_LISTS)
def test_lists_that_change_while_they_are_read(name):
    """A result or an exception, whichever: what a list loses meanwhile is not read."""
    items = []
    items += [Emptying(items), *range(40)]
    try:
        CALLS_OF_LISTS[name](items)
    except (ValueError, TypeError, IndexError, RuntimeError, MemoryError) as error:
        assert str(error)
