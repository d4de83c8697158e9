"""Small operations run at once, by paths of their own: the same results, order and errors."""

import threading
import warnings

import asnumpy
import numpy as np
import pytest
from conftest import SINGLE_OPERATORS
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import DTYPES, same

SHAPES = [(), (1,), (3,), (10,), (2, 5), (4, 1), (2, 3, 4), (1, 2, 1, 3), (0,), (300,)]
BINARY = [
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "maximum", "greater",
    "equal", "logical_or", "hypot", "power", "left_shift", "copysign", "ldexp",
]  # fmt: skip
UNARY = ["negative", "sqrt", "exp", "isnan", "sign", "square", "logical_not", "rint", "abs"]


def values(rng, shape, dtype):
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) > 0.5
    if kind in "iu":
        return rng.integers(0 if kind == "u" else -6, 7, shape).astype(dtype)
    x = rng.standard_normal(shape) * 3
    return (x + 1j * rng.standard_normal(shape) if kind == "c" else x).astype(dtype)


def operand(draw, rng, shape):
    """An array, a view that is no row of memory, or a Python or NumPy number."""
    dtype = draw(st.sampled_from(DTYPES))
    form = draw(st.sampled_from(["array", "array", "array", "reversed", "python", "numpy", "F"]))
    if form == "python":
        return draw(st.sampled_from([2, -1, 300, 0, 1.5, True, 1e300]))
    if form == "numpy":
        return values(rng, (), dtype)[()]
    x = values(rng, shape, dtype)
    if form == "reversed" and shape:
        return x[::-1]
    return np.asfortranarray(x) if form == "F" else x


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_calls(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    shape = data.draw(st.sampled_from(SHAPES))
    a = values(rng, shape, data.draw(st.sampled_from(DTYPES)))
    if data.draw(st.booleans()):
        op = data.draw(st.sampled_from(BINARY))
        b = operand(data.draw, rng, shape)
        ulp = 4 if op in ("power", "hypot") else 0
        if a.dtype.kind == "c" or np.asarray(b).dtype.kind == "c":
            ulp = 8
        pair = (a, b) if data.draw(st.booleans()) else (b, a)
        same(lambda m, x, y: getattr(m, op)(x, y), *pair, ulp=ulp, where=f"{op} {pair!r}")
    else:
        op = data.draw(st.sampled_from(UNARY))
        ulp = 8 if a.dtype.kind == "c" else 4
        same(lambda m, x: getattr(m, op)(x), a, ulp=ulp, where=f"{op} {a!r}")


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_in_place(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    dtype = data.draw(st.sampled_from(DTYPES))
    a = values(rng, (12,), dtype)
    shift = data.draw(st.integers(0, 3))
    op = data.draw(st.sampled_from(["add", "multiply", "maximum"]))

    def overlapping(m, x):
        getattr(m, op)(x[shift : shift + 8], x[:8], out=x[:8])
        x[2:] = x[:-2]
        x[::2] = x[1::2]
        x[3:5] = 1
        return x

    same(overlapping, a, ulp=8 if a.dtype.kind == "c" else 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1,), (10,), (3, 4), (700,), (), (0,), (1500,)])
