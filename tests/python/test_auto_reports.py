"""What AsNumpy lacks is NumPy's in the mode of `python -m asnumpy`, and its report says so."""

import os
import subprocess
import sys

import pytest
from auto_programs import checked, make_place, run, script

place = pytest.fixture(scope="module")(make_place)


REPORTED = """
import numpy as np

def f(a):
    return (np.sqrt(a) * 2 + a).sum()

for _ in range(3):
    f(np.arange(1e5))
words = np.array(["b", "a"])
for _ in range(2):
    np.unique(words)
np.busday_count("2024-01-01", "2024-01-08")
np.ones(3) + 1
"""


def test_report(place):
    name = script(place, "reported.py", REPORTED)
    done = run(place, "--report", name)
    assert checked(done) == ""
    report = done.stderr
    assert "fell back to NumPy 4 times" in report and "an estimate" in report
    lines = [line.split(None, 2) for line in report.splitlines() if line.strip()]
    named = {(c, rest) for c, _, rest in (x for x in lines if len(x) == 3)}
    path = place / "reported.py"
    rows = [(c, " ".join(rest.split())) for c, rest in named]
    assert ("2", f"unique {path}:11 dtype <U1 lives on the host") in rows, rows
    assert ("1", f"numpy.busday_count {path}:12 AsNumpy has no such function") in rows
    assert ("1", f"add {path}:13") in rows
    assert any(c == "3" and "sqrt" in rest and f"{path}:5" in rest for c, rest in rows)
    done = run(
        place, "--report=told.txt", "-c", "import numpy; numpy.ones(3) + 1; raise SystemExit(3)"
    )
    assert (done.returncode, done.stderr) == (3, "")
    assert "add" in (place / "told.txt").read_text()


PROCESSES = """
import multiprocessing as mp, os, subprocess, sys
import numpy as np

def work(x):
    np.unique(np.array(["a"]))
    return np.sinc(x).sum()

if __name__ == "__main__":
    for method in ("fork", "spawn"):
        with mp.get_context(method).Pool(1) as pool:
            assert len(pool.map(work, [np.ones(3)] * 4)) == 4
    child = mp.get_context("fork").Process(target=work, args=(np.ones(3),))
    child.start()
    child.join()
    subprocess.run([sys.executable, "-m", "asnumpy", __file__.replace("processes", "started")], check=True)
    subprocess.run([sys.executable, "-m", "asnumpy", "--report=its.txt", __file__.replace("processes", "started")])
    if os.fork() == 0:
        work(np.ones(3))
        sys.exit()
    os.wait()
    if os.fork() == 0:
        os._exit(0)
    os.wait()
"""
STARTED = """
import numpy as np
np.unique(np.array(["a"]))
np.ones(3) + 1
"""


def test_a_report_of_all_processes(place):
    name, started = (
        script(place, "processes.py", PROCESSES),
        script(place, "started.py", STARTED),
    )
    done = run(place, "--report", name, TMPDIR=str(place))
    assert checked(done) == ""
    text = [" ".join(line.split()) for line in done.stderr.splitlines()]
    assert "in 8 processes" in text[1] and "fell back to NumPy 24 times" in text[1], text
    assert text[2] == "1 of the processes ended without leaving what they counted"
    rows = [line.split(" ", 1)[0] + line.split(" ", 2)[2] for line in text if line.count(" ") > 2]
    assert f"10unique {place / name}:6 dtype <U1 lives on the host" in rows, text
    assert f"2unique {place / started}:3 dtype <U1 lives on the host" in rows
    assert f"2add {place / started}:4" in rows
    own = (place / "its.txt").read_text()
    assert "processes" not in own and "fell back to NumPy 2 times" in own
    assert not [p for p in os.listdir(place) if p.startswith("asnumpy-report")]


def test_a_report_of_pytests_workers(place):
    script(
        place,
        "test_counted.py",
        "import numpy as np\nimport pytest\n\n\n@pytest.mark.parametrize('n', range(6))\n"
        "def test_one(n):\n    assert np.unique(np.array(['a'])).size == 1\n",
    )
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "test_counted.py")
    done = run(place, "--report", *command)
    assert "6 passed" in checked(done) and "in 3 processes" in done.stderr, done.stderr
    line = f"{place / 'test_counted.py'}:7"
    assert any(
        row.split()[:1] == ["6"] and "unique" in row and line in row
        for row in done.stderr.splitlines()
    ), done.stderr


