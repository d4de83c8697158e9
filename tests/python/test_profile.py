"""asnumpy.profile: what it records, for which line, and what its outputs are made of."""

import csv
import inspect
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import asnumpy as np
import numpy
import pytest
from conftest import SINGLE_OPERATORS

FUSED = not SINGLE_OPERATORS
fused = pytest.mark.skipif(
    not FUSED, reason="this run has no fused programs (ASNUMPY_FUSE=0 or CANN alone)"
)
on_cpu = pytest.mark.skipif(
    not FUSED, reason="small operations run at once only on the CPU device's own way"
)
HERE = pathlib.Path(__file__).name


def line():
    """The line of the caller."""
    return inspect.currentframe().f_back.f_lineno


def of_kind(p, *kinds):
    return [e for e in p.events if e.kind in kinds]


def where(event):
    file, number = event.line.rsplit(":", 1)
    return pathlib.Path(file).name, int(number)


@fused
def test_a_fused_program_with_the_lines_of_its_operations():
    a, b = np.ones(100_000), np.ones(100_000)
    with np.profile() as p:
        x = a * 2
        first = line() - 1
        y = np.sqrt(x) + b
        y.tolist()
    (program,) = of_kind(p, "program")
    steps = program.program["steps"]
    assert [s["name"] for s in steps] == ["multiply", "sqrt", "add"]
    assert [int(s["line"].rsplit(":", 1)[1]) - first for s in steps] == [0, 2, 2]
    assert all(HERE in s["line"] for s in steps)
    assert [s["from"] for s in steps] == [[-1, -2], [0], [1, -1]]
    assert program.program["shape"] == (100_000,)
    assert program.name == "multiply + sqrt + add"
    # x and y are held: two loads, two stores
    assert [s["stored"] for s in steps] == [True, False, True]
    assert (program.bytes, program.flops) == (4 * 800_000, 3 * 100_000)
    assert program.function == inspect.currentframe().f_code.co_qualname
    assert 0 < program.seconds < p.seconds
    del x


def test_operations_of_all_kinds_are_there_with_their_lines():
    a = np.array(numpy.random.default_rng(0).random(40_000))
    m = np.array(numpy.random.default_rng(0).random((200, 200)))
    with np.profile() as p:
        start = line()
        np.sort(a)
        m @ m
        np.fft.fft(a)
        np.linalg.inv(m)
        np.cumsum(a)
        np.synchronize()
    lines = {where(e)[1] - start for e in of_kind(p, "operator", "program")}
    assert {1, 2, 3, 4, 5} <= lines
    (product,) = [e for e in of_kind(p, "operator") if e.name == "matmul"]
    assert (product.flops, product.bytes) == (2 * 200**3, 3 * 8 * 200**2)
    assert all(e.line == "" or where(e)[0] == HERE for e in p.events)


def test_operations_count_the_same_however_they_run():
    """One at a time, fused or by CANN's operators: the floating-point operations are those of the rows."""
    a, b = np.ones(100_000), np.ones(100_000)
    for work, flops in (
        (lambda: (a * 2 + b).sum(), 300_000),
        (lambda: np.sqrt(a), 100_000),
        (lambda: a.max(), 100_000),
        (lambda: np.cumsum(a), 100_000),
        (lambda: a < b, 0),
    ):
        with np.profile() as p:
            work().tolist()
        assert sum(e.flops for e in of_kind(p, "program", "operator")) == flops


@pytest.mark.skipif(SINGLE_OPERATORS, reason="put together of several operators")
def test_a_sliding_product_reads_both_and_writes_its_length():
    a, v = np.arange(3000.0), np.arange(17.0)
    for mode, length in (("full", 3016), ("same", 3000), ("valid", 2984)):
        with np.profile() as p:
            np.correlate(a, v, mode)
            np.synchronize()
        (event,) = [e for e in of_kind(p, "operator") if e.name == "correlate"]
        assert event.bytes == 8 * (3000 + 17 + length)


