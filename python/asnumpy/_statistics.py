"""Averages, ranges, covariances."""

import warnings

import numpy as _np
from numpy import _NoValue

from . import _core
from ._core import asanyarray, asarray
from ._joining import _normalize
from ._support import as_class, check_out, number


def average(a, axis=None, weights=None, returned=False, *, keepdims=_NoValue):
    """The weighted average over axes."""
    a = asanyarray(a)
    if axis is not None:
        axis = _axis_tuple(axis, a.ndim)
    keep = {} if keepdims is _NoValue else {"keepdims": keepdims}
    if weights is None:
        avg = asanyarray(a.mean(axis, **keep))
        scale = avg.dtype.type(a.size / avg.size)
    else:
        w = asanyarray(weights)
        result_dtype = (
            _core.result_type(a.dtype, w.dtype, "f8")
            if a.dtype.kind in "biu"
            else _core.result_type(a.dtype, w.dtype)
        )
        if a.shape != w.shape:
            w = _weights_along(a, w, axis)
        scale = w.sum(axis=axis, dtype=result_dtype, **keep)
        if not _core._is_tracing() and bool(_core.any(asarray(scale) == 0.0)):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        avg = _core.divide(_core.multiply(a, w, dtype=result_dtype).sum(axis, **keep), scale)
    avg = asanyarray(avg)
    if returned:
        scale = asanyarray(scale)
        if scale.shape != avg.shape:
            scale = _core.broadcast_to(scale, avg.shape, subok=True).copy()
        return (
            (avg, as_class(scale, a))
            if type(avg) is not _core.ndarray
            else (number(avg), number(scale))
        )
    return avg if type(avg) is not _core.ndarray else number(avg)


def _axis_tuple(axis, ndim):
    if type(axis) is int:
        return (_normalize(axis, ndim),)
    return _np.lib.array_utils.normalize_axis_tuple(axis, ndim)


def _weights_along(a, w, axis):
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if w.shape != tuple(a.shape[d] for d in axis):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    w = w.transpose(sorted(range(len(axis)), key=lambda i: axis[i]))
    return w.reshape(tuple(a.shape[d] if d in axis else 1 for d in range(a.ndim)))


def ptp(a, axis=None, out=None, keepdims=_NoValue):
    """The range, maximum - minimum, over axes."""
    a = asanyarray(a)
    keep = {} if keepdims is _NoValue else {"keepdims": keepdims}
    high, low = a.max(axis, **keep), a.min(axis, **keep)
    check_out(out, high, "maximum")
    return _core.subtract(high, low, out)


# ---- covariance


def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """The covariance matrix."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    m = asarray(m)
    if m.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    if y is not None:
        y = asarray(y)
        if y.ndim > 2:
            raise ValueError("y has more than 2 dimensions")
    if dtype is None:
        dtype = _core.result_type(*[x for x in (m, y) if x is not None], _np.float64)
    x = _core.array(m, ndmin=2, dtype=dtype)
    if not rowvar and m.ndim != 1:
        x = x.T
    if x.shape[0] == 0:
        return _core.array([]).reshape(0, 0)
    if y is not None:
        y = _core.array(y, copy=None, ndmin=2, dtype=dtype)
        if not rowvar and y.shape[0] != 1:
            y = y.T
        x = _core.concatenate((x, y), axis=0)
    if ddof is None:
        ddof = 1 if bias == 0 else 0
    w = _observation_weights(x, fweights, aweights)
    avg, total = average(x, axis=1, weights=w, returned=True)
    total = asarray(total)[0]
    if w is None:
        factor = x.shape[1] - ddof
    elif ddof == 0:
        factor = total
    elif aweights is None:
        factor = total - ddof
    else:
        factor = total - ddof * _core.sum(w * asarray(aweights)) / total
    if factor <= 0:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)
        factor = 0.0
    x = x - asarray(avg)[:, None]
    right = x.T if w is None else (x * w).T
    c = asarray(_core.dot(x, right.conj()))
    c *= _core.divide(1, factor)
    return c.squeeze()


def _observation_weights(x, fweights, aweights):
    w = None
    if fweights is not None:
        f = asarray(fweights, dtype=float)
        if not bool((f == _core.rint(f)).all()):
            raise TypeError("fweights must be integer")
        w = f
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        g = asarray(given, dtype=float)
        if g.ndim > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if g.shape[0] != x.shape[1]:
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if bool((g < 0).any()):
            raise ValueError(f"{name} cannot be negative")
        if name == "aweights":
            w = g if w is None else w * g
    return w


def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    """The matrix of correlation coefficients."""
    c = asarray(cov(x, y, rowvar, dtype=dtype))
    if c.ndim == 0:
        return _core.divide(c, c)
    deviation = _core.sqrt(c.diagonal().real)
    c = c / deviation[:, None]
    c = c / deviation[None, :]
    if c.dtype.kind == "c":
        c.real = _core.clip(c.real, -1, 1)
        c.imag = _core.clip(c.imag, -1, 1)
        return c
    return _core.clip(c, -1, 1)
