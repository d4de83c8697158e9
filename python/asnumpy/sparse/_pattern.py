"""Patterns: which elements of a matrix count, made once and used for many products (src/sparse/pattern.h)."""

import operator as _operator
from typing import NamedTuple

from .. import _core
from .._core import asarray
from ._product import STRATEGIES

MOST = 2**63 - 1


def extents(shape, cols):
    """(rows, cols) of a pair, or of an int twice."""
    rows = _operator.index(shape)
    return rows, rows if cols is None else _operator.index(cols)


class SparseAnalysis(NamedTuple):
    """What a product with a pattern would do, and why; `SparsePattern.analyze` makes it.

    Parameters
    ----------
    density : float
        The part of all elements that counts.
    nnz : int
        How many those are.
    filled_blocks, dense_blocks : int
        Blocks of 64 rows that are not empty; that have at least the inner threshold's density.
    strategy : str
        "direct", "blocked" or "dense": what "auto" is.
    reason : str
        A sentence with the numbers that decide.
    row_counts : tuple of int
        How many elements of each row count.
    block_density : tuple of float
        Of each block of 64 rows; the last one may have fewer.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> optimizer = sparse.SparseMatMulOptimizer(0.10, 0.30, 0.15)
    >>> sparse.SparsePattern.causal(3).analyze(optimizer).row_counts
    (1, 2, 3)
    """

    density: float
    nnz: int
    filled_blocks: int
    dense_blocks: int
    strategy: str
    reason: str
    row_counts: tuple
    block_density: tuple


class SparsePattern:
    """Which elements of a matrix count: a mask with its structure in CSR, to be used for many products.

    Parameters
    ----------
    mask : array_like of bool, of shape (m, k)
        True where an element counts; it is copied.

    Raises
    ------
    TypeError
        For a mask of another dtype.
    ValueError
        For one that has not two dimensions.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.SparsePattern.banded(3, lower=1, upper=0).mask
    array([[ True, False, False],
           [ True,  True, False],
           [False,  True,  True]])
    """

    def __init__(self, mask):
        mask = asarray(mask)
        self._take(_core._sparse_pattern(mask), mask.shape)

    def _take(self, held, shape):
        self._held = held
        self.shape = shape

    @classmethod
    def _made(cls, held, shape):
        pattern = cls.__new__(cls)
        pattern._take(held, shape)
        return pattern

    @classmethod
    def causal(cls, rows, cols=None):
        """Element (i, j) counts where j <= i: what a token may see of itself and those before it.

        Parameters
        ----------
        rows, cols : int
            The shape; cols is rows by default.

        Returns
        -------
        SparsePattern

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.SparsePattern.causal(2, 3).mask
        array([[ True, False, False],
               [ True,  True, False]])
        """
        return cls.banded(rows, cols, MOST, 0)

    @classmethod
    def banded(cls, rows, cols=None, lower=0, upper=0):
        """Element (i, j) counts where -lower <= j - i <= upper: diagonals beside the main one.

        Parameters
        ----------
        rows, cols : int
            The shape; cols is rows by default.
        lower, upper : int
            How many diagonals below the main one and above it; a negative number leaves out the
            main one and those next to it.

        Returns
        -------
        SparsePattern

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.SparsePattern.banded(2, 3, lower=0, upper=1).mask
        array([[ True,  True, False],
               [False,  True,  True]])
        """
        shape = extents(rows, cols)
        return cls._made(_core._sparse_banded(*shape, lower, upper), shape)

    @classmethod
    def block(cls, blocks, block_shape, shape=None):
        """Element (i, j) counts where blocks[i // height, j // width] is true.

        Parameters
        ----------
        blocks : array_like of bool, of two dimensions
        block_shape : (int, int)
            (height, width) of a block.
        shape : (int, int), optional
            Where the last blocks are cut off; else all are whole.

        Returns
        -------
        SparsePattern

        Raises
        ------
        ValueError
            Where the blocks do not cover the shape, or some are not needed.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.SparsePattern.block([[True, False]], (1, 2), (1, 3)).mask
        array([[ True,  True, False]])
        """
        blocks = asarray(blocks)
        height, width = map(_operator.index, block_shape)
        if shape is None and blocks.ndim == 2:
            shape = blocks.shape[0] * height, blocks.shape[1] * width
        rows, cols = map(_operator.index, shape or (0, 0))
        return cls._made(_core._sparse_blocks(blocks, height, width, rows, cols), (rows, cols))

    @property
    def nnz(self):
        """How many elements count."""
        return len(self.indices)

    @property
    def mask(self):
        """Where elements count: a copy, bool."""
        return _core._sparse_parts(self._held)[0]

    @property
    def indptr(self):
        """Where each row's columns begin in indices, and where the last ones end: a copy."""
        return _core._sparse_parts(self._held)[1]

    @property
    def indices(self):
        """The columns of the elements that count, row after row: a copy."""
        return _core._sparse_parts(self._held)[2]

    def analyze(self, optimizer=None):
        """What a product would do, and why.

        Parameters
        ----------
        optimizer : SparseMatMulOptimizer, optional
            Whose thresholds decide; by default those that are measured.

        Returns
        -------
        SparseAnalysis

        Examples
        --------
        >>> from asnumpy import sparse
        >>> optimizer = sparse.SparseMatMulOptimizer(0.10, 0.30, 0.15)
        >>> sparse.SparsePattern.banded(100).analyze(optimizer).reason
        'direct: density 0.01 is below 0.1'
        """
        thresholds = _core._sparse_measured() if optimizer is None else optimizer.thresholds()
        found = SparseAnalysis(*_core._sparse_analyze(self._held, tuple(thresholds)))
        return found._replace(strategy=STRATEGIES[found.strategy])

    def __repr__(self):
        rows, cols = self.shape
        return f"SparsePattern(shape=({rows}, {cols}), nnz={self.nnz})"
