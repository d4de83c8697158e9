"""Statistics that ignore NaN."""

import warnings

import numpy as _np
from numpy import _NoValue

from . import _core
from ._array_methods import check_out, number
from ._core import asanyarray, asarray, stack
from ._errstate import errstate
from ._quantiles import (
    _check_method,
    _deliver,
    _flat_axes,
    _median_last,
    _quantile,
    _quantile_last,
    median,
)
from ._statistics import _axis_tuple, _weights_along


def _filled(a, value):
    """A copy with NaN replaced, and where they were; None when there can be none."""
    a = asanyarray(a)
    if a.dtype.kind not in "fc":
        return a, None
    isnan = _core.isnan(a)
    return _core.where(isnan, asarray(value, a.dtype), a), isnan


def _check_inexact(dtype, out):
    """What a mean of floating numbers may be: nothing but floating numbers."""
    for name, given in (("dtype", dtype), ("out", None if out is None else out.dtype)):
        if given is not None and not _np.issubdtype(given, _np.inexact):
            raise TypeError(f"If a is inexact, then {name} must be inexact, got {_np.dtype(given)}")


def _given(**kwargs):
    return {k: v for k, v in kwargs.items() if v is not _NoValue}


def nansum(a, axis=None, dtype=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue):
    """The sum of the elements, with NaN taken as 0, of all of them or along axes.

    Parameters
    ----------
    a : array_like
        The elements.
    axis : None, int or tuple of ints
        Over which; None: all.
    dtype : dtype, optional
        In which is added.
    out : ndarray, optional
        Receives the result.
    keepdims : bool
        The axes stay, with length 1.
    initial : scalar, optional
        A first summand.
    where : array of bool, optional
        Elements that count.

    Returns
    -------
    ndarray or NumPy scalar

    Examples
    --------
    >>> import asnumpy as np
    >>> np.nansum([[1, np.nan], [3, 4]], axis=1)
    array([1., 7.])
    """
    a, _ = _filled(a, 0)
    return a.sum(axis=axis, dtype=dtype, out=out,
                 **_given(keepdims=keepdims, initial=initial, where=where))  # fmt: skip


def nanprod(
    a, axis=None, dtype=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue
):
    """The product of the elements, with NaN taken as 1, of all of them or along axes.

    Parameters
    ----------
    a : array_like
        The elements.
    axis : None, int or tuple of ints
        Over which; None: all.
    dtype : dtype, optional
        In which is multiplied.
    out : ndarray, optional
        Receives the result.
    keepdims : bool
        The axes stay, with length 1.
    initial : scalar, optional
        A first factor.
    where : array of bool, optional
        Elements that count.

    Returns
    -------
    ndarray or NumPy scalar

    Examples
    --------
    >>> import asnumpy as np
    >>> np.nanprod([[2, np.nan], [3, 4]], axis=1)
    array([ 2., 12.])
    """
    a, _ = _filled(a, 1)
    return a.prod(axis=axis, dtype=dtype, out=out,
                  **_given(keepdims=keepdims, initial=initial, where=where))  # fmt: skip


def nancumsum(a, axis=None, dtype=None, out=None):
    """Running sums along an axis, with NaN taken as 0.

    Parameters
    ----------
    a : array_like
        The elements.
    axis : int, optional
        The axis; by default the array is flattened first.
    dtype : dtype, optional
        In which is added.
    out : ndarray, optional
        Receives the result.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import asnumpy as np
    >>> np.nancumsum([1, np.nan, 3])
    array([1., 1., 4.])
    """
    return _core.cumsum(_filled(a, 0)[0], axis=axis, dtype=dtype, out=out)


def nancumprod(a, axis=None, dtype=None, out=None):
    """Running products along an axis, with NaN taken as 1.

    Parameters
    ----------
    a : array_like
        The elements.
    axis : int, optional
        The axis; by default the array is flattened first.
    dtype : dtype, optional
        In which is multiplied.
    out : ndarray, optional
        Receives the result.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import asnumpy as np
    >>> np.nancumprod([2, np.nan, 3])
    array([2., 2., 6.])
    """
    return _core.cumprod(_filled(a, 1)[0], axis=axis, dtype=dtype, out=out)


