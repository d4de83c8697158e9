"""asnumpy.autocast and asnumpy.precision against NumPy: errors within what is said, and whose products are narrowed."""

import asyncio
import contextvars
import copy
import threading

import asnumpy as anp
import numpy as np
import pytest
from asnumpy import precision
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

NARROW = ["bfloat16", "float16", "int8"]
# Units of rounding; of int8 half of 1/127, and its elements are off by that of the channel's largest.
UNIT = {"bfloat16": 2.0**-9, "float16": 2.0**-11, "int8": 1 / 254}


def normal(*shape, seed=0, scale=1.0):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def exact(a, b):
    return np.matmul(a.astype(np.float64), b.astype(np.float64))


def norm(x):
    return np.linalg.norm(np.asarray(x, dtype=np.float64))


def rounding(x, dtype, axis):
    """The relative rounding error of an operand, by NumPy alone."""
    x = np.asarray(x, np.float32)
    if dtype == "int8":
        step = np.abs(x).max(axis=axis, keepdims=True) / np.float32(127)
        y = np.rint(x / np.where(step > 0, step, 1)) * step
    else:
        y = x.astype(anp.bfloat16 if dtype == "bfloat16" else np.float16).astype(np.float32)
    return norm(y.astype(np.float64) - x) / norm(x) if norm(x) else 0.0


def bound(a, b, dtype):
    """What norm(error) / (norm(a) norm(b)) may be: roundings of operands and result, and sums in float32."""
    ea, eb = rounding(a, dtype, -1), rounding(b, dtype, -2)
    e = ea + eb + ea * eb + a.shape[-1] * 2.0**-24
    last = UNIT[dtype] if dtype != "int8" else 2.0**-21
    return (1 + e) * (1 + last) - 1 + (1e-6 if dtype == "float16" else 0)


def entry(name, a, b):
    """The product by one of the functions that autocast reaches, of asnumpy arrays with two axes."""
    return {
        "@": lambda: a @ b,
        "matmul": lambda: anp.matmul(a, b),
        "out": lambda: anp.matmul(a, b, out=anp.empty((a.shape[0], b.shape[1]), np.float32)),
        "dot": lambda: anp.dot(a, b),
        "method": lambda: a.dot(b),
        "inner": lambda: anp.inner(a, b.T),
        "tensordot": lambda: anp.tensordot(a, b, 1),
        "einsum": lambda: anp.einsum("ij,jk->ik", a, b),
        "linear": lambda: precision.linear(a, b.T),
    }[name]()


ENTRIES = ["@", "matmul", "out", "dot", "method", "inner", "tensordot", "einsum", "linear"]


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_is_reached(name, dtype):
    a, b = normal(9, 40), normal(40, 7, seed=1)
    precision.reset_counts()
    with anp.autocast(dtype):
        got = entry(name, anp.asarray(a), anp.asarray(b))
    assert got.dtype == np.float32
    assert precision.counts()[dtype] == 1
    assert precision.counts()["float32"] == 0
    error = norm(np.asarray(got) - exact(a, b)) / norm(a) / norm(b)
    assert 0 < error <= bound(a, b, dtype)


@pytest.mark.parametrize("dtype", NARROW)
def test_vectors_and_stacks(dtype):
    a, b = normal(3, 1, 5, 24), normal(4, 24, 6, seed=1)
    x, y = anp.asarray(a), anp.asarray(b)
    with anp.autocast(dtype):
        cases = [
            (x @ y, exact(a, b)),
            (x[0, 0, 0] @ y[0], exact(a[0, 0, 0], b[0])),
            (x[0, 0] @ y[0, :, 1], exact(a[0, 0], b[0, :, 1])),
            (anp.dot(x[0, 0], y), np.dot(a[0, 0].astype(float), b.astype(float))),
            (anp.vdot(x[0, 0, 0], x[0, 0, 1]), np.vdot(a[0, 0, 0].astype(float), a[0, 0, 1])),
            (anp.vecdot(x[0, 0], x[1, 0]), np.vecdot(a[0, 0].astype(float), a[1, 0].astype(float))),
            (anp.matvec(y[0].T, x[0, 0, 0]), np.matvec(b[0].T.astype(float), a[0, 0, 0])),
            (anp.einsum("bij,bjk->bik", x[:, 0], y[:3]), exact(a[:, 0], b[:3])),
        ]
    for got, want in cases:
        assert got.dtype == np.float32 and got.shape == want.shape
        assert norm(np.asarray(got) - want) <= 4 * 24**0.5 * UNIT[dtype] * max(norm(want), 5)


