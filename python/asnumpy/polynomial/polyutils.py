"""What all polynomial families share: series of coefficients, domains, and text for numbers."""

import numpy as _np

from .. import _core

__all__ = [
    "as_series", "format_float", "getdomain", "mapdomain", "mapparms", "trimcoef", "trimseq",
]  # fmt: skip


def __dir__():
    return __all__


def trimseq(seq):
    """A sequence without its trailing zeros; one element stays.

    Parameters
    ----------
    seq : sequence
        Coefficients, lowest degree first.

    Returns
    -------
    sequence
        A slice of seq, or seq itself.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polynomial.polyutils.trimseq([1, 2, 0, 0])
    [1, 2]
    """
    if len(seq) == 0 or seq[-1] != 0:
        return seq
    kept = _np.flatnonzero(_np.asarray(seq))
    return seq[: int(kept[-1]) + 1 if len(kept) else 1]


def as_series(alist, trim=True):
    """Sequences of coefficients as vectors of one floating or complex dtype.

    Parameters
    ----------
    alist : sequence of array_like
        Of one dimension each.
    trim : bool
        Takes trailing zeros away.

    Returns
    -------
    list of ndarrays
        Copies.

    Raises
    ------
    ValueError
        An array is empty, has more than one dimension, or is not of numbers.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polynomial.polyutils.as_series([[1, 2, 0], [3.5]])
    [array([1., 2.]), array([3.5])]
    """
    arrays = [_core.array(a, ndmin=1, copy=None) for a in alist]
    for a in arrays:
        if a.size == 0:
            raise ValueError("Coefficient array is empty")
        if a.ndim != 1:
            raise ValueError("Coefficient array is not 1-d")
    if trim:
        arrays = [trimseq(a) for a in arrays]
    if any(a.dtype.kind == "O" for a in arrays):  # Fraction, say: NumPy's arrays
        return [_np.array(a, dtype=object) for a in arrays]
    from .. import common_type

    try:
        dtype = common_type(*arrays)
    except TypeError as error:
        raise ValueError("Coefficient arrays have no common type") from error
    return [_core.array(a, copy=True, dtype=dtype) for a in arrays]


def trimcoef(c, tol=0):
    """A series without its trailing coefficients that are nearly 0; one stays.

    Parameters
    ----------
    c : array_like, one-dimensional
        The coefficients, lowest degree first.
    tol : float
        Absolute values up to this count as 0.

    Returns
    -------
    ndarray
        A copy.

    Raises
    ------
    ValueError
        tol is negative.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polynomial.polyutils.trimcoef([1, 2, 1e-9], tol=1e-6)
    array([1., 2.])
    """
    if tol < 0:
        raise ValueError("tol must be non-negative")
    (c,) = as_series([c])
    kept = _np.flatnonzero(_np.abs(_np.asarray(c)) > tol)
    return c[: int(kept[-1]) + 1].copy() if len(kept) else c[:1] * 0


def getdomain(x):
    """The smallest interval that holds all points; of complex ones the corners of a rectangle.

    Parameters
    ----------
    x : array_like, one-dimensional
        The points.

    Returns
    -------
    ndarray, shape (2,)

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polynomial.polyutils.getdomain([3, -1, 2])
    array([-1.,  3.])
    """
    (x,) = as_series([x], trim=False)
    if x.dtype.kind == "c":
        low = complex(x.real.min(), x.imag.min())
        high = complex(x.real.max(), x.imag.max())
        return _core.array([low, high])
    return _core.array([float(x.min()), float(x.max())])


def mapparms(old, new):
    """The line that maps one interval onto another.

    Parameters
    ----------
    old, new : pair of scalars
        The intervals.

    Returns
    -------
    off, scl : scalar
        x goes to off + scl * x.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polynomial.polyutils.mapparms((-1, 1), (0, 4))
    (2.0, 2.0)
    """
    old_length, new_length = old[1] - old[0], new[1] - new[0]
    offset = (old[1] * new[0] - old[0] * new[1]) / old_length
    return offset, new_length / old_length


def mapdomain(x, old, new):
    """Points moved by the line that maps one interval onto another.

    Parameters
    ----------
    x : array_like
        The points.
    old, new : pair of scalars
        The intervals.

    Returns
    -------
    ndarray or scalar, of x's shape

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polynomial.polyutils.mapdomain([-1.0, 0.0, 1.0], (-1, 1), (0, 4))
    array([0., 2., 4.])
    """
    if isinstance(x, (list, tuple, _np.ndarray)):  # a number or a series stays what it is
        x = _core.asanyarray(x)
    offset, scale = mapparms(old, new)
    return offset + scale * x


def format_float(x, parens=False):
    """A number as text, by the print options for precision and notation.

    Parameters
    ----------
    x : scalar
        The number.
    parens : bool
        Puts a number with an exponent into parentheses.

    Returns
    -------
    str

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polynomial.polyutils.format_float(0.5)
    '0.5'
    """
    return _np.polynomial.polyutils.format_float(x, parens=parens)
