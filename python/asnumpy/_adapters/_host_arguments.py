"""Functions of other libraries, handed NumPy's arrays over ours."""

import functools
import inspect
import sys
import warnings

from .._host_values import host


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