def test_transforms_and_solvers_say_what_they_moved():
    """Bytes of what they read and write; 5 n log2(n) operations of a transform. Also where the CPU computes."""
    a, m = np.arange(1024.0) + 1j, np.eye(50) + 0.5
    for work, name, nbytes, flops in (
        (lambda: np.fft.fft(a), "fft", 2 * 16 * 1024, 5 * 1024 * 10),
        (lambda: np.linalg.inv(m), "inv", 2 * 8 * 50**2, 0),
        (lambda: np.linalg.eigvalsh(m), "eigvalsh", 8 * (50**2 + 50), 0),
    ):
        with np.profile() as p:
            work()
            np.synchronize()
        (event,) = [e for e in of_kind(p, "operator") if e.name == name]
        assert (event.bytes, event.flops) == (nbytes, flops)


@on_cpu
def test_small_operations_are_counted_and_every_one_timed_on_request():
    a = np.arange(10.0)
    with np.profile(every=1) as p:
        for _ in range(50):
            a + 1.0
        a.sum()
    adds = [e for e in of_kind(p, "small") if e.name == "add"]
    assert len(adds) == 51 and all(e.calls == 1 for e in adds)
    assert (adds[0].flops, adds[0].bytes) == (10, 160)
    with np.profile() as p:
        for _ in range(4000):
            a + 1.0
    small = of_kind(p, "small")
    assert 4000 / 64 < len(small) < 4000 / 16  # one in 32
    # what came after the last sample is in no event
    assert 4000 - 64 < sum(e.calls for e in small) <= 4000
    (row,) = [r for r in p.rows() if r.kind == "small"]
    assert row.calls == sum(e.calls for e in small)


@on_cpu
def test_small_moves_are_operations_too():
    a, b, m, i = np.arange(10.0), np.ones(10), np.arange(10) % 3 == 0, np.array([3, 1])
    which, choices = np.array([0, 3, 2, 3]), tuple(np.arange(4.0) + 10 * k for k in range(4))
    with np.profile(every=1) as p:
        np.concatenate((a, b))
        a[m]
        a[i]
        a[m] = 2.0
        a[2:4] = 0.5
        np.zeros(10)
        a.copy()
        np.nonzero(m)
        np.mean(a)
        np.std(a)
        np.argmax(a)
        chosen = np.choose(which, choices)
        np.packbits(m)
        np.bincount(i)
    names = [e.name for e in of_kind(p, "small")]
    assert names == ["concatenate", "index", "index", "index assign", "assign", "full", "copy", "nonzero",
                     "mean", "std", "argmax", "choose", "packbits", "bincount"]  # fmt: skip
    assert chosen.tolist() == [0, 31, 22, 33]


def test_synchronisations_name_their_reason():
    a = np.ones(100_000)
    with np.profile() as p:
        (a + 1)[5]
        numpy.asarray(a + 2)
        (a + 3).tolist()
        b = a + 4
        np.synchronize()
    waits = of_kind(p, "synchronize")
    assert [w.name for w in waits] == [
        "the value of an element is read", "the host reaches for the array's memory",
        waits[2].name, "synchronize()"] or not FUSED  # fmt: skip
    assert len({w.line for w in waits}) == 4
    assert "synchronisations: 4" in p.summary() or not FUSED
    del b


def test_waits_are_counted_with_and_without_a_session():
    x = np.arange(5000.0) * 2
    before = np.engine_stats()["synchronizations"]
    assert float(x[7]) == 14
    assert np.engine_stats()["synchronizations"] == before + 1


def test_waits_of_arrays_that_are_filled_from_the_host():
    """Their memory may have been another's, with work of a stream still on it."""
    a, numbers, stream = np.ones(300_000), [1.0] * 3000, np.Stream()
    np.synchronize()
    with np.profile() as p:
        with np.stream(stream):
            b = np.sqrt(a) + 1
        np.array(numbers)
    assert [w.name for w in of_kind(p, "synchronize")] == ["memory is filled from the host"]
    del b


@fused
def test_programs_in_bands_move_what_they_move_as_a_whole():
    """The bytes of an array's parts add up, whatever its shape."""
    x = np.array(numpy.random.default_rng(1).random((2000, 500)))
    np.synchronize()
    moved = []
    for rows in (2000, 20):  # 20 rows alone are no bands
        with np.profile() as p:
            part = x[:rows]
            y = part / part.sum(axis=1, keepdims=True)
            np.synchronize()
        programs = of_kind(p, "program")
        moved.append((sum(e.bytes for e in programs), sum(e.flops for e in programs)))
        assert (len(programs) > 10) == (rows == 2000)
        del y
    assert moved[0] == tuple(100 * n for n in moved[1])


