"""Sparse arrays from diagonals, random numbers, and other sparse arrays."""

import math

import numpy as _np

from .. import _core
from .._core import arange, asarray, concatenate
from .._joining import atleast_1d, atleast_2d
from ._base import sparray
from ._common import ours
from ._formats import (  # noqa: F401
    coo_array,
    coo_matrix,
    csr_array,
    csr_matrix,
    dia_array,
    dia_matrix,
)
from ._indices import data_dtype, shape_of


def _sparse(x):
    """x as a sparse array of two dimensions."""
    x = ours(x)
    return x if isinstance(x, sparray) else coo_array(atleast_2d(asarray(x)))


def _coo_class(parts):
    """coo_array where one of the parts is an array or dense, coo_matrix of matrices alone."""
    given = [ours(p) for p in parts]
    matrices = [p for p in given if isinstance(p, sparray)]
    return coo_matrix if matrices and all(p._is_matrix for p in matrices) else coo_array


def eye_array(m, n=None, *, k=0, dtype=float, format=None):
    """Ones on a diagonal.

    Parameters
    ----------
    m, n : int
        Rows and columns; n is m by default.
    k : int
        The diagonal; 0 is the main one, above it are positive ones.
    dtype : dtype
        Of the elements.
    format : str, optional
        The format, "dia" by default.

    Returns
    -------
    sparse array
        Of shape (m, n).

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.eye_array(2, dtype=int).toarray()
    array([[1, 0],
           [0, 1]])
    """
    return _eye(dia_array, m, n, k, dtype, format)


def _eye(cls, m, n, k, dtype, format):
    shape = shape_of((m, m if n is None else n))
    length = max(0, min(shape[0] + min(k, 0), shape[1] - max(k, 0)))
    i = arange(length)
    made = cls._made(
        i + max(0, -k), i + max(0, k), _core.ones(length, dtype=data_dtype(dtype)), shape
    )
    return made.asformat(format)


def eye(m, n=None, k=0, dtype=float, format=None):
    """Ones on a diagonal, as a sparse matrix; eye_array makes an array.

    Parameters
    ----------
    m, n : int
        Rows and columns; n is m by default.
    k : int
        The diagonal.
    dtype : dtype
        Of the elements.
    format : str, optional
        The format, "dia" by default.

    Returns
    -------
    sparse matrix
        Of shape (m, n).

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.eye(2, 3, k=1).nnz
    2
    """
    return _eye(dia_matrix, m, n, k, dtype, format)


def identity(n, dtype="d", format=None):
    """The identity, as a sparse matrix.

    Parameters
    ----------
    n : int
        Rows and columns.
    dtype : dtype
        Of the elements.
    format : str, optional
        The format, "dia" by default.

    Returns
    -------
    sparse matrix
        Of shape (n, n).

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.identity(3).diagonal()
    array([1., 1., 1.])
    """
    return eye(n, dtype=dtype, format=format)


def _diags(cls, diagonals, offsets, shape, format, dtype):
    if _np.ndim(offsets) == 0:
        if len(diagonals) == 0 or _np.ndim(diagonals[0]) == 0:
            diagonals = [asarray(diagonals)]
        offsets = [offsets]
    diagonals, offsets = (
        [atleast_1d(asarray(d)) for d in diagonals],
        [int(k) for k in offsets],
    )
    if len(diagonals) != len(offsets):
        raise ValueError(
            f"{len(diagonals)} diagonals with {len(offsets)} offsets; as many are needed"
        )
    if len(set(offsets)) != len(offsets):
        raise ValueError("offset array contains duplicate values")
    if shape is None:
        side = len(diagonals[0]) + abs(offsets[0])
        shape = (side, side)
    m, n = shape = shape_of(shape)
    kind = _np.result_type(*(d.dtype for d in diagonals)) if dtype is None else data_dtype(dtype)
    rows, cols, data = [], [], []
    for diagonal, k in zip(diagonals, offsets, strict=True):
        length = min(m + min(k, 0), n - max(k, 0))
        if length < 0 or (len(diagonal) != length and len(diagonal) != 1):
            raise ValueError(
                f"Diagonal length (offset {k}: {len(diagonal)} at {length}) does not agree with array "
                f"size ({m}, {n})."
            )
        rows.append(arange(length) + max(0, -k))
        cols.append(arange(length) + max(0, k))
        data.append(_core.broadcast_to(diagonal.astype(kind), (length,)))
    made = cls._made(*(concatenate(x) for x in (rows, cols, data)), shape)
    return made.asformat(format)


