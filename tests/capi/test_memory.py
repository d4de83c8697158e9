"""The C binding's memory.h: settings, blocks, tensors, queues, records."""

import ctypes
import os
import pathlib
import signal
import subprocess
import sys

import numpy as np
import pytest
from face import DTYPES, Failure, array, c, extents, number
from hypothesis import given
from hypothesis import strategies as st
from test_random_io import memory

F32, F64, I8 = (DTYPES[d] for d in ("float32", "float64", "int8"))


class Descriptor(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int32), ("ndim", ctypes.c_int32), ("shape", ctypes.c_void_p),
                ("order", ctypes.c_void_p), ("alignment", ctypes.c_int64)]  # fmt: skip


class Piece(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("state", ctypes.c_int32), ("device", ctypes.c_int32),
                ("address", ctypes.c_uint64), ("bytes", ctypes.c_int64)]  # fmt: skip


class Event(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("ns", ctypes.c_uint64), ("address", ctypes.c_uint64),
                ("bytes", ctypes.c_int64), ("in_use", ctypes.c_uint64), ("held", ctypes.c_uint64)]  # fmt: skip


def descriptor(dtype, shape, order=None, alignment=0):
    d = Descriptor(dtype, len(shape), None, None, alignment)
    d.kept = (
        extents(*shape),
        None if order is None else (ctypes.c_int32 * max(len(order), 1))(*order),
    )
    d.shape = ctypes.addressof(d.kept[0])
    d.order = None if order is None else ctypes.addressof(d.kept[1])
    return d


ref = ctypes.byref


def test_settings_return_what_was():
    before = ctypes.c_uint64(7)
    share = ctypes.c_double(7)
    c.mm_set_limit(1 << 40, ctypes.byref(before))
    assert before.value == 0
    c.mm_set_limit(0, ctypes.byref(before))
    assert before.value == 1 << 40
    c.mm_set_max_split(1 << 24, None)
    c.mm_set_max_split(0, ctypes.byref(before))
    assert before.value == 1 << 24
    c.mm_set_gc_threshold(0.5, None)
    c.mm_set_gc_threshold(0.0, ctypes.byref(share))
    assert share.value == 0.5
    with pytest.raises(Failure, match="threshold is 2") as failure:
        c.mm_set_gc_threshold(2.0, None)
    assert failure.value.kind == "ValueError"


def test_blocks_and_limit():
    c.empty_cache()
    c.mm_reset_peaks()
    block = c.mm_alloc(10_000_000)
    address = c.mm_address(block)
    assert address % 64 == 0
    ctypes.memset(address, 1, 10_000_000)
    m = memory()
    assert m.bytes_in_use >= 10_000_000 <= m.peak_bytes <= m.peak_reserved
    assert m.segments > 0
    c.mm_set_limit(m.bytes_in_use + m.bytes_cached + 1000, None)
    try:
        with pytest.raises(Failure, match="the largest blocks: 100") as failure:
            c.mm_alloc(20_000_000)
        assert failure.value.kind == "MemoryError"
    finally:
        c.mm_set_limit(0, None)
    with pytest.raises(Failure, match="alloc: -1 bytes"):
        c.mm_alloc(-1)
    hits = memory().pool_hits
    del block
    again = c.mm_alloc(9_000_000)
    assert memory().pool_hits == hits + 1
    assert memory().segment_hits + memory().bin_hits + memory().magazine_hits == memory().pool_hits
    assert c.mm_address(again) == address


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.tuples(
            st.lists(st.integers(0, 5), min_size=n, max_size=n), st.permutations(range(n))
        )
    ),
    st.sampled_from([0, 64, 256, 4096]),
)
def test_tensors(layout, alignment):
    shape, order = layout
    x = np.random.default_rng(0).integers(-100, 100, shape).astype(np.float64)[..., ::-1]
    d = descriptor(F32, shape, order, alignment)
    a = c.mm_prepare(ref(d), F64, extents(*x.strides), x.ctypes.data)
    np.testing.assert_array_equal(a.numpy(), x.astype(np.float32))
    strides = (ctypes.c_int64 * len(shape)).from_address(c.strides(a))
    inner = [strides[axis] for axis in order if shape[axis] > 1]
    assert inner == sorted(inner, reverse=True)
    out = np.empty([shape[axis] for axis in order], np.int8)
    back = descriptor(I8, shape, order)
    c.mm_copy_back(a, ref(back), out.ctypes.data)
    np.testing.assert_array_equal(out, x.astype(np.int8).transpose(order))
    packed = np.ascontiguousarray(x)
    plain = c.mm_prepare(ref(descriptor(F64, shape)), F64, None, packed.ctypes.data)
    np.testing.assert_array_equal(plain.numpy(), x)


