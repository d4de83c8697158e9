"""Joining, stretching and repeating arrays, and taking parts out or in."""

import math
import operator
import sys
import warnings

import numpy as _np

from . import _core
from ._core import asanyarray, asarray, concatenate, empty


def atleast_1d(*arys):
    """Arrays with at least one dimension.

    Parameters
    ----------
    *arys : array_like
        A number becomes an array of one element; all else stays as it is.

    Returns
    -------
    ndarray, or tuple of ndarrays
        One for each argument, views where that is possible.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.atleast_1d(3, [4, 5])
    (array([3]), array([4, 5]))
    """
    if len(arys) == 1:
        a = asanyarray(arys[0])
        return a if a.ndim else a.reshape(1)
    return tuple(a if a.ndim else a.reshape(1) for a in map(asanyarray, arys))


def atleast_2d(*arys):
    """Arrays with at least two dimensions; new ones come first.

    Parameters
    ----------
    *arys : array_like
        A vector becomes one row.

    Returns
    -------
    ndarray, or tuple of ndarrays
        One for each argument, views where that is possible.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.atleast_2d([1, 2])
    array([[1, 2]])
    """
    return _row(arys[0]) if len(arys) == 1 else tuple(map(_row, arys))


def _row(a):
    a = asanyarray(a)
    return a if a.ndim > 1 else a[None] if a.ndim else a.reshape(1, 1)


def _deep(a):
    a = asanyarray(a)
    if a.ndim > 2:
        return a
    if a.ndim == 2:
        return a[:, :, None]
    return a[None, :, None] if a.ndim else a.reshape(1, 1, 1)


def atleast_3d(*arys):
    """Arrays with at least three dimensions.

    Parameters
    ----------
    *arys : array_like
        A vector of n elements gets the shape (1, n, 1), a matrix (m, n) the shape (m, n, 1).

    Returns
    -------
    ndarray, or tuple of ndarrays
        One for each argument, views where that is possible.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.atleast_3d([1, 2]).shape
    (1, 2, 1)
    """
    return _deep(arys[0]) if len(arys) == 1 else tuple(map(_deep, arys))


def _normalize(axis, ndim, name=None):
    if type(axis) is int and -ndim <= axis < ndim:
        return axis if axis >= 0 else axis + ndim
    return _np.lib.array_utils.normalize_axis_index(axis, ndim, name)


def row_stack(tup, *, dtype=None, casting="same_kind"):
    """Arrays stacked row-wise; the old name of vstack, which is deprecated.

    Parameters
    ----------
    tup : sequence of array_like
        As vstack has it.
    dtype : dtype, optional
        Of the result.
    casting : str
        Which casts to dtype are allowed.

    Returns
    -------
    ndarray
        A new array of two dimensions or more.

    Examples
    --------
    >>> import asnumpy as np, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     np.row_stack([[1, 2], [3, 4]])
    array([[1, 2],
           [3, 4]])
    """
    warnings.warn(
        "`row_stack` alias is deprecated. Use `np.vstack` directly.",
        DeprecationWarning,
        stacklevel=3,
    )
    return _core.vstack(tup, dtype=dtype, casting=casting)


def block(arrays):
    """An array assembled from nested lists of blocks.

    Parameters
    ----------
    arrays : nested list of array_like
        Blocks of the innermost lists are joined along the last axis, those of the lists around them
        along the one before, and so on. Numbers and arrays of fewer dimensions get axes in front.

    Returns
    -------
    ndarray
        A new array.

    Raises
    ------
    ValueError
        Lists of different depths, an empty list, or blocks that do not fit.
    TypeError
        A tuple in the place of a list.

    Examples
    --------
    >>> import asnumpy as np
    >>> one, two = np.ones((2, 2), int), np.full((2, 1), 2)
    >>> np.block([[one, two], [3, 4, 5]])
    array([[1, 1, 2],
           [1, 1, 2],
           [3, 4, 5]])
    """

    def depth(x):
        if isinstance(x, tuple):
            raise TypeError("arrays is a tuple. Only lists can be used to arrange blocks")
        if not isinstance(x, list):
            return 0
        depths = {depth(y) for y in x}
        if len(depths) > 1:
            raise ValueError("List depths are mismatched")
        return depths.pop() + 1 if depths else 1

    def check(x):
        if isinstance(x, list):
            if not x:
                raise ValueError("List at arrays cannot be empty")
            for y in x:
                check(y)

    def leaves(x):
        return [y for z in x for y in leaves(z)] if isinstance(x, list) else [asanyarray(x)]

    levels = depth(arrays)
    check(arrays)
    ndim = max([levels, *[a.ndim for a in leaves(arrays)]])

    def build(x, level):
        if isinstance(x, list):
            return concatenate([build(y, level + 1) for y in x], axis=ndim - levels + level)
        a = asanyarray(x)
        return a.reshape((1,) * (ndim - a.ndim) + a.shape)

    result = build(arrays, 0)
    return result.copy() if levels == 0 else result


# ---- splitting


# ---- broadcasting


