"""Products by the way that suits their density, over src/sparse/product.h."""

from typing import NamedTuple

from .. import _core
from .._core import asarray
from ._pattern import SparsePattern
from ._product import STRATEGIES, times_dense
from ._stored import Stored


class SparseThresholds(NamedTuple):
    """Densities at which a `SparseMatMulOptimizer` changes its way.

    Parameters
    ----------
    direct : float
        Below it a product is direct.
    blocked : float
        Below it a product goes in blocks, from it on it is dense.
    inner : float
        Blocks of at least this density are dense.

    Examples
    --------
    >>> from asnumpy import sparse
    >>> sparse.SparseMatMulOptimizer(0.10, 0.30, 0.15).thresholds()
    SparseThresholds(direct=0.1, blocked=0.3, inner=0.15)
    """

    direct: float
    blocked: float
    inner: float


class SparseMatMulOptimizer:
    """Sparse times dense, by the way that suits the density.

    Below the density `direct` a product is direct, over stored elements. Below `blocked` it goes in
    blocks of 64 rows (the last one may have fewer): a block of at least the density `inner` is a
    product of dense matrices, others are direct, and all threads share each. From `blocked` on the
    whole is a product of dense matrices. Elements that do not count take no part: where the dense
    factor holds an infinity or a NaN every way is the direct one.

    Parameters
    ----------
    direct, blocked, inner : float, optional
        Thresholds, 0 <= direct <= blocked <= 1 and 0 <= inner <= 1. What is not given is measured on
        the machine, once in a process, when it is first needed (some hundredths of a second).

    Raises
    ------
    ValueError
        For other thresholds, at the first use.

    Examples
    --------
    >>> import asnumpy as np
    >>> from asnumpy import sparse
    >>> optimizer = sparse.SparseMatMulOptimizer(0.10, 0.30, 0.15)
    >>> optimizer.matmul(np.ones((3, 3)), np.ones((3, 2)), sparse.SparsePattern.causal(3))
    array([[1., 1.],
           [2., 2.],
           [3., 3.]])
    """

    def __init__(self, direct=None, blocked=None, inner=None):
        self._given = direct, blocked, inner

    def thresholds(self):
        """The densities in use, (direct, blocked, inner); those that were not given are measured now.

        A measured threshold gives way to a given one: direct is at most blocked.

        Returns
        -------
        SparseThresholds

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.SparseMatMulOptimizer(0.10, 0.30, 0.15).thresholds().blocked
        0.3
        """
        if None not in self._given:
            return SparseThresholds(*map(float, self._given))
        direct, blocked, inner = (
            m if g is None else float(g)
            for g, m in zip(self._given, _core._sparse_measured(), strict=True)
        )
        if self._given[0] is None:
            direct = min(direct, blocked)
        elif self._given[1] is None:
            blocked = max(direct, blocked)
        return SparseThresholds(direct, blocked, inner)

    def matmul(self, a, b, pattern=None, strategy="auto"):
        """The product a @ b of those elements of `a` that are stored, or that count by a pattern.

        Parameters
        ----------
        a : sparse array, or array_like with a pattern
            Of shape (m, k).
        b : array_like
            Of shape (k, n), or (k,) with a sparse array.
        pattern : SparsePattern, optional
            Which elements of a dense `a` count.
        strategy : {"auto", "direct", "blocked", "dense"}

        Returns
        -------
        ndarray
            (m, n) or (m,), of the promoted dtype.

        Raises
        ------
        ValueError
            Shapes that do not fit, another strategy, thresholds out of range.
        TypeError
            A dense `a` without a pattern, a sparse one with it.

        Examples
        --------
        >>> import asnumpy as np
        >>> from asnumpy import sparse
        >>> a = sparse.csr_array([[0.0, 2.0], [1.0, 0.0]])
        >>> sparse.SparseMatMulOptimizer().matmul(a, np.eye(2), strategy="dense")
        array([[0., 2.],
               [1., 0.]])
        """
        if strategy not in STRATEGIES:
            raise ValueError(f"matmul: strategy is {strategy!r}; allowed are {STRATEGIES}")
        way = STRATEGIES.index(strategy)
        given = None if strategy in ("direct", "dense") else tuple(self.thresholds())
        if isinstance(a, Stored):
            if pattern is not None:
                raise TypeError("matmul: a sparse array has a pattern of its own; got another one")
            return times_dense(a.tocsr(), b, way, given)
        if not isinstance(pattern, SparsePattern):
            raise TypeError(
                f"matmul: a dense array needs a SparsePattern, got {type(pattern).__name__}"
            )
        return _core._sparse_multiply(pattern._held, asarray(a), asarray(b), way, given)
