"""Reordering elements and axes: flip, roll, rot90, moveaxis, ..."""

import numpy as _np

from . import _core
from ._core import asanyarray, asarray, stack


def astype(x, dtype, /, *, copy=True, device=None):
    """A copy of an array in another dtype."""
    if isinstance(x, _np.generic):
        return asarray(x).astype(dtype)[()]
    if isinstance(x, _np.ndarray):
        x = asarray(x)
    if not isinstance(x, _core.ndarray):
        raise (
            TypeError(f"Input should be a NumPy array or scalar. It is a {type(x)} instead.")
            if not isinstance(x, _np.ndarray | _np.generic)
            else TypeError("pass an asnumpy array")
        )
    if device is not None and device != x.device:
        raise ValueError(
            f'Device not understood. Only "{x.device}" is allowed, but received: {device}'
        )
    return x.astype(dtype, copy=copy)


def real(val):
    """The real parts."""
    return val.real if hasattr(val, "real") else asanyarray(val).real


def imag(val):
    """The imaginary parts."""
    return val.imag if hasattr(val, "imag") else asanyarray(val).imag


def diagonal(a, offset=0, axis1=0, axis2=1):
    """A read-only view of a diagonal."""
    return asanyarray(a).diagonal(offset=offset, axis1=axis1, axis2=axis2)


def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """The sum along a diagonal."""
    return asanyarray(a).trace(offset=offset, axis1=axis1, axis2=axis2, dtype=dtype, out=out)


def iterable(y):
    """Whether an object can be iterated over."""
    try:
        iter(y)
    except TypeError:
        return False
    return True


def isfortran(a):
    """Whether an array is column-major and not row-major."""
    return a.flags.fnc


def sort_complex(a):
    """A copy sorted, real part first, as complex."""
    b = asarray(a).copy()
    b.sort()
    if b.dtype.kind == "c":
        return b
    return b.astype(_np.complex64 if b.dtype.char in "bhBH" else _np.complex128)


def argwhere(a):
    """The indices of the nonzero elements, one row each."""
    a = asanyarray(a)
    if a.ndim == 0:
        return _core.empty((int(bool(a)), 0), dtype=_np.int64)
    found = a.nonzero()
    return found[0].reshape(-1, 1) if a.ndim == 1 else stack(found, axis=1)


def flatnonzero(a):
    """The indices of the nonzero elements of the flattened array."""
    return asanyarray(a).ravel().nonzero()[0]


def extract(condition, arr):
    """The elements where a condition holds."""
    arr, condition = asanyarray(arr).ravel(), asarray(condition).ravel()
    if arr.size == condition.size:
        return arr[condition.astype(bool)]
    return arr.take(condition.nonzero()[0])


def put(a, ind, v, mode="raise"):
    """a.flat[ind] = v."""
    if isinstance(a, _np.ndarray):
        return a.put(_np.asarray(ind), _np.asarray(v), mode=mode)
    if not isinstance(a, _core.ndarray):
        raise TypeError(f"argument 1 must be asnumpy.ndarray, not {type(a).__name__}")
    return a.put(ind, v, mode=mode)


def choose(a, choices, out=None, mode="raise"):
    """Elements picked from several arrays by number."""
    a = asanyarray(a)
    if out is None and mode == "raise":
        return a.choose(choices)
    return a.choose(choices, out=out, mode=mode)


def compress(condition, a, axis=None, out=None):
    """The slices along an axis where a condition holds."""
    return asanyarray(a).compress(condition, axis=axis, out=out)


def fill_diagonal(a, val, wrap=False):
    """Sets the main diagonal in place."""
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if (
        type(a) is _core.ndarray
        and type(val) in (int, float)
        and a.ndim == 2
        and not wrap
        and a.flags.c_contiguous
    ):
        a.reshape(-1)[: a.shape[1] * a.shape[1] : a.shape[1] + 1] = val
        return
    if a.ndim == 2:
        step = a.shape[1] + 1
        end = None if wrap else a.shape[1] * a.shape[1]
    else:
        if len(set(a.shape)) != 1:
            raise ValueError("All dimensions of input must be of equal length")
        step = 1 + sum(a.shape[0] ** i for i in range(1, a.ndim))
        end = None
    a.flat[:end:step] = val


def ix_(*args):
    """Index arrays that select the cross product of sequences."""
    result = []
    for k, sequence in enumerate(args):
        a = asarray(sequence)
        if a.size == 0 and not isinstance(sequence, _core.ndarray | _np.ndarray):
            a = a.astype(_np.intp)
        if a.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if a.dtype == bool:
            a = a.nonzero()[0]
        result.append(a.reshape((1,) * k + (a.size,) + (1,) * (len(args) - k - 1)))
    return tuple(result)
