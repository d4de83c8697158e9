"""Text and files: printing options, save, load. NumPy does both; arrays cross by the host."""

import functools
import inspect

import numpy as _np
from numpy.lib.npyio import DataSource  # noqa: F401

from . import _core


def _host(x):
    if isinstance(x, _core.ndarray):
        return _np.asarray(x)
    return [_host(y) for y in x] if type(x) in (list, tuple) else x


def _device(x):
    if isinstance(x, _np.ndarray) and x.dtype.kind in "biufc":
        return _core.asarray(x)
    return type(x)(map(_device, x)) if type(x) in (list, tuple) else x


def _wrapped(function, reads=False):
    """NumPy's function with arrays moved to the host before and back after."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        kwargs.pop("like", None)
        result = function(*map(_host, args), **{k: _host(v) for k, v in kwargs.items()})
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


class NpzFile:
    """An open .npz archive; its arrays are loaded when they are asked for."""

    def __init__(self, file):
        self._file = file
        self.files = file.files

    def __getitem__(self, key):
        return _device(self._file[key])

    def __contains__(self, key):
        return key in self._file

    def __iter__(self):
        return iter(self.files)

    def __len__(self):
        return len(self.files)

    def keys(self):
        return self.files

    def items(self):
        return [(k, self[k]) for k in self.files]

    def values(self):
        return [self[k] for k in self.files]

    def get(self, key, default=None):
        return self[key] if key in self._file else default

    def close(self):
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()


@functools.wraps(_np.load)
def load(*args, **kwargs):
    result = _np.load(*args, **kwargs)
    return NpzFile(result) if isinstance(result, _np.lib.npyio.NpzFile) else _device(result)
