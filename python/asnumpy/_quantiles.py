"""Medians and quantiles.

The reduced axes are moved to the end and flattened, and rows are sorted.
"""

import math

import numpy as _np
from numpy import _NoValue

from . import _core, _support
from ._array_methods import check_out, number
from ._core import asanyarray, asarray, moveaxis
from ._errstate import errstate
from ._statistics import _axis_tuple, _weights_along


def _flat_axes(a, axis):
    """a with the axes of `axis` as one last axis, and those axes."""
    if axis is None:
        return a.ravel(), tuple(range(a.ndim))
    axes = _axis_tuple(axis, a.ndim)
    if len(axes) == 1:
        d = axes[0]
        if d == a.ndim - 1:
            return a, axes
        return a.transpose([k for k in range(a.ndim) if k != d] + [d]), axes
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
    return result if keepdims is not _NoValue and keepdims else number(result)


def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The median, of all elements or along axes.

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
        The mean of the two in the middle where the number is even; float64 for integers. NaN where
        there is one, and of no elements.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.median([[1, 9, 2], [7, 3, 8]], axis=1)
    array([2., 7.])
    """
    a = asanyarray(a)
    flat, axes = _flat_axes(a, axis)
    middle = _median_last(flat)
    if not keepdims:
        check_out(out, middle)
    return _deliver(middle, a.shape, axes, keepdims, out)


# Lines up to here are sorted, many at a time; of longer ones only what is asked for is found.
_SORTED = 1024
# Of so short ones, when there are many, only what is asked for leaves the tile that they are sorted in.
_BESIDE, _MANY = 128, 4096


def _ranked(flat, positions):
    """Elements in sorted order, where among them these positions are, and every line's last.

    They lie along the last axis. The last one is NaN where there is one.
    """
    n = flat.shape[-1]
    wanted = sorted(set(positions))
    beside = n <= _BESIDE and flat.size >= _MANY and flat.dtype.char in "fdilqILQ"
    if (n <= _SORTED and not beside) or len(wanted) > 16:
        ranked = _core.sort(flat, axis=-1)
        return ranked, positions, asarray(ranked[..., -1])
    with_last = beside or flat.dtype.kind == "c"  # of several NaN, the one that sorting puts last
    if with_last:
        wanted = sorted({*wanted, n - 1})
    ranked = _core._order_statistics(flat, wanted)
    last = ranked[..., -1] if with_last else _core.max(flat, axis=-1)
    place = {position: i for i, position in enumerate(wanted)}
    return ranked, [place[p] for p in positions], asarray(last)


def _all_finite(x):
    finite = _core.isfinite(x)
    return finite.all() if finite.ndim else finite  # a number's method is NumPy's: 1.5 us


def _median_last(flat):
    n = flat.shape[-1]
    if n == 0:
        return _core.mean(flat, axis=-1)
    half = n // 2
    ranked, place, last = _ranked(flat, [half] if n % 2 else [half - 1, half])
    middle = ranked[..., place[0] : place[-1] + 1]
    if flat.dtype.kind not in "fc":
        return asarray(middle.mean(axis=-1))
    # A trace of jit's cannot look, and takes the way that is right for both.
    if not _core._is_tracing() and _all_finite(last):
        first = middle if flat.dtype.kind == "c" else middle[..., 0]
        if _all_finite(first):
            return asarray(middle.mean(axis=-1))
    with errstate(invalid="ignore"):  # inf - inf
        result = asarray(middle.mean(axis=-1))
    return _core.where(_core.isnan(last), last.astype(result.dtype), result)


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


def _counting_dtype(q, n):
    """Positions are counted in q's own precision, as NumPy does; float16 counts to 2048 only."""
    return _np.dtype(_np.float64) if q.dtype == _np.float16 and n > 2048 else q.dtype


def _quantile_last(flat, q, method, weights, weak=False):
    """Quantiles along the last axis; the axes of q come first. weak: q was a Python number."""
    n = flat.shape[-1]
    if q.ndim > 2:
        raise ValueError(f"q must be a scalar, 1-d or 2-d, not of {q.ndim} dimensions")
    if n == 0:
        raise IndexError("cannot do a quantile of an empty axis")
    if weights is not None:
        return _weighted_quantile(flat, q, weights)
    if q.dtype.kind in "iu":
        if method == "linear":
            return _extremes(flat, q)
        q = q.astype(float)
    if method == "linear" and q.ndim == 0:
        return _quantile_one(flat, q, weak)
    host = _np.asarray(q, dtype=_counting_dtype(q, n))
    low, gamma = _positions(method, n, host.ravel())
    i = _np.clip(low, 0, n - 1).astype(_np.intp)
    j = _np.clip(_np.asarray(low) + 1, 0, n - 1).astype(_np.intp)
    ranked, place, last = _ranked(flat, [*i.tolist(), *j.tolist()])
    a = ranked.take(place[: i.size], axis=-1)
    if method in _CONTINUOUS or method in ("averaged_inverted_cdf", "midpoint"):
        b = ranked.take(place[i.size :], axis=-1)
        t = asarray(gamma)
        if flat.dtype.kind == "f":
            t = t.astype(flat.dtype if weak else _core.result_type(flat.dtype, q.dtype))
        result = _lerp(a, b, t)
    else:
        result = a
    if flat.dtype.kind in "fc":
        last = last[..., None]
        result = _core.where(_core.isnan(last), last.astype(result.dtype), result)
    return _in_front(result, q)


