"""The registry of operators: levels, priorities, who registered, threads."""

import threading

import asnumpy
import numpy as np
import pytest

ops = asnumpy.ops


@pytest.fixture
def added():
    """Registers, and removes at the end."""
    keys = []

    def add(name, function, **key):
        ops.register(name, function, **key)
        keys.append((name, key))

    yield add
    for name, key in keys:
        ops.unregister(name, **key)


def test_most_specific_then_highest_priority(added):
    device = asnumpy.empty(0).device
    kind = device.partition(":")[0]
    other = "ascend" if kind == "cpu" else "cpu"
    single, double = asnumpy.ones(2, "float32"), asnumpy.ones(2)
    added("spam", lambda *a: "global")
    assert ops.spam(single) == ops.spam(double) == ops.spam() == "global"
    added("spam", lambda *a: "global 5", priority=5)
    assert ops.spam(single) == "global 5"
    added("spam", lambda *a: "device", device=kind, priority=-3)
    added("spam", lambda *a: "elsewhere", device=other, priority=9)
    assert ops.spam(single) == ops.spam(3) == "device"
    added("spam", lambda *a: "device with number", device=device)
    assert ops.spam(single) == "device with number"
    added("spam", lambda *a: "dtype", dtype="float32")
    assert ops.spam(single) == "dtype" and ops.spam(double) == "device with number"
    assert ops.spam(single, double) == "device with number"  # float64 together
    added("spam", lambda *a: "dtype on device", dtype="float32", device=kind, priority=-1)
    assert ops.spam(single) == "dtype on device"
    assert [e.level for e in ops.list("spam")] == [
        "dtype",
        "dtype",
        "device",
        "device",
        "device",
        "global",
        "global",
    ]
    assert ops.find("spam", dtype="float32", device=other).level == "dtype"
    assert ops.find("spam", device=other).priority == 9


def test_registering_twice(added):
    added("eggs", len)
    with pytest.raises(
        RuntimeError,
        match=r"operator 'eggs' is already registered for everything with priority 0 by test_ops at .*test_ops\.py:\d+",
    ):
        ops.register("eggs", len)
    added("eggs", len, dtype="int8", device="cpu")
    with pytest.raises(RuntimeError, match="for dtype int8 on device cpu with priority 0"):
        ops.register("eggs", max, dtype=np.int8, device="cpu")
    ops.register("eggs", max, priority=1)
    assert ops.unregister("eggs", priority=1) is max
    with pytest.raises(
        LookupError, match="'eggs' is not registered for everything with priority 1"
    ):
        ops.unregister("eggs", priority=1)


def test_built_in_operators(added):
    names = {e.name for e in ops.list()}
    rows = set(asnumpy._core._cann_rows())
    assert {n for n in rows if isinstance(getattr(asnumpy, n, None), asnumpy.ufunc)} <= names
    assert ops.add(asnumpy.ones(2), 1).tolist() == [2, 2]
    assert ops.find("add").function is asnumpy.add and "add" in dir(ops)
    with pytest.raises(
        RuntimeError, match=r"'add' is already registered .* by asnumpy \(built in\)"
    ):
        ops.register("add", max)
    with pytest.raises(ValueError, match="built in"):
        ops.unregister("add")
    added("add", lambda a, b: "mine", dtype="int16")
    assert ops.add(asnumpy.ones(2, "int16"), 1) == "mine" and ops.add(asnumpy.ones(1), 1)[0] == 2


def test_decorator_and_errors():
    @ops.register("toast")
    def toast(x):
        return x * 2

    try:
        assert ops.toast(asnumpy.arange(3)).tolist() == [0, 2, 4]
        assert ops.list("toast")[0].function is toast
    finally:
        ops.unregister("toast")
    with pytest.raises(AttributeError, match="no operator 'toast'"):
        ops.toast  # noqa: B018
    with pytest.raises(LookupError, match="no operator 'toast'"):
        ops.find("toast")
    ops.register("toast", max, dtype="int8")
    with pytest.raises(
        LookupError, match=r"no implementation for float64 on .* it has: for dtype int8"
    ):
        ops.toast(asnumpy.ones(2))
    ops.unregister("toast", dtype="int8")
    for name in ("find", "a b", "_x", 3):
        with pytest.raises(ValueError, match="no name for an operator"):
            ops.register(name, max)
    with pytest.raises(ValueError, match="device is 'gpu'"):
        ops.register("toast", max, device="gpu")
    with pytest.raises(TypeError, match="cannot be called"):
        ops.register("toast", 3)
    assert ops.list("toast") == []


def test_threads():
    """Of 16 threads that register one key, one succeeds; calls in between see one implementation or the other."""
    wins, failures = [], []
    barrier = threading.Barrier(16)

    def work(k):
        barrier.wait()
        for turn in range(50):
            try:
                ops.register(f"race{turn}", lambda: k)
                wins.append(turn)
            except RuntimeError:
                failures.append(turn)
            assert 0 <= getattr(ops, f"race{turn}")() < 16

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(wins) == list(range(50)) and len(failures) == 15 * 50
    for turn in range(50):
        ops.unregister(f"race{turn}")