@given(
    st.data(),
    st.sampled_from(NARROW),
    st.integers(1, 6),
    st.integers(1, 40),
    st.integers(1, 6),
)
def test_errors_are_within_the_bound(data, dtype, m, k, n):
    elements = st.floats(-32, 32, width=32, allow_subnormal=False)
    a = data.draw(hnp.arrays(np.float32, (m, k), elements=elements))
    b = data.draw(hnp.arrays(np.float32, (k, n), elements=elements))
    with anp.autocast(dtype):
        got = np.asarray(anp.asarray(a) @ anp.asarray(b), np.float64)
    off = norm(got - exact(a, b))
    assert off <= bound(a, b, dtype) * norm(a) * norm(b) + 2.0**-24


@pytest.mark.parametrize("dtype", ["float64", "complex64", "int32", "float16", "bool"])
def test_other_dtypes_are_untouched(dtype):
    dtype = np.dtype(dtype)
    a = normal(6, 6, scale=3).astype(dtype)
    x = anp.asarray(a)
    plain = np.asarray(x @ x)
    precision.reset_counts()
    for name in NARROW:
        with anp.autocast(name):
            assert np.array_equal(np.asarray(x @ x), plain)
            assert (x @ x).dtype == dtype
    assert not any(precision.counts().values())


def test_a_stored_half_with_float32():
    a, b = normal(5, 33), normal(33, 4, seed=1)
    half = anp.asarray(b).astype(anp.bfloat16)
    with anp.autocast("bfloat16"):
        got = anp.asarray(a) @ half
        both = anp.asarray(a) @ anp.asarray(b)
    assert got.dtype == np.float32
    assert np.array_equal(np.asarray(got), np.asarray(both))
    assert (anp.asarray(a) @ half).dtype == np.float32  # without autocast: widened


def test_float16_out_of_range_is_refused():
    a, ones = anp.full((3, 3), 70000.0, np.float32), anp.ones((3, 3), np.float32)
    for x, y in [(a, ones), (ones, a), (a * 0.5, a * 0.5), (a * np.float32(np.nan), ones)]:
        precision.reset_counts()
        want = np.asarray(x @ y)
        with anp.autocast("float16"):
            got = np.asarray(x @ y)
        np.testing.assert_array_equal(got, want)
        assert precision.counts()["beyond_range"] == 1
        assert precision.counts()["float16"] == 0
    with anp.errstate(all="ignore"), anp.autocast("float16", check=False):
        assert np.isinf(np.asarray(a @ ones)).all()
    big = anp.full((4, 4), 100.0, np.float32)  # sums of 40000
    with anp.autocast("float16"):
        assert np.asarray(big @ big)[0, 0] == 40000


def test_int8_of_rows_that_are_not_finite():
    a = normal(3, 8)
    a[1, 2] = np.nan
    with anp.errstate(all="ignore"), anp.autocast("int8"):
        got = np.asarray(anp.asarray(a) @ anp.ones((8, 2), np.float32))
    assert np.isnan(got[1]).all() and np.isfinite(got[[0, 2]]).all()
    with anp.autocast("int8"):
        zeros = np.asarray(anp.zeros((3, 8), np.float32) @ anp.ones((8, 2), np.float32))
    assert not zeros.any()


