"""Functions of other libraries, handed NumPy's arrays over ours."""

import functools
import inspect
import sys
import warnings

import numpy as _np

from .. import _core

_LOOKED_AT = 32  # items of a list, before its first one tells for all


def host(value):
    """The argument with NumPy arrays in place of ours, also in lists, tuples and dictionaries.

    On the CPU the memory is the same. From an NPU it is a copy that cannot be written to, since
    nobody would see what is written.
    """
    kind = type(value)
    if kind is list or kind is tuple:
        if len(value) > _LOOKED_AT and host(value[0]) is value[0]:
            return value
        made = [host(item) for item in value]
        changed = any(one is not other for one, other in zip(made, value, strict=True))
        return kind(made) if changed else value
    if kind is dict:
        made = {key: host(item) for key, item in value.items()}
        return made if any(made[key] is not value[key] for key in value) else value
    return host_array(value) if _core._is_array(value) else value


def host_array(array):
    """NumPy's array over one of ours; from an NPU a read-only copy."""
    made = _np.asarray(array)
    if made.flags.writeable and not array.device.startswith("cpu"):
        made.flags.writeable = False
    return made


def handed_host_arrays(function):
    """The function, which is handed NumPy's arrays where it would have been handed ours."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*map(host, args), **{name: host(value) for name, value in kwargs.items()})

    # The frame counts as one of the library, which looks for the first that is not for its warnings.
    code = getattr(function, "__code__", None)
    if code is not None:
        call.__code__ = call.__code__.replace(
            co_filename=code.co_filename, co_firstlineno=code.co_firstlineno
        )
    return call


def _owner(where):
    """The module or class of a dotted name, None where there is none; imports nothing."""
    module, rest = where, []
    while module not in sys.modules:
        module, _, last = module.rpartition(".")
        if not module:
            return None
        rest.insert(0, last)
    found = sys.modules[module]
    for name in rest:
        found = getattr(found, name, None)
    return found


def _functions(module):
    """The names of a module's own functions."""
    return [
        name
        for name, value in vars(module).items()
        if callable(value) and not inspect.isclass(value) and not name.startswith("_")
    ]


def _rebind(replaced, library):
    """Puts the replacements where the library's modules bound the functions by name."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != library:
            continue
        for bound, value in list(vars(module).items()):
            if (new := replaced.get(id(value))) is not None:
                setattr(module, bound, new)


def wrap(where, names):
    """Lets the functions of a module or the methods of a class be handed NumPy's arrays.

    What another version of the library does not have is told by an ImportWarning.
    """
    owner, replaced = _owner(where), {}
    for name in _functions(owner) if names == ["*"] else names:
        found = inspect.getattr_static(owner, name, None)
        if found is None:
            message = f"{where}.{name} is not there: it may refuse arrays of asnumpy"
            warnings.warn(message, ImportWarning, stacklevel=2)
        elif isinstance(found, classmethod | staticmethod):
            setattr(owner, name, type(found)(handed_host_arrays(found.__func__)))
        else:
            new = handed_host_arrays(found)
            setattr(owner, name, new)
            if inspect.isfunction(found):
                replaced[id(found)] = new
    if inspect.ismodule(owner) and replaced:
        _rebind(replaced, where.partition(".")[0])
