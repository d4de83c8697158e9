"""What brackets take out of a sparse array: numbers, slices, arrays of indices, masks.

Rows are gathered from CSR, columns from CSC, single elements by search among sorted keys.
"""

import numpy as _np

from .. import _core
from .._core import arange, asarray
from .._joining import broadcast_arrays
from ._base import sparray
from ._indices import checked, found, keys_of, pointers, ranges


def _keys(key, ndim):
    """One key for each axis; IndexError for more."""
    key = key if isinstance(key, tuple) else (key,)
    if any(k is None for k in key):
        raise IndexError("sparse arrays do not take None as an index")
    dots = [i for i, k in enumerate(key) if k is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if dots:
        i = dots[0]
        key = key[:i] + (slice(None),) * (ndim - len(key) + 1) + key[i + 1 :]
    if len(key) > ndim:
        raise IndexError(f"too many indices for array: {len(key)} of {ndim} dimensions")
    return key + (slice(None),) * (ndim - len(key))


def _index(key, extent, what):
    """(index, is a number): a slice of everything stays one."""
    if isinstance(key, slice):
        if key == slice(None):
            return key, False
        return arange(*key.indices(extent)), False
    if isinstance(key, (int, _np.integer)) and not isinstance(key, bool):
        if not -extent <= key < extent:
            raise IndexError(f"{what} index ({key}) out of range")
        return asarray([int(key) % extent]), True
    index = asarray(key)
    return checked(index, extent, what), index.ndim == 0


def _lines(a, index):
    """The rows of CSR, or the columns of CSC, that an index array names."""
    counts = (a.indptr[1:] - a.indptr[:-1])[index]
    inside = ranges(a.indptr[:-1][index], counts)
    indptr = pointers(_core.repeat(arange(len(index)), counts), len(index), a.indptr.dtype)
    shape = list(a._along(a._shape))
    shape[0] = len(index)
    return a._with(a.data[inside], a.indices[inside], indptr, tuple(a._along(shape)))


def _outer(a, row, col):
    """Every row of an index by every column of another."""
    made = a
    if not isinstance(row, slice):
        made = _lines(made.tocsr(), row)
    if not isinstance(col, slice):
        made = _lines(made.tocsc(), col)
    return made.asformat(a._format, copy=made is a)


def _samples(a, row, col):
    """The elements at pairs of indices, dense."""
    keys, data = a._sorted()
    where, there = found(keys, keys_of(row, col, a._wide()[1]))
    if not len(data):
        return _core.zeros(row.shape, dtype=a.dtype)
    return _core.where(there, data[where], a.dtype.type(0))


def _pairs(a, row, col):
    """Two index arrays, broadcast; a column by a row of indices is _outer."""
    if row.ndim == 2 and col.ndim == 2 and row.shape[1] == 1 and col.shape[0] == 1:
        return _outer(a, row[:, 0], col[0])
    row, col = broadcast_arrays(row, col)
    dense = _samples(a, row, col)
    if dense.ndim == 1 and not a._is_matrix:
        return a._class("coo")(dense)
    return a._flat()(dense if dense.ndim == 2 else dense[None, :])


def _of_one(a, key):
    """Elements of an array of one dimension."""
    index, number = _index(key, a._shape[0], "index")
    if isinstance(index, slice):
        return a.copy()
    dense = _samples(a, _core.zeros_like(index), index)
    return dense[0] if number else type(a)(dense)


def picked(a, key):
    """a[key]."""
    if a._format not in ("csr", "csc", "coo"):
        raise TypeError(f"'{type(a).__name__}' object is not subscriptable; use tocsr()")
    if isinstance(key, sparray):
        key = key.nonzero()
    elif getattr(key, "ndim", 0) == 2 and key.dtype == _np.bool_:
        if key.shape != a._shape:
            raise IndexError(f"boolean index of shape {key.shape} instead of {a._shape}")
        key = _core.nonzero(asarray(key))
    keys = _keys(key, a.ndim)
    if a.ndim == 1:
        return _of_one(a, keys[0])
    (row, one_row), (col, one_col) = (
        _index(k, n, what) for k, n, what in zip(keys, a._shape, ("row", "column"), strict=True)
    )
    if one_row and one_col:
        return _samples(a, row.reshape(1), col.reshape(1))[0]
    sliced = [isinstance(k, slice) for k in keys]
    if not any(sliced) and not one_row and not one_col:
        return _pairs(a, row, col)
    for index in (row, col):
        if not isinstance(index, slice) and index.ndim > 1:
            raise IndexError("index arrays of two dimensions go with another one, not with a slice")
    row, col = (i if isinstance(i, slice) else i.reshape(-1) for i in (row, col))
    made = _outer(a, row, col)
    if a._is_matrix or not (one_row or one_col):
        return made
    return made.tocoo().reshape(-1)
