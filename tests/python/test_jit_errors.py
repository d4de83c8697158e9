"""jit: what a trace refuses, and the errors and floating-point exceptions of replays."""

import re
import warnings

import asnumpy
import numpy as np
import pytest
from conftest import DELAYED, SINGLE_OPERATORS
from test_jit import same

# ---- what cannot be replayed

REFUSED = {
    "if": (lambda x: x if x.sum() > 0 else -x, "the value of an element is read"),
    "float": (lambda x: x * float(x[0]), "the value of an element is read"),
    "item": (lambda x: x.max().item(), "the value of an element is read"),
    "list": (lambda x: x.tolist(), "read|host"),
    "mask": (lambda x: x[x > 0], "the value of an element is read"),
    "nonzero": (lambda x: asnumpy.nonzero(x), "read|host|copied"),
    "print": (lambda x: str(x), "read|host|copied"),
    "numpy": (lambda x: np.asarray(x), "host"),
    "dot": (lambda x: np.unwrap(np.asarray(x)), "host"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_looks_at_values_are_refused(name):
    function, why = REFUSED[name]
    f = asnumpy.jit(function)
    x = asnumpy.arange(4, dtype="f4")
    for _ in range(2):
        with pytest.raises(RuntimeError, match=why) as caught:
            f(x)
        assert "test_jit_errors.py:" in str(caught.value) and "np.where" in str(caught.value)
    assert f.cache_info().currsize == 0
    same(x + 1, np.arange(1, 5, dtype="f4"))  # nothing is left behind
    assert asnumpy.jit(lambda x: x.sum())(x) == 6


def test_the_device_stays(rng):
    x = asnumpy.ones(3, "f4")
    for leave in (asnumpy.finalize, asnumpy.reset_device):
        f = asnumpy.jit(lambda x, leave=leave: (leave(), x + 1)[1])
        with pytest.raises(RuntimeError, match="a call is being traced; move this out"):
            f(x)
    f = asnumpy.jit(lambda x: (asnumpy.synchronize(), x + 1)[1])  # waits for nothing
    same([f(x), f(x)], [np.full(3, 2, "f4")] * 2)


def test_modes_within_a_trace():
    @asnumpy.jit
    def f(x):
        with asnumpy.errstate(all="ignore"):
            y = 1 / (x - x)
        return y, asnumpy.isinf(y)

    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            same(f(asnumpy.ones(3, "f4"))[1], np.ones(3, bool))


def test_profiles_have_replays():
    f = asnumpy.jit(lambda x, i: (asnumpy.sqrt(x).sum(0), x[i]))
    x, i = asnumpy.ones((40, 80), "f4"), asnumpy.array([1, 2])
    f(x, i)
    with asnumpy.profile() as p:
        for _ in range(5):
            f(x, i)
    said = p.summary()
    assert re.search(r"^index +5 ", said, re.M) and re.search(
        r"^(sqrt|add|sum|reduce) +5 ", said, re.M
    ), said


def test_a_refusal_cannot_be_caught():
    @asnumpy.jit
    def f(x):
        try:
            return x * float(x[0])
        except RuntimeError:
            return x * 2

    with pytest.raises(RuntimeError, match="the value of an element is read"):
        f(asnumpy.ones(3, "f4"))


def test_numbers_of_the_trace_may_be_looked_at():
    @asnumpy.jit
    def f(x):
        grid = asnumpy.arange(4, dtype="f4") * 2
        return x * float(grid[3]) if bool((grid > 5).any()) else x

    same(
        [f(asnumpy.ones(2, "f4")), f(asnumpy.zeros(2, "f4"))],
        [np.full(2, 6, "f4"), np.zeros(2, "f4")],
    )


def test_exceptions_leave_nothing_behind(rng):
    @asnumpy.jit
    def f(x, fail):
        x += 1
        if fail:
            raise KeyError("mine")
        return x.reshape(3) if len(x) == 3 else x.reshape(7)

    x = asnumpy.zeros(4, "f4")
    with pytest.raises(KeyError, match="mine"):
        f(x, True)
    with pytest.raises(ValueError):
        f(x, False)
    same(x, np.full(4, 2, "f4"))  # what ran before the exception has happened, as without jit
    assert f.cache_info().currsize == 0 and not asnumpy._core._is_tracing()
    same([f(asnumpy.zeros(3, "f4"), False)], [np.ones(3, "f4")])
    assert asnumpy.ones(3)[0].dtype == np.float64 and isinstance(asnumpy.ones(3).sum(), np.float64)


def test_escaped_arrays_are_refused():
    kept = []

    @asnumpy.jit
    def f(x):
        kept.append(x * 2)
        return x + 1

    with pytest.raises(RuntimeError, match="1 array made while .* is held by something"):
        f(asnumpy.ones(3, "f4"))
    cycle = []

    @asnumpy.jit
    def g(x):
        y = x * 2
        loop = [y]
        loop.append(loop)
        return y + 1

    same(g(asnumpy.ones(3, "f4")), np.full(3, 3, "f4"))
    assert not cycle

    @asnumpy.jit
    def view(x):
        kept.append(x[1:])
        return x, x[:2]  # of one memory, which is counted once

    with pytest.raises(RuntimeError, match="1 array made while .* is held by something"):
        view(asnumpy.ones(3, "f4"))


ARGUMENTS = [
    (lambda f: f(asnumpy.ones(2), object()), TypeError, "an argument is of type object"),
    (lambda f: f({1, 2}, 0), TypeError, "an argument is of type set"),
    (
        lambda f: asnumpy.jit(f.__wrapped__, static_argnums=1)(1, []),
        TypeError,
        "static argument of type list is not hashable",
    ),
    (lambda f: asnumpy.jit(3), TypeError, "jit takes a function, got int"),
    (
        lambda f: asnumpy.jit(f, static_argnums=5),
        ValueError,
        "static_argnums has 5; .* has 2 positional",
    ),
    (lambda f: asnumpy.jit(f, static_argnums="x"), TypeError, "static_argnums has 'x'"),
    (lambda f: asnumpy.jit(f, static_argnames="z"), ValueError, "static_argnames has 'z'"),
    (lambda f: asnumpy.jit(f, maxsize=0), ValueError, "maxsize is 0; it is at least 1"),
    (lambda f: f(1), TypeError, "missing 1 required positional"),
    (lambda f: asnumpy.jit(lambda: object())(), TypeError, "returned a object"),
    (lambda f: asnumpy.jit(lambda: np.zeros(3))(), TypeError, "returned a numpy.ndarray"),
]


@pytest.mark.parametrize("k", range(len(ARGUMENTS)))
def test_wrong_arguments(k):
    call, error, message = ARGUMENTS[k]
    with pytest.raises(error, match=message):
        call(asnumpy.jit(lambda x, y: (x, y)))


def test_errors_of_replays():
    f = asnumpy.jit(lambda x, i: x[i])
    x, good, bad = asnumpy.arange(4, dtype="f4"), asnumpy.array([1, 3]), asnumpy.array([1, 4])
    same(f(x, good), np.array([1, 3], "f4"))
    with pytest.raises(IndexError, match="4 is out of bounds for axis 0 with size 4"):
        f(x, bad)
    same(f(x, good), np.array([1, 3], "f4"))
    if SINGLE_OPERATORS:
        return  # an update at indices, which is no single operator, is not replayed
    count = asnumpy.jit(lambda x, i: asnumpy.add.at(x, i, 1))
    count(x, good)
    with pytest.raises(IndexError, match="4 is out of bounds for axis 0 with size 4"):
        count(x, bad)
        asnumpy.synchronize()
    assert count.cache_info().hits == 1


def test_singular_matrices():
    f = asnumpy.jit(lambda a: asnumpy.linalg.inv(a))
    f(asnumpy.eye(3))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        f(asnumpy.zeros((3, 3)))
    same(f(asnumpy.eye(3) * 2), np.eye(3) / 2)


@pytest.mark.skipif(
    SINGLE_OPERATORS or DELAYED, reason="single operators tell of no exceptions at the call"
)
def test_conditions_of_replays():
    f = asnumpy.jit(lambda x, y: asnumpy.log(x / y) + 1)
    one, zero = asnumpy.ones(3), asnumpy.zeros(3)
    f(one, one)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        f(one, zero)
    (said,) = [str(w.message) for w in seen]  # the name is one of the program's operations
    assert said.startswith("divide by zero encountered in ")
    with asnumpy.errstate(divide="raise"), pytest.raises(FloatingPointError):
        f(one, zero)
    with asnumpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        f(one, zero)


TOLD = {
    "ifft": lambda m, x: m.fft.ifft(x),
    "rfft": lambda m, x: m.fft.rfft(x),
    "rfft of odd length": lambda m, x: m.fft.rfft(x[:3]),
    "irfft": lambda m, x: m.fft.irfft(x),
    "matmul": lambda m, x: x.reshape(2, 2) @ x.reshape(2, 2),
    "det": lambda m, x: m.linalg.det(x.reshape(2, 2)),
    "add.at": lambda m, x: m.add.at(x, m.array([0]), x[:1]),
    "sum": lambda m, x: m.sum(x),
    "prod": lambda m, x: m.prod(x.reshape(2, 2), axis=0),
    "cumsum": lambda m, x: m.cumsum(x),
    "any": lambda m, x: m.any(m.exp(x) > 2),
}


@pytest.mark.skipif(
    SINGLE_OPERATORS or DELAYED, reason="single operators tell of no exceptions at the call"
)
@pytest.mark.parametrize("name", TOLD)
def test_replays_tell_of_conditions_in_numpys_words(name):
    f = asnumpy.jit(lambda x: TOLD[name](asnumpy, x))
    f(asnumpy.ones(4))
    told = []
    for call, x in (
        (f, asnumpy.full(4, 1.5e308)),
        (lambda x: TOLD[name](np, x), np.full(4, 1.5e308)),
    ):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            call(x)
        told.append({str(w.message) for w in seen})
    assert told[0] == told[1] and told[0]
    assert f.cache_info().hits == 1
