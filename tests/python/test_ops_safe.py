"""asnumpy.ops.safe: what is tried again, what is raised at once, what is told, and what a result must be."""

import logging

import asnumpy
import numpy as np
import pytest


class Failing:
    """An operator that raises the errors it is given, one a call, and then adds 1."""

    def __init__(self, *errors):
        self.errors, self.calls = [*errors], 0

    def __call__(self, x):
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return x + 1


@pytest.fixture
def told(caplog):
    caplog.set_level(logging.DEBUG, logger="asnumpy.ops")
    return lambda: [(r.levelname, r.getMessage()) for r in caplog.records]


@pytest.mark.parametrize("error", [RuntimeError, MemoryError, FloatingPointError])
def test_the_second_try(error, told):
    operator = Failing(error("no"))
    x = asnumpy.arange(3.0)
    assert asnumpy.ops.safe(operator)(x).tolist() == [1, 2, 3]
    assert operator.calls == 2
    (first, text), (second, _) = told()
    assert (first, second) == ("WARNING", "DEBUG")
    assert text == f"operator Failing: try 1 of 2 failed: {error.__name__}: no"


@pytest.mark.parametrize("retries", [0, 1, 4])
def test_never(retries, told):
    operator = Failing(*(RuntimeError(f"no {k}") for k in range(9)))
    with pytest.raises(RuntimeError, match=f"no {retries}"):
        asnumpy.ops.safe(operator, retries=retries)(asnumpy.ones(2))
    assert operator.calls == retries + 1
    assert [level for level, _ in told()] == ["WARNING"] * retries + ["ERROR"]


@pytest.mark.parametrize(
    "error", [TypeError, ValueError, NotImplementedError, RecursionError, OSError, KeyError]
)
def test_what_a_second_try_does_not_change(error, told):
    operator = Failing(error("no"))
    with pytest.raises(error):
        asnumpy.ops.safe(operator, retries=5)(asnumpy.ones(2))
    assert operator.calls == 1 and not told()


def test_a_device_without_memory():
    """A failure that appears where the result is made, not at the call."""
    before, calls = asnumpy.set_memory_limit(64 << 20), []

    def operator(x):
        calls.append(1)
        if len(calls) == 2:
            asnumpy.set_memory_limit(before)
        return asnumpy.zeros(20_000_000) + x

    try:
        assert asnumpy.ops.safe(operator)(asnumpy.ones(1)).shape == (20_000_000,)
    finally:
        asnumpy.set_memory_limit(before)
    assert len(calls) == 2


BAD = {
    "array": lambda x: asnumpy.stack([x, x * np.nan]),
    "tuple": lambda x: (x, [x * np.inf]),
    "scalar": lambda x: np.float64("nan"),
    "complex": lambda x: x * complex(0, np.inf),
    "numpy": lambda x: np.array([1, np.inf], "float32"),
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.filterwarnings("ignore")
def test_results_are_finite(bad, told):
    x = asnumpy.ones(3)
    with pytest.raises(FloatingPointError, match="of finite arguments . of . elements of shape"):
        asnumpy.ops.safe(BAD[bad])(x)
    assert [level for level, _ in told()] == ["WARNING", "ERROR"]
    asnumpy.ops.safe(BAD[bad], finite=False)(x)


def test_results_of_what_is_not_finite_are_free():
    x = asnumpy.array([1.0, np.nan])
    assert np.isnan(asnumpy.ops.safe(asnumpy.sin)(x).to_numpy()).tolist() == [False, True]
    keyword = asnumpy.ops.safe(lambda x, y: x * y)(asnumpy.ones(2), y=x)
    assert np.isnan(keyword.to_numpy()).tolist() == [False, True]
    ints = asnumpy.ops.safe(lambda x: x + 1)(asnumpy.arange(3, dtype="int8"))
    assert ints.tolist() == [1, 2, 3]


def test_a_registered_name():
    with pytest.raises(LookupError, match="no operator 'safe_test' is registered"):
        asnumpy.ops.safe("safe_test")(1)
    call = asnumpy.ops.safe("safe_test", retries=3)
    asnumpy.ops.register("safe_test", lambda x: x * 2)
    try:
        assert call(asnumpy.arange(3)).tolist() == [0, 2, 4]
        asnumpy.ops.register("safe_test", lambda x: x * 3, priority=1)
        assert call(asnumpy.arange(3)).tolist() == [0, 3, 6]
    finally:
        asnumpy.ops.unregister("safe_test")
        asnumpy.ops.unregister("safe_test", priority=1)
    assert repr(call) == "<operator 'safe_test', safe: 3 retries, finite>"
    assert asnumpy.ops.safe("aten::mm")(asnumpy.eye(2), asnumpy.eye(2)).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"operator": 3}, TypeError, "operator is a int; it must be an operator's name"),
        ({"retries": 1.0}, TypeError, "retries is a float; it must be an int"),
        ({"retries": True}, TypeError, "retries is a bool; it must be an int"),
        ({"retries": -1}, ValueError, "retries is -1; it may be 0 or more"),
    ],
)
def test_refused(arguments, error, text):
    with pytest.raises(error, match=text):
        asnumpy.ops.safe(**{"operator": "add", **arguments})
