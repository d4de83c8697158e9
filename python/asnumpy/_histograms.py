"""Histograms."""

import operator
import warnings

import numpy as _np

from . import _core
from ._core import asanyarray, asarray


def _outer_edges(a, range):
    if range is not None:
        low, high = range
        if low > high:
            raise ValueError("max must be larger than min in range parameter.")
        if not (_np.isfinite(low) and _np.isfinite(high)):
            raise ValueError(f"supplied range of [{low}, {high}] is not finite")
    elif a.size == 0:
        low, high = 0, 1
    elif _core._is_tracing():  # of every call, so nothing is decided by them
        low, high = a.min(), a.max()
        finite = _core.isfinite(low) & _core.isfinite(high)
        _core._require(finite, "autodetected range is not finite")
        equal = low == high
        return _core.where(equal, low - 0.5, low), _core.where(equal, high + 0.5, high)
    else:
        low, high = a.min(), a.max()
        if not (_np.isfinite(low) and _np.isfinite(high)):
            raise ValueError(f"autodetected range of [{low}, {high}] is not finite")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return low, high


def histogram_bin_edges(a, bins=10, range=None, weights=None):
    """The edges of the bins that histogram would use.

    Parameters
    ----------
    a : array_like
        The values, flattened.
    bins : int, sequence or str
        As in histogram.
    range : (float, float), optional
        Where the bins begin and end.
    weights : array_like, optional
        What each value counts; rules do not take them.

    Returns
    -------
    ndarray
        One more than there are bins.

    Raises
    ------
    ValueError
        As in histogram.
    TypeError
        A rule with weights.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.histogram_bin_edges([0, 1, 4], bins=4)
    array([0., 1., 2., 3., 4.])
    """
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


# Widths are NumPy's scalars of the data's own precision, as its estimators have them: a count of bins is rounded up.


def _number(x):
    return x.dtype.type(float(x))


def _sturges(a, span):
    return span / (_np.log2(a.size) + 1.0)


def _sqrt(a, span):
    return span / _np.sqrt(a.size)


def _rice(a, span):
    return span / (2.0 * a.size ** (1.0 / 3))


def _scott(a, span):
    return (24.0 * _np.pi**0.5 / a.size) ** (1.0 / 3.0) * _number(a.std())


def _doane(a, span):
    if a.size <= 2:
        return 0.0
    deviation = float(a.std())
    if not deviation > 0:
        return 0.0
    error = _np.sqrt(6.0 * (a.size - 2) / ((a.size + 1.0) * (a.size + 3)))
    skew = float((((a - a.mean()) / deviation) ** 3).mean())
    return span / (1.0 + _np.log2(a.size) + _np.log2(1.0 + abs(skew) / error))


def _fd(a, span):
    from ._quantiles import percentile

    upper, lower = percentile(a, [75, 25])
    return 2.0 * _number(upper - lower) * a.size ** (-1.0 / 3.0)


def _auto(a, span):
    fd, sturges, sqrt = _fd(a, span), _sturges(a, span), _sqrt(a, span)
    return min(max(fd, sqrt / 2), sturges)


def _stone(a, span, bounds):
    best, width = None, 0.0
    for bins in range(1, max(100, int(_np.sqrt(a.size))) + 1):
        share = _np.asarray(histogram(a, bins=bins, range=bounds)[0]) / a.size
        loss = (2 - (a.size + 1) * float(share.dot(share))) / (span / bins)
        if best is None or loss < best:
            best, width = loss, span / bins
    if width == span / max(100, int(_np.sqrt(a.size))):
        warnings.warn(
            "The number of bins estimated may be suboptimal.", RuntimeWarning, stacklevel=5
        )
    return width


_ESTIMATORS = {
    "auto": _auto, "doane": _doane, "fd": _fd, "rice": _rice, "scott": _scott, "sqrt": _sqrt,
    "stone": _stone, "sturges": _sturges,
}  # fmt: skip


def _distance(a):
    """From the smallest to the largest value, rounded as the array's dtype rounds."""
    low, high = a.min(), a.max()
    return _number(high - low) if a.dtype.kind == "f" else int(high) - int(low)