def test_reuse():
    dead = c.ones(F64, 1, extents(100_000))
    c.synchronize()
    before = memory().bytes_in_use
    a = c.mm_reuse(ref(descriptor(F32, (200, 300))), dead)
    assert a.shape == (200, 300)
    assert memory().bytes_in_use == before
    assert c.may_share_memory(a, dead)
    with pytest.raises(Failure, match="1 other arrays share"):
        c.mm_reuse(ref(descriptor(F32, (1,))), dead)
    t = c.mm_tensor(ref(descriptor(F32, (7, 9), (1, 0), 4096)))
    assert t.shape == (7, 9)
    for wrong, message in (
        (descriptor(F32, (7, 9), (0, 0)), "names axis 0"),
        (descriptor(F32, (7,), None, 96), "alignment is 96"),
        (descriptor(99, (7,)), "99 is no dtype"),
    ):
        with pytest.raises(Failure, match=message):
            c.mm_tensor(ref(wrong))
    with pytest.raises(Failure, match=r"shape \(7,9\), the descriptor \(9,7\)"):
        c.mm_copy_back(t, ref(descriptor(F32, (9, 7))), np.empty(63, np.float32).ctypes.data)


NCHW, NHWC, ND, NC1HWC0, NZ = 0, 1, 2, 3, 29


def test_formats():
    x = np.arange(2 * 20 * 3 * 4).reshape(2, 20, 3, 4).astype(np.float32)
    a = c.mm_prepare(ref(descriptor(F32, x.shape)), F32, None, x.ctypes.data)
    b = c.mm_convert(a, NCHW, NHWC, 0, None)
    np.testing.assert_array_equal(b.numpy(), x.transpose(0, 2, 3, 1))
    blocks = c.mm_convert(b, NHWC, NC1HWC0, 4, extents(*x.shape))
    assert blocks.shape == (2, 3, 3, 4, 8)
    again = c.mm_convert(blocks, NC1HWC0, NCHW, 4, extents(*x.shape))
    np.testing.assert_array_equal(again.numpy(), x)
    assert c.mm_convert(blocks, NC1HWC0, NCHW, 0, None).shape == (2, 24, 3, 4)
    num, shape = ctypes.c_int32(), (ctypes.c_int64 * 64)()
    c.mm_format_shape(NZ, F32, 3, extents(5, 17, 9), ref(num), shape)
    assert shape[: num.value] == [5, 2, 2, 16, 8]
    chosen = ctypes.c_int32()
    for channels, wanted in ((63, NHWC), (64, NCHW)):
        c.mm_choose_format(channels, ref(chosen))
        assert chosen.value == wanted
    for call, message in (
        (lambda: c.mm_convert(a, NCHW, NZ, 0, None), "NCHW does not convert to FRACTAL_NZ"),
        (lambda: c.mm_convert(a, NCHW, 7, 0, None), "7 is none of CANN's that convert"),
        (lambda: c.mm_convert(a, NCHW, NHWC, 3, extents(1, 2, 3)), "3 axes; NCHW has 4"),
        (lambda: c.mm_convert(a, NCHW, NHWC, -1, extents(1)), "-1"),
        (lambda: c.mm_format_shape(NZ, 99, 2, extents(1, 2), ref(num), shape), "99 is no dtype"),
        (lambda: c.mm_choose_format(0, ref(chosen)), "0 channels"),
    ):
        with pytest.raises(Failure, match=message):
            call()


