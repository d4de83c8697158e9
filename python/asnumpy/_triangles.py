"""Diagonals and triangles of matrices, and the indices of their elements."""

import operator
import warnings

from . import _core
from ._core import arange, asanyarray, asarray, ones, zeros


def diag(v, k=0):
    """The k-th diagonal of a matrix, or the matrix with a vector on its k-th diagonal.

    Parameters
    ----------
    v : array_like
        A matrix, (m, n), or a vector, (n,).
    k : int
        The diagonal: 0 the main one, positive above it, negative below.

    Returns
    -------
    ndarray
        Of a matrix a read-only view of its diagonal; of a vector a new matrix of n + abs(k) rows and
        columns, with 0 elsewhere.

    Raises
    ------
    ValueError
        v has neither one nor two dimensions.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.diag([1, 2], k=1)
    array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]])
    >>> np.diag(np.arange(9).reshape(3, 3))
    array([0, 4, 8])
    """
    v = asanyarray(v)
    if v.ndim == 1:
        n = v.shape[0] + abs(k)
        result = zeros((n, n), v.dtype)
        i = k if k >= 0 else -k * n
        result[: max(n - k, 0)].reshape(-1)[i :: n + 1] = v
        return result
    if v.ndim == 2:
        return v.diagonal(k)
    raise ValueError("Input must be 1- or 2-d.")


def diagflat(v, k=0):
    """The matrix with the flattened elements on its k-th diagonal.

    Parameters
    ----------
    v : array_like
        Of any shape; its elements are taken in row-major order.
    k : int
        The diagonal: 0 the main one, positive above it, negative below.

    Returns
    -------
    ndarray, of v's dtype
        Of v.size + abs(k) rows and columns, 0 elsewhere.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.diagflat([[1, 2], [3, 4]]).shape
    (4, 4)
    >>> np.diagflat([7], k=-1)
    array([[0, 0],
           [7, 0]])
    """
    return diag(asarray(v).ravel(), k)


def _warn_of_no_integer(*numbers):
    """NumPy 2.5's warning of the first number that operator.index does not take."""
    if _core._NUMPY_2_5 and not all(type(n) is int for n in numbers):
        for n in numbers:
            try:
                operator.index(n)
            except TypeError:
                warnings.warn(
                    f"Cannot convert {type(n).__name__} safely to an integer. This will raise an error "
                    "in future versions (Deprecated NumPy 2.5)",
                    DeprecationWarning,
                    stacklevel=4,
                )
                return


def tri(N, M=None, k=0, dtype=float, *, like=None):
    """A matrix of ones at and below a diagonal, zeros above it.

    Parameters
    ----------
    N : int
        Rows.
    M : int, optional
        Columns; by default N.
    k : int
        The diagonal up to which there are ones: 0 the main one, positive above it, negative below.
    dtype : dtype
        Of the result; by default float64.
    like : array_like, optional
        An object whose __array_function__ makes the array.

    Returns
    -------
    ndarray, shape (N, M)

    Examples
    --------
    >>> import asnumpy as np
    >>> np.tri(3, 4, 1, dtype=int)
    array([[1, 1, 0, 0],
           [1, 1, 1, 0],
           [1, 1, 1, 1]])
    """
    if M is None:
        M = N
    _warn_of_no_integer(N, M, k)
    return (arange(N)[:, None] >= arange(-k, M - k)).astype(dtype)


def tril(m, k=0):
    """The lower triangle: a copy whose elements above a diagonal are 0.

    Parameters
    ----------
    m : array_like, shape (..., M, N)
        A matrix, or a stack of them.
    k : int
        The diagonal above which there are zeros: 0 the main one, positive above it, negative below.

    Returns
    -------
    ndarray, of m's shape and dtype

    Examples
    --------
    >>> import asnumpy as np
    >>> np.tril(np.arange(1, 10).reshape(3, 3))
    array([[1, 0, 0],
           [4, 5, 0],
           [7, 8, 9]])
    """
    m = asanyarray(m)
    return _core.where(tri(*m.shape[-2:], k=k, dtype=bool), m, zeros(1, m.dtype))


def triu(m, k=0):
    """The upper triangle: a copy whose elements below a diagonal are 0.

    Parameters
    ----------
    m : array_like, shape (..., M, N)
        A matrix, or a stack of them.
    k : int
        The diagonal below which there are zeros: 0 the main one, positive above it, negative below.

    Returns
    -------
    ndarray, of m's shape and dtype

    Examples
    --------
    >>> import asnumpy as np
    >>> np.triu(np.arange(1, 10).reshape(3, 3), k=1)
    array([[0, 2, 3],
           [0, 0, 6],
           [0, 0, 0]])
    """
    m = asanyarray(m)
    return _core.where(tri(*m.shape[-2:], k=k - 1, dtype=bool), zeros(1, m.dtype), m)


