"""Solvers of sparse systems: SciPy's, on the host, for asnumpy's arrays. SciPy is optional."""

import numpy as _np

from .._core import asarray as _asarray
from ._base import sparray as _sparray
from ._scipy import module as _module

__all__ = ["cg", "spsolve"]


def __dir__():
    return __all__


def _on_host(x):
    return x.to_scipy() if isinstance(x, _sparray) else _np.asarray(x)


def spsolve(A, b, permc_spec=None, use_umfpack=True):
    """The solution of A x = b, by SciPy's factorisation on the host.

    Parameters
    ----------
    A : sparse array, shape (n, n)
        CSC or CSR; others are converted.
    b : array_like, shape (n,) or (n, k)
        The right-hand side.
    permc_spec : str, optional
        How columns are permuted, as SciPy has it.
    use_umfpack : bool
        Whether SciPy may use UMFPACK.

    Returns
    -------
    ndarray
        Of b's shape.

    Raises
    ------
    ImportError
        There is no SciPy.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.linalg.spsolve(sparse.csc_array([[2.0, 0.0], [0.0, 4.0]]), [2.0, 2.0])
    array([1. , 0.5])
    """
    solver = _module("scipy.sparse.linalg")
    found = solver.spsolve(_on_host(A.tocsc()), _on_host(b), permc_spec, use_umfpack)
    return _asarray(found)


def cg(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None):
    """The solution of A x = b by conjugate gradients, SciPy's on the host.

    Parameters
    ----------
    A : sparse array, shape (n, n)
        Symmetric and positive definite.
    b : array_like, shape (n,)
        The right-hand side.
    x0 : array_like, optional
        Where it begins.
    rtol, atol : float
        It ends when the residual's norm is at most max(rtol * norm(b), atol).
    maxiter : int, optional
        Steps at most.
    M : sparse array, optional
        An approximation of A's inverse.
    callback : callable, optional
        Called after each step with the solution so far, a NumPy array.

    Returns
    -------
    x : ndarray
        The solution.
    info : int
        0: it converged; otherwise the number of steps.

    Raises
    ------
    ImportError
        There is no SciPy.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> x, info = sparse.linalg.cg(sparse.csr_array([[2.0, 0.0], [0.0, 4.0]]), [2.0, 2.0])
    >>> info
    0
    """
    solver = _module("scipy.sparse.linalg")
    first, near = (None if v is None else _on_host(v) for v in (x0, M))
    x, info = solver.cg(_on_host(A), _on_host(b), first, rtol=rtol, atol=atol, maxiter=maxiter, M=near,
                        callback=callback)  # fmt: skip
    return _asarray(x), info
