"""Power series, the polynomials 1, x, x^2, ..."""

import numpy as _np

from .. import _core
from . import _family
from ._series import ABCPolyBase
from .polyutils import trimcoef as polytrim

_FAMILY = _family.Family(
    "Powers of x",
    up=lambda n: 1 + 0 * n,
    rise=lambda n: 1 / (n + 1),
    product=_core.convolve,
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
    """The values at points of the product of all (x - root).

    Parameters
    ----------
    x : array_like
        The points.
    r : array_like
        The roots, along its first axis; the others number several polynomials.
    tensor : bool
        Each polynomial at each point; False: x broadcasts with those other axes.

    Returns
    -------
    ndarray or scalar
        Of shape r.shape[1:] + x.shape, without tensor of that to which these broadcast.

    Raises
    ------
    ValueError
        Without tensor x has not fewer dimensions than r.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polynomial.polynomial.polyvalfromroots([0.0, 1.5, 3.0], [1, 2])
    array([ 2.  , -0.25,  2.  ])
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
    """A series of powers of x, over a domain.

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
    >>> p = np.polynomial.Polynomial([1, 2, 3])
    >>> p.degree(), float(p(0.0))
    (2, 1.0)
    >>> np.allclose((p * p)(0.5), p(0.5) ** 2)
    True
    """

    _family = _FAMILY
    domain = polydomain
    window = polydomain
    basis_name = None


__all__ = [
    *_FUNCTIONS, "polyvalfromroots", "polydomain", "polyone", "polytrim",
    "polyx", "polyzero", "Polynomial",
]  # fmt: skip


def __dir__():
    return __all__
