"""Hermite polynomials, the physicists'."""

import numpy as _np

from .. import _core
from . import _family
from ._series import ABCPolyBase
from .polyutils import trimcoef as hermtrim

_FAMILY = _family.Family(
    "Hermite polynomials, the physicists'",
    up=lambda n: 0.5 + 0 * n,
    down=lambda n: 1.0 * n,
    rise=lambda n: 0.5 / (n + 1),
    real_roots=True,
)
_FUNCTIONS = _family.functions(_FAMILY, "herm", __name__)
globals().update(_FUNCTIONS)

hermdomain = _core.array([-1.0, 1.0])
hermzero = _core.array([0])
hermone = _core.array([1])
hermx = _core.array([0, 0.5])


def herm2poly(c):
    """The series as coefficients of powers of x."""
    return _FAMILY.to_power(c)


def poly2herm(pol):
    """Coefficients of powers of x as the series."""
    return _FAMILY.from_power(pol)


def hermgauss(deg):
    """(nodes, weights) of the quadrature over the line with weight exp(-x^2), exact to degree 2 deg - 1."""
    return _FAMILY.gauss(deg, _np.sqrt(_np.pi))


def hermweight(x):
    """The weight exp(-x^2)."""
    return _core.exp(-(x**2))


class Hermite(ABCPolyBase):
    """A series of Hermite polynomials, the physicists'."""

    _family = _FAMILY
    domain = hermdomain
    window = hermdomain
    basis_name = "H"


__all__ = [
    *_FUNCTIONS, "herm2poly", "poly2herm", "hermgauss", "hermweight", "hermdomain", "hermone", "hermtrim",
    "hermx", "hermzero", "Hermite",
]  # fmt: skip
