"""Chebyshev polynomials of the first kind."""

import numpy as _np

from .. import _core
from . import _family
from ._series import ABCPolyBase
from .polyutils import mapdomain
from .polyutils import trimcoef as chebtrim

_FAMILY = _family.Family(
    "Chebyshev polynomials of the first kind",
    up=lambda n: (1 + 0 * n + (n == 0)) / 2,
    down=lambda n: (0 * n + (n > 0)) / 2,
    rise=lambda n: 1 / (2 * (n + 1)) if n else 1 + 0 * n,
    fall=lambda n: -1 / (2 * (n - 1)) if n > 1 else 0 * n,
)
_FUNCTIONS = _family.functions(_FAMILY, "cheb", __name__)
globals().update(_FUNCTIONS)

chebdomain = _core.array([-1.0, 1.0])
chebzero = _core.array([0])
chebone = _core.array([1])
chebx = _core.array([0, 1])


def cheb2poly(c):
    """A series as coefficients of powers of x.

    Parameters
    ----------
    c : array_like, one-dimensional
        The coefficients of the series, lowest degree first.

    Returns
    -------
    ndarray
        Lowest power first.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polynomial.chebyshev.cheb2poly([0, 0, 1])
    array([-1.,  0.,  2.])
    """
    return _FAMILY.to_power(c)


def poly2cheb(pol):
    """A series from coefficients of powers of x.

    Parameters
    ----------
    pol : array_like, one-dimensional
        Lowest power first.

    Returns
    -------
    ndarray
        The coefficients of the series, lowest degree first.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polynomial.chebyshev.poly2cheb([0, 0, 1])
    array([0.5, 0. , 0.5])
    """
    return _FAMILY.from_power(pol)


def chebpts1(npts):
    """The Chebyshev points of the first kind: the zeros of a Chebyshev polynomial.

    Parameters
    ----------
    npts : int
        How many, 1 at least.

    Returns
    -------
    ndarray of float64, shape (npts,)
        Ascending.

    Raises
    ------
    ValueError
        npts is no integer, or too small.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polynomial.chebyshev.chebpts1(3).round(4)
    array([-0.866,  0.   ,  0.866])
    """
    count = _whole(npts, 1)
    return _core.sin(0.5 * _np.pi / count * _core.arange(-count + 1, count + 1, 2))


def chebpts2(npts):
    """The Chebyshev points of the second kind: the extrema on [-1, 1] of a Chebyshev polynomial.

    Parameters
    ----------
    npts : int
        How many, 2 at least.

    Returns
    -------
    ndarray of float64, shape (npts,)
        Ascending.

    Raises
    ------
    ValueError
        npts is no integer, or too small.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polynomial.chebyshev.chebpts2(3).round(4)
    array([-1.,  0.,  1.])
    """
    count = _whole(npts, 2)
    return _core.cos(_core.asarray(_np.linspace(-_np.pi, 0, count)))


def _whole(npts, least):
    count = int(npts)
    if count != npts:
        raise ValueError("npts must be integer")
    if count < least:
        raise ValueError(f"npts must be >= {least}")
    return count


def chebgauss(deg):
    """The nodes and weights of the Gauss quadrature over [-1, 1] with weight 1 / sqrt(1 - x^2).

    Parameters
    ----------
    deg : int
        How many nodes; exact for polynomials up to degree 2 deg - 1.

    Returns
    -------
    x, w : ndarray of float64, shape (deg,)
        Nodes, descending, and weights.

    Raises
    ------
    ValueError
        deg is not positive.
    TypeError
        deg is no integer.

    Examples
    --------
    >>> import asnumpy as np
    >>> x, w = np.polynomial.chebyshev.chebgauss(3)
    >>> (w * x**2).sum().round(6)
    np.float64(1.570796)
    """
    degree = _family.quadrature_degree(deg)
    nodes = _core.cos(_np.pi * _core.arange(1, 2 * degree, 2) / (2.0 * degree))
    return nodes, _core.full(degree, _np.pi / degree)


