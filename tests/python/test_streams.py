"""Streams: order by buffers against NumPy, events, cycles of waits, errors, threads, batches."""

import functools
import gc
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import weakref

import asnumpy as np
import numpy
import pytest
import stream_programs
from asnumpy import acl
from conftest import NPU

HERE = pathlib.Path(__file__).resolve().parent
DELAYED = {"ASNUMPY_CPU_LAUNCH_DELAY_US": "100"}
ASCEND = {"ASCEND_HOME_PATH": str(acl.home()), "ASNUMPY_DEVICE": "ascend", "ASNUMPY_CANN_STRICT": "1",
          "ASNUMPY_FALLBACK": "silent"}  # fmt: skip


def run(environment, *arguments):
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **environment})  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def alone(test):
    """The host tells a deadlock only where no other thread of Python's could end it: the test runs in a process without.

    (A runner of tests may have threads of its own.)
    """

    @functools.wraps(test)
    def by_itself():
        if len(sys._current_frames()) == 1:
            test()
            return
        name = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0].rpartition("::")[2]
        options = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist")
        assert "1 passed" in run(
            {}, "-m", "pytest", *options, f"{HERE / 'test_streams.py'}::{name}"
        )

    return by_itself


@pytest.mark.parametrize(
    "environment",
    [DELAYED, {**DELAYED, "ASNUMPY_FUSE": "0"}, {"ASNUMPY_FUSE": "0"}, {**ASCEND, **DELAYED}],
    ids=["delayed", "delayed, not fused", "not fused", "in CANN's place"],
)
def test_random_programs_behind_the_program(environment):
    assert "same" in run(environment, HERE / "stream_programs.py", 40)


def test_random_programs():
    stream_programs.examples(40)


def test_work_overlaps_and_nobody_waits():
    """The host launches on four streams of a delayed device without waiting, and they sleep at the same time."""
    program = """
import time, asnumpy as np
x = np.arange(3000.0)
np.synchronize()
def launches(streams):
    for k in range(12):
        with np.stream(streams[k % len(streams)]):
            y = np.sin(x) + k
    before = np.engine_stats()["synchronizations"]
    start = time.perf_counter()
    np.synchronize()
    return time.perf_counter() - start
one = launches([np.Stream()])
four = launches([np.Stream() for _ in range(4)])
print(one, four)
assert four < 0.5 * one
"""
    run({"ASNUMPY_CPU_LAUNCH_DELAY_US": "20000"}, "-c", program)


# ---- streams


def test_identity_names_and_the_current_stream():
    s, t = np.Stream(name="weights"), np.Stream(3)
    assert np.current_stream() == np.default_stream() != s
    assert (s.name, s.priority, s.device, t.priority) == ("weights", 0, np.get_device(), 3)
    assert t.name == f"stream {t.number}"
    assert "weights" in repr(s)
    assert len({s, t, np.default_stream(), np.current_stream()}) == 3
    with np.stream(s) as inside:
        assert inside == np.current_stream() == s
        with np.stream(t):
            assert np.current_stream() == t
            with np.stream(None) as same:
                assert same == t
        assert np.current_stream() == s
    assert np.current_stream() == np.default_stream()
    assert s.handle != np.default_stream().handle


def test_streams_are_pooled():
    s = np.Stream(5)
    number = s.number
    del s
    assert np.Stream(5).number == number
    made = []
    with pytest.raises(RuntimeError, match="63 streams are in use; there may be 63"):
        for _ in range(64):
            made.append(np.Stream())
    del made
    for i in range(200):  # the host's waits hold a stream no longer than they last
        with np.stream(np.Stream()):
            x = np.full(100_000, i) * 2 + 1
            assert x[2999] == 2 * i + 1


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="priority is -1; it may be 0"):
        np.Stream(-1)
    with pytest.raises(TypeError, match="name is a int; it may be a str or None"):
        np.Stream(name=3)
    with pytest.raises(TypeError, match="stream takes an asnumpy.Stream, got int"):
        np.stream(3)
    with pytest.raises(TypeError, match="wait_event takes an asnumpy.Event, got Stream"):
        np.Stream().wait_event(np.Stream())
    with pytest.raises(TypeError, match="wait_stream takes an asnumpy.Stream, got Event"):
        np.Stream().wait_stream(np.Event())