def _nan_extreme(op, a, axis, out, keepdims, initial, where):
    a = asanyarray(a)
    result = op.reduce(
        a, axis=axis, out=out, **_given(keepdims=keepdims, initial=initial, where=where)
    )
    if a.dtype.kind in "fc" and bool(_core.isnan(asarray(result)).any()):
        warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=3)
    return result


def nanmax(a, axis=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue):
    """The largest element, NaN left out, of all of them or along axes.

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
    initial : scalar, optional
        The least that the result can be.
    where : array of bool, optional
        Elements that count.

    Returns
    -------
    ndarray or NumPy scalar
        NaN, with a RuntimeWarning, where a slice has nothing else.

    Raises
    ------
    ValueError
        There are no elements and no initial.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.nanmax([[1, np.nan], [3, 2]], axis=0)
    array([3., 2.])
    """
    return _nan_extreme(_core.fmax, a, axis, out, keepdims, initial, where)


def nanmin(a, axis=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue):
    """The smallest element, NaN left out, of all of them or along axes.

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
    initial : scalar, optional
        The most that the result can be.
    where : array of bool, optional
        Elements that count.

    Returns
    -------
    ndarray or NumPy scalar
        NaN, with a RuntimeWarning, where a slice has nothing else.

    Raises
    ------
    ValueError
        There are no elements and no initial.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.nanmin([[1, np.nan], [3, 2]], axis=0)
    array([1., 2.])
    """
    return _nan_extreme(_core.fmin, a, axis, out, keepdims, initial, where)


def _nan_arg(function, fill, a, axis, out, keepdims):
    a, isnan = _filled(a, fill)
    if isnan is not None and a.size and bool(asarray(isnan.all(axis=axis)).any()):
        raise ValueError("All-NaN slice encountered")
    return function(a, axis=axis, out=out, **_given(keepdims=keepdims))


def nanargmax(a, axis=None, out=None, *, keepdims=_NoValue):
    """Index of the largest element, NaN left out, of all of them or along an axis.

    Parameters
    ----------
    a : array_like
        The elements.
    axis : int, optional
        The axis searched along; by default the array is flattened first.
    out : ndarray, optional
        Receives the indices.
    keepdims : bool
        The axis stays, with length 1.

    Returns
    -------
    ndarray of int64 or NumPy int64
        The first one where several are largest.

    Raises
    ------
    ValueError
        A slice has nothing but NaN, or no elements.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.nanargmax([[np.nan, 4], [2, 3]], axis=0)
    array([1, 0])
    """
    return _nan_arg(_core.argmax, -_np.inf, a, axis, out, keepdims)


def nanargmin(a, axis=None, out=None, *, keepdims=_NoValue):
    """Index of the smallest element, NaN left out, of all of them or along an axis.

    Parameters
    ----------
    a : array_like
        The elements.
    axis : int, optional
        The axis searched along; by default the array is flattened first.
    out : ndarray, optional
        Receives the indices.
    keepdims : bool
        The axis stays, with length 1.

    Returns
    -------
    ndarray of int64 or NumPy int64
        The first one where several are smallest.

    Raises
    ------
    ValueError
        A slice has nothing but NaN, or no elements.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.nanargmin([[np.nan, 4], [2, 3]], axis=0)
    array([1, 1])
    """
    return _nan_arg(_core.argmin, _np.inf, a, axis, out, keepdims)


