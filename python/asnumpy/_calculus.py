"""Differences, derivatives, integrals, running sums, interpolation."""

import functools
import math

import numpy as _np
from numpy import _NoValue

from . import _core
from ._core import asanyarray, asarray, where
from ._joining import _normalize
from ._statistics import _axis_tuple


def diff(a, n=1, axis=-1, prepend=_NoValue, append=_NoValue):
    """Differences of neighbours along an axis, n times over.

    Parameters
    ----------
    a : array_like
        The elements.
    n : int
        How often; 0 gives a itself.
    axis : int
        The axis.
    prepend, append : array_like, optional
        Values put before and behind along axis first; a number is stretched to the other axes.

    Returns
    -------
    ndarray
        Shorter by n along axis. Of bools: where neighbours differ.

    Raises
    ------
    ValueError
        n is negative, or a is a number.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.diff([1, 4, 9, 16])
    array([3, 5, 7])
    >>> np.diff([1, 4, 9, 16], n=2, prepend=0)
    array([2, 2, 2])
    """
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    a = asanyarray(a)
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = _normalize(axis, a.ndim)
    parts = []
    for end in (prepend, None, append):
        if end is None:
            parts.append(a)
        elif end is not _NoValue:
            end = asanyarray(end)
            if end.ndim == 0:
                shape = list(a.shape)
                shape[axis] = 1
                end = _core.broadcast_to(end, tuple(shape))
            parts.append(end)
    if len(parts) > 1:
        a = _core.concatenate(parts, axis)
    high = (slice(None),) * axis + (slice(1, None),)
    low = (slice(None),) * axis + (slice(None, -1),)
    op = _core.not_equal if a.dtype == bool else _core.subtract
    for _ in range(n):
        a = op(a[high], a[low])
    return a