def test_without_streams_nothing_is_tracked():
    program = """
import asnumpy as np
x = np.arange(1e5)
s = np.Stream()
with np.stream(s):
    y = x * 2
del s
np.synchronize()
assert np._core._stream_stats()[1:] == (0, 0)
z = np.sin(y)[:3] + 1
assert float((x * 2 - y).sum()) == 0
s = np.Stream()  # and again
with np.stream(s):
    y += 1
assert y[7] == 15
print("ok")
"""
    for environment in ({}, DELAYED):
        assert run(environment, "-c", program) == "ok\n"


# ---- events


def test_events_that_were_never_recorded_pass_at_once():
    e, s = np.Event(), np.Stream()
    assert not e.query()
    e.wait(s)
    e.synchronize()
    s.synchronize()
    with pytest.raises(RuntimeError, match="made without timing"):
        e.elapsed_time(np.Event(timing=True))


def test_time_between_events():
    s, start, end = np.Stream(), np.Event(timing=True), np.Event(timing=True, name="end")
    with pytest.raises(RuntimeError, match="is not recorded, or its stream has not reached it"):
        start.elapsed_time(end)
    start.record(s)
    with np.stream(s):
        np.sin(np.ones(2_000_000)).sum()
        end.record()
    end.synchronize()
    assert end.query()
    assert 0 < start.elapsed_time(end) < 10_000
    assert end.name == "end"
    assert s.record_event().query() in (True, False)


def line():
    return sys._getframe(1).f_lineno


def test_a_cycle_is_spelled_out():
    a, b, c = np.Stream(name="A"), np.Stream(name="B"), np.Stream(name="C")
    from_a, from_b, from_c = np.Event(a, name="a"), np.Event(b, name="b"), np.Event(c, name="c")
    first = line() + 1
    a.wait_event(from_b)
    b.wait_event(from_c)
    with pytest.raises(RuntimeError) as e:
        from_a.wait(c)
    file = re.escape(__file__)
    assert re.fullmatch(
        rf"deadlock: C would wait for a \({file}:{first + 3}\), which A is to record; A waits for b "
        rf"\({file}:{first}\), which B is to record; B waits for c \({file}:{first + 1}\), which C is to record",
        str(e.value),
    )
    with pytest.raises(RuntimeError, match="A would wait for a .*, which A is to record"):
        a.wait_event(from_a)
    from_c.record(c)
    from_b.record(b)
    c.wait_event(from_b)  # recorded: no cycle any more
    from_a.record(a)
    for s in (a, b, c):
        s.synchronize()


@alone
def test_a_cycle_through_an_array():
    a, b = np.Stream(name="A"), np.Stream(name="B")
    ready = np.Event(b, name="ready")
    a.wait_event(ready)
    with np.stream(a):
        x = np.ones(5000) * 2
    with (
        pytest.raises(
            RuntimeError, match="B would wait for A .*; A waits for ready .*, which B is to record"
        ),
        np.stream(b),
    ):
        (x + 1).to_numpy()
    with pytest.raises(RuntimeError, match="deadlock: the host waits for A .*; A waits for ready"):
        float(x[0])
    ready.record(b)
    assert x[4999] == 2


