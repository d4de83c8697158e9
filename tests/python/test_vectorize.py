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
    "min and max": lambda x: min(max(x, -0.3), 0.3),
    "ufunc": lambda x: asnumpy.sin(x) * np.cos(x) + np.pi,
    "power": lambda x: abs(x) ** 1.5 + 2.0**x,
    "nested": nested,
    "constants": lambda x: 1 if x > 0 else 2.5,
    "two": lambda x: (x + 1, x > 0),
    "unused": lambda x: 4.0,
    "truth as a number": lambda x: (x > 0.5) + 1,
    "where": lambda x: np.where(x > 0, x, -x) + asnumpy.where(x == 0, 1, 0),
    "clip": lambda x: np.clip(x, -0.25, 0.25) * 2,
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
        except (ZeroDivisionError, OverflowError, ValueError) as error:  # the last: NaN as an int
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
    lambda x: np.add.reduce(x), lambda *x: x[0], lambda x: np.where(np.array([x > 0.5]))[0].size, lambda x: np.round(x, 1), lambda x: round(x, 2), lambda x: x is None,
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
    for arguments, options in [
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


# ---- integers, truth values, where


def hsv_with_where(r, g, b):
    high = np.maximum(np.maximum(r, g), b)
    spread = high - np.minimum(np.minimum(r, g), b)
    hue = np.where(
        high == r,
        ((g - b) / spread) % 6,
        np.where(high == g, (b - r) / spread + 2, (r - g) / spread + 4),
    )
    return np.where(spread == 0, 0.0, hue) * 60, np.where(high == 0, 0, spread / high), high


def hsv_with_if(r, g, b):
    high, low = max(r, g, b), min(r, g, b)
    if high == low:
        return 0.0, 0.0, high
    spread = high - low
    hue = (
        (g - b) / spread % 6
        if high == r
        else (b - r) / spread + 2
        if high == g
        else (r - g) / spread + 4
    )
    return hue * 60, spread / high, high


@pytest.mark.parametrize("function", [hsv_with_where, hsv_with_if])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "uint64"])
def test_images_of_integers(function, dtype, rng):
    r, g, b = rng.integers(0, 5, (3, 20, 30)).astype(dtype)
    r[0, 0], g[0, 0], b[0, 0] = 5, 3, 1  # of these the dtypes come
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        theirs, ours, traced = both(function, *map(asnumpy.array, (r, g, b)))
    assert traced
    for x, y in zip(theirs, ours, strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(y, x)


WHOLE = st.recursive(
    st.sampled_from(["i", "j", "p", "x", "3", "-2", "0", "True", "0.5"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "%", "//", "&", "|", "^", "<", "==", ">="]), inner).map(
            lambda t: "({} {} {})".format(*t)
        ),
        st.tuples(inner, inner, inner).map(lambda t: "np.where({}, {}, {})".format(*t)),
        st.tuples(inner, inner, inner).map(lambda t: "({} if {} else {})".format(*t)),
        st.tuples(st.sampled_from(["np.maximum", "np.minimum", "np.add", "max", "np.logical_and", "np.floor_divide", "np.divide"]),
                  inner, inner).map(lambda t: "{}({}, {})".format(*t)),
        st.tuples(st.sampled_from(["abs({})", "-{}", "~{}", "np.square({})", "np.sqrt(abs({}))", "({}) ** 2", "({}) ** 3",
                                   "np.sign({})", "np.clip({}, -1, 2)", "np.logical_not({})"]), inner).map(lambda t: t[0].format(t[1])),
    ),
    max_leaves=7,
)  # fmt: skip


