"""Arrays made longer at their ends (`pad`) or shorter (`trim_zeros`)."""

import sys

import numpy as _np

from . import _core
from ._core import asarray, concatenate, empty
from ._joining import _normalize, _slab


def trim_zeros(filt, trim="fb", axis=None):
    """A sequence, or an array, without its leading and trailing zeros.

    Parameters
    ----------
    filt : array_like
        A list or tuple gives a list or tuple; an array of any dimensions an array.
    trim : str
        'f' (front), 'b' (back) or 'fb' (both).
    axis : int or sequence of ints, optional
        Along which slices of zeros are cut off; by default all.

    Returns
    -------
    ndarray, list or tuple
        Of arrays a view.

    Raises
    ------
    ValueError
        trim has other letters.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.trim_zeros(np.array([0, 0, 1, 0, 2, 0]))
    array([1, 0, 2])
    >>> np.trim_zeros([0, 1, 0], "f")
    [1, 0]
    """
    a = asarray(filt)
    trim = trim.lower()
    if trim not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    axes = range(a.ndim) if axis is None else [
        _normalize(x, a.ndim) for x in (axis if isinstance(axis, tuple) else (axis,))
    ]  # fmt: skip
    cut = [slice(None)] * a.ndim
    for d in axes:
        others = tuple(k for k in range(a.ndim) if k != d)
        filled = (a != 0).any(axis=others).nonzero()[0]
        low = int(filled[0]) if len(filled) else a.shape[d]
        high = int(filled[-1]) + 1 if len(filled) else 0
        cut[d] = slice(low if "f" in trim else None, high if "b" in trim else None)
    if isinstance(filt, list | tuple):
        return filt[cut[0]]
    return (filt if _core._is_array(filt) else a)[tuple(cut)]


def _pairs(value, ndim, integer=False):
    """np.pad's per-axis arguments as a list of (before, after)."""
    if type(value) is int and (value >= 0 or not integer):
        value = value if integer else _np.asarray(value)[()]
        return [(value, value)] * ndim
    given = _np.asarray(value)
    pairs = _np.broadcast_to(given, (ndim, 2))
    if integer:
        if pairs.dtype.kind not in "iu":
            raise TypeError("`pad_width` must be of integral type.")
        if (pairs < 0).any():
            raise ValueError("index can't contain negative values")
    elif given.size <= 2:  # as NumPy's scalars, whose assignment to unsigned integers wraps
        return [tuple(pair) for pair in pairs]
    return pairs.tolist()


def _edge_width(a, axis, width):
    return a.shape[axis] if width is None else min(width, a.shape[axis])


def _pad_statistic(a, axis, before, after, lengths, statistic):
    n = a.shape[axis]

    def value(part):
        result = statistic(part, axis=axis, keepdims=True)
        if a.dtype.kind in "iu":
            result = _core.rint(asarray(result))
        return asarray(result).astype(a.dtype)

    left = value(a[_slab(axis, 0, _edge_width(a, axis, lengths[0]))])
    right = value(a[_slab(axis, n - _edge_width(a, axis, lengths[1]), n)])
    return _core.repeat(left, before, axis), _core.repeat(right, after, axis)


def _period_once(a, axis, before, after, mode):
    """The pieces of a padding that no side needs more than one period for: views of a."""
    n = a.shape[axis]
    inner = mode == "reflect"  # the edge itself is not repeated
    turned = (*(slice(None),) * axis, slice(None, None, -1))
    left = a[_slab(axis, inner, before + inner)][turned]
    right = a[_slab(axis, n - after - inner, n - inner)][turned]
    return left, a, right


def _pad_periodic(a, axis, before, after, mode):
    """Pads by reflect or symmetric: index arithmetic on one period."""
    n = a.shape[axis]
    if max(before, after) <= n - (mode == "reflect"):
        return concatenate(_period_once(a, axis, before, after, mode), axis)
    where = _np.arange(-before, n + after)
    edge = mode == "symmetric"
    if n == 1 and not edge:
        return a.take(asarray(_np.zeros_like(where)), axis=axis)
    period = 2 * n if edge else 2 * n - 2
    folded = where % period
    mirrored = folded >= n
    source = _np.where(mirrored, period - 1 - folded if edge else period - folded, folded)
    return a.take(asarray(source), axis=axis)


def _pad_odd(a, axis, before, after, edge):
    """Pads by odd reflections, 2 * edge - value, of all that there is so far. edge: the outermost element is
    repeated ("symmetric")."""
    turned = (*(slice(None),) * axis, slice(None, None, -1))
    n, skipped = a.shape[axis], 0 if edge else 1

    def reflected(around, values):
        return (2 * a[_slab(axis, around, around + 1)] - values[turned]).astype(a.dtype)

    while before or after:
        total = a.shape[axis]
        most = (total - skipped) // (n - skipped) * (n - skipped)  # whole periods
        left, right = min(most, before), min(most, after)
        start = total - skipped - right
        a = concatenate(
            [
                reflected(0, a[_slab(axis, skipped, skipped + left)]),
                a,
                reflected(total - 1, a[_slab(axis, start, start + right)]),
            ],
            axis,
        )
        before, after = before - left, after - right
    return a


