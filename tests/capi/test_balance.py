"""The C binding's balance.h: partitions against the measure by NumPy, and the threads' sums."""

import ctypes

import numpy as np
import pytest
from face import Failure, c
from hypothesis import given
from hypothesis import strategies as st

ref = ctypes.byref


class Times(ctypes.Structure):
    _fields_ = [("regions", ctypes.c_int64), ("chunks", ctypes.c_int64), ("seconds", ctypes.c_double),
                ("offered", ctypes.c_double), ("mean", ctypes.c_double), ("lost", ctypes.c_double)]  # fmt: skip


def partition(costs, cores, strategy, room=400):
    rows = costs if isinstance(costs, int) else len(costs)
    given = None if isinstance(costs, int) else np.array(costs, np.float64)
    sizes, owners = np.full(room, -1, np.int64), np.full(room, -1, np.int32)
    blocks, measure = ctypes.c_int64(), ctypes.c_double()
    c.balance_partition(rows, None if given is None else given.ctypes.data, cores, strategy, room,
                        sizes.ctypes.data, owners.ctypes.data, ref(blocks), ref(measure))  # fmt: skip
    n = min(blocks.value, room)
    assert (sizes[n:] == -1).all() and (owners[n:] == -1).all()
    return sizes[:n], owners[:n], blocks.value, measure.value


@given(st.lists(st.floats(0, 1e6), max_size=50), st.integers(1, 30), st.integers(0, 2))
def test_partitions(costs, cores, strategy):
    sizes, owners, blocks, measure = partition(costs, cores, strategy)
    assert sizes.sum() == len(costs) and (sizes > 0).all() and blocks == len(sizes)
    sums = [part.sum() for part in np.split(np.array(costs, float), np.cumsum(sizes)[:-1])]
    loads = np.bincount(owners, sums, cores) if blocks else np.zeros(cores)
    mean = loads.mean()
    assert measure == pytest.approx(abs(loads - mean).max() / mean if mean else 0, abs=1e-9)
    assert measure <= partition(costs, cores, 0)[3]


def test_rooms():
    assert partition(10, 4, 0)[0].tolist() == [3, 3, 2, 2]
    assert partition(10, 4, 0, 2)[0].tolist() == [3, 3]
    assert partition(10, 4, 0, 2)[2] == 4
    blocks, measure = ctypes.c_int64(), ctypes.c_double()
    c.balance_partition(100, None, 4, 2, 0, None, None, ref(blocks), ref(measure))
    assert (blocks.value, measure.value) == (32, 0.0)


@pytest.mark.parametrize(
    "arguments, kind, says",
    [
        ((-1, None, 2, 0), "ValueError", "work is -1 rows"),
        ((4, None, 0, 0), "ValueError", "cores is 0; it may be 1 to 1048576"),
        ((4, None, 2, 3), "ValueError", "strategy is 3"),
    ],
)
def test_refusals(arguments, kind, says):
    blocks, measure = ctypes.c_int64(7), ctypes.c_double(7)
    with pytest.raises(Failure, match=says) as failure:
        c.balance_partition(*arguments, 0, None, None, ref(blocks), ref(measure))
    assert failure.value.kind == kind
    assert (blocks.value, measure.value) == (7, 7)


def test_pointers_and_rooms_are_checked():
    blocks, measure = ctypes.c_int64(), ctypes.c_double()
    for missing in ((None, ref(measure)), (ref(blocks), None)):
        with pytest.raises(Failure, match="is NULL"):
            c.balance_partition(4, None, 2, 0, 0, None, None, *missing)
    with pytest.raises(Failure, match="block_sizes"):
        c.balance_partition(4, None, 2, 0, 1, None, None, ref(blocks), ref(measure))
    with pytest.raises(Failure, match="room is -1"):
        c.balance_partition(4, None, 2, 0, -1, None, None, ref(blocks), ref(measure))
    times, threads = Times(), ctypes.c_int32()
    with pytest.raises(Failure, match="room is -2"):
        c.balance_pool(ref(times), -2, None, ref(threads))
    with pytest.raises(Failure, match="busy_seconds"):
        c.balance_pool(ref(times), 1, None, ref(threads))


def test_pool():
    def read():
        times, threads = Times(), ctypes.c_int32()
        busy = (ctypes.c_double * 520)()
        c.balance_pool(ref(times), 520, busy, ref(threads))
        return times, list(busy[: threads.value])

    c.balance_watch(1)
    before, _ = read()
    x = c.linspace(0, 1, 2_000_000)
    for name in (b"sin", b"exp", b"sqrt"):
        x = c.unary(name, x)
    x.numpy()
    after, busy = read()
    c.balance_watch(0)
    c.balance_watch(0)  # one end too many changes nothing
    assert after.regions >= before.regions and after.chunks >= before.chunks
    assert len(busy) >= 1 and sum(busy) <= after.offered * 1.001 + 1e-9
    c.unary(b"cos", x).numpy()
    assert read()[0].regions == after.regions
