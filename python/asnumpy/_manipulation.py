"""Reordering elements and axes: flip, roll, rot90, moveaxis, ..."""

import itertools
import math
import operator

import numpy as _np

from . import _core
from ._core import asanyarray, asarray
from ._joining import _normalize, broadcast_arrays, stack


def _axes(axis, ndim, name=None, allow_duplicate=False):
    if type(axis) not in (tuple, list):
        try:
            axis = (operator.index(axis),)
        except TypeError:
            axis = tuple(axis)
    axes = tuple(_normalize(x, ndim, name) for x in axis)
    if not allow_duplicate and len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis in `{name}` argument" if name else "repeated axis")
    return axes


def moveaxis(a, source, destination):
    """A view with axes moved to new positions."""
    a = asanyarray(a) if not hasattr(a, "transpose") else a
    source = _axes(source, a.ndim, "source")
    destination = _axes(destination, a.ndim, "destination")
    if len(source) != len(destination):
        raise ValueError(
            "`source` and `destination` arguments must have the same number of elements"
        )
    order = [n for n in range(a.ndim) if n not in source]
    for d, s in sorted(zip(destination, source, strict=True)):
        order.insert(d, s)
    return a.transpose(order)


def rollaxis(a, axis, start=0):
    """A view with one axis rolled backwards until it lies before another."""
    a = asanyarray(a)
    n = a.ndim
    axis = _normalize(axis, n)
    if start < 0:
        start += n
    if not 0 <= start < n + 1:
        raise _np.exceptions.AxisError(
            f"'start' arg requires {-n} <= start < {n + 1}, but {start} was passed in"
        )
    if axis < start:
        start -= 1
    if axis == start:
        return a[...]
    axes = list(range(n))
    axes.remove(axis)
    axes.insert(start, axis)
    return a.transpose(axes)


_BACKWARDS = slice(None, None, -1)


def flip(m, axis=None):
    """A view with the elements reversed along axes."""
    m = asarray(m) if not hasattr(m, "ndim") else m
    if axis is None:
        return m[(_BACKWARDS,) * m.ndim]
    index = [slice(None)] * m.ndim
    for d in _axes(axis, m.ndim):
        index[d] = _BACKWARDS
    return m[tuple(index)]


def fliplr(m):
    """flip along the second axis."""
    m = asanyarray(m)
    if m.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return m[:, ::-1]


def flipud(m):
    """flip along the first axis."""
    m = asanyarray(m)
    if m.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return m[::-1, ...]


def rot90(m, k=1, axes=(0, 1)):
    """A view rotated by 90 degrees k times in a plane."""
    axes = tuple(axes)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    m = asanyarray(m)
    if axes[0] == axes[1] or abs(axes[0] - axes[1]) == m.ndim:
        raise ValueError("Axes must be different.")
    if not all(-m.ndim <= x < m.ndim for x in axes):
        raise ValueError(f"Axes={axes} out of range for array of ndim={m.ndim}.")
    k %= 4
    if k == 0:
        return m[:]
    if k == 2:
        return flip(flip(m, axes[0]), axes[1])
    order = list(range(m.ndim))
    order[axes[0]], order[axes[1]] = order[axes[1]], order[axes[0]]
    if k == 1:
        return flip(m, axes[1]).transpose(order)
    return flip(m.transpose(order), axes[1])


# Up to here an axis at a time costs less than a block at a time, and nothing inside an expression, which reads the
# pieces where they lie.
_ROLLED_BY_AXES = 1 << 18


def _rolled(a, axis, shift):
    whole, cut = (slice(None),) * axis, a.shape[axis] - shift
    return _core.concatenate((a[(*whole, slice(cut, None))], a[(*whole, slice(0, cut))]), axis)


def _shifts(shift, axes, ndim):
    """How far each axis is rolled, all in all."""
    if type(shift) is int:
        pairs = [(shift, d) for d in axes]
    elif type(shift) is tuple and len(shift) == len(axes) and all(type(s) is int for s in shift):
        pairs = zip(shift, axes, strict=True)
    else:
        pairs = _np.broadcast(shift, axes)
        if pairs.ndim > 1:
            raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    shifts = [0] * ndim
    for s, d in pairs:
        shifts[int(d)] += int(s)
    return shifts


def roll(a, shift, axis=None):
    """A copy with the elements shifted along axes, wrapping around."""
    a = asanyarray(a)
    if axis is None:
        return roll(a.ravel(), shift, 0).reshape(a.shape)
    if type(a) is _core.ndarray and type(shift) is int and type(axis) is int and a.size:
        d = _normalize(axis, a.ndim)
        return _rolled(a, d, shift % a.shape[d])
    shifts = _shifts(shift, _axes(axis, a.ndim, allow_duplicate=True), a.ndim)
    moved = [s % n if n else 0 for s, n in zip(shifts, a.shape, strict=True)]
    if not any(moved):
        return a.copy()
    if type(a) is _core.ndarray and (a.nbytes <= _ROLLED_BY_AXES or moved.count(0) == a.ndim - 1):
        for d, s in enumerate(moved):
            if s:
                a = _rolled(a, d, s)
        return a
    result = _core.empty_like(a)
    for blocks in itertools.product(*map(_rolled_blocks, a.shape, moved)):
        to, source = zip(*blocks, strict=True)
        result[to] = a[source]
    return result


def _rolled_blocks(n, shift):
    """Where the parts of an axis of n elements go, and come from."""
    if not shift:
        return [(slice(None), slice(None))]
    return [
        (slice(None, shift), slice(n - shift, None)),
        (slice(shift, None), slice(None, n - shift)),
    ]


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
