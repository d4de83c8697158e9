"""Threads that call the library at once, on arrays of their own and on shared ones.

Every thread does the same kinds of work in an order of its own; each result is known. Under an interpreter without
a global lock (tools/free_threaded.sh) the calls truly run at once.
"""

import os
import random
import subprocess
import sys
import sysconfig
import threading
import warnings

import asnumpy as np
import numpy
import pytest
from conftest import SINGLE_OPERATORS

FREE = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
THREADS, TURNS = 6, 150

shared = np.arange(1000.0)
doubled = np.arange(5000.0) * 2
generator = np.random.default_rng(0)
jitted = np.jit(lambda x, k: (x * k + 1).sum())
numbers = list(range(20))  # changed by one kind of work, read by another


def results(i):
    a = np.arange(10.0) + i
    return float(a.sum()) == 45 + 10 * i


def shared_operands(i):
    return float((shared * 2).sum()) == 999000.0


def views_and_writes(i):
    x = np.ones(17 * i + 3)
    y = x * 3
    y[::2] = 7
    z = y + x
    return float(z[0]) == 8 and float(z[1]) == 4


def replays(i):
    return float(jitted(shared, 2.0)) == 1000000.0


def draws(i):
    a = generator.random(10)
    return float(a.min()) >= 0 and float(a.max()) < 1


def own_modes(i):
    with np.errstate(divide="raise"):
        try:
            np.array([1.0]) / np.array([0.0])
        except FloatingPointError:
            return True
    return False


def no_modes(i):
    with np.errstate(all="ignore"):
        return (np.array([1.0, 2.0]) / np.array([0.0, 1.0])).tolist() == [float("inf"), 2.0]


def views_of_shared(i):
    v = shared[10:20]
    return float(v[3]) == 13 and int(v.argmax()) == 9


def masks(i):
    m = doubled > 100
    return int(m.sum()) == 4949 and doubled[m].size == 4949


def in_place(i):
    a = np.zeros(100)
    for _ in range(5):
        a += i
    return float(numpy.asarray(a).sum()) == 500 * i


def joins(i):
    return np.concatenate([shared[:5], shared[5:10]]).tolist() == list(range(10))


def products(i):
    c = np.array([[1, 2], [3, i]])
    return (c @ c).tolist() == [[7, 2 + 2 * i], [3 + 3 * i, 6 + i * i]]


def changed_lists(i):
    numbers.append(numbers.pop(0))
    a = np.array(list(numbers) if not FREE else numbers)  # whatever it holds by then
    return a.ndim == 1 and 0 <= int(a.max()) < 20


WORK = [
    f
    for name, f in sorted(globals().items())
    if getattr(f, "__code__", None) and f.__code__.co_varnames[:1] == ("i",)
]


def run(work, threads=THREADS, turns=TURNS):
    """What failed: names of functions that gave something else, and exceptions."""
    failed, start = [], threading.Barrier(threads)

    def turn(seed):
        order = random.Random(seed)
        start.wait()
        try:
            for k in range(turns):
                f = order.choice(work)
                if not f(k % 7 + 1):
                    failed.append(f.__name__)
        except BaseException as e:
            failed.append(repr(e))
            raise

    all_threads = [threading.Thread(target=turn, args=(seed,)) for seed in range(threads)]
    for t in all_threads:
        t.start()
    for t in all_threads:
        t.join()
    return failed


def works_there(f):
    modes_of_programs = (own_modes, no_modes)
    return not (SINGLE_OPERATORS and f in modes_of_programs)


def test_the_kinds_of_work_alone():
    assert len(WORK) == 13
    assert [f.__name__ for f in WORK if works_there(f) and not f(3)] == []


@pytest.mark.filterwarnings("error")
def test_threads_do_all_kinds_of_work_at_once():
    # Exceptions that went to another thread, which had waited for the lock, were one run in twenty.
    assert [f for _ in range(10) for f in run([f for f in WORK if works_there(f)])] == []


@pytest.mark.skipif(SINGLE_OPERATORS, reason="single operators report no exceptions")
def test_conditions_are_reported_in_the_thread_that_met_them():
    seen = {}

    def divide(mode):
        seen[mode] = 0
        for _ in range(200):
            with np.errstate(divide=mode):
                try:
                    shared[1:5] / np.array([0.0, 1, 1, 1])
                except FloatingPointError:
                    seen[mode] += 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nobody warns
        threads = [threading.Thread(target=divide, args=(m,)) for m in ("raise", "ignore")]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert seen == {"raise": 200, "ignore": 0}


def test_the_interpreter_keeps_running_without_a_global_lock():
    """Importing the package must not bring the lock back."""
    code = "import sys, asnumpy; print(getattr(sys, '_is_gil_enabled', lambda: True)())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == str(not FREE), done.stderr


def test_a_second_module_is_refused():
    """The state is the one module's; NumPy refuses a second one, too."""
    code = """
import sys, asnumpy
kept = sys.modules.pop("asnumpy._core")
try:
    import asnumpy._core
except ImportError as e:
    assert "once a process" in str(e), e
else:
    raise SystemExit("loaded twice")
assert asnumpy.arange(3).tolist() == [0, 1, 2]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


POSITIONS = """
import threading, numpy, asnumpy as np
wrong = []
def run(k):
    with np.stream(np.Stream() if k % 2 else None):
        take_turns(k)
def take_turns(k):
    rng = numpy.random.default_rng(k)
    for _ in range(1000):
        x = rng.integers(0, 3, 300 + 50 * k)
        at = rng.integers(0, 300, 400)
        a, found_at = np.asarray(x), np.asarray(at)
        found = np.flatnonzero(np.maximum(a, a)), np.sort(a), np.take(a, found_at)
        for ours, theirs in zip(found, (numpy.flatnonzero(x), numpy.sort(x), x[at])):
            if not numpy.array_equal(numpy.asarray(ours), theirs):
                wrong.append(k)
threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
for t in threads: t.start()
for t in threads: t.join()
assert not wrong, len(wrong)
"""


def test_positions_beside_other_threads():
    """nonzero asks the device twice; other threads may ask it meanwhile."""
    lag = {"ASNUMPY_FUSE": "0", "ASNUMPY_CPU_LAUNCH_DELAY_US": "20"}
    done = subprocess.run(
        [sys.executable, "-c", POSITIONS], env=os.environ | lag, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
