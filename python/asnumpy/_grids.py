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
    """Iterates over the indices of a shape in row-major order."""

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
    """Iterates over (index, element) pairs."""

    def __init__(self, arr):
        arr = asarray(arr)
        self._pairs = zip(itertools.product(*map(range, arr.shape)), arr.flat, strict=True)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._pairs)


class broadcast:
    """The result of broadcasting several inputs, as an iterator over tuples of elements."""

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
        return tuple(
            (a if a.shape == self.shape else _core.broadcast_to(a, self.shape)).flat
            for a in self._arrays
        )

    def reset(self, /):
        """Starts again."""
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
    """NumPy's multi-dimensional iterator, over the elements on the host."""

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
    """r_ and c_: slices and arrays written in brackets, joined."""

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
