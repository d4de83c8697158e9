"""Laguerre polynomials."""

from .. import _core
from . import _family
from ._series import ABCPolyBase
from .polyutils import trimcoef as lagtrim

_FAMILY = _family.Family(
    "Laguerre polynomials",
    up=lambda n: -(n + 1.0),
    mid=lambda n: 2.0 * n + 1,
    down=lambda n: -1.0 * n,
    rise=lambda n: -1.0,
    level=lambda n: 1.0,
    real_roots=True,
)
_FUNCTIONS = _family.functions(_FAMILY, "lag", __name__)
globals().update(_FUNCTIONS)

lagdomain = _core.array([0.0, 1.0])
lagzero = _core.array([0])
lagone = _core.array([1])
lagx = _core.array([1, -1])


def lag2poly(c):
    """The series as coefficients of powers of x."""
    return _FAMILY.to_power(c)


def poly2lag(pol):
    """Coefficients of powers of x as the series."""
    return _FAMILY.from_power(pol)


def laggauss(deg):
    """(nodes, weights) of the quadrature over [0, inf) with weight exp(-x), exact to degree 2 deg - 1."""
    return _FAMILY.gauss(deg, 1.0)


def lagweight(x):
    """The weight exp(-x)."""
    return _core.exp(-x)


class Laguerre(ABCPolyBase):
    """A series of Laguerre polynomials."""

    _family = _FAMILY
    domain = lagdomain
    window = lagdomain
    basis_name = "L"


__all__ = [
    *_FUNCTIONS, "lag2poly", "poly2lag", "laggauss", "lagweight", "lagdomain", "lagone", "lagtrim",
    "lagx", "lagzero", "Laguerre",
]  # fmt: skip
