"""Window functions, for what is cut out of a signal."""

import math

import numpy as _np

from . import _core
from ._core import arange, ones


def _window(M, f):
    values = _np.array([0.0, M])
    M = values[1]
    if M < 1:
        return _core.array([], dtype=values.dtype)
    if M == 1:
        return ones(1, dtype=values.dtype)
    return f(M, arange(1 - M, M, 2))


def bartlett(M):
    """The Bartlett window: a triangle that is 0 at both ends.

    Parameters
    ----------
    M : int
        The number of points; below 1 the result is empty.

    Returns
    -------
    ndarray of float64, shape (M,)
        Symmetric, with its maximum 1 in the middle where M is odd.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.bartlett(5)
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    return _window(
        M,
        lambda m, n: _core.where(_core.less_equal(n, 0), 1 + n / (m - 1), 1 - n / (m - 1)),
    )


def blackman(M):
    """The Blackman window: three terms of a cosine series, 0 at both ends.

    Parameters
    ----------
    M : int
        The number of points; below 1 the result is empty.

    Returns
    -------
    ndarray of float64, shape (M,)
        0.42 - 0.5 cos(2 pi n / (M - 1)) + 0.08 cos(4 pi n / (M - 1)) of n = 0, ..., M - 1.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.blackman(5).round(2)
    array([-0.  ,  0.34,  1.  ,  0.34, -0.  ])
    """
    pi = math.pi
    return _window(
        M,
        lambda m, n: (
            0.42 + 0.5 * _core.cos(pi * n / (m - 1)) + 0.08 * _core.cos(2.0 * pi * n / (m - 1))
        ),
    )


def hamming(M):
    """The Hamming window: a raised cosine that is 0.08 at both ends.

    Parameters
    ----------
    M : int
        The number of points; below 1 the result is empty.

    Returns
    -------
    ndarray of float64, shape (M,)
        0.54 - 0.46 cos(2 pi n / (M - 1)) of n = 0, ..., M - 1.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.hamming(5).round(2)
    array([0.08, 0.54, 1.  , 0.54, 0.08])
    """
    return _window(M, lambda m, n: 0.54 + 0.46 * _core.cos(math.pi * n / (m - 1)))


def hanning(M):
    """The Hann window: a raised cosine that is 0 at both ends.

    Parameters
    ----------
    M : int
        The number of points; below 1 the result is empty.

    Returns
    -------
    ndarray of float64, shape (M,)
        0.5 - 0.5 cos(2 pi n / (M - 1)) of n = 0, ..., M - 1.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.hanning(5).round(2)
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    return _window(M, lambda m, n: 0.5 + 0.5 * _core.cos(math.pi * n / (m - 1)))


def kaiser(M, beta):
    """The Kaiser window, made of the Bessel function I0.

    Parameters
    ----------
    M : int
        The number of points; below 1 the result is empty.
    beta : float
        The shape: 0 is a rectangle, a larger beta a narrower window with lower side lobes.

    Returns
    -------
    ndarray of float64, shape (M,)
        I0(beta sqrt(1 - x^2)) / I0(beta) of x from -1 to 1.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.kaiser(5, 0)
    array([1., 1., 1., 1., 1.])
    >>> np.kaiser(5, 5).round(2)
    array([0.04, 0.55, 1.  , 0.55, 0.04])
    """
    from ._math import i0

    values = _np.array([0.0, M, beta])
    M, beta = values[1], values[2]
    if M == 1:
        return ones(1, dtype=values.dtype)
    n = arange(0, M)
    alpha = (M - 1) / 2.0
    return i0(beta * _core.sqrt(1 - ((n - alpha) / alpha) ** 2.0)) / i0(beta)
