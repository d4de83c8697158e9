"""How evenly the CPU device's threads share their work: differences of the sums that the pool counts while watched."""

from . import _core

_NAMES = ("regions", "chunks", "span", "room", "mean", "lost")


class PoolStatistics:
    """What the threads did inside a ``with`` block; `pool_statistics` makes it.

    Inside the block the numbers are those so far. They are of regions: pieces of work, from
    some 10 us on, that the caller shares with workers. A thread that another program keeps from
    its core counts as busy.

    Attributes
    ----------
    regions, chunks : int
        How many regions, and the pieces that threads claimed from them, one at a time.
    seconds : float
        The time of the regions.
    busy : list of float
        Seconds that each thread computed in them: first all callers together, then each worker.
    load_imbalance : float
        The mean of the regions' max ``|busy - mean|`` / mean over their threads, by time; 0.0
        without a region.
    utilization : float
        Busy seconds / (seconds x threads) over the regions; 1.0 without one.

    Examples
    --------
    >>> import asnumpy as np
    >>> with np.balance.pool_statistics() as pool:
    ...     np.sort(np.arange(100_000)[::-1]).sum()
    np.int64(4999950000)
    >>> 0.0 < pool.utilization <= 1.0
    True
    """

    def __init__(self):
        self._begun = self._ended = None

    def __enter__(self):
        if self._begun is not None:
            raise RuntimeError(
                "pool_statistics: entered before; each with block needs one of its own"
            )
        _core.synchronize()
        _core._pool_watch(True)
        self._begun = _core._pool_times()
        return self

    def __exit__(self, *exception):
        try:
            _core.synchronize()
        finally:
            self._ended = _core._pool_times()
            _core._pool_watch(False)

    def _since(self, name):
        if self._begun is None:
            raise RuntimeError("pool_statistics: nothing was counted: use it in a with block")
        if self._ended is None:
            _core.synchronize()
        at = _NAMES.index(name)
        return (self._ended or _core._pool_times())[at] - self._begun[at]

    @property
    def regions(self):
        """Regions: pieces of work that the caller shares with workers."""
        return self._since("regions")

    @property
    def chunks(self):
        """Pieces that threads claimed from the regions, one at a time."""
        return self._since("chunks")

    @property
    def seconds(self):
        """The time of the regions, in seconds."""
        return self._since("span") / 1e9

    @property
    def busy(self):
        """Seconds that each thread computed: first all callers together, then each worker."""
        self._since("span")
        before = self._begun[-1]
        now = (self._ended or _core._pool_times())[-1]
        before = before + [0] * (len(now) - len(before))
        return [(n - b) / 1e9 for n, b in zip(now, before, strict=True)]

    @property
    def load_imbalance(self):
        """The mean of max ``|busy - mean|`` / mean over the regions' threads, by time; 0.0 without one."""
        mean = self._since("mean")
        return self._since("lost") / mean if mean else 0.0

    @property
    def utilization(self):
        """Busy seconds / (seconds x threads) over the regions; 1.0 without one."""
        room = self._since("room")
        return sum(self.busy) * 1e9 / room if room else 1.0

    def __repr__(self):
        if self._begun is None:
            return "PoolStatistics(not entered)"
        return (
            f"PoolStatistics(regions={self.regions}, chunks={self.chunks}, seconds={self.seconds:.6f}, "
            f"load_imbalance={self.load_imbalance:.3f}, utilization={self.utilization:.3f})"
        )


def pool_statistics():
    """Measures how evenly the CPU device's threads share the work of a ``with`` block.

    Returns
    -------
    PoolStatistics
        With regions, chunks, seconds, busy, load_imbalance and utilization.

    Notes
    -----
    Counted is the whole process, on all streams; blocks may overlap. Entering and leaving wait
    for everything recorded. Outside such blocks nothing is counted. On an NPU these are the
    threads of the host's CPU device, which computes what the NPU does not.

    Examples
    --------
    >>> import asnumpy as np
    >>> with np.balance.pool_statistics() as pool:
    ...     x = np.arange(1_000_000.0)
    ...     y = (np.sin(x) * np.exp(-x)).sum()
    >>> len(pool.busy) >= 1 and pool.chunks >= pool.regions
    True
    """
    return PoolStatistics()
