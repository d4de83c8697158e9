"""Laguerre polynomials."""

from .. import _core
from . import _family
from ._series import ABCPolyBase
from .polyutils import trimcoef as lagtrim

_FAMILY = _family.Family(
    "Laguerre polynomials",
    up=lambda n: -(n + 1),
    mid=lambda n: 2 * n + 1,
    down=lambda n: -n,
    rise=lambda n: -1 + 0 * n,
    level=lambda n: 1 + 0 * n,
    real_roots=True,
)
_FUNCTIONS = _family.functions(_FAMILY, "lag", __name__)
globals().update(_FUNCTIONS)

lagdomain = _core.array([0.0, 1.0])
lagzero = _core.array([0])
lagone = _core.array([1])
lagx = _core.array([1, -1])


def lag2poly(c):
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
    >>> np.polynomial.laguerre.lag2poly([0, 0, 1])
    array([ 1. , -2. ,  0.5])
    """
    return _FAMILY.to_power(c)


def poly2lag(pol):
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
    >>> np.polynomial.laguerre.poly2lag([0, 0, 1])
    array([ 2., -4.,  2.])
    """
    return _FAMILY.from_power(pol)


def laggauss(deg):
    """The nodes and weights of the Gauss quadrature over [0, inf) with weight exp(-x).

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
    >>> x, w = np.polynomial.laguerre.laggauss(3)
    >>> (w * x**2).sum().round(6)
    np.float64(2.0)
    """
    return _FAMILY.gauss(deg, 1.0)


def lagweight(x):
    """The weight that makes the polynomials orthogonal: exp(-x).

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
    >>> np.polynomial.laguerre.lagweight(np.array([0.0, 0.5])).round(6)
    array([1.      , 0.606531])
    """
    return _core.exp(-x)


class Laguerre(ABCPolyBase):
    """A series of Laguerre polynomials, over a domain.

    Parameters
    ----------
    coef : array_like
        The coefficients, lowest degree first.
    domain : pair of scalars, optional
        Is mapped to window linearly, by default [0, 1].
    window : pair of scalars, optional
        By default [0, 1].
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
    >>> p = np.polynomial.Laguerre([1, 2, 3])
    >>> p.degree(), float(p(0.0))
    (2, 6.0)
    >>> np.allclose((p * p)(0.5), p(0.5) ** 2)
    True
    """

    _family = _FAMILY
    domain = lagdomain
    window = lagdomain
    basis_name = "L"


__all__ = [
    *_FUNCTIONS, "lag2poly", "poly2lag", "laggauss", "lagweight", "lagdomain", "lagone", "lagtrim",
    "lagx", "lagzero", "Laguerre",
]  # fmt: skip


def __dir__():
    return __all__
