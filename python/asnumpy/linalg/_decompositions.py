"""QR, singular values, eigenvalues, least squares, and what follows from them. Each decomposition is
one call of the device (`aclnnxLinalg`), for a matrix or a stack of them."""

import warnings
from typing import Any, NamedTuple

import numpy as _np
from numpy.linalg import LinAlgError

from .. import _core
from .._array_methods import number
from .._core import asarray
from .._errstate import errstate
from .._support import as_class

_linalg, pinv = _core._linalg, _core._linalg_pinv
(
    _QR, _QR_RAW, _QR_R, _SVD, _SVDVALS, _EIG, _EIGVALS, _EIGH, _EIGVALSH, _LSTSQ,
) = range(5, 15)  # fmt: skip
# Real eigenvalues are shown as real numbers; from NumPy 2.5 on eig and eigvals give complex ones always.
_REAL = not _core._NUMPY_2_5
_WIDE = {"f": _np.float64, "F": _np.complex128}
_NO_EIGENVALUES = "Eigenvalues did not converge"
_NO_SINGULAR_VALUES = "SVD did not converge"


class QRResult(NamedTuple):
    """What qr gives: a = Q @ R.

    Attributes
    ----------
    Q : ndarray, shape (..., m, k)
        Orthonormal columns.
    R : ndarray, shape (..., k, n)
        Upper triangular.
    """

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """What svd gives: a = (U * S) @ Vh.

    Attributes
    ----------
    U, Vh : ndarray
        Unitary: columns of U and rows of Vh are the singular vectors.
    S : ndarray
        The singular values, descending.
    """

    U: Any
    S: Any
    Vh: Any


class EigResult(NamedTuple):
    """What eig gives: a @ eigenvectors = eigenvectors * eigenvalues.

    Attributes
    ----------
    eigenvalues : ndarray, shape (..., m)
    eigenvectors : ndarray, shape (..., m, m)
        In the columns.
    """

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """What eigh gives: a @ eigenvectors = eigenvectors * eigenvalues.

    Attributes
    ----------
    eigenvalues : ndarray, shape (..., m)
        Ascending.
    eigenvectors : ndarray, shape (..., m, m)
        In the columns, orthonormal.
    """

    eigenvalues: Any
    eigenvectors: Any


_QR_MODES = {"f": "full", "full": "full", "e": "economic", "economic": "economic"}


def qr(a, mode="reduced"):
    """The QR factorisation: a matrix as orthonormal columns times an upper triangle.

    Parameters
    ----------
    a : array_like, shape (..., m, n)
        A matrix, or a stack of them.
    mode : {'reduced', 'complete', 'r', 'raw'}
        'reduced': Q of shape (m, k), R of (k, n), k = min(m, n); 'complete': (m, m) and (m, n); 'r': R
        alone; 'raw': Householder vectors as LAPACK has them, transposed, and their factors.

    Returns
    -------
    QRResult (Q, R), ndarray R, or (h, tau)
        float64 or complex128; of single precision its own.

    Raises
    ------
    ValueError
        An unknown mode.
    LinAlgError
        a has fewer than two dimensions.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.array([[3.0, 1.0], [4.0, 2.0]])
    >>> q, r = np.linalg.qr(a)
    >>> np.allclose(q @ r, a), np.allclose(q.T @ q, np.eye(2))
    (True, True)
    """
    if mode not in ("reduced", "complete", "r", "raw"):
        if mode not in _QR_MODES:
            raise ValueError(f"Unrecognized mode '{mode}'")
        warnings.warn(f"The {mode!r} mode of qr is deprecated", DeprecationWarning, stacklevel=2)
        mode = "reduced" if _QR_MODES[mode] == "full" else "economic"
    if mode == "r":
        return _linalg(_QR_R, a, None, False, False, 0.0, "")
    if mode in ("raw", "economic"):
        h, tau = _linalg(_QR_RAW, a, None, False, False, 0.0, "")
        return (h.mT, tau) if mode == "raw" else h
    return QRResult(*_linalg(_QR, a, None, mode == "complete", False, 0.0, ""))


def _hermitian_svd(given, compute_uv):
    """From the eigenvalues: singular values are their sizes, signs go to Vh."""
    if not compute_uv:
        return _core.sort(abs(eigvalsh(asarray(given))), axis=-1)[..., ::-1]
    return SVDResult(*_core._linalg_svd_hermitian(given))