def nanmean(a, axis=None, dtype=None, out=None, keepdims=_NoValue, *, where=_NoValue):
    """The mean of the elements that are not NaN, of all of them or along axes.

    Parameters
    ----------
    a : array_like
        The elements.
    axis : None, int or tuple of ints
        Over which; None: all.
    dtype : dtype, optional
        In which is computed; float64 for integers.
    out : ndarray, optional
        Receives the result.
    keepdims : bool
        The axes stay, with length 1.
    where : array of bool, optional
        Elements that count.

    Returns
    -------
    ndarray or NumPy scalar
        NaN, with a RuntimeWarning, where a slice has nothing else.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.nanmean([[1, np.nan], [3, 2]], axis=0)
    array([2., 2.])
    """
    a = asanyarray(a)
    if a.dtype.kind not in "fc":
        return _core.mean(a, axis=axis, dtype=dtype, out=out,
                          **_given(keepdims=keepdims, where=where))  # fmt: skip
    _check_inexact(dtype, out)
    filled, isnan = _filled(a, 0)
    count = _core.sum(~isnan, axis=axis, dtype=_np.intp, **_given(keepdims=keepdims, where=where))
    total = _core.sum(filled, axis=axis, dtype=dtype, **_given(keepdims=keepdims, where=where))
    return _divide_counts(total, count, out, "Mean of empty slice")


def _divide_counts(total, count, out, message):
    total = asarray(total)
    tracing = _core._is_tracing()  # what is traced has no values to warn of
    if tracing or bool(_core.any(count <= 0)):
        with errstate(invalid="ignore", divide="ignore"):
            result = _core.divide(total, count, dtype=total.dtype, casting="unsafe")
        if not tracing:
            warnings.warn(message, RuntimeWarning, stacklevel=3)
    else:
        result = _core.divide(total, count, dtype=total.dtype, casting="unsafe")
    if out is None:
        return result
    check_out(out, result)
    _core.copyto(out, result, casting="unsafe")
    return out


def _nan_spread(a, axis, dtype, out, ddof, keepdims, where, mean, correction, root):
    a = asanyarray(a)
    if correction is not _NoValue:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    if a.dtype.kind not in "fc":
        return (_core.std if root else _core.var)(
            a, axis=axis, dtype=dtype, out=out, ddof=ddof,
            **_given(keepdims=keepdims, where=where, mean=mean),
        )  # fmt: skip
    _check_inexact(dtype, out)
    isnan = _core.isnan(a)
    chosen = ~isnan if where is _NoValue else ~isnan & asarray(where)
    count = asarray(_core.sum(chosen, axis=axis, dtype=_np.intp, keepdims=True))
    if mean is _NoValue:
        total = _core.sum(a, axis=axis, dtype=dtype, keepdims=True, where=chosen)
        total = asarray(total)
        with errstate(invalid="ignore", divide="ignore"):
            mean = asarray(_core.divide(total, count, dtype=total.dtype, casting="unsafe"))
    # NumPy writes the differences over the elements, whatever the mean's dtype is.
    deviation = (a - mean).astype(a.dtype, copy=False)
    deviation = _core.where(chosen, deviation, asarray(0, a.dtype))
    square = deviation.real**2 + deviation.imag**2 if a.dtype.kind == "c" else deviation**2
    result = _core.sum(square, axis=axis, dtype=dtype, out=out, **_given(keepdims=keepdims))
    result = asarray(result)
    freedom = count.reshape(result.shape) - ddof
    with errstate(invalid="ignore", divide="ignore"):
        _core.divide(result, freedom, out=result, casting="unsafe")
    bad = asarray(freedom <= 0)
    if bool(bad.any()):
        warnings.warn("Degrees of freedom <= 0 for slice.", RuntimeWarning, stacklevel=3)
        _core.copyto(result, _np.nan, where=bad)
    if root:
        _core.sqrt(result, out=result)
    return number(result) if out is None else out