def _in_front(result, q):
    """The quantiles' axis, the last one, as q's axes in front; row-major, as NumPy's result."""
    return asarray(moveaxis(result, -1, 0), order="C").reshape(q.shape + result.shape[:-1])


def _extremes(flat, q):
    """Quantiles 0 and 1, given as integers: elements as they are."""
    n = flat.shape[-1]
    picks = [(n - 1) * int(x) for x in (q.ravel().tolist() if q.ndim else [q[()]])]
    ranked, place, last = _ranked(flat, picks)
    result = ranked.take(place, axis=-1)
    if flat.dtype.kind == "f":
        last = last[..., None]
        result = _core.where(_core.isnan(last), last, result)
    return _in_front(result, q)


def _quantile_one(flat, q, weak):
    """One quantile by the method "linear", its position in Python numbers."""
    n, dtype = flat.shape[-1], flat.dtype
    v = (n - 1) * _counting_dtype(q, n).type(q[()])
    low = math.floor(v)
    i, j = max(low, 0), min(low + 1, n - 1)
    ranked, place, last = _ranked(flat, [i, j])
    a, b = (ranked[..., p] for p in place)
    t = 0.0 if v < 0 or v >= n - 1 else float(v) - low
    if dtype.kind in "fiu" and not weak:
        t = _core.result_type(dtype, q.dtype).type(t)
    d = _core.subtract(b, a)
    result = b - d * (1 - t) if t >= 0.5 else a + d * t
    if dtype.kind == "f":
        isnan = _core.isnan(last)
        if _core._is_tracing() or isnan.any():
            result = asarray(result)
            result = _core.where(isnan, last.astype(result.dtype), result)
    return asarray(result, order="C")


def _weighted_quantile(flat, q, weights):
    """The inverted CDF of weighted samples."""
    from ._core import take_along_axis

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
    if q.dtype.kind == "f":
        sums = sums.astype(q.dtype)  # 2/5 is 0.4 in the precision that 0.4 was given in
    points = q.ravel()
    n = flat.shape[-1]
    picks = _core.empty((rows.shape[0], points.size), dtype=_np.intp)
    for i in range(rows.shape[0]):
        picks[i] = _core.minimum(sums[i].searchsorted(points, side="left"), n - 1)
    result = take_along_axis(rows, picks, -1).reshape((*flat.shape[:-1], points.size))
    if flat.dtype.kind == "f":
        last = ranked[..., -1:]
        result = _core.where(_core.isnan(last), last, result)
    return _in_front(result, q)


def _check_method(method, weights):
    if method not in _CONTINUOUS and method not in _DISCRETE:
        raise ValueError(
            f"{method!r} is not a valid method. Use one of: {sorted([*_CONTINUOUS, *_DISCRETE])}"
        )
    if weights is not None and method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")


def _quantile(a, q, axis, out, method, keepdims, weights, weak=False):
    a = asanyarray(a)
    _check_method(method, weights)
    if a.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    if not bool(((q >= 0) & (q <= 1)).all()):
        raise ValueError("Quantiles must be in the range [0, 1]")
    flat, axes = _flat_axes(a, axis)
    if weights is not None:
        weights = asanyarray(weights)
        if weights.shape != a.shape:
            weights = _weights_along(a, weights, axes)
        if bool((weights < 0).any()):
            raise ValueError("Weights must be non-negative.")
        weights = _flat_axes(_core.broadcast_to(weights, a.shape), axis)[0]
    values = _quantile_last(flat, q, method, weights, weak)
    result = _deliver(values, a.shape, axes, keepdims, out, q.shape)
    # NumPy leaves a weighted quantile as a 0-d array.
    return result if weights is None or out is not None else asarray(result)


def quantile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *,
    weights=None,
):  # fmt: skip
    """Quantiles: the values below which given parts of the elements lie.

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
        The axes of q come first. NaN where there is one.

    Raises
    ------
    ValueError
        A part outside 0 to 1, an unknown method, or weights with another one.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.quantile([1, 2, 3, 4], 0.25, method="lower")
    np.int64(1)
    """
    a = asanyarray(a)
    weak, q = type(q) in (int, float), _np.asarray(q)
    if out is None and q.dtype.kind == "b":
        options = {"method": method, "keepdims": keepdims, "weights": weights}
        return _support.on_host(quantile, (a, q, axis), options)
    return _quantile(a, q, axis, out, method, keepdims, weights, weak)


def percentile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *,
    weights=None,
):  # fmt: skip
    """Percentiles: the values below which given parts of the elements lie, in hundredths.

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
        What is taken between two elements: 'linear', 'lower', 'higher', 'midpoint', 'nearest',
        'inverted_cdf', 'averaged_inverted_cdf', 'closest_observation', 'interpolated_inverted_cdf',
        'hazen', 'weibull', 'median_unbiased' or 'normal_unbiased'.
    keepdims : bool
        The axes stay, with length 1.
    weights : array_like, optional
        Of the elements; with 'inverted_cdf' alone.

    Returns
    -------
    ndarray or NumPy scalar
        The axes of q come first. NaN where there is one.

    Raises
    ------
    ValueError
        A part outside 0 to 100, an unknown method, or weights with another one.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.percentile([1, 2, 3, 4], [25, 50])
    array([1.75, 2.5 ])
    """
    a = asanyarray(a)
    weak, q = type(q) in (int, float), _np.asarray(_np.divide(q, 100))
    if not bool(((q >= 0) & (q <= 1)).all()):
        raise ValueError("Percentiles must be in the range [0, 100]")
    return _quantile(a, q, axis, out, method, keepdims, weights, weak)
