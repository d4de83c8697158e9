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
    """Unique values, their first indices, the inverse and the counts."""
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False))


def unique_counts(x):
    """Unique values and how often they occur."""
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x):
    """Unique values and the indices that rebuild x from them."""
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


def unique_values(x):
    """Unique values."""
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
        test, values = test.astype("int64"), values.astype("int64")
    low, high = test.min(), test.max()
    span = int(high) - int(low) + 1
    if not wanted and span > 6 * (values.size + test.size):  # NumPy's choice
        return None
    table = _core.zeros(span, dtype=bool)
    table[test - low] = True
    inside = (values >= low) & (values <= high)
    return table[_core.where(inside, values, low) - low] & inside


def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    """Which elements are among test_elements."""
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
    test, values = test.astype(common), element.astype(common)
    if common.kind in "biu" and kind != "sort":
        found = _isin_table(values, test, kind == "table", dtype)
        if found is not None:
            return asarray(~found if invert else found)
    test = _core.sort(test)
    position = asarray(_core.searchsorted(test, values))
    found = test[_core.minimum(position, test.size - 1)] == values
    return asarray(~found if invert else found)


def intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    """The values in both arrays."""
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
    """The values in exactly one of the arrays."""
    if not assume_unique:
        ar1, ar2 = unique(ar1), unique(ar2)
    both = concatenate((asarray(ar1).ravel(), asarray(ar2).ravel()))
    if both.size == 0:
        return both
    both = _core.sort(both)
    edge = concatenate((asarray([True]), both[1:] != both[:-1], asarray([True])))
    return both[edge[1:] & edge[:-1]]


def union1d(ar1, ar2):
    """The values in either array."""
    return unique(concatenate((ar1, ar2), axis=None))


def setdiff1d(ar1, ar2, assume_unique=False):
    """The values of ar1 that are not in ar2."""
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
    """The number of the bin each value falls into."""
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
