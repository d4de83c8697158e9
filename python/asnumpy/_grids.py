"""Grids and index helpers: mgrid, ogrid, r_, c_, s_, ndindex, broadcast, ..."""

import itertools
import math
import operator

import numpy as _np
from numpy import index_exp, s_  # noqa: F401  (they only return their index)

from . import _core
from ._core import arange, asarray
from ._joining import broadcast_shapes


class ndindex:
    """The indices of a shape, one after the other in row-major order.

    Parameters
    ----------
    *shape : ints, or one tuple of ints
        The shape.

    Raises
    ------
    ValueError
        A negative length.

    Examples
    --------
    >>> import asnumpy as np
    >>> list(np.ndindex(2, 2))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """

    def __init__(self, *shape):
        if len(shape) == 1 and isinstance(shape[0], tuple):
            shape = shape[0]
        shape = tuple(map(operator.index, shape))
        if shape and min(shape) < 0:
            raise ValueError("negative dimensions are not allowed")
        self._items = itertools.product(*map(range, shape))

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._items)


class ndenumerate:
    """The indices and the elements of an array, one pair after the other in row-major order.

    Parameters
    ----------
    arr : array_like
        The array.

    Examples
    --------
    >>> import asnumpy as np
    >>> for index, x in np.ndenumerate([[5, 6]]):
    ...     print(index, x)
    (0, 0) 5
    (0, 1) 6
    """

    def __init__(self, arr):
        arr = asarray(arr)
        self._pairs = zip(itertools.product(*map(range, arr.shape)), arr.flat, strict=True)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._pairs)


class broadcast:
    """Several arrays stretched to one shape, as an iterator over tuples of their elements.

    Parameters
    ----------
    *arrays : array_like
        At most 64.

    Raises
    ------
    ValueError
        The shapes do not broadcast.

    Notes
    -----
    Attributes: shape, nd (ndim), size and numiter, of the arrays together; index, the number of the
    next tuple.

    Examples
    --------
    >>> import asnumpy as np
    >>> both = np.broadcast([[1], [2]], [10, 20])
    >>> both.shape, both.size
    ((2, 2), 4)
    >>> [int(x + y) for x, y in both]
    [11, 21, 12, 22]
    """

    def __init__(self, *arrays):
        self._arrays = []
        for given in arrays:  # of another broadcast, its inputs
            of = given._arrays if isinstance(given, broadcast) else [asarray(given)]
            self._arrays.extend(of)
        arrays = self._arrays
        if len(arrays) > 64:
            raise ValueError(f"Need at least 0 and at most 64 array objects, got {len(arrays)}.")
        self.shape = broadcast_shapes(*[a.shape for a in self._arrays])
        self.nd = self.ndim = len(self.shape)
        self.size = math.prod(self.shape)
        self.numiter = len(arrays)
        self.reset()

    @property
    def iters(self):
        """The iterators over the elements of each array, stretched to the shape."""
        return tuple(
            (a if a.shape == self.shape else _core.broadcast_to(a, self.shape)).flat
            for a in self._arrays
        )

    def reset(self, /):
        """Starts again with the first elements.

        Returns
        -------
        None

        Examples
        --------
        >>> import asnumpy as np
        >>> both = np.broadcast([1, 2], 3)
        >>> _ = next(both)
        >>> both.reset()
        >>> both.index
        0
        """
        self.index = 0
        self._tuples = None  # made when the first one is asked for

    def __iter__(self, /):
        return self

    def __next__(self, /):
        if self._tuples is None:
            self._tuples = zip(*self.iters, strict=True)
        item = next(self._tuples)
        self.index += 1
        return item


def nditer(
    op, flags=None, op_flags=None, op_dtypes=None, order="K", casting="safe", op_axes=None,
    itershape=None, buffersize=0,
):  # fmt: skip
    """NumPy's iterator over the elements of arrays, of the host.

    Parameters
    ----------
    op : array_like, or sequence of them
        The arrays. Those on a device are read on the host: written to only where the host shares the
        memory (the CPU device).
    flags : sequence of str, optional
        What the iterator does: 'multi_index', 'external_loop', 'buffered', ...
    op_flags : list of lists of str, optional
        What is done with each array: 'readonly', 'readwrite', 'allocate', ...
    op_dtypes : sequence of dtypes, optional
        In which the elements are seen.
    order : {'C', 'F', 'A', 'K'}
        In which order; 'K' is that of the memory.
    casting : str
        Which casts are allowed.
    op_axes : list of lists of ints, optional
        Which axis of each array each axis of the iterator is.
    itershape : tuple of ints, optional
        The shape of the iterator.
    buffersize : int
        Elements in a buffer.

    Returns
    -------
    numpy.nditer

    Examples
    --------
    >>> import asnumpy as np
    >>> [int(x) for x in np.nditer(np.arange(4).reshape(2, 2).T, order="C")]
    [0, 2, 1, 3]
    """

    def host(x):
        return _np.asarray(x) if _core._is_array(x) else x

    op = [host(x) for x in op] if isinstance(op, list | tuple) else host(op)
    return _np.nditer(
        op, flags, op_flags, op_dtypes, order, casting, op_axes, itershape, buffersize
    )


