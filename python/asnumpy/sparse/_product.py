"""Sparse times dense and sparse times sparse.

With a dense matrix: the device's own operation where it has one, else a composition: rows of the
dense matrix are gathered by the columns of the stored elements, multiplied by these, and added to
the rows of the result (numpy.add.at), some millions of numbers at a time. Of an array that is dense
enough (DENSE) it is the product of matrices, unless the other one holds an infinity or a NaN, whose
products with zeros that are not stored would be NaN.

With a sparse matrix: each stored element meets its row of the other one; the products are sorted by
position and added (expand, sort, compress: Dalton, Olson, Bell 2015).
"""

import numpy as _np

from .. import _core
from .._core import asarray, zeros
from ._indices import keys_of, pointers, ranges, rows_of, summed

DENSE = 0.3  # density from which on the product of matrices is faster
PIECE = 1 << 22  # products held at a time


def composed(indptr, indices, data, dense, width):
    """(m, width) in CSR times (width, n): by gathers and sums, or by the product of matrices."""
    rows = len(indptr) - 1
    out = zeros((rows, dense.shape[1]), dtype=data.dtype)
    if not len(data) or not dense.shape[1]:
        return out
    each = rows_of(indptr)
    if len(data) > DENSE * rows * width and bool(_core.all(_core.isfinite(dense))):
        whole = zeros((rows, width), dtype=data.dtype)
        _core.add.at(whole, (each, indices), data)
        return _core.matmul(whole, dense)
    step = max(1, PIECE // dense.shape[1])
    for first in range(0, len(data), step):
        part = slice(first, first + step)
        _core.add.at(out, each[part], data[part, None] * dense[indices[part]])
    return out


def product(indptr, indices, data, dense, width):
    """The device's operation, or, where it has none, what is composed of others."""
    try:
        return _core._sparse_matmul(indptr, indices, data, dense)
    except NotImplementedError:
        return composed(indptr, indices, data, dense, width)


def times_dense(csr, dense):
    """csr @ dense, of one or two dimensions; ValueError where the extents differ."""
    dense = asarray(dense)
    if dense.ndim not in (1, 2) or dense.shape[0] != csr.shape[1]:
        raise ValueError(
            f"matmul: dimension mismatch: {csr.shape} by {dense.shape}; allowed are ({csr.shape[1]},) "
            f"and ({csr.shape[1]}, n)"
        )
    dtype = _np.result_type(csr.dtype, dense.dtype)
    wide = dense.astype(dtype, copy=False)
    wide = wide[:, None] if dense.ndim == 1 else wide
    data = csr.data.astype(dtype, copy=False)
    out = product(csr.indptr, csr.indices, data, wide, csr.shape[1])
    return out[:, 0] if dense.ndim == 1 else out


def times_sparse(a, b):
    """(indptr, indices, data) of the product of two arrays in CSR, rows sorted, each position once."""
    dtype = _np.result_type(a.dtype, b.dtype)
    counts = (b.indptr[1:] - b.indptr[:-1])[a.indices]
    inside = ranges(b.indptr[a.indices], counts)
    rows = _core.repeat(rows_of(a.indptr), counts)
    products = _core.repeat(a.data.astype(dtype), counts) * b.data.astype(dtype)[inside]
    width = max(1, b.shape[1])
    keys, sums = summed(keys_of(rows, b.indices[inside], width), products)
    kind = a.indptr.dtype if len(keys) < 2**31 else _np.dtype(_np.int64)
    return pointers(keys // width, a.shape[0], kind), (keys % width).astype(kind), sums
