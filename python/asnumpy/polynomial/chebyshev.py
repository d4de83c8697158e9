"""Chebyshev polynomials of the first kind."""

import numpy as _np

from .. import _core
from . import _family
from ._series import ABCPolyBase
from .polyutils import mapdomain
from .polyutils import trimcoef as chebtrim

_FAMILY = _family.Family(
    "Chebyshev polynomials of the first kind",
    up=lambda n: 0.5 + 0.5 * (n == 0),
    down=lambda n: 0.5 * (n > 0),
    rise=lambda n: 0.5 / (n + 1) if n else 1.0,
    fall=lambda n: -0.5 / (n - 1) if n > 1 else 0.0,
)
_FUNCTIONS = _family.functions(_FAMILY, "cheb", __name__)
globals().update(_FUNCTIONS)

chebdomain = _core.array([-1.0, 1.0])
chebzero = _core.array([0])
chebone = _core.array([1])
chebx = _core.array([0, 1])


def cheb2poly(c):
    """The series as coefficients of powers of x."""
    return _FAMILY.to_power(c)


def poly2cheb(pol):
    """Coefficients of powers of x as the series."""
    return _FAMILY.from_power(pol)


def chebpts1(npts):
    """The npts zeros of the polynomial of degree npts, ascending."""
    count = _whole(npts, 1)
    return _core.sin(0.5 * _np.pi / count * _core.arange(-count + 1, count + 1, 2))


def chebpts2(npts):
    """The npts extrema on [-1, 1], ascending."""
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
    """(nodes, weights) of the quadrature over [-1, 1] with weight 1 / sqrt(1 - x^2), exact to degree 2 deg - 1."""
    degree = _family.quadrature_degree(deg)
    nodes = _core.cos(_np.pi * _core.arange(1, 2 * degree, 2) / (2.0 * degree))
    return nodes, _core.full(degree, _np.pi / degree)


def chebweight(x):
    """The weight 1 / (sqrt(1 + x) sqrt(1 - x))."""
    return 1.0 / (_core.sqrt(1.0 + x) * _core.sqrt(1.0 - x))


def chebinterpolate(func, deg, args=()):
    """The series of degree deg that meets func(x, *args) at the Chebyshev points of the first kind."""
    order = _family.whole_degree(deg) + 1
    points = chebpts1(order)
    values = func(points, *args)
    c = _core.dot(_FAMILY.vander(points, order - 1).T, values)
    c[0] /= order
    c[1:] /= 0.5 * order
    return c


class Chebyshev(ABCPolyBase):
    """A series of Chebyshev polynomials of the first kind."""

    _family = _FAMILY
    domain = chebdomain
    window = chebdomain
    basis_name = "T"

    @classmethod
    def interpolate(cls, func, deg, domain=None, args=()):
        """The series of degree deg that meets func(x, *args) at the Chebyshev points of the domain."""
        domain = cls.domain if domain is None else domain
        coef = chebinterpolate(lambda x: func(mapdomain(x, cls.window, domain), *args), deg)
        return cls(coef, domain=domain)


__all__ = [
    *_FUNCTIONS, "cheb2poly", "poly2cheb", "chebpts1", "chebpts2", "chebgauss", "chebweight", "chebinterpolate", "chebdomain", "chebone", "chebtrim",
    "chebx", "chebzero", "Chebyshev",
]  # fmt: skip
