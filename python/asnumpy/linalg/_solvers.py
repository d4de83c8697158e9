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
    """What slogdet gives: the determinant is sign * exp(logabsdet).

    Attributes
    ----------
    sign : ndarray or NumPy scalar
        -1, 0 or 1; of a complex matrix a number of absolute value 1, or 0.
    logabsdet : ndarray or NumPy scalar
        -inf for a singular matrix.
    """

    sign: Any
    logabsdet: Any


def inv_or_nan(a):
    """The inverse; NaN for a singular matrix."""
    return _linalg(_INV, a, None, False, False, 0.0, "")


def slogdet(a):
    """The sign of the determinant and the logarithm of its absolute value.

    Parameters
    ----------
    a : array_like, shape (..., m, m)
        A matrix, or a stack of them.

    Returns
    -------
    SlogdetResult (sign, logabsdet)
        They neither overflow nor underflow as the determinant may.

    Raises
    ------
    LinAlgError
        a is not square.

    Examples
    --------
    >>> import asnumpy as np
    >>> sign, logabsdet = np.linalg.slogdet([[0.0, 2.0], [3.0, 0.0]])
    >>> float(sign), round(float(logabsdet), 6)
    (-1.0, 1.791759)
    """
    return SlogdetResult(*_linalg(_SLOGDET, a, None, False, False, 0.0, ""))


def cholesky(a, /, *, upper=False):
    """The Cholesky factor of a Hermitian, positive definite matrix.

    Parameters
    ----------
    a : array_like, shape (..., m, m)
        A matrix, or a stack of them, of which one triangle is read.
    upper : bool
        Gives U, with U^H @ U = a, and reads the upper triangle; by default L, with L @ L^H = a.

    Returns
    -------
    ndarray, of a's shape
        Triangular, with a positive diagonal.

    Raises
    ------
    LinAlgError
        a is not square, or not positive definite.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
    array([[2., 0.],
           [1., 2.]])
    """
    return _linalg(_CHOLESKY, a, None, False, upper, 0.0, "Matrix is not positive definite")


def tensorsolve(a, b, axes=None):
    """The array x with tensordot(a, x, x.ndim) = b.

    Parameters
    ----------
    a : array_like, shape (*b.shape, *Q)
        The coefficients; as many elements in Q as in b.
    b : array_like
        The right side.
    axes : sequence of ints, optional
        Axes of a that are moved to its end first.

    Returns
    -------
    ndarray, shape Q

    Raises
    ------
    LinAlgError
        a is not square in that sense, or singular.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.eye(4).reshape(2, 2, 4) * 2
    >>> np.linalg.tensorsolve(a, [[2.0, 4.0], [6.0, 8.0]])
    array([1., 2., 3., 4.])
    """
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
    """The inverse of an array with respect to tensordot(a, b, ind).

    Parameters
    ----------
    a : array_like
        As many elements in its first ind axes as in the others.
    ind : int
        The axes that are the rows.

    Returns
    -------
    ndarray, shape a.shape[ind:] + a.shape[:ind]

    Raises
    ------
    LinAlgError
        a is not square in that sense, or singular.
    ValueError
        ind is not positive.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.linalg.tensorinv(np.eye(4).reshape(4, 2, 2), ind=1).shape
    (2, 2, 4)
    """
    a = asarray(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    shape = a.shape
    rows = math.prod(shape[ind:])
    return inv(a.reshape(rows, -1)).reshape(shape[ind:] + shape[:ind])
