"""Many short rows: reductions and positions of extremes, alone and at the end of a computation; integer quotients;
temporaries that sink. NumPy is the oracle."""

import asnumpy as np
import numpy
import pytest
from conftest import SINGLE_OPERATORS
from hypothesis import given, settings
from hypothesis import strategies as st

fused = pytest.mark.skipif(
    SINGLE_OPERATORS,
    reason="single operators form no programs and report no exceptions",
)

FLOATS = ["float32", "float64"]
NUMBERS = [
    *FLOATS,
    "int8",
    "uint8",
    "int16",
    "int32",
    "int64",
    "uint64",
    "bool",
    "float16",
    "complex128",
]

extents = st.tuples(st.integers(1, 90), st.integers(1, 300))


def numbers(seed, shape, dtype, special=False):
    rng = numpy.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.3
    if dtype.startswith("complex"):
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    if "int" in dtype:
        return rng.integers(0, 100, shape).astype(dtype)
    x = rng.standard_normal(shape).astype(dtype)
    if special:
        x[rng.random(shape) < 0.02] = numpy.nan
        x[rng.random(shape) < 0.05] = rng.choice([0.0, -0.0, numpy.inf, -numpy.inf])
    return x


def close(got, want, dtype):
    got = numpy.asarray(got)
    assert got.shape == want.shape and got.dtype == want.dtype
    rtol = {"float32": 2e-5, "float16": 4e-3}.get(dtype, 1e-12)
    numpy.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * 30)


@settings(max_examples=120, deadline=None)
@given(extents, st.sampled_from(NUMBERS), st.sampled_from(["sum", "max", "min", "prod", "any", "all"]), st.booleans(),
       st.integers(0, 2), st.integers(0, 99))  # fmt: skip
def test_rows(shape, dtype, name, keepdims, layout, seed):
    h = numbers(seed, (shape[0], 2, shape[1]), dtype, special=name in ("max", "min"))
    if name == "prod":
        h = numpy.sign(h) if dtype != "bool" else h
    a = np.array(h)
    if layout == 1:
        h, a = h[:, :, ::-2], a[:, :, ::-2]
    if layout == 2:
        h, a = h.transpose(1, 0, 2)[:, ::3], a.transpose(1, 0, 2)[:, ::3]
    want = getattr(numpy, name)(h, axis=-1, keepdims=keepdims)
    close(getattr(np, name)(a, axis=-1, keepdims=keepdims), want, dtype)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 60),
    st.integers(1, 12),
    st.integers(1, 70),
    st.sampled_from(FLOATS),
    st.integers(0, 99),
)
def test_rows_of_a_computation(n, k, m, dtype, seed):
    x, c = numbers(seed, (n, m), dtype), numbers(seed + 1, (k, m), dtype)
    want = ((x[:, None, :] - c[None]) ** 2).sum(2)
    got = ((np.array(x)[:, None, :] - np.array(c)[None]) ** 2).sum(2)
    close(got, want, dtype)
    both = np.array(x) * 2
    close(both.max(1), (x * 2).max(1), dtype)  # the product is stored as well
    close(both, x * 2, dtype)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 70), st.integers(8, 300), st.sampled_from(FLOATS), st.integers(0, 99))
def test_a_row_does_not_depend_on_its_neighbours(n, m, dtype, seed):
    a = np.array(numbers(seed, (n, m), dtype))
    rows = numpy.asarray(a.sum(1))
    alone = [numpy.asarray(a[i].sum()) for i in range(n)]
    numpy.testing.assert_array_equal(rows, numpy.array(alone))


def test_a_sum_of_negative_zeros_is_zero():
    assert not numpy.signbit(numpy.asarray(np.array(numpy.full((40, 9), -0.0)).sum(1))).any()


@settings(max_examples=120, deadline=None)
@given(
    extents,
    st.sampled_from(NUMBERS),
    st.sampled_from(["argmax", "argmin"]),
    st.integers(0, 2),
    st.integers(0, 99),
)
def test_positions_in_rows(shape, dtype, name, layout, seed):
    h = numbers(seed, (shape[0], 2, shape[1]), dtype, special=dtype in FLOATS)
    if "int" in dtype:
        h //= 10  # many equal ones: the first counts
    a = np.array(h)
    if layout == 1:
        h, a = h[::-1, :, ::2], a[::-1, :, ::2]
    if layout == 2:
        h, a = h.transpose(1, 0, 2)[:, ::3], a.transpose(1, 0, 2)[:, ::3]
    numpy.testing.assert_array_equal(
        numpy.asarray(getattr(np, name)(a, axis=-1)), getattr(numpy, name)(h, axis=-1)
    )


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]),
       st.sampled_from(["floor_divide", "remainder", "fmod"]), st.integers(1, 200), st.booleans(), st.integers(0, 99))  # fmt: skip