def test_reductions(dtype, shape):
    a = values(np.random.default_rng(3), shape, dtype)
    for name in ("max", "min", "any", "all", "argmax", "argmin"):
        same(lambda m, x: getattr(x, name)(), a, where=name)  # noqa: B023
    if dtype not in ("complex64", "complex128"):  # sums are ours: fewer rounding errors
        for name in ("sum", "mean", "std", "var"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                got, expected = getattr(asnumpy.array(a), name)(), getattr(a, name)()
            assert got.dtype == expected.dtype and type(got) is type(expected)
            eps = np.finfo(expected.dtype).eps if expected.dtype.kind == "f" else 0
            scale = float(np.abs(a.astype(np.float64)).sum()) + 1
            assert (
                got == expected
                or abs(float(got) - float(expected)) <= 8 * eps * scale
                or (got != got and expected != expected)
            ), name


def test_nan_and_ddof():
    a = np.array([1.0, np.nan, -0.0, 3.0])
    for f in (
        lambda m, x: x.max(),
        lambda m, x: x.argmax(),
        lambda m, x: x.sum(),
        lambda m, x: x.std(),
        lambda m, x: (x[2:] * 1).min(),
        lambda m, x: m.array([-0.0, -0.0]).sum(),
        lambda m, x: m.arange(5.0).var(ddof=2),
        lambda m, x: m.arange(5.0).std(ddof=1, keepdims=True),
        lambda m, x: m.arange(3).var(),
    ):
        same(f, a)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_index(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    shape = data.draw(st.sampled_from([(7,), (5, 3), (4, 2, 3)]))
    a = values(rng, shape, data.draw(st.sampled_from(DTYPES)))
    n = data.draw(st.integers(0, 9))
    edge = shape[0] + data.draw(st.integers(0, 1))  # sometimes out of range
    index = rng.integers(-edge, edge, n) if edge else np.zeros(n, int)
    mask = rng.random(shape) > data.draw(st.sampled_from([0.0, 0.5, 1.0]))
    same(lambda m, x, i: x[i], a, index)
    same(lambda m, x, i: x[i], a, index.astype(np.int16))
    same(lambda m, x, i: x[i], a, index[: n // 2 * 2].reshape(2, -1))
    same(lambda m, x, i: x[i], a, mask)
    same(lambda m, x, i: m.nonzero(i), a, mask)

    def put(m, x, i, k):
        x[i] = 1
        x[k] = 0
        return x

    same(put, a, index, mask)
    same(lambda m, x, i: m.concatenate((x, x[:1], x[:0], x)), a, index)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool", "complex64"])
def test_products(dtype):
    rng = np.random.default_rng(0)
    for m, k, n in [(1, 1, 1), (2, 2, 2), (3, 5, 4), (16, 16, 16), (1, 40, 1)]:
        a, b = values(rng, (m, k), dtype), values(rng, (k, n), dtype)
        for f in (
            lambda m, x, y: x @ y,
            lambda m, x, y: m.dot(x, y),
            lambda m, x, y: x[0] @ y,
            lambda m, x, y: x @ y[:, 0],
            lambda m, x, y: x[0] @ y[:, 0],
            lambda m, x, y: y.T @ x.T,
        ):
            same(f, np.round(a), np.round(b), signed_zeros=False)


def test_order_with_recorded_operations():
    """A small operation neither overtakes a recorded one nor reads what it has not written."""
    n = 50_000

    def program(m):
        x, y = m.arange(float(n)), m.ones(n)
        z = x * 2 + y  # recorded
        head = z[:10] + 1  # reads it
        x[:10] = -1  # what z read must be the old x
        x[5:8] += 2
        w = z + x
        small = x[:10].sum(), z[:3].max(), w[:4].argmax()
        x[m.array([1, 2])] = 7
        v = w - x
        x[3] = 100.0
        return head, z, w, v, x, *small, x[m.array([0, 3])]

    same(program)


@pytest.mark.skipif(
    SINGLE_OPERATORS,
    reason="single operators report no floating-point exceptions, only the fused one does",
)
def test_errstate_sees_small_operations():
    for expression in ("a / 0.0", "a * 1e308 * 10", "(a - 1).sum() / 0", "m.log(a - 1)"):

        def raises(m, expression=expression):
            a = m.array([1.0, 2.0])
            with m.errstate(all="raise"):
                return eval(expression, {"a": a, "m": m})

        same(raises)


def test_threads_and_stocks():
    """Results made by one thread end in another; a thread's stock goes with it."""
    kept = []

    def work():
        a = asnumpy.arange(10.0)
        for _ in range(200):
            kept.append(a + 1)
            if len(kept) > 40:
                kept.pop(0)

    for _ in range(3):
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert all((k == np.arange(10.0) + 1).all() for k in kept)
    kept.clear()
    asnumpy.synchronize()


def test_numpy_scalars_and_arrays_of_one_dtype():
    a = np.arange(4, dtype=np.uint16)
    same(lambda m, x: m.copysign(np.uint16(3), x), a)
    same(lambda m, x: m.copysign(x, x), a)


@pytest.mark.parametrize("dtype", ["bool", "float64", "int32", "complex64"])
def test_any_and_all_stop_early(dtype):
    n = 2_300_000
    for at in (0, 65_535, 65_536, 1_200_000, n - 1):
        a = np.zeros(n, dtype)
        a[at] = 1
        same(lambda m, x: (x.any(), m.all(x), m.any(x[:at]), x.reshape(2, -1).any()), a)  # noqa: B023
        b = np.ones(n, dtype)
        b[at] = 0
        same(lambda m, x: (x.all(), m.any(x), m.all(x[:at]), x[::2].all()), b)  # noqa: B023


def test_after_single_operators():
    """What follows a sort, a gather or a failure is small again, and right."""
    a = asnumpy.array([3.0, 1.0, 2.0])
    assert (asnumpy.sort(a) + 1).tolist() == [2.0, 3.0, 4.0]
    with pytest.raises(IndexError):
        a[asnumpy.array([5])]
    assert (a + a).tolist() == [6.0, 2.0, 4.0]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint64"])
@pytest.mark.parametrize("n", [1, 5, 300])
def test_powers_of_integers(dtype, n, rng):
    a, b = (rng.integers(0, 6, n).astype(dtype) for _ in "ab")
    three = np.dtype(dtype).type(3)
    same(lambda m, x, y: x**y, a, b)
    same(lambda m, x: three**x, b)
    same(lambda m, x: x**three, a)
    same(lambda m, x, y: m.power(x, y, out=x), a.copy(), b)
    if dtype.startswith("int"):
        b[-1] = -1
        for exponent in (asnumpy.array(b), -2, b[-1]):
            with pytest.raises(ValueError, match="negative integer powers"):
                asnumpy.array(a) ** exponent


HALVES = [
    "sin", "exp", "log", "sqrt", "negative", "absolute", "isnan", "signbit", "isfinite", "reciprocal", "rint",
    "conjugate", "isinf", "fabs", "square", "sign", "logical_not",
]  # fmt: skip


@pytest.mark.parametrize("name", HALVES)
def test_a_half_alone_is_a_half_in_a_program(name, rng):
    """Whole loops of halves (small arrays, single operations) and programs give the same bits."""
    x = (rng.standard_normal(5000) * 10.0 ** rng.integers(-8, 5, 5000)).astype("float16")
    x[::97], x[1::97], x[2::97], x[3::97] = np.nan, np.inf, -np.inf, -0.0
    a, f = asnumpy.array(x), getattr(asnumpy, name)
    with asnumpy.errstate(all="ignore"), np.errstate(all="ignore"):
        alone = f(a)
        asnumpy.synchronize()
        first = f(a)
        second = first + first  # a program of two
        assert second.shape == (5000,)
        parts = np.concatenate([f(a[i : i + 100]).to_numpy() for i in range(0, 5000, 100)])
        got = alone.to_numpy()
        kind = "u2" if got.dtype == np.float16 else got.dtype
        np.testing.assert_array_equal(got.view(kind), first.to_numpy().view(kind))
        np.testing.assert_array_equal(got.view(kind), parts.view(kind))
        np.testing.assert_allclose(got, getattr(np, name)(x), rtol=2e-3)
