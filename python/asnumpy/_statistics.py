"""Averages, quantiles, covariances, histograms, and the functions that ignore NaN."""

import math
import operator
import warnings

import numpy as _np
from numpy import _NoValue

from . import _core
from ._core import asanyarray, asarray
from ._errstate import errstate
from ._joining import _normalize


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
        if bool(_core.any(asarray(scale) == 0.0)):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        avg = _core.divide(_core.multiply(a, w, dtype=result_dtype).sum(axis, **keep), scale)
    avg = asanyarray(avg)
    if returned:
        scale = asanyarray(scale)
        if scale.shape != avg.shape:
            scale = _core.broadcast_to(scale, avg.shape).copy()
        return avg[()], scale[()]
    return avg[()]


def _axis_tuple(axis, ndim):
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    axes = tuple(_normalize(x, ndim) for x in axes)
    if len(set(axes)) != len(axes):
        raise ValueError("repeated axis")
    return axes


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
    return _core.subtract(a.max(axis, **keep), a.min(axis, **keep), out)


# ---- order statistics: the reduced axes are moved to the end and flattened


def _flat_axes(a, axis):
    """a with the axes of `axis` as one last axis, and those axes."""
    from ._manipulation import moveaxis

    if axis is None:
        return a.ravel(), tuple(range(a.ndim))
    axes = _axis_tuple(axis, a.ndim)
    moved = moveaxis(a, axes, tuple(range(a.ndim - len(axes), a.ndim)))
    kept = moved.shape[: a.ndim - len(axes)]
    return moved.reshape((*kept, math.prod(moved.shape[len(kept) :]))), axes


def _kept_shape(shape, axes):
    return tuple(1 if d in axes else s for d, s in enumerate(shape))


def _deliver(result, shape, axes, keepdims, out, lead=()):
    """Reshapes for keepdims and stores into out."""
    result = asarray(result)
    if keepdims is not _NoValue and keepdims:
        result = result.reshape(lead + _kept_shape(shape, axes))
    if out is not None:
        _core.copyto(out, result, casting="unsafe")
        return out
    return result[()]


