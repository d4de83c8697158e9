"""Averages, ranges, covariances."""

import warnings

import numpy as _np
from numpy import _NoValue

from . import _core
from ._array_methods import check_out, number
from ._core import asanyarray, asarray
from ._joining import _normalize
from ._support import as_class


def average(a, axis=None, weights=None, returned=False, *, keepdims=_NoValue):
    """The weighted mean, of all elements or along axes.

    Parameters
    ----------
    a : array_like
        The elements.
    axis : None, int or tuple of ints
        Over which; None: all.
    weights : array_like, optional
        Of a's shape, or of that of the axes; by default all are 1.
    returned : bool
        Gives the sum of the weights as well.
    keepdims : bool
        The axes stay, with length 1.

    Returns
    -------
    ndarray or scalar, or (average, sum of weights)
        float64 for integers.

    Raises
    ------
    ZeroDivisionError
        The weights' sum is 0.
    TypeError
        Weights of another shape without an axis.
    ValueError
        Weights that do not fit the axes.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.average([1, 2, 6], weights=[1, 1, 2])
    np.float64(3.75)
    """
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
    """The range of the elements, maximum less minimum, of all of them or along axes.

    Parameters
    ----------
    a : array_like
        The elements.
    axis : None, int or tuple of ints
        Over which; None: all.
    out : ndarray, optional
        Receives the result.
    keepdims : bool
        The axes stay, with length 1.

    Returns
    -------
    ndarray or NumPy scalar
        Of a's dtype: a signed integer may overflow. NaN where there is one.

    Raises
    ------
    ValueError
        There are no elements.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.ptp([[4, 9], [7, 1]], axis=0)
    array([3, 8])
    """
    a = asanyarray(a)
    keep = {} if keepdims is _NoValue else {"keepdims": keepdims}
    high, low = a.max(axis, **keep), a.min(axis, **keep)
    check_out(out, high, "maximum")
    return _core.subtract(high, low, out)


# ---- covariance


def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """The covariances of variables.

    Parameters
    ----------
    m : array_like, of one or two dimensions
        A variable in each row, an observation in each column.
    y : array_like, optional
        More variables, in m's form.
    rowvar : bool
        False: variables are the columns.
    bias : bool
        Divides by the number of observations in place of one less.
    ddof : int, optional
        Divides by the number of observations less ddof; overrides bias.
    fweights : array_like of ints, optional
        How often each observation counts.
    aweights : array_like, optional
        The weight of each observation.
    dtype : dtype, optional
        Of the result, float64 at least by default.

    Returns
    -------
    ndarray
        A symmetric matrix with the variances on its diagonal; a number for one variable.

    Raises
    ------
    ValueError
        m has more than two dimensions, ddof is no integer, or a weight is negative.
    TypeError
        fweights are no integers.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.cov([[1, 2, 3], [2, 4, 6]])
    array([[1., 2.],
           [2., 4.]])
    """
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
    """The correlation coefficients of variables: covariances over the product of deviations.

    Parameters
    ----------
    x : array_like, of one or two dimensions
        A variable in each row, an observation in each column.
    y : array_like, optional
        More variables, in x's form.
    rowvar : bool
        False: variables are the columns.
    dtype : dtype, optional
        Of the result, float64 at least by default.

    Returns
    -------
    ndarray
        A symmetric matrix with 1 on its diagonal, elements in [-1, 1]; a number for one variable.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.corrcoef([1, 2, 3], [3, 2, 1])
    array([[ 1., -1.],
           [-1.,  1.]])
    """
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