def widths_of(pad_width, ndim):
    """np.pad's pad_width as a list of (before, after) per axis."""
    if isinstance(pad_width, dict):
        widths = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            widths[axis] = (width, width) if isinstance(width, int) else tuple(width)
        pad_width = widths
    return _pairs(pad_width, ndim, integer=True)


_OPTIONS = {
    "empty": set(), "edge": set(), "wrap": set(), "constant": {"constant_values"},
    "linear_ramp": {"end_values"}, "maximum": {"stat_length"}, "mean": {"stat_length"},
    "median": {"stat_length"}, "minimum": {"stat_length"}, "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
}  # fmt: skip


def pad(array, pad_width, mode, kwargs):
    """np.pad by a mode that is not "wrap" alone, which is compiled, or by a function."""
    a = asarray(array)
    widths = widths_of(pad_width, a.ndim)
    if callable(mode):
        padded = _np.pad(_np.asarray(a), widths)
        for axis in range(a.ndim):
            view = _np.moveaxis(padded, axis, -1)
            for index in _np.ndindex(view.shape[:-1]):
                mode(view[index], tuple(widths[axis]), axis, kwargs)
        return asarray(padded)
    if mode not in _OPTIONS:
        raise ValueError(f"mode '{mode}' is not supported")
    unknown = set(kwargs) - _OPTIONS[mode]
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    lengths = kwargs.get("stat_length")
    if mode in ("maximum", "minimum") and lengths is not None and 0 in _np.asarray(lengths):
        raise ValueError("stat_length of 0 yields no value for padding")
    if mode not in ("constant", "empty"):
        for d, (before, after) in enumerate(widths):
            if a.shape[d] == 0 and (before or after):
                raise ValueError(
                    f"can't extend empty axis {d} using modes other than 'constant' or 'empty'"
                )
    if any(n + sum(w) > sys.maxsize for n, w in zip(a.shape, widths, strict=True)):
        raise ValueError(f"pad: widths {widths} of shape {a.shape} make an array that is too big")
    if mode in ("constant", "edge") and any(map(any, widths)):
        constants = mode == "constant" and _pairs(kwargs.get("constant_values", 0), a.ndim)
        a = _pad_around(a, widths, constants)
        widths = []
    for axis, (before, after) in enumerate(widths):
        if before or after:
            a = _pad_axis(a, axis, before, after, mode, kwargs, asarray(array))
    # Fortran order stays; every other array gives C order.
    order = "F" if asarray(array).flags.fnc else "C"
    return _core.array(a, order=order, copy=True if a is array else None)


def _pad_around(a, widths, values):
    """All axes in one array; where edges of two axes meet, those of the later one are written. values: a pair
    an axis, or False: the outermost elements of what is there so far."""
    shape = [before + n + after for n, (before, after) in zip(a.shape, widths, strict=True)]
    result = empty(shape, a.dtype, order="F" if a.flags.fnc else "C")
    inside = tuple(slice(w[0], w[0] + n) for n, w in zip(a.shape, widths, strict=True))
    result[inside] = a
    for axis, (before, after) in enumerate(widths):
        if not (before or after):
            continue
        whole, rest = inside[axis + 1 :], (slice(None),) * axis
        last = shape[axis] - after
        low, high = values[axis] if values else (
            result[(*rest, slice(at, at + 1), *whole)] for at in (before, last - 1)
        )  # fmt: skip
        if before:
            result[(*rest, slice(0, before), *whole)] = low
        if after:
            result[(*rest, slice(last, None), *whole)] = high
    return result


def _pad_axis(a, axis, before, after, mode, kwargs, original):
    n, ndim = a.shape[axis], a.ndim
    if mode in ("reflect", "symmetric"):
        if kwargs.get("reflect_type", "even") == "odd" and (n > 1 or mode == "symmetric"):
            return _pad_odd(a, axis, before, after, mode == "symmetric")
        return _pad_periodic(a, axis, before, after, mode)
    if mode in ("maximum", "minimum", "mean", "median"):
        from ._quantiles import median

        statistic = {"maximum": _core.max, "minimum": _core.min, "mean": _core.mean}.get(
            mode, median
        )
        lengths = kwargs.get("stat_length")
        lengths = (None, None) if lengths is None else _pairs(lengths, ndim, integer=True)[axis]
        left, right = _pad_statistic(a, axis, before, after, lengths, statistic)
        return concatenate([left, a, right], axis)
    shape = list(a.shape)
    shape[axis] = n + before + after
    result = empty(shape, a.dtype)
    result[_slab(axis, before, before + n)] = a
    low, high = _slab(axis, 0, before), _slab(axis, before + n, n + before + after)
    if mode == "linear_ramp":
        from ._ranges import linspace

        ends = _pairs(kwargs.get("end_values", 0), ndim)[axis]
        for where, end, edge, width in (
            (low, ends[0], a[_slab(axis, 0, 1)], before),
            (high, ends[1], a[_slab(axis, n - 1, n)], after),
        ):
            ramp = linspace(
                end, edge.squeeze(axis), width, endpoint=False, dtype=a.dtype, axis=axis
            )
            result[where] = (
                ramp
                if where is low
                else ramp[_slab(axis, None, None)[:-1] + (slice(None, None, -1),)]
            )
    return result
