"""Corners that random calls of every function found: dtypes, scalars for 0-d results, memory order and warnings as NumPy's."""

import warnings

import asnumpy
import numpy as np
import pytest
from oracle import assert_same, outcome, to_host

EXPRESSIONS = """
m.percentile(f, m.array([3, 1, 2], dtype='i1'))
m.percentile(f, [3, 1])
m.arange(1j, 3), m.arange(0, 3 + 3j), m.arange(0, 4 + 5j, 2), m.arange(0, 3 + 3j, 0.5), m.arange(0, 3 + 3j, dtype='c8')
m.arange(0, 3 + 3j, dtype=float)
m.arange(0, 3 + 3j, 0)
m.arange(4).view(None), m.arange(4.0).view(dtype=None)
m.zeros(0).mean(), m.mean(m.zeros((0, 0)))
m.mean(m.zeros(0), keepdims=True), m.zeros((0, 3)).mean(axis=0)
m.std(m.ones(1), ddof=1), m.var(m.zeros(0))
m.var(m.ones(1), ddof=1, keepdims=True), m.median(m.zeros(0))
m.percentile(f, 30)
m.percentile(f.astype('f2'), 30), m.quantile(f.astype('f2'), m.array(0.3)), m.quantile(m.arange(1000, dtype='f4'), 0.3137)
m.quantile(m.array([1, 2, 3]), 0), m.quantile(m.array([1, 2, 3]), [0, 1]), m.quantile(m.array([1, 2, 3]), m.array([0, 1]), method='lower')
m.quantile(m.array([1, 2, 3]), m.array([0, 1]), method='hazen'), m.quantile(f, [0, 1]), m.quantile(m.array([True, False]), 0)
m.quantile(m.array([1, m.nan, 3]), [0, 1]), m.quantile(m.array([[1, m.nan], [3, 4]]), 1, axis=1)
m.quantile(m.array([True, False]), 0.5)
m.nanquantile(m.array([1, 2, 3]), 0), m.nanquantile(m.array([1.5, m.nan, 3]), 1)
m.nanquantile(m.zeros((3, 0)), 1, axis=1)
m.nanpercentile(m.zeros((0, 3), dtype=int), [25], keepdims=True)
m.median(np.int64(2), keepdims=True), m.nanmedian(3.0, keepdims=True)
m.round(3), m.round(np.int32(3)), m.round(m.array(3)), m.round(2.5), m.round(m.array(2.5)), m.round(m.array(2.5), 1), m.around(3, 1), m.round([1, 2], -1)
m.squeeze(np.float32(1)), m.transpose(np.int8(1)), m.choose(np.uint8(1), [1, 2]), m.reshape(np.float32(1), 1), m.squeeze(1.0), m.astype(np.int8(1), 'f4')
m.repeat(3, 2, axis=0), m.repeat(m.array(3), 2, axis=-1), m.repeat([1, 2], 2.0), m.repeat([1, 2], [1.0, 2.0])
m.repeat([1, 2], m.array([1.0, 2.0]))
m.take([1, 2], 1.0), m.take([1, 2], np.float64(1.0)), m.take([1, 2], [1.0])
m.take([1, 2], m.array([1.0]))
m.take(m.array([1, 2]), [0], out=m.zeros(1, 'i4')), m.take(m.array([1.0, 2]), [0], out=m.zeros(1, 'f4'))
m.take(m.array([1, 2]), [0], out=m.zeros(1, 'f8'))
m.take(m.array([1, 2], dtype='i4'), [0], out=m.zeros(1, 'i8'))
m.cumulative_sum(3), m.cumulative_prod(m.array(3), axis=0)
m.array_split(m.arange(6), 2.0), m.vsplit(m.ones((4, 2)), np.array(2.0))
m.array_split(m.arange(6), [1.0, 2.0])
m.logical_and(m.array([1, 0], dtype='i1'), 2**40), m.logical_or(np.uint8(0), -1), m.logical_xor(m.array([1], dtype='u1'), 300), m.logical_and(m.ones(5000, 'i1'), 2**40).sum()
m.gradient(1.0), m.gradient(m.ones(3), axis=())
m.poly([True, False]), m.poly(m.array([1, 2], dtype='f2'))
m.piecewise(m.arange(3), m.nan, [1, 2])
m.piecewise(m.arange(3), True, [1, 2])
m.i0(2), m.i0(m.array(2.0)), m.i0([1.0])
m.isreal(m.nan), m.isreal(1 + 2j), m.isreal(m.array(1.0)), m.iscomplex(1), m.iscomplex(m.array(1j)), m.isin(np.uint8(3), [1, 3])
m.power(m.array([], dtype='i2'), -1)
m.power(m.array([2], dtype='i2'), -1)
m.linspace(0, np.complex64(1), 3), m.linspace(0, m.array([1], dtype='f4'), 3), m.linspace(m.array([1], dtype='f2'), 3, 3), m.linspace(0, np.float32(1), 3, retstep=True)
m.linspace(0, 1), m.linspace(-2, 3, 5, retstep=True), m.linspace(2**62, 0, 7), m.linspace(True, 3, 4), m.linspace(0, 2**53 + 1, 3), m.linspace(1, 1, 3)
m.logspace(0, m.array([1], dtype='f4'), 3), m.linspace(m.array([1, 2]), 3, 3), m.linspace(1, 2, 3), m.linspace(True, 3, 3)
m.emath.sqrt(m.array([-1], dtype='f2')), m.emath.log(m.array([-1], dtype='i4')), m.emath.sqrt(m.array([-1], dtype='i2'))
m.abs(m.array([3 + 4j], dtype='c8'), dtype='f4'), m.abs(m.array([3 + 4j]), dtype='f8'), m.abs(m.array([3 + 4j], dtype='c8'), dtype='f8')
m.abs(m.array([3 + 4j]), dtype='f4')
m.extract([2, 0, 1, 1], m.array([1.0, 2, 3, 4])), m.extract(2, m.array([1.0, 2])), m.extract([0, 0, 0, 1, 0], m.array([1.0, 2, 3, 4]))
m.extract([0, 0, 0, 1, 1], m.array([1.0, 2, 3, 4]))
m.packbits(3, axis=0), m.unpackbits(m.array(3, dtype='u1'), axis=0)
m.linalg.vector_norm(m.zeros((3, 0)), axis=())
m.choose(m.array(1), [1, 2]), m.choose(1, [1, 2])
m.histogramdd(m.array([True, True, False]))
m.full(3, m.nan, 'i8'), m.full_like(m.zeros(2), m.inf, dtype='i4')
m.full(2, 1 + 2j, 'f4')
m.array([1 + 2j], dtype='f4'), m.asarray([1j], dtype='i8')
m.asarray(c, dtype='f8'), m.array(c, dtype='?')
c.sum(dtype='f8'), c.prod(dtype='f4'), c.cumsum(dtype='f8'), m.mean(c, dtype='f8')
m.add(c, 1, dtype='f8', casting='unsafe'), m.exp2(c, dtype='f4', casting='unsafe')
m.zeros((3, 0), dtype=int).max(axis=0), m.zeros((0, 3), dtype=int).min(axis=1), m.zeros((2, 0, 2), dtype='i4').sum(1)
m.row_stack([m.ones(2)])
m.cross(m.ones((3, 2)), m.ones((3, 3)))
m.sort(g), m.sort(g, axis=0), m.partition(g, 1), m.fft.fft(g), m.fft.rfft(g), m.fft.ifft2(g), m.fft.irfft(g, 6).strides, m.sort(g.reshape(2, 2, 3, order='F').transpose(2, 0, 1))
m.concatenate([g, g]), m.stack([g, g]), m.stack([g, g], -1), m.hstack([g, g.T[:, :3].T]), m.vstack([g, m.ones(4)]), m.concatenate([g.T, g.T], 1), m.delete(g, 0, 0), m.insert(g, 0, 1, 1), m.block([[g, g]])
g.imag, g[::-1].imag, m.ravel(g[::-1]), g[0].ravel(), g.ravel(), g.ravel("F"), g[:, ::2].ravel("A"), g.T.ravel(), m.ravel(g[:, ::-1], order="K")
m.shares_memory(g[0], g[0].ravel()), m.shares_memory(f[::-1], f[::-1].ravel()), m.shares_memory(g, g.ravel("F")), m.shares_memory(f[::2], f[::2].reshape(-1))
m.sort(m.array(2.0), axis=0)
m.partition(m.array(2.0), 0)
f.squeeze() is f, f.squeeze(()) is f, m.squeeze(f[None]).base is not None
m.min_scalar_type(m.array(300)), m.min_scalar_type(m.ones(2))
f.reshape(None), g.reshape(None, order='F'), m.reshape(g[::-1], None)
g[i.T, j.T], g[i.T[:, ::-1], 1], m.stack([g, g])[:, i.T, j.T], m.stack([g, g], 2).T[i.T % 2, 1], m.stack([g, g])[i.T % 2], g.T[j, ...][::-1]
m.stack([g, g])[1, :, i.T], m.stack([g.T, g.T])[i % 2], m.zeros((3, 3, 4, 5)).transpose(0, 3, 1, 2)[i], m.zeros((3, 2, 5), order='F')[i.T]
m.array(2.0).argsort(), m.argsort(2.0), m.array(2.0).argpartition(0)
""".strip().splitlines()