@alone
def test_what_reads_an_array_of_a_held_stream_waits():
    """A replay by its first argument, a program through the pieces that it reads in place of a copy, a solver that
    works on the calling thread."""
    a, b = np.Stream(name="A"), np.Stream(name="B")
    traced = np.jit(lambda x: x * 3 + 1)
    traced(np.ones((256, 256)))
    ready = np.Event(b, name="ready")
    a.wait_event(ready)
    with np.stream(a):
        x = np.ones((256, 256)) * 2
    for read in (
        traced,
        lambda x: np.roll(x, 1, 0) - np.roll(x, -1, 0) + np.roll(x, 2, 1),
        lambda x: np.concatenate([x, x]) * 2,
        np.linalg.inv,
        lambda x: np.linalg.solve(np.eye(256), x),
    ):
        with (
            pytest.raises(RuntimeError, match="(B would wait|host waits|host has to wait) for A"),
            np.stream(b),
        ):
            read(x).to_numpy()
    ready.record(b)
    with np.stream(b):
        assert (traced(x) == 7).all()


def test_a_copy_that_may_wait_is_refused_on_a_held_stream():
    """Before it is ordered behind what may never come."""
    a, b = np.Stream(name="A"), np.Stream(name="B")
    queue, ready = np.memory.CopyQueue(), np.Event(b, name="ready")
    a.wait_event(ready)
    with np.stream(a):
        transfer = queue.to_device(numpy.arange(100))
        with pytest.raises(
            RuntimeError, match="the host has to wait for A here, .*: A waits for ready"
        ):
            transfer.array()
    ready.record(b)
    with np.stream(a):
        assert transfer.array().tolist() == list(range(100))


def test_waits_leave_no_stream_behind():
    gc.collect()
    streams = np._core._stream_stats()[0]
    for _ in range(5):
        s = np.Stream()
        with np.stream(s):
            x = np.ones(5000) * 2
            assert float(x[0]) == 2
        assert (x + 1).to_numpy()[-1] == 3
        s.synchronize()
        del s, x
    gc.collect()
    assert np._core._stream_stats()[0] == streams


@pytest.mark.parametrize("wait", ["stream", "event", "value"])
def test_an_interrupt_ends_a_wait_and_says_for_what(wait):
    """With another thread about, which might record the event, nobody can tell that the wait is for ever."""
    s, go_on = np.Stream(name="S"), threading.Event()
    e = np.Event(np.default_stream(), name="e")
    s.wait_event(e)
    with np.stream(s):
        x = np.ones(5000) * 2
    idle = threading.Thread(target=go_on.wait)
    idle.start()
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    rescue = threading.Timer(20, e.record)  # the test fails then
    # A shell's background processes, and what they start, ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    rescue.start()
    begin = time.perf_counter()
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            {"stream": s.synchronize, "event": e.synchronize, "value": lambda: float(x[0])}[wait]()
    finally:
        timer.join()
        rescue.cancel()
        signal.signal(signal.SIGINT, before)
        go_on.set()
        idle.join()
    assert time.perf_counter() - begin < 5
    assert re.search(r"the host waits for [Se] .*default is to record", str(caught.value.__cause__))
    e.record()
    s.synchronize()
    assert x[4999] == 2


@alone
def test_the_host_does_not_wait_for_itself():
    s = np.Stream(name="S")
    e = np.Event(np.default_stream(), name="e")
    s.wait_event(e)
    with pytest.raises(RuntimeError, match=r"deadlock: the host waits for S \(.*no other thread"):
        s.synchronize()
    with pytest.raises(
        RuntimeError, match=r"deadlock: the host waits for e .*, which default is to record"
    ):
        e.synchronize()
    with pytest.raises(RuntimeError, match="deadlock"):
        np.synchronize()
    e.record()
    s.synchronize()
    with pytest.raises(RuntimeError, match="e was made for default to record, not for S"):
        e.record(s)


@alone
def test_an_operator_waits_for_no_event():
    """Inside an operator no other thread gets a turn that could record it, so it is an error at once."""
    s = np.Stream(name="S")
    e = np.Event(np.default_stream(), name="e")
    s.wait_event(e)
    with np.stream(s):
        counts = np.arange(3000) * 2
    with pytest.raises(
        RuntimeError, match="deadlock: the host has to wait for S here, before anybody can record"
    ):
        np.repeat(counts, counts)
    before = np.memory_stats()["bytes_in_use"]
    for _ in range(100):
        with np.stream(s), pytest.raises(RuntimeError, match="has to wait for S here"):
            np.bincount(counts)
    e.record()
    s.synchronize()
    np.synchronize()
    assert (
        np.memory_stats()["bytes_in_use"] <= before
    )  # nothing is kept of what did not come to pass
    assert np.repeat(counts, counts)[-1] == 5998 and np.bincount(counts)[-1] == 1


