"""Legendre polynomials."""

from .. import _core
from . import _family
from ._series import ABCPolyBase
from .polyutils import trimcoef as legtrim

_FAMILY = _family.Family(
    "Legendre polynomials",
    up=lambda n: (n + 1) / (2 * n + 1),
    down=lambda n: n / (2 * n + 1),
    rise=lambda n: 1 / (2 * n + 1),
    fall=lambda n: -1 / (2 * n + 1) if n else 0 * n,
)
_FUNCTIONS = _family.functions(_FAMILY, "leg", __name__)
globals().update(_FUNCTIONS)

legdomain = _core.array([-1.0, 1.0])
legzero = _core.array([0])
legone = _core.array([1])
legx = _core.array([0, 1])


def leg2poly(c):
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
    >>> np.polynomial.legendre.leg2poly([0, 0, 1])
    array([-0.5,  0. ,  1.5])
    """
    return _FAMILY.to_power(c)


def poly2leg(pol):
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
    >>> np.polynomial.legendre.poly2leg([0, 0, 1])
    array([0.33333333, 0.        , 0.66666667])
    """
    return _FAMILY.from_power(pol)


def leggauss(deg):
    """The nodes and weights of the Gauss quadrature over [-1, 1] with weight 1.

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
    >>> x, w = np.polynomial.legendre.leggauss(3)
    >>> (w * x**2).sum().round(6)
    np.float64(0.666667)
    """
    return _FAMILY.gauss(deg, 2.0)


def legweight(x):
    """The weight that makes the polynomials orthogonal: 1.

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
    >>> np.polynomial.legendre.legweight(np.array([0.0, 0.5])).round(6)
    array([1., 1.])
    """
    return _core.multiply(x, 0.0) + 1.0


class Legendre(ABCPolyBase):
    """A series of Legendre polynomials, over a domain.

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
    >>> p = np.polynomial.Legendre([1, 2, 3])
    >>> p.degree(), float(p(0.0))
    (2, -0.5)
    >>> np.allclose((p * p)(0.5), p(0.5) ** 2)
    True
    """

    _family = _FAMILY
    domain = legdomain
    window = legdomain
    basis_name = "P"


__all__ = [
    *_FUNCTIONS, "leg2poly", "poly2leg", "leggauss", "legweight", "legdomain", "legone", "legtrim",
    "legx", "legzero", "Legendre",
]  # fmt: skip


def __dir__():
    return __all__
