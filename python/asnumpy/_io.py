"""Text and files: printing options, save, load. NumPy does both; arrays cross by the host."""

import functools

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

    # The signature is NumPy's, by __wrapped__; NumPy's own text would come with its __dict__.
    @functools.wraps(function, updated=())
    def call(*args, **kwargs):
        if kwargs:
            kwargs.pop("like", None)
            kwargs = {k: host_copy(v) for k, v in kwargs.items()}
        result = function(*map(host_copy, args), **kwargs)
        return _device(result) if reads else result

    call.__module__ = "asnumpy"
    call.__doc__ = _core._doc(function.__name__)
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
    """An open .npz archive, as load gives it: a mapping from names to arrays.

    An array is read, to the device, when it is asked for. close(), or a with block, closes the file.

    Parameters
    ----------
    fid : file object
        The archive; the others are those of load.
    own_fid, allow_pickle, pickle_kwargs, max_header_size
        Whether closing closes the file, whether pickles may be loaded, keywords of pickle.load, the
        longest header of an array.

    Examples
    --------
    >>> import asnumpy as np, io
    >>> file = io.BytesIO()
    >>> np.savez(file, a=np.arange(3), b=np.ones(2))
    >>> _ = file.seek(0)
    >>> with np.load(file) as archive:
    ...     print(archive.files, archive["a"])
    ['a', 'b'] [0 1 2]
    """

    def __getitem__(self, key):
        return _device(super().__getitem__(key))


@functools.wraps(_np.load, updated=())
def load(*args, **kwargs):
    result = _np.load(*args, **kwargs)
    if not isinstance(result, _np.lib.npyio.NpzFile):
        return _device(result)
    result.__class__ = NpzFile  # the archive that load opened, with device arrays on request
    return result


load.__doc__ = _core._doc("load")
