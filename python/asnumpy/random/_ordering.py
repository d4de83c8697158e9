"""Shuffles and samples: orders are drawn by the engine, arrays taken by them on the device."""

import math
import operator
import warnings
from collections.abc import Sequence

import numpy as np

from .. import _core
from ._parameters import rows_of

_LARGE_POPULATION = 10_000  # above it a tail shuffle may beat Floyd's method, as NumPy draws


def checked_axis(axis, ndim):
    """An axis number in [0, ndim)."""
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def reorder(generator, x, axis=0):
    """Shuffles x, an array or a mutable sequence, in place along an axis."""
    if x.__class__ is list and axis == 0:
        return generator._engine.shuffle_list(x)
    from .. import ndarray, take

    if isinstance(x, memoryview):
        x = np.asarray(x)
    if isinstance(x, (ndarray, np.ndarray)):
        if x.ndim == 0:
            raise TypeError("x must have at least one dimension, got a 0-d array")
        axis = checked_axis(axis, x.ndim)
        if x.size == 0:
            return None
        order = shuffled(generator, x.shape[axis])
        if _core._is_array(x):
            x[...] = take(x, order, axis=axis)
        else:
            x[...] = np.take(x, np.asarray(order), axis=axis)
        return None
    if axis != 0:
        raise NotImplementedError("Axis argument is only supported on ndarray objects")
    if not isinstance(x, Sequence):
        warnings.warn(
            f"you are shuffling a '{type(x).__name__}' object which is not a subclass of 'Sequence'; "
            "its elements are read and then assigned one by one.",
            UserWarning, stacklevel=3,
        )  # fmt: skip
    order = np.asarray(shuffled(generator, len(x))).tolist()
    for i, value in enumerate([x[i] for i in order]):
        x[i] = value
    return None


def shuffled(generator, *shape):
    """0 ... n - 1 shuffled, n the last extent; one order for each row of the others."""
    return generator._engine.shuffled(shape, 1, True)


def population(a, size, axis, legacy):
    """(the array to draw from, None for integers; how many there are)."""
    from .. import asarray

    if np.ndim(a) == 0:
        try:
            n = operator.index(a.item() if hasattr(a, "item") else a)
        except TypeError:
            what = "a must be a sequence or an integer, not " + str(type(a))
            raise ValueError("a must be 1-dimensional or an integer" if legacy else what) from None
        pool = None
    else:
        pool = asarray(a)
        if legacy and pool.ndim != 1:
            raise ValueError("a must be 1-dimensional")
        n = pool.shape[axis]
    if n <= 0 and math.prod(rows_of(size)) != 0:
        if legacy or pool is None:
            word = "greater than 0" if legacy else "a positive integer"
            raise ValueError(f"a must be {word} unless no samples are taken")
        raise ValueError("a cannot be empty unless no samples are taken")
    return pool, n


def checked_probabilities(p, n):
    """p as n float64 numbers of sum 1."""
    given = np.asarray(p)
    p = np.asarray(p, dtype=np.float64)
    tolerance = np.sqrt(np.finfo(np.float64).eps)
    if np.issubdtype(given.dtype, np.floating):
        tolerance = max(tolerance, np.sqrt(np.finfo(given.dtype).eps))
    if p.ndim != 1:
        raise ValueError("p must be 1-dimensional")
    if p.size != n:
        raise ValueError("a and p must have same size")
    total = math.fsum(p) if np.isfinite(p).all() else np.nan
    if np.isnan(p).any():
        raise ValueError("probabilities contain NaN")
    if (p < 0).any():
        raise ValueError("probabilities are not non-negative")
    if not abs(total - 1.0) <= tolerance:
        raise ValueError("probabilities do not sum to 1")
    return p


def weighted(generator, p, count, replace):
    """`count` indices drawn with probabilities p."""
    from .. import asarray, searchsorted

    if replace:
        cdf = p.cumsum()
        cdf /= cdf[-1]
        return searchsorted(asarray(cdf), generator.random(count), side="right")
    if np.count_nonzero(p > 0) < count:
        raise ValueError("Fewer non-zero entries in p than size")
    p, found, chosen = p.copy(), 0, np.zeros(count, dtype=np.int64)
    while found < count:
        x = np.asarray(generator.random(count - found))
        if found:
            p[chosen[:found]] = 0
        cdf = np.cumsum(p)
        cdf /= cdf[-1]
        fresh = cdf.searchsorted(x, side="right")
        _, first = np.unique(fresh, return_index=True)
        fresh = fresh[np.sort(first)]
        chosen[found : found + fresh.size] = fresh
        found += fresh.size
    return asarray(chosen)


def distinct(generator, n, count, shuffle):
    """`count` distinct of n: Floyd's method, or the end of a shuffle where that is cheaper."""
    cutoff = 50 if shuffle else 20
    if n > _LARGE_POPULATION and count > n // cutoff:
        order = generator._engine.shuffled((n,), max(n - count, 1), False)
        return order[n - count :]
    return generator._engine.sample(n, count, shuffle)


def choose(generator, a, size, replace, p, axis, whole, distinct):
    """choice of a Generator or RandomState, which draw indices without weights by `whole(n, count)`, with
    replacement, and `distinct(n, count)`."""
    pool, n = population(a, size, axis, generator._legacy)
    count = math.prod(rows_of(size))
    if p is not None:
        p = checked_probabilities(p, n)
    if not replace and count > n:
        raise ValueError("Cannot take a larger sample than population when replace is False")
    if not replace and count < 0:
        raise ValueError("negative dimensions are not allowed")
    if p is not None:
        index = weighted(generator, p, count, replace)
    else:
        index = (whole if replace else distinct)(n, count)
    return _picked(pool, index, size, axis)


def _picked(pool, index, size, axis):
    """The elements of pool (None: the indices) at `index` as NumPy shapes them: one, or an array of `size`."""
    from .. import take

    index = int(index[0]) if size is None else index.reshape(size)
    if pool is None:
        return index
    if size is None:
        return pool[index] if pool.ndim == 1 else take(pool, index, axis=axis)
    if index.ndim == 0 and pool.ndim == 1:
        return take(pool, index.reshape(1)).reshape(())  # an array, where take gives a number
    return take(pool, index, axis=axis)
