"""Sets in arrays: unique values, membership, unions and differences."""

from typing import NamedTuple

import numpy as _np

from . import _core, _support
from ._core import asanyarray, asarray, concatenate, unique


class UniqueAllResult(NamedTuple):
    values: object
    indices: object
    inverse_indices: object
    counts: object


class UniqueCountsResult(NamedTuple):
    values: object
    counts: object


class UniqueInverseResult(NamedTuple):
    values: object
    inverse_indices: object


def unique_all(x):
    """The values of an array, each once, with where they are and how often.

    Parameters
    ----------
    x : array_like
        Flattened first. Each NaN is a value of its own.

    Returns
    -------
    UniqueAllResult
        A named tuple: values, sorted; indices, their first places in the flattened x; inverse_indices,
        of x's shape, with values[inverse_indices] equal to x; counts.

    Examples
    --------
    >>> import asnumpy as np
    >>> found = np.unique_all([3, 1, 3])
    >>> found.values, found.indices, found.inverse_indices, found.counts
    (array([1, 3]), array([1, 0]), array([1, 0, 1]), array([1, 2]))
    """
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False))


def unique_counts(x):
    """The values of an array, each once, and how often they are there.

    Parameters
    ----------
    x : array_like
        Flattened first. Each NaN is a value of its own.

    Returns
    -------
    UniqueCountsResult
        A named tuple of values, sorted, and counts.

    Examples
    --------
    >>> import asnumpy as np
    >>> values, counts = np.unique_counts([3, 1, 3])
    >>> values, counts
    (array([1, 3]), array([1, 2]))
    """
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x):
    """The values of an array, each once, and for each element which of them it is.

    Parameters
    ----------
    x : array_like
        Flattened first. Each NaN is a value of its own.

    Returns
    -------
    UniqueInverseResult
        A named tuple of values, sorted, and inverse_indices, of x's shape, with
        values[inverse_indices] equal to x.

    Examples
    --------
    >>> import asnumpy as np
    >>> values, inverse = np.unique_inverse([3, 1, 3])
    >>> values, inverse
    (array([1, 3]), array([1, 0, 1]))
    """
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


def unique_values(x):
    """The values of an array, sorted and each once.

    Parameters
    ----------
    x : array_like
        Flattened first. Each NaN is a value of its own.

    Returns
    -------
    ndarray, one-dimensional

    Examples
    --------
    >>> import asnumpy as np
    >>> np.unique_values([3, 1, 3])
    array([1, 3])
    """
    return unique(x, equal_nan=False)


def _isin_table(values, test, wanted, dtype):
    """isin of integers by a table of the range that `test` spans; None where that is too long."""
    if wanted and dtype.kind != "b":
        limit = _np.iinfo(dtype).max
        if int(test.max()) - int(test.min()) > limit:
            raise RuntimeError(
                f"kind='table': the values of test_elements span more than {limit}, so they exceed the "
                f"maximum of {dtype}. Use kind None or 'sort'."
            )
    if test.dtype != "uint64":  # differences have to fit
        test = test.astype("int64", copy=False)
        values = values.astype("int64", copy=False)
    low, high = test.min(), test.max()
    span = int(high) - int(low) + 1
    if not wanted and span > 6 * (values.size + test.size):  # NumPy's choice
        return None
    table = _core.zeros(span + 1, dtype=bool)  # the last: of what lies outside
    table[test - low] = True
    place = values - low  # may wrap, but not to a place within
    return table[_core.where((place < 0) | (place > span), span, place)]


def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    """Which elements of an array are among given values.

    Parameters
    ----------
    element : array_like
        The array.
    test_elements : array_like
        The values.
    assume_unique : bool
        Says that neither has a value twice.
    invert : bool
        Asks which are not.
    kind : {None, 'sort', 'table'}
        How it is found out: by sorting, or of integers by a table of their range; None chooses.

    Returns
    -------
    ndarray of bool, of element's shape

    Raises
    ------
    ValueError
        kind is another text, or 'table' for values that are no integers.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.isin([[1, 2], [3, 4]], [2, 3])
    array([[False,  True],
           [ True, False]])
    """
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    element, test = asarray(element), asarray(test_elements).ravel()
    if not (_core._is_array(element) and _core._is_array(test)):
        options = {"assume_unique": assume_unique, "invert": invert, "kind": kind}
        return _support.on_host(isin, (element, test), options)
    if kind == "table" and (element.dtype.kind not in "biu" or test.dtype.kind not in "biu"):
        raise ValueError("The 'table' method is only supported for boolean or integer arrays.")
    if test.size == 0:
        found = _core.zeros(element.shape, dtype=bool)
        return asarray(~found if invert else found)
    common, dtype = _core.result_type(element, test), test.dtype
    test, values = test.astype(common, copy=False), element.astype(common, copy=False)
    if common.kind in "biu" and kind != "sort":
        found = _isin_table(values, test, kind == "table", dtype)
        if found is not None:
            return asarray(~found if invert else found)
    test = _core.sort(test)
    position = asarray(_core.searchsorted(test, values))
    found = test[_core.minimum(position, test.size - 1)] == values
    return asarray(~found if invert else found)


def intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    """The values that two arrays have in common, sorted and each once.

    Parameters
    ----------
    ar1, ar2 : array_like
        Flattened first.
    assume_unique : bool
        Says that neither has a value twice.
    return_indices : bool
        Gives where the values first are in each of the two as well.

    Returns
    -------
    ndarray, or (ndarray, indices in ar1, indices in ar2)

    Examples
    --------
    >>> import asnumpy as np
    >>> np.intersect1d([3, 1, 2, 3], [3, 2, 5])
    array([2, 3])
    """
    ar1, ar2 = asanyarray(ar1), asanyarray(ar2)
    if not assume_unique:
        if return_indices:
            ar1, ind1 = unique(ar1, return_index=True)
            ar2, ind2 = unique(ar2, return_index=True)
        else:
            ar1, ar2 = unique(ar1), unique(ar2)
    else:
        ar1, ar2 = ar1.ravel(), ar2.ravel()
    both = concatenate((ar1, ar2))
    if return_indices:
        order = both.argsort(kind="stable")
        both = both[order]
    else:
        both = _core.sort(both)
    mask = both[1:] == both[:-1]
    result = both[:-1][mask]
    if not return_indices:
        return result
    first = order[:-1][mask]
    second = order[1:][mask] - ar1.size
    if not assume_unique:
        first, second = ind1[first], ind2[second]
    return result, first, second


def setxor1d(ar1, ar2, assume_unique=False):
    """The values that are in exactly one of two arrays, sorted and each once.

    Parameters
    ----------
    ar1, ar2 : array_like
        Flattened first.
    assume_unique : bool
        Says that neither has a value twice.

    Returns
    -------
    ndarray, one-dimensional

    Examples
    --------
    >>> import asnumpy as np
    >>> np.setxor1d([1, 2, 3], [3, 4])
    array([1, 2, 4])
    """
    if not assume_unique:
        ar1, ar2 = unique(ar1), unique(ar2)
    both = concatenate((asarray(ar1).ravel(), asarray(ar2).ravel()))
    if both.size == 0:
        return both
    both = _core.sort(both)
    edge = concatenate((asarray([True]), both[1:] != both[:-1], asarray([True])))
    return both[edge[1:] & edge[:-1]]


def union1d(ar1, ar2):
    """The values that are in one of two arrays or in both, sorted and each once.

    Parameters
    ----------
    ar1, ar2 : array_like
        Flattened first.

    Returns
    -------
    ndarray, one-dimensional

    Examples
    --------
    >>> import asnumpy as np
    >>> np.union1d([3, 1], [2, 3])
    array([1, 2, 3])
    """
    return unique(concatenate((ar1, ar2), axis=None))


def setdiff1d(ar1, ar2, assume_unique=False):
    """The values of one array that are not in another.

    Parameters
    ----------
    ar1, ar2 : array_like
        Flattened first.
    assume_unique : bool
        Says that neither has a value twice; the order of ar1 then stays.

    Returns
    -------
    ndarray, one-dimensional
        Sorted and each once.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.setdiff1d([3, 1, 2, 3], [2])
    array([1, 3])
    """
    if assume_unique:
        ar1 = asarray(ar1).ravel()
    else:
        ar1, ar2 = unique(ar1), unique(ar2)
    return ar1[isin(ar1, ar2, assume_unique=True, invert=True)]


def _falls(bins):
    """Whether bins fall, as their first step says: one that compares with NaN falls, none rises after it."""
    steps = bins[1:] != bins[:-1]
    first = int(steps.argmax())
    falls = not bool(bins[first] < bins[first + 1])
    wrong = bins[1:] > bins[:-1] if falls else bins[1:] < bins[:-1]
    if bool(wrong.any()):
        raise ValueError("bins must be monotonically increasing or decreasing")
    return falls


def digitize(x, bins, right=False):
    """The number of the bin that each value falls into.

    Parameters
    ----------
    x : array_like
        The values.
    bins : array_like, one-dimensional
        The edges, ascending or descending.
    right : bool
        Whether an edge belongs to the bin below it: bins[i - 1] < x <= bins[i].

    Returns
    -------
    ndarray of int64, or int
        0 before the first edge, len(bins) behind the last one.

    Raises
    ------
    ValueError
        The edges are not monotonic.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.digitize([0.5, 1.0, 9.0], [0, 1, 2])
    array([1, 2, 3])
    """
    x, bins = asarray(x), asarray(bins)
    if x.dtype.kind == "c" or bins.dtype.kind == "c":
        raise TypeError("x may not be complex")
    if bins.ndim != 1:
        raise ValueError(f"digitize: bins must have one axis, got {bins.ndim}")
    descending = not bool((bins[1:] >= bins[:-1]).all()) and _falls(bins)
    side = "left" if right else "right"
    if descending:
        return len(bins) - bins[::-1].searchsorted(x, side=side)
    return bins.searchsorted(x, side=side)
