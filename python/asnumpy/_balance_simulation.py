"""Costs replayed on cores that this machine may not have: who computes which block when, with stealing."""

import heapq
import math
from typing import NamedTuple

import numpy as np

from ._balance_partition import costs_of, partition


class Simulation(NamedTuple):
    """What a replay gave; `simulate` makes it.

    Parameters
    ----------
    makespan : float
        When the last core is done, in the unit of the costs.
    busy : list of float
        The costs that each core computed, claims not counted.
    utilization : float
        The mean of busy / makespan; 1.0 where nothing is to be done.
    claims, steals : int
        How many blocks were taken, and how many of them from another core's queue.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.balance.simulate([3, 1, 1, 1], 2, "sparse").utilization
    1.0
    """

    makespan: float
    busy: list
    utilization: float
    claims: int
    steals: int


def _queues(parts, measured, estimated, cores):
    """Each core's blocks as (estimate, cost), the one it begins with last; and what each queue is estimated at."""
    queues = [[] for _ in range(cores)]
    row = 0
    for size, core in zip(parts.block_sizes, parts.core_assignments, strict=True):
        rows = slice(row, row + size)
        queues[core].append((float(estimated[rows].sum()), float(measured[rows].sum())))
        row += size
    for queue in queues:
        queue.sort()
    return queues, [sum(estimate for estimate, _ in queue) for queue in queues]


def _replay(queues, left, overhead, steal):
    """(end, busy, claims, steals): the earliest idle core claims next, the lower number where two are."""
    busy = [0.0] * len(queues)
    events = [(0.0, core) for core in range(len(queues))]
    end, claims, steals = 0.0, 0, 0
    while events:
        now, core = heapq.heappop(events)
        owner = core
        if not queues[core]:
            owner = max(range(len(queues)), key=lambda c: (len(queues[c]) > 0, left[c], -c))
            if not steal or not queues[owner]:
                continue
            steals += 1
        estimate, cost = queues[owner].pop(-1 if owner == core else 0)
        left[owner] -= estimate
        claims += 1
        busy[core] += cost
        end = max(end, now + overhead + cost)
        heapq.heappush(events, (now + overhead + cost, core))
    return end, busy, claims, steals


def simulate(costs, cores, strategy="adaptive", *, estimates=None, overhead=0.0, steal=True):
    """Replays rows of measured costs on cores, which steal from one another when they are idle.

    Parameters
    ----------
    costs : array_like
        What each row costs, shape (rows,), in any unit: measured, for instance.
    cores : int
        As of `partition`.
    strategy : {'regular', 'sparse', 'adaptive'}
        How `partition` deals the rows out.
    estimates : array_like, optional
        What `partition` is told, of the same shape; the costs themselves by default.
    overhead : float
        What it costs a core to claim a block, in the unit of the costs.
    steal : bool
        Whether a core whose queue is empty claims from the one with most estimated work left.

    Returns
    -------
    Simulation
        makespan, busy, utilization, claims, steals.

    Raises
    ------
    ValueError
        As of `partition`; costs is an int; estimates has another shape; overhead is negative or
        not finite.

    Notes
    -----
    A block is claimed whole: by its owner the costliest first, by a thief the cheapest. One
    that a core has begun is not divided, so that there is nothing to steal from partitions of
    one block a core. The thread pool claims alike: from its own range first, then from the
    others' (`docs/design/0008-threads.md`). What cores share, memory bandwidth above all, is
    not in a replay.

    Examples
    --------
    >>> import asnumpy as np
    >>> rows = [1.0] * 60 + [20.0] * 4
    >>> np.balance.simulate(rows, 4, "regular").makespan
    92.0
    >>> np.balance.simulate(rows, 4, "adaptive").makespan
    35.0
    """
    measured = costs_of(costs, "costs")
    if isinstance(measured, int):
        raise ValueError(f"simulate: costs is {measured}; it may be one cost for each row")
    estimated = measured if estimates is None else costs_of(estimates, "estimates")
    if np.shape(estimated) != measured.shape:
        raise ValueError(
            f"simulate: estimates has shape {np.shape(estimated)}; costs has {measured.shape}"
        )
    if not (isinstance(overhead, (int, float, np.number)) and 0 <= overhead < math.inf):
        raise ValueError(f"simulate: overhead is {overhead!r}; it may be 0 or more, and finite")
    parts = partition(estimated, cores, strategy)
    if estimates is not None:
        partition(measured, 1, "regular")  # refuses costs that are none
    end, busy, claims, steals = _replay(
        *_queues(parts, measured, estimated, int(cores)), float(overhead), steal
    )
    mean = math.fsum(busy) / len(busy)
    return Simulation(end, busy, mean / end if end else 1.0, claims, steals)
