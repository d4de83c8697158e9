"""Positions of stored elements, computed with asnumpy: sorting, counting, gathering by rows.

A position of an element of an (m, n) array is one int64 number, row * n + column ("key"): what is
sorted, merged and looked up is one array. So m * n must be less than 2**63.
"""

import operator

import numpy as _np

from .. import _core
from .._core import arange, argsort, asarray, bincount, concatenate, cumsum, zeros

KINDS = (
    "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 float64 complex64 complex128"
)
KINDS = tuple(KINDS.split())


def data_dtype(dtype):
    """The dtype of elements; ValueError where sparse arrays have none such (SciPy's, without longdouble)."""
    dtype = _np.dtype(dtype)
    if dtype.name not in KINDS:
        raise ValueError(
            f"asnumpy.sparse does not support dtype {dtype.name}. The only supported types are: "
            f"{', '.join(KINDS)}."
        )
    return dtype


def index_dtype(*limits):
    """int32 where it holds every one of these numbers, else int64."""
    return _np.dtype(_np.int32 if max(limits, default=0) < 2**31 else _np.int64)


def shape_of(shape, dims=(2,)):
    """A shape as a tuple of ints; ValueError for negative, too large or too many extents."""
    try:
        shape = tuple(map(operator.index, shape))
    except TypeError:
        raise TypeError(f"invalid shape {shape!r}; it is a tuple of integers") from None
    if len(shape) not in dims:
        raise ValueError(f"shape {shape} has {len(shape)} extents; allowed: {dims}")
    if min(shape, default=0) < 0:
        raise ValueError(f"shape {shape}: 'shape' elements cannot be negative")
    if _np.prod([int(n) for n in shape], dtype=object) >= 2**63:
        raise ValueError(f"shape {shape} has 2**63 elements or more")
    return shape


def rows_of(indptr):
    """The row of every stored element, from where rows begin."""
    counts = indptr[1:] - indptr[:-1]
    return _core.repeat(arange(len(counts), dtype=indptr.dtype), counts)


def pointers(rows, count, dtype):
    """Where each of `count` rows begins among elements sorted by row, and their number."""
    ends = cumsum(bincount(rows, minlength=count)) if len(rows) else zeros(count, dtype=_np.int64)
    return concatenate([zeros(1, dtype=_np.int64), ends]).astype(dtype)


def ranges(starts, counts):
    """arange(s, s + c) of every pair, one after the other."""
    starts, counts = starts.astype(_np.int64), counts.astype(_np.int64)
    ends = cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return arange(total) + _core.repeat(starts - (ends - counts), counts)


def keys_of(row, col, width):
    """Positions as one number each."""
    return row.astype(_np.int64) * int(width) + col.astype(_np.int64)


def ascends(keys):
    """Whether every key is greater than the one before."""
    return len(keys) < 2 or bool(_core.all(keys[1:] > keys[:-1]))


def summed(keys, data):
    """Keys sorted, each once, with the sums of their elements, added in the order in which they lie."""
    if ascends(keys):
        return keys, data
    order = argsort(keys, kind="stable")
    keys, data = keys[order], data[order]
    first = concatenate([_core.ones(1, dtype=bool), keys[1:] != keys[:-1]])
    slots = cumsum(first) - 1
    sums = zeros((int(slots[-1]) + 1, *data.shape[1:]), dtype=data.dtype)
    _core.add.at(sums, slots, data)
    return keys[first], sums


def found(keys, wanted):
    """(where, there) of every wanted key among sorted keys: a place in them, and whether it is there."""
    if not len(keys):
        return zeros(wanted.shape, dtype=_np.int64), zeros(wanted.shape, dtype=bool)
    where = _core.minimum(_core.searchsorted(keys, wanted), len(keys) - 1)
    return where, keys[where] == wanted


def checked(index, extent, what):
    """An index array as integers in [0, extent); IndexError outside, negative ones count from the end."""
    index = asarray(index)
    if index.dtype == bool:
        if index.ndim != 1 or len(index) != extent:
            raise IndexError(f"{what} boolean index has shape {index.shape} instead of ({extent},)")
        return _core.nonzero(index)[0]
    if index.size == 0:
        return index.astype(_np.int64)
    if index.dtype.kind not in "iu":
        raise IndexError(f"{what} index has dtype {index.dtype}; integers or booleans are allowed")
    least, most = int(index.min()), int(index.max())
    if least < -extent or most >= extent:
        raise IndexError(
            f"index {most if most >= extent else least} is out of bounds for {what} of extent {extent}"
        )
    index = index.astype(_np.int64)
    return _core.where(index < 0, index + extent, index) if least < 0 else index
