"""Partitions of rows: what a program gives becomes float64 costs for src/base/balance.c, which has the algorithms."""

import operator
from typing import NamedTuple

import numpy as np

from . import _core

STRATEGIES = ("regular", "sparse", "adaptive")


class Partition(NamedTuple):
    """Blocks of rows and the cores they belong to; `partition` makes it.

    Parameters
    ----------
    block_sizes : list of int
        How many rows each block has, in the order of the rows; never 0.
    core_assignments : list of int
        The core of each block, from 0.
    load_imbalance : float
        max ``|load - mean|`` / mean over the loads of all cores, idle ones with 0; 0.0 where
        all costs are 0.

    Examples
    --------
    >>> import asnumpy as np
    >>> sizes, cores, imbalance = np.balance.partition(10, 4, "regular")
    >>> sizes, cores, imbalance
    ([3, 3, 2, 2], [0, 1, 2, 3], 0.2)
    """

    block_sizes: list
    core_assignments: list
    load_imbalance: float


def costs_of(work, what="work"):
    """`work` as an int, of equal rows, or contiguous float64 costs; ValueError with what was got."""
    try:
        return operator.index(work)
    except TypeError:
        pass
    try:
        given = np.asarray(work)
    except ValueError as error:
        raise ValueError(f"partition: {what} is no array of costs: {error}") from None
    if given.size == 0 and given.ndim == 1:
        return np.empty(0)
    if given.ndim != 1 or given.dtype.kind not in "biuf":
        raise ValueError(
            f"partition: {what} has shape {given.shape} and dtype {given.dtype}; it may be a number of rows or one "
            "real cost for each row"
        )
    return np.ascontiguousarray(given, np.float64)


def partition(work, cores, strategy="adaptive"):
    """Deals rows out to cores: blocks of rows that follow one another, and the core of each.

    Parameters
    ----------
    work : int or array_like
        The cost of each row, shape (rows,), real, 0 or more and finite; an int is a number of
        rows that cost the same.
    cores : int
        1 to 1048576.
    strategy : {'regular', 'sparse', 'adaptive'}
        "regular": one block a core, of equally many rows, the first ones with one more.
        "sparse": one block a core, the largest cost of a block as small as contiguous blocks
        allow. "adaptive": up to 8 blocks a core, cut as "sparse" cuts them, the costliest
        first, each to the core that has least.

    Returns
    -------
    Partition
        block_sizes, core_assignments, load_imbalance.

    Raises
    ------
    ValueError
        The costs are of another shape or kind, negative or not finite, or their sum is not;
        cores or strategy is none of those.

    Notes
    -----
    Of fewer rows than cores some cores have none; blocks are never empty. "sparse" is the exact
    bisection of Pinar and Aykanat (Fast optimal load balancing algorithms for 1D partitioning,
    J. Parallel Distrib. Comput. 64, 2004), with each cut as near to its equal share as the
    smallest bottleneck allows; "adaptive" is longest processing time first (Graham, Bounds on
    multiprocessing timing anomalies, SIAM J. Appl. Math. 17, 1969). Both give the regular
    partition where that one's load_imbalance is smaller.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.balance.partition([9, 1, 1, 1, 1, 1], 2, "regular").load_imbalance
    0.5714285714285714
    >>> np.balance.partition([9, 1, 1, 1, 1, 1], 2, "sparse").block_sizes
    [1, 5]
    """
    if strategy not in STRATEGIES:
        raise ValueError(
            f"partition: strategy is {strategy!r}; it may be 'regular', 'sparse' or 'adaptive'"
        )
    try:
        cores = operator.index(cores)
    except TypeError:
        raise ValueError(f"partition: cores is {cores!r}; it may be 1 to 1048576") from None
    if not 1 <= cores <= 1 << 20:
        raise ValueError(f"partition: cores is {cores}; it may be 1 to 1048576")
    costs = costs_of(work)
    if isinstance(costs, int) and not 0 <= costs < 2**63 - 1:
        raise ValueError(f"partition: work is {costs} rows; it may be 0 or more, below 2**63 - 1")
    return Partition(*_core._balance_partition(costs, cores, STRATEGIES.index(strategy)))