def test_queues():
    queue = c.queue_new(1 << 18)
    hosts = [np.random.default_rng(k).random(100_000 * k) for k in range(1, 5)]
    sent = [
        c.queue_send(queue, ref(descriptor(F64, x.shape)), x.ctypes.data, k)
        for k, x in enumerate(hosts)
    ]
    back = [np.empty_like(x) for x in hosts]
    fetched = [
        c.queue_fetch(queue, c.transfer_array(t), y.ctypes.data, 0)
        for t, y in zip(sent, back, strict=True)
    ]
    done = ctypes.c_int32(-1)
    for t, x, y in zip(fetched, hosts, back, strict=True):
        c.transfer_wait(t)
        c.transfer_done(t, ctypes.byref(done))
        assert done.value == 1
        np.testing.assert_array_equal(x, y)
    with pytest.raises(Failure, match="goes to the host"):
        c.transfer_array(fetched[0])
    with pytest.raises(Failure, match="at least 131072"):
        c.queue_new(5)
    a = c.transfer_array(sent[0])
    del queue
    del sent
    np.testing.assert_array_equal(a.numpy(), hosts[0])


def test_parts_of_arrays():
    queue = c.queue_new(1 << 18)
    x = np.arange(1000.0)
    a = array(np.zeros(1000))
    doubled = c.add(a, a)  # recorded: it reads what the copy is about to write
    sent = c.queue_copy(queue, a, 80, x[10:].ctypes.data, 80, 1, 5)
    assert c.may_share_memory(c.transfer_array(sent), a)
    tripled = c.binary_number("multiply", a, number(3))  # comes after the copy
    out = np.empty(20)
    c.transfer_wait(c.queue_copy(queue, a, 40, out.ctypes.data, 160, 0, 0))
    np.testing.assert_array_equal(out, [0] * 5 + list(x[10:20]) + [0] * 5)
    assert not doubled.numpy().any()
    assert tripled.numpy()[9:21].tolist() == [0, *(3 * x[10:20]), 0]
    for offset, size in ((7992, 9), (-8, 8), (0, -1), (8001, 0), (8, 2**63 - 1)):
        with pytest.raises(Failure, match=f"{size} bytes from byte {offset} on of an array"):
            c.queue_copy(queue, a, offset, out.ctypes.data, size, 0, 0)
    every_second = c.slice(a, 0, 0, 1000, 2)
    backwards = c.flip(a, 0, None)
    for gaps in (every_second, backwards):
        with pytest.raises(Failure, match="do not lie one behind the other"):
            c.queue_copy(queue, gaps, 0, out.ctypes.data, 8, 0, 0)
    with pytest.raises(Failure, match="read-only"):
        wide = c.broadcast_to(array(np.zeros(1)), 1, extents(5))
        c.queue_copy(queue, wide, 0, out.ctypes.data, 8, 1, 0)
    with pytest.raises(Failure, match="goes to the host"):
        c.transfer_array(c.queue_copy(queue, a, 0, out.ctypes.data, 8, 0, 0))


def test_lent_addresses():
    a = c.zeros(F64, 1, extents(100))
    address, host = ctypes.c_void_p(), ctypes.c_void_p()
    loan = c.mm_lend(a, 0, ref(address))
    again = c.mm_lend(a, 1, ref(host))
    assert host.value == address.value
    ctypes.memset(address.value + 8, 255, 1)
    assert a.numpy()[1] == np.frombuffer(b"\xff" + 7 * b"\0", float)[0]
    with pytest.raises(Failure, match="the host holds the array's memory"):
        c.mm_reuse(ref(descriptor(F64, (1,))), a)
    del loan, again
    assert c.mm_reuse(ref(descriptor(F64, (1,))), a).shape == (1,)
    c.mm_take_back(None)


