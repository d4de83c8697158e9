"""Hermite polynomials, the probabilists'."""

import numpy as _np

from .. import _core
from . import _family
from ._series import ABCPolyBase
from .polyutils import trimcoef as hermetrim

_FAMILY = _family.Family(
    "Hermite polynomials, the probabilists'",
    up=lambda n: 1 + 0 * n,
    down=lambda n: n,
    rise=lambda n: 1 / (n + 1),
)
_FUNCTIONS = _family.functions(_FAMILY, "herme", __name__)
globals().update(_FUNCTIONS)

hermedomain = _core.array([-1.0, 1.0])
hermezero = _core.array([0])
hermeone = _core.array([1])
hermex = _core.array([0, 1])


def herme2poly(c):
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
    >>> np.polynomial.hermite_e.herme2poly([0, 0, 1])
    array([-1.,  0.,  1.])
    """
    return _FAMILY.to_power(c)


def poly2herme(pol):
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
    >>> np.polynomial.hermite_e.poly2herme([0, 0, 1])
    array([1., 0., 1.])
    """
    return _FAMILY.from_power(pol)


def hermegauss(deg):
    """The nodes and weights of the Gauss quadrature over the line with weight exp(-x^2 / 2).

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
    >>> x, w = np.polynomial.hermite_e.hermegauss(3)
    >>> (w * x**2).sum().round(6)
    np.float64(2.506628)
    """
    return _FAMILY.gauss(deg, _np.sqrt(2 * _np.pi))


def hermeweight(x):
    """The weight that makes the polynomials orthogonal: exp(-x^2 / 2).

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
    >>> np.polynomial.hermite_e.hermeweight(np.array([0.0, 0.5])).round(6)
    array([1.      , 0.882497])
    """
    return _core.exp(-0.5 * x**2)


class HermiteE(ABCPolyBase):
    """A series of Hermite polynomials, the probabilists', over a domain.

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
    >>> p = np.polynomial.HermiteE([1, 2, 3])
    >>> p.degree(), float(p(0.0))
    (2, -2.0)
    >>> np.allclose((p * p)(0.5), p(0.5) ** 2)
    True
    """

    _family = _FAMILY
    domain = hermedomain
    window = hermedomain
    basis_name = "He"


__all__ = [
    *_FUNCTIONS, "herme2poly", "poly2herme", "hermegauss", "hermeweight", "hermedomain", "hermeone", "hermetrim",
    "hermex", "hermezero", "HermiteE",
]  # fmt: skip


def __dir__():
    return __all__
