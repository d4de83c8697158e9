"""Axis numbers and memory bounds."""

from numpy.lib import array_utils as _host

from .. import _core

__all__ = ["byte_bounds", "normalize_axis_index", "normalize_axis_tuple"]


def __dir__():
    return __all__


def byte_bounds(a):
    """The addresses of the first byte of an array's elements and of the byte behind the last.

    Parameters
    ----------
    a : ndarray
        The array; on a device whose memory the host reaches.

    Returns
    -------
    (int, int)

    Examples
    --------
    >>> import asnumpy as np
    >>> low, high = np.lib.array_utils.byte_bounds(np.zeros(4))
    >>> high - low
    32
    """
    return _host.byte_bounds(a)


def normalize_axis_index(axis, ndim, msg_prefix=None):
    """An axis number counted from the front.

    Parameters
    ----------
    axis : int
        The number; a negative one counts from the end.
    ndim : int
        How many axes there are.
    msg_prefix : str, optional
        Put in front of the error's message.

    Returns
    -------
    int
        From 0 on.

    Raises
    ------
    AxisError
        There is no such axis.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.lib.array_utils.normalize_axis_index(-1, 3)
    2
    """
    return _host.normalize_axis_index(axis, ndim, msg_prefix)


def normalize_axis_tuple(axis, ndim, argname=None, allow_duplicate=False):
    """Axis numbers counted from the front.

    Parameters
    ----------
    axis : int or iterable of ints
        The numbers; negative ones count from the end.
    ndim : int
        How many axes there are.
    argname : str, optional
        Put in front of the error's message.
    allow_duplicate : bool
        Lets an axis be there twice.

    Returns
    -------
    tuple of ints

    Raises
    ------
    AxisError
        There is no such axis.
    ValueError
        An axis is there twice.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.lib.array_utils.normalize_axis_tuple((-1, 0), 3)
    (2, 0)
    """
    return _host.normalize_axis_tuple(axis, ndim, argname, allow_duplicate)


del _core
