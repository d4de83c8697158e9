"""Joining, splitting, repeating and padding arrays."""

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


def array_split(ary, indices_or_sections, axis=0):
    """An array split into parts along an axis, of lengths that need not be equal.

    Parameters
    ----------
    ary : array_like
        The array.
    indices_or_sections : int or sequence of ints
        The number of parts (the first ones are longer by one where they cannot be equal), or the
        positions before which to cut.
    axis : int
        Along which it is cut.

    Returns
    -------
    list of ndarrays
        Views of ary.

    Raises
    ------
    ValueError
        The number of parts is not positive.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.array_split(np.arange(5), 2)
    [array([0, 1, 2]), array([3, 4])]
    """
    ary = asanyarray(ary)
    total = ary.shape[axis]
    try:
        len(indices_or_sections)
        bounds = [0, *(operator.index(i) for i in indices_or_sections), total]
    except TypeError:
        if hasattr(indices_or_sections, "__len__") and _np.ndim(indices_or_sections):
            raise
        n = int(indices_or_sections)
        if n <= 0:
            raise ValueError("number sections must be larger than 0.") from None
        each, extras = divmod(total, n)
        sizes = [each + 1] * extras + [each] * (n - extras)
        bounds = [0]
        for size in sizes:
            bounds.append(bounds[-1] + size)
    where = (slice(None),) * (axis % ary.ndim)
    return [ary[(*where, slice(a, b))] for a, b in zip(bounds, bounds[1:], strict=False)]


def split(ary, indices_or_sections, axis=0):
    """An array split into parts along an axis, which are equal where their number is given.

    Parameters
    ----------
    ary : array_like
        The array.
    indices_or_sections : int or sequence of ints
        The number of parts, or the positions before which to cut.
    axis : int
        Along which it is cut.

    Returns
    -------
    list of ndarrays
        Views of ary.

    Raises
    ------
    ValueError
        So many equal parts are not possible.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.split(np.arange(6), 3)
    [array([0, 1]), array([2, 3]), array([4, 5])]
    >>> np.split(np.arange(6), [1, 4])
    [array([0]), array([1, 2, 3]), array([4, 5])]
    """
    ary = asanyarray(ary)
    if not hasattr(indices_or_sections, "__len__") and ary.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


def hsplit(ary, indices_or_sections):
    """An array split along its second axis; a vector along its only one.

    Parameters
    ----------
    ary : array_like
        The array, of one dimension at least.
    indices_or_sections : int or sequence of ints
        The number of equal parts, or the positions before which to cut.

    Returns
    -------
    list of ndarrays
        Views of ary.

    Raises
    ------
    ValueError
        ary has no dimension, or so many equal parts are not possible.

    Examples
    --------
    >>> import asnumpy as np
    >>> left, right = np.hsplit(np.arange(8).reshape(2, 4), 2)
    >>> right
    array([[2, 3],
           [6, 7]])
    """
    ary = asanyarray(ary)
    if ary.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


def vsplit(ary, indices_or_sections):
    """An array split along its first axis.

    Parameters
    ----------
    ary : array_like
        The array, of two dimensions at least.
    indices_or_sections : int or sequence of ints
        The number of equal parts, or the positions before which to cut.

    Returns
    -------
    list of ndarrays
        Views of ary.

    Raises
    ------
    ValueError
        ary has fewer dimensions, or so many equal parts are not possible.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.vsplit(np.arange(4).reshape(2, 2), 2)
    [array([[0, 1]]), array([[2, 3]])]
    """
    if asanyarray(ary).ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


def dsplit(ary, indices_or_sections):
    """An array split along its third axis.

    Parameters
    ----------
    ary : array_like
        The array, of three dimensions at least.
    indices_or_sections : int or sequence of ints
        The number of equal parts, or the positions before which to cut.

    Returns
    -------
    list of ndarrays
        Views of ary.

    Raises
    ------
    ValueError
        ary has fewer dimensions, or so many equal parts are not possible.

    Examples
    --------
    >>> import asnumpy as np
    >>> [part.shape for part in np.dsplit(np.zeros((2, 3, 4)), [1])]
    [(2, 3, 1), (2, 3, 3)]
    """
    if asanyarray(ary).ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


def unstack(x, /, *, axis=0):
    """The sub-arrays along an axis; the reverse of stack.

    Parameters
    ----------
    x : array_like
        The array.
    axis : int
        The axis that goes away.

    Returns
    -------
    tuple of ndarrays
        Views of x, x.shape[axis] of them.

    Raises
    ------
    ValueError
        x has no dimension.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.unstack(np.array([[1, 2], [3, 4]]), axis=1)
    (array([1, 3]), array([2, 4]))
    """
    x = asanyarray(x)
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    from ._core import moveaxis

    return tuple(moveaxis(x, axis, 0))


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
        return a.reshape(shape).copy()
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
        return concatenate((arr[_slab(axis, None, obj)], arr[_slab(axis, obj + 1, None)]), axis)
    keep = _np.ones(n, dtype=bool)
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
    return _in_order(arr[(slice(None),) * axis + (asarray(keep),)], arr)


