"""What the package's files share: warnings, and what an operand is."""

import numpy as _np

from .._core import asarray
from ._indices import index_dtype


class SparseWarning(Warning):
    """What sparse arrays warn of.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> issubclass(sparse.SparseEfficiencyWarning, sparse.SparseWarning)
    True
    """


class SparseEfficiencyWarning(SparseWarning):
    """An operation whose result is dense.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> issubclass(sparse.SparseEfficiencyWarning, Warning)
    True
    """


def theirs(x):
    """Whether x is one of SciPy's sparse arrays, without importing SciPy."""
    return type(x).__module__.startswith("scipy.sparse") and hasattr(x, "tocoo")


def ours(x):
    """x, or a sparse array of SciPy's as one of ours in its format."""
    if not theirs(x):
        return x
    from . import _formats

    return _formats.from_scipy(x)


def is_number(x):
    return _np.isscalar(x) or (not hasattr(x, "_triple") and _np.ndim(x) == 0)


def sum_dtype(dtype):
    """The dtype in which NumPy adds."""
    if dtype.kind == "b":
        return _np.dtype(_np.int64)
    return _np.dtype({"i": _np.int64, "u": _np.uint64}.get(dtype.kind, dtype))


def narrow(row, col, shape):
    """Index arrays in the dtype that fits the shape."""
    kind = index_dtype(*shape)
    return asarray(row).astype(kind, copy=False), asarray(col).astype(kind, copy=False)