def test_a_report_of_nothing(place):
    done = run(place, "--report", "-c", "pass")
    assert "In AsNumpy: nothing" in done.stderr and "Fell back to NumPy: nothing" in done.stderr


# What AsNumpy lacks, or does not take, is NumPy's: here functions are made to lack it.
LACKING = """
import asnumpy, sys
from asnumpy import _support, auto

def sinc(x):
    raise NotImplementedError("no sinc for this device")
def i0(x, /):
    return helper(x)
def helper(x):
    raise TypeError("i0 takes no such thing")
def fix(x):
    return x  # takes no out=
for f in (sinc, i0, fix):
    f.__module__ = "asnumpy"
    f.__globals__["__name__"] = "asnumpy.lacking"
    setattr(asnumpy, f.__name__, _support.hosted(f))
del asnumpy.ndarray.trace, asnumpy.roll
"""
LACKED = """
import lacking, numpy as np, asnumpy, sys
from asnumpy import auto
numpy = sys.modules["numpy"]
auto.uninstall(); auto.install()
a = np.arange(4.0).reshape(2, 2)
def same(x, y): return type(x) is asnumpy.ndarray and np.array_equal(x, y)
assert same(np.sinc(a), numpy.sinc(numpy.asarray(a)))
assert same(np.i0(a), numpy.i0(numpy.asarray(a))) and same(np.roll(a, 0), a)
out = np.zeros((2, 2))
assert np.fix(a + 0.5, out=out) is out and same(out, a)
assert a.trace() == 3 and a.trace(1) == 1
"""


def test_what_is_lacking_is_numpys(place):
    script(place, "lacking.py", LACKING)
    name = script(place, "lacked.py", LACKED)
    path = place / "lacked.py"
    done = run(place, "--report", name)
    assert checked(done) == ""
    for row in (
        f"sinc {path}:8 NotImplementedError: no sinc for this device",
        f"i0 {path}:9 TypeError: i0 takes no such thing",
        f"numpy.roll {path}:9 AsNumpy has no such function",
        f"fix {path}:11 TypeError: fix() got an unexpected keyword argument 'out'",
        f"trace {path}:12 AttributeError: AsNumpy's arrays have none of that name",
    ):
        assert any(row in " ".join(line.split()) for line in done.stderr.splitlines()), done.stderr


ERRORS = """
import numpy as np
a = np.arange(3.0)
called = []
def f(*args):
    called.append(1)
    raise TypeError("mine")
class Broken:
    def __array__(self, dtype=None, copy=None):
        return f()
for call in (
    lambda: np.sum(a, axis="x"), lambda: np.sum(a, nothing=1), lambda: a.sum(axis="x"), lambda: np.pad(a, "x"),
    lambda: np.sin(a, nothing=1), lambda: np.add.reduce(a, axis="x"), lambda: np.linalg.solve(a),
    lambda: np.histogram(a, bins=None), lambda: np.concatenate(a), lambda: np.bitwise_and(a, a),
    lambda: np.fromiter(map(len, [[], 1]), int), lambda: np.fromiter((f() for x in a), int),
    lambda: np.apply_along_axis(f, 0, a), lambda: np.vectorize(f)(a), lambda: np.sum(Broken()),
    lambda: np.fromfunction(f, (2,)), lambda: lambda: np.zeros(-1),
):
    try:
        call()
        print("fine")
    except Exception as error:
        print(type(error), error, len(called))
"""


def test_errors_are_numpys(place):
    """NumPy is asked what it makes of a call that is refused, but never calls the user's code again."""
    name = script(place, "errors.py", ERRORS)
    ours, plain = run(place, name), run(place, name, plain=True)
    assert checked(ours) == checked(plain)


def test_report_comes_after_what_was_printed():
    """Also where stdout, which is buffered then, and stderr are one pipe."""
    plain = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-m", "asnumpy", "--report", "-c", "print('printed')"]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=plain, check=True
    )
    assert done.stdout.startswith("printed\n") and "asnumpy: " in done.stdout
