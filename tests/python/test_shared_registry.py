"""One registry for both bindings: what one registers, the other finds, lists, calls and removes."""

import ctypes
import os
import pathlib
import sys

import asnumpy
import numpy as np
import pytest
from asnumpy import acl

os.environ.setdefault("ASNUMPY_LIB", str(acl.home() / "lib64"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "capi"))
from face import LIBRARY, NONE, Failure, c  # noqa: E402
from test_registry import F32, add, call  # noqa: E402

F64 = 11


@pytest.fixture(scope="module", autouse=True)
def shared():
    asnumpy.ops.register("early", lambda x: x + 1)
    add(b"earlier", 5)
    asnumpy.ops.share(LIBRARY)
    asnumpy.ops.share(LIBRARY)  # again is nothing
    yield
    asnumpy.ops.unregister("early")
    c.unregister(b"earlier", None, NONE, 0)


def ones(dtype):
    return c.ones(dtype, 1, (ctypes.c_int64 * 1)(3))


def test_python_in_c():
    assert call(b"early", ones(F64)).numpy().tolist() == [2, 2, 2]

    @asnumpy.ops.register("halves", dtype="float32", priority=2)
    def halves(x):
        return x / 2, x.sum()

    half, total = call(b"halves", ones(F32), 2)
    assert (
        half.numpy().tolist() == [0.5] * 3
        and total.numpy().item() == 3
        and half.numpy().dtype == np.float32
    )
    with pytest.raises(Failure, match="no operator 'halves'"):
        call(b"halves", ones(F64), 2)
    with pytest.raises(Failure, match="the operator has 2 results; 1 are asked"):
        call(b"halves", ones(F32))
    with pytest.raises(
        Failure,
        match=r"'halves' is already registered with priority 2 by test_shared_registry at .*\.py:\d+",
    ):
        add(b"halves", 1, None, F32, 2)
    asnumpy.ops.unregister("halves", dtype="float32", priority=2)
    with pytest.raises(Failure, match="no operator 'halves'"):
        call(b"halves", ones(F32), 2)


def test_c_in_python():
    x = asnumpy.array([1.0, 2])
    assert asnumpy.ops.earlier(x).tolist() == [5, 10]
    assert asnumpy.ops.find("earlier").place == "test_registry at test_registry.py:42"
    add(b"later", 7, b"cpu", F64)
    assert "later" in dir(asnumpy.ops) and [e.level for e in asnumpy.ops.list("later")] == ["dtype"]
    if asnumpy.zeros(1).device.startswith("cpu"):
        assert asnumpy.ops.later(x[::-1]).tolist() == [14, 7]
    with pytest.raises(LookupError, match="'later' has no implementation for float32"):
        asnumpy.ops.later(x.astype("float32"))
    with pytest.raises(
        RuntimeError,
        match="'later' is already registered with priority 0 by test_registry at test_registry.py:42",
    ):
        asnumpy.ops.register("later", max, device="cpu", dtype="float64")
    asnumpy.ops.register("later", lambda x: -x, dtype="float64", device="cpu", priority=1)
    assert [e.priority for e in asnumpy.ops.list("later")] == [1, 0]
    asnumpy.ops.unregister("later", device="cpu", dtype="float64")  # C's
    with pytest.raises(Failure, match="not registered so"):
        c.unregister(b"later", b"cpu", F64, 0)
    c.unregister(b"later", b"cpu", F64, 1)  # Python's, by C
    with pytest.raises(
        LookupError, match="'later' is not registered for dtype float64 on device cpu"
    ):
        asnumpy.ops.unregister("later", device="cpu", dtype="float64", priority=1)
    assert asnumpy.ops.list("later") == []


def test_failures_cross():
    def fails(x):
        raise IndexError("nothing there")

    asnumpy.ops.register("fails", fails)
    with pytest.raises(Failure, match="nothing there") as error:
        call(b"fails", ones(F64))
    assert error.value.kind == "IndexError"
    asnumpy.ops.unregister("fails")
    with pytest.raises(TypeError, match="must|object|arrays of"):
        asnumpy.ops.earlier(np.array(["a"]))


def test_what_c_registers_is_seen_by_calls_that_were_made():
    x = asnumpy.ones(2, "float32")
    asnumpy.ops.register("seen", lambda a: "python")
    try:
        call_of = asnumpy.ops.seen
        assert call_of(x) == "python"
        add(b"seen", 6, None, F32)
        assert call_of(x).tolist() == [6, 6] and call_of(asnumpy.ones(2)) == "python"
        c.unregister(b"seen", None, F32, 0)
        assert call_of(x) == "python"
        # C has no bfloat16 in operators, and so no part in this
        half = x.astype(asnumpy.bfloat16)
        assert call_of(half) == "python"
        asnumpy.ops.register("seen", lambda a: "bfloat16", dtype=asnumpy.bfloat16)
        assert call_of(half) == "bfloat16" and call_of(x) == "python"
        asnumpy.ops.unregister("seen", dtype=asnumpy.bfloat16)
        assert call_of(half) == "python"
    finally:
        asnumpy.ops.unregister("seen")