def test_empty_products_and_errors():
    for dtype in NARROW:
        with anp.autocast(dtype):
            assert (anp.ones((0, 3), np.float32) @ anp.ones((3, 2), np.float32)).shape == (0, 2)
            assert not np.asarray(anp.ones((2, 0), np.float32) @ anp.ones((0, 3), np.float32)).any()
            with pytest.raises(ValueError, match="mismatch in its core dimension"):
                anp.ones((2, 3), np.float32) @ anp.ones((2, 3), np.float32)
            with pytest.raises(ValueError, match="enough dimensions"):
                anp.matmul(anp.float32(1), anp.ones((2, 3), np.float32))


# ---- contexts


def enabled():
    return precision.is_autocast_enabled(), precision.get_autocast_dtype()


def test_nesting_and_exceptions():
    off = (False, np.float32)
    assert enabled() == off
    with anp.autocast("bfloat16") as outer:
        assert enabled() == (True, anp.bfloat16)
        with anp.autocast("float16"):
            assert enabled() == (True, np.float16)
            with anp.autocast("float16", enabled=False):
                assert enabled() == off
        with pytest.raises(KeyError), anp.autocast("auto"):
            assert enabled() == (True, "auto")
            raise KeyError
        with outer:  # again
            assert enabled() == (True, anp.bfloat16)
        with anp.autocast(np.float32):
            assert enabled() == off
        assert enabled() == (True, anp.bfloat16)
    assert enabled() == off


def test_decorated():
    @anp.autocast("float16")
    def inner(depth):
        """Says."""
        return inner(depth - 1) if depth else enabled()

    assert inner(3) == (True, np.float16)
    assert inner.__name__ == "inner" and inner.__doc__ == "Says."
    assert enabled() == (False, np.float32)

    @anp.autocast("bfloat16")
    async def later():
        await asyncio.sleep(0)
        return enabled()

    async def both():
        task = asyncio.create_task(later())
        await asyncio.sleep(0)
        mine = enabled()
        return mine, await task

    assert asyncio.run(both()) == ((False, np.float32), (True, anp.bfloat16))


def test_threads_and_contexts_have_their_own():
    seen, inside, go = {}, threading.Event(), threading.Event()

    def other():
        with anp.autocast("int8"):
            inside.set()
            assert go.wait(30)
            seen["other"] = enabled()

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(30)
    assert enabled() == (False, np.float32)
    with anp.autocast("float16"):
        go.set()
        thread.join()
        assert enabled() == (True, np.float16)
        kept = contextvars.copy_context()
    assert seen["other"] == (True, np.int8)
    assert kept.run(enabled) == (True, np.float16)
    assert enabled() == (False, np.float32)


def test_jitted_functions_are_traced_for_each_precision():
    f = anp.jit(lambda a, b: a @ b + 1)
    a, b = anp.asarray(normal(8, 16)), anp.asarray(normal(16, 8, seed=1))
    plain = np.asarray(f(a, b))
    for dtype in ["bfloat16", "int8"]:
        with anp.autocast(dtype):
            want = np.asarray(a @ b + 1)
            for _ in range(3):
                assert np.array_equal(np.asarray(f(a, b)), want)
        assert not np.array_equal(want, plain)
        assert np.array_equal(np.asarray(f(a, b)), plain)


@pytest.mark.parametrize(
    ("args", "error", "text"),
    [
        (("float64",), TypeError, "dtype is float64; it may be float32, bfloat16"),
        (("complex64",), TypeError, "dtype is complex64"),
        (("nothing",), TypeError, "nothing"),
        (("bfloat16", {"error": 0.1}), ValueError, "error goes with dtype 'auto'"),
        (("auto", {"error": 0.0}), ValueError, "error is 0; it must be positive"),
        (("auto", {"error": np.inf}), ValueError, "positive and finite"),
    ],
)
def test_wrong_settings(args, error, text):
    with pytest.raises(error, match=text):
        anp.autocast(args[0], **(args[1] if len(args) > 1 else {}))


