"""Objects that cross between covered code and libraries: arrays, without a copy, and what names them.

A library gets what it would have got from a program over NumPy: `numpy.ndarray` over the same memory,
NumPy's functions, modules and classes for ours. Covered code gets AsNumpy's arrays over a library's
memory, where the dtype and the memory are such as AsNumpy's arrays can have.
"""

import operator
import types
from weakref import ref

import numpy

from asnumpy import _core, _support
from asnumpy._host_values import converted, host_array

__all__ = ["adopt", "pass_back", "to_library"]

_NDARRAY = numpy.ndarray  # an instance of our class, too, where that knows NumPy's arrays
_FUNCTIONS = (_core.ufunc, _core.function, _core._composed)

# Who is given an array twice knows it again: one of NumPy's for one of ours, and the other way round,
# as long as somebody has it. By the id of the array that it lies over, and which it keeps.
_views, _adopted = {}, {}


def _remember(known, key, made):
    def forget(gone):
        if known.get(key) is gone:
            del known[key]

    known[key] = ref(made, forget)


def pass_back(mine, host):
    """Writes to an array of ours what was written to its host_copy(), if that was a copy."""
    if _is_ours(type(mine)) and not mine.device.startswith("cpu"):
        mine[...] = host


def view_of(a):
    """NumPy's array over ours: that which ours lies over, where it came from there."""
    base = a.base
    if type(base) is _NDARRAY and _alike(a, base):
        return base
    known = _views.get(id(a))
    view = known and known()
    if view is None or _owner(view) is not a or view.shape != a.shape:
        view = host_array(a)
        _remember(_views, id(a), view)
    elif view.flags.writeable and not a.flags.writeable:
        view.flags.writeable = False
    return view


def _alike(a, b):
    """Whether two arrays over the same memory show the same of it, in the same way."""
    return (
        a.shape == b.shape
        and a.strides == b.strides
        and a.dtype == b.dtype
        and a.flags.writeable == b.flags.writeable
    )


def _owner(view):
    """The array of ours that NumPy's is the whole of, or None: asarray keeps it by a buffer."""
    return view.base.obj if type(view.base) is memoryview else None


def to_library(x):
    """x as a library is to get it."""
    return view_of(x) if type(x) is _core.ndarray else converted(x, _one_to_library)


def _one_to_library(x):
    cls = type(x)
    if cls is _core.ndarray:
        return view_of(x)
    if cls in _FUNCTIONS:
        plain = _support._numpys(x)
        return x if plain is None else plain
    if cls is types.ModuleType:
        from . import _names

        return _names.numpys_module(x)
    if x is _core.ndarray:
        return _NDARRAY
    if x is _core.ufunc:
        return numpy.ufunc
    return view_of(x) if _is_ours(cls) else x


def _is_ours(cls):
    return _core.ndarray in cls.__mro__


def adopt(x):
    """x, or of a NumPy array AsNumpy's over the same memory, which is the array itself where it came
    from here; arrays in a tuple likewise."""
    if type(x) is _NDARRAY:
        own = _owner(x)
        if type(own) is _core.ndarray and own.shape == x.shape and own.dtype == x.dtype:
            return own
        known = _adopted.get(id(x))
        own = known and known()
        if own is not None and own.base is x and own.shape == x.shape and own.dtype == x.dtype:
            return own
        return _over(x)
    if type(x) is not tuple:
        return x
    made = tuple(map(adopt, x))
    return x if all(map(operator.is_, made, x)) else made


def _over(x):
    """An array of ours over the memory of NumPy's; that itself where ours cannot lie there."""
    dtype = x.dtype
    if not (dtype.isnative and _support._core_dtype(dtype) and x.flags.aligned):
        return x
    own = _core.asarray(x)
    if own.base is x:
        _remember(_adopted, id(x), own)
    return own