def test_another_thread_records():
    s, made = np.Stream(), np.Stream()
    e = np.Event(made)
    results = []

    def consume():
        with np.stream(s):
            e.wait()
            results.append(np.full(4000, 3.0).sum())
            e.synchronize()
            results.append(float((box[0] + 1).sum()))

    box = []
    thread = threading.Thread(target=consume)
    thread.start()
    with np.stream(made):
        box.append(np.ones(100_000) * 2)
        e.record()
    thread.join()
    assert results == [12000.0, 300_000.0]


@alone
def test_an_event_that_goes_away():
    s = np.Stream(name="S")
    e = np.Event(np.default_stream(), name="lost")
    s.wait_event(e)
    del e
    with np.stream(s):
        x = np.ones(3000) + 1
    with pytest.raises(
        RuntimeError, match=r"S waited for lost \(.*\), which was never recorded and is gone"
    ):
        s.synchronize()
    s.synchronize()
    assert x[2999] == 2


def test_replays_are_ordered_by_their_arrays():
    """Jitted functions on several streams, behind the program: results, in-place writes, shared constants."""
    program = """
import asnumpy as np, numpy
rng = numpy.random.default_rng(3)
table, host_table = np.asarray(rng.random((60, 60))), None
host_table = table.to_numpy()
@np.jit
def step(x, y):
    t = np.sin(x) @ table + y
    y += np.cumsum(x, axis=1) * 0.01
    return t * 0.1, np.sort(x, axis=0)
def plain(x, y):
    t = numpy.sin(x) @ host_table + y
    y += numpy.cumsum(x, axis=1) * 0.01
    return t * 0.1, numpy.sort(x, axis=0)
streams = [np.Stream() for _ in range(3)]
ours = [np.asarray(rng.random((60, 60))) for _ in range(5)]
theirs = [a.to_numpy() for a in ours]
for turn in range(60):
    i, j, k = rng.permutation(5)[:3]
    with np.stream(streams[turn % 3]):
        a, b = step(ours[i], ours[j])
        ours[k] = a + b
        if turn % 7 == 0:
            table += 1e-3
    a, b = plain(theirs[i], theirs[j])
    theirs[k] = a + b
    if turn % 7 == 0:
        host_table = host_table + 1e-3
for a, b in zip(ours, theirs):
    numpy.testing.assert_allclose(a.to_numpy(), b, rtol=1e-9)
print(step.cache_info().hits > 40)
"""
    here, beside = {"ASNUMPY_DEVICE": "cpu"}, {**ASCEND, **DELAYED}
    for environment in (
        here,
        {**here, **DELAYED},
        {**here, **DELAYED, "ASNUMPY_FUSE": "0"},
        beside,
    ):
        assert run({**environment, "ASNUMPY_CANN_STRICT": "0"}, "-c", program) == "True\n"


