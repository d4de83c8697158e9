"""Sparse times dense and sparse times sparse.

With a dense matrix: the library's direct product (src/sparse/product.h), which is the device's own
operation where it has one.

With a sparse matrix: each stored element meets its row of the other one; the products are sorted by
position and added (expand, sort, compress: Dalton, Olson, Bell 2015).
"""

import numpy as _np

from .. import _core
from .._core import asarray
from ._indices import keys_of, pointers, ranges, rows_of, summed

STRATEGIES = ("auto", "direct", "blocked", "dense")  # by the library's numbers


def times_dense(csr, dense, strategy=1, thresholds=None):
    """csr @ dense, of one or two dimensions; ValueError where the extents differ."""
    dense = asarray(dense)
    if dense.ndim not in (1, 2) or dense.shape[0] != csr.shape[1]:
        raise ValueError(
            f"matmul: dimension mismatch: {csr.shape} by {dense.shape}; allowed are ({csr.shape[1]},) "
            f"and ({csr.shape[1]}, n)"
        )
    wide = dense[:, None] if dense.ndim == 1 else dense
    out = _core._sparse_matmul(csr.indptr, csr.indices, csr.data, wide, strategy, thresholds)
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
