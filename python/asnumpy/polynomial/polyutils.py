"""What all polynomial families share: series of coefficients, domains, and text for numbers."""

import numpy as _np

from .. import _core

__all__ = [
    "as_series", "format_float", "getdomain", "mapdomain", "mapparms", "trimcoef", "trimseq",
]  # fmt: skip


def trimseq(seq):
    """`seq` without its trailing zeros; at least one element stays."""
    if len(seq) == 0 or seq[-1] != 0:
        return seq
    kept = _np.flatnonzero(_np.asarray(seq))
    return seq[: int(kept[-1]) + 1 if len(kept) else 1]


def as_series(alist, trim=True):
    """The arguments as 1-d arrays of one floating or complex dtype, trailing zeros trimmed.

    ValueError: an array is empty, has more than one dimension, or is not of numbers.
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
    """`c` without its trailing coefficients of absolute value tol and below."""
    if tol < 0:
        raise ValueError("tol must be non-negative")
    (c,) = as_series([c])
    kept = _np.flatnonzero(_np.abs(_np.asarray(c)) > tol)
    return c[: int(kept[-1]) + 1].copy() if len(kept) else c[:1] * 0


def getdomain(x):
    """[smallest, largest] of x; for complex numbers the corners of the smallest rectangle."""
    (x,) = as_series([x], trim=False)
    if x.dtype.kind == "c":
        low = complex(x.real.min(), x.imag.min())
        high = complex(x.real.max(), x.imag.max())
        return _core.array([low, high])
    return _core.array([float(x.min()), float(x.max())])


def mapparms(old, new):
    """(offset, scale) of the line that maps the domain `old` onto `new`."""
    old_length, new_length = old[1] - old[0], new[1] - new[0]
    offset = (old[1] * new[0] - old[0] * new[1]) / old_length
    return offset, new_length / old_length


def mapdomain(x, old, new):
    """x under the line that maps the domain `old` onto `new`."""
    if isinstance(x, (list, tuple, _np.ndarray)):  # a number or a series stays what it is
        x = _core.asanyarray(x)
    offset, scale = mapparms(old, new)
    return offset + scale * x


def format_float(x, parens=False):
    """x as text, with the precision and the notation that NumPy's print options ask for."""
    return _np.polynomial.polyutils.format_float(x, parens=parens)