def chebweight(x):
    """The weight that makes the polynomials orthogonal: 1 / sqrt(1 - x^2).

    Parameters
    ----------
    x : ndarray or scalar
        Where.

    Returns
    -------
    ndarray or scalar

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polynomial.chebyshev.chebweight(np.array([0.0, 0.5])).round(6)
    array([1.      , 1.154701])
    """
    return 1.0 / (_core.sqrt(1.0 + x) * _core.sqrt(1.0 - x))


def chebinterpolate(func, deg, args=()):
    """The series that meets a function at the Chebyshev points of the first kind.

    Parameters
    ----------
    func : callable
        Called as func(x, *args) of the points, an array in [-1, 1].
    deg : int
        The degree, not negative.
    args : tuple
        Passed to func.

    Returns
    -------
    ndarray, shape (deg + 1,)
        The coefficients, lowest degree first.

    Raises
    ------
    ValueError
        deg is negative.
    TypeError
        deg is no integer.

    Examples
    --------
    >>> import asnumpy as np
    >>> c = np.polynomial.chebyshev.chebinterpolate(np.tanh, 8)
    >>> abs(float(np.polynomial.chebyshev.chebval(0.3, c)) - np.tanh(0.3)) < 1e-3
    np.True_
    """
    order = _family.whole_degree(deg) + 1
    points = chebpts1(order)
    values = func(points, *args)
    c = _core.dot(_FAMILY.vander(points, order - 1).T, values)
    c[0] /= order
    c[1:] /= 0.5 * order
    return c


class Chebyshev(ABCPolyBase):
    """A series of Chebyshev polynomials of the first kind, over a domain.

    Parameters
    ----------
    coef : array_like
        The coefficients, lowest degree first.
    domain : pair of scalars, optional
        Is mapped to window linearly, by default [-1, 1].
    window : pair of scalars, optional
        By default [-1, 1].
    symbol : str
        The name of the variable in text.

    Raises
    ------
    ValueError
        No coefficients, a domain that is no pair, or a symbol that is no identifier.

    Notes
    -----
    It is called to be evaluated; +, -, *, //, %, divmod and ** are as for polynomials. Attributes:
    coef, domain, window, symbol; of the class basis_name (its letter in text).

    Examples
    --------
    >>> import asnumpy as np
    >>> p = np.polynomial.Chebyshev([1, 2, 3])
    >>> p.degree(), float(p(0.0))
    (2, -2.0)
    >>> np.allclose((p * p)(0.5), p(0.5) ** 2)
    True
    """

    _family = _FAMILY
    domain = chebdomain
    window = chebdomain
    basis_name = "T"

    @classmethod
    def interpolate(cls, func, deg, domain=None, args=()):
        """The series that meets a function at the Chebyshev points of a domain.

        Parameters
        ----------
        func : callable
            Called as func(x, *args) of the points, an array.
        deg : int
            The degree, not negative.
        domain : pair of scalars, optional
            By default [-1, 1].
        args : tuple
            Passed to func.

        Returns
        -------
        Chebyshev

        Examples
        --------
        >>> import asnumpy as np
        >>> p = np.polynomial.Chebyshev.interpolate(np.tanh, 15, domain=[0, 2])
        >>> bool(abs(p(1.5) - np.tanh(1.5)) < 1e-6)
        True
        """
        domain = cls.domain if domain is None else domain
        coef = chebinterpolate(lambda x: func(mapdomain(x, cls.window, domain), *args), deg)
        return cls(coef, domain=domain)


__all__ = [
    *_FUNCTIONS, "cheb2poly", "poly2cheb", "chebpts1", "chebpts2", "chebgauss", "chebweight", "chebinterpolate", "chebdomain", "chebone", "chebtrim",
    "chebx", "chebzero", "Chebyshev",
]  # fmt: skip


def __dir__():
    return __all__
