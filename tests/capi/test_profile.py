"""include/asnumpy/profile.h: sessions, their rows, the table and the trace."""

import ctypes
import json
import re
import threading

import numpy as np
import pytest
from face import Failure, array, c, ufunc


class Row(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_char_p), ("name", ctypes.c_char_p), ("range", ctypes.c_char_p), ("calls", ctypes.c_int64),
                ("bytes", ctypes.c_int64), ("flops", ctypes.c_int64), ("seconds", ctypes.c_double)]  # fmt: skip


def start(every=0):
    p = ctypes.c_void_p()
    c.profile_start(every, ctypes.byref(p))
    return p


def rows(p):
    count = ctypes.c_int32()
    c.profile_rows(p, 0, None, ctypes.byref(count))
    room = (Row * max(1, count.value))()
    c.profile_rows(p, count.value, room, ctypes.byref(count))
    return list(room[: count.value])


def summary(p, top=20):
    text = ctypes.c_void_p()
    c.profile_summary(p, top, ctypes.byref(text))
    said = ctypes.string_at(text).decode()
    c.free_text(text)
    return said


def work():
    a = array(np.linspace(0, 1, 100_000))
    b = ufunc("sqrt", ufunc("add", a, a))
    return b.numpy()


def test_a_session_has_what_happened_in_it(tmp_path):
    work()
    p = start(1)
    work()
    small = array(np.arange(7.0))
    for _ in range(20):
        ufunc("multiply", small, small)
    c.profile_stop(p)
    work()
    found = {(r.kind.decode(), r.name.decode()): r for r in rows(p)}
    (program,) = [
        r for (kind, _), r in found.items() if kind in ("program", "operator") and r.bytes > 1e6
    ]
    assert (program.calls, program.flops, program.bytes) == (1, 200_000, 1_600_000)
    assert found["small", "multiply"].calls == 20
    assert found["small", "copy from host"].calls == 1  # seven elements
    assert found["to host", "copy to host"].bytes == 800_000
    assert found["synchronize", "the array is copied to the host"].calls == 1
    seconds = [r.seconds for r in rows(p)]
    assert seconds == sorted(seconds, reverse=True) and seconds[0] > 0
    text = summary(p)
    assert re.match(r"name +kind +calls +total ms +mean us +GB/s +GFLOP/s +range\n", text)
    assert text.count("\n") == len(found) + 2 and text.endswith(" ms in all\n")
    assert summary(p, 1).count("\n") == 3
    path = tmp_path / "trace.json"
    c.profile_export(p, str(path))
    events = json.loads(path.read_text())["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    assert sum(e["cat"] == "small" for e in spans) == 21
    assert all(e["ts"] >= 0 and e["dur"] >= 0 for e in spans)
    assert any(e["ph"] == "C" and e["args"]["bytes"] > 0 for e in events)
    c.profile_release(p)


def test_sessions_overlap():
    first, second = start(), start()
    work()
    c.profile_stop(first)
    work()
    c.profile_stop(second)
    calls = [sum(r.calls for r in rows(p) if r.kind == b"to host") for p in (first, second)]
    assert calls == [1, 2]
    c.profile_release(first)
    c.profile_release(second)
    c.profile_release(start())  # ends it
    c.profile_release(None)


def test_errors_say_what_is_wrong(tmp_path):
    p = ctypes.c_void_p()
    with pytest.raises(Failure, match="every is -1; it may be 0 or more"):
        c.profile_start(-1, ctypes.byref(p))
    p = start()
    count = ctypes.c_int32()
    for call in (lambda: c.profile_rows(p, 0, None, ctypes.byref(count)), lambda: summary(p),
                 lambda: c.profile_export(p, str(tmp_path / "t"))):  # fmt: skip
        with pytest.raises(Failure, match="the session has not ended") as met:
            call()
        assert met.value.kind == "ValueError"
    c.profile_stop(p)
    with pytest.raises(Failure, match="the session has ended"):
        c.profile_stop(p)
    with pytest.raises(Failure, match="top is 0; it may be 1 or more"):
        summary(p, 0)
    with pytest.raises(Failure, match="'/nowhere/t' cannot be written: No such file") as met:
        c.profile_export(p, "/nowhere/t")
    assert met.value.kind == "RuntimeError"
    c.profile_release(p)


def test_ranges(tmp_path):
    c.profile_push("before", None, 0)  # no session: nothing of it
    p = start(1)
    c.profile_pop()
    c.profile_push('a "range"', "main.c", 10)
    small = array(np.arange(7.0))
    for _ in range(3):
        c.profile_push("inner", "main.c", 12)
        ufunc("multiply", small, small)
        c.profile_pop()
    later = ufunc("add", array(np.ones(50_000)), array(np.ones(50_000)))  # recorded, runs below
    c.profile_pop()
    c.profile_mark("a moment", "main.c", 20)
    c.profile_push("other", None, 0)
    later.numpy()
    c.profile_pop()
    small_outside = ufunc("subtract", small, small)
    c.profile_stop(p)
    assert small_outside.numpy().sum() == 0
    found = {(r.kind, r.name, r.range): r for r in rows(p)}
    outer, inner = found[b"range", b'a "range"', None], found[b"range", b"inner", None]
    assert (outer.calls, inner.calls) == (1, 3) and outer.seconds > inner.seconds > 0
    assert found[b"range", b"a moment", None].calls == 1
    assert found[b"small", b"multiply", b"inner"].calls == 3
    assert found[b"small", b"subtract", None].calls == 1
    (computed,) = [
        r
        for (kind, _, _), r in found.items()
        if kind in (b"program", b"operator") and r.bytes > 1e6
    ]
    assert computed.range == b'a "range"'  # where it was asked for
    assert found[b"to host", b"copy to host", b"other"].calls == 1
    assert not any(name == b"before" for _, name, _ in found)
    assert any(line.endswith("  inner") and "multiply" in line for line in summary(p).splitlines())
    c.profile_export(p, str(tmp_path / "t.json"))
    spans = [
        e for e in json.loads((tmp_path / "t.json").read_text())["traceEvents"] if e["ph"] == "X"
    ]
    (whole,) = [e for e in spans if e["name"] == 'a "range"']
    inside = [e for e in spans if e["name"] == "inner"]
    assert (whole["args"]["file"], whole["args"]["line"], whole["cat"]) == ("main.c", 10, "range")
    assert all(
        whole["ts"] <= e["ts"] and e["ts"] + e["dur"] <= whole["ts"] + whole["dur"] + 0.01
        for e in inside
    )
    (times,) = {e["args"]["range"] for e in spans if e["name"] == "multiply"}
    assert times == "inner"
    c.profile_release(p)


def test_ranges_of_threads():
    p = start(1)
    small = array(np.arange(5.0))
    ready = threading.Barrier(3)

    def run(name):
        c.profile_push(name, None, 0)
        ready.wait()
        ufunc("multiply", small, small)
        ready.wait()
        c.profile_pop()

    threads = [threading.Thread(target=run, args=(f"thread {k}",)) for k in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    c.profile_stop(p)
    found = {(r.name, r.range): r.calls for r in rows(p) if r.kind == b"small"}
    for k in range(3):
        assert found[b"multiply", f"thread {k}".encode()] == 1
    c.profile_release(p)


def test_ranges_errors():
    with pytest.raises(Failure, match="no range is open on this thread"):
        c.profile_pop()
    for _ in range(64):
        c.profile_push("deep", None, 0)
    with pytest.raises(
        Failure, match="range 'deep' would be number 65 that is open on this thread; 64 may be"
    ):
        c.profile_push("deep", None, 0)
    for _ in range(64):
        c.profile_pop()