def test_repr():
    assert repr(anp.autocast("auto", error=0.5)) == "autocast('auto', error=0.5)"
    assert repr(anp.autocast("int8", check=False)) == "autocast('int8', check=False)"


# ---- decisions


@given(
    st.integers(1, 12),
    st.integers(1, 12),
    st.floats(1e-4, 0.2),
    st.sampled_from(["speed", "memory"]),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["matmul", "linear"]),
    st.sampled_from([1e-6, 1.0, 1e3, 1e6]),
)
def test_decisions_keep_their_word(k, n, error, prefer, seed, op, scale):
    w = normal(k, n, seed=seed, scale=scale)
    d = precision.decide(w, op, rows=3, error=error, prefer=prefer, measure_error=True)
    assert d.compute_dtype in ["float32", *NARROW] and d.memory_dtype in ["float32", *NARROW]
    assert d.memory_dtype == "float32" or d.expected_error <= error
    assert d.measured_error <= 2 * d.expected_error + 1e-6
    assert d.compute_dtype in ("float32", d.memory_dtype)
    assert d.performance_gain == 1 if d.compute_dtype == "float32" else d.performance_gain >= 1.2
    if scale == 1e6:
        assert "float16" not in (d.compute_dtype, d.memory_dtype)


def test_reasons():
    w = normal(16, 16)
    assert "bound" in precision.decide(w, error=1e-9).reason
    assert precision.decide(w, error=1e-9).compute_dtype == "float32"
    assert "finite" in precision.decide(np.full((2, 2), np.nan, np.float32)).reason
    assert "float32" in precision.decide(w, "softmax").reason
    assert "operands" in precision.decide(w, "tanh").reason
    far = precision.decide(w * 1e5, error=1.5e-3)
    assert "65504" in far.reason


def test_memory_of_decisions():
    w = normal(64, 32)
    d = precision.decide(w, error=0.1, prefer="memory")
    kept = d.store(w)
    assert d.memory_dtype == "int8" and kept.nbytes == 64 * 32 + 4 * 32
    half = precision.decide(w, error=3e-3, prefer="memory")
    assert half.memory_dtype == "float16" and half.store(w).dtype == np.float16


def test_gains_are_those_measured():
    w = normal(24, 24)
    d = precision.decide(w, error=0.5, rows=2)
    known = {
        g.dtype: g.gain for g in precision.gains() if g.stored and (g.m, g.k, g.n) == (2, 24, 24)
    }
    assert set(known) == set(NARROW)
    best = max(known, key=known.get)
    if known[best] >= 1.2:
        assert (d.compute_dtype, d.performance_gain) == (best, known[best])
    else:
        assert (d.compute_dtype, d.performance_gain) == ("float32", 1)
    before = len(precision.gains())
    assert precision.decide(w, error=0.5, rows=2) == d and len(precision.gains()) == before


def test_automatic_products():
    a, b = normal(40, 64), normal(64, 16, seed=1)
    s = precision.Scheduler(error=0.05)
    for _ in range(2):
        with s.autocast():
            got = np.asarray(anp.asarray(a) @ anp.asarray(b))
        assert norm(got - exact(a, b)) <= 0.05 * norm(a) * norm(b)
    assert s.gains() and repr(s) == "Scheduler(error=0.05, prefer='speed')"
    assert s.decide(b).expected_error <= 0.05
    with anp.autocast("auto", error=1e-9):
        tight = anp.asarray(a) @ anp.asarray(b)
    assert np.array_equal(np.asarray(tight), np.asarray(anp.asarray(a) @ anp.asarray(b)))


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"op": "sort"}, ValueError, "op is 'sort'; it may be one of"),
        ({"prefer": "beauty"}, ValueError, "prefer is 'beauty'"),
        ({"error": -1.0}, ValueError, "decide: error is -1 and rows 128"),
        ({"rows": 0}, ValueError, "rows 0; they must be positive"),
        ({"tensor": np.ones((2, 2))}, TypeError, "dtype is float64; it must be float32"),
        ({"tensor": np.ones(2, np.float32)}, ValueError, "two dimensions or more"),
        ({"tensor": np.ones((0, 2), np.float32)}, ValueError, "has elements"),
    ],
)
def test_wrong_questions(options, error, text):
    with pytest.raises(error, match=text):
        precision.decide(**{"tensor": normal(2, 2), **options})