def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The median over axes; NaN propagates."""
    a = asanyarray(a)
    flat, axes = _flat_axes(a, axis)
    return _deliver(_median_last(flat), a.shape, axes, keepdims, out)


def _ranked(flat, positions):
    """A copy whose elements at these positions of the last axis are where sorting puts them.

    The largest, where a NaN would be, is one of them.
    """
    wanted = sorted({*positions, flat.shape[-1] - 1})
    if len(wanted) > 16:
        return _core.sort(flat, axis=-1)
    return _core.partition(flat, wanted, axis=-1)


def _median_last(flat):
    n = flat.shape[-1]
    if n == 0:
        return _core.mean(flat, axis=-1)
    half = n // 2
    ranked = _ranked(flat, [max(half - 1, 0), half])
    middle = ranked[..., half : half + 1] if n % 2 else ranked[..., half - 1 : half + 1]
    with errstate(invalid="ignore"):
        result = asarray(middle.mean(axis=-1))
    if flat.dtype.kind in "fc":
        last = ranked[..., -1]
        result = _core.where(_core.isnan(last), last.astype(result.dtype), result)
    return result


# alpha, beta of the continuous methods: Hyndman and Fan (1996), "Sample quantiles in statistical
# packages", The American Statistician 50.
_CONTINUOUS = {
    "interpolated_inverted_cdf": (0, 1), "hazen": (0.5, 0.5), "weibull": (0, 0),
    "linear": (1, 1), "median_unbiased": (1 / 3.0, 1 / 3.0), "normal_unbiased": (0.375, 0.375),
}  # fmt: skip
_DISCRETE = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "lower", "higher",
    "midpoint", "nearest",
)  # fmt: skip


def _positions(method, n, q):
    """The lower index, and the weight of the next element, for every q."""
    if method in _CONTINUOUS:
        alpha, beta = _CONTINUOUS[method]
        v = (n - 1) * q if method == "linear" else n * q + (alpha + q * (1 - alpha - beta)) - 1
    elif method == "inverted_cdf":
        i = _np.clip(_np.ceil(n * q) - 1, 0, n - 1).astype(_np.intp)
        return i, _np.zeros_like(q)
    elif method == "averaged_inverted_cdf":
        v = n * q - 1
        low = _np.floor(v)
        gamma = _np.where(v - low > 0, 1.0, 0.5)
        return low, gamma
    elif method == "closest_observation":
        v = n * q - 1 - 0.5
        low = _np.floor(v)
        up = ~((v - low == 0) & (low % 2 == 1))
        return _np.clip(low + up, 0, n - 1), _np.zeros_like(q)
    else:
        v = (n - 1) * q
        low, high = _np.floor(v), _np.ceil(v)
        if method == "lower":
            return low, _np.zeros_like(q)
        if method == "higher":
            return high, _np.zeros_like(q)
        if method == "nearest":
            return _np.rint(v), _np.zeros_like(q)
        return low, _np.where(v % 1 == 0, 0.0, 0.5)
    low = _np.floor(v)
    gamma = v - low
    gamma = _np.where(v < 0, 0.0, _np.where(v >= n - 1, 0.0, gamma))
    return low, gamma


def _lerp(a, b, t):
    """a + (b - a) t, exact at both ends."""
    d = _core.subtract(b, a)
    forward = a + d * t
    return _core.where(t >= 0.5, b - d * (1 - t), forward)


def _quantile_last(flat, q, method, weights):
    """Quantiles along the last axis; the axes of q come first."""
    n = flat.shape[-1]
    if n == 0:
        raise IndexError("cannot do a quantile of an empty axis")
    if weights is not None:
        return _weighted_quantile(flat, q, weights)
    host = _np.asarray(q, dtype=_np.float64)
    low, gamma = _positions(method, n, host.ravel())
    i = _np.clip(low, 0, n - 1).astype(_np.intp)
    j = _np.clip(_np.asarray(low) + 1, 0, n - 1).astype(_np.intp)
    ranked = _ranked(flat, [*i.tolist(), *j.tolist()])
    if method in _CONTINUOUS or method in ("averaged_inverted_cdf", "midpoint"):
        a, b = ranked.take(asarray(i), axis=-1), ranked.take(asarray(j), axis=-1)
        t = asarray(gamma)
        if flat.dtype.kind == "f":
            t = t.astype(_core.result_type(flat.dtype, q.dtype if q.dtype.kind == "f" else 1.0))
        result = _lerp(a, b, t)
    else:
        result = ranked.take(asarray(i), axis=-1)
    if flat.dtype.kind in "fc":
        last = ranked[..., -1:]
        result = _core.where(_core.isnan(last), last.astype(result.dtype), result)
    from ._manipulation import moveaxis

    result = moveaxis(result, -1, 0)
    return result.reshape(q.shape + result.shape[1:])


def _weighted_quantile(flat, q, weights):
    """The inverted CDF of weighted samples."""
    from ._manipulation import moveaxis, take_along_axis

    order = flat.argsort(axis=-1, kind="stable")
    ranked = take_along_axis(flat, order, -1)
    w = _core.broadcast_to(weights, flat.shape)
    cdf = take_along_axis(w, order, -1).cumsum(axis=-1).astype(_np.float64)
    total = cdf[..., -1:]
    if bool((~_core.isfinite(total) | (total == 0)).any()):
        raise ValueError("Weights included NaN, inf or were all zero.")
    cdf = cdf / total
    # Samples of no weight at the start are below the quantile 0.
    cdf = _core.where(cdf == 0, -1.0, cdf)
    rows, sums = ranked.reshape(-1, flat.shape[-1]), cdf.reshape(-1, flat.shape[-1])
    points = asarray(q, dtype=_np.float64).ravel()
    n = flat.shape[-1]
    picks = _core.empty((rows.shape[0], points.size), dtype=_np.intp)
    for i in range(rows.shape[0]):
        picks[i] = _core.minimum(sums[i].searchsorted(points, side="left"), n - 1)
    result = take_along_axis(rows, picks, -1).reshape((*flat.shape[:-1], points.size))
    if flat.dtype.kind == "f":
        last = ranked[..., -1:]
        result = _core.where(_core.isnan(last), last, result)
    return moveaxis(result, -1, 0).reshape(q.shape + flat.shape[:-1])


def _check_method(method, weights):
    if method not in _CONTINUOUS and method not in _DISCRETE:
        raise ValueError(
            f"{method!r} is not a valid method. Use one of: {sorted([*_CONTINUOUS, *_DISCRETE])}"
        )
    if weights is not None and method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")


def _quantile(a, q, axis, out, method, keepdims, weights):
    a = asanyarray(a)
    _check_method(method, weights)
    if a.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    if not bool(((q >= 0) & (q <= 1)).all()):
        raise ValueError("Quantiles must be in the range [0, 1]")
    if a.dtype.kind == "b":
        a = a.astype(_np.uint8) if method in _CONTINUOUS else a
    flat, axes = _flat_axes(a, axis)
    if weights is not None:
        weights = asanyarray(weights)
        if weights.shape != a.shape:
            weights = _weights_along(a, weights, axes)
        if bool((weights < 0).any()):
            raise ValueError("Weights must be non-negative.")
        weights = _flat_axes(_core.broadcast_to(weights, a.shape), axis)[0]
    values = _quantile_last(flat, q, method, weights)
    result = _deliver(values, a.shape, axes, keepdims, out, q.shape)
    # NumPy leaves a weighted quantile as a 0-d array.
    return result if weights is None or out is not None else asarray(result)


def quantile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *,
    weights=None,
):  # fmt: skip
    """The q-th quantiles over axes, by one of NumPy's thirteen methods."""
    a = asanyarray(a)
    return _quantile(a, _probabilities(a, q), axis, out, method, keepdims, weights)


