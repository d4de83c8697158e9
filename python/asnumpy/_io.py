"""Text and files: printing options, save, load. NumPy does both; arrays cross by the host."""

import functools
import inspect

import numpy as _np
from numpy.lib.npyio import DataSource  # noqa: F401

from . import _core
from ._host_values import host_copy


def _device(x):
    """x with NumPy's arrays of numbers on the device; memory maps, masked arrays and records stay NumPy's."""
    if type(x) is _np.ndarray and x.dtype.kind in "?biufc":
        return _core.asarray(x)
    return type(x)(map(_device, x)) if type(x) in (list, tuple) else x


def _wrapped(function, reads=False):
    """NumPy's function with arrays moved to the host before and back after."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if kwargs:
            kwargs.pop("like", None)
            kwargs = {k: host_copy(v) for k, v in kwargs.items()}
        result = function(*map(host_copy, args), **kwargs)
        return _device(result) if reads else result

    call.__signature__ = inspect.signature(function)
    call.__module__ = "asnumpy"
    return call


array2string = _wrapped(_np.array2string)
array_repr = _wrapped(_np.array_repr)
array_str = _wrapped(_np.array_str)
format_float_positional = _wrapped(_np.format_float_positional)
format_float_scientific = _wrapped(_np.format_float_scientific)
get_printoptions = _wrapped(_np.get_printoptions)
set_printoptions = _wrapped(_np.set_printoptions)
printoptions = _wrapped(_np.printoptions)
save = _wrapped(_np.save)
savez = _wrapped(_np.savez)
savez_compressed = _wrapped(_np.savez_compressed)
savetxt = _wrapped(_np.savetxt)
loadtxt = _wrapped(_np.loadtxt, reads=True)
genfromtxt = _wrapped(_np.genfromtxt, reads=True)
fromregex = _wrapped(_np.fromregex, reads=True)


class NpzFile(_np.lib.npyio.NpzFile):
    """An open .npz archive; its arrays are loaded on the device when they are asked for."""

    def __getitem__(self, key):
        return _device(super().__getitem__(key))


@functools.wraps(_np.load)
def load(*args, **kwargs):
    result = _np.load(*args, **kwargs)
    if not isinstance(result, _np.lib.npyio.NpzFile):
        return _device(result)
    result.__class__ = NpzFile  # the archive that load opened, with device arrays on request
    return result