def nanvar(
    a, axis=None, dtype=None, out=None, ddof=0, keepdims=_NoValue, *, where=_NoValue,
    mean=_NoValue, correction=_NoValue,
):  # fmt: skip
    """The variance of the elements that are not NaN, of all of them or along axes.

    Parameters
    ----------
    a : array_like
        The elements.
    axis : None, int or tuple of ints
        Over which; None: all.
    dtype : dtype, optional
        In which is computed; float64 for integers.
    out : ndarray, optional
        Receives the result.
    ddof : int or float
        The squares' sum is divided by the number of elements less ddof.
    keepdims : bool
        The axes stay, with length 1.
    where : array of bool, optional
        Elements that count.
    mean : array_like, optional
        The mean, where it is known, with the axes of length 1.
    correction : int or float, optional
        Another name of ddof.

    Returns
    -------
    ndarray or NumPy scalar
        NaN, with a RuntimeWarning, where a slice has not more than ddof elements.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.nanvar([1, np.nan, 5])
    np.float64(4.0)
    """
    return _nan_spread(a, axis, dtype, out, ddof, keepdims, where, mean, correction, False)


def nanstd(
    a, axis=None, dtype=None, out=None, ddof=0, keepdims=_NoValue, *, where=_NoValue,
    mean=_NoValue, correction=_NoValue,
):  # fmt: skip
    """The standard deviation of the elements that are not NaN, of all of them or along axes.

    Parameters
    ----------
    a : array_like
        The elements.
    axis : None, int or tuple of ints
        Over which; None: all.
    dtype : dtype, optional
        In which is computed; float64 for integers.
    out : ndarray, optional
        Receives the result.
    ddof : int or float
        The squares' sum is divided by the number of elements less ddof.
    keepdims : bool
        The axes stay, with length 1.
    where : array of bool, optional
        Elements that count.
    mean : array_like, optional
        The mean, where it is known, with the axes of length 1.
    correction : int or float, optional
        Another name of ddof.

    Returns
    -------
    ndarray or NumPy scalar
        NaN, with a RuntimeWarning, where a slice has not more than ddof elements.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.nanstd([1, np.nan, 3])
    np.float64(1.0)
    """
    return _nan_spread(a, axis, dtype, out, ddof, keepdims, where, mean, correction, True)


def _nan_rows(a, axis, row_function, lead=(), weights=None, warn_each=False, of_nan=False):
    """row_function on every slice without its NaN; an all-NaN slice gives NaN (of_nan: what the function
    makes of one NaN, whose dtype may be another) and warns."""
    flat, axes = _flat_axes(a, axis)
    rows = flat.reshape(-1, flat.shape[-1]) if flat.ndim > 1 else (flat,)
    if weights is not None:
        weights = _flat_axes(weights, axis)[0].reshape(len(rows), flat.shape[-1])
    result, empty = [], 0
    for i in range(len(rows)):
        row = rows[i]
        keep = ~_core.isnan(row)
        kept = row[keep]
        if kept.size == 0:
            empty += 1
            nan = _core.full(1 if of_nan else lead, _np.nan, a.dtype)
            result.append(asarray(row_function(nan)) if of_nan else nan)
        elif weights is None:
            result.append(asarray(row_function(kept)))
        else:
            result.append(asarray(row_function(kept, weights[i][keep])))
    for _ in range(empty if warn_each else min(empty, 1)):
        warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=4)
    if flat.ndim == 1:
        return result[0], axes
    stacked = stack(result, axis=-1) if result else _core.empty((*lead, 0), a.dtype)
    return stacked.reshape(lead + flat.shape[:-1]), axes


def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=_NoValue):
    """The median of the elements that are not NaN, of all of them or along axes.

    Parameters
    ----------
    a : array_like
        The elements.
    axis : None, int or tuple of ints
        Over which; None: all.
    out : ndarray, optional
        Receives the result.
    overwrite_input : bool
        Whether the elements of a may be put into another order meanwhile.
    keepdims : bool
        The axes stay, with length 1.

    Returns
    -------
    ndarray or NumPy scalar
        NaN, with a RuntimeWarning, where a slice has nothing else.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.nanmedian([1, np.nan, 9, 2])
    np.float64(2.0)
    """
    a = asanyarray(a)
    if a.dtype.kind not in "fc" or a.size == 0:
        if a.size == 0:
            return nanmean(a, axis, out=out, keepdims=keepdims)
        return median(a, axis, out=out, keepdims=keepdims)
    result, axes = _nan_rows(a, axis, _median_last, warn_each=axis is not None)
    return _deliver(result, a.shape, axes, keepdims, out)


