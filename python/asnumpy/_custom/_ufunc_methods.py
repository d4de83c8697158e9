"""The methods of a ufunc around loops in C: reduce, accumulate, reduceat, outer, at."""

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from .. import _core
from . import _loops as loops

_NOTHING = object()


def _cut(axis, part):
    """The index of a part of one axis."""
    return (*(slice(None),) * axis, part)


def _row_major(shape, itemsize):
    """Of each element of a row-major array, where it lies, in bytes."""
    return np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape) * itemsize


class LoopMethods:
    """What needs nothing of an operator but its loops."""

    def _for_method(self, method, array, dtype):
        """The array cast to the loop for a method, and that loop."""
        name = self.__name__
        if self.nin != 2 or self.nout != 1:
            raise ValueError(f"{name}: {method} is of operators with two inputs and one output")
        array = loops.as_array(array)
        dtypes, function, data = self._choose([array, array], dtype)
        if len(set(dtypes)) != 1:
            raise TypeError(f"{name}: the loop {dtypes} cannot {method}: its dtypes differ")
        return loops.cast(array, dtypes[0], name), dtypes, function, data

    def reduce(
        self, array, axis=0, dtype=None, out=None, keepdims=False, initial=_NOTHING, where=True
    ):
        """Reduces axes of an array by a binary operator.

        Parameters
        ----------
        array : array_like
        axis : int, tuple of int or None, optional
            None: all.
        dtype : dtype, optional
            To compute in.
        out : ndarray, optional
        keepdims : bool, optional
        initial : number, optional
            By default the identity, or the first element where there is none.
        where : array_like of bool, optional
            The elements that take part; then there must be an identity or an initial value.

        Returns
        -------
        ndarray

        Raises
        ------
        ValueError
            The operator is not binary; nothing is to be reduced, without an identity.
        """
        name = self.__name__
        array, dtypes, function, data = self._for_method("reduce", array, dtype)
        axes = range(array.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        axes = {normalize_axis_index(a, array.ndim) for a in axes}
        start = self.identity if initial is _NOTHING else initial
        if start is None and where is not True:
            raise ValueError(
                f"reduction operation '{name}' does not have an identity, so to use a where mask one has to specify "
                "'initial'"
            )
        if start is None and any(array.shape[d] == 0 for d in axes):
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
        final = tuple(n for d, n in enumerate(array.shape) if d not in axes)
        kept = tuple(1 if d in axes else n for d, n in enumerate(array.shape))
        made = loops.make_outputs([out], kept if keepdims else final, dtypes[:1], name)
        if start is None:
            value, rest = array, [d for d in sorted(axes) if array.shape[d] > 1]
            for d in rest:
                head, tail = (
                    value[(slice(None),) * d + (cut,)] for cut in (slice(1), slice(1, None))
                )
                value = self._fold(function, data, head.copy(), tail)
            value = value if rest else value.copy()
        elif where is not True:
            value = self._fold_where(
                function, data, _core.full(kept, start, dtypes[0]), array, where
            )
        else:
            value = self._fold(function, data, _core.full(kept, start, dtypes[0]), array)
        value = value.reshape(made[0][1].shape)
        if out is None:
            return value
        _core.copyto(out, value, casting="same_kind")
        return out

    def _fold(self, function, data, value, array):
        """value = f(value, array) over the axes in which `value` has extent 1."""
        host = loops.Host(self.__name__)
        into = host.write(value)
        loops.run(function, data, [into, host.read(array)], [into], array.shape)
        host.done()
        return value

    def _fold_where(self, function, data, value, array, where):
        """The same over the elements that a mask selects, one after the other."""
        mask = np.broadcast_to(np.asarray(where, dtype=bool), array.shape)
        places = np.broadcast_to(_row_major(value.shape, value.itemsize), array.shape)[mask]
        chosen = _core.from_numpy(np.ascontiguousarray(array.to_numpy()[mask]))
        return self._update(function, data, value, places, chosen)

    def _update(self, function, data, target, places, values):
        """target = f(target, values) at places, bytes from the first element of a row-major array."""
        host = loops.Host(self.__name__)
        into = host.write(target)
        values = None if values is None else host.read(values)
        _core._update_loop(function, data, into, np.ascontiguousarray(places), values)
        host.done()
        return target

    def accumulate(self, array, axis=0, dtype=None, out=None):
        """Running results along an axis: ``r[0] = a[0]``, ``r[i] = f(r[i - 1], a[i])``.

        Parameters
        ----------
        array : array_like
        axis : int, optional
        dtype : dtype, optional
            To compute in.
        out : ndarray, optional

        Returns
        -------
        ndarray

        Raises
        ------
        ValueError
            The operator is not binary.
        TypeError
            The array has no axis.
        """
        name = self.__name__
        array, dtypes, function, data = self._for_method("accumulate", array, dtype)
        if array.ndim == 0:
            raise TypeError(f"{name}: cannot accumulate on a scalar")
        axis = normalize_axis_index(axis, array.ndim)
        made = loops.make_output(out, array.shape, dtypes[0], name, 0)
        value = _core.empty(array.shape, dtypes[0])
        if array.size:
            value[_cut(axis, slice(1))] = array[_cut(axis, slice(1))]
            host = loops.Host(name)
            into, source = (x.swapaxes(0, axis) for x in (host.write(value), host.read(array)))
            shape = (array.shape[axis] - 1, *into.shape[1:])
            if shape[0]:
                loops.run(function, data, [into[:-1], source[1:]], [into[1:]], shape, ordered=1)
            host.done()
        if out is None:
            return value
        _core.copyto(made[1], value, casting="same_kind")
        return out

    def reduceat(self, array, indices, axis=0, dtype=None, out=None):
        """Reductions of parts of an axis: result i is that of ``indices[i]:indices[i + 1]``, or the element
        ``indices[i]`` where the next index is no greater.

        Parameters
        ----------
        array : array_like
        indices : array_like of int
            One axis.
        axis : int, optional
        dtype : dtype, optional
            To compute in.
        out : ndarray, optional

        Returns
        -------
        ndarray

        Raises
        ------
        IndexError
            An index is outside of the axis.
        ValueError
            The operator is not binary; the indices have several axes.
        """
        name = self.__name__
        array, dtypes, function, data = self._for_method("reduceat", array, dtype)
        begin = np.asarray(indices)
        if begin.ndim != 1 or (begin.dtype.kind not in "iu" and begin.size):
            raise ValueError(f"{name}: reduceat takes indices of one axis and of integers")
        axis = normalize_axis_index(axis, array.ndim)
        extent, begin = array.shape[axis], begin.astype(np.int64)
        outside = begin[(begin < 0) | (begin >= extent)]
        if outside.size:
            raise IndexError(f"index {outside[0]} out-of-bounds in {name}.reduceat [0, {extent})")
        lengths = np.maximum(np.append(begin[1:], extent) - begin, 1)
        shape = (*array.shape[:axis], len(begin), *array.shape[axis + 1 :])
        made = loops.make_output(out, shape, dtypes[0], name, 0)
        value = array[_cut(axis, begin)] if len(begin) else _core.empty(shape, dtypes[0])
        if len(begin) <= lengths.max(initial=0):  # a part after the other
            for k in np.flatnonzero(lengths > 1):
                rest = slice(begin[k] + 1, begin[k] + lengths[k])
                part = value[_cut(axis, slice(k, k + 1))]
                self._fold(function, data, part, array[_cut(axis, rest)])
        else:  # the next element of every part at once
            for step in range(1, lengths.max(initial=0)):
                longer = np.flatnonzero(lengths > step)
                part = value[_cut(axis, longer)]
                self._fold(function, data, part, array[_cut(axis, begin[longer] + step)])
                value[_cut(axis, longer)] = part
        if out is None:
            return value
        _core.copyto(made[1], value, casting="same_kind")
        return out

    def outer(self, a, b, /, **options):
        """The operator on all pairs of elements: ``r[i, j] = f(a[i], b[j])``.

        Parameters
        ----------
        a, b : array_like
        **options
            Of a call.

        Returns
        -------
        ndarray, or a tuple of them

        Raises
        ------
        ValueError
            The operator has not two inputs.
        """
        if self.nin != 2:
            raise ValueError(f"{self.__name__}: outer is of operators with two inputs")
        a, b = loops.as_array(a), loops.as_array(b)
        return self(a.reshape(a.shape + (1,) * b.ndim), b, **options)

    def at(self, a, indices, b=_NOTHING, /):
        """Updates elements in place, one after the other: ``a[indices] = f(a[indices], b)``, where a repeated index
        counts every time.

        Parameters
        ----------
        a : ndarray
        indices : index
            An integer, slice, array of integers or bools, or a tuple of these.
        b : array_like, optional
            The second operand of an operator with two inputs.

        Raises
        ------
        IndexError
            An index is outside of its axis.
        TypeError, ValueError
            The operator's or the operands' number, the arrays' dtypes.
        """
        name = self.__name__
        if self.nout != 1 or self.nin > 2:
            raise ValueError(f"{name}: at is of operators with one or two inputs and one output")
        if (self.nin == 2) == (b is _NOTHING):
            raise ValueError(
                f"{name}: at takes a second operand where the operator has two inputs, and only there"
            )
        if not _core._is_array(a):
            raise TypeError(f"{name}: at updates an asnumpy array, not a {type(a).__name__}")
        if not a.flags.writeable:
            raise ValueError(f"{name}: at: the array is read-only")
        others = [] if self.nin == 1 else [b if loops.is_number(b) else loops.as_array(b)]
        dtypes, function, data = self._choose([a, *others], None)
        loops.check_castable(a.dtype, dtypes[0], "same_kind", f"{name}: input 0")
        loops.check_castable(dtypes[-1], a.dtype, "same_kind", f"{name}: output 0")
        index = tuple(map(_on_host, indices)) if isinstance(indices, tuple) else _on_host(indices)
        places = _row_major(a.shape, 1)[index]
        values = None
        if others:
            values = loops.cast(others[0], dtypes[1], f"{name}: input 1")
            values = _core.broadcast_to(values, places.shape).reshape(-1).copy()
        places = places.reshape(-1)
        if dtypes[0] == dtypes[-1] == a.dtype:
            whole = a if a.flags.c_contiguous else a.copy()
            self._update(function, data, whole, places * a.itemsize, values)
        else:
            whole = self._update_cast(a, places, values, (dtypes, function, data))
        if whole is not a:
            _core.copyto(a, whole)

    def _update_cast(self, a, places, values, loop):
        """The same through the loop's dtypes: each turn takes every place once, and casts back."""
        whole = a.reshape(-1).copy()
        order = np.argsort(places, kind="stable")
        ordered = places[order]
        first = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(places) else []
        starts = np.maximum.accumulate(np.where(first, np.arange(len(places)), 0))
        turn = np.empty(len(places), np.int64)
        turn[order] = np.arange(len(places)) - starts
        for k in range(turn.max(initial=-1) + 1):
            now = np.flatnonzero(turn == k)
            operands = [whole[places[now]]] + ([] if values is None else [values[now]])
            (result,) = self._record_or_run(loop, operands)
            whole[places[now]] = result.astype(a.dtype)
        return whole.reshape(a.shape)


def _on_host(index):
    return index.to_numpy() if _core._is_array(index) else index
