"""Modes of floating-point exceptions belong to the context: threads, asyncio tasks and copied contexts
have their own, and what one recorded is reported under its modes, whoever waits for it."""

import asyncio
import contextvars
import os
import subprocess
import sys
import threading
import warnings

import asnumpy as np
import pytest
from conftest import SINGLE_OPERATORS

needs_conditions = pytest.mark.skipif(
    SINGLE_OPERATORS,
    reason="single operators report no floating-point exceptions, only the fused one does",
)
DEFAULT = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


def messages(caught):
    return sorted(str(w.message) for w in caught)


def test_tasks_have_their_own_modes():
    async def task(mode, others):
        with np.errstate(invalid=mode):
            others.set()
            for _ in range(5):
                assert np.geterr()["invalid"] == mode
                await asyncio.sleep(0)
        assert np.geterr() == DEFAULT

    async def main():
        others = asyncio.Event()
        await asyncio.gather(*(task(m, others) for m in ("raise", "ignore", "print", "call") * 2))

    asyncio.run(main())
    assert np.geterr() == DEFAULT


@needs_conditions
@pytest.mark.parametrize("size", [3, 100_000])
def test_operations_follow_their_task(size):
    """Recorded in a task and read in another, or run while another task's modes are set."""
    a, zero, made = np.ones(size), np.zeros(size), {}

    async def task(name, **modes):
        with np.errstate(**modes):
            await asyncio.sleep(0)
            try:
                made[name] = a / zero
                await asyncio.sleep(0)
                made[name].sum()
                await asyncio.sleep(0)
            except FloatingPointError:
                made[name] = "error"

    async def main():
        await asyncio.gather(
            task("quiet", all="ignore"), task("strict", divide="raise"), task("quieter", divide="ignore")
        )  # fmt: skip

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(main())
    assert made["strict"] == "error"
    assert np.isinf(made["quiet"]).all() and np.isinf(made["quieter"]).all()
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"):
        (a / zero).sum()


# CPython 3.14 without a global lock: filters of warnings are the context's, and threads begin with a copy of it.
filters_of_all = pytest.mark.skipif(
    getattr(sys.flags, "context_aware_warnings", False),
    reason="the other context has other filters of warnings",
)


@filters_of_all
@needs_conditions
def test_recorded_under_the_default_read_under_others():
    a, zero = np.ones(100_000), np.zeros(100_000)
    context = contextvars.copy_context()
    context.run(np.seterr, divide="raise")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        b = a / zero
        context.run(b.sum)
    assert messages(caught) == ["divide by zero encountered in divide"]
    context.run(np.seterr, divide="ignore")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        b = context.run(np.divide, a, zero)
        b.sum()
    assert caught == []


@filters_of_all
@needs_conditions
def test_warning_as_error_of_another_context_is_unraisable(monkeypatch):
    a, zero, seen = np.ones(100_000), np.zeros(100_000), []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: seen.append(str(args.exc_value)))
    context = contextvars.copy_context()
    context.run(np.seterr, all="ignore")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        b = a / zero
        assert context.run(b.sum) == np.inf
    assert seen == ["divide by zero encountered in divide"]


def test_threads_have_their_own_modes():
    seen = []

    def work(mode):
        inherited = getattr(sys.flags, "thread_inherit_context", False)
        seen.append(np.geterr() == DEFAULT or bool(inherited and np.geterr()["over"] == "ignore"))
        np.seterr(all=mode)
        for _ in range(200):
            seen.append(np.geterr()["over"] == mode)
            np.add(np.ones(5), 1.0)

    with np.errstate(all="ignore"):
        threads = [threading.Thread(target=work, args=(m,)) for m in ("ignore", "warn", "raise")]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert np.geterr()["over"] == "ignore"
    assert all(seen) and len(seen) == 603
    assert np.geterr() == DEFAULT


MODES_IN_TURN = """
import threading
import asnumpy as np

MODES, failures = ("ignore", "warn", "print", "raise"), []

def work(k):
    try:
        with np.stream(np.Stream()):
            x = np.arange(3000.0) + k
            for turn in range(100):
                over, under = MODES[(k + turn) % 4], MODES[turn & 1]
                with np.errstate(over=over):
                    y = x * turn
                    with np.errstate(under=under, call=lambda *a: None):
                        z = y + 1
                        assert np.geterr()["under"] == under
                    assert np.geterr()["over"] == over
                    if turn % 5 == 0:
                        assert float(z[7]) == (7 + k) * turn + 1
    except BaseException as e:
        failures.append(e)
        raise

threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert not failures
print("same")
"""


@pytest.mark.parametrize("fuse", ["0", "1"])
def test_threads_change_modes_while_others_wait(fuse):
    """Leaving modes waits for what ran under them, and lets other threads change theirs meanwhile: nothing is released
    twice (the allocator checks), and each sees its own."""
    environment = {"ASNUMPY_FUSE": fuse, "ASNUMPY_CPU_LAUNCH_DELAY_US": "50"}
    done = subprocess.run([sys.executable, "-c", MODES_IN_TURN], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment, "PYTHONMALLOC": "debug"})  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "same\n"), done.stderr[-4000:]


@needs_conditions
def test_callback_belongs_to_the_context():
    calls = []
    context = contextvars.copy_context()
    context.run(np.seterrcall, lambda *args: calls.append(args))
    context.run(np.seterr, divide="call")
    assert np.geterrcall() is None
    context.run(np.divide, np.ones(3), np.zeros(3))
    assert calls == [("divide by zero", 1)]
    with pytest.warns(RuntimeWarning):
        np.divide(np.ones(3), np.zeros(3))


def test_wrong_modes_change_nothing():
    for bad in ({"all": "wrong"}, {"divide": "raise", "invalid": 3}):
        with pytest.raises(ValueError, match="invalid error mode"):
            np.seterr(**bad)
    assert np.geterr() == DEFAULT
