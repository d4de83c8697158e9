"""asnumpy.balance: partitions against NumPy's sums, replays against a plain one, the threads' statistics."""

import math
import threading

import asnumpy as np
import numpy
import pytest
from asnumpy.balance import Partition, partition, pool_statistics, simulate
from hypothesis import given
from hypothesis import strategies as st

STRATEGIES = ("regular", "sparse", "adaptive")
COSTS = st.lists(
    st.one_of(st.just(0.0), st.integers(0, 9), st.floats(0, 1e6, allow_subnormal=False)),
    max_size=60,
)
CORES = st.integers(1, 40)


def loads(p, costs, cores):
    """The load of each core, the rows counted once each."""
    costs = numpy.ones(costs) if isinstance(costs, int) else numpy.asarray(costs, float)
    ends = numpy.cumsum(p.block_sizes, dtype=numpy.int64)
    assert (ends[-1] if len(ends) else 0) == len(costs)
    assert all(size > 0 for size in p.block_sizes)
    assert len(p.core_assignments) == len(p.block_sizes)
    assert all(0 <= core < cores for core in p.core_assignments)
    sums = [part.sum() for part in numpy.split(costs, ends[:-1])] if len(ends) else []
    return numpy.bincount(p.core_assignments, sums, cores) if sums else numpy.zeros(cores)


def imbalance(w):
    return abs(w - w.mean()).max() / w.mean() if w.mean() > 0 else 0.0


@given(COSTS, CORES, st.sampled_from(STRATEGIES))
def test_rows_once_and_measure(costs, cores, strategy):
    p = partition(costs, cores, strategy)
    assert p.load_imbalance == pytest.approx(imbalance(loads(p, costs, cores)), abs=1e-9)
    assert p.load_imbalance <= partition(costs, cores, "regular").load_imbalance
    assert len(p.block_sizes) <= cores * (8 if strategy == "adaptive" else 1)


@given(st.integers(0, 300), CORES, st.sampled_from(STRATEGIES))
def test_equal_rows(rows, cores, strategy):
    p = partition(rows, cores, strategy)
    assert p.load_imbalance == pytest.approx(imbalance(loads(p, rows, cores)), abs=1e-12)
    assert p.load_imbalance <= partition(rows, cores, "regular").load_imbalance
    if strategy != "adaptive":
        parts = [len(part) for part in numpy.array_split(range(rows), cores)]
        assert p.block_sizes == [n for n in parts if n]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.integers(1, 8))
def test_sparse_has_the_smallest_bottleneck(costs, cores):
    """Where it is not the regular partition, no contiguous one has a smaller largest load (dynamic programming)."""
    p = partition(costs, cores, "sparse")
    if p == partition(costs, cores, "regular"):
        return
    sums = numpy.concatenate(([0], numpy.cumsum(costs)))
    best = sums.astype(float)  # of the rows before i, by one block
    for _ in range(cores - 1):
        best = numpy.array([min(max(best[j], sums[i] - sums[j]) for j in range(i + 1))
                            for i in range(len(sums))])  # fmt: skip
    assert loads(p, costs, cores).max() == best[-1]


def test_many_rows_of_a_long_tail():
    costs = numpy.random.default_rng(1).lognormal(0, 1.5, 50_000)
    for strategy in ("sparse", "adaptive"):
        p = partition(costs, 64, strategy)
        assert p.load_imbalance < 0.1 < partition(costs, 64, "regular").load_imbalance
        assert imbalance(loads(p, costs, 64)) == pytest.approx(p.load_imbalance, abs=1e-9)


