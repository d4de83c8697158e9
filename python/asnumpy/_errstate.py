"""Floating-point error handling: errstate, seterr, geterr, seterrcall, geterrcall.

The modes live in the extension, per context (contextvars): threads and asyncio tasks have their own. Changing them waits for recorded operations, so that a
`with errstate(...)` covers the operations written inside it. NumPy's own modes change with them:
full reductions and indices give NumPy scalars, whose arithmetic is NumPy's.
"""

import functools

import numpy as _np
from numpy import _NoValue

from . import _core


def seterr(all=None, divide=None, over=None, under=None, invalid=None):
    """Sets how floating-point conditions are handled; returns the previous modes."""
    old = _core._seterr(all, divide, over, under, invalid, False)
    _np.seterr(all, divide, over, under, invalid)
    return old


def _restore(divide, over, under, invalid):
    """Sets the modes; what was recorded under the present ones may raise after that."""
    try:
        _core._seterr(None, divide, over, under, invalid, True)
    finally:
        _np.seterr(None, divide, over, under, invalid)


def geterr():
    """The present modes, as a dict."""
    return _core._geterr()


def seterrcall(func):
    """Sets the callable or log object of the modes 'call' and 'log'; returns the previous one."""
    if func is not None and not callable(func) and not callable(getattr(func, "write", None)):
        raise ValueError("Only callable can be used as callback")
    _np.seterrcall(func)
    return _core._seterrcall(func)


def geterrcall():
    """The callable or log object of the modes 'call' and 'log'."""
    return _core._geterrcall()


class errstate:
    """Context manager and decorator: other modes for floating-point conditions."""

    __slots__ = ("_call", "_entered", "_modes", "_saved", "_saved_call")

    def __init__(
        self, *, call=_NoValue, all=None, divide=None, over=None, under=None, invalid=None
    ):
        self._call = call
        self._modes = (all, divide, over, under, invalid)
        self._entered = False

    def __enter__(self):
        if self._entered:
            raise TypeError("Cannot enter `np.errstate` twice.")
        self._entered = True
        self._saved = seterr(*self._modes)
        if self._call is not _NoValue:
            try:
                self._saved_call = seterrcall(self._call)
            except BaseException:
                self.__exit__()
                raise
        return

    def __exit__(self, *exc_info):
        saved = self._saved
        try:
            if self._call is not _NoValue and hasattr(self, "_saved_call"):
                seterrcall(self._saved_call)
        finally:
            _restore(**saved)

    def __call__(self, func):
        @functools.wraps(func)
        def inner(*args, **kwargs):
            call, (every, divide, over, under, invalid) = self._call, self._modes
            with errstate(
                call=call, all=every, divide=divide, over=over, under=under, invalid=invalid
            ):
                return func(*args, **kwargs)

        return inner