def broadcast_shapes(*args):
    """The shape that shapes broadcast to.

    Parameters
    ----------
    *args : tuple of ints, or int
        The shapes.

    Returns
    -------
    tuple of ints

    Raises
    ------
    ValueError
        They do not broadcast.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.broadcast_shapes((3, 1), (4,), (2, 1, 1))
    (2, 3, 4)
    """
    first = args[0] if args else ()
    for shape in args:
        if shape.__class__ is not tuple:
            return _np.broadcast_shapes(*args)
        if shape != first:
            return _stretched(args)
    return _np.broadcast_shapes(first)


def _stretched(shapes):
    """What different shapes broadcast to; NumPy explains those that do not."""
    result = [1] * max(map(len, shapes))
    for shape in shapes:
        for d, extent in enumerate(shape, len(result) - len(shape)):
            if extent.__class__ is not int or extent < 0 or extent != result[d] != 1 != extent:
                return _np.broadcast_shapes(*shapes)
            if extent != 1:
                result[d] = extent
    if math.prod(result) > sys.maxsize:
        return _np.broadcast_shapes(*shapes)
    return tuple(result)


def broadcast_arrays(*args, subok=False):
    """Arrays stretched to their common shape.

    Parameters
    ----------
    *args : array_like
        Arrays whose shapes broadcast.
    subok : bool
        Lets subclasses through.

    Returns
    -------
    tuple of ndarrays
        Views, of which several elements may share their memory. They may be written, as NumPy has it
        until that goes away; NumPy warns and so does this.

    Raises
    ------
    ValueError
        The shapes do not broadcast.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.broadcast_arrays([[1], [2]], [10, 20])
    (array([[1, 1],
           [2, 2]]), array([[10, 20],
           [10, 20]]))
    """
    arrays = [_core.array(a, copy=None, subok=subok) for a in args]
    shape = broadcast_shapes(*[a.shape for a in arrays])
    return tuple(a if a.shape == shape else _writable(a, shape, subok) for a in arrays)


def _writable(a, shape, subok):
    view = _core.broadcast_to(a, shape, subok)
    return _core._as_strided(a, shape, view.strides) if a.flags.writeable else view


# ---- repeating, resizing, editing


def tile(A, reps):
    """An array repeated along each axis.

    Parameters
    ----------
    A : array_like
        What is repeated.
    reps : int or sequence of ints
        How often along each axis; the shorter of A.shape and reps gets ones in front.

    Returns
    -------
    ndarray
        A new array.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.tile([1, 2], (2, 2))
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]])
    """
    try:
        reps = tuple(reps)
    except TypeError:
        reps = (reps,)
    reps = tuple(int(r) if isinstance(r, bool | _np.bool_) else r for r in reps)
    a = asanyarray(A)
    ndim = max(a.ndim, len(reps))
    shape = (1,) * (ndim - a.ndim) + a.shape
    reps = (1,) * (ndim - len(reps)) + reps
    if len(reps) == 1 and a.ndim == 1 and 1 < reps[0] <= 16 and type(a) is _core.ndarray:
        return concatenate([a] * reps[0])
    if all(r == 1 for r in reps):
        return a.reshape(shape).copy("K")
    spread = [x for s in shape for x in (1, s)]
    target = [x for r, s in zip(reps, shape, strict=True) for x in (r, s)]
    stretched = _core.broadcast_to(a.reshape(spread), target, subok=True)
    return stretched.copy().reshape([r * s for r, s in zip(reps, shape, strict=True)])


