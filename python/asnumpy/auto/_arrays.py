"""Objects that cross between covered code and libraries: arrays, without a copy, and what names them.

A library gets what it would have got from a program over NumPy: `numpy.ndarray` over the same memory,
NumPy's functions, modules and classes for ours. Covered code gets AsNumpy's arrays over a library's
memory, where the dtype and the memory are such as AsNumpy's arrays can have.
"""

import types
import weakref

import numpy

from asnumpy import _core, _support
from asnumpy._adapters._host_arguments import host_array

__all__ = ["adopt", "pass_back", "to_library", "to_numpy"]

_FUNCTIONS = (_core.ufunc, _core.function, _core._composed)
_DEEP = 3  # lists of lists of lists


def to_numpy(x):
    """x, or of an array of ours NumPy's over the same memory; arrays in lists and tuples likewise."""
    if type(x) in (list, tuple):
        return _inside(x, to_numpy)
    return numpy.asarray(x) if _is_ours(type(x)) else x


def pass_back(mine, host):
    """Writes to an array of ours what was written to NumPy's of to_numpy(), if that was a copy."""
    if _is_ours(type(mine)) and not mine.device.startswith("cpu"):
        mine[...] = host


_views = {}  # id of an array of ours -> weak reference to NumPy's over it


def view_of(a):
    """NumPy's array over ours: the same one for as long as somebody has it, so that a library that is
    given an array twice knows it again."""
    key = id(a)
    known = _views.get(key)
    view = known() if known is not None else None
    if view is None or _owner(view) is not a or view.shape != a.shape:
        view = host_array(a)

        def forget(gone):
            if _views.get(key) is gone:
                del _views[key]

        _views[key] = weakref.ref(view, forget)
    return view


def _owner(view):
    """The array of ours that NumPy's is the whole of, or None: asarray keeps it by a buffer."""
    return view.base.obj if type(view.base) is memoryview else None


_NDARRAY = numpy.ndarray  # an instance of our class, too, where that knows NumPy's arrays


def to_library(x, depth=_DEEP):
    """x as a library is to get it."""
    cls = type(x)
    if cls in _AS_IT_IS:
        return x
    if cls is _core.ndarray:
        return view_of(x)
    if cls is list or cls is tuple:
        return _inside(x, lambda y: to_library(y, depth - 1)) if depth else x
    if cls is dict:
        if not depth:
            return x
        made = {k: to_library(v, depth - 1) for k, v in x.items()}
        return made if any(made[k] is not v for k, v in x.items()) else x
    if cls in _FUNCTIONS:
        plain = _support._numpys(x)
        return x if plain is None else plain
    if cls is types.ModuleType:
        from . import _names

        return _names.numpys_module(x)
    if x is _core.ndarray:
        return numpy.ndarray
    if x is _core.ufunc:
        return numpy.ufunc
    return view_of(x) if _is_ours(cls) else x


_AS_IT_IS = frozenset([int, float, complex, bool, str, bytes, slice, type(None), _NDARRAY,
                       types.FunctionType, numpy.float64, numpy.int64])  # fmt: skip


def _is_ours(cls):
    return _core.ndarray in cls.__mro__


def _inside(items, convert):
    """A list or tuple with its items converted; itself where none changes."""
    made = [convert(y) for y in items]
    if all(a is b for a, b in zip(made, items, strict=True)):
        return items
    return made if type(items) is list else tuple(made)


def adopt(x):
    """x, or of a NumPy array AsNumpy's over the same memory, which is the array itself where it came
    from here; arrays in a tuple likewise."""
    if type(x) is _NDARRAY:
        own = _owner(x)
        if type(own) is _core.ndarray and own.shape == x.shape and own.dtype == x.dtype:
            return own
        return _core.asarray(x) if _adoptable(x) else x
    return tuple(map(adopt, x)) if type(x) is tuple else x


def _adoptable(x):
    """Whether an array of ours can lie over the memory of x."""
    dtype = x.dtype
    return dtype.isnative and bool(_support._core_dtype(dtype)) and x.flags.aligned
