"""np.batch: jobs over several streams; results in order, the caller's context, the first error, streams given back."""

import contextvars
import gc
import sys
import threading

import asnumpy as np
import pytest


def test_batch_gives_results_in_order():
    def job(k):
        x = np.full(50_000, float(k))
        for _ in range(5):
            x = x * 1.0 + 1
        return x

    for streams in (1, 2, 7):
        results = np.batch([(job, (k,)) for k in range(9)], streams=streams)
        assert [float(r[0]) for r in results] == [k + 5.0 for k in range(9)]
    assert np.batch([]) == []
    assert np.batch([lambda: 1, (max, (2, 3))]) == [1, 3]


def test_batch_sees_the_callers_context():
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(5)
    assert np.batch([variable.get, variable.get]) == [5, 5]
    with np.errstate(divide="raise"):
        assert np.batch([lambda: np.geterr()["divide"]]) == ["raise"]


def test_batch_raises_the_first_error_and_starts_no_more():
    started = []
    barrier = threading.Barrier(2)

    def bad(k):
        started.append(k)
        barrier.wait()
        raise ValueError(f"job {k}")

    with pytest.raises(ValueError, match="job [01]") as e:
        np.batch([(bad, (k,)) for k in range(6)], streams=2)
    assert sorted(started) == [0, 1]
    ((number, other),) = e.value.batch_errors.items()
    assert isinstance(other, ValueError)
    assert str(other) == f"job {number}"
    if sys.version_info >= (3, 11):
        assert any("4 were not started" in note for note in e.value.__notes__)


def test_batch_checks_its_arguments():
    with pytest.raises(TypeError, match="batch: job 1 is a int; it may be a callable"):
        np.batch([print, 3])
    with pytest.raises(ValueError, match="streams is 0; it may be 1 or more"):
        np.batch([print], streams=0)


def test_batch_gives_its_streams_back():
    gc.collect()
    held = np._core._stream_stats()[1]
    np.batch([lambda: np.ones(5000) * 2] * 6)
    with pytest.raises(ZeroDivisionError):
        np.batch([lambda: 1 / 0])
    gc.collect()
    assert np._core._stream_stats()[1] == held
