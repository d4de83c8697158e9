"""Linear systems, inverses, determinants, Cholesky factors. Each is one call of the device
(`aclnnxLinalg`), for a matrix or a stack of them."""

import math
from typing import Any, NamedTuple

from numpy.linalg import LinAlgError

from .. import _core
from .._core import asarray
from .._support import as_class

_linalg, det, inv, solve = _core._linalg, _core._linalg_det, _core._linalg_inv, _core._linalg_solve
_SOLVE, _INV, _DET, _SLOGDET, _CHOLESKY = range(5)


class SlogdetResult(NamedTuple):
    """sign * exp(logabsdet) is the determinant."""

    sign: Any
    logabsdet: Any


def inv_or_nan(a):
    """The inverse; NaN for a singular matrix."""
    return _linalg(_INV, a, None, False, False, 0.0, "")


def slogdet(a):
    """The sign of the determinant and the logarithm of its absolute value."""
    return SlogdetResult(*_linalg(_SLOGDET, a, None, False, False, 0.0, ""))


def cholesky(a, /, *, upper=False):
    """L, lower triangular, with L @ L.mT.conj() = a (or U with U.mT.conj() @ U = a); the other
    triangle of a is not read."""
    return _linalg(_CHOLESKY, a, None, False, upper, 0.0, "Matrix is not positive definite")


def tensorsolve(a, b, axes=None):
    """x with tensordot(a, x, x.ndim) = b."""
    given, a, b = a, asarray(a), asarray(b)
    if axes is not None:
        order = [d for d in range(a.ndim) if d not in axes]
        a = a.transpose([*order, *axes])
    shape = a.shape[-(a.ndim - b.ndim) :]
    n = math.prod(shape)
    if a.size != n**2:
        raise LinAlgError(
            "Input arrays must satisfy the requirement "
            "prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return as_class(solve(a.reshape(n, n), b.ravel()).reshape(shape), given)


def tensorinv(a, ind=2):
    """The inverse of a with respect to tensordot(a, b, ind)."""
    a = asarray(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    shape = a.shape
    rows = math.prod(shape[ind:])
    return inv(a.reshape(rows, -1)).reshape(shape[ind:] + shape[:ind])