# ---- int8


@given(
    hnp.arrays(
        np.float32,
        hnp.array_shapes(min_dims=2, max_dims=4, max_side=5),
        elements=st.floats(-1000, 1000, width=32, allow_subnormal=False),
    ),
    st.sampled_from([-1, -2]),
)
def test_quantised_per_channel(x, axis):
    q = precision.quantize_per_channel(x, axis)
    along = -3 - axis
    scale = np.maximum(
        np.abs(x).max(axis=along, keepdims=True) / np.float32(127), np.float32(2.0**-126)
    )
    np.testing.assert_array_equal(np.asarray(q.q_per_channel_scales()), scale.squeeze(along))
    assert q.int_repr().dtype == np.int8 and q.shape == x.shape and q.ndim == x.ndim
    off = np.abs(np.asarray(q.dequantize(), np.float64) - x)
    assert (off <= scale * 0.500001).all()
    assert q.q_per_channel_axis() == axis and q.T.q_per_channel_axis() == along
    np.testing.assert_array_equal(
        np.asarray(q.T.dequantize()), np.asarray(q.dequantize()).swapaxes(-1, -2)
    )


def test_int8_products_are_exact_but_for_the_rounding():
    rng = np.random.default_rng(0)
    a = rng.integers(-127, 128, (7, 300)).astype(np.float32)
    b = rng.integers(-127, 128, (300, 5)).astype(np.float32)
    a[:, 0], b[0] = 127, 127  # so that each scale is 1
    q = precision.quantize_per_channel(anp.asarray(b))
    want = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.float32)
    np.testing.assert_array_equal(np.asarray(anp.asarray(a) @ q), want)
    np.testing.assert_array_equal(np.asarray(anp.asarray(a[0]) @ q), want[0])
    stack = np.stack([a, -a])
    np.testing.assert_array_equal(np.asarray(anp.asarray(stack) @ q), np.stack([want, -want]))
    weight = precision.quantize_per_channel(anp.asarray(b.T.copy()), axis=0)
    bias = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(np.asarray(precision.linear(a, weight, bias)), want + bias)


def test_int8_refusals():
    q = precision.quantize_per_channel(normal(4, 3))
    x = anp.ones((2, 4), np.float32)
    with pytest.raises(ValueError, match="channels are rows"):
        x.swapaxes(0, 1)[:3].T @ q.T
    with pytest.raises(TypeError, match="second operand"):
        q @ x
    with pytest.raises(ValueError, match=r"shapes \(2,3\) and \(4,3\) do not multiply"):
        anp.ones((2, 3), np.float32) @ q
    with pytest.raises(TypeError, match="dtypes are float64, int8 and float32"):
        anp.ones((2, 4)) @ q
    with pytest.raises(TypeError, match="dtype is int64; it must be float32"):
        precision.quantize_per_channel(anp.ones((2, 2), np.int64))
    with pytest.raises(ValueError, match="one of the last two"):
        precision.quantize_per_channel(normal(2, 3, 4), axis=0)
    with pytest.raises(ValueError, match="or empty"):
        precision.quantize_per_channel(np.ones((0, 3), np.float32))
    with pytest.raises(TypeError):
        q + 1
    assert copy.copy(q).shape == (4, 3) and "axis=-1" in repr(q)
