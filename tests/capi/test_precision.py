"""The C binding's precision.h: products in narrower dtypes against NumPy, decisions, int8."""

import ctypes
import threading

import numpy as np
import pytest
from face import DTYPES, Failure, array, c

ref = ctypes.byref
BFLOAT16 = 27


class Autocast(ctypes.Structure):
    _fields_ = [("error", ctypes.c_double), ("dtype", ctypes.c_int32), ("automatic", ctypes.c_int32),
                ("unchecked", ctypes.c_int32), ("reserved", ctypes.c_int32)]  # fmt: skip


class Question(ctypes.Structure):
    _fields_ = [("error", ctypes.c_double), ("rows", ctypes.c_int64), ("kind", ctypes.c_int32),
                ("transposed", ctypes.c_int32), ("for_memory", ctypes.c_int32), ("reserved", ctypes.c_int32)]  # fmt: skip


class Decision(ctypes.Structure):
    _fields_ = [("expected_error", ctypes.c_double), ("gain", ctypes.c_double), ("reason", ctypes.c_char_p),
                ("compute", ctypes.c_int32), ("memory", ctypes.c_int32)]  # fmt: skip


class Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in
                ("float32", "bfloat16", "float16", "int8", "beyond_range", "beyond_error")]  # fmt: skip


class Gain(ctypes.Structure):
    _fields_ = [("float32_ns", ctypes.c_double), ("ns", ctypes.c_double), ("m", ctypes.c_int64),
                ("k", ctypes.c_int64), ("n", ctypes.c_int64), ("batch", ctypes.c_int64),
                ("dtype", ctypes.c_int32), ("stored", ctypes.c_int32)]  # fmt: skip


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def settings(**fields):
    """Makes them the thread's; those before."""
    before = Autocast()
    c.autocast_set(ref(Autocast(**fields)), ref(before))
    return before


def error(got, a, b):
    exact = a.astype(float) @ b.astype(float)
    return np.linalg.norm(got.numpy().astype(float) - exact) / np.linalg.norm(a) / np.linalg.norm(b)


@pytest.mark.parametrize(
    ("dtype", "most"), [(BFLOAT16, 6e-3), (DTYPES["float16"], 1.6e-3), (DTYPES["int8"], 3e-2)]
)
def test_products(dtype, most):
    a, b = normal(6, 50), normal(50, 4, seed=1)
    x, y = array(a), array(b)
    counts, now = Counts(), Autocast()
    c.precision_count(ref(counts), 1)
    before = settings(dtype=dtype)
    assert (before.dtype, before.automatic) == (0, 0)
    c.autocast_set(None, ref(now))
    assert now.dtype == dtype
    for got in (c.matmul(x, y), c.dot(x, y)):
        assert got.dtype == np.float32 and 1e-6 < error(got, a, b) <= most
    c.autocast_set(ref(before), None)
    assert error(c.matmul(x, y), a, b) < 1e-7
    c.precision_count(ref(counts), 0)
    assert counts.bfloat16 + counts.float16 + counts.int8 == 2 and counts.float32 == 0


def test_threads_have_their_own():
    seen = []
    before = settings(dtype=BFLOAT16)

    def other():
        now = Autocast(dtype=-5)
        c.autocast_set(None, ref(now))
        seen.append(now.dtype)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    c.autocast_set(ref(before), None)
    assert seen == [0]


def test_float16_beyond_its_range():
    x = array(np.full((2, 2), 60000, np.float32))
    counts = Counts()
    c.precision_count(ref(counts), 1)
    before = settings(dtype=DTYPES["float16"])
    try:
        assert c.matmul(x, x).numpy()[0, 0] == np.float32(7.2e9)
    finally:
        c.autocast_set(ref(before), None)
    c.precision_count(ref(counts), 0)
    assert (counts.beyond_range, counts.float32, counts.float16) == (1, 1, 0)


def test_decisions_and_gains():
    w = array(normal(40, 24))
    d, count = Decision(), ctypes.c_int64()
    c.precision_decide(w, ref(Question(error=0.1, rows=3, for_memory=1)), ref(d))
    assert d.memory == DTYPES["int8"] and 0 < d.expected_error <= 0.1
    c.precision_gains(None, 0, ref(count))
    all_ = (Gain * count.value)()
    c.precision_gains(all_, count.value, ref(count))
    mine = [g for g in all_ if (g.m, g.k, g.n, g.stored) == (3, 40, 24, 1)]
    assert sorted(g.dtype for g in mine) == [1, 2, BFLOAT16]
    gains = {g.dtype: g.float32_ns / g.ns for g in mine}
    c.precision_decide(w, ref(Question(error=0.1, rows=3)), ref(d))
    best = max(gains.values())
    assert d.gain == (best if best >= 1.2 else 1)
    c.precision_decide(w, ref(Question(error=0.1, rows=3, kind=2)), ref(d))
    assert (d.compute, d.memory) == (0, 0) and b"float32" in d.reason


def test_automatic():
    a, b = normal(20, 30), normal(30, 10, seed=1)
    before = settings(automatic=1, error=0.05)
    got = c.matmul(array(a), array(b))
    c.autocast_set(ref(before), None)
    assert error(got, a, b) <= 0.05


def test_int8():
    a, w = normal(5, 32), normal(32, 6, seed=1)
    q, scale = c.quantize_per_channel(array(w), -2)
    step = np.abs(w).max(axis=0, keepdims=True) / np.float32(127)
    np.testing.assert_array_equal(scale.numpy(), step)
    np.testing.assert_array_equal(q.numpy(), np.rint(w / step).astype(np.int8))
    np.testing.assert_array_equal(c.dequantize(q, scale).numpy(), q.numpy() * step)
    assert error(c.matmul_int8(array(a), q, scale), a, w) < 0.03


def test_refusals():
    x, whole = array(normal(2, 2)), array(np.ones((2, 2), np.int32))
    d, count = Decision(), ctypes.c_int64()
    q, scale = c.quantize_per_channel(x, 0)
    with pytest.raises(Failure, match="dtype is int32"):
        settings(dtype=DTYPES["int32"])
    with pytest.raises(Failure, match="99 is no dtype"):
        settings(dtype=99)
    with pytest.raises(Failure, match="error is 0"):
        settings(automatic=1)
    for question, text in [
        (Question(error=0, rows=1), "error is 0"),
        (Question(error=1, rows=0), "rows 0"),
        (Question(error=1, rows=1, kind=3), "kind is 3"),
    ]:
        with pytest.raises(Failure, match=text):
            c.precision_decide(x, ref(question), ref(d))
    with pytest.raises(Failure, match="dtype is int32"):
        c.precision_decide(whole, ref(Question(error=1, rows=1)), ref(d))
    with pytest.raises(Failure, match="most is -1"):
        c.precision_gains(None, -1, ref(count))
    with pytest.raises(Failure, match="dtype is int32"):
        c.quantize_per_channel(whole, 0)
    with pytest.raises(Failure, match="axis 2: tuple index out of range"):
        c.quantize_per_channel(x, 2)
    with pytest.raises(Failure, match="do not multiply"):
        c.matmul_int8(array(normal(2, 3)), q, scale)
    with pytest.raises(Failure, match="dtypes are int32, int8 and float32"):
        c.matmul_int8(whole, q, scale)