def _nan_quantile(a, q, axis, out, method, keepdims, weights, weak):
    a = asanyarray(a)
    _check_method(method, weights)
    if not bool(((q >= 0) & (q <= 1)).all()):
        raise ValueError("Quantiles must be in the range [0, 1]")
    if a.size == 0 and a.dtype.kind != "c":
        return nanmean(a, axis, out=out, keepdims=keepdims)
    if a.dtype.kind != "f":
        return _quantile(a, q, axis, out, method, keepdims, weights, weak)
    if weights is not None:
        weights = asanyarray(weights)
        if weights.shape != a.shape:
            axes = tuple(range(a.ndim)) if axis is None else _axis_tuple(axis, a.ndim)
            weights = _weights_along(a, weights, axes)
        weights = _core.broadcast_to(weights, a.shape)

    def one(row, row_weights=None):
        return _quantile_last(row, q, method, row_weights, weak)

    result, axes = _nan_rows(a, axis, one, q.shape, weights, of_nan=_core._NUMPY_2_5)
    result = _deliver(result, a.shape, axes, keepdims, out, q.shape)
    return result if weights is None or out is not None else asarray(result)


def nanquantile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=_NoValue, *,
    weights=None,
):  # fmt: skip
    """Quantiles of the elements that are not NaN.

    Parameters
    ----------
    a : array_like
        The elements.
    q : array_like
        The parts, from 0 to 1.
    axis : None, int or tuple of ints
        Over which; None: all.
    out : ndarray, optional
        Receives the result.
    overwrite_input : bool
        Whether the elements of a may be put into another order meanwhile.
    method : str
        What is taken between two elements; one of percentile's.
    keepdims : bool
        The axes stay, with length 1.
    weights : array_like, optional
        Of the elements; with 'inverted_cdf' alone.

    Returns
    -------
    ndarray or NumPy scalar
        The axes of q come first. NaN, with a RuntimeWarning, where a slice has nothing else.

    Raises
    ------
    ValueError
        A part outside 0 to 1, an unknown method, or weights with another one.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.nanquantile([1, np.nan, 3], [0, 1])
    array([1., 3.])
    """
    a = asanyarray(a)
    weak, q = type(q) in (int, float), asarray(q)
    return _nan_quantile(a, q, axis, out, method, keepdims, weights, weak)


def nanpercentile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=_NoValue, *,
    weights=None,
):  # fmt: skip
    """Percentiles of the elements that are not NaN.

    Parameters
    ----------
    a : array_like
        The elements.
    q : array_like
        The parts, from 0 to 100.
    axis : None, int or tuple of ints
        Over which; None: all.
    out : ndarray, optional
        Receives the result.
    overwrite_input : bool
        Whether the elements of a may be put into another order meanwhile.
    method : str
        What is taken between two elements; one of percentile's.
    keepdims : bool
        The axes stay, with length 1.
    weights : array_like, optional
        Of the elements; with 'inverted_cdf' alone.

    Returns
    -------
    ndarray or NumPy scalar
        The axes of q come first. NaN, with a RuntimeWarning, where a slice has nothing else.

    Raises
    ------
    ValueError
        A part outside 0 to 100, an unknown method, or weights with another one.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.nanpercentile([1, np.nan, 3], 50)
    np.float64(2.0)
    """
    a = asanyarray(a)
    weak, q = type(q) in (int, float), asarray(_core.divide(q, 100))
    return _nan_quantile(a, q, axis, out, method, keepdims, weights, weak)