def _estimated_bins(a, name, low, high, bounds):
    """How many bins an estimator of the literature gives the values between low and high."""
    if name not in _ESTIMATORS:
        raise ValueError(f"{name!r} is not a valid estimator for `bins`")
    if bounds is not None:
        a = a[(a >= low) & (a <= high)]
    if a.size == 0:
        return 1
    span = _distance(a)
    # Equal values have had their bounds moved apart.
    reach = high - low if bounds is not None or not span else span
    if name == "stone":
        width = 0.0 if a.size <= 1 or span == 0 else _stone(a, span, (low, high))
    else:
        width = _ESTIMATORS[name](a, span)
    if not width:
        return 1
    if a.dtype.kind in "iu" and width < 1:
        width = 1
    return int(_np.ceil(reach / width))


def _bin_edges(a, bins, range, weights, of_many=False):
    """Edges, and (low, high, count) when they are uniform. of_many: the sample's dtype does not count for a
    given range, as in NumPy's histograms in several dimensions."""
    from ._ranges import linspace

    if isinstance(bins, str):
        if weights is not None:
            raise TypeError(
                "Automated estimation of the number of bins is not supported for weighted data"
            )
        low, high = _outer_edges(a, range)
        count = _estimated_bins(a, bins, low, high, range)
    elif _np.ndim(bins) == 0:
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
        falls = (edges[:-1] > edges[1:]).any()
        _core._require(falls == False, "`bins` must increase monotonically, when an array")  # noqa: E712
        return edges, None
    dtype = _core.result_type(low, high) if of_many else _core.result_type(low, high, a)
    if dtype.kind in "iu":
        dtype = _core.result_type(dtype, float)
    edges = linspace(low, high, count + 1, endpoint=True, dtype=dtype)
    stays = (edges[:-1] >= edges[1:]).any()
    message = f"Too many bins for data range. Cannot create {count} finite-sized bins."
    _core._require(stays == False, message)  # noqa: E712
    return edges, (low, high, count)


def histogram(a, bins=10, range=None, density=None, weights=None):
    """How many values fall into each of the bins of a line.

    Parameters
    ----------
    a : array_like
        The values, flattened.
    bins : int, sequence or str
        The number of bins of equal width, their ascending edges, or a rule that finds the number:
        'auto', 'fd', 'doane', 'scott', 'stone', 'rice', 'sturges' or 'sqrt'.
    range : (float, float), optional
        Where the bins begin and end, by default at the smallest and the largest value.
    density : bool, optional
        Gives a density, of integral 1, in place of counts.
    weights : array_like, optional
        What each value counts.

    Returns
    -------
    hist : ndarray
        int64, float64 for a density; of weights their dtype.
    edges : ndarray
        One more; a bin holds its left edge, the last one both.

    Raises
    ------
    ValueError
        Edges that descend, a range that is empty or not finite, or weights of another shape.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.histogram([1, 2, 2, 4], bins=[1, 2, 3, 4])
    (array([1, 2, 1]), array([1, 2, 3, 4]))
    """
    a, weights = _histogram_input(a, weights)
    edges, uniform = _bin_edges(a, bins, range, weights)
    dtype = _np.dtype(_np.intp) if weights is None else weights.dtype
    if uniform is not None and (weights is None or weights.dtype.kind in "biuf"):
        n = _uniform_counts(a, weights, edges, range is None, *uniform).astype(dtype)
    else:
        n = _sorted_counts(a, weights, edges).astype(dtype)
    if density:
        widths = asarray(edges[1:] - edges[:-1], float)
        return n / widths / n.sum(), edges
    return n, edges


def _uniform_counts(a, weights, edges, whole, low, high, count):
    """Bin numbers by arithmetic, then corrected against the edges, then counted."""
    if _core._is_tracing():
        return _traced_counts(a, weights, edges, low, high, count)
    keep = None if whole else (a >= low) & (a <= high)
    if keep is not None and not bool(keep.all()):
        a = a[keep]
        weights = None if weights is None else weights[keep]
    a = a.astype(edges.dtype, copy=False)
    low, high = edges.dtype.type(low), edges.dtype.type(high)  # no overflow of small integers
    f = (_core.subtract(a, low) / _core.subtract(high, low)) * count
    i = f.astype(_np.intp)
    i = i - (i == count)
    step = _core.subtract(high, low) / count
    if edges.dtype == _np.float64 and step != 0:  # linspace's own arithmetic: one pass
        i = i - (a < i * step + low)
        i = i + ((a >= (i + 1) * step + low) & (i != count - 1))
    else:
        i = i - (a < edges[i])
        i = i + ((a >= edges[i + 1]) & (i != count - 1))
    if weights is None:
        return _core.bincount(i, minlength=count)
    return _core.bincount(i, weights.astype(float), minlength=count)


