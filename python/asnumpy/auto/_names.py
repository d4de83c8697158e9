"""The modules that covered code gets for NumPy's: one for `numpy`, one for each of its public submodules.

A name that NumPy has is AsNumpy's where AsNumpy has it and NumPy's own elsewhere; a name that NumPy
lacks is missing here, too, with NumPy's message. A module is of the plain module type, so that
everything that looks for modules finds one; names are filled in as they are asked for.
"""

import functools
import importlib
import sys
import threading
import types

import numpy

import asnumpy
from asnumpy import _support

from . import _numba, _random
from ._cover import root_of

__all__ = ["complete", "numpys_module", "ours", "pairs", "renew", "take_back"]

_made = {}  # NumPy's name -> the module for covered code
_theirs = {}  # id of such a module -> NumPy's
_lock = threading.RLock()
watch = None  # (name, NumPy's own object) -> what is given for it, while a report is made

# What a module is known by; and what is about NumPy itself rather than about arrays.
_ITSELF = frozenset(["test", "__array_api_version__", "__array_namespace_info__"])


def _counterpart(name):
    """AsNumpy's module for NumPy's of that name, or None: it has none of its own."""
    if name == "numpy":
        return asnumpy
    if name.startswith("numpy.random"):  # and what lies in it: the state is NumPy's
        return _random
    if "._" in name:  # NumPy's inside; ours is another
        return None
    try:
        module = importlib.import_module("asnumpy" + name[len("numpy") :])
    except ModuleNotFoundError:
        return None
    return module if root_of(module.__name__) == "asnumpy" else None


def ours(name):
    """The module that covered code gets for NumPy's module of that name (which is imported): NumPy's own
    where AsNumpy has none."""
    module = _made.get(name)
    if module is None:
        with _lock:
            module = _made.get(name) or _make(name)
    return module


def _make(name):
    theirs = importlib.import_module(name)
    mine = _counterpart(name)
    if mine is None:
        _made[name] = theirs
        return theirs
    module = types.ModuleType(name, theirs.__doc__)
    known = vars(module)
    for key, value in vars(theirs).items():
        if key.startswith("__") and key not in ("__getattr__", "__dir__"):
            known[key] = value

    def __getattr__(key):
        try:
            value = getattr(theirs, key)
        except AttributeError as error:  # NumPy's, with its own frame and without this one
            error.__traceback__ = error.__traceback__.tb_next
            raise
        if isinstance(value, types.ModuleType) and value.__name__.startswith("numpy."):
            value = ours(value.__name__)
        elif key not in _ITSELF and not key.startswith("__"):
            value = _chosen(name, mine, key, value)
        known[key] = value
        return value

    def __dir__():
        return dir(theirs)

    known["__getattr__"], known["__dir__"] = __getattr__, __dir__
    _theirs[id(module)] = theirs
    _made[name] = module
    _numba.register(module, theirs)
    return module


def pairs():
    """(ours, NumPy's) of the modules that were made."""
    return [(module, _theirs[id(module)]) for module in _made.values() if id(module) in _theirs]


def _chosen(name, mine, key, theirs):
    """AsNumpy's object of a name, or NumPy's, which `theirs` is."""
    found = getattr(mine, key, _made)
    if found is _made:
        found = theirs
    if found is theirs and watch is not None and not key.startswith("_"):
        return watch(f"{name}.{key}", theirs)
    return theirs if isinstance(found, types.ModuleType) else found


_LACKING = AttributeError("AsNumpy's arrays have none of that name")
_completed = []


def complete():
    """Gives arrays the public methods and attributes that NumPy's have and they lack: NumPy's, on its array
    over the same memory."""
    for name in dir(numpy.ndarray):
        if not name.startswith("_") and not hasattr(asnumpy.ndarray, name):
            setattr(asnumpy.ndarray, name, _numpys_attribute(name))
            _completed.append(name)


def _numpys_attribute(name):
    def ask(self, *args, **kwargs):
        return _support.on_host(name, (self, *args), kwargs, _LACKING)

    plain = getattr(numpy.ndarray, name)
    return functools.update_wrapper(ask, plain) if callable(plain) else property(ask)


def take_back():
    """Ends complete()."""
    while _completed:
        delattr(asnumpy.ndarray, _completed.pop())


def numpys_module(module):
    """NumPy's own module for one that covered code got; any other module as it is."""
    return _theirs.get(id(module), module)


def renew(names):
    """Puts our modules in the place of NumPy's among the values of a namespace."""
    for key, value in list(names.items()):
        name = value.__name__ if isinstance(value, types.ModuleType) else ""
        if root_of(name) == "numpy" and value is sys.modules.get(name):
            names[key] = ours(name)