def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    """The singular value decomposition: a = (U * S) @ Vh with unitary U and Vh.

    Parameters
    ----------
    a : array_like, shape (..., m, n)
        A matrix, or a stack of them.
    full_matrices : bool
        U of shape (m, m) and Vh of (n, n); False: (m, k) and (k, n), k = min(m, n).
    compute_uv : bool
        False: S alone.
    hermitian : bool
        Says that a is Hermitian, for which there is a quicker way.

    Returns
    -------
    SVDResult (U, S, Vh), or ndarray S
        S of shape (..., k), descending.

    Raises
    ------
    LinAlgError
        It does not converge (an element is NaN; an infinity, too, where NumPy is 2.5 or
        newer), or a has fewer than two dimensions.

    Examples
    --------
    >>> import asnumpy as np
    >>> u, s, vh = np.linalg.svd([[3.0, 0.0], [0.0, -4.0]])
    >>> s
    array([4., 3.])
    >>> np.allclose((u * s) @ vh, [[3, 0], [0, -4]])
    True
    """
    if hermitian:
        return _hermitian_svd(a, compute_uv)
    if not compute_uv:
        return _linalg(_SVDVALS, a, None, False, False, 0.0, _NO_SINGULAR_VALUES)
    return SVDResult(*_linalg(_SVD, a, None, bool(full_matrices), False, 0.0, _NO_SINGULAR_VALUES))


def svdvals(x, /):
    """The singular values of a matrix.

    Parameters
    ----------
    x : array_like, shape (..., m, n)
        A matrix, or a stack of them.

    Returns
    -------
    ndarray, shape (..., min(m, n))
        Descending.

    Raises
    ------
    LinAlgError
        They do not converge, or x has fewer than two dimensions.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.linalg.svdvals([[3.0, 0.0], [0.0, -4.0]])
    array([4., 3.])
    """
    return svd(x, compute_uv=False)


def _widened(a):
    """In the precision that everything is computed in: what is decided by exact zeros is decided
    before results are rounded."""
    return a.astype(_WIDE[a.dtype.char]) if a.dtype.char in _WIDE else a


def eig(a):
    """Eigenvalues and right eigenvectors of a square matrix.

    Parameters
    ----------
    a : array_like, shape (..., m, m)
        A matrix, or a stack of them.

    Returns
    -------
    EigResult (eigenvalues, eigenvectors)
        Vectors of length 1 in the columns, in the order of the values. Beside NumPy 2.5
        complex, else real where all values are.

    Raises
    ------
    LinAlgError
        a is not square, holds NaN or infinity, or they do not converge.

    Examples
    --------
    >>> import asnumpy as np
    >>> values, vectors = np.linalg.eig([[2.0, 0.0], [0.0, 3.0]])
    >>> values.real
    array([2., 3.])
    """
    return EigResult(*_core._linalg_eig(a, True, _REAL))


def eigvals(a):
    """The eigenvalues of a square matrix.

    Parameters
    ----------
    a : array_like, shape (..., m, m)
        A matrix, or a stack of them.

    Returns
    -------
    ndarray, shape (..., m)
        In no order. Beside NumPy 2.5 complex, else real where all of them are.

    Raises
    ------
    LinAlgError
        a is not square, holds NaN or infinity, or they do not converge.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.linalg.eigvals([[0.0, -1.0], [1.0, 0.0]]).imag.round(6)
    array([ 1., -1.])
    """
    return _core._linalg_eig(a, False, _REAL)


def _is_upper(uplo):
    uplo = uplo.upper()
    if uplo not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return uplo == "U"


def eigh(a, UPLO="L"):
    """Eigenvalues and eigenvectors of a Hermitian (or real symmetric) matrix.

    Parameters
    ----------
    a : array_like, shape (..., m, m)
        A matrix, or a stack of them.
    UPLO : {'L', 'U'}
        The triangle that is read; the other one is taken to be its mirror.

    Returns
    -------
    EighResult (eigenvalues, eigenvectors)
        Values real and ascending; orthonormal vectors in the columns, in their order.

    Raises
    ------
    LinAlgError
        a is not square, or they do not converge.
    ValueError
        UPLO is another text.

    Examples
    --------
    >>> import asnumpy as np
    >>> values, vectors = np.linalg.eigh([[2.0, 1.0], [1.0, 2.0]])
    >>> values.round(6)
    array([1., 3.])
    """
    upper = _is_upper(UPLO)
    return EighResult(*_linalg(_EIGH, a, None, False, upper, 0.0, _NO_EIGENVALUES))


def eigvalsh(a, UPLO="L"):
    """The eigenvalues of a Hermitian (or real symmetric) matrix.

    Parameters
    ----------
    a : array_like, shape (..., m, m)
        A matrix, or a stack of them.
    UPLO : {'L', 'U'}
        The triangle that is read.

    Returns
    -------
    ndarray, shape (..., m)
        Real and ascending.

    Raises
    ------
    LinAlgError
        a is not square, or they do not converge.
    ValueError
        UPLO is another text.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]]).round(6)
    array([1., 3.])
    """
    return _linalg(_EIGVALSH, a, None, False, _is_upper(UPLO), 0.0, _NO_EIGENVALUES)


