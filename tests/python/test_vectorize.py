"""asnumpy.vectorize: traced functions give what NumPy's loop gives; what cannot be traced runs in the loop."""

import math
import os
import warnings

import asnumpy
import numpy as np
import pytest
from asnumpy import _traced
from hypothesis import given
from hypothesis import strategies as st

N = 1000


def half(x):
    return x / 2 if x > 0 else -x


def hsv(r, g, b):
    high, low = max(r, g, b), min(r, g, b)
    spread = high - low
    if spread == 0.0:
        return 0.0, 0.0, high
    if high == r:
        hue = ((g - b) / spread) % 6.0
    elif high == g:
        hue = (b - r) / spread + 2.0
    else:
        hue = (r - g) / spread + 4.0
    return hue / 6.0, spread / high, high


def nested(x, y=2.0):
    if x < -0.5:
        return half(x) * y
    return np.sqrt(abs(x)) + (half(y) if 0 < x < 0.25 else np.exp(-x))


TRACED = {
    "arithmetic": lambda x: 3 * x**2 - x / 4 + 1.5,
    "floor": lambda x: (x * 7) // 2 + (x * 3) % 0.7,
    "branch": half,
    "logic": lambda x: x if x > 0 and x < 0.5 or x == -0.25 else 0.0,
    "truth": lambda x: not x > 0.2,
    "clip": lambda x: min(max(x, -0.3), 0.3),
    "ufunc": lambda x: asnumpy.sin(x) * np.cos(x) + np.pi,
    "power": lambda x: abs(x) ** 1.5 + 2.0**x,
    "nested": nested,
    "constants": lambda x: 1 if x > 0 else 2.5,
    "two": lambda x: (x + 1, x > 0),
    "unused": lambda x: 4.0,
    "zeros": lambda x: np.copysign(1.0, x * 0.0) + 2 * np.copysign(1.0, x * -0.0),
}


def both(function, *args, **options):
    """(NumPy's, ours, whether ours was traced)."""
    seen = []
    plain = _traced.call

    def spy(*given):
        seen.append(plain(*given))
        return seen[-1]

    _traced.call = spy
    try:
        ours = asnumpy.vectorize(function, **options)(*args)
    finally:
        _traced.call = plain
    theirs = np.vectorize(function, **options)(
        *[np.asarray(a) if isinstance(a, asnumpy.ndarray) else a for a in args]
    )
    return theirs, ours, bool(seen) and seen[-1] is not None


def same(theirs, ours):
    assert isinstance(ours, tuple) == isinstance(theirs, tuple)
    for x, y in zip(np.atleast_1d(theirs) if not isinstance(theirs, tuple) else theirs,
                    ours.to_numpy().reshape(np.shape(theirs)) if not isinstance(ours, tuple) else ours, strict=True):  # fmt: skip
        x, y = np.asarray(x), np.asarray(y)
        assert x.dtype == y.dtype
        np.testing.assert_allclose(y, x, rtol=4e-15, atol=1e-300)


@pytest.mark.parametrize("name", TRACED)
def test_traced_functions(name, rng):
    x = rng.random(N) - 0.5
    x[:2] = -0.25, 0.0
    for values in (x, x.astype(np.float32), x.reshape(4, -1).T, x[::-1]):
        theirs, ours, traced = both(TRACED[name], asnumpy.array(values))
        assert traced
        same(theirs, ours)


def test_several_arguments_and_outputs(rng):
    r, g, b = (asnumpy.array(rng.integers(0, 4, (30, 40)) / 4) for _ in range(3))
    theirs, ours, traced = both(hsv, r, g, b[0])
    assert traced
    assert len(ours) == 3
    same(theirs, ours)
    theirs, ours, traced = both(lambda x, k: x * k, r, 3)
    assert traced
    same(theirs, ours)
    theirs, ours, traced = both(
        lambda x, y: x - y, asnumpy.array(rng.random((30, 1))), asnumpy.array(rng.random(40))
    )
    assert traced
    assert ours.shape == (30, 40)
    same(theirs, ours)
    ours = asnumpy.vectorize(nested)(r, y=3.0)
    same(np.vectorize(nested)(r.to_numpy(), y=3.0), ours)


EXPRESSIONS = st.recursive(
    st.sampled_from(["x", "y", "0.5", "2", "-1.25"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "%", "//"]), inner).map(lambda t: "({} {} {})".format(*t)),
        st.tuples(inner, inner, st.sampled_from(["<", ">=", "=="]), inner, inner).map(
            lambda t: f"({t[0]} if {t[1]} {t[2]} {t[3]} else {t[4]})"
        ),
        st.tuples(st.sampled_from(["abs({})", "np.floor({})", "np.sqrt(abs({}))", "-{}"]), inner).map(lambda t: t[0].format(t[1])),
        st.tuples(inner, inner).map(lambda t: "max({}, {})".format(*t)),
    ),
    max_leaves=8,
)  # fmt: skip