def _probabilities(a, q):
    """q as floats; a Python number takes a's dtype."""
    if type(q) in (int, float) and a.dtype.kind == "f":
        return asarray(q, a.dtype)
    q = asanyarray(q)
    return q if q.dtype.kind == "f" else q.astype(float)


def percentile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *,
    weights=None,
):  # fmt: skip
    """The q-th percentiles over axes."""
    a = asanyarray(a)
    hundred = a.dtype.type(100) if a.dtype.kind == "f" else 100
    q = asarray(_core.divide(q, hundred))
    if not bool(((q >= 0) & (q <= 1)).all()):
        raise ValueError("Percentiles must be in the range [0, 100]")
    return _quantile(a, q, axis, out, method, keepdims, weights)


# ---- ignoring NaN


def _filled(a, value):
    """A copy with NaN replaced, and where they were; None when there can be none."""
    a = asanyarray(a)
    if a.dtype.kind not in "fc":
        return a, None
    isnan = _core.isnan(a)
    return _core.where(isnan, asarray(value, a.dtype), a), isnan


def _given(**kwargs):
    return {k: v for k, v in kwargs.items() if v is not _NoValue}


def nansum(a, axis=None, dtype=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue):
    """sum with NaN as 0."""
    a, _ = _filled(a, 0)
    return a.sum(axis=axis, dtype=dtype, out=out,
                 **_given(keepdims=keepdims, initial=initial, where=where))  # fmt: skip


def nanprod(
    a, axis=None, dtype=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue
):
    """prod with NaN as 1."""
    a, _ = _filled(a, 1)
    return a.prod(axis=axis, dtype=dtype, out=out,
                  **_given(keepdims=keepdims, initial=initial, where=where))  # fmt: skip


def nancumsum(a, axis=None, dtype=None, out=None):
    """cumsum with NaN as 0."""
    return _core.cumsum(_filled(a, 0)[0], axis=axis, dtype=dtype, out=out)


def nancumprod(a, axis=None, dtype=None, out=None):
    """cumprod with NaN as 1."""
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
    """max that ignores NaN."""
    return _nan_extreme(_core.fmax, a, axis, out, keepdims, initial, where)


def nanmin(a, axis=None, out=None, keepdims=_NoValue, initial=_NoValue, where=_NoValue):
    """min that ignores NaN."""
    return _nan_extreme(_core.fmin, a, axis, out, keepdims, initial, where)


def _nan_arg(function, fill, a, axis, out, keepdims):
    a, isnan = _filled(a, fill)
    if isnan is not None and a.size and bool(asarray(isnan.all(axis=axis)).any()):
        raise ValueError("All-NaN slice encountered")
    return function(a, axis=axis, out=out, **_given(keepdims=keepdims))


def nanargmax(a, axis=None, out=None, *, keepdims=_NoValue):
    """argmax that ignores NaN."""
    return _nan_arg(_core.argmax, -_np.inf, a, axis, out, keepdims)


def nanargmin(a, axis=None, out=None, *, keepdims=_NoValue):
    """argmin that ignores NaN."""
    return _nan_arg(_core.argmin, _np.inf, a, axis, out, keepdims)