# What waits for other streams on its own, each operand in turn: letters say which arrays an operation takes,
# x and y of reals, i of positions, m of truths, s and t of matrices.
OPERATIONS = """
xi: m.take(x, i) | xi: x[i] | xiy: x.__setitem__(i, y) | xiy: m.add.at(x, i % 50, y) | xiy: m.multiply.at(x, i, y)
xi: m.subtract.at(x, i, 0.5) | xi: m.negative.at(x, i) | xiy: m.put(x, i, y) | xm: x[m] | xm: x.__setitem__(m, 0.5)
xmy: m.putmask(x, m, y) | xmy: m.copyto(x, y, where=m) | im: m.flatnonzero(m) + i[0] | mxy: m.where(m, x, y)
i: m.bincount(i) | ix: m.bincount(i, x) | i: m.bincount(i, minlength=9000) | ixy: m.choose(i % 2, (x, y))
x: m.sort(x) | x: m.argsort(x) | x: x.sort() | x: m.partition(x, 700)[:700].sum() | x: m.median(x) | i: m.unique(i)
xy: m.lexsort((x, y)) | xy: m.searchsorted(m.sort(x), y) | xi: m.take_along_axis(x, i, 0) | xm: m.compress(m, x)
xiy: m.put_along_axis(x, i, y, 0) | x: m.cumsum(x) | xy: m.dot(x, y) | xy: m.convolve(x[:60], y) | xy: m.interp(x, m.sort(y), y)
st: s @ t | st: m.linalg.solve(s + 60 * m.eye(60), t) | s: m.linalg.inv(s + 60 * m.eye(60)) | st: m.einsum("ij,jk->i", s, t)
st: m.matmul(s, t, out=m.zeros((60, 60))) | s: m.linalg.eigvalsh(s + s.T) | xy: m.concatenate((x, y)) | x: m.roll(x, 7)
x: m.fft.fft(x) | s: m.fft.fft2(s) | x: m.fft.irfft(x) | x: m.repeat(x, 3) | xy: m.add.reduceat(x, [0, 70, 4000]) + y[0]
x: x.max() | x: x.argmax() | x: m.std(x) | s: s.sum(axis=0) | x: m.histogram(x, 20)[0] | x: m.diff(x) | x: m.tile(x, 2)
s: m.pad(s, 3) | xy: m.outer(x[:60], y[:70]) | x: m.quantile(x, 0.3) | s: m.trace(s) | s: m.tril(s) | xm: x[::-1][m].sum()
"""


@pytest.mark.skipif(NPU, reason="runs on both devices where this one is not CANN's place")
def test_every_operand_is_waited_for():
    """Another stream writes an operand before the operation reads it, and after."""
    program = """
import sys, asnumpy as np, numpy
rng = numpy.random.default_rng(8)
HOST = dict(x=rng.random(5000), y=rng.random(5000), i=rng.permutation(5000), m=rng.random(5000) < 0.5,
            s=rng.random((60, 60)), t=rng.random((60, 60)))
before, at, after = np.Stream(), np.Stream(), np.Stream()
for entry in sys.argv[1].replace("\\n", "|").split("|"):
    names, _, text = entry.strip().partition(": ")
    function = eval(f"lambda m_, {', '.join(names)}: " + text.replace("m.", "m_.")) if names else None
    for late in names:
        ours = {n: np.array(HOST[n]) for n in names}
        theirs = {n: HOST[n].copy() for n in names}
        np.synchronize()
        with np.stream(before):
            for _ in range(3):
                ours[late][...] = ours[late][::-1]
        with np.stream(at):
            got = function(np, **ours)
        with np.stream(after):
            ours[late][...] = ours[late][::-1]
        theirs[late][...] = theirs[late][::-1].copy()
        want = function(numpy, **theirs)
        theirs[late][...] = theirs[late][::-1].copy()
        what = f"{text}, {late} of another stream"
        if want is not None:
            numpy.testing.assert_allclose(np.asarray(got).to_numpy(), want, 1e-7, 1e-9, err_msg=what)
        for n in names:
            numpy.testing.assert_allclose(ours[n].to_numpy(), theirs[n], 1e-7, 1e-9, err_msg=what)
print("same")
"""
    for environment in (DELAYED, {**ASCEND, **DELAYED}):
        environment = {**environment, "ASNUMPY_CANN_STRICT": "0"}
        assert "same" in run(environment, "-c", program, OPERATIONS.strip())


def test_streams_stay_as_they_are_in_a_trace():
    s = np.Stream()

    @np.jit
    def switches(x):
        with np.stream(s):
            return x + 1

    with pytest.raises(RuntimeError, match="another stream is made current"):
        switches(np.ones(5))
    assert np.current_stream() is np.default_stream() or np.current_stream() == np.default_stream()


