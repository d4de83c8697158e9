"""Bubbles of a profile, on events that are made up and on real ones, and ASNUMPY_PROFILE=path of whole programs."""

import csv
import json
import os
import re
import subprocess
import sys
import time
import types

import asnumpy as np
import pytest
from asnumpy import _profile_bubbles as bubbles_module
from asnumpy._profile import Event

PROGRAM = bubbles_module.PROGRAM


def event(kind, start, seconds, stream=0, name="x", calls=1):
    return Event(kind, name, start, seconds, 0, 0, calls, "", "", 1, 0, None, stream)


def found(*events, least=0.5):
    session = types.SimpleNamespace(events=list(events))
    return [tuple(b) for b in bubbles_module.bubbles(session, least)]


def test_gaps_and_what_covers_them():
    work = [event("program", 0, 1), event("operator", 3, 1), event("to host", 10, 1)]
    assert found(*work) == [(0, 4, 6, PROGRAM), (0, 1, 2, PROGRAM)]
    wait = event("synchronize", 1.2, 1.7, name="the value of an element is read")
    plan = event("plan", 4, 3.5)
    assert found(*work, wait, plan) == [
        (0, 4, 6, "a plan was made"),
        (0, 1, 2, "the host: the value of an element is read"),
    ]
    short = event("plan", 4, 1)  # covers less than half
    assert found(*work, short)[0] == (0, 4, 6, PROGRAM)
    assert found(*work, least=3) == [(0, 4, 6, PROGRAM)] and found(*work, least=7) == []


def test_a_long_wait_behind_many_short_events():
    """What covers a gap may have begun long before it, with other streams' work since."""
    short = [event("operator", 0.1 + k * 0.01, 0.001, stream=1) for k in range(500)]
    told = found(
        event("operator", 0, 0.05), event("synchronize", 0.06, 9, name="all of it"), *short,
        event("operator", 6, 1), event("operator", 8, 1),
    )  # fmt: skip
    assert [(t[0], t[3]) for t in told] == [(0, "the host: all of it")] * 2


def test_streams_have_bubbles_of_their_own():
    events = [
        event("program", 0, 1, 1),
        event("program", 5, 1, 1),
        event("operator", 0.5, 5, 2, "sort"),
    ]
    assert found(*events) == [(1, 1, 4, "stream 2: sort")]
    assert found() == [] and found(events[0]) == []


def test_what_overlaps_or_is_not_timed_is_no_gap():
    outer = [event("program", 0, 10), event("to device", 2, 1), event("program", 11, 1)]
    assert found(*outer) == [(0, 10, 1, PROGRAM)]
    small = [
        event("small", 0, 0.1, calls=32),
        event("small", 4, 0.1, calls=32),
        event("program", 9, 1),
    ]
    assert found(*small) == []  # others ran in between
    alone = [event("small", 0, 1), event("small", 4, 1), event("allocate", 2, 0)]
    assert found(*alone) == [(0, 1, 3, PROGRAM)]


def test_sums_and_lines():
    session = types.SimpleNamespace(
        events=[event("program", t, 1, s) for s in (0, 3) for t in (0, 3, 5, 9)]
    )
    all_of_them = bubbles_module.bubbles(session, 0.5)
    sums = bubbles_module.by_stream(all_of_them)
    assert list(sums) == [0, 3] and sums[3][:3] == (3, 6, 3)
    text = bubbles_module.lines(all_of_them, 5)
    assert text[0] == "bubbles of stream 0: 3, 6000.000 ms in all, 3000.000 ms the longest"
    assert text[1].split("x")[0].strip().isdigit() and len(text) >= 4


def test_a_sleeping_program_is_one(tmp_path):
    a = np.asarray(np.random.default_rng(0).random(200_000))
    with np.profile() as p:
        float(np.sort(a)[0])
        time.sleep(0.05)
        float(np.sort(a)[0])
    longest = p.bubbles()[0]
    assert 0.05 <= longest.seconds < 5 and longest.waited_for == PROGRAM and longest.stream == 0
    assert re.search(
        r"bubbles of stream 0: \d+, .* ms the longest\n +\d+ x +\S+ ms  the program", p.summary()
    )
    p.html(tmp_path / "page.html")
    assert '"bubbles": [[0, ' in (tmp_path / "page.html").read_text()
    with pytest.raises(ValueError, match="least is -1"):
        p.bubbles(-1)


# ---- ASNUMPY_PROFILE

SORTS = "import asnumpy as np\na = np.arange(50000.0)[::-1]\nprint(float(np.sort(a)[0]))\n"


def run(program, profile, cwd, **more):
    environment = {**os.environ, "ASNUMPY_PROFILE": str(profile), **more}
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=cwd, env=environment
    )


@pytest.mark.parametrize("suffix", ["json", "csv", "html", "CSV"])
def test_a_whole_program_is_written_at_its_end(suffix, tmp_path):
    path = tmp_path / f"profile.{suffix}"
    done = run(SORTS, path, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0.0\n", "")
    text = path.read_text()
    assert "sort" in text.lower()
    if suffix == "json":
        assert json.loads(text)["traceEvents"]
    if suffix.lower() == "csv":
        rows = list(csv.DictReader(text.splitlines()))
        assert all(float(r["Duration(us)"]) >= 0 for r in rows) and rows


@pytest.mark.parametrize(
    "end, code", [("import sys; sys.exit(3)", 3), ("raise SystemExit('no')", 1), ("1 / 0", 1)]
)
def test_however_it_ends(end, code, tmp_path):
    done = run(SORTS + end, "profile.csv", tmp_path)
    assert done.returncode == code and (tmp_path / "profile.csv").exists()
    assert "asnumpy: ASNUMPY_PROFILE" not in done.stderr


@pytest.mark.parametrize(
    "path, says",
    [
        ("profile.txt", "'.*profile.txt' does not end with one of .json, .csv, .html"),
        ("nowhere/profile.csv", "there is no folder '.*nowhere'"),
        ("folder.csv", "'.*folder.csv' is a folder"),
    ],
)
def test_a_bad_path_is_a_warning(path, says, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    done = run(SORTS + "import sys; sys.exit(7)", path, tmp_path, PYTHONWARNINGS="error")
    assert (done.returncode, done.stdout) == (7, "0.0\n")
    assert re.fullmatch(f"asnumpy: ASNUMPY_PROFILE: {says}: no profile is made\n", done.stderr)


def test_a_folder_that_goes_away(tmp_path):
    (tmp_path / "gone").mkdir()
    done = run(SORTS + "import os, sys; os.rmdir('gone'); sys.exit(5)", "gone/p.json", tmp_path)
    assert done.returncode == 5
    assert re.match("asnumpy: ASNUMPY_PROFILE: no profile in .*: FileNotFoundError", done.stderr)


def test_processes(tmp_path):
    """%p is the process; a forked child writes nothing, and does not spoil its parent's file."""
    program = SORTS + (
        "import os, sys\npid = os.fork()\nif pid == 0:\n    sys.exit(0)\nos.waitpid(pid, 0)\nprint(os.getpid())\n"
    )
    done = run(program, "p-%p.csv", tmp_path)
    assert done.returncode == 0, done.stderr
    assert [f.name for f in tmp_path.iterdir()] == [f"p-{done.stdout.split()[-1]}.csv"]