def outcome(call):
    """(result or None, class of the exception, the warnings' words but for "scalar")."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, error = call(), None
        except Exception as e:  # noqa: BLE001 - that both raise the same is the test
            result, error = None, type(e)
    words = {str(w.message).replace("scalar ", "").partition(" encountered")[0] for w in caught}
    return result, error, words


@given(WHOLE, st.integers(0, 99), st.sampled_from(["u1", "i1", "i4", "i8"]))
def test_random_functions_of_integers(text, seed, dtype):
    function = eval(f"lambda i, j, p, x: {text}", {"np": np, "abs": abs, "max": max})
    r = np.random.default_rng(seed)
    i, j = r.integers(0 if dtype == "u1" else -3, 4, (2, 260)).astype(dtype)
    p, x = r.integers(0, 2, 260).astype(bool), r.integers(-4, 5, 260) / 4
    want, error, words = outcome(lambda: np.vectorize(function)(i, j, p, x))
    got, our_error, our_words = outcome(
        lambda: asnumpy.vectorize(function)(*map(asnumpy.array, (i, j, p, x)))
    )
    assert our_error == error, text
    if error is None:
        assert got.dtype == want.dtype, text
        np.testing.assert_array_equal(np.asarray(got), want, err_msg=text)
        assert our_words == words, text


FAR = st.recursive(
    st.sampled_from(["i", "j", "k", "2147483647", "-2147483648", "4294967296", "65536", "-1", "3"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%", "&", "|", "^", "<", "==", ">="]), inner).map(
            lambda t: "({} {} {})".format(*t)
        ),
        st.tuples(inner, inner, st.sampled_from(["<", ">=", "=="]), inner, inner).map(
            lambda t: f"({t[0]} if {t[1]} {t[2]} {t[3]} else {t[4]})"
        ),
        st.tuples(st.sampled_from(["abs({})", "-{}", "~{}", "({}) ** 2", "np.sign({})", "np.abs({})"]), inner).map(
            lambda t: t[0].format(t[1])
        ),
        st.tuples(st.sampled_from(["max", "min", "np.maximum", "np.add"]), inner, inner).map(lambda t: "{}({}, {})".format(*t)),
        st.tuples(inner, inner, inner).map(lambda t: "np.where({} > 0, {}, {})".format(*t)),
    ),
    max_leaves=6,
)  # fmt: skip


@given(FAR, st.integers(0, 99), st.sampled_from(["", "i8", "i4", "f8"]))
def test_integers_at_the_ends_of_32_bits(text, seed, otype):
    """And beyond: nothing wraps around."""
    function = eval(f"lambda i, j, k: {text}", {"np": np, "abs": abs, "max": max, "min": min})
    r = np.random.default_rng(seed)
    ends = [0, 1, -1, 2, 46340, 46341, 2**31 - 1, -(2**31), -(2**31) + 1]
    i = r.choice(np.array(ends, np.int32), 300)
    j = r.choice(np.array([*ends, 2**31, -(2**31) - 1, 2**40]), 300)
    k = r.integers(-128, 128, 300).astype("i1")
    options = {"otypes": otype} if otype else {}
    want, error, _ = outcome(lambda: np.vectorize(function, **options)(i, j, k))
    got, our_error, _ = outcome(
        lambda: asnumpy.vectorize(function, **options)(*map(asnumpy.array, (i, j, k)))
    )
    assert our_error == error, text
    if error is None:
        assert got.dtype == want.dtype, text
        np.testing.assert_array_equal(np.asarray(got), want, err_msg=text)


BRANCHES = st.recursive(
    st.sampled_from(["x", "y", "z", "0.5", "k", "3"]),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["max", "min"]), inner, inner, inner).map(lambda t: "{}({}, {}, {})".format(*t)),
        st.tuples(inner, inner, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), inner, inner).map(
            lambda t: f"({t[0]} if {t[1]} {t[2]} {t[3]} else {t[4]})"
        ),
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda t: "({} {} {})".format(*t)),
        st.tuples(inner, inner, inner).map(lambda t: "({0} if {1} < {2} or {2} < {1} else {1} - {2})".format(*t)),
        st.tuples(inner, inner, inner).map(lambda t: "({0} if {1} == {2} and not {2} != {1} else -{0})".format(*t)),
    ),
    max_leaves=8,
)  # fmt: skip


@given(BRANCHES, st.integers(0, 99))
def test_answers_that_others_settle(text, seed):
    """NaN is neither less nor equal nor greater; zeros have signs; max and min give the first of equals."""
    function = eval(f"lambda x, y, z, k: ({text}, max(x, y), min(z, x))", {"max": max, "min": min})
    r = np.random.default_rng(seed)
    x, y, z = r.choice([0.0, -0.0, 1.0, -2.5, np.nan, np.inf], (3, 300))
    k = r.integers(-2, 3, 300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = np.vectorize(function, otypes="ddd")(x, y, z, k)
        got = asnumpy.vectorize(function, otypes="ddd")(*map(asnumpy.array, (x, y, z, k)))
    for ours, theirs in zip(got, want, strict=True):
        ours = np.asarray(ours)
        np.testing.assert_array_equal(ours, theirs, err_msg=text)
        finite = ~np.isnan(theirs)
        np.testing.assert_array_equal(np.signbit(ours)[finite], np.signbit(theirs)[finite], text)


@pytest.mark.parametrize("value", [254.9, 255.0, 255.5, 255.99, -0.5, -0.99, 256.0, -1.0, np.nan])
def test_floats_become_bytes_as_int_of_them_does(value):
    x = np.linspace(0, 200, N)
    x[5] = value
    for otype in ("u1", "u8"):
        want = outcome(lambda otype=otype: np.vectorize(lambda v: v + 0.0, otypes=[otype])(x))
        got = outcome(lambda otype=otype: asnumpy.vectorize(lambda v: v + 0.0, otypes=[otype])(asnumpy.array(x)))  # fmt: skip
        assert got[1] is want[1]
        if want[1] is None:
            np.testing.assert_array_equal(np.asarray(got[0]), want[0])
    fits = -1 < value < 256
    _, _, traced = (
        both(lambda v: v + 0.0, asnumpy.array(x), otypes=["u1"]) if fits else (0, 0, False)
    )
    assert traced == fits


def lightest(r, g, b):
    high, low = max(r, g, b), min(r, g, b)
    return (high - low) / (high if high > 0 else 1), greatest_of_two(high, 2 * low)


def greatest_of_two(a, b):
    return max((a, b)) if a == b else max(a, b)


@pytest.mark.skipif(
    os.environ.get("ASNUMPY_FUSE") == "0" or os.environ.get("ASNUMPY_DEVICE") == "ascend",
    reason="single operators do not fuse",
)
def test_many_paths_are_few_programs(rng):
    """What paths share is computed once, what no result needs is not, and no temporary lies in memory."""
    r, g, b = (asnumpy.array(c) for c in rng.integers(0, 256, (3, 100_000)).astype("u1"))
    f = asnumpy.vectorize(hsv_with_if, otypes="ffB")
    f(r, g, b)
    asnumpy.synchronize()
    before = asnumpy.engine_stats()["programs"]
    f(r, g, b)
    assert asnumpy.engine_stats()["programs"] - before <= 6
    theirs, ours, traced = both(lightest, r, g, b, otypes="dl")
    assert traced
    same(theirs, ours)


def test_a_module_whose_max_is_its_own(rng):
    """Names are those of the function's module, not the built-in ones."""
    names = {"max": lambda a, b: a - b}
    exec("def f(x):\n    return max(x, 0.5)", names)
    theirs, ours, traced = both(names["f"], asnumpy.array(rng.random(N)))
    assert traced
    same(theirs, ours)