def test_memory_rises_and_falls():
    np.synchronize()
    with np.profile() as p:
        a = np.ones(1_000_000)
        np.synchronize()
        held = np.memory_stats()["bytes_in_use"]
        del a
    curve = [b for _, b in p.memory()]
    assert max(curve) >= curve[0] + 8_000_000
    assert curve[-1] <= max(curve) - 8_000_000
    assert max(curve) >= held - 65536  # what lies in the threads' stocks counts as used in the pool
    (taken,) = [e for e in of_kind(p, "allocate") if e.bytes >= 8_000_000]
    assert where(taken)[0] == HERE


def test_totals_are_exact_beyond_the_ring():
    a = np.ones(5)
    with np.profile(every=1) as p:
        for _ in range(300_000):
            a + 1
    done = sum(calls for (_, name, _), (calls, *_) in p.totals().items() if name == "add")
    assert done == 300_000
    if FUSED:
        assert len(p.events) <= 262_144 and p.dropped >= 300_000 - 262_144


def test_sessions_nest_and_are_read_while_they_run():
    a = np.ones(100_000)
    with np.profile() as outer:
        (a + 1).tolist()
        with np.profile() as inner:
            (a * 2).tolist()
        (a - 3).tolist()
        running = {name for _, name, _ in outer.totals()}
    names = {name for _, name, _ in outer.totals()}
    assert {"add", "multiply", "subtract"} <= names and {"add", "multiply", "subtract"} <= running
    inside = {name for _, name, _ in inner.totals()}
    assert "multiply" in inside and not inside & {"add", "subtract"}
    before = len(outer.events)
    (a + 1).tolist()
    assert len(outer.events) == before


def test_misuse_is_an_error_that_says_so():
    with pytest.raises(ValueError, match="every is 0; it is a whole number from 1 on"):
        np.profile(every=0)
    with pytest.raises(ValueError, match="every is 1.5"):
        np.profile(every=1.5)
    p = np.profile()
    with pytest.raises(RuntimeError, match="no session has begun"):
        p.stop()
    with pytest.raises(RuntimeError, match="no session has begun"):
        p.summary()
    with p, pytest.raises(RuntimeError, match="has not ended"):
        p.start()
    with pytest.raises(ValueError, match="by is 'size'; it may be 'name' or 'line'"):
        p.rows(by="size")


def test_an_exception_ends_the_session():
    with pytest.raises(ZeroDivisionError), np.profile() as p:
        1 / 0  # noqa: B018
    assert p.seconds > 0
    with pytest.raises(RuntimeError, match="no session"):
        p.stop()


def work():
    a = np.linspace(0, 1, 300_000)
    for _ in range(3):
        b = 2 * a + np.sqrt(a)
        a = b / b.max()
    return a.tolist()


def test_summary_has_the_rates_and_their_limits():
    with np.profile() as p:
        work()
    text = p.summary()
    assert re.search(
        r"^name +calls +total ms +mean us +time +MB +GB/s +GFLOP/s +of limit$", text, re.M
    )
    assert re.search(r"this machine: [\d.]+ GB/s, [\d.]+ GFLOP/s \(float32\), as measured", text)
    bandwidth, flops = np._profile.limits()
    for row in p.rows():
        if row.seconds and row.kind not in ("synchronize", "plan"):
            assert row.gbytes_per_second == pytest.approx(row.bytes / row.seconds / 1e9)
            shares = row.gbytes_per_second * 1e9 / bandwidth, row.gflops * 1e9 / flops
            assert row.of_limit == pytest.approx(max(shares))
    assert p.summary(by="line", top=1).count(HERE) >= 1


NUMBER = (int, float)
FIELDS = {  # the format's own fields (the document "Trace Event Format"), by phase
    "X": {
        "name": str,
        "cat": str,
        "pid": int,
        "tid": int,
        "ts": NUMBER,
        "dur": NUMBER,
        "args": dict,
    },
    "C": {"name": str, "pid": int, "ts": NUMBER, "args": dict},
    "M": {"name": str, "pid": int, "tid": int, "args": dict},
}


