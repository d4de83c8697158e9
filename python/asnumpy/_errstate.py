"""Floating-point error handling: errstate, seterr, geterr, seterrcall, geterrcall.

They are NumPy's own modes, of its context variable: threads and asyncio tasks have theirs, and `numpy.errstate` does what `asnumpy.errstate` does. Changing them
by these functions waits for recorded operations (not for streams that wait for an event that is yet to be recorded), so that a `with errstate(...)` covers the
operations written inside it.
"""

import functools

from numpy import _NoValue

from . import _core


def seterr(all=None, divide=None, over=None, under=None, invalid=None):
    """Sets how floating-point conditions are handled; returns the previous modes."""
    return _core._seterr(all, divide, over, under, invalid)


def geterr():
    """The present modes, as a dict."""
    return _core._geterr()


def seterrcall(func):
    """Sets the callable or log object of the modes 'call' and 'log'; returns the previous one."""
    return _core._seterrcall(func)


def geterrcall():
    """The callable or log object of the modes 'call' and 'log'."""
    return _core._geterrcall()


class errstate:
    """Context manager and decorator: other modes for floating-point conditions."""

    __slots__ = ("_call", "_entered", "_modes", "_saved")

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
        call = () if self._call is _NoValue else (self._call,)
        self._saved = _core._enter_errstate(*self._modes, *call)

    def __exit__(self, *exc_info):
        _core._leave_errstate(self._saved)

    def __call__(self, func):
        @functools.wraps(func)
        def inner(*args, **kwargs):
            call, (every, divide, over, under, invalid) = self._call, self._modes
            with errstate(
                call=call, all=every, divide=divide, over=over, under=under, invalid=invalid
            ):
                return func(*args, **kwargs)

        return inner
