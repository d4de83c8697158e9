"""Functions that give complex results where the real ones are undefined."""

from .. import _core
from .._support import host_all as _host_all

__all__ = ["sqrt", "log", "log2", "logn", "log10", "power", "arccos", "arcsin", "arctanh"]


def __dir__():
    return __all__


def _to_complex(x):
    x = _core.asarray(x)
    if x.dtype.kind == "c":
        return x
    return x.astype("F" if x.dtype.char in "bBhHf" else "D")


def _if_below(x, limit=0):
    x = _core.asarray(x)
    return _to_complex(x) if x.dtype.kind != "c" and bool(_core.any(x < limit)) else x


def _if_beyond_one(x):
    x = _core.asarray(x)
    return _to_complex(x) if x.dtype.kind != "c" and bool(_core.any(_core.absolute(x) > 1)) else x


def sqrt(x):
    """The square root, complex where a number is negative.

    Parameters
    ----------
    x : array_like
        Numbers.

    Returns
    -------
    ndarray or scalar
        Complex as a whole where one is negative.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.lib.scimath.sqrt([-1.0, 4.0])
    array([0.+1.j, 2.+0.j])
    """
    return _core.sqrt(_if_below(x))


def log(x):
    """The natural logarithm, complex where a number is negative.

    Parameters
    ----------
    x : array_like
        Numbers.

    Returns
    -------
    ndarray or scalar
        The imaginary part of a negative number's is pi.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.lib.scimath.log([1.0, -1.0]).imag.round(4)
    array([0.    , 3.1416])
    """
    return _core.log(_if_below(x))


def log10(x):
    """The logarithm to base 10, complex where a number is negative.

    Parameters
    ----------
    x : array_like
        Numbers.

    Returns
    -------
    ndarray or scalar

    Examples
    --------
    >>> import asnumpy as np
    >>> np.lib.scimath.log10([100.0, -100.0]).real.round(6)
    array([2., 2.])
    """
    return _core.log10(_if_below(x))


def log2(x):
    """The logarithm to base 2, complex where a number is negative.

    Parameters
    ----------
    x : array_like
        Numbers.

    Returns
    -------
    ndarray or scalar

    Examples
    --------
    >>> import asnumpy as np
    >>> np.lib.scimath.log2([8.0, -8.0]).real.round(6)
    array([3., 3.])
    """
    return _core.log2(_if_below(x))


def logn(n, x):
    """The logarithm to a base of one's choice, complex where a number is negative.

    Parameters
    ----------
    n : array_like
        The base.
    x : array_like
        Numbers; broadcast with n.

    Returns
    -------
    ndarray or scalar

    Examples
    --------
    >>> import asnumpy as np
    >>> np.lib.scimath.logn(3, [9.0, 27.0]).round(6)
    array([2., 3.])
    """
    return _core.log(_if_below(x)) / _core.log(_if_below(n))


def power(x, p):
    """Powers, complex where the base is negative, floats where an integer power is.

    Parameters
    ----------
    x : array_like
        The base.
    p : array_like
        The powers; broadcast with x.

    Returns
    -------
    ndarray or scalar

    Examples
    --------
    >>> import asnumpy as np
    >>> np.lib.scimath.power([2, 4], -2)
    array([0.25  , 0.0625])
    """
    x, p = _if_below(x), _core.asarray(p)
    if p.dtype.kind in "iu" and bool(_core.any(p < 0)):
        p = p * 1.0
    return _core.power(x, p)


def arccos(x):
    """The inverse cosine, complex where a number is beyond -1 or 1.

    Parameters
    ----------
    x : array_like
        Numbers.

    Returns
    -------
    ndarray or scalar

    Examples
    --------
    >>> import asnumpy as np
    >>> np.lib.scimath.arccos([1.0, 2.0]).imag.round(4)
    array([-0.   , -1.317])
    """
    return _core.arccos(_if_beyond_one(x))


def arcsin(x):
    """The inverse sine, complex where a number is beyond -1 or 1.

    Parameters
    ----------
    x : array_like
        Numbers.

    Returns
    -------
    ndarray or scalar

    Examples
    --------
    >>> import asnumpy as np
    >>> np.lib.scimath.arcsin([0.0, 2.0]).imag.round(4)
    array([0.   , 1.317])
    """
    return _core.arcsin(_if_beyond_one(x))


def arctanh(x):
    """The inverse hyperbolic tangent, complex where a number is beyond -1 or 1.

    Parameters
    ----------
    x : array_like
        Numbers.

    Returns
    -------
    ndarray or scalar

    Examples
    --------
    >>> import asnumpy as np
    >>> np.lib.scimath.arctanh([0.0, 2.0]).imag.round(4)
    array([0.    , 1.5708])
    """
    return _core.arctanh(_if_beyond_one(x))


_host_all(globals(), __name__)