def test_export_as_a_table(tmp_path):
    with np.profile() as p:
        work()
    p.export(str(tmp_path / "events.csv"))
    with open(tmp_path / "events.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    events = p.events
    assert len(rows) == len(events) > 0
    for row, event in zip(rows, events, strict=True):
        assert (row["Kind"], row["Name"]) == (event.kind, event.name)
        assert abs(float(row["Duration(us)"]) - event.seconds * 1e6) < 0.001
        assert int(row["Bytes"]) == event.bytes
    for name in ("events.txt", "events", "trace.json.gz"):
        with pytest.raises(ValueError, match="may end with .json or .csv"):
            p.export(tmp_path / name)
        assert not (tmp_path / name).exists()


def test_the_trace_has_chromes_format(tmp_path):
    with np.profile() as p:
        work()
    p.export(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert trace["displayTimeUnit"] in ("ms", "ns")
    spans = {}
    for e in trace["traceEvents"]:
        fields = FIELDS[e["ph"]]
        assert set(e) == {"ph", *fields}, e
        for name, kind in fields.items():
            assert isinstance(e[name], kind), (name, e)
        if e["ph"] == "C":
            assert all(isinstance(v, NUMBER) for v in e["args"].values())
        if e["ph"] == "X":
            assert e["ts"] >= 0 and e["dur"] >= 0
            assert e["ts"] + e["dur"] <= p.seconds * 1e6 + 1000
            spans.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"]))
    assert spans
    for track in spans.values():  # complete events of one track nest or are apart
        track.sort(key=lambda s: (s[0], -s[1]))
        for (_, end), (begin, _) in zip(track, track[1:], strict=False):
            assert begin >= end - 0.5
    named = {e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    assert "thread 1: operations" in named or len(named) > 0


def test_the_page_holds_everything_itself(tmp_path):
    with np.profile() as p:
        work()
    p.html(tmp_path / "p.html")
    text = (tmp_path / "p.html").read_text()
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    data = json.loads(re.search(r"const data = (\{.*\});\n", text)[1].replace("<\\/", "</"))
    assert len(data["events"]) == len(
        [e for e in p.events if e.kind not in ("allocate", "release")]
    )
    assert data["memory"] and data["rows"]
    assert bool(data["programs"]) == FUSED


@pytest.mark.skipif(
    not shutil.which("chromium"), reason="chromium is not installed (make test-full installs it)"
)
def test_the_page_in_a_browser(tmp_path):
    with np.profile() as p:
        work()
    p.html(tmp_path / "p.html")
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", f"--user-data-dir={tmp_path}/u",
         "--dump-dom", (tmp_path / "p.html").as_uri()], capture_output=True, text=True, timeout=120, check=True)  # fmt: skip
    ready = re.search(r'data-ready="(\d+) events, (\d+) programs, (\d+) tracks"', done.stdout)
    assert ready, done.stdout[-500:]
    shown = [e for e in p.events if e.kind not in ("allocate", "release")]
    assert int(ready[1]) == len(shown) and int(ready[3]) >= 1
    assert done.stdout.count("<details") == int(ready[2])
    if FUSED:
        assert int(ready[2]) >= 1 and "<rect" in done.stdout


def run_script(
    folder,
    *options,
    script="import sys, asnumpy as np\nprint(sys.argv[1:], float((np.ones(90000) + 1).sum()))\n",
):
    (folder / "script.py").write_text(script)
    return subprocess.run(
        [sys.executable, "-m", "asnumpy.profile", *options, str(folder / "script.py"), "-x", "7"],
        capture_output=True, text=True, timeout=120, check=False)  # fmt: skip


def test_a_script_from_the_command_line(tmp_path):
    done = run_script(
        tmp_path,
        "--trace",
        str(tmp_path / "t.json"),
        "--html",
        str(tmp_path / "p.html"),
        "--by",
        "line",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['-x', '7'] 180000.0\n"
    assert "script.py:2" in done.stderr and "synchronisations" in done.stderr
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert (tmp_path / "p.html").stat().st_size > 1000


def test_a_script_that_fails_is_still_reported(tmp_path):
    done = run_script(
        tmp_path, script="import asnumpy as np\nnp.ones(9).sum()\nraise KeyError('k')\n"
    )
    assert done.returncode == 1
    assert "KeyError: 'k'" in done.stderr and "in operations and copies" in done.stderr


def test_the_module_makes_sessions_too():
    code = "import asnumpy.profile\nwith asnumpy.profile() as p: pass\nprint(p.seconds > 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


DELAYED = """
import asnumpy as np
a = np.ones(200_000)
np.synchronize()
with np.profile() as p:
    for _ in range(300):  # more than the recorder has pairs of events for
        a @ a
    np.synchronize()
found = [e.seconds for e in p.events if e.kind in ("operator", "program")]
assert len(found) == 300, len(found)
assert all(1e-7 < s < 0.4 for s in found), (min(found), max(found))
print("timed by the device")
"""


def test_work_behind_the_calls_is_timed_by_the_device():
    env = {**os.environ, "ASNUMPY_CPU_LAUNCH_DELAY_US": "50"}
    done = subprocess.run(
        [sys.executable, "-c", DELAYED], capture_output=True, text=True, env=env, check=False
    )
    assert done.stdout == "timed by the device\n", done.stderr


def test_threads_have_numbers_of_their_own():
    import threading

    a = np.ones(50_000)
    with np.profile() as p:
        workers = [
            threading.Thread(target=lambda: [(a + i).tolist() for i in range(5)]) for _ in range(2)
        ]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
    assert len({e.thread for e in of_kind(p, "program", "operator")}) == 2


@fused
def test_an_operation_on_its_own():
    """It is a program: what it reads and writes, once each, and a number or a broadcast row by what it has."""
    a, b, row = np.ones((500, 400)), np.ones((500, 400)), np.ones(400)
    np.synchronize()
    with np.profile() as p:
        for operation in (lambda: a + b, lambda: np.sqrt(a), lambda: a * 2.5, lambda: a - row):
            kept = operation()
            np.synchronize()
            del kept
    found = [(e.name, e.bytes, e.flops) for e in of_kind(p, "program")]
    size, item = 200_000, 8
    assert found == [
        ("add", 3 * size * item, size),
        ("sqrt", 2 * size * item, size),
        ("multiply", 2 * size * item, size),
        ("subtract", 2 * size * item + 400 * item, size),
    ]


@fused
def test_replays_record_what_plain_calls_record():
    """One event for each sort, transform, solver and scan, of the same names and sizes, traced or not;
    a session that begins while a function is traced neither stays on nor takes the trace away."""

    def work(a, m):
        return np.sort(a), np.fft.fft(a), np.cumsum(a), np.linalg.inv(m), np.interp(a, a, a)

    def events(call):
        with np.profile() as p:
            call()
            np.synchronize()
        return sorted((e.name, e.bytes) for e in p.events if e.kind == "operator")

    a, m = np.linspace(0, 1, 3000), np.eye(30) + 0.5
    plain = events(lambda: work(a, m))
    traced = np.jit(work)
    traced(a, m)
    assert events(lambda: traced(a, m)) == plain
    inside = []

    def begins_a_session(a):
        with np.profile() as p:
            b = np.sort(a) * 2
        inside.append(p)
        return b

    twice = np.jit(begins_a_session)
    for x in (a, a + 1):
        assert twice(x).tolist() == (x + x).tolist()
    assert events(lambda: work(a, m)) == plain
    assert not events(lambda: None)


class Shell:
    """What IPython's shell has of what the magic uses."""

    def __init__(self):
        self.magics, self.names = {}, {"np": np}

    def register_magic_function(self, function, kind, name):
        assert kind == "line_cell"
        self.magics[name] = function

    def run_cell(self, code):
        error = None
        try:
            exec(code, self.names)
        except Exception as caught:
            error = caught

        class Result:
            def raise_error(self):
                if error is not None:
                    raise error

        return Result()


@pytest.mark.parametrize(
    "line, cell",
    [("--by line --top 3", "result = np.sort(np.ones(1000)).sum()"),
     ("result = np.sort(np.ones(1000)).sum()", None)],
)  # fmt: skip
def test_magic(line, cell, capsys):
    import asnumpy.profile

    shell = Shell()
    asnumpy.profile.load_ipython_extension(shell)
    shell.magics["asnumpy_profile"](line, cell)  # the shell shows a cell's value itself
    assert "in operations and copies" in capsys.readouterr().out
    assert shell.names["result"] == 1000
    with pytest.raises(ZeroDivisionError):
        shell.magics["asnumpy_profile"]("", "1 / 0")