def diags_array(diagonals, /, *, offsets=0, shape=None, format=None, dtype=None):
    """An array from its diagonals.

    Parameters
    ----------
    diagonals : sequence of array_like
        The elements of each; one number fills a diagonal.
    offsets : int or sequence of int
        Which diagonals; 0 is the main one, above it are positive ones.
    shape : tuple of int, optional
        The extents; square by default, as the first diagonal needs.
    format : str, optional
        The format, "dia" by default.
    dtype : dtype, optional
        Of the elements.

    Returns
    -------
    sparse array
        Of that shape.

    Raises
    ------
    ValueError
        A diagonal is not as long as the shape has it, or is there twice.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.diags_array([[1, 2], [3]], offsets=[0, 1]).toarray()
    array([[1, 3],
           [0, 2]])
    """
    return _diags(dia_array, diagonals, offsets, shape, format, dtype)


def diags(diagonals, offsets=0, shape=None, format=None, dtype=None):
    """A sparse matrix from its diagonals; diags_array makes an array.

    Parameters
    ----------
    diagonals : sequence of array_like
        The elements of each; one number fills a diagonal.
    offsets : int or sequence of int
        Which diagonals.
    shape : tuple of int, optional
        The extents.
    format : str, optional
        The format, "dia" by default.
    dtype : dtype, optional
        Of the elements.

    Returns
    -------
    sparse matrix
        Of that shape.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.diags([1, 2], 1).shape
    (3, 3)
    """
    return _diags(dia_matrix, diagonals, offsets, shape, format, dtype)


