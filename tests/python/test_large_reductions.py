"""Reductions whose way depends on the size or the order of the axes, against NumPy."""

import re
import warnings

import asnumpy as anp
import numpy as np
import pytest
from conftest import SINGLE_OPERATORS
from hypothesis import given, settings
from hypothesis import strategies as st

conditions = pytest.mark.skipif(
    SINGLE_OPERATORS,
    reason="single operators report no floating-point exceptions, only the fused one does",
)
N = 70_001
RNG = np.random.default_rng(0)
SHAPES = {
    "normal": RNG.standard_normal(N),
    "far": RNG.standard_normal(N) + 1e6,
    "drift": np.linspace(-1e3, 1e3, N) + RNG.standard_normal(N),
    "step": np.where(np.arange(N) < N // 2, 1e4, 0.0) + 1e-3 * RNG.standard_normal(N),
    "constant": np.full(N, 0.1),
    "one outlier": np.r_[np.zeros(N - 1), 1e9],
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("ddof", [0, 1])
def test_variance(name, dtype, ddof):
    """No less exact than two passes in the dtype, and far from zero mean more so."""
    a = SHAPES[name].astype(dtype)
    exact = a.astype(np.longdouble)
    want = float(((exact - exact.mean()) ** 2).sum() / (N - ddof))
    bound = (8 if dtype == "float32" else 16) * np.finfo(dtype).eps
    for got, root in ((anp.var(anp.array(a), ddof=ddof), want),
                      (anp.std(anp.array(a), ddof=ddof), want**0.5)):  # fmt: skip
        assert type(got) is a.dtype.type
        assert abs(float(got) - root) <= bound * root + 1e-15  # a constant's is nearly 0
    x = anp.array(np.lib.stride_tricks.as_strided(a, (N // 7, 7)))
    assert abs(float(x.var()) - float(x.copy(order="F").var())) <= 1e-3 * want + 1e-12


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint32", "int16"])
@pytest.mark.parametrize("name", ["sum", "max", "min"])
@pytest.mark.parametrize("rows", [2, 3, 5, 6, 9, 14])
def test_rows_of_memory_one_after_the_other(dtype, name, rows):
    """Several rows are read at a time, but each is taken in order: the bits of one operation a row."""
    rng = np.random.default_rng(rows)
    step = {"sum": np.add, "max": np.maximum, "min": np.minimum}[name]
    for columns in (257, 260, 1000, 1029, 2100):
        a = (rng.standard_normal((2 * rows, columns + 3)) * 100).astype(dtype)
        if a.dtype.kind == "f":
            a[rng.random(a.shape) < 0.02] = np.nan
            a[rng.random(a.shape) < 0.1] = 0.0
            a[rng.random(a.shape) < 0.1] = -0.0
        x = anp.array(a)
        last = np.s_[rows - 1 :: -1, 3:] if name != "sum" else np.s_[3:, 3:]  # no order
        for part in (np.s_[:rows, :columns], np.s_[::2, 1:-1], last):
            got = np.asarray(getattr(anp, name)(x[part], axis=0))
            want = np.zeros(got.shape, got.dtype) if name == "sum" else a[part][0]
            for row in a[part]:
                want = step(want, row)
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)
            if name == "sum" and a.dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(want[got == 0]))


@conditions
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_variance_that_is_not_finite(bad):
    a = SHAPES["normal"].copy()
    a[[5, N - 5]] = bad
    caught = []
    for m, x in ((np, a), (anp, anp.array(a))):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            value = m.var(x)
        caught.append((repr(value), len(seen) > 0))
    assert caught[0] == caught[1]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_reduced_axes_around_a_kept_one(data):
    shape = data.draw(st.lists(st.integers(1, 20), min_size=3, max_size=4))
    axes = data.draw(st.sampled_from([(0, 2), (0, len(shape) - 1), (1, len(shape) - 1)]))
    dtype = data.draw(st.sampled_from(["float64", "float32", "float16", "int32", "bool", "complex64"]))  # fmt: skip
    name = data.draw(st.sampled_from(["sum", "max", "min", "any", "all", "prod"]))
    a = (np.random.default_rng(len(shape)).standard_normal(shape) * 3).astype(dtype)
    order = data.draw(st.permutations(range(len(shape))))
    a, x = a.transpose(order), anp.array(a).transpose(order)
    want, got = getattr(np, name)(a, axis=axes), np.asarray(getattr(anp, name)(x, axis=axes))
    assert got.dtype == want.dtype and got.shape == want.shape
    if want.dtype.kind in "fc":
        eps = float(np.finfo(want.dtype).eps)
        size = np.abs(a.astype(np.complex128)).sum(axis=axes) if name == "sum" else np.abs(want)
        with np.errstate(all="ignore"):
            lost = np.zeros(want.shape, bool)
            if (
                name == "prod"
            ):  # in some order the factors above 1 overflow, and in another they need not
                grown = np.log(np.maximum(np.abs(a.astype(np.complex128)), 1)).sum(axis=axes)
                lost = grown > 0.99 * np.log(np.finfo(want.dtype).max)
                lost &= ~np.isfinite(want) | ~np.isfinite(got)
            np.testing.assert_array_equal(np.isnan(got) & ~lost, np.isnan(want) & ~lost)
            assert np.all((np.abs(got - want) <= 64 * eps * size) | (got == want) | lost)
    else:
        np.testing.assert_array_equal(got, want)


@conditions
def test_overflow_in_the_second_pass_is_reported():
    a = np.zeros((40, 40, 40), np.float32)
    a[:, :, 0] = 3e38
    with pytest.warns(RuntimeWarning, match="overflow"):
        got = anp.sum(anp.array(a), axis=(0, 2))
        got = np.asarray(got)
    assert np.all(np.isinf(got))


@pytest.mark.parametrize("name", ["any", "all"])
def test_truth_of_a_mask_that_is_used_afterwards(name):
    """The answer is known early; the mask is still wanted as a whole."""
    a = RNG.standard_normal(5000)
    x = anp.array(a)
    mask, want = (x >= -1) & (x <= 1), (a >= -1) & (a <= 1)
    assert bool(getattr(mask, name)()) == getattr(want, name)()
    np.testing.assert_array_equal(np.asarray(mask), want)
    np.testing.assert_array_equal(np.asarray(x[mask]), a[want])


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_histogram_of_values_at_its_edges(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    n = data.draw(st.integers(1, 3000))
    a = data.draw(st.sampled_from([
        rng.standard_normal(n), rng.integers(-50, 50, n), rng.integers(0, 20, n) / 10,
        rng.standard_normal(n).astype(np.float32), rng.standard_normal(n) * 1e-300]))  # fmt: skip
    bins = data.draw(st.integers(1, 150))
    span = data.draw(st.sampled_from([None, (-1.0, 1.0), (0.0, 7.0), (-1e-300, 1e-300)]))
    weights = rng.standard_normal(n) if data.draw(st.booleans()) else None
    device = None if weights is None else anp.array(weights)
    try:
        want, edges = np.histogram(a, bins, range=span, weights=weights)
    except ValueError as error:  # bins too narrow for float32
        with pytest.raises(ValueError, match=re.escape(str(error))):
            anp.histogram(anp.array(a), bins, range=span, weights=device)
        return
    got, ours = anp.histogram(anp.array(a), bins, range=span, weights=device)
    np.testing.assert_array_equal(np.asarray(ours), edges)
    if weights is None:
        np.testing.assert_array_equal(np.asarray(got), want)
        np.testing.assert_array_equal(np.asarray(anp.histogram(anp.array(edges), bins, range=span)[0]),
                                      np.histogram(edges, bins, range=span)[0])  # fmt: skip
    else:
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1"])
@given(
    rows=st.integers(1, 70),
    columns=st.sampled_from([1, 3, 9, 60, 255, 257, 1000, 1031, 2050]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=12, deadline=None)
def test_rows_onto_a_row(dtype, rows, columns, seed):
    """Reductions over the first and the middle axis, of planes and slices of them, every rest of four rows."""
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((3, rows, columns)) * (2 if dtype[0] == "f" else 9)).astype(dtype)
    some = rng.random(x.shape) < 0.01
    if dtype[0] == "f":
        x[some] = rng.choice(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], dtype), int(some.sum()))
    a = anp.array(x)
    sums = {"rtol": 1e-5 if dtype == "f4" else 1e-12, "atol": 1e-3 if dtype == "f4" else 1e-10}
    with np.errstate(all="ignore"):
        for key in (np.s_[:, :, :], np.s_[:, 1:, ::2], np.s_[1, ::3, : columns // 2 + 1]):
            for name in ("max", "min", "sum", "prod"):
                part, axis = x[key], -2 if x[key].shape[-2] else -1
                if part.shape[axis] == 0 and name in ("max", "min"):
                    continue
                want = getattr(np, name)(part, axis=axis)
                got = np.asarray(getattr(anp, name)(a[key], axis=axis))
                assert got.dtype == want.dtype
                if name in ("max", "min") or dtype[0] != "f":
                    np.testing.assert_array_equal(got, want)
                else:
                    np.testing.assert_allclose(got, want, **sums)
