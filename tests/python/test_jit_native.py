"""asnumpy.jit(native=True): compiled programs give the very bits of the library's own, and the same warnings."""

import os
import shutil
import warnings

import asnumpy
import numpy as np
import pytest
from asnumpy import _jit
from conftest import NPU, SINGLE_OPERATORS
from hypothesis import given, settings
from hypothesis import strategies as st
from test_jit_random import agree, arguments, make, operations, run, twin

COMPILES = not SINGLE_OPERATORS  # elsewhere native=True changes nothing

pytestmark = pytest.mark.skipif(NPU, reason="a device without fused programs, and without float64")


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    """Compiled text of this run alone."""
    before = os.environ.get("ASNUMPY_CACHE_DIR")
    os.environ["ASNUMPY_CACHE_DIR"] = str(tmp_path_factory.mktemp("native"))
    yield
    if before is None:
        del os.environ["ASNUMPY_CACHE_DIR"]
    else:
        os.environ["ASNUMPY_CACHE_DIR"] = before


def compiled(function):
    return sum(e["compiled"] for e in function._entries())


def leaves(result):
    return [np.asarray(a) for a in (result if isinstance(result, (list, tuple)) else [result])]


def identical(ours, expected):
    """Bit for bit but for which NaN it is."""
    ours, expected = leaves(ours), leaves(expected)
    assert len(ours) == len(expected)
    for k, (a, b) in enumerate(zip(ours, expected, strict=True)):
        assert a.shape == b.shape and a.dtype == b.dtype, k
        nan = (a != a) & (b != b)
        if not nan.any():
            assert a.tobytes() == b.tobytes(), (k, a, b)
            continue
        a, b = (
            x.view("f4" if x.dtype == "c8" else "f8") if x.dtype.kind == "c" else x for x in (a, b)
        )
        nan = np.isnan(a) & np.isnan(b)
        assert a[~nan].tobytes() == b[~nan].tobytes(), (k, a, b)


def check(function, *args, some=True):
    """The native function against the jitted one: results, and what it left in the arguments."""
    native, replayed = asnumpy.jit(function, native=True), asnumpy.jit(function)
    first = [asnumpy.array(a, order="K") for a in args]
    native(*first)
    native._compile_last()
    assert compiled(native) > 0 or not (some and COMPILES)
    replayed(*[asnumpy.array(a, order="K") for a in args])
    for _ in range(3):  # each other one is compiled, till it is known which is faster
        plain, given = ([asnumpy.array(a, order="K") for a in args] for _ in range(2))
        expected = replayed(*plain)
        identical(native(*given), expected)
        identical(given, plain)
    return native


EXTREMES = {
    "f": [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, np.inf, -np.inf, np.nan, 1e-40, 6e4, -7.25, 1e30],
    "i": [0, 1, -1, 2, 3, 7, -8, 100, -128, 127, 5],
    "u": [0, 1, 2, 3, 7, 31, 32, 100, 128, 255],
    "b": [True, False, True],
}