def _in_order(result, arr):
    """Column-major where arr is and not row-major too."""
    return asarray(result, order="F") if arr.flags.fnc else result


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


def trim_zeros(filt, trim="fb", axis=None):
    """A sequence, or an array, without its leading and trailing zeros.

    Parameters
    ----------
    filt : array_like
        A list or tuple gives a list or tuple; an array of any dimensions an array.
    trim : str
        'f' (front), 'b' (back) or 'fb' (both).
    axis : int or sequence of ints, optional
        Along which slices of zeros are cut off; by default all.

    Returns
    -------
    ndarray, list or tuple
        Of arrays a view.

    Raises
    ------
    ValueError
        trim has other letters.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.trim_zeros(np.array([0, 0, 1, 0, 2, 0]))
    array([1, 0, 2])
    >>> np.trim_zeros([0, 1, 0], "f")
    [1, 0]
    """
    a = asarray(filt)
    trim = trim.lower()
    if trim not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    axes = range(a.ndim) if axis is None else [
        _normalize(x, a.ndim) for x in (axis if isinstance(axis, tuple) else (axis,))
    ]  # fmt: skip
    cut = [slice(None)] * a.ndim
    for d in axes:
        others = tuple(k for k in range(a.ndim) if k != d)
        filled = (a != 0).any(axis=others).nonzero()[0]
        low = int(filled[0]) if len(filled) else a.shape[d]
        high = int(filled[-1]) + 1 if len(filled) else 0
        cut[d] = slice(low if "f" in trim else None, high if "b" in trim else None)
    if isinstance(filt, list | tuple):
        return filt[cut[0]]
    return (filt if _core._is_array(filt) else a)[tuple(cut)]


# ---- padding


def _pairs(value, ndim, integer=False):
    """np.pad's per-axis arguments as a list of (before, after)."""
    if type(value) is int and (value >= 0 or not integer):
        return [(value, value)] * ndim
    pairs = _np.broadcast_to(_np.asarray(value), (ndim, 2))
    if integer:
        if pairs.dtype.kind not in "iu":
            raise TypeError("`pad_width` must be of integral type.")
        if (pairs < 0).any():
            raise ValueError("index can't contain negative values")
    return pairs.tolist()


def _edge_width(a, axis, width):
    return a.shape[axis] if width is None else min(width, a.shape[axis])


def _slab(axis, start, stop):
    return (slice(None),) * axis + (slice(start, stop),)


def _pad_statistic(a, axis, before, after, lengths, statistic):
    n = a.shape[axis]

    def value(part):
        result = statistic(part, axis=axis, keepdims=True)
        if a.dtype.kind in "iu":
            result = _core.rint(asarray(result))
        return asarray(result).astype(a.dtype)

    left = value(a[_slab(axis, 0, _edge_width(a, axis, lengths[0]))])
    right = value(a[_slab(axis, n - _edge_width(a, axis, lengths[1]), n)])
    return _core.repeat(left, before, axis), _core.repeat(right, after, axis)


def _period_once(a, axis, before, after, mode):
    """The pieces of a padding that no side needs more than one period for: views of a."""
    n = a.shape[axis]
    inner = mode == "reflect"  # the edge itself is not repeated
    turned = (*(slice(None),) * axis, slice(None, None, -1))
    left = a[_slab(axis, inner, before + inner)][turned]
    right = a[_slab(axis, n - after - inner, n - inner)][turned]
    return left, a, right


def _pad_periodic(a, axis, before, after, mode):
    """Pads by reflect or symmetric: index arithmetic on one period."""
    n = a.shape[axis]
    if max(before, after) <= n - (mode == "reflect"):
        return concatenate(_period_once(a, axis, before, after, mode), axis)
    where = _np.arange(-before, n + after)
    edge = mode == "symmetric"
    if n == 1 and not edge:
        return a.take(asarray(_np.zeros_like(where)), axis=axis)
    period = 2 * n if edge else 2 * n - 2
    folded = where % period
    mirrored = folded >= n
    source = _np.where(mirrored, period - 1 - folded if edge else period - folded, folded)
    return a.take(asarray(source), axis=axis)


def _pad_odd(a, axis, before, after, edge):
    """Pads by odd reflections, 2 * edge - value, of all that there is so far. edge: the outermost element is
    repeated ("symmetric")."""
    turned = (*(slice(None),) * axis, slice(None, None, -1))
    n, skipped = a.shape[axis], 0 if edge else 1

    def reflected(around, values):
        return (2 * a[_slab(axis, around, around + 1)] - values[turned]).astype(a.dtype)

    while before or after:
        total = a.shape[axis]
        most = (total - skipped) // (n - skipped) * (n - skipped)  # whole periods
        left, right = min(most, before), min(most, after)
        start = total - skipped - right
        a = concatenate(
            [
                reflected(0, a[_slab(axis, skipped, skipped + left)]),
                a,
                reflected(total - 1, a[_slab(axis, start, start + right)]),
            ],
            axis,
        )
        before, after = before - left, after - right
    return a


