"""Hermite polynomials, the probabilists'."""

import numpy as _np

from .. import _core
from . import _family
from ._series import ABCPolyBase
from .polyutils import trimcoef as hermetrim

_FAMILY = _family.Family(
    "Hermite polynomials, the probabilists'",
    up=lambda n: 1.0 + 0 * n,
    down=lambda n: 1.0 * n,
    rise=lambda n: 1 / (n + 1),
)
_FUNCTIONS = _family.functions(_FAMILY, "herme", __name__)
globals().update(_FUNCTIONS)

hermedomain = _core.array([-1.0, 1.0])
hermezero = _core.array([0])
hermeone = _core.array([1])
hermex = _core.array([0, 1])


def herme2poly(c):
    """The series as coefficients of powers of x."""
    return _FAMILY.to_power(c)


def poly2herme(pol):
    """Coefficients of powers of x as the series."""
    return _FAMILY.from_power(pol)


def hermegauss(deg):
    """(nodes, weights) of the quadrature over the line with weight exp(-x^2 / 2), exact to degree 2 deg - 1."""
    return _FAMILY.gauss(deg, _np.sqrt(2 * _np.pi))


def hermeweight(x):
    """The weight exp(-x^2 / 2)."""
    return _core.exp(-0.5 * x**2)


class HermiteE(ABCPolyBase):
    """A series of Hermite polynomials, the probabilists'."""

    _family = _FAMILY
    domain = hermedomain
    window = hermedomain
    basis_name = "He"


__all__ = [
    *_FUNCTIONS, "herme2poly", "poly2herme", "hermegauss", "hermeweight", "hermedomain", "hermeone", "hermetrim",
    "hermex", "hermezero", "HermiteE",
]  # fmt: skip
