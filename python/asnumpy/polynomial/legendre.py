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
    fall=lambda n: -1 / (2 * n + 1) if n else 0.0,
)
_FUNCTIONS = _family.functions(_FAMILY, "leg", __name__)
globals().update(_FUNCTIONS)

legdomain = _core.array([-1.0, 1.0])
legzero = _core.array([0])
legone = _core.array([1])
legx = _core.array([0, 1])


def leg2poly(c):
    """The series as coefficients of powers of x."""
    return _FAMILY.to_power(c)


def poly2leg(pol):
    """Coefficients of powers of x as the series."""
    return _FAMILY.from_power(pol)


def leggauss(deg):
    """(nodes, weights) of the quadrature over [-1, 1] with weight 1, exact to degree 2 deg - 1."""
    return _FAMILY.gauss(deg, 2.0)


def legweight(x):
    """The weight 1."""
    return _core.multiply(x, 0.0) + 1.0


class Legendre(ABCPolyBase):
    """A series of Legendre polynomials."""

    _family = _FAMILY
    domain = legdomain
    window = legdomain
    basis_name = "P"


__all__ = [
    *_FUNCTIONS, "leg2poly", "poly2leg", "leggauss", "legweight", "legdomain", "legone", "legtrim",
    "legx", "legzero", "Legendre",
]  # fmt: skip
