"""What the staged source of a covered module calls (_crossing.py): `stage`, `back`, `each`, `key`,
`host`, `result`.

A module gets them by an import at its top, so that a function of it that is sent to another process
finds them there, too; where the mode is not installed they do nothing.
"""

import functools
import sys

from asnumpy._core import ndarray

from ._arrays import adopt, to_library

__all__ = ["back", "each", "host", "key", "result", "stage"]

_NUMBERS = frozenset([int, float, bool, str, type(None)])
_PLAIN = frozenset([list, tuple, dict, set, range, str, zip, enumerate, ndarray])
crossing = None  # of the mode, while it is installed


def stage(function, /, *args, **kwargs):
    """The call of a function as an object that makes it."""
    if crossing is not None:
        args, kwargs = crossing.given(function, args, kwargs)
    return functools.partial(function, *args, **kwargs)


def back(x):
    """What a call returned, in the user's arrays."""
    return x if crossing is None else adopt(x)


def each(x):
    """What a loop runs over, with its arrays in the user's class."""
    return x if crossing is None or type(x) in _PLAIN else crossing.each(x)


def key(owner, x):
    """A key or value of an object, in the object's arrays."""
    return x if crossing is None else crossing.key(owner, x)


def result(x):
    """What a function returns, as who called it is to get it."""
    if crossing is None or type(x) in _NUMBERS:
        return x
    return crossing.result(x, sys._getframe(1).f_back)


def host(x):
    """What an __array__ gives, as NumPy's array."""
    return x if crossing is None else to_library(x)