def widths_of(pad_width, ndim):
    """np.pad's pad_width as a list of (before, after) per axis."""
    if isinstance(pad_width, dict):
        widths = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            widths[axis] = (width, width) if isinstance(width, int) else tuple(width)
        pad_width = widths
    return _pairs(pad_width, ndim, integer=True)


def pad(array, pad_width, mode, kwargs):
    """np.pad by a mode that is not "wrap" alone, which is compiled, or by a function."""
    a = asarray(array)
    widths = widths_of(pad_width, a.ndim)
    allowed = {
        "empty": set(), "edge": set(), "wrap": set(), "constant": {"constant_values"},
        "linear_ramp": {"end_values"}, "maximum": {"stat_length"}, "mean": {"stat_length"},
        "median": {"stat_length"}, "minimum": {"stat_length"}, "reflect": {"reflect_type"},
        "symmetric": {"reflect_type"},
    }  # fmt: skip
    if callable(mode):
        padded = _np.pad(_np.asarray(a), widths)
        for axis in range(a.ndim):
            view = _np.moveaxis(padded, axis, -1)
            for index in _np.ndindex(view.shape[:-1]):
                mode(view[index], tuple(widths[axis]), axis, kwargs)
        return asarray(padded)
    if mode not in allowed:
        raise ValueError(f"mode '{mode}' is not supported")
    unknown = set(kwargs) - allowed[mode]
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    lengths = kwargs.get("stat_length")
    if mode in ("maximum", "minimum") and lengths is not None and 0 in _np.asarray(lengths):
        raise ValueError("stat_length of 0 yields no value for padding")
    if mode not in ("constant", "empty"):
        for d, (before, after) in enumerate(widths):
            if a.shape[d] == 0 and (before or after):
                raise ValueError(
                    f"can't extend empty axis {d} using modes other than 'constant' or 'empty'"
                )
    if any(n + sum(w) > sys.maxsize for n, w in zip(a.shape, widths, strict=True)):
        raise ValueError(f"pad: widths {widths} of shape {a.shape} make an array that is too big")
    if mode == "constant" and any(map(any, widths)):
        a = _pad_constant(a, widths, _pairs(kwargs.get("constant_values", 0), a.ndim))
        widths = []
    for axis, (before, after) in enumerate(widths):
        if before or after:
            a = _pad_axis(a, axis, before, after, mode, kwargs, asarray(array))
    # Fortran order stays; every other array gives C order.
    order = "F" if asarray(array).flags.fnc else "C"
    return _core.array(a, order=order, copy=True if a is array else None)


def _pad_constant(a, widths, values):
    """All axes at once; where edges of two axes meet, those of the later one are written."""
    shape = [before + n + after for n, (before, after) in zip(a.shape, widths, strict=True)]
    result = empty(shape, a.dtype, order="F" if a.flags.fnc else "C")
    inside = tuple(slice(w[0], w[0] + n) for n, w in zip(a.shape, widths, strict=True))
    result[inside] = a
    for axis, (before, after) in enumerate(widths):
        whole, rest = inside[axis + 1 :], (slice(None),) * axis
        if before:
            result[(*rest, slice(0, before), *whole)] = values[axis][0]
        if after:
            result[(*rest, slice(shape[axis] - after, None), *whole)] = values[axis][1]
    return result


def _pad_axis(a, axis, before, after, mode, kwargs, original):
    n, ndim = a.shape[axis], a.ndim
    if mode in ("reflect", "symmetric"):
        if kwargs.get("reflect_type", "even") == "odd" and (n > 1 or mode == "symmetric"):
            return _pad_odd(a, axis, before, after, mode == "symmetric")
        return _pad_periodic(a, axis, before, after, mode)
    if mode in ("maximum", "minimum", "mean", "median"):
        from ._quantiles import median

        statistic = {"maximum": _core.max, "minimum": _core.min, "mean": _core.mean}.get(
            mode, median
        )
        lengths = kwargs.get("stat_length")
        lengths = (None, None) if lengths is None else _pairs(lengths, ndim, integer=True)[axis]
        left, right = _pad_statistic(a, axis, before, after, lengths, statistic)
        return concatenate([left, a, right], axis)
    shape = list(a.shape)
    shape[axis] = n + before + after
    result = empty(shape, a.dtype)
    result[_slab(axis, before, before + n)] = a
    low, high = _slab(axis, 0, before), _slab(axis, before + n, n + before + after)
    if mode == "edge":
        result[low], result[high] = a[_slab(axis, 0, 1)], a[_slab(axis, n - 1, n)]
    elif mode == "linear_ramp":
        from ._creation import linspace

        ends = _pairs(kwargs.get("end_values", 0), ndim)[axis]
        for where, end, edge, width in (
            (low, ends[0], a[_slab(axis, 0, 1)], before),
            (high, ends[1], a[_slab(axis, n - 1, n)], after),
        ):
            ramp = linspace(
                end, edge.squeeze(axis), width, endpoint=False, dtype=a.dtype, axis=axis
            )
            result[where] = (
                ramp
                if where is low
                else ramp[_slab(axis, None, None)[:-1] + (slice(None, None, -1),)]
            )
    return result