def values(dtype, n, seed=0):
    dtype = np.dtype(dtype) if dtype != "bfloat16" else np.dtype("float32")
    rng = np.random.default_rng(seed)
    if dtype.kind == "c":
        made = np.empty(n, dtype)
        made.real, made.imag = (values(dtype.char.lower(), n, seed + k) for k in range(2))
        return made
    some = rng.choice(np.array(EXTREMES[dtype.kind]), n)
    with np.errstate(all="ignore"):
        if dtype.kind == "f":
            some = np.where(rng.random(n) < 0.4, some, rng.normal(0, 3, n))
        elif dtype.kind in "iu":
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
            some = np.where(rng.random(n) < 0.5, some, rng.integers(low // 2, high // 2, n))
        return some.astype(dtype)


def ufuncs(dtype, nin):
    char = np.dtype(dtype).char
    named = [
        getattr(asnumpy, n)
        for n in dir(np)
        if isinstance(getattr(np, n), np.ufunc) and hasattr(asnumpy, n)
    ]
    return [
        u for u in dict.fromkeys(named)
        if getattr(np, u.__name__).nin == nin
        and getattr(np, u.__name__).signature is None
        and any(t.startswith(char * nin + "->") for t in getattr(np, u.__name__).types)
        and u.__name__ not in ("power", "float_power", "ldexp")
    ]  # fmt: skip


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
     "complex64", "complex128"],
)  # fmt: skip
def test_every_operation(dtype):
    """All ufuncs with a loop of the dtype, conversions and selections, in one trace; 37 elements leave a rest."""
    a, b = values(dtype, 37, 1), values(dtype, 37, 2)

    def function(a, b):
        made = []
        for u in ufuncs(dtype, 1):
            r = u(a)
            made += r if isinstance(r, tuple) else [r]
        for u in ufuncs(dtype, 2):
            r = u(a, b)
            made += r if isinstance(r, tuple) else [r]
        made += [asnumpy.where(a > b, a, b), asnumpy.where(a != b, b, a), asnumpy.clip(a, b, a)]
        if np.dtype(dtype).kind != "c":
            made += [a.astype(t) for t in ("bool", "int8", "int32", "int64", "float32", "float64")]
        made += [
            a.astype(t)
            for t in ("float16", "complex64", "complex128")
            if np.can_cast(dtype, t, "same_kind")
        ]
        return made

    with np.errstate(all="ignore"), asnumpy.errstate(all="ignore"):
        check(function, a, b)


@pytest.mark.parametrize("n", [1, 3, 8, 100, 500, 5000])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_chains(dtype, n):
    """Sums of floats are compiled as long as one block of the engine's holds them, whose bits they have."""

    def function(x, y):
        u = (x * 3 - y) * (x + 1) + np.dtype(dtype).type(7)
        v = asnumpy.maximum(asnumpy.abs(u), y)
        return u, v, asnumpy.where(v > 2, u - v, v), (u * v).max(), u.sum()

    check(function, values(dtype, n, 3) if dtype == "int32" else np.random.default_rng(n).random(n).astype(dtype),
          np.random.default_rng(n).normal(size=n).astype(dtype), some=n < (5000 if dtype == "int32" else 500))  # fmt: skip


def test_functions_between_text():
    def function(x, y):
        u = asnumpy.exp(-x * x) * y
        v = asnumpy.sin(u + 1) / (asnumpy.log(u * u + 2) - y)
        return v, asnumpy.tanh(v) + asnumpy.sqrt(asnumpy.abs(v)), asnumpy.hypot(u, v).sum()

    rng = np.random.default_rng(5)
    for n in (7, 100, 300):
        check(function, rng.normal(size=n), rng.normal(size=n))


def test_halves():
    def function(x, y):
        u = x * y + asnumpy.float16(1)
        return u, asnumpy.exp(u), u.astype("float32") * 2, asnumpy.where(u > x, x, y)

    rng = np.random.default_rng(6)
    check(function, rng.normal(size=50).astype("f2"), rng.normal(size=50).astype("f2"), some=False)


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler (cc)")
def test_loops_of_the_programs_own_are_the_engines():
    """A program that has one of them has no text; the others of the capture have."""
    cubed = asnumpy.ElementwiseKernel("T x", "T y", "y = x * x * x", "cubed")

    def function(x, y):
        u = cubed(x * 2 + y) - y
        return u, (x.sum() * y[::2] + x[::2]) * 2, cubed(u).max()

    rng = np.random.default_rng(8)
    for n in (8, 300):
        check(function, rng.normal(size=n), rng.normal(size=n), some=False)


def layouts(rng, n):
    """Square views of one shape: as they are, transposed, every second element, backwards, broadcast."""
    yield rng.normal(size=(n, n))
    yield rng.normal(size=(n, n)).T
    yield rng.normal(size=(2 * n, 3 * n))[::2, 1::3]
    yield rng.normal(size=(n, n))[::-1, ::-1]
    yield rng.normal(size=(1, n))
    yield rng.normal(size=(n, 1))
    yield rng.normal(size=())


