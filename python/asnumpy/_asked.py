"""mean, var and std of subclasses that bring an __array_ufunc__, which NumPy asks about each step.

The steps are NumPy's: a sum, a division, and for var the differences from the mean, their squares, their sum, its
division. Everything else runs as one reduction in C.
"""

import warnings

import numpy as _np

from . import _core


def _count(a, axis, keepdims, where):
    """How many elements go into each result; with a mask an array of that."""
    if where is True:
        axes = range(a.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        count = 1
        for d in axes:
            count *= a.shape[_np.lib.array_utils.normalize_axis_index(d, a.ndim)]
        return count
    mask = _core.broadcast_to(_core.asarray(where), a.shape)
    return _core.sum(mask, axis=axis, dtype=_np.intp, keepdims=keepdims)


def _is_empty(count, ddof=0):
    return bool(_np.any(_np.asarray(count) <= ddof))


def _divided(total, count):
    if isinstance(total, _core.ndarray | _np.ndarray):
        return _core.divide(total, count, out=total, casting="unsafe", subok=False)
    if hasattr(total, "dtype"):
        return total.dtype.type(total / count)
    return total / count


def _is_whole(dtype):
    return dtype.kind in "biu"


def asked_mean(a, axis, dtype, out, keepdims, where):
    """mean of `a`, whose class is asked."""
    count = _count(a, axis, keepdims, where)
    if _is_empty(count):
        warnings.warn("Mean of empty slice", RuntimeWarning, stacklevel=2)
    halves = dtype is None and a.dtype == _np.float16
    if dtype is None and _is_whole(a.dtype):
        dtype = _np.dtype(_np.float64)
    elif halves:
        dtype = _np.dtype(_np.float32)
    mean = _divided(_core.add.reduce(a, axis, dtype, out, keepdims, where=where), count)
    return mean.astype(_np.float16) if halves and out is None else mean


def _squares(x, dtype):
    """|x|**2, real, in the memory of x, which are differences of an array of the dtype."""
    if dtype.kind == "b":  # of which NumPy thinks least
        return _core.multiply(x, _core.conjugate(x), out=x).real
    if dtype.kind != "c":
        return _core.square(x, out=x)
    parts = x[..., None].view(x.real.dtype)
    _core.square(parts, out=parts)
    return _core.add(parts[..., 0], parts[..., 1], out=x.real).real


def asked_var(a, axis, dtype, out, keepdims, where, ddof, mean, root):
    """var of `a`, whose class is asked, or with `root` std."""
    count, ddof = _count(a, axis, keepdims, where), 0 if ddof is None else ddof
    if _is_empty(count, ddof):
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)
    if dtype is None and _is_whole(a.dtype):
        dtype = _np.dtype(_np.float64)
    if mean is None:
        total = _core.add.reduce(a, axis, dtype, None, True, where=where)
        mean = _divided(total, _count(a, axis, True, where))
    squares = _squares(_core.subtract(a, mean), a.dtype)
    total = _core.add.reduce(squares, axis, dtype, out, keepdims, where=where)
    var = _divided(
        total, _core.maximum(count - ddof, 0) if where is not True else max(count - ddof, 0)
    )
    if not root:
        return var
    if isinstance(var, _core.ndarray | _np.ndarray):
        return _core.sqrt(var, out=var)
    return var.dtype.type(_core.sqrt(var)) if hasattr(var, "dtype") else _core.sqrt(var)
