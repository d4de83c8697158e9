"""Piecewise functions, functions along axes, vectorised Python functions, bits."""

import operator

import numpy as _np

from . import _core, _traced
from ._core import asanyarray, asarray, moveaxis, where
from ._joining import _normalize, broadcast_arrays
from ._support import as_class


def select(condlist, choicelist, default=0):
    """Elements from the first choice whose condition holds."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    for i, cond in enumerate(condlist):
        if asarray(cond).dtype != bool:
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
    weak = [x if type(x) in (int, float, complex) else asarray(x) for x in [*choicelist, default]]
    dtype = _core.result_type(*weak)
    conditions = broadcast_arrays(*[asarray(c) for c in condlist])
    choices = broadcast_arrays(*[asarray(x, dtype) for x in weak])
    shape = _np.broadcast_shapes(conditions[0].shape, choices[0].shape)
    result = _core.broadcast_to(choices[-1], shape)
    for cond, choice in zip(conditions[::-1], choices[-2::-1], strict=True):
        result = where(cond, choice, result)
    return result


def piecewise(x, condlist, funclist, *args, **kw):
    """A function defined by pieces."""
    x = asanyarray(x)
    if not hasattr(condlist, "__len__"):
        conditions = [_core.full(x.shape, bool(condlist))]
    elif isinstance(condlist, _core.ndarray | _np.ndarray):
        condlist = asarray(condlist).astype(bool)
        conditions = [condlist] if condlist.ndim == x.ndim else list(condlist)
    elif (
        len(condlist)
        and not isinstance(condlist[0], list | _np.ndarray | _core.ndarray)
        and x.ndim != 0
    ):
        conditions = [asarray(condlist)]
    else:
        conditions = [asarray(c).astype(bool) for c in condlist]
    n, n2 = len(conditions), len(funclist)
    if n == n2 - 1:
        rest = conditions[0]
        for c in conditions[1:]:
            rest = rest | c
        conditions.append(~rest)
        n += 1
    elif n != n2:
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    y = _core.zeros_like(x)
    for cond, func in zip(conditions, funclist, strict=True):
        if not callable(func):
            y[cond] = func
        else:
            values = x[cond]
            if values.size > 0:
                y[cond] = func(values, *args, **kw)
    return y


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """A function applied to the 1-d slices along an axis."""
    arr = asanyarray(arr)
    axis = _normalize(axis, arr.ndim)
    view = moveaxis(arr, axis, -1)
    outer_shape = view.shape[:-1]
    if 0 in outer_shape:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    result = None
    for index in _np.ndindex(outer_shape):
        value = asanyarray(func1d(view[index], *args, **kwargs))
        if result is None:
            result, parent = _core.zeros(outer_shape + value.shape, value.dtype), value
        result[index] = value
    last = list(range(len(outer_shape), result.ndim))
    result = moveaxis(result, last, list(range(axis, axis + len(last))))
    return as_class(as_class(result, parent), arr)


def apply_over_axes(func, a, axes):
    """A function applied over several axes in turn."""
    value = asarray(a)
    n = value.ndim
    for axis in (axes,) if _np.ndim(axes) == 0 else axes:
        axis = n + axis if axis < 0 else axis
        result = asarray(func(value, axis))
        if result.ndim != value.ndim:
            result = _core.expand_dims(result, axis)
            if result.ndim != value.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        value = result
    return value


class vectorize(_np.vectorize):
    """A Python function called element by element, with broadcasting.

    NumPy's `vectorize`, with its `otypes`, `excluded`, `cache` and `signature`. A function of floats, integers and truth
    values that is made of arithmetic, comparisons, branches, `where`, `clip`, `abs`, `min`, `max` and elementwise ufuncs
    is not called for each element: its operations run on the arrays, fused (`asnumpy._traced` says when). Its values are
    then those of asnumpy's operations, within their bounds of what Python's floats give.
    """

    def __call__(self, *args, **kwargs):
        traced = self._traced(args, kwargs)
        if traced is not None:
            return traced

        def host(x):
            return _np.asarray(x) if _core._is_array(x) else x

        result = super().__call__(*map(host, args), **{k: host(v) for k, v in kwargs.items()})
        if result is self:  # used as a decorator with options
            return self
        parent = next((x for x in args if _core._is_array(x)), None)
        if isinstance(result, tuple):
            return tuple(as_class(asarray(x), parent) for x in result)
        return as_class(asarray(result), parent)

    def _traced(self, args, kwargs):
        """The results of fused operations, of the dtypes that NumPy gives; None: the loop has to run."""
        if self.excluded or self.signature is not None or not args or not callable(self.pyfunc):
            return None
        results = _traced.call(self.pyfunc, args, kwargs)
        if results is None:
            return None
        types = self.otypes
        if not types:  # the first element's results decide, as in NumPy's loop

            def first(x):
                return _np.asarray(x.ravel()[:1] if _core._is_array(x) else x).flat[0]

            outputs = self.pyfunc(*map(first, args), **{k: first(v) for k, v in kwargs.items()})
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            types = [_np.asarray(x).dtype for x in outputs]
        made = [_as_loop(r, _np.dtype(t)) for r, t in zip(results, types, strict=False)]
        if len(types) != len(results) or any(x is None for x in made):
            return None
        return tuple(made) if len(made) > 1 else made[0]


def _as_loop(values, dtype):
    """Values as the loop's results become an array of a dtype; None where that fails, or is not the device's."""
    if dtype.kind not in "biufc" or dtype.char in "gG":
        return None
    if dtype.kind in "iu" and values.dtype.kind in "fi" and values.dtype != dtype:
        info = _np.iinfo(dtype)
        if values.dtype.kind == "f":
            inside = (values > float(info.min) - 1) & (values < float(info.max))
        else:
            inside = (values >= info.min) & (values <= info.max)
        if not bool(inside.all()):
            return None
    if dtype.char in "ef" and values.dtype.kind == "i":  # as an int does, by way of a float
        values = values.astype(float)
    return values.astype(dtype)


def frompyfunc(func, /, nin, nout, **kwargs):
    """A Python function as a ufunc; its results are objects, so NumPy's ufunc is returned."""
    return _np.frompyfunc(func, nin, nout, **kwargs)


# ---- numbers as text


def binary_repr(num, width=None):
    """An integer in base 2, two's complement when a width is given."""
    return _np.binary_repr(operator.index(num), width)


def base_repr(number, base=2, padding=0):
    """An integer in a base from 2 to 36."""
    return _np.base_repr(operator.index(number), base, padding)


def shares_memory(a, b, /, max_work=-1):
    """Whether two arrays share an element's memory, exactly."""
    a, b = _core.asarray(a), _core.asarray(b)
    if not _core.may_share_memory(a, b):
        return False
    return _np.shares_memory(_np.asarray(a), _np.asarray(b), max_work)
