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
    """The n-th differences along an axis."""
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
    """Differences of the flattened array, with optional ends."""
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
    """Derivatives by second-order central differences."""
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
    """The integral along an axis by the trapezoidal rule."""
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
    before = (slice(None),) * _normalize(axis, y.ndim)
    high, low = (*before, slice(1, None)), (*before, slice(None, -1))
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
    """Running sums, optionally with the leading 0."""
    return _cumulative(x, _core.add, axis, dtype, out, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
    """Running products, optionally with the leading 1."""
    return _cumulative(x, _core.multiply, axis, dtype, out, include_initial)


def unwrap(p, discont=None, axis=-1, *, period=2 * math.pi):
    """Jumps larger than half a period taken out of a signal."""
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
