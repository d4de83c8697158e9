"""Series of polynomials: powers, Chebyshev, Legendre, Laguerre and both Hermite families.

The classes (`Polynomial`, `Chebyshev`, ...) are series over a domain, with arithmetic, calculus, roots and
fits; each module of the same name has the functions they stand on. Coefficients and values are AsNumpy
arrays: evaluation at many points is one fused program.
"""

from . import polyutils
from ._series import ABCPolyBase
from .chebyshev import Chebyshev
from .hermite import Hermite
from .hermite_e import HermiteE
from .laguerre import Laguerre
from .legendre import Legendre
from .polynomial import Polynomial

__all__ = [
    "ABCPolyBase", "Chebyshev", "Hermite", "HermiteE", "Laguerre", "Legendre", "Polynomial", "chebyshev",
    "hermite", "hermite_e", "laguerre", "legendre", "polynomial", "polyutils", "set_default_printstyle",
]  # fmt: skip


def __dir__():
    return __all__


def set_default_printstyle(style):
    """How series are printed from now on.

    Parameters
    ----------
    style : {'unicode', 'ascii'}
        With superscripts and subscripts, or without.

    Returns
    -------
    None

    Raises
    ------
    ValueError
        Another text.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polynomial.set_default_printstyle("ascii")
    >>> print(np.polynomial.Polynomial([1, 2, 3]))
    1.0 + 2.0 x + 3.0 x**2
    >>> np.polynomial.set_default_printstyle("unicode")
    """
    if style not in ("unicode", "ascii"):
        raise ValueError(
            f"Unsupported format string '{style}'. Valid options are 'ascii' and 'unicode'"
        )
    ABCPolyBase._use_unicode = style == "unicode"