@pytest.mark.parametrize("n", [3, 8, 17])
def test_layouts(n):
    rng = np.random.default_rng(n)
    views = list(layouts(rng, n))

    def function(*views):
        return [a * 2 + b for a in views for b in views[:4]], asnumpy.exp(views[1]) - views[2]

    def flat(*views):
        many, one = function(*views)
        return [*many, one]

    native = asnumpy.jit(flat, native=True)
    device = [asnumpy.asarray(v) for v in views]
    expected = flat(*device)
    native(*device)
    native._compile_last()
    assert compiled(native) > 0 or not COMPILES
    identical(native(*device), expected)


def test_stencil_written_in_place():
    def function(u, v):
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
        u += 1
        u[0] *= v[1]
        v[:, ::2] -= u[:, ::2]
        return u[::2] + v[::2]

    rng = np.random.default_rng(8)
    for n in (5, 16, 61):
        check(function, rng.normal(size=(n, n)), rng.normal(size=(n, n)))


def test_overlapping_views_of_an_argument():
    def function(u):
        u[1:] += u[:-1]
        u[:-1] = u[1:] * 2
        return u.sum()

    check(function, np.random.default_rng(9).normal(size=40), some=False)


def told(function, *args):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = function(*args)
        asnumpy.synchronize()
    return sorted({str(w.message) for w in seen}), result


CONDITIONS = {
    "divide": (lambda x: 1 / x, [0.0, 1.0, 2.0]),
    "invalid": (lambda x: asnumpy.sqrt(x) + 1, [-1.0, 4.0, 9.0]),
    "overflow": (lambda x: x * 1e300 * x, [1e10, 1.0, 1e200]),
    "chosen away": (lambda x: asnumpy.where(x != 0, 1 / x, 0), [0.0, 1.0, 2.0]),
    "chosen away, one element": (lambda x: asnumpy.where(x != 0, 1 / x, 0), [0.0]),
    "comparison with NaN": (lambda x: asnumpy.where(x > 1, x + 1, x), [np.nan, 1.0, 2.0]),
    "maximum of NaN": (lambda x: asnumpy.maximum(x * 2, 1), [np.nan, 1.0, 2.0]),
    "comparison and division": (lambda x: asnumpy.where(x > 1, 1 / x, x), [np.nan, 0.0, 2.0]),
    "before a function": (lambda x: asnumpy.exp(1 / x) + 1, [0.0, 1.0, 2.0]),
    "in a function": (lambda x: asnumpy.log(x * 2) + 1, [0.0, 1.0, 2.0]),
    "cast": (lambda x: (x * 2).astype("float32") + 1, [1e300, 1.0, 2.0]),
    "none": (lambda x: x * 2 + 1, [1.0, 2.0, 3.0]),
}


@pytest.mark.skipif(not COMPILES, reason="single operators report no floating-point exceptions")
@pytest.mark.parametrize("case", CONDITIONS)
def test_warnings(case):
    function, element = CONDITIONS[case]
    for n in (len(element), 50):
        quiet = asnumpy.ones(n)
        x = np.ones(n)
        x[: len(element)] = element
        x = asnumpy.array(x)
        replayed, native = asnumpy.jit(function), asnumpy.jit(function, native=True)
        replayed(quiet)
        native.compile(quiet)
        assert compiled(native) == 1
        expected, result = told(replayed, x)
        assert told(native, x)[0] == expected
        with asnumpy.errstate(all="ignore"):
            identical(native(x), result)
        raises = pytest.raises(FloatingPointError) if expected else warnings.catch_warnings()
        with raises, asnumpy.errstate(all="raise"):
            native(x)
            asnumpy.synchronize()


def test_constants_and_scalars():
    table = asnumpy.array(np.random.default_rng(1).normal(size=30))

    def function(x, k):
        return x * table + k, (x - 0.1) * np.float32(2.5), x > -0.0, x * np.nan, x + np.inf

    check(function, np.random.default_rng(2).normal(size=30), np.float64(3.5))


