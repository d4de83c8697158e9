"""Sparse arrays with SciPy's interface, whose parts are asnumpy's arrays: CSR, CSC, COO, BSR, DIA."""

from . import linalg
from ._base import sparray
from ._common import SparseEfficiencyWarning, SparseWarning
from ._construct import (
    block_array,
    block_diag,
    bmat,
    diags,
    diags_array,
    eye,
    eye_array,
    find,
    hstack,
    identity,
    issparse,
    isspmatrix,
    kron,
    random,
    random_array,
    tril,
    triu,
    vstack,
)
from ._formats import (
    bsr_array,
    bsr_matrix,
    coo_array,
    coo_matrix,
    csc_array,
    csc_matrix,
    csr_array,
    csr_matrix,
    dia_array,
    dia_matrix,
    spmatrix,
)
from ._optimizer import SparseMatMulOptimizer, SparseThresholds
from ._pattern import SparseAnalysis, SparsePattern

__all__ = [
    "SparseAnalysis", "SparseEfficiencyWarning", "SparseMatMulOptimizer", "SparsePattern",
    "SparseThresholds", "SparseWarning", "block_array", "block_diag", "bmat", "bsr_array",
    "bsr_matrix", "coo_array", "coo_matrix", "csc_array", "csc_matrix", "csr_array", "csr_matrix",
    "dia_array", "dia_matrix", "diags", "diags_array", "eye", "eye_array", "find", "hstack", "identity",
    "issparse", "isspmatrix", "kron", "linalg", "random", "random_array", "sparray", "spmatrix", "tril",
    "triu", "vstack",
]  # fmt: skip


def __dir__():
    return __all__
