"""Hermite polynomials, the physicists'."""

import numpy as _np

from .. import _core
from . import _family
from ._series import ABCPolyBase
from .polyutils import trimcoef as hermtrim

_FAMILY = _family.Family(
    "Hermite polynomials, the physicists'",
    up=lambda n: (1 + 0 * n) / 2,
    down=lambda n: n,
    rise=lambda n: 1 / (2 * (n + 1)),
    real_roots=True,
)
_FUNCTIONS = _family.functions(_FAMILY, "herm", __name__)
globals().update(_FUNCTIONS)

hermdomain = _core.array([-1.0, 1.0])
hermzero = _core.array([0])
hermone = _core.array([1])
hermx = _core.array([0, 0.5])


def herm2poly(c):
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
    >>> np.polynomial.hermite.herm2poly([0, 0, 1])
    array([-2.,  0.,  4.])
    """
    return _FAMILY.to_power(c)


def poly2herm(pol):
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
    >>> np.polynomial.hermite.poly2herm([0, 0, 1])
    array([0.5 , 0.  , 0.25])
    """
    return _FAMILY.from_power(pol)


def hermgauss(deg):
    """The nodes and weights of the Gauss quadrature over the line with weight exp(-x^2).

    Parameters
    ----------
    deg : int
        How many nodes; exact for polynomials up to degree 2 deg - 1.

    Returns
    -------
    x, w : ndarray of float64, shape (deg,)
        Nodes, ascending, and weights.

    Raises
    ------
    ValueError
        deg is not positive.
    TypeError
        deg is no integer.

    Examples
    --------
    >>> import asnumpy as np
    >>> x, w = np.polynomial.hermite.hermgauss(3)
    >>> (w * x**2).sum().round(6)
    np.float64(0.886227)
    """
    return _FAMILY.gauss(deg, _np.sqrt(_np.pi))


def hermweight(x):
    """The weight that makes the polynomials orthogonal: exp(-x^2).

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
    >>> np.polynomial.hermite.hermweight(np.array([0.0, 0.5])).round(6)
    array([1.      , 0.778801])
    """
    return _core.exp(-(x**2))


class Hermite(ABCPolyBase):
    """A series of Hermite polynomials, the physicists', over a domain.

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
    >>> p = np.polynomial.Hermite([1, 2, 3])
    >>> p.degree(), float(p(0.0))
    (2, -5.0)
    >>> np.allclose((p * p)(0.5), p(0.5) ** 2)
    True
    """

    _family = _FAMILY
    domain = hermdomain
    window = hermdomain
    basis_name = "H"


__all__ = [
    *_FUNCTIONS, "herm2poly", "poly2herm", "hermgauss", "hermweight", "hermdomain", "hermone", "hermtrim",
    "hermx", "hermzero", "Hermite",
]  # fmt: skip


def __dir__():
    return __all__