def lstsq(a, b, rcond=None):
    """The least-squares solution of linear equations, the shortest where there are several.

    Parameters
    ----------
    a : array_like, shape (m, n)
        The matrix.
    b : array_like, shape (m,) or (m, k)
        The right sides.
    rcond : float, optional
        Singular values below rcond times the largest count as 0; by default max(m, n) epsilon.

    Returns
    -------
    x : ndarray, shape (n,) or (n, k)
        Minimises the length of b - a @ x.
    residuals : ndarray, shape (k,) or (1,) or (0,)
        The squares of those lengths; empty where the rank is below n or m <= n.
    rank : int
        Of a.
    s : ndarray
        The singular values of a.

    Raises
    ------
    LinAlgError
        The shapes do not fit, or it does not converge.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> x, residuals, rank, s = np.linalg.lstsq(a, [1.0, 3.0, 5.0])
    >>> x.round(6), int(rank)
    (array([2., 1.]), 2)
    """
    given, a, b = b, asarray(a), asarray(b)
    for x in (a, b) if b.ndim != 1 else (a,):
        if x.ndim != 2:
            raise LinAlgError(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    m, n = a.shape
    if b.shape[0] != m:
        raise LinAlgError("Incompatible dimensions")
    if rcond is None:
        rcond = _np.finfo(float).eps * max(n, m)
    x, residuals, rank, values = _linalg(
        _LSTSQ, a, b, False, False, float(rcond), "SVD did not converge in Linear Least Squares"
    )
    if rank != n or m <= n:
        residuals = residuals[:0]
    return as_class(x, given), as_class(residuals, given), _np.int32(rank), values


def matrix_rank(A, tol=None, hermitian=False, *, rtol=None):
    """The rank of a matrix: how many of its singular values are not nearly 0.

    Parameters
    ----------
    A : array_like, shape (..., m, n), or (n,)
        A matrix, or a stack of them; of a vector whether it is not 0.
    tol : array_like, optional
        Values up to this count as 0.
    hermitian : bool
        Says that A is Hermitian, for which there is a quicker way.
    rtol : array_like, optional
        tol as a part of the largest value, by default max(m, n) epsilon; instead of tol.

    Returns
    -------
    ndarray of int64, or int

    Raises
    ------
    ValueError
        Both tol and rtol are given.

    Examples
    --------
    >>> import asnumpy as np
    >>> int(np.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]))
    1
    """
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    a = asarray(A)
    if a.ndim < 2:
        return int(not _core.all(a == 0))
    values = svd(a, compute_uv=False, hermitian=hermitian)
    if tol is None:
        if rtol is None:
            rtol = max(a.shape[-2:]) * _np.finfo(values.dtype).eps
        else:
            rtol = asarray(rtol)[..., None]
        tol = values.max(axis=-1, keepdims=True, initial=0) * rtol
    else:
        tol = asarray(tol)[..., None]
    return _core.count_nonzero(values > tol, axis=-1)


def _values_or_nan(x):
    """Singular values; of a matrix without any they are NaN from NumPy 2.5 on, an error before."""
    failed = "" if _core._NUMPY_2_5 else _NO_SINGULAR_VALUES
    return _linalg(_SVDVALS, x, None, False, False, 0.0, failed)


def cond(x, p=None):
    """The condition number of a matrix: norm(x, p) * norm(inv(x), p).

    Parameters
    ----------
    x : array_like, shape (..., m, n)
        A matrix, or a stack of them; square unless p is None, 2 or -2.
    p : {None, 1, -1, 2, -2, inf, -inf, 'fro', 'nuc'}
        The norm; None is 2: the largest singular value over the smallest.

    Returns
    -------
    ndarray or NumPy scalar
        Infinite for a singular matrix.

    Raises
    ------
    LinAlgError
        x is empty, or not square.

    Examples
    --------
    >>> import asnumpy as np
    >>> float(np.linalg.cond([[1.0, 0.0], [0.0, 4.0]]))
    4.0
    """
    x = asarray(x)
    if x.size == 0 and 0 in x.shape[-2:]:
        raise LinAlgError("cond is not defined on empty arrays")
    with errstate(all="ignore"):
        if p is None or p in (2, -2):
            s = _values_or_nan(x)
            r = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
        else:
            from . import norm
            from ._solvers import inv_or_nan

            inverse = inv_or_nan(_widened(x))
            if p == "nuc":
                r = _core.sum(_values_or_nan(x), -1) * _core.sum(_values_or_nan(inverse), -1)
            else:
                r = norm(x, p, axis=(-2, -1)) * norm(inverse, p, axis=(-2, -1))
            single = x.dtype.char in _WIDE
            r = asarray(r).astype(_np.float32 if single else _np.float64, copy=False)
        r = asarray(r)
        nan = _core.isnan(r)
        if bool(_core.any(nan)):  # one that did not come from x is a singular matrix's
            nan = nan & ~_core.any(_core.isnan(x), axis=(-2, -1))
            r = _core.where(nan, _np.inf, r).astype(r.dtype, copy=False)
    return number(r)