# ---- errors of tasks


def test_a_failure_stays_on_its_stream():
    """(A task that fails behind the program is in tests/capi/test_streams.c.)"""
    program = """
import asnumpy as np, numpy
bad, good = np.Stream(name="bad"), np.Stream(name="good")
x = np.arange(6.0)
with np.stream(bad):
    indices = np.array([0, 9])
    try:
        x[indices]
    except IndexError as e:
        print(type(e).__name__)
with np.stream(good):
    y = x + 1
print(y[5])
bad.synchronize()
"""
    for environment in ({}, {**ASCEND, **DELAYED}):
        assert run(environment, "-c", program) == "IndexError\n6.0\n"


# ---- threads


@pytest.mark.parametrize("same", [False, True], ids=["other modes", "same modes"])
def test_modes_change_beside_a_stream_that_waits(same):
    """Changing the modes, or calling from a thread that has others, waits for no stream that waits for the caller."""
    s, e, results, go_on = np.Stream(), np.Event(np.default_stream()), [], threading.Event()
    failures = []

    def consume():
        try:
            with np.errstate(over="warn" if same else "ignore"), np.stream(s):
                e.wait()
                x = np.ones(5000) + 1
                go_on.set()
                results.append(float(x.sum()))
        except BaseException as caught:
            failures.append(caught)
            raise

    thread = threading.Thread(target=consume)
    thread.start()
    assert go_on.wait(60)
    with np.errstate(under="warn"):
        y = np.ones(5000) * 3
    assert float((y + 1)[7]) == 4
    e.record()
    thread.join(60)
    assert not thread.is_alive() and not failures
    assert results == [10_000]


@pytest.mark.parametrize(
    "environment",
    [{}, {"ASNUMPY_FUSE": "0"}, ASCEND],
    ids=["fused", "not fused", "in CANN's place"],
)
def test_replays_that_wait_on_the_way(environment):
    """A replay's upload waits for its stream: results of the steps before it and after are waited for still."""
    program = """
import asnumpy as np, numpy
@np.jit
def function(x):
    first = np.exp(x)
    parts = x[[-3, 17, -5, 22]]
    return first, np.repeat(x, 2), parts, np.sqrt(parts)
given = numpy.random.default_rng(0).random((6, 255), "f4") + numpy.float32(0.5)
with np.stream(np.Stream()):
    arrays = [np.asarray(row.copy()) for row in given]
    for x, row in zip(arrays, given):
        parts = row[[-3, 17, -5, 22]]
        wanted = (numpy.exp(row), numpy.repeat(row, 2), parts, numpy.sqrt(parts))
        for result, want in zip(function(x), wanted):
            numpy.testing.assert_allclose(result.to_numpy(), want, rtol=1e-5)
print("same")
"""
    assert run({**environment, "ASNUMPY_CPU_LAUNCH_DELAY_US": "300"}, "-c", program) == "same\n"


def test_what_a_trace_writes_is_waited_for():
    """The call that is traced writes its argument under another name; the argument is waited for all the same."""
    program = """
import asnumpy as np, numpy
@np.jit
def function(v):
    v *= v
    return v[0:0]
given = numpy.random.default_rng(0).random((4, 35, 33), "f4")
s = np.Stream()
v = np.array(given)
empty = function(v)
assert numpy.array_equal(v.to_numpy(), given * given)
print("same")
"""
    assert run({"ASNUMPY_CPU_LAUNCH_DELAY_US": "1000"}, "-c", program) == "same\n"


def test_threads_have_streams_of_their_own():
    shared = [np.arange(20_000.0) + k for k in range(4)]
    failures = []

    def work(k):
        try:
            with np.stream(np.Stream()):
                mine = np.zeros(20_000)
                for turn in range(30):
                    mine += shared[(k + turn) % 4]
                    if turn % 7 == 0:
                        float(mine[turn])
                want = sum(numpy.arange(20_000.0) + (k + turn) % 4 for turn in range(30))
                numpy.testing.assert_array_equal(mine.to_numpy(), want)
        except BaseException as e:
            failures.append(e)
            raise

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


