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


def matmul(x1, x2, /):
    """The matrix product."""
    return _core.matmul(x1, x2)


def vecdot(x1, x2, /, *, axis=-1):
    """The product of vectors, the first conjugated."""
    return _core.vecdot(x1, x2, axis=axis)


def outer(x1, x2, /):
    """The products of all pairs of two vectors."""
    x1, x2 = asarray(x1), asarray(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(
            "Input arrays must be one-dimensional, but they are "
            f"x1.ndim={x1.ndim} and x2.ndim={x2.ndim}."
        )
    return _core.outer(x1, x2)


def cross(x1, x2, /, *, axis=-1):
    """The cross product of vectors of three components."""
    x1, x2 = asarray(x1), asarray(x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{x1.shape[axis]} and {x2.shape[axis]} dimensional instead."
        )
    return _cross(x1, x2, axis=axis)


def tensordot(x1, x2, /, *, axes=2):
    """The sum of products over given axes."""
    return _core.tensordot(x1, x2, axes=axes)


def matrix_transpose(x, /):
    """A view with the last two axes swapped."""
    x = asanyarray(x)
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return x.mT


def diagonal(x, /, *, offset=0):
    """The diagonals of the matrices in the last two axes."""
    return asanyarray(x).diagonal(offset=offset, axis1=-2, axis2=-1)


def trace(x, /, *, offset=0, dtype=None):
    """The sums of the diagonals of the matrices in the last two axes."""
    return asanyarray(x).trace(offset=offset, axis1=-2, axis2=-1, dtype=dtype)


def multi_dot(arrays, *, out=None):
    """The product of several matrices, in the cheapest order."""
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
    """A square matrix to an integer power, by repeated squaring."""
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
    return result.copy() if result is a else result


_host_all(globals(), __name__)
