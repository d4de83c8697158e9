"""Reordering elements and axes: flip, roll, rot90, moveaxis, ..."""

import math
import operator

import numpy as _np

from . import _core
from ._core import asanyarray, asarray, stack
from ._joining import _normalize, broadcast_arrays


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


def isscalar(element):
    """Whether an object is a scalar."""
    return _np.isscalar(element)


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


def lexsort(keys, axis=-1):
    """The order of an indirect stable sort with several keys, the last one first in rank."""
    if isinstance(keys, tuple | list):
        keys = [asarray(k) for k in keys]
        if len(keys) == 0:
            raise TypeError("need sequence of keys with len > 0 in lexsort")
    else:
        keys = [asarray(keys[i]) for i in range(len(keys))]
    first = keys[0]
    if any(k.shape != first.shape for k in keys):
        raise ValueError("all keys need to be the same shape")
    if first.ndim == 0:
        _normalize(axis, 1)
        return _core.zeros((), dtype=_np.int64)[()]
    axis = _normalize(axis, first.ndim)
    order = first.argsort(axis, "stable")
    for key in keys[1:]:
        if first.ndim == 1:
            order = order[key[order].argsort(0, "stable")]
        else:
            ranked = take_along_axis(key, order, axis)
            order = take_along_axis(order, ranked.argsort(axis, "stable"), axis)
    return order


def _along(arr, indices, axis):
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if arr.ndim != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    index = []
    for d in range(arr.ndim):
        if d == axis:
            index.append(indices)
        else:
            shape = [1] * arr.ndim
            shape[d] = arr.shape[d]
            index.append(_core.arange(arr.shape[d]).reshape(shape))
    return tuple(index)


def take_along_axis(arr, indices, axis=-1):
    """Elements picked along an axis by an index array of matching shape."""
    arr, indices = asanyarray(arr), asanyarray(indices)
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        return arr.ravel()[indices]
    return arr[_along(arr, indices, _normalize(axis, arr.ndim))]


def put_along_axis(arr, indices, values, axis):
    """Elements put along an axis by an index array of matching shape."""
    indices = asanyarray(indices)
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        arr.flat[indices] = values
    else:
        arr[_along(arr, indices, _normalize(axis, arr.ndim))] = values


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


def _values_for(dtype, values):
    """What is put into elements of a dtype: arrays that cast to it safely, or what makes its elements."""
    if not isinstance(values, _core.ndarray | _np.ndarray):
        return asarray(values, dtype)
    values = asarray(values)
    if not _core.can_cast(values.dtype, dtype):
        what = "array data" if values.ndim else "scalar"
        raise TypeError(
            f"Cannot cast {what} from {values.dtype!r} to {dtype!r} according to the rule 'safe'"
        )
    return values


def place(arr, mask, vals):
    """Sets the elements where mask is true, values repeating in order."""
    if not isinstance(arr, _core.ndarray):
        raise TypeError(f"argument 1 must be asnumpy.ndarray, not {type(arr).__name__}")
    mask = asarray(mask).astype(bool, copy=False)
    if mask.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    vals = _values_for(arr.dtype, vals).ravel()
    if vals.size == 1:
        arr[mask if mask.shape == arr.shape else mask.reshape(arr.shape)] = vals
        return
    where = mask.ravel().nonzero()[0]
    if where.size == 0:
        return
    if vals.size == 0:
        raise ValueError("Cannot insert from an empty array!")
    arr.flat[where] = vals


def putmask(a, /, mask, values):
    """Sets the elements where mask is true to the values at the same positions, repeating."""
    if not isinstance(a, _core.ndarray):
        raise TypeError(f"argument 1 must be asnumpy.ndarray, not {type(a).__name__}")
    mask = asarray(mask).astype(bool, copy=False)
    values = _values_for(a.dtype, values)
    if mask.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    if values.size == 0:
        return
    if values.size == 1:
        a[mask if mask.shape == a.shape else mask.reshape(a.shape)] = values.reshape(())
        return
    where = mask.ravel().nonzero()[0]
    a.flat[where] = values.ravel()[where % values.size]


def put(a, ind, v, mode="raise"):
    """a.flat[ind] = v."""
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


def _whole_index(x):
    """Indices as an integer array; TypeError for others."""
    given, x = x, asarray(x)
    if x.dtype.kind not in "biu":
        if isinstance(given, list | tuple) and not x.size:
            raise TypeError(
                "indices must be integral: the provided empty sequence was inferred as float. "
                "Wrap it with 'np.array(indices, dtype=np.intp)'"
            )
        raise TypeError("only int indices permitted")
    return x.astype(_np.intp)


def _check_order(order):
    if order not in ("C", "F"):
        known = isinstance(order, str) and order in "KAcf"
        raise ValueError(
            "only 'C' or 'F' order is permitted"
            if known
            else f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})"
        )


def _steps(shape, order):
    """(extent, elements to the next) per dimension."""
    steps, step = [], 1
    for extent in shape if order == "F" else shape[::-1]:
        steps.append((extent, step))
        step *= extent
    if step > _np.iinfo(_np.intp).max:
        raise ValueError(
            "dimensions are too large; arrays and shapes with a total size greater than 'intp' are "
            "not supported."
        )
    return steps if order == "F" else steps[::-1]


def unravel_index(indices, shape, order="C"):
    """Flat indices as coordinates: a tuple of one array (or number) per dimension."""
    if isinstance(shape, int | _np.integer):
        shape = (shape,)
    shape = tuple(operator.index(s) for s in shape)
    _check_order(order)
    flat = _whole_index(indices)
    size = math.prod(shape)
    if flat.size and (flat.min() < 0 or flat.max() >= size):
        wrong = flat[(flat < 0) | (flat >= size)].reshape(-1)[0] if flat.ndim else flat
        raise ValueError(f"index {int(wrong)} is out of bounds for array with size {size}")
    if not shape and flat.size and flat.ndim:
        raise ValueError("multiple indices are not supported for 0d array")
    found = tuple(flat // step % extent for extent, step in _steps(shape, order))
    return found if flat.ndim else tuple(_np.intp(x) for x in found)


def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    """Coordinates as flat indices. mode, or one for each dimension: what to do about indices out of bounds."""
    dims = (
        (dims,) if isinstance(dims, int | _np.integer) else tuple(operator.index(d) for d in dims)
    )
    _check_order(order)
    modes = (mode,) * len(dims) if isinstance(mode, str) else tuple(mode)
    if len(multi_index) != len(dims):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(dims)}")
    if len(modes) != len(dims):
        raise ValueError(
            f"list of clipmodes has wrong length ({len(modes)} instead of {len(dims)})"
        )
    for how in modes:
        if how not in ("raise", "wrap", "clip"):
            raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {how!r})")
    parts = broadcast_arrays(*(_whole_index(m) for m in multi_index))
    total = 0
    for index, (extent, step), how in zip(parts, _steps(dims, order), modes, strict=True):
        if index.size and extent == 0:
            raise ValueError("cannot take indices of an empty dimension")
        if how == "raise":
            if index.size and (index.min() < 0 or index.max() >= extent):
                raise ValueError("invalid entry in coordinates array")
        elif how == "wrap":
            index = index % extent
        else:
            index = index.clip(0, extent - 1)
        total = total + index * step
    return total if parts and parts[0].ndim else _np.intp(total)


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