@pytest.mark.parametrize(("function", "words"), [
    (lambda x: np.where(x > 0, np.log(x), 0.0), "divide by zero encountered in log"),
    (lambda x: np.where(x > 0, np.float_power(x, -1), 0.0), "divide by zero encountered in float_power"),
    (lambda x: np.where(x > 0, 1 / np.abs(x), 0.0), "divide by zero encountered in divide"),
    (lambda x: np.where(x > 0, np.abs(x) / np.abs(x), 0.0), "invalid value encountered in divide"),
    (lambda x: np.exp(x * 10000), "overflow encountered in exp"),
    (lambda x: np.sqrt(x - 0.5), "invalid value encountered in sqrt"),
    (lambda x: np.exp(1 / (x + 0.01)) * 1e300 * 1e300, "overflow encountered in multiply"),
])  # fmt: skip
def test_warnings_and_error_modes(function, words, rng):
    x = rng.random(N)
    x[7] = 0.0
    a = asnumpy.array(x)
    with pytest.warns(RuntimeWarning, match=words), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?!" + words + ")")  # the loop's, in its own words
        theirs, ours, traced = both(function, a)
    assert traced
    same(theirs, ours)
    with warnings.catch_warnings(), asnumpy.errstate(all="ignore"):
        warnings.simplefilter("error")
        assert both(function, a)[2]
    with asnumpy.errstate(all="raise", under="ignore"), pytest.raises(FloatingPointError):
        asnumpy.vectorize(function)(a)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = x * 0.01 + 0.6  # nothing to tell
        assert both(function if words[:8] != "overflow" else np.sqrt, asnumpy.array(x))[1].size == N