def nanmean(a, axis=None, dtype=None, out=None, keepdims=_NoValue, *, where=_NoValue):
    """mean that ignores NaN."""
    a = asanyarray(a)
    if a.dtype.kind not in "fc":
        return _core.mean(a, axis=axis, dtype=dtype, out=out,
                          **_given(keepdims=keepdims, where=where))  # fmt: skip
    filled, isnan = _filled(a, 0)
    count = _core.sum(~isnan, axis=axis, dtype=_np.intp, **_given(keepdims=keepdims, where=where))
    total = _core.sum(filled, axis=axis, dtype=dtype, **_given(keepdims=keepdims, where=where))
    return _divide_counts(total, count, out, "Mean of empty slice")


def _divide_counts(total, count, out, message):
    total = asarray(total)
    with errstate(invalid="ignore", divide="ignore"):
        result = _core.divide(total, count, dtype=total.dtype, casting="unsafe")
    if bool((asarray(count) <= 0).any()):
        warnings.warn(message, RuntimeWarning, stacklevel=3)
    if out is None:
        return result
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
    isnan = _core.isnan(a)
    chosen = ~isnan if where is _NoValue else ~isnan & asarray(where)
    count = asarray(_core.sum(chosen, axis=axis, dtype=_np.intp, keepdims=True))
    if mean is _NoValue:
        total = _core.sum(a, axis=axis, dtype=dtype, keepdims=True, where=chosen)
        total = asarray(total)
        with errstate(invalid="ignore", divide="ignore"):
            mean = asarray(_core.divide(total, count, dtype=total.dtype, casting="unsafe"))
    deviation = _core.where(chosen, a - mean, asarray(0, a.dtype))
    square = deviation.real**2 + deviation.imag**2 if a.dtype.kind == "c" else deviation**2
    total = asarray(_core.sum(square, axis=axis, dtype=dtype, **_given(keepdims=keepdims)))
    freedom = count.reshape(total.shape) - ddof
    with errstate(invalid="ignore", divide="ignore"):
        result = _core.divide(total, freedom, dtype=total.dtype, casting="unsafe")
    bad = asarray(freedom <= 0)
    if bool(bad.any()):
        warnings.warn("Degrees of freedom <= 0 for slice.", RuntimeWarning, stacklevel=3)
        result = _core.where(bad, asarray(_np.nan, total.dtype), result)
    result = _core.sqrt(result) if root else asarray(result)[()]
    if out is None:
        return result
    _core.copyto(out, result, casting="unsafe")
    return out


def nanvar(
    a, axis=None, dtype=None, out=None, ddof=0, keepdims=_NoValue, *, where=_NoValue,
    mean=_NoValue, correction=_NoValue,
):  # fmt: skip
    """var that ignores NaN."""
    return _nan_spread(a, axis, dtype, out, ddof, keepdims, where, mean, correction, False)


def nanstd(
    a, axis=None, dtype=None, out=None, ddof=0, keepdims=_NoValue, *, where=_NoValue,
    mean=_NoValue, correction=_NoValue,
):  # fmt: skip
    """std that ignores NaN."""
    return _nan_spread(a, axis, dtype, out, ddof, keepdims, where, mean, correction, True)


def _nan_rows(a, axis, row_function, lead=(), weights=None, warn_each=False):
    """row_function on every slice without its NaN; an all-NaN slice gives NaN and warns."""
    flat, axes = _flat_axes(a, axis)
    rows = flat.reshape(-1, flat.shape[-1])
    if weights is not None:
        weights = _flat_axes(weights, axis)[0].reshape(rows.shape)
    result, empty = [], 0
    for i in range(rows.shape[0]):
        row = rows[i]
        keep = ~_core.isnan(row)
        kept = row[keep]
        if kept.size == 0:
            empty += 1
            result.append(_core.full(lead, _np.nan, a.dtype))
        elif weights is None:
            result.append(asarray(row_function(kept)))
        else:
            result.append(asarray(row_function(kept, weights[i][keep])))
    for _ in range(empty if warn_each else min(empty, 1)):
        warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=4)
    from ._joining import stack

    stacked = stack(result, axis=-1) if result else _core.empty((*lead, 0), a.dtype)
    return stacked.reshape(lead + flat.shape[:-1]), axes


def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=_NoValue):
    """median that ignores NaN."""
    a = asanyarray(a)
    if a.dtype.kind not in "fc" or a.size == 0:
        if a.size == 0:
            return nanmean(a, axis, out=out, keepdims=keepdims)
        return median(a, axis, out=out, keepdims=keepdims)
    result, axes = _nan_rows(a, axis, _median_last, warn_each=axis is not None)
    return _deliver(result, a.shape, axes, keepdims, out)


