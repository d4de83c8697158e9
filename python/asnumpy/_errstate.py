"""Floating-point error handling: errstate, seterr, geterr, seterrcall, geterrcall.

They are NumPy's own modes, of its context variable: threads and asyncio tasks have theirs, and `numpy.errstate` does what `asnumpy.errstate` does. Changing them
by these functions waits for recorded operations (not for streams that wait for an event that is yet to be recorded), so that a `with errstate(...)` covers the
operations written inside it.
"""

import functools

from numpy import _NoValue

from . import _core


def seterr(all=None, divide=None, over=None, under=None, invalid=None):
    """Sets what floating-point conditions do.

    Parameters
    ----------
    all : str, optional
        For all four at once: 'ignore', 'warn' (a RuntimeWarning), 'raise' (FloatingPointError), 'call',
        'print' or 'log' (of seterrcall).
    divide, over, under, invalid : str, optional
        For each: division by zero, a result too large, a result too small, no result (NaN).

    Returns
    -------
    dict
        The modes before.

    Raises
    ------
    ValueError
        An unknown mode.

    Notes
    -----
    They are NumPy's modes too. What is recorded runs first, under the modes before.

    Examples
    --------
    >>> import asnumpy as np
    >>> before = np.seterr(divide="ignore")
    >>> 1 / np.zeros(1)
    array([inf])
    >>> np.seterr(**before)["divide"]
    'ignore'
    """
    return _core._seterr(all, divide, over, under, invalid)


def geterr():
    """What floating-point conditions do at present.

    Returns
    -------
    dict
        The modes of 'divide', 'over', 'under' and 'invalid', as in seterr.

    Examples
    --------
    >>> import asnumpy as np
    >>> with np.errstate(all="raise"):
    ...     np.geterr()
    {'divide': 'raise', 'over': 'raise', 'under': 'raise', 'invalid': 'raise'}
    """
    return _core._geterr()


def seterrcall(func):
    """Sets what the modes 'call' and 'log' of floating-point conditions use.

    Parameters
    ----------
    func : callable, object with a method write, or None
        Called with a text and a number ('call'), or written to ('log').

    Returns
    -------
    callable, object or None
        The one before.

    Raises
    ------
    TypeError
        func is none of these.

    Examples
    --------
    >>> import asnumpy as np
    >>> def tell(what, flags):
    ...     print("found:", what)
    >>> before = np.seterrcall(tell)
    >>> np.seterrcall(before) is tell
    True
    """
    return _core._seterrcall(func)


def geterrcall():
    """What the modes 'call' and 'log' of floating-point conditions use.

    Returns
    -------
    callable, object or None

    Examples
    --------
    >>> import asnumpy as np
    >>> np.geterrcall() is None
    True
    """
    return _core._geterrcall()


class errstate:
    """Other modes for floating-point conditions within a with block, or a function that is decorated.

    Parameters
    ----------
    call : callable or object, optional
        In the place of seterrcall's.
    all, divide, over, under, invalid : str, optional
        As in seterr.

    Raises
    ------
    TypeError
        One object is entered twice.

    Notes
    -----
    What is recorded before the block runs before it, what is recorded within it at its end at the
    latest.

    Examples
    --------
    >>> import asnumpy as np
    >>> with np.errstate(divide="ignore"):
    ...     print(1 / np.zeros(1))
    [inf]
    """

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