def _random(cls, shape, density, format, dtype, rng, sampler):
    from ..random import default_rng

    shape = shape_of(shape, (1, 2))
    if not 0 <= density <= 1:
        raise ValueError(f"density is {density}; 0 <= density <= 1 is expected")
    total = math.prod(shape)
    count = int(round(density * total))
    rng = default_rng(rng)
    keys = asarray(rng.choice(total, count, replace=False)) if count else arange(0)
    data = asarray(rng.random(count) if sampler is None else sampler(size=count))
    kind = data_dtype(_np.float64 if dtype is None else dtype)
    width = max(1, shape[-1])
    return cls._made(keys // width, keys % width, data.astype(kind), shape).asformat(format)


def random_array(shape, *, density=0.01, format="coo", dtype=None, rng=None, data_sampler=None):
    """Random numbers in random places.

    Parameters
    ----------
    shape : tuple of int
        The extents.
    density : float
        The share of elements that are stored.
    format : str
        The format.
    dtype : dtype, optional
        Of the elements, float64 by default.
    rng : None, int or Generator
        A seed, or the generator; the numbers are not SciPy's of that seed.
    data_sampler : callable, optional
        data_sampler(size=n) gives the elements; by default uniform in [0, 1).

    Returns
    -------
    sparse array
        Of that shape.

    Raises
    ------
    ValueError
        The density is not in [0, 1].

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.random_array((10, 10), density=0.2, rng=0).nnz
    20
    """
    return _random(coo_array, shape, density, format, dtype, rng, data_sampler)


def random(m, n, density=0.01, format="coo", dtype=None, rng=None, data_rvs=None):
    """Random numbers in random places, as a sparse matrix; random_array makes an array.

    Parameters
    ----------
    m, n : int
        Rows and columns.
    density : float
        The share of elements that are stored.
    format : str
        The format.
    dtype : dtype, optional
        Of the elements, float64 by default.
    rng : None, int or Generator
        A seed, or the generator; the numbers are not SciPy's of that seed.
    data_rvs : callable, optional
        data_rvs(size=n) gives the elements; by default uniform in [0, 1).

    Returns
    -------
    sparse matrix
        Of shape (m, n).

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.random(10, 10, 0.1, rng=0).nnz
    10
    """
    return _random(coo_matrix, (m, n), density, format, dtype, rng, data_rvs)


def kron(A, B, format=None):
    """The Kronecker product.

    Parameters
    ----------
    A, B : sparse array or array_like
        The factors.
    format : str, optional
        The format, "coo" by default.

    Returns
    -------
    sparse array
        A matrix of matrices alone.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.kron([[1, 2]], sparse.eye_array(2, dtype=int)).toarray()
    array([[1, 0, 2, 0],
           [0, 1, 0, 2]])
    """
    cls, a, b = _coo_class([A, B]), _sparse(A), _sparse(B)
    (i, j, x), (k, l, y) = a._triple(), b._triple()
    shape = tuple(s * t for s, t in zip(a.shape, b.shape, strict=True))
    row = (i.astype(_np.int64)[:, None] * b.shape[0] + k[None, :]).reshape(-1)
    col = (j.astype(_np.int64)[:, None] * b.shape[1] + l[None, :]).reshape(-1)
    return cls._made(row, col, (x[:, None] * y[None, :]).reshape(-1), shape_of(shape)).asformat(
        format
    )


def _block(cls, blocks, format, dtype):
    """Blocks in a grid, None for zeros: one array. ValueError where extents differ."""
    grid = [[None if b is None else _sparse(b) for b in line] for line in blocks]
    if not grid or not grid[0] or any(len(line) != len(grid[0]) for line in grid):
        raise ValueError("blocks must be 2-D: lines of the same number of blocks")
    heights, widths = [None] * len(grid), [None] * len(grid[0])
    placed = [(r, c, b) for r, line in enumerate(grid) for c, b in enumerate(line) if b is not None]
    for r, c, b in placed:
        for which, extents, at, n in (
            ("row", heights, r, b.shape[0]),
            ("column", widths, c, b.shape[1]),
        ):
            if extents[at] not in (None, n):
                raise ValueError(
                    f"blocks[{r},{c}] has incompatible {which} dimensions. Got {n}, expected {extents[at]}."
                )
            extents[at] = n
    for name, extents in (("row", heights), ("column", widths)):
        if None in extents:
            raise ValueError(
                f"{name} {extents.index(None)} of blocks holds None alone; its extent is unknown"
            )
    tops, lefts = (
        [sum(heights[:r]) for r in range(len(grid))],
        [sum(widths[:c]) for c in range(len(widths))],
    )
    shape = shape_of((sum(heights), sum(widths)))
    kind = _np.result_type(*(b.dtype for *_, b in placed)) if dtype is None else data_dtype(dtype)
    parts = [(r, c, b._triple()) for r, c, b in placed]
    row = concatenate([t[0].astype(_np.int64) + tops[r] for r, _, t in parts])
    col = concatenate([t[1].astype(_np.int64) + lefts[c] for _, c, t in parts])
    data = concatenate([t[2].astype(kind) for *_, t in parts])
    return cls._made(row, col, data, shape).asformat(format)


def _flat(blocks):
    return [b for line in blocks for b in line if b is not None]


def block_array(blocks, *, format=None, dtype=None):
    """One array of blocks in a grid.

    Parameters
    ----------
    blocks : sequence of sequences
        Sparse arrays, dense ones, or None for zeros.
    format : str, optional
        The format, "coo" by default.
    dtype : dtype, optional
        Of the elements.

    Returns
    -------
    sparse array
        Of the blocks' extents together.

    Raises
    ------
    ValueError
        Extents in a row or a column of blocks differ.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> a = sparse.coo_array([[1, 2]])
    >>> sparse.block_array([[a, None], [None, a]]).toarray()
    array([[1, 2, 0, 0],
           [0, 0, 1, 2]])
    """
    return _block(coo_array, blocks, format, dtype)


def bmat(blocks, format=None, dtype=None):
    """One array of blocks in a grid; a matrix of matrices alone.

    Parameters
    ----------
    blocks : sequence of sequences
        Sparse arrays, dense ones, or None for zeros.
    format : str, optional
        The format, "coo" by default.
    dtype : dtype, optional
        Of the elements.

    Returns
    -------
    sparse array
        Of the blocks' extents together.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.bmat([[sparse.eye(2), None], [None, sparse.eye(1)]]).shape
    (3, 3)
    """
    return _block(_coo_class(_flat(blocks)), blocks, format, dtype)


def block_diag(mats, format=None, dtype=None):
    """Arrays along the diagonal of a larger one.

    Parameters
    ----------
    mats : sequence
        Sparse arrays or dense ones.
    format : str, optional
        The format, "coo" by default.
    dtype : dtype, optional
        Of the elements.

    Returns
    -------
    sparse array
        Of the extents added up.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.block_diag([[[1]], [[2, 3]]]).toarray()
    array([[1, 0, 0],
           [0, 2, 3]])
    """
    mats = list(mats)
    grid = [[m if i == j else None for j in range(len(mats))] for i, m in enumerate(mats)]
    return _block(_coo_class(mats), grid, format, dtype)


def hstack(blocks, format=None, dtype=None):
    """Arrays beside each other.

    Parameters
    ----------
    blocks : sequence
        Sparse arrays or dense ones, of as many rows.
    format : str, optional
        The format, "coo" by default.
    dtype : dtype, optional
        Of the elements.

    Returns
    -------
    sparse array
        A matrix of matrices alone.

    Raises
    ------
    ValueError
        The numbers of rows differ.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.hstack([sparse.coo_array([[1]]), sparse.coo_array([[2]])]).toarray()
    array([[1, 2]])
    """
    return _block(_coo_class(blocks), [list(blocks)], format, dtype)


def vstack(blocks, format=None, dtype=None):
    """Arrays above each other.

    Parameters
    ----------
    blocks : sequence
        Sparse arrays or dense ones, of as many columns.
    format : str, optional
        The format, "coo" by default.
    dtype : dtype, optional
        Of the elements.

    Returns
    -------
    sparse array
        A matrix of matrices alone.

    Raises
    ------
    ValueError
        The numbers of columns differ.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.vstack([sparse.coo_array([[1]]), sparse.coo_array([[2]])]).shape
    (2, 1)
    """
    return _block(_coo_class(blocks), [[b] for b in blocks], format, dtype)


def _part(A, keep, format):
    a = _sparse(A)
    cls = coo_array if isinstance(A, sparray) and not A._is_matrix else coo_matrix
    row, col, data = a._triple()
    kept = keep(col.astype(_np.int64) - row)
    return cls._made(row[kept], col[kept], data[kept], a.shape).asformat(format)


def tril(A, k=0, format=None):
    """The elements on a diagonal and below it.

    Parameters
    ----------
    A : sparse array or array_like
        Of two dimensions.
    k : int
        The diagonal.
    format : str, optional
        The format, "coo" by default.

    Returns
    -------
    sparse array
        Of the same shape; of what is dense a matrix.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.tril([[1, 2], [3, 4]]).toarray()
    array([[1, 0],
           [3, 4]])
    """
    return _part(A, lambda d: d <= k, format)


def triu(A, k=0, format=None):
    """The elements on a diagonal and above it.

    Parameters
    ----------
    A : sparse array or array_like
        Of two dimensions.
    k : int
        The diagonal.
    format : str, optional
        The format, "coo" by default.

    Returns
    -------
    sparse array
        Of the same shape; of what is dense a matrix.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.triu([[1, 2], [3, 4]]).toarray()
    array([[1, 2],
           [0, 4]])
    """
    return _part(A, lambda d: d >= k, format)


def find(A):
    """Where elements are not zero, and what they are.

    Parameters
    ----------
    A : sparse array or array_like
        Of two dimensions; elements stored twice are added.

    Returns
    -------
    tuple of ndarray
        Rows, columns and elements, in row-major order.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.find([[0, 2], [3, 0]])
    (array([0, 1]), array([1, 0]), array([2, 3]))
    """
    a = _sparse(A)
    keys, data = a._sorted()
    kept = data != 0
    keys, width = keys[kept], max(1, a.shape[1])
    return keys // width, keys % width, data[kept]


def issparse(x):
    """Whether x is one of our sparse arrays or matrices.

    Parameters
    ----------
    x : object
        Anything.

    Returns
    -------
    bool
        False for SciPy's.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.issparse(sparse.eye_array(2)), sparse.issparse([[1]])
    (True, False)
    """
    return isinstance(x, sparray)


def isspmatrix(x):
    """Whether x is one of our sparse matrices.

    Parameters
    ----------
    x : object
        Anything.

    Returns
    -------
    bool
        False for sparse arrays.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.isspmatrix(sparse.eye(2)), sparse.isspmatrix(sparse.eye_array(2))
    (True, False)
    """
    return isinstance(x, sparray) and x._is_matrix