def test_what_work_may_be():
    expected = partition([4.0, 1.0, 1.0, 2.0], 2, "sparse")
    assert isinstance(expected, Partition)
    assert expected == ([1, 3], [0, 1], 0.0)
    for work in ((4, 1, 1, 2), numpy.array([4, 1, 1, 2], "u1"), np.array([4, 1, 1, 2], "f4"),
                 numpy.array([4, 0, 1, 0, 1, 0, 2, 0.0])[::2]):  # fmt: skip
        assert partition(work, numpy.int64(2), "sparse") == expected
    assert partition([], 3) == partition(0, 3) == ([], [], 0.0)
    assert partition([0, 0, 0], 2).load_imbalance == 0.0
    assert partition(numpy.int32(5), 2, "regular").block_sizes == [3, 2]
    assert partition([1, 1], 4, "adaptive").load_imbalance == 1.0  # two cores are idle
    assert partition(2**40, 3, "regular").block_sizes == [2**40 // 3 + 1, 2**40 // 3, 2**40 // 3]


@pytest.mark.parametrize(
    "work, cores, strategy, says",
    [
        ([1, -2], 2, "regular", "the cost of row 1 is -2"),
        ([math.nan], 2, "sparse", "the cost of row 0 is nan"),
        ([1.0, math.inf], 2, "adaptive", "the cost of row 1 is inf"),
        ([1e308, 1e308], 2, "sparse", "add up to more than a float64 holds"),
        ([[1, 2]], 2, "sparse", r"work has shape \(1, 2\) and dtype int64"),
        (3.5, 2, "sparse", r"work has shape \(\) and dtype float64"),
        (["a"], 2, "sparse", "dtype <U1"),
        ([1j], 2, "sparse", "dtype complex128"),
        ([[1], [1, 2]], 2, "sparse", "work is no array of costs"),
        (-1, 2, "sparse", "work is -1 rows"),
        (2**70, 2, "sparse", "rows; it may be 0 or more"),
        (4, 0, "sparse", "cores is 0; it may be 1 to 1048576"),
        (4, 2**20 + 1, "sparse", "cores is 1048577"),
        (4, 2.5, "sparse", "cores is 2.5"),
        (4, 2, "greedy", "strategy is 'greedy'; it may be 'regular', 'sparse' or 'adaptive'"),
        (4, 2, None, "strategy is None"),
    ],
)
def test_refusals(work, cores, strategy, says):
    with pytest.raises(ValueError, match=says):
        partition(work, cores, strategy)


@given(COSTS, st.integers(1, 12), st.sampled_from(STRATEGIES), st.booleans())
def test_replays(costs, cores, strategy, steal):
    s = simulate(costs, cores, strategy, steal=steal)
    p = partition(costs, cores, strategy)
    assert math.fsum(s.busy) == pytest.approx(math.fsum(costs))
    assert s.claims == len(p.block_sizes)
    assert s.makespan >= max(s.busy) * (1 - 1e-12)
    assert 0 <= s.utilization <= 1 + 1e-12
    if not steal:
        assert s.steals == 0
        w = loads(p, costs, cores)
        assert s.makespan == pytest.approx(w.max(), rel=1e-9)
        assert numpy.allclose(s.busy, w)


def test_a_replay_steals():
    """Told that rows cost the same, the adaptive partition is uneven, and idle cores take what is queued elsewhere."""
    costs = ([8.0] * 2 + [1.0] * 6) * 8  # blocks of two rows, dealt out in turns
    told = numpy.ones(64)
    alone = simulate(costs, 4, estimates=told, steal=False)
    shared = simulate(costs, 4, estimates=told)
    assert shared.steals > 0 and shared.makespan < alone.makespan
    dear = simulate(costs, 4, estimates=told, overhead=1.0)
    assert dear.makespan > shared.makespan
    assert math.fsum(dear.busy) == math.fsum(costs)
    assert simulate([], 3) == (0.0, [0.0] * 3, 1.0, 0, 0)
    assert simulate([2.0, 2.0], 1, overhead=0.5).makespan == 5.0


def test_replays_refuse():
    with pytest.raises(ValueError, match="costs is 5; it may be one cost for each row"):
        simulate(5, 2)
    with pytest.raises(ValueError, match=r"estimates has shape \(3,\); costs has \(2,\)"):
        simulate([1, 2], 2, estimates=[1, 2, 3])
    with pytest.raises(ValueError, match="estimates has shape"):
        simulate([1, 2], 2, estimates=2)
    with pytest.raises(ValueError, match="overhead is -1; it may be 0 or more"):
        simulate([1, 2], 2, overhead=-1)
    with pytest.raises(ValueError, match="overhead is 'a'"):
        simulate([1, 2], 2, overhead="a")
    with pytest.raises(ValueError, match="the cost of row 1 is -2"):
        simulate([1, -2], 2, estimates=[1, 1])


def work():
    x = np.arange(2_000_000.0)
    return float((np.sin(x) * np.exp(-x)).sum())


def test_pool_statistics():
    with pool_statistics() as pool:
        assert pool.regions == 0
        work()
        assert pool.regions >= 0  # readable inside
    counted = pool.regions, pool.chunks, pool.busy
    work()
    assert (pool.regions, pool.chunks, pool.busy) == counted
    assert pool.chunks >= pool.regions >= 0
    assert 0 <= pool.utilization <= 1.001
    assert pool.load_imbalance >= 0
    assert all(seconds >= 0 for seconds in pool.busy)
    assert len(pool.busy) >= 1
    threads = len(pool.busy)
    assert sum(pool.busy) <= pool.seconds * threads * 1.001
    assert f"regions={pool.regions}" in repr(pool)
    if np.engine_stats()["fallbacks"] == 0 and threads > 2:  # the CPU device, with threads
        assert pool.regions > 0 and pool.seconds > 0


def test_pool_statistics_overlap():
    """Blocks on several threads, one inside another: each has what happened in it."""
    found = []

    def one():
        with pool_statistics() as pool:
            work()
        found.append(pool)

    with pool_statistics() as around:
        threads = [threading.Thread(target=one) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        work()
    assert len(found) == 3
    assert all(pool.regions <= around.regions for pool in found)
    with pool_statistics() as idle:
        pass
    assert (idle.regions, idle.chunks, idle.seconds) == (0, 0, 0.0)
    assert (idle.load_imbalance, idle.utilization) == (0.0, 1.0)


def test_pool_statistics_misused():
    pool = pool_statistics()
    assert repr(pool) == "PoolStatistics(not entered)"
    with pytest.raises(RuntimeError, match="nothing was counted"):
        _ = pool.regions
    with pool:
        pass
    with pytest.raises(RuntimeError, match="entered before"), pool:
        pass