class Workspace(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("operands", ctypes.c_char_p), ("bytes", ctypes.c_uint64),
                ("calls", ctypes.c_uint64)]  # fmt: skip


def test_workspaces():
    """A strict run's table, read in a process of its own (tests/python/test_workspaces.py has more)."""
    program = """
import ctypes, numpy as np
from face import array, c
from test_memory import Workspace, ref
before = ctypes.c_int32(7)
c.mm_record_workspaces(1, ref(before))
a = array(np.ones((3, 4), np.float32))
for _ in range(2):
    c.matmul(a, array(np.ones((4, 5), np.float32))).numpy()
c.mm_record_workspaces(0, None)
w = Workspace()
c.mm_workspace_at(0, ref(w))
print(before.value, w.name.decode(), w.operands.decode(), w.calls, w.bytes > 60)
try:
    c.mm_workspace_at(1, ref(w))
except Exception as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False,
                          env={**os.environ, "ASNUMPY_CANN_STRICT": "1"}, cwd=pathlib.Path(__file__).parent)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "0 Matmul float32(3,4) float32(4,5) -> float32(3,5) 2 True", "there is no workspace 1",
    ]  # fmt: skip
    w, before = Workspace(), ctypes.c_int32(7)
    c.mm_record_workspaces(1, ref(before))
    assert before.value == 0
    c.mm_record_workspaces(0, ref(before))
    assert before.value == 1
    with pytest.raises(Failure, match="there is no workspace -1"):
        c.mm_workspace_at(-1, ref(w))


def test_walk_and_hooks():
    pieces, events = [], []
    walk = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Piece))(
        lambda _, p: pieces.append((p[0].kind, p[0].address, p[0].bytes))
    )
    kept = array(np.random.default_rng(0).random(1_000_000))
    c.synchronize()
    c.mm_walk(ctypes.cast(walk, ctypes.c_void_p), None)
    m = memory()
    assert sum(size for kind, _, size in pieces if kind < 2) == m.bytes_in_use + m.bytes_cached
    ranges = sum(size for kind, _, size in pieces if kind == 2)
    assert ranges == sum(size for kind, _, size in pieces if kind == 1) >= 8_000_000
    assert kept.shape == (1_000_000,)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Event))(
        lambda context, e: events.append((context, e[0].kind, e[0].bytes))
    )
    hook = ctypes.cast(call, ctypes.c_void_p)
    c.mm_add_hook(hook, 5)
    block = c.mm_alloc(777)
    del block
    c.mm_remove_hook(hook, 5)
    assert events == [(5, 0, 777), (5, 1, 777)]
    with pytest.raises(Failure, match="no such memory hook"):
        c.mm_remove_hook(hook, 5)
    for k in range(8):
        c.mm_add_hook(hook, k)
    with pytest.raises(Failure, match="8 memory hooks already"):
        c.mm_add_hook(hook, 9)
    for k in range(8):
        c.mm_remove_hook(hook, k)


def test_queues_in_a_child_process():
    """The queue's thread is the parent's: the child is told so, and waits for nothing."""
    queue, x = c.queue_new(1 << 18), np.arange(7.0)
    sent = c.queue_send(queue, ref(descriptor(F64, x.shape)), x.ctypes.data, 0)
    c.transfer_wait(sent)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.alarm(20)
            c.transfer_wait(sent)
            c.queue_send(queue, ref(descriptor(F64, x.shape)), x.ctypes.data, 0)
        except Failure as e:
            code = 0 if "make another" in str(e) else 2
        del sent, queue
        os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
