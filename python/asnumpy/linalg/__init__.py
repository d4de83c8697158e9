"""Linear algebra: products, norms and powers of (stacks of) matrices; solvers and decompositions
are in the two private modules."""

import functools
import operator

import numpy as _np
from numpy.linalg import LinAlgError

from .. import _core
from .._core import asanyarray, asarray
from .._products import cross as _cross
from .._support import host_all as _host_all
from ._decompositions import (
    cond,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    lstsq,
    matrix_rank,
    pinv,
    qr,
    svd,
    svdvals,
)
from ._solvers import cholesky, det, inv, slogdet, solve, tensorinv, tensorsolve

norm, vector_norm = _core._linalg_norm, _core._linalg_vector_norm
matrix_norm = _core._linalg_matrix_norm

__all__ = [
    "LinAlgError", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals",
    "eigvalsh", "inv", "lstsq", "matmul", "matrix_norm", "matrix_power", "matrix_rank",
    "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr", "slogdet", "solve", "svd",
    "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot", "vector_norm",
]  # fmt: skip


def __dir__():
    return __all__


def matmul(x1, x2, /):
    """The matrix product, as the array API standard has it.

    Parameters
    ----------
    x1 : array_like, shape (..., m, k) or (k,)
        The first factor.
    x2 : array_like, shape (..., k, n) or (k,)
        The second one.

    Returns
    -------
    ndarray or NumPy scalar
        Of shape (..., m, n), without the axis of a vector.

    Raises
    ------
    ValueError
        The shapes do not fit, or one is a number.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.linalg.matmul([[1, 2], [3, 4]], [5, 6])
    array([17, 39])
    """
    return _core.matmul(x1, x2)


def vecdot(x1, x2, /, *, axis=-1):
    """The scalar products of vectors, the first conjugated.

    Parameters
    ----------
    x1, x2 : array_like
        Vectors along axis; they broadcast in the others.
    axis : int
        The axis.

    Returns
    -------
    ndarray or NumPy scalar

    Raises
    ------
    ValueError
        The vectors are of different lengths.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.linalg.vecdot([[1, 2], [3, 4]], [10, 1])
    array([12, 34])
    """
    return _core.vecdot(x1, x2, axis=axis)


