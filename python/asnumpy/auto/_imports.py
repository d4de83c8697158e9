"""The imports of covered code: `builtins.__import__` and `importlib.import_module`, answered by who asks.

`sys.modules["numpy"]` stays NumPy, so everything that looks there, and every library, finds it. The
import statement, in whatever form, thread or namespace, calls `builtins.__import__` with the globals
of the code that it stands in. A reader of tracebacks sees no frame of this file.
"""

import builtins
import importlib
import sys

from . import _names

__all__ = ["install", "uninstall"]

_mine = []  # (module, the function that is put there, the one before)


def _numpys(name):
    return name == "numpy" or name.startswith("numpy.")


def install(cover):
    """Begins to answer imports by `cover`."""
    plain, plain_module = builtins.__import__, importlib.import_module

    def __import__(name, globals=None, locals=None, fromlist=(), level=0):
        try:
            found = plain(name, globals, locals, fromlist, level)
        except BaseException as error:
            # This frame is left out: `raise` alone does not add it again.
            if error.__traceback__ is not None:
                error.__traceback__ = error.__traceback__.tb_next
            raise
        if level or not _numpys(name) or not _mine:
            return found
        caller = sys._getframe(1)
        if not cover.namespace(caller.f_globals if globals is None else globals, caller):
            return found
        return _names.ours(name if fromlist else "numpy")

    def import_module(name, package=None):
        try:
            found = plain_module(name, package)
        except BaseException as error:
            if error.__traceback__ is not None:
                error.__traceback__ = error.__traceback__.tb_next
            raise
        if not _numpys(name) or not _mine:
            return found
        caller = sys._getframe(1)
        return _names.ours(name) if cover.namespace(caller.f_globals, caller) else found

    import_module.__doc__ = plain_module.__doc__
    for owner, function, before in (
        (builtins, __import__, plain),
        (importlib, import_module, plain_module),
    ):
        setattr(owner, function.__name__, function)
        _mine.append((owner, function, before))


def uninstall():
    """Ends it. What others have put over it meanwhile stays, and is passed through."""
    while _mine:
        owner, function, before = _mine.pop()
        if getattr(owner, function.__name__) is function:
            setattr(owner, function.__name__, before)