def tril_indices(n, k=0, m=None):
    """Indices of the lower triangle of a matrix.

    Parameters
    ----------
    n : int
        Rows.
    k : int
        The diagonal up to which elements belong to it: 0 the main one, positive above, negative below.
    m : int, optional
        Columns; by default n.

    Returns
    -------
    tuple of two arrays of int64
        Row and column numbers, in row-major order.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.arange(9).reshape(3, 3)
    >>> a[np.tril_indices(3)]
    array([0, 3, 4, 6, 7, 8])
    """
    return tri(n, m, k=k, dtype=bool).nonzero()


def triu_indices(n, k=0, m=None):
    """Indices of the upper triangle of a matrix.

    Parameters
    ----------
    n : int
        Rows.
    k : int
        The diagonal from which elements belong to it: 0 the main one, positive above, negative below.
    m : int, optional
        Columns; by default n.

    Returns
    -------
    tuple of two arrays of int64
        Row and column numbers, in row-major order.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.arange(9).reshape(3, 3)
    >>> a[np.triu_indices(3)]
    array([0, 1, 2, 4, 5, 8])
    """
    return (~tri(n, m, k=k - 1, dtype=bool)).nonzero()


def _square_of(arr):
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return arr.shape


def tril_indices_from(arr, k=0):
    """Indices of the lower triangle of a matrix that is given.

    Parameters
    ----------
    arr : array_like, shape (M, N)
        The matrix that the indices are for.
    k : int
        The diagonal up to which elements belong to it: 0 the main one, positive above, negative below.

    Returns
    -------
    tuple of two arrays of int64
        Row and column numbers, in row-major order.

    Raises
    ------
    ValueError
        arr is no matrix.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.arange(4).reshape(2, 2)
    >>> a[np.tril_indices_from(a)]
    array([0, 2, 3])
    """
    n, m = _square_of(arr)
    return tril_indices(n, k=k, m=m)


def triu_indices_from(arr, k=0):
    """Indices of the upper triangle of a matrix that is given.

    Parameters
    ----------
    arr : array_like, shape (M, N)
        The matrix that the indices are for.
    k : int
        The diagonal from which elements belong to it: 0 the main one, positive above, negative below.

    Returns
    -------
    tuple of two arrays of int64
        Row and column numbers, in row-major order.

    Raises
    ------
    ValueError
        arr is no matrix.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.arange(4).reshape(2, 2)
    >>> a[np.triu_indices_from(a)]
    array([0, 1, 3])
    """
    n, m = _square_of(arr)
    return triu_indices(n, k=k, m=m)


def mask_indices(n, mask_func, k=0):
    """Indices of the elements that a masking function keeps in a square matrix.

    Parameters
    ----------
    n : int
        The number of rows and of columns.
    mask_func : callable
        Called as mask_func(a, k) of a matrix of ones; what it leaves nonzero is kept (triu, tril).
    k : scalar
        Passed to mask_func: of triu and tril the diagonal.

    Returns
    -------
    tuple of two arrays of int64
        Row and column numbers, in row-major order.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.arange(9).reshape(3, 3)
    >>> a[np.mask_indices(3, np.triu, 1)]
    array([1, 2, 5])
    """
    return asarray(mask_func(ones((n, n), int), k) != 0).nonzero()


def diag_indices(n, ndim=2):
    """Indices of the main diagonal of an array whose dimensions are equal.

    Parameters
    ----------
    n : int
        The length of each dimension.
    ndim : int
        How many dimensions there are.

    Returns
    -------
    tuple of ndim arrays of int64, shape (n,)
        a[diag_indices(n)] are the elements whose indices are equal.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.zeros((2, 2), int)
    >>> a[np.diag_indices(2)] = [5, 6]
    >>> a
    array([[5, 0],
           [0, 6]])
    """
    return (arange(n),) * ndim


def diag_indices_from(arr):
    """Indices of the main diagonal of an array with two or more dimensions of one length.

    Parameters
    ----------
    arr : array_like
        The array that the indices are for.

    Returns
    -------
    tuple of arrays of int64
        One for each dimension.

    Raises
    ------
    ValueError
        arr has fewer than two dimensions, or dimensions of different lengths.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.arange(4).reshape(2, 2)
    >>> a[np.diag_indices_from(a)]
    array([0, 3])
    """
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(arr.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(arr.shape[0], arr.ndim)