@pytest.mark.parametrize("otype", ["e", "f", "F", "d"])
def test_results_too_large_for_their_dtype_are_told(otype, rng):
    """As NumPy's loop tells of the cast; infinities are none."""
    for function in (lambda v: v * 1e300, lambda v: v * 1e4, lambda v: v):
        x = rng.random(N) * 100 + 1
        want = outcome(lambda f=function, x=x: np.vectorize(f, otypes=[otype])(x))
        got = outcome(
            lambda f=function, x=x: asnumpy.vectorize(f, otypes=[otype])(asnumpy.array(x))
        )
        assert got[1:] == want[1:]
        np.testing.assert_array_equal(np.asarray(got[0]), want[0])
        ours, theirs = both(function, asnumpy.array(x), otypes=[otype])[2], want[2]
        with asnumpy.errstate(over="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            asnumpy.vectorize(function, otypes=[otype])(asnumpy.array(x))
        if theirs:
            assert ours and theirs == {"overflow"}
            with asnumpy.errstate(over="raise"), pytest.raises(FloatingPointError):
                asnumpy.vectorize(function, otypes=[otype])(asnumpy.array(x))


def test_arrays_of_where_are_no_numbers(rng):
    def in_place(x):
        y = np.where(x > 0, 1, 2)
        y += 0.5  # an array of int64 refuses
        return y

    with pytest.raises(TypeError):
        np.vectorize(in_place)(np.arange(N))
    with pytest.raises(TypeError):
        asnumpy.vectorize(in_place)(asnumpy.arange(N))


def test_integers_leave_int64_in_the_loop(rng):
    x = rng.integers(-(2**62), 2**62, N)
    x[0] = 5
    for function in (
        lambda i: i * i % 1000,
        lambda i: (i + 2**62 + 2**62) % 7,
        lambda i: i / 3 < 0.1,
        lambda i: i < 0.5,
    ):
        theirs, ours, traced = both(function, asnumpy.array(x))
        assert not traced
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
    theirs, ours, traced = both(lambda i: (i // 3) + (i & 7), asnumpy.array(x))
    assert traced
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
    small = np.arange(512).astype("u1")  # the first element says uint8, 256 is no such number
    want = outcome(lambda: np.vectorize(lambda i: i + 1)(small))
    got = outcome(lambda: asnumpy.vectorize(lambda i: i + 1)(asnumpy.array(small)))
    assert got[1] is want[1]
    if want[1] is None:
        np.testing.assert_array_equal(np.asarray(got[0]), want[0])