def _nan_quantile(a, q, axis, out, method, keepdims, weights):
    a = asanyarray(a)
    _check_method(method, weights)
    if a.dtype.kind != "f":
        return _quantile(a, q, axis, out, method, keepdims, weights)
    if not bool(((q >= 0) & (q <= 1)).all()):
        raise ValueError("Quantiles must be in the range [0, 1]")
    if a.size == 0:
        return nanmean(a, axis, out=out, keepdims=keepdims)
    if weights is not None:
        weights = asanyarray(weights)
        if weights.shape != a.shape:
            axes = tuple(range(a.ndim)) if axis is None else _axis_tuple(axis, a.ndim)
            weights = _weights_along(a, weights, axes)
        weights = _core.broadcast_to(weights, a.shape)

    def one(row, row_weights=None):
        return _quantile_last(row, q, method, row_weights)

    result, axes = _nan_rows(a, axis, one, q.shape, weights)
    result = _deliver(result, a.shape, axes, keepdims, out, q.shape)
    return result if weights is None or out is not None else asarray(result)


def nanquantile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=_NoValue, *,
    weights=None,
):  # fmt: skip
    """quantile that ignores NaN."""
    a = asanyarray(a)
    return _nan_quantile(a, _probabilities(a, q), axis, out, method, keepdims, weights)


def nanpercentile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=_NoValue, *,
    weights=None,
):  # fmt: skip
    """percentile that ignores NaN."""
    a = asanyarray(a)
    hundred = a.dtype.type(100) if a.dtype.kind == "f" else 100
    q = asarray(_core.divide(q, hundred))
    return _nan_quantile(a, q, axis, out, method, keepdims, weights)


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


# ---- histograms


def _outer_edges(a, range):
    if range is not None:
        low, high = range
        if low > high:
            raise ValueError("max must be larger than min in range parameter.")
        if not (_np.isfinite(low) and _np.isfinite(high)):
            raise ValueError(f"supplied range of [{low}, {high}] is not finite")
    elif a.size == 0:
        low, high = 0, 1
    else:
        low, high = a.min(), a.max()
        if not (_np.isfinite(low) and _np.isfinite(high)):
            raise ValueError(f"autodetected range of [{low}, {high}] is not finite")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return low, high


def histogram_bin_edges(a, bins=10, range=None, weights=None):
    """The edges that histogram would use."""
    a, weights = _histogram_input(a, weights)
    return _bin_edges(a, bins, range, weights)[0]


def _histogram_input(a, weights):
    a = asarray(a)
    if a.dtype.kind == "b":
        warnings.warn(
            f"Converting input from {a.dtype} to {_np.uint8} for compatibility.",
            RuntimeWarning, stacklevel=3,
        )  # fmt: skip
        a = a.astype(_np.uint8)
    if weights is not None:
        weights = asarray(weights)
        if weights.shape != a.shape:
            raise ValueError("weights should have the same shape as a.")
        weights = weights.ravel()
    return a.ravel(), weights


def _bin_edges(a, bins, range, weights):
    """Edges, and (low, high, count) when they are uniform."""
    from ._creation import linspace

    if isinstance(bins, str):
        if weights is not None:
            raise TypeError(
                "Automated estimation of the number of bins is not supported for weighted data"
            )
        edges = _np.histogram_bin_edges(_np.asarray(a), bins, range)
        low, high, count = edges[0], edges[-1], len(edges) - 1
    elif _np.ndim(bins) == 0 and not isinstance(bins, _core.ndarray):
        try:
            count = operator.index(bins)
        except TypeError as error:
            raise TypeError("`bins` must be an integer, a string, or an array") from error
        if count < 1:
            raise ValueError("`bins` must be positive, when an integer")
        low, high = _outer_edges(a, range)
    else:
        edges = asarray(bins)
        if edges.ndim != 1:
            raise ValueError("`bins` must be 1d, when an array")
        if bool((edges[:-1] > edges[1:]).any()):
            raise ValueError("`bins` must increase monotonically, when an array")
        return edges, None
    dtype = _core.result_type(low, high, a)
    if dtype.kind in "iu":
        dtype = _core.result_type(dtype, float)
    edges = linspace(low, high, count + 1, endpoint=True, dtype=dtype)
    if bool((edges[:-1] >= edges[1:]).any()):
        raise ValueError(f"Too many bins for data range. Cannot create {count} finite-sized bins.")
    return edges, (low, high, count)