@given(EXPRESSIONS, st.integers(0, 99))
def test_random_functions(text, seed):
    function = eval(f"lambda x, y: {text}", {"np": np, "abs": abs, "max": max})
    r = np.random.default_rng(seed)
    x, y = r.integers(-4, 5, 300) / 4, r.integers(-4, 5, 300) / 4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            want = np.vectorize(function)(x, y)
        except (ZeroDivisionError, OverflowError) as error:
            with pytest.raises(type(error)):
                asnumpy.vectorize(function)(asnumpy.array(x), asnumpy.array(y))
            return
        got = asnumpy.vectorize(function)(asnumpy.array(x), asnumpy.array(y)).to_numpy()
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)  # every operation is exactly rounded


def test_errors_are_pythons(rng):
    x = asnumpy.array(rng.random(N))
    x[7] = 0.0
    with pytest.raises(ZeroDivisionError):
        asnumpy.vectorize(lambda v: 1 / v)(x)
    with pytest.raises(ZeroDivisionError):
        asnumpy.vectorize(lambda v: v**-1)(x)
    with pytest.raises(OverflowError):
        asnumpy.vectorize(lambda v: (v + 10) ** 400)(x)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        asnumpy.vectorize(lambda v: np.log(v))(x)
    safe = both(lambda v: 1 / v if v > 0 else 0.0, x)
    assert safe[2], "what the other path would divide by does not matter"
    same(*safe[:2])
    roots = asnumpy.vectorize(lambda v: (v - 0.5) ** 0.5, otypes="D")(x)  # complex, as Python's
    assert roots.dtype == complex


calls = []


def counts(x):
    calls.append(x)
    return x


def loops(x):
    for _ in range(3):
        x = x * 2
    return x


class Holder:
    limit = 0.5


holder = Holder()


@pytest.mark.parametrize("function", [
    math.sin, counts, loops, lambda x: math.floor(x), lambda x: f"{x}", lambda x: x.real, lambda x: int(x * 10),
    lambda x: x > holder.limit, lambda x: x if x in (0.5, 1.0) else 0.0, lambda x: np.sum(x), str,
    lambda x: np.add.reduce(x), lambda *x: x[0], lambda x: (x > 0.5) + 1, lambda x: round(x, 2), lambda x: x is None,
])  # fmt: skip
def test_other_functions_loop(function, rng):
    theirs, ours, traced = both(function, asnumpy.array(rng.random(N)))
    assert not traced
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


def test_effects_happen_once_an_element(rng):
    calls.clear()
    asnumpy.vectorize(counts)(asnumpy.array(rng.random(N)))
    assert len(calls) == N + 1, "and once more for the dtype"


def test_what_else_loops(rng):
    x = rng.random(N)
    whole = asnumpy.arange(N)
    for arguments, options in [
        ((whole,), {}),  # Python's ints have no bounds
        ((asnumpy.array(x[:20]),), {}),  # a few elements
        ((asnumpy.array(x),), {"excluded": {1}}),
        ((asnumpy.array(x),), {"otypes": "O"}),
        ((asnumpy.array(x + 1j),), {}),
    ]:
        theirs, ours, traced = both(lambda v: v + 1, *arguments, **options)
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
        assert not traced or options.get("otypes") == "O"


def test_dtypes_are_the_first_elements(rng):
    x = rng.random(N) + 1
    x[0] = 0
    theirs, ours, traced = both(TRACED["constants"], asnumpy.array(-x))
    assert traced
    assert ours.dtype == theirs.dtype == float
    theirs, ours, traced = both(TRACED["constants"], asnumpy.array(x[1:]))
    assert ours.dtype == theirs.dtype == int
    same(theirs, ours)
    theirs, ours, traced = both(lambda v: v * 3.7, asnumpy.array(x), otypes=["i4"])
    assert ours.dtype == theirs.dtype == np.int32
    same(theirs, ours)


@pytest.mark.skipif(
    os.environ.get("ASNUMPY_FUSE") == "0" or os.environ.get("ASNUMPY_DEVICE") == "ascend",
    reason="single operators do not fuse",
)
def test_one_program(rng):
    x = asnumpy.array(rng.random(200_000))
    f = asnumpy.vectorize(lambda v: np.sqrt(v) * 2 + 1 if v > 0.5 else v / 2, otypes="d")
    f(x)
    before = asnumpy.engine_stats()
    f(x)
    after = asnumpy.engine_stats()
    assert after["single_ops"] == before["single_ops"]
    assert 1 <= after["programs"] - before["programs"] <= 3