# ---- devices and processes


def test_streams_belong_to_a_device():
    program = """
import asnumpy as np
s = np.Stream(name="zero")
with np.stream(s):
    x = np.ones(50000) + 1
np.set_device(1)
assert np.current_stream() == np.default_stream()
with np.stream(np.Stream(name="one")) as t:
    z = np.sort(np.arange(30000.0) * 2)
assert (t.device, float(z[29999])) == (1, 59998.0)
try:
    with np.stream(s):
        pass
except ValueError as e:
    print(e)
np.set_device(0)
with np.stream(s):
    assert float((x * 3).sum()) == 300000
"""
    for more in ({}, DELAYED):
        assert (
            run({"ASNUMPY_CPU_DEVICES": "2", **more}, "-c", program)
            == "zero is on device 0; the current device is 1\n"
        )


def test_fork_close_and_exit():
    program = """
import os, asnumpy as np
s = np.Stream()
with np.stream(s):
    x = np.ones(500_000) + 1
child = os.fork()
if not child:
    with np.stream(s):
        y = np.sqrt(np.ones(300_000) * 4)
    os._exit(0 if float(y.sum()) == 600_000 else 1)
assert os.waitpid(child, 0)[1] == 0
assert x[0] == 2
del x
np.finalize()
try:
    with np.stream(s):
        pass
except ValueError as e:
    print(e)
t = np.Stream()
e = np.Event(np.default_stream())
t.wait_event(e)
with np.stream(t):
    z = np.ones(5000) + 1  # is never computed: the process ends
"""
    for environment in ({}, DELAYED):
        assert "which was closed since" in run(environment, "-c", program)


# ---- memory


def test_memory_in_use_is_not_given_to_another_stream():
    program = """
import asnumpy as np
a, b = np.Stream(), np.Stream()
x = np.ones(50_000)
np.synchronize()
with np.stream(a):
    y = x * 3  # runs in 20 ms
del y
waiting = np._core._stream_stats()[2]
with np.stream(b):
    z = np.full(50_000, 7.0)
with np.stream(a):
    again = np._core._stream_stats()
    w = x * 5
    w2 = w + 1
assert (z == 7).all() and (w2 == 6).all()
np.synchronize()
assert np._core._stream_stats()[2] == 0
print(waiting)
"""
    waiting = int(run({"ASNUMPY_CPU_LAUNCH_DELAY_US": "20000", "ASNUMPY_FUSE": "0"}, "-c", program))
    assert 400_000 <= waiting < 500_000


def test_adopted_memory_is_released_when_its_streams_are_done():
    s = np.Stream()
    host = numpy.ones(50_000)
    gone = weakref.ref(host)
    a = np.asarray(host)
    with np.stream(s):
        b = a * 2
    del a, host
    gc.collect()
    assert (b == 2).all()
    np.synchronize()
    gc.collect()
    assert gone() is None


# ---- with the copy queue and the profiler


def test_copies_behind_the_program():
    s, t = np.Stream(), np.Stream()
    queue = np.memory.CopyQueue()
    host = numpy.arange(200_000.0)
    with np.stream(s):
        x = queue.to_device(host).array()
    with np.stream(t):
        y = x * 2
        out = queue.to_host(y)
    numpy.testing.assert_array_equal(out.wait(), host * 2)


def test_a_stream_is_a_lane_of_a_profile(tmp_path):
    import json

    s = np.Stream(name="lane")
    x = np.ones(100_000)
    with np.profile() as p:
        with np.stream(s):
            (np.sin(x) * 2).sum()
        (x + 1).sum()
    on = {e.stream for e in p.events if e.kind in ("program", "operator")}
    assert {0, s.number} <= on
    p.export(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert f"stream {s.number}" in {e["args"]["name"] for e in trace if e["name"] == "thread_name"}