def _axis_points(key, dtype=None):
    """The points of one slice: start:stop:step, or start:stop:count*1j."""
    start = 0 if key.start is None else key.start
    step = 1 if key.step is None else key.step
    if isinstance(step, complex | _np.complexfloating):
        count = int(abs(step))
        stop = key.stop
        width = (stop - start) / float(count - 1) if count != 1 else 1
        return arange(count, dtype=dtype or float) * width + start
    return arange(start, key.stop, step, dtype=dtype)


class _Grid:
    """Grids written as slices in brackets: mgrid gives whole arrays, ogrid such as broadcast.

    A slice start:stop:step is as in arange; start:stop:5j has five points and both ends. One slice
    gives one array; several give an array of shape (n, ...), of ogrid a tuple.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.mgrid[0:2, 0:3]
    array([[[0, 0, 0],
            [1, 1, 1]],
    <BLANKLINE>
           [[0, 1, 2],
            [0, 1, 2]]])
    >>> np.ogrid[0:2, 0:3]
    (array([[0],
           [1]]), array([[0, 1, 2]]))
    >>> np.mgrid[0:1:3j]
    array([0. , 0.5, 1. ])
    """

    def __init__(self, sparse):
        self.sparse = sparse

    def __getitem__(self, key):
        single = not isinstance(key, tuple)
        points = [_axis_points(k) for k in ((key,) if single else key)]
        if single:
            return points[0]
        n = len(points)
        dtype = _core.result_type(*points)
        points = [
            p.astype(dtype).reshape((1,) * i + (-1,) + (1,) * (n - 1 - i))
            for i, p in enumerate(points)
        ]
        if self.sparse:
            return tuple(points)
        result = _core.empty((n, *[p.size for p in points]), dtype)
        for i, p in enumerate(points):
            result[i] = p
        return result


mgrid, ogrid = _Grid(False), _Grid(True)


class _Concatenator:
    """Arrays joined in brackets: r_ along the first axis, c_ as columns.

    Arrays, numbers and slices (start:stop:step, or start:stop:5j of five points with both ends) are
    joined. A text in front, "axis,ndim,place", says along which axis, to how many dimensions arrays are
    brought first, and where their own axes stand among them.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.r_[0, 5:8, [1, 2]]
    array([0, 5, 6, 7, 1, 2])
    >>> np.c_[[1, 2], [3, 4]]
    array([[1, 3],
           [2, 4]])
    """

    def __init__(self, axis=0, ndmin=1, trans1d=-1):
        self.axis, self.ndmin, self.trans1d = axis, ndmin, trans1d

    def __getitem__(self, key):
        axis, ndmin, trans1d = self.axis, self.ndmin, self.trans1d
        key = key if isinstance(key, tuple) else (key,)
        items, scalars, arrays = [], [], []
        for i, item in enumerate(key):
            scalar = False
            if isinstance(item, slice):
                new = _axis_points(item)
                new = self._raise(new, ndmin, trans1d)
            elif isinstance(item, str):
                if i:
                    raise ValueError("special directives must be the first entry.")
                if item in ("r", "c"):
                    raise ValueError(f"matrix directive {item!r} is not supported")
                numbers = [int(x) for x in item.split(",")]
                axis = numbers[0]
                ndmin = numbers[1] if len(numbers) > 1 else ndmin
                trans1d = numbers[2] if len(numbers) > 2 else trans1d
                continue
            elif type(item) in (int, float, complex, bool) or _np.isscalar(item):
                scalar, new = True, item
            else:
                new = asarray(item)
                new = self._raise(new, ndmin, trans1d)
            items.append((scalar, new))
            (scalars if scalar else arrays).append(new)
        dtype = _core.result_type(*arrays, *scalars)
        parts = [
            _core.array(x, copy=None, ndmin=ndmin, dtype=dtype) if s else x.astype(dtype)
            for s, x in items
        ]
        return _core.concatenate(parts, axis=axis)

    @staticmethod
    def _raise(a, ndmin, trans1d):
        """At least ndmin dimensions, the old ones placed from trans1d on."""
        old = a.ndim
        if old >= ndmin:
            return a
        a = a.reshape((1,) * (ndmin - old) + a.shape)
        if trans1d == -1:
            return a
        first = trans1d if trans1d >= 0 else trans1d + ndmin - old + 1
        order = list(range(ndmin - old))
        order[first:first] = range(ndmin - old, ndmin)
        return a.transpose(order)

    def __len__(self):
        return 0


r_ = _Concatenator(0)
c_ = _Concatenator(-1, 2, 0)