def outer(x1, x2, /):
    """The products of each element of one vector with each of another.

    Parameters
    ----------
    x1 : array_like, shape (m,)
        The elements of the rows.
    x2 : array_like, shape (n,)
        The elements of the columns.

    Returns
    -------
    ndarray, shape (m, n)

    Raises
    ------
    ValueError
        One of them has not one dimension.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.linalg.outer([1, 2], [10, 20])
    array([[10, 20],
           [20, 40]])
    """
    x1, x2 = asarray(x1), asarray(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(
            "Input arrays must be one-dimensional, but they are "
            f"x1.ndim={x1.ndim} and x2.ndim={x2.ndim}."
        )
    return _core.outer(x1, x2)


def cross(x1, x2, /, *, axis=-1):
    """The cross product of vectors with three components, as the array API standard has it.

    Parameters
    ----------
    x1, x2 : array_like
        Vectors of three components along axis; they broadcast in the others.
    axis : int
        The axis.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        The axis is not of three components.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.linalg.cross([1, 0, 0], [0, 1, 0])
    array([0, 0, 1])
    """
    x1, x2 = asarray(x1), asarray(x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{x1.shape[axis]} and {x2.shape[axis]} dimensional instead."
        )
    return _cross(x1, x2, axis=axis)


def tensordot(x1, x2, /, *, axes=2):
    """Sums of products over axes of two arrays; numpy.tensordot.

    Parameters
    ----------
    x1, x2 : array_like
        The arrays.
    axes : int or pair of sequences of ints
        How many of the last axes of x1 are summed with the first of x2, or which with which.

    Returns
    -------
    ndarray
        The other axes of x1, then those of x2.

    Raises
    ------
    ValueError
        Axes of different lengths.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.linalg.tensordot([[1, 2], [3, 4]], [[5, 6], [7, 8]], axes=([0], [1]))
    array([[23, 31],
           [34, 46]])
    """
    return _core.tensordot(x1, x2, axes=axes)


def matrix_transpose(x, /):
    """Matrices with rows and columns exchanged.

    Parameters
    ----------
    x : array_like, shape (..., m, n)
        A matrix, or a stack of them.

    Returns
    -------
    ndarray, shape (..., n, m)
        A view.

    Raises
    ------
    ValueError
        x has fewer than two dimensions.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.linalg.matrix_transpose(np.array([[1, 2], [3, 4]]))
    array([[1, 3],
           [2, 4]])
    """
    x = asanyarray(x)
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return x.mT


def diagonal(x, /, *, offset=0):
    """The diagonals of the matrices in the last two axes.

    Parameters
    ----------
    x : array_like, shape (..., m, n)
        A matrix, or a stack of them.
    offset : int
        Which: 0 the main one, positive above it, negative below.

    Returns
    -------
    ndarray
        A read-only view, of shape (..., length of the diagonal).

    Raises
    ------
    ValueError
        x has fewer than two dimensions.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.linalg.diagonal(np.arange(6).reshape(2, 3), offset=1)
    array([1, 5])
    """
    return asanyarray(x).diagonal(offset=offset, axis1=-2, axis2=-1)


def trace(x, /, *, offset=0, dtype=None):
    """The sums of the diagonals of the matrices in the last two axes.

    Parameters
    ----------
    x : array_like, shape (..., m, n)
        A matrix, or a stack of them.
    offset : int
        Which: 0 the main one, positive above it, negative below.
    dtype : dtype, optional
        In which is added; by default as sum has it.

    Returns
    -------
    ndarray or NumPy scalar
        Of shape (...).

    Raises
    ------
    ValueError
        x has fewer than two dimensions.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.linalg.trace([[1, 2], [3, 4]])
    np.int64(5)
    """
    return asanyarray(x).trace(offset=offset, axis1=-2, axis2=-1, dtype=dtype)


def multi_dot(arrays, *, out=None):
    """The product of several matrices, in the order that takes the fewest multiplications.

    Parameters
    ----------
    arrays : sequence of array_like
        At least two matrices; the first and the last may be vectors, a row and a column.
    out : ndarray, optional
        Receives the result.

    Returns
    -------
    ndarray or NumPy scalar
        As dot of one after the other.

    Raises
    ------
    ValueError
        There are fewer than two, or shapes that do not fit.
    LinAlgError
        An array is no matrix.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.linalg.multi_dot([[[1, 2], [3, 4]], [[0, 1], [1, 0]], [1, 1]])
    array([3, 7])
    """
    n = len(arrays)
    if n < 2:
        raise ValueError("Expecting at least two arrays.")
    if n == 2:
        return _core.dot(arrays[0], arrays[1], out)
    arrays = [asanyarray(a) for a in arrays]
    first, last = arrays[0].ndim, arrays[-1].ndim
    if first == 1:
        arrays[0] = arrays[0][None, :]
    if last == 1:
        arrays[-1] = arrays[-1][:, None]
    for a in arrays:
        if a.ndim != 2:
            raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    if n == 3:
        result = _three(*arrays, out)
    else:
        extents = [a.shape[0] for a in arrays] + [arrays[-1].shape[1]]
        result = _multiply(arrays, _cheapest(extents), out)
    if first == 1 and last == 1:
        return result[0, 0]
    return result.ravel() if first == 1 or last == 1 else result


def _three(a, b, c, out):
    """The product of three matrices by the cheaper of its two orders."""
    (rows, first), (second, columns) = a.shape, c.shape
    if rows * second * (first + columns) < first * columns * (rows + second):
        return _core.dot(_core.dot(a, b), c, out)
    return _core.dot(a, _core.dot(b, c), out)


def _cheapest(p):
    """split(i, j): where the product of matrices i..j is best divided (dynamic programming)."""

    @functools.cache
    def best(i, j):
        if i == j:
            return 0, i
        return min(
            (best(i, k)[0] + best(k + 1, j)[0] + p[i] * p[k + 1] * p[j + 1], k) for k in range(i, j)
        )

    return lambda i, j: best(i, j)[1]


def _multiply(arrays, split, out):
    def product(i, j, out=None):
        if i == j:
            return arrays[i]
        k = split(i, j)
        return _core.dot(product(i, k), product(k + 1, j), out)

    return product(0, len(arrays) - 1, out)


def matrix_power(a, n):
    """A square matrix to an integer power.

    Parameters
    ----------
    a : array_like, shape (..., m, m)
        A matrix, or a stack of them.
    n : int
        The power: 0 gives the identity, a negative one that of the inverse.

    Returns
    -------
    ndarray, of a's shape
        By repeated squaring.

    Raises
    ------
    LinAlgError
        a is not square, or singular where n is negative.
    TypeError
        n is no integer.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.linalg.matrix_power([[1, 1], [1, 0]], 10)
    array([[89, 55],
           [55, 34]])
    """
    a = asanyarray(a)
    if a.ndim < 2:
        raise LinAlgError(
            f"{a.ndim}-dimensional array given. Array must be at least two-dimensional"
        )
    if a.shape[-1] != a.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError("exponent must be an integer") from error
    if n < 0:
        a, n = inv(a), -n
    if n == 0:
        result = _core.empty_like(a)
        result[...] = asarray(_np.eye(a.shape[-2]), dtype=a.dtype)
        return result
    result = None
    while n:
        if n & 1:
            result = a if result is None else _core.matmul(result, a)
        n >>= 1
        if n:
            a = _core.matmul(a, a)
    return result  # of the exponent 1 a itself, as NumPy's


_host_all(globals(), __name__)