def test_nested_shapes_share_nothing():
    """A trace of its own for each shape, each with its library."""
    native = asnumpy.jit(lambda x: (x + 1) * x, native=True)
    for n in (4, 9, 4, 9):
        x = asnumpy.arange(float(n))
        native.compile(x)
        identical(native(x), (x + 1) * x)
    assert native.cache_info().currsize == 2
    assert compiled(native) == (2 if COMPILES else 0)


def test_the_faster_way_is_found():
    native = asnumpy.jit(lambda x: (x + 1) * x - asnumpy.exp(x), native=True)
    x = asnumpy.linspace(0, 1, 200)
    native.compile(x)
    expected = (x + 1) * x - asnumpy.exp(x)
    for _ in range(100):
        identical(native(x), expected)


def test_hot_traces_are_compiled(monkeypatch):
    monkeypatch.setattr(_jit, "HOT", 5)
    native = asnumpy.jit(lambda x: (x + 1) * x, native=True)
    x = asnumpy.arange(6.0)
    for k in range(8):
        identical(native(x), (x + 1) * x)
        assert compiled(native) == (COMPILES and k >= 5), k
    assert ("compiled" in native.explain()) == COMPILES
    plain = asnumpy.jit(lambda x: (x + 1) * x)
    for _ in range(8):
        plain(x)
    assert compiled(plain) == 0 and "compiled" not in plain.explain()


@pytest.mark.skipif(not COMPILES, reason="nothing is compiled")
def test_without_a_compiler(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    native = asnumpy.jit(lambda x: (x + 1) * x + 2, native=True)
    x = asnumpy.arange(6.0)
    with pytest.warns(
        RuntimeWarning, match=r"jit: <lambda> runs without native code: .*no-such-compiler"
    ):
        native.compile(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        identical(native(x), (x + 1) * x + 2)
    assert compiled(native) == 0


@pytest.mark.skipif(not COMPILES, reason="nothing is compiled")
def test_another_texts_library_is_refused(monkeypatch):
    x = asnumpy.arange(6.0)
    tables = []
    compile_text = _jit._Jitted._compile_text

    def keep(self, text):
        tables.append(compile_text(self, text))
        return tables[0]

    monkeypatch.setattr(_jit._Jitted, "_compile_text", keep)
    asnumpy.jit(lambda x: x * 2 + 1, native=True).compile(x)
    with pytest.raises(ValueError, match="another capture's text"):
        asnumpy.jit(lambda x: x * 2 + 3, native=True).compile(x)


@pytest.mark.skipif(not COMPILES, reason="nothing is compiled")
def test_large_programs_are_the_engines():
    native = asnumpy.jit(lambda x: (x + 1) * x, native=True)
    native.compile(asnumpy.ones(100_000))
    assert compiled(native) == 0


@pytest.mark.skipif(not COMPILES, reason="nothing is compiled")
def test_profiled():
    native = asnumpy.jit(lambda x: (x + 1) * x, native=True).compile((10,))
    x = asnumpy.ones(10)
    with asnumpy.profile() as p:
        for _ in range(5):
            native(x)
    programs = [row for row in p.rows() if row.kind == "program"]
    assert sum(row.calls for row in programs) == 5


@settings(max_examples=12, deadline=None)
@given(st.lists(operations, min_size=4, max_size=6), arguments, st.integers(0, 2**32 - 1))
def test_random_programs(programs, kinds, seed):
    """Several programs in one trace: compiling takes the time."""
    rng = np.random.default_rng(seed)
    native = asnumpy.jit(
        lambda *arrays: [a for p in programs for a in run(asnumpy, p, arrays)], native=True
    )
    with np.errstate(all="ignore"), asnumpy.errstate(all="ignore"):
        for _ in range(3):
            host = [make(rng, *kind) for kind in kinds]
            device = [twin(a) for a in host]
            agree(native(*device), [a for p in programs for a in run(np, p, host)])
            agree(device, host)
            native._compile_last()