def ediff1d(ary, to_end=None, to_begin=None):
    """Differences of neighbours in the flattened array, with values put around them.

    Parameters
    ----------
    ary : array_like
        The elements.
    to_end, to_begin : array_like, optional
        What follows the differences, and what comes before them.

    Returns
    -------
    ndarray, one-dimensional
        Of ary's dtype.

    Raises
    ------
    TypeError
        to_end or to_begin cannot be cast to it.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.ediff1d([1, 4, 9], to_begin=0, to_end=[98, 99])
    array([ 0,  3,  5, 98, 99])
    """
    ary = asanyarray(ary).ravel()
    body = ary[1:] - ary[:-1]
    if to_end is None and to_begin is None:
        return body
    ends = []
    for name, end in (("to_begin", to_begin), ("to_end", to_end)):
        if end is not None:
            end = asanyarray(end)
            if not _core.can_cast(end, ary.dtype, casting="same_kind"):
                raise TypeError(
                    f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` "
                    "rule."
                )
            end = end.ravel().astype(ary.dtype)
        ends.append(end)
    return _core.concatenate([x for x in (ends[0], body, ends[1]) if x is not None])


def gradient(f, *varargs, axis=None, edge_order=1):
    """Derivatives along axes by differences: central ones inside, one-sided ones at the ends.

    Parameters
    ----------
    f : array_like
        The values of a function on a grid.
    *varargs : float or array_like
        The spacing of the grid: one for all axes, or for each axis a number or its coordinates.
    axis : None, int or tuple of ints
        Along which; None: each.
    edge_order : {1, 2}
        The order of accuracy at the ends.

    Returns
    -------
    ndarray, or tuple of ndarrays
        One for each axis, of f's shape.

    Raises
    ------
    ValueError
        An axis has fewer than edge_order + 1 elements, or coordinates are of another length.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.gradient([0.0, 1.0, 4.0, 9.0])
    array([1., 2., 4., 5.])
    >>> np.gradient([0.0, 1.0, 4.0, 9.0], 0.5, edge_order=2)
    array([ 0.,  4.,  8., 12.])
    """
    f = asanyarray(f)
    ndim = f.ndim
    axes = tuple(range(ndim)) if axis is None else _axis_tuple(axis, ndim)
    count = len(axes)
    if not varargs:
        dx = [1.0] * count
    elif len(varargs) == 1 and _np.ndim(varargs[0]) == 0:
        dx = list(varargs) * count
    elif count == 0:
        return ()
    elif len(varargs) == count:
        dx = [_spacing(d, f.shape[axes[i]]) for i, d in enumerate(varargs)]
    else:
        raise TypeError("invalid number of arguments")
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if f.dtype.kind == "b":
        _core.subtract(f, f)  # refused, as by NumPy
    if f.dtype.kind not in "fc":
        f = f.astype(_np.float64)
    result = tuple(_gradient_along(f, d, h, edge_order) for d, h in zip(axes, dx, strict=True))
    return result[0] if count == 1 else result


def _spacing(d, n):
    d = asarray(d)
    if d.ndim == 0:
        return d[()]
    if d.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if len(d) != n:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    d = diff(d.astype(_np.float64) if d.dtype.kind in "iu" else d)
    return d[0] if bool((d == d[0]).all()) else d


def _gradient_along(f, axis, h, edge_order):
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1)"
            " elements are required."
        )

    def at(a, b):
        return (*(slice(None),) * axis, slice(a, b))

    out = _core.empty_like(f)
    uneven = _np.ndim(h) == 1
    inner, left, mid, right = at(1, -1), at(None, -2), at(1, -1), at(2, None)
    if not uneven:
        out[inner] = (f[right] - f[left]) / (2.0 * h)
    else:
        shape = [1] * f.ndim
        shape[axis] = n - 2
        d1, d2 = h[:-1], h[1:]
        a = (-d2 / (d1 * (d1 + d2))).reshape(shape)
        b = ((d2 - d1) / (d1 * d2)).reshape(shape)
        c = (d1 / (d2 * (d1 + d2))).reshape(shape)
        out[inner] = a * f[left] + b * f[mid] + c * f[right]
    pick = functools.partial(_pick, f, axis)
    first, last = (h[0], h[-1]) if uneven else (h, h)
    lo, hi = (slice(None),) * axis + (0,), (slice(None),) * axis + (-1,)
    if edge_order == 1:
        out[lo] = (pick(1) - pick(0)) / first
        out[hi] = (pick(-1) - pick(-2)) / last
        return out
    if not uneven:
        a, b, c = -1.5 / h, 2.0 / h, -0.5 / h
        out[lo] = a * pick(0) + b * pick(1) + c * pick(2)
        out[hi] = -c * pick(-3) - b * pick(-2) - a * pick(-1)
        return out
    d1, d2 = h[0], h[1]
    out[lo] = (-(2.0 * d1 + d2) / (d1 * (d1 + d2)) * pick(0) + (d1 + d2) / (d1 * d2) * pick(1)
               - d1 / (d2 * (d1 + d2)) * pick(2))  # fmt: skip
    d1, d2 = h[-2], h[-1]
    out[hi] = (d2 / (d1 * (d1 + d2)) * pick(-3) - (d2 + d1) / (d1 * d2) * pick(-2)
               + (2.0 * d2 + d1) / (d2 * (d1 + d2)) * pick(-1))  # fmt: skip
    return out


def _pick(f, axis, i):
    return f[(slice(None),) * axis + (i,)]


def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral along an axis by the trapezoidal rule.

    Parameters
    ----------
    y : array_like
        The values of a function.
    x : array_like, optional
        Where it has them; by default at equal distances.
    dx : float
        That distance.
    axis : int
        The axis.

    Returns
    -------
    ndarray or scalar
        Without axis.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.trapezoid([1, 2, 3], dx=2)
    np.float64(8.0)
    """
    y = asanyarray(y)
    if x is None:
        d = dx
    else:
        x = asanyarray(x)
        d = diff(x) if x.ndim == 1 else diff(x, axis=axis)
        if x.ndim == 1:
            shape = [1] * y.ndim
            shape[axis] = d.shape[0]
            d = d.reshape(shape)
    high, low = [slice(None)] * y.ndim, [slice(None)] * y.ndim
    high[axis], low[axis] = slice(1, None), slice(None, -1)
    high, low = tuple(high), tuple(low)
    return (d * (y[high] + y[low]) / 2.0).sum(axis)


def _cumulative(x, op, axis, dtype, out, include_initial):
    x = asanyarray(x)
    x = x.reshape(1) if x.ndim == 0 else x
    if axis is None:
        if x.ndim >= 2:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is "
                             "required.")  # fmt: skip
        x, axis = x.reshape(-1), 0
    if not include_initial:
        return op.accumulate(x, axis=axis, dtype=dtype, out=out)
    axis = _normalize(axis, x.ndim)
    first = list(x.shape)
    first[axis] = 1
    body = op.accumulate(x, axis=axis, dtype=dtype)
    start = _core.full(first, op.identity, dtype=body.dtype)
    return _core.concatenate([start, body], axis, out=out)


def cumulative_sum(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
    """Running sums along an axis, as the array API standard has them.

    Parameters
    ----------
    x : array_like
        The elements.
    axis : int, optional
        The axis; it must be given where x has more than one.
    dtype : dtype, optional
        In which is added; by default as sum has it.
    out : ndarray, optional
        Receives the result.
    include_initial : bool
        Puts the sum of no elements, 0, in front.

    Returns
    -------
    ndarray
        Of x's shape, or one longer along axis.

    Raises
    ------
    ValueError
        No axis is given and x has not one dimension.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.cumulative_sum([2, 3, 4], include_initial=True)
    array([0, 2, 5, 9])
    """
    return _cumulative(x, _core.add, axis, dtype, out, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
    """Running products along an axis, as the array API standard has them.

    Parameters
    ----------
    x : array_like
        The elements.
    axis : int, optional
        The axis; it must be given where x has more than one.
    dtype : dtype, optional
        In which is multiplied; by default as prod has it.
    out : ndarray, optional
        Receives the result.
    include_initial : bool
        Puts the product of no elements, 1, in front.

    Returns
    -------
    ndarray
        Of x's shape, or one longer along axis.

    Raises
    ------
    ValueError
        No axis is given and x has not one dimension.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.cumulative_prod([2, 3, 4], include_initial=True)
    array([ 1,  2,  6, 24])
    """
    return _cumulative(x, _core.multiply, axis, dtype, out, include_initial)


def unwrap(p, discont=None, axis=-1, *, period=2 * math.pi):
    """Jumps of a periodic signal taken out: steps larger than half a period become their complement.

    Parameters
    ----------
    p : array_like
        Angles, or another signal with a period.
    discont : float, optional
        Steps up to this stay; by default, and at least, half a period.
    axis : int
        The axis.
    period : float
        By default 2 pi.

    Returns
    -------
    ndarray, of p's shape

    Examples
    --------
    >>> import asnumpy as np
    >>> np.unwrap([0, 100, 200, 300, 40], period=360)
    array([  0, 100, 200, 300, 400])
    """
    p = asarray(p)
    delta = diff(p, axis=axis)
    if discont is None:
        discont = period / 2
    axis = _normalize(axis, p.ndim)
    dtype = _core.result_type(delta, period)
    if dtype.kind in "iu":
        high, rest = divmod(period, 2)
        ambiguous = rest == 0
    else:
        high, ambiguous = period / 2, True
    low = -high
    wrapped = _core.remainder(delta - low, period) + low
    if ambiguous:
        wrapped = where((wrapped == low) & (delta > 0), asarray(high, wrapped.dtype), wrapped)
    correct = where(_core.absolute(delta) < discont, asarray(0, wrapped.dtype), wrapped - delta)
    result = _core.array(p, copy=True, dtype=dtype)
    tail = (slice(None),) * axis + (slice(1, None),)
    result[tail] = p[tail] + correct.cumsum(axis)
    return result