def histogram(a, bins=10, range=None, density=None, weights=None):
    """How many values fall into each bin."""
    a, weights = _histogram_input(a, weights)
    edges, uniform = _bin_edges(a, bins, range, weights)
    dtype = _np.dtype(_np.intp) if weights is None else weights.dtype
    if uniform is not None and (weights is None or weights.dtype.kind in "biuf"):
        n = _uniform_counts(a, weights, edges, *uniform).astype(dtype)
    else:
        n = _sorted_counts(a, weights, edges).astype(dtype)
    if density:
        widths = asarray(edges[1:] - edges[:-1], float)
        return n / widths / n.sum(), edges
    return n, edges


def _uniform_counts(a, weights, edges, low, high, count):
    """Bin numbers by arithmetic, then corrected against the edges, then counted."""
    keep = (a >= low) & (a <= high)
    if not bool(keep.all()):
        a = a[keep]
        weights = None if weights is None else weights[keep]
    a = a.astype(edges.dtype, copy=False)
    low, high = edges.dtype.type(low), edges.dtype.type(high)  # no overflow of small integers
    f = (_core.subtract(a, low) / _core.subtract(high, low)) * count
    i = f.astype(_np.intp)
    i = i - (i == count)
    i = i - (a < edges[i])
    i = i + ((a >= edges[i + 1]) & (i != count - 1))
    if weights is None:
        return _core.bincount(i, minlength=count)
    return _core.bincount(i, weights.astype(float), minlength=count)


def _sorted_counts(a, weights, edges):
    if weights is None:
        ranked = _core.sort(a)
        found = _core.concatenate([
            asarray(ranked.searchsorted(edges[:-1], "left")),
            asarray(ranked.searchsorted(edges[-1:], "right")),
        ])  # fmt: skip
        return found[1:] - found[:-1]
    order = a.argsort(kind="stable")
    ranked, w = a[order], weights[order]
    sums = _core.concatenate([_core.zeros(1, w.dtype), w.cumsum()])
    found = _core.concatenate([
        asarray(ranked.searchsorted(edges[:-1], "left")),
        asarray(ranked.searchsorted(edges[-1:], "right")),
    ])  # fmt: skip
    sums = sums[found]
    return sums[1:] - sums[:-1]


def histogramdd(sample, bins=10, range=None, density=None, weights=None):
    """A histogram in several dimensions."""
    if isinstance(sample, _core.ndarray | _np.ndarray) and sample.ndim == 2:
        sample = asarray(sample)
    else:
        from ._joining import atleast_2d

        sample = atleast_2d(sample if isinstance(sample, _core.ndarray) else asarray(sample)).T
    n, ndim = sample.shape
    weights = None if weights is None else asarray(weights)
    try:
        if len(bins) != ndim:
            raise ValueError(
                "The dimension of bins must be equal to the dimension of the sample x."
            )
    except TypeError:
        bins = ndim * [bins]
    if range is None:
        range = (None,) * ndim
    elif len(range) != ndim:
        raise ValueError("range argument must have one entry per dimension")
    edges, numbers, sizes = [], [], []
    for d in _np.arange(ndim):
        d = int(d)
        column = sample[:, d]
        if _np.ndim(bins[d]) == 0 and not isinstance(bins[d], _core.ndarray) and bins[d] < 1:
            raise ValueError(f"`bins[{d}]` must be positive, when an integer")
        edge = _bin_edges(column, bins[d], range[d], None)[0]
        i = asarray(edge.searchsorted(column, side="right"))
        i = i - (column == edge[-1])
        edges.append(edge)
        numbers.append(i)
        sizes.append(len(edge) + 1)
    flat = numbers[0] * 0
    for i, size in zip(numbers, sizes, strict=True):
        flat = flat * size + i
    total = 1
    for size in sizes:
        total *= size
    hist = _core.bincount(flat, weights, minlength=total).reshape(sizes).astype(float)
    hist = hist[(slice(1, -1),) * ndim]
    if density:
        s = hist.sum()
        for d, edge in enumerate(edges):
            shape = [1] * ndim
            shape[d] = len(edge) - 1
            hist = hist / (edge[1:] - edge[:-1]).reshape(shape)
        hist = hist / s
    return hist, tuple(edges)


def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    """A histogram in two dimensions."""
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    try:
        n = len(bins)
    except TypeError:
        n = 1
    if n not in (1, 2):
        bins = [asarray(bins)] * 2
    from ._joining import stack

    hist, edges = histogramdd(
        stack([asarray(x), asarray(y)], axis=1), bins, range, density, weights
    )
    return hist, edges[0], edges[1]
