"""What the staged source of a covered module calls (_crossing.py): `stage`, `back`, `key`, `host`.

A module gets them by an import at its top, so that a function of it that is sent to another process
finds them there, too; where the mode is not installed they do nothing.
"""

import functools

from ._arrays import adopt, to_library

__all__ = ["back", "host", "key", "stage"]

crossing = None  # of the mode, while it is installed


def stage(function, /, *args, **kwargs):
    """The call of a function as an object that makes it."""
    if crossing is not None:
        args, kwargs = crossing.given(function, args, kwargs)
    return functools.partial(function, *args, **kwargs)


def back(x):
    """What a call returned, in the user's arrays."""
    return x if crossing is None else adopt(x)


def key(owner, x):
    """A key or value of an object, in the object's arrays."""
    return x if crossing is None else crossing.key(owner, x)


def host(x):
    """What an __array__ gives, as NumPy's array."""
    return x if crossing is None else to_library(x)
