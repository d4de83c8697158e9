"""Rarely used methods of arrays and functions that the C extension leaves to Python.

Off the hot paths, as all of `_support`, where the extension finds them: what a loop calls per element or
per small array is in C.
"""

import functools

import numpy as _np

from . import _core
from ._flat import values_for


def number(x):
    """x, or of a 0-d array its scalar."""
    return x if x.ndim else x[()]


def _into(result, out):
    if out is None:
        return result
    _core.copyto(out, result, casting="unsafe")
    return out


def check_out(out, result, operation="add"):
    """Refuses an out= of another shape than the result of a reduction."""
    if out is not None and out.shape != result.shape:
        raise ValueError(
            f"output parameter for reduction operation {operation} has the wrong shape: "
            f"found {out.shape} but expected {result.shape}"
        )


def round_scaled(a, decimals, out):
    """round() to a number of decimals: scale, rint, scale back, as NumPy does."""
    if a.dtype.kind == "b":
        raise TypeError("Cannot cast ufunc 'multiply' output from dtype('float64') to "
                        "dtype('bool') with casting rule 'same_kind'")  # fmt: skip
    scale = 10.0 ** abs(decimals) if abs(decimals) <= 308 else _np.inf
    integer = a.dtype.kind in "iu"
    work = a.astype(_np.float64) if integer else a
    if decimals >= 0:
        result = _core.divide(_core.rint(_core.multiply(work, scale)), scale)
    else:
        result = _core.multiply(_core.rint(_core.divide(work, scale)), scale)
    if integer:
        result = _core.asarray(result).astype(a.dtype)
    if a.ndim > 1 and not (a.flags.c_contiguous or a.flags.f_contiguous):
        result = _core.asarray(result, order="C")
    return _into(result, out)


def _bounded(indices, size, mode):
    if mode in (None, "raise", 2):
        bad = (indices < -size) | (indices >= size)
        if bool(bad.any()):
            value = indices[bad].flat[0] if indices.ndim else indices.item()
            raise IndexError(f"index {int(value)} is out of bounds for axis 0 with size {size}")
        return _core.where(indices < 0, indices + size, indices)
    if mode in ("wrap", 1):
        return indices % size
    return _core.clip(indices, 0, size - 1)


def put(a, indices, values, mode):
    """a.flat[indices] = values, values repeated as needed."""
    if not a.flags.writeable:
        raise ValueError("put: output array is read-only")
    if not isinstance(indices, (_core.ndarray, _np.ndarray)):
        indices = _core.asarray(indices, dtype=_np.int64)
    indices = _core.asarray(indices)
    if indices.size and indices.dtype.kind not in "biu":
        raise TypeError(
            f"Cannot cast array data from dtype('{indices.dtype}') to dtype('int64') according "
            "to the rule 'safe'"
        )
    indices = indices.astype(_np.int64).ravel()
    values = values_for(a, values)
    if indices.size == 0 or values.size == 0:
        return
    if a.size == 0:
        raise IndexError("cannot replace elements of an empty array")
    indices = _bounded(indices, a.size, mode)
    if values.size != indices.size:
        values = values[_core.arange(indices.size) % values.size]
    flat = a.reshape(-1)
    flat[indices] = values
    if not _core.may_share_memory(flat, a):
        _core.copyto(a, flat.reshape(a.shape), casting="unsafe")
    return


def isscalar(element):
    """Whether an object that is no array is a scalar: of a class of numbers, or text."""
    return _np.isscalar(element)


@functools.cache
def _padding():
    from . import _padding

    return _padding


def pad(array, width, mode, options):
    """np.pad in the modes that Python has."""
    return _padding().pad(array, width, mode, options)


def pad_widths(width, ndim):
    """(before, after) of each axis."""
    return tuple(tuple(pair) for pair in _padding().widths_of(width, ndim))


def choose(a, choices, out, mode):
    from ._joining import broadcast_arrays

    arrays = list(map(_core.asarray, choices))
    if len(arrays) > 63:  # a itself is one more
        raise ValueError(f"Need at least 0 and at most 63 choices, got {len(arrays)}.")
    if a.dtype.kind not in "biu":
        raise TypeError(
            f"Cannot cast array data from dtype('{a.dtype}') to dtype('int64') according to the "
            "rule 'safe'"
        )
    dtype = arrays[0].dtype if arrays else None
    if any(x.dtype != dtype for x in arrays):
        weak = [
            c if type(c) in (int, float, complex) else x
            for c, x in zip(choices, arrays, strict=True)
        ]
        dtype = _core.result_type(*[getattr(x, "dtype", x) for x in weak])
    which, n = a.astype(_np.int64, copy=False), len(arrays)
    if any(x.shape != a.shape for x in arrays):
        which, *arrays = broadcast_arrays(which, *arrays)
    if mode in ("wrap", 1):
        which = which % n
    elif mode not in (None, "raise", 2):
        which = _core.clip(which, 0, n - 1)
    elif which.size and (which.min() < 0 or which.max() >= n):
        raise ValueError("invalid entry in choice array")
    result = arrays[0].astype(dtype)
    for i in range(1, n):
        result = _core.where(which == i, arrays[i].astype(dtype, copy=False), result)
    return _into(number(_core.asarray(result, order="C")), out)


def compress(a, condition, axis, out):
    condition = _core.asarray(condition)
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    return a.take(condition.astype(bool).nonzero()[0], axis=axis, out=out)


def byteswap(a, inplace):
    itemsize = a.dtype.itemsize // (2 if a.dtype.kind == "c" else 1)
    target = a if inplace else a.copy()
    if itemsize > 1 and a.size:
        flat = target.reshape(-1)
        flat = flat if flat.flags.c_contiguous else flat.copy()
        flat = flat.view(_np.uint8).reshape(-1, itemsize)
        flat[...] = flat[:, ::-1].copy()
        if not _core.may_share_memory(flat, target):
            fixed = flat.reshape(-1).view(a.dtype).reshape(a.shape)
            _core.copyto(target, fixed)
    return target


def astype_same_value(a, dtype, order, subok):
    """a.astype(dtype, casting="same_value"): refused where an element would have another value."""
    order, subok = "K" if order is None else order, True if subok is None else subok
    with _np.errstate(all="ignore"):
        made = a.astype(dtype, order=order, subok=subok)
        if made.dtype == a.dtype:
            return made
        given, got, imaginary = _core.asarray(a), _core.asarray(made), ""
        if given.dtype.kind == "c" and got.dtype.kind not in "cb":
            imaginary = "" if bool((given.imag == 0).all()) else ": imag is not 0"
            given = given.real
        same = (got == given) & (got.astype(given.dtype) == given)
        if got.dtype.kind in "fc":
            same |= given != given  # NaN stays NaN
    if imaginary or not (got.dtype.kind == "b" or bool(same.all())):
        raise ValueError(f"could not cast 'same_value' {a.dtype} to {made.dtype}{imaginary}")
    return made
