"""Power series, the polynomials 1, x, x^2, ..."""

import numpy as _np

from .. import _core
from . import _family
from ._series import ABCPolyBase
from .polyutils import trimcoef as polytrim

_FAMILY = _family.Family(
    "Powers of x",
    up=lambda n: 1.0 + 0 * n,
    rise=lambda n: 1 / (n + 1),
    maxpower=None,
    real_roots=True,
)
_FUNCTIONS = _family.functions(_FAMILY, "poly", __name__)
globals().update(_FUNCTIONS)

polydomain = _core.array([-1.0, 1.0])
polyzero = _core.array([0])
polyone = _core.array([1])
polyx = _core.array([0, 1])


def polyvalfromroots(x, r, tensor=True):
    """The values at x of the product of (x - root).

    r: the roots along its first axis; with tensor each column is a polynomial that is evaluated at every x.
    """
    r = _core.array(r, ndmin=1, copy=None)
    if r.dtype.kind in "biu":
        r = r.astype(_np.double)
    x = _core.asanyarray(x) if isinstance(x, (tuple, list)) or hasattr(x, "shape") else x
    if hasattr(x, "shape"):
        if tensor:
            r = r.reshape(r.shape + (1,) * x.ndim)
        elif x.ndim >= r.ndim:
            raise ValueError("x.ndim must be < r.ndim when tensor == False")
    return _core.prod(x - r, axis=0)


class Polynomial(ABCPolyBase):
    """A series of powers, the polynomials 1, x, x^2, ..."""

    _family = _FAMILY
    domain = polydomain
    window = polydomain
    basis_name = None


__all__ = [
    *_FUNCTIONS, "polyvalfromroots", "polydomain", "polyone", "polytrim",
    "polyx", "polyzero", "Polynomial",
]  # fmt: skip
