"""QR, singular values, eigenvalues, least squares, and what follows from them. Each decomposition is
one call of the device (`aclnnxLinalg`), for a matrix or a stack of them."""

import warnings
from typing import Any, NamedTuple

import numpy as _np
from numpy.linalg import LinAlgError

from .. import _core
from .._core import asarray
from .._errstate import errstate
from .._support import as_class, number

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
    """a = Q @ R."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """a = (U * S) @ Vh."""

    U: Any
    S: Any
    Vh: Any


class EigResult(NamedTuple):
    """a @ eigenvectors = eigenvectors * eigenvalues."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """a @ eigenvectors = eigenvectors * eigenvalues, ascending."""

    eigenvalues: Any
    eigenvectors: Any


_QR_MODES = {"f": "full", "full": "full", "e": "economic", "economic": "economic"}


def qr(a, mode="reduced"):
    """Q with orthonormal columns and R upper triangular. mode: "reduced", "complete", "r" (R only),
    "raw" (Householder vectors, as LAPACK has them, and their factors)."""
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
    """U, the singular values in descending order, and Vh."""
    if hermitian:
        return _hermitian_svd(a, compute_uv)
    if not compute_uv:
        return _linalg(_SVDVALS, a, None, False, False, 0.0, _NO_SINGULAR_VALUES)
    return SVDResult(*_linalg(_SVD, a, None, bool(full_matrices), False, 0.0, _NO_SINGULAR_VALUES))


def svdvals(x, /):
    """The singular values, in descending order."""
    return svd(x, compute_uv=False)


def _widened(a):
    """In the precision that everything is computed in: what is decided by exact zeros is decided
    before results are rounded."""
    return a.astype(_WIDE[a.dtype.char]) if a.dtype.char in _WIDE else a


def eig(a):
    """Eigenvalues and right eigenvectors of length 1; real where all eigenvalues are."""
    return EigResult(*_core._linalg_eig(a, True, _REAL))


def eigvals(a):
    """The eigenvalues; real where all of them are."""
    return _core._linalg_eig(a, False, _REAL)


def _is_upper(uplo):
    uplo = uplo.upper()
    if uplo not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return uplo == "U"


def eigh(a, UPLO="L"):
    """Ascending eigenvalues and eigenvectors of Hermitian matrices, given by one triangle."""
    upper = _is_upper(UPLO)
    return EighResult(*_linalg(_EIGH, a, None, False, upper, 0.0, _NO_EIGENVALUES))


def eigvalsh(a, UPLO="L"):
    """The ascending eigenvalues of Hermitian matrices, given by one triangle."""
    return _linalg(_EIGVALSH, a, None, False, _is_upper(UPLO), 0.0, _NO_EIGENVALUES)


def lstsq(a, b, rcond=None):
    """(x, residuals, rank, singular values): x minimises |b - a @ x|, of those the shortest."""
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
    """How many singular values are above tol, by default above rtol times the largest."""
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


def cond(x, p=None):
    """The condition number: norm(x, p) * norm(inv(x), p); by singular values for 2, -2, None."""
    x = asarray(x)
    if x.size == 0 and 0 in x.shape[-2:]:
        raise LinAlgError("cond is not defined on empty arrays")
    with errstate(all="ignore"):
        if p is None or p in (2, -2):
            s = svd(x, compute_uv=False)
            r = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
        else:
            from . import norm
            from ._solvers import inv_or_nan

            inverse = inv_or_nan(_widened(x))
            r = norm(x, p, axis=(-2, -1)) * norm(inverse, p, axis=(-2, -1))
            single = x.dtype.char in _WIDE
            r = asarray(r).astype(_np.float32 if single else _np.float64, copy=False)
        r = asarray(r)
        nan = _core.isnan(r)
        if bool(_core.any(nan)):  # one that did not come from x is a singular matrix's
            nan = nan & ~_core.any(_core.isnan(x), axis=(-2, -1))
            r = _core.where(nan, _np.inf, r).astype(r.dtype, copy=False)
    return number(r)