def _traced_counts(a, weights, edges, low, high, count):
    """_uniform_counts of whatever values: those outside of the range are counted behind the last bin."""
    keep = (a >= low) & (a <= high)
    low, high = (asarray(bound).astype(edges.dtype) for bound in (low, high))
    a = _core.where(keep, a.astype(edges.dtype, copy=False), low)
    i = ((a - low) / (high - low) * count).astype(_np.intp)
    i = i - (i == count)
    i = i - (a < edges[i])
    i = i + ((a >= edges[i + 1]) & (i != count - 1))
    i = _core.where(keep, i, count)
    if weights is not None:
        weights = weights.astype(float)
    return _core.bincount(i, weights, minlength=count + 1)[:count]


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
    """How many points of a space fall into each of the bins of a grid.

    Parameters
    ----------
    sample : array_like of shape (n, d), or sequence of d arrays
        The coordinates of the points.
    bins : int, or sequence of d ints or edges
        As in histogram, of all axes or of each.
    range : sequence of d pairs or None, optional
        Where the bins of each axis begin and end.
    density : bool, optional
        Gives a density, of integral 1, in place of counts.
    weights : array_like, shape (n,), optional
        What each point counts.

    Returns
    -------
    hist : ndarray of float64, of d dimensions
    edges : tuple of d ndarrays
        The edges of the bins.

    Raises
    ------
    ValueError
        bins or range is not of d axes.

    Examples
    --------
    >>> import asnumpy as np
    >>> points = np.array([[0, 0], [1, 0], [1, 1]])
    >>> hist, edges = np.histogramdd(points, bins=2)
    >>> hist
    array([[1., 0.],
           [1., 1.]])
    """
    if isinstance(sample, _core.ndarray | _np.ndarray) and sample.ndim == 2:
        sample = asanyarray(sample)
    else:
        from ._joining import atleast_2d

        sample = atleast_2d(sample if _core._is_array(sample) else asarray(sample)).T
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
        column = column.astype(_np.uint8) if column.dtype.kind == "b" else column
        if _np.ndim(bins[d]) == 0 and not _core._is_array(bins[d]) and bins[d] < 1:
            raise ValueError(f"`bins[{d}]` must be positive, when an integer")
        edge = _bin_edges(column, bins[d], range[d], None, of_many=True)[0]
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
    if total > _np.iinfo(_np.intp).max:
        raise ValueError(f"a histogram of {total} bins is larger than the largest array")
    hist = _core.bincount(flat, weights, minlength=total).reshape(sizes).astype(float)
    hist = hist[(slice(1, -1),) * ndim]
    if density:
        s = hist.sum()
        for d, edge in enumerate(edges):
            shape = [1] * ndim
            shape[d] = len(edge) - 1
            hist = hist / (edge[1:] - edge[:-1]).reshape(shape)
        hist = hist / s
    return hist, list(edges)


def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    """How many points of a plane fall into each of the bins of a grid.

    Parameters
    ----------
    x, y : array_like, shape (n,)
        The coordinates of the points.
    bins : int, pair of ints, edges, or pair of edges
        As in histogram, of both axes or of each.
    range : pair of pairs, optional
        Where the bins of each axis begin and end.
    density : bool, optional
        Gives a density, of integral 1, in place of counts.
    weights : array_like, shape (n,), optional
        What each point counts.

    Returns
    -------
    hist : ndarray of float64
        x along the first axis, y along the second.
    xedges, yedges : ndarray
        The edges of the bins.

    Raises
    ------
    ValueError
        x and y have different lengths.

    Examples
    --------
    >>> import asnumpy as np
    >>> hist, xedges, yedges = np.histogram2d([0, 1, 1], [0, 0, 1], bins=2)
    >>> hist
    array([[1., 0.],
           [1., 1.]])
    """
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    try:
        n = len(bins)
    except TypeError:
        n = 1
    if n not in (1, 2):
        bins = [asarray(bins)] * 2
    from ._core import stack

    hist, edges = histogramdd(
        stack([asarray(x), asarray(y)], axis=1), bins, range, density, weights
    )
    return hist, edges[0], edges[1]