def resize(a, new_shape):
    """The elements of an array, repeated or cut to a new shape.

    Parameters
    ----------
    a : array_like
        Its elements are taken in row-major order, over and over again.
    new_shape : int or tuple of ints
        The shape.

    Returns
    -------
    ndarray
        A new array. (The method ndarray.resize changes its array, and fills it up with zeros.)

    Raises
    ------
    ValueError
        A negative length.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.resize([1, 2, 3], (2, 4))
    array([[1, 2, 3, 1],
           [2, 3, 1, 2]])
    """
    if isinstance(new_shape, int | _np.integer):
        new_shape = (new_shape,)
    new_shape = tuple(new_shape)
    a = asanyarray(a).ravel()
    size = 1
    for extent in map(operator.index, new_shape):
        size *= extent
        if extent < 0:
            raise ValueError("all elements of `new_shape` must be non-negative")
    if a.size == 0 or size == 0:
        return _core.zeros_like(a, shape=new_shape)
    repeats = -(-size // a.size)
    return concatenate((a,) * repeats)[:size].reshape(new_shape)


def append(arr, values, axis=None):
    """An array with values joined at its end.

    Parameters
    ----------
    arr : array_like
        The first part.
    values : array_like
        The second part; with axis its shape is that of arr but for that axis.
    axis : int, optional
        Along which they are joined; by default both are flattened first.

    Returns
    -------
    ndarray
        A new array: arr stays as it is.

    Raises
    ------
    ValueError
        The shapes differ in another axis.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.append([1, 2], [[3], [4]])
    array([1, 2, 3, 4])
    >>> np.append([[1, 2]], [[3, 4]], axis=0)
    array([[1, 2],
           [3, 4]])
    """
    arr = asanyarray(arr)
    if axis is None:
        return concatenate((arr.ravel(), asanyarray(values).ravel()), axis=0)
    return concatenate((arr, values), axis=axis)


def _axis_of(arr, axis):
    if axis is None:
        return (arr.ravel() if arr.ndim != 1 else arr), 0
    return arr, _normalize(axis, arr.ndim)


def _indices(obj):
    """obj as a copy of integers or booleans on the host; an empty list is one of integers."""
    index = _np.array(obj)
    if index.size == 0 and not isinstance(obj, (_np.ndarray, _core.ndarray)):
        return index.astype(_np.intp)
    if index.dtype.kind not in "biu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return index


def _slab(axis, start, stop):
    return (slice(None),) * axis + (slice(start, stop),)


def delete(arr, obj, axis=None):
    """An array without some of its sub-arrays.

    Parameters
    ----------
    arr : array_like
        The array.
    obj : int, slice, sequence of ints or of bools
        Which are left out, by their positions along axis; bools mark them.
    axis : int, optional
        By default the array is flattened first.

    Returns
    -------
    ndarray
        A new array.

    Raises
    ------
    IndexError
        A position that does not exist.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.delete([10, 20, 30, 40], [0, 2])
    array([20, 40])
    >>> np.delete(np.arange(6).reshape(2, 3), 1, axis=1)
    array([[0, 2],
           [3, 5]])
    """
    arr, axis = _axis_of(asarray(arr), axis)
    n = arr.shape[axis]
    if type(obj) is int and -n <= obj < n:
        obj %= n
        rest = (arr[_slab(axis, None, obj)], arr[_slab(axis, obj + 1, None)])
        return _in_order(concatenate(rest, axis), arr)
    keep, ordered = _np.ones(n, dtype=bool), True
    if isinstance(obj, slice):
        keep[obj] = False
    else:
        index = _indices(obj)
        if index.dtype == bool and index.shape != (n,):
            raise ValueError(
                "boolean array argument obj to delete must be one dimensional and match the axis "
                f"length of {n}"
            )
        if index.ndim == 0 and index.dtype != bool and not -n <= index < n:
            raise IndexError(f"index {index} is out of bounds for axis {axis} with size {n}")
        keep[index] = False
        ordered = index.size == 1 and index.dtype != bool  # as one position; others are a mask
    rest = arr[(slice(None),) * axis + (asarray(keep),)]
    return _in_order(rest, arr) if ordered else rest


def _in_order(result, arr):
    """Column-major where arr is and not row-major too, else row-major."""
    return asarray(result, order="F" if arr.flags.fnc else "C")


def insert(arr, obj, values, axis=None):
    """An array with values put before some of its positions.

    Parameters
    ----------
    arr : array_like
        The array.
    obj : int, slice, sequence of ints or of bools
        The positions along axis, in arr, before which values go.
    values : array_like
        Cast to arr's dtype; broadcast to what is inserted.
    axis : int, optional
        By default the array is flattened first.

    Returns
    -------
    ndarray
        A new array.

    Raises
    ------
    IndexError
        A position that does not exist.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.insert([1, 2, 3], 1, 99)
    array([ 1, 99,  2,  3])
    >>> np.insert([[1, 2], [3, 4]], 1, [7, 8], axis=1)
    array([[1, 7, 2],
           [3, 8, 4]])
    """
    arr, axis = _axis_of(asarray(arr), axis)
    n = arr.shape[axis]
    if type(obj) is int and -n <= obj <= n and arr.ndim == 1:
        values = _core.array(values, copy=None, ndmin=1, dtype=arr.dtype)
        if values.ndim == 1:
            obj += n if obj < 0 else 0
            return concatenate((arr[:obj], values, arr[obj:]))
    if isinstance(obj, slice):
        index = _np.arange(*obj.indices(n), dtype=_np.intp)
    else:
        index = _indices(obj)
        if index.dtype == bool:
            if index.ndim != 1:
                raise ValueError("boolean array argument obj to insert must be one dimensional")
            index = _np.flatnonzero(index)
        elif index.ndim > 1:
            raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    values = _core.array(values, copy=None, ndmin=arr.ndim, dtype=arr.dtype)
    single = index.size == 1
    if single:
        i = int(index.item())
        if not -n <= i <= n:
            raise IndexError(f"index {i} is out of bounds for axis {axis} with size {n}")
        if i < 0:
            i += n
        if index.ndim == 0:
            from ._core import moveaxis

            values = moveaxis(values, 0, axis)
        index = _np.full(values.shape[axis], i)
    index = _np.where(index < 0, index + n, index)
    order = index.argsort(kind="mergesort")
    index[order] += _np.arange(len(index))
    old = _np.ones(n + len(index), dtype=bool)
    old[index] = False
    shape = list(arr.shape)
    shape[axis] = n + len(index)
    result = empty(shape, arr.dtype)
    where = (slice(None),) * axis
    result[(*where, asarray(index))] = values
    result[(*where, asarray(old))] = arr
    return _in_order(result, arr)


# ---- padding
