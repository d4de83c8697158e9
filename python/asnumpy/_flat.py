"""What the index of ndarray.flat means, and assignment through one.

A flat iterator is one-dimensional and takes fewer kinds of indices than an array does, with messages of its
own. Keys that are integers or slices never come here; what does becomes a slice or an array of integers or
of bools, which the array path then handles.
"""

import warnings

import numpy as _np

from . import _core

_NOT_AN_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`) and integer or boolean arrays are valid indices"
)
_ZERO_DIM_BOOL = (
    "Indexing flat iterators with a 0-dimensional boolean index is deprecated and may be removed in a future "
    "version. (Deprecated NumPy 2.4)"
)
_INVALID = (
    "Invalid non-array indices for iterator objects are deprecated and will be removed in a future version. "
    "(Deprecated NumPy 2.4)"
)
_CONFUSING = (
    "boolean indices for iterators are not supported because of previous behavior that was confusing (valid "
    "boolean indices are expected to work in the future)"
)


def _array_key(key, size):
    if key.dtype.kind == "b":
        if key.ndim == 0:
            return _bool_key(bool(key))
        if key.ndim > 1:
            raise IndexError(_too_many(key.ndim))
        if key.size not in (size, 0):
            raise IndexError(
                "boolean index did not match indexed flat iterator along axis 0; size of axis is "
                f"{size} but size of corresponding boolean axis is {key.size}"
            )
    elif key.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return key


def _bool_key(key):
    warnings.warn(_ZERO_DIM_BOOL, DeprecationWarning, stacklevel=3)
    return 0 if key else slice(0, 0)


def _too_many(n):
    return (
        f"too many indices for flat iterator: flat iterator is 1-dimensional, but {n} were indexed"
    )


def flat_key(key, size):
    """The slice or index array that a key of a flat iterator over `size` elements stands for."""
    if type(key) is bool:
        return _bool_key(key)
    if isinstance(key, slice) or key is Ellipsis:
        return key
    if isinstance(key, (_core.ndarray, _np.ndarray)):
        return _array_key(key, size)
    if isinstance(key, tuple):
        if not key:
            return Ellipsis
        if len(key) > 1:
            raise IndexError(_too_many(len(key)))
    if key is None or isinstance(key, (str, bytes)):
        raise IndexError(_NOT_AN_INDEX)
    host = _np.asarray(key)
    if host.size == 0:
        return _core.zeros(host.shape, _np.int64)
    if host.dtype.kind == "b":
        raise IndexError(_CONFUSING)
    if host.dtype.kind in "SU":
        raise IndexError(_NOT_AN_INDEX)
    if host.dtype.kind not in "iu":
        whole = host.astype(_np.int64)
        warnings.warn(_INVALID, DeprecationWarning, stacklevel=2)
        host = whole
    return _core.asarray(host)


def values_for(a, value):
    """What is to be written into an array, in one dimension: arrays as they are, which are cast later; numbers
    and lists in its dtype, since what does not fit there is an error."""
    if not isinstance(value, (_core.ndarray, _np.ndarray)):
        value = _core.asarray(value, dtype=a.dtype)
    return _core.asarray(value).ravel()


def flat_assign(a, key, value):
    """a.flat[key] = value for slices and index arrays; the value repeats."""
    if isinstance(key, tuple) and not key:
        raise IndexError("Assigning to a flat iterator with a 0-D index is not supported")
    numbers = _core.asarray(_core.arange(a.size)[flat_key(key, a.size)]).reshape(-1)
    values = values_for(a, value)
    if numbers.size and values.size == 0:
        return
    if numbers.size:
        if values.size != numbers.size:
            values = values[_core.arange(numbers.size) % values.size]
        if a.ndim == 1:
            a[numbers] = values
        elif a.ndim == 0:
            a[...] = values[-1]
        else:
            a[_unravel(numbers.ravel(), a.shape)] = values


def _unravel(numbers, shape):
    coordinates = []
    for extent in reversed(shape):
        coordinates.append(numbers % extent)
        numbers = numbers // extent
    return tuple(reversed(coordinates))