def strides(x):
    if isinstance(x, tuple | list):
        return [strides(y) for y in x]
    array = isinstance(x, np.ndarray | asnumpy.ndarray) and x.size
    return [s for s, n in zip(x.strides, x.shape, strict=True) if n > 1] if array else None


def run(m, text):
    f, c = m.array([-3, -1, -2, 0], dtype="f4"), m.array([1 + 2j, 3 - 1j])
    g = m.asfortranarray(m.array([[3.0, 1, 2, 5], [0, 5, 4, 1], [2, 7, 1, 3]]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        names = {"m": m, "np": np, "f": f, "c": c, "g": g, "i": m.array([[0, 2], [1, 0], [2, 1]])}
        names["j"] = names["i"] + 1
        try:
            result, error = eval(text, names), None
        except Exception as e:
            result, error = None, e
    return result, error, sorted({w.category.__name__ for w in caught})


@pytest.mark.parametrize("text", EXPRESSIONS, ids=str)
def test_corner(text):
    result, error, warned = run(asnumpy, text)
    expected, expected_error, expected_warned = run(np, text)
    if expected_error is not None:
        assert isinstance(
            error, TypeError if isinstance(expected_error, TypeError) else type(expected_error)
        )
        return
    assert error is None, error
    assert_same(to_host(result), expected, ulp=16, where=text, signed_zeros=False)
    assert strides(result) == strides(expected)
    if "cast" not in text and asnumpy.lazy():
        assert warned == expected_warned


def test_arrays_of_many_dtypes_and_python_numbers_in_ranges():
    """linspace, logspace and geomspace take arrays' dtypes, and Python numbers are weak."""
    types = ["?", "i1", "i8", "f2", "f4", "f8", "c8", "c16"]
    for name in ("linspace", "logspace", "geomspace"):
        for a in types:
            for b in (*types, None):
                for kind in (np.dtype(a).type, lambda x, a=a: np.array([x, x], a)):
                    start, stop = kind(1), 2 if b is None else np.dtype(b).type(1)
                    device = asnumpy.array(start) if np.ndim(start) else start
                    expected, error = outcome(getattr(np, name), start, stop, 4)
                    got, got_error = outcome(getattr(asnumpy, name), device, stop, 4)
                    assert (error is None) == (got_error is None)
                    if error is None:
                        assert got.dtype == expected.dtype, (name, a, b)