def test_integer_quotients(dtype, name, n, wide, seed):
    rng = numpy.random.default_rng(seed)
    info = numpy.iinfo(dtype)
    low, high = (info.min, info.max) if wide else (max(info.min, -(2**51)), min(info.max, 2**51))
    a = rng.integers(low, high, n, dtype=dtype, endpoint=True)
    b = rng.integers(low, high, n, dtype=dtype, endpoint=True) >> rng.integers(
        0, info.bits, n
    ).astype(dtype)
    near = rng.random(n) < 0.3  # multiples, and their neighbours
    with numpy.errstate(all="ignore"):
        a[near] = (a // numpy.where(b == 0, 1, b) * b + rng.integers(0, 2, n).astype(dtype))[near]
    edge = rng.random(n) < 0.1 if wide else numpy.zeros(n, bool)
    a[edge], b[edge] = info.min, rng.choice(numpy.array([info.min, info.max, 0, 1, 2], dtype))
    if seed % 3 == 0:
        b[:] = b[0]
    with numpy.errstate(all="ignore"), np.errstate(all="ignore"):
        want = getattr(numpy, name)(a, b)
        got = getattr(np, name)(np.array(a), np.array(b))
        numpy.testing.assert_array_equal(numpy.asarray(got), want)
        out = np.array(b)
        getattr(np, name)(np.array(a), out, out=out)  # over the divisor
        numpy.testing.assert_array_equal(numpy.asarray(out), want)


@fused
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_integer_quotients_report(dtype):
    lowest = numpy.iinfo(dtype).min
    a = np.array(numpy.full(50, lowest, dtype))
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        numpy.asarray(a // np.array(numpy.full(50, -1, dtype)))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        numpy.asarray(a % np.array(numpy.zeros(50, dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_clip_with_nan(dtype):
    values = numpy.array([-2, -0.0, 0.0, 0.5, 3, numpy.nan, numpy.inf, -numpy.inf], dtype)
    a, low, high = (x.ravel() for x in numpy.meshgrid(values, values, values))
    got = numpy.asarray(np.clip(np.array(a), np.array(low), np.array(high)))
    numpy.testing.assert_array_equal(got, numpy.clip(a, low, high))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
    st.sampled_from(["wrap", "reflect", "symmetric"]),
    st.integers(0, 99),
)
def test_pad_periodic(shape, mode, seed):
    rng = numpy.random.default_rng(seed)
    a = rng.random(shape)
    widths = [tuple(rng.integers(0, 8, 2)) for _ in shape]
    numpy.testing.assert_array_equal(
        numpy.asarray(np.pad(np.array(a), widths, mode=mode)), numpy.pad(a, widths, mode=mode)
    )


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(["int8", "uint8", "int16", "int64", "uint64", "bool"]), st.integers(0, 60), st.integers(0, 12),
       st.sampled_from([None, "sort"]), st.booleans(), st.integers(0, 99))  # fmt: skip
def test_isin(dtype, n, m, kind, wide, seed):
    rng = numpy.random.default_rng(seed)
    low, high = (
        (0, 1)
        if dtype == "bool"
        else (numpy.iinfo(dtype).min, numpy.iinfo(dtype).max)
        if wide
        else (0, 40)
    )
    a, b = (
        rng.integers(
            low, high, k, dtype="int8" if dtype == "bool" else dtype, endpoint=True
        ).astype(dtype)
        for k in (n, m)
    )
    numpy.testing.assert_array_equal(
        numpy.asarray(np.isin(np.array(a), np.array(b), kind=kind, invert=wide)),
        numpy.isin(a, b, invert=wide),
    )


@fused
def test_temporaries_sink():
    h = numpy.random.default_rng(0).random((300, 200))
    a = np.array(h)
    result = (a - a.mean(0)) / a.std(0)
    text = np.explain(result)
    close(result, (h - h.mean(0)) / h.std(0), "float64")
    last = text[text.rindex("program") :]
    assert "subtract" in last and "divide" in last


def test_temporaries_do_not_sink_past_a_write():
    h = numpy.random.default_rng(0).random((300, 200))
    a, b = np.array(h), h.copy()
    results = []
    for x in (a, b):
        t = x * 2  # reads x before it changes
        total = x.sum(0)
        x += 1
        results.append((t / total, x))
        del t
    for got, want in zip(*results, strict=True):
        close(got, want, "float64")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_programs_with_reductions_between(seed):
    """Random recordings in which elementwise temporaries, reductions and in-place writes alternate."""
    rng = numpy.random.default_rng(seed)
    h = rng.random((60, 70))
    choices = rng.integers(0, 7, 12)
    outcomes = []
    for xp, x in ((np, np.array(h)), (numpy, h.copy())):
        y, t, kept = x, x + 1, []
        for c in choices:
            if c == 0:
                t = t * 0.5 + y
            elif c == 1:
                y = t - t.mean(0)
            elif c == 2:
                y = y / (1 + abs(t).sum(1, keepdims=True))
            elif c == 3:
                x += 0.25
                y = x
            elif c == 4:
                kept.append(t.max(0))
            elif c == 5:
                t = xp.where(t > y, t, x)
            else:
                x[1:] += x[:-1] * 0.125
        outcomes.append([*kept, x, y, t])
    for got, want in zip(*outcomes, strict=True):
        close(got, want, "float64")
