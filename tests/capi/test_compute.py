"""Indexing, ufuncs, reductions, scans, ordering."""

import ctypes
import warnings

import numpy as np
import pytest
from face import (
    DTYPES,
    FLATTENED,
    NONE,
    Array,
    Failure,
    ReduceOptions,
    array,
    axes,
    c,
    extents,
    handles,
    indices,
    many,
    number,
    operand,
    operands,
    ufunc,
)  # fmt: skip
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from strategies import INEXACT, INTEGERS, REALS, elements, numpy_arrays, pairs, same

seeds = st.integers(0, 2**32)


# ---- indexing


@given(pairs(empty=False), st.data())
def test_basic_index(pair, data):
    x, a = pair
    key = data.draw(hnp.basic_indices(x.shape, allow_newaxis=True, max_dims=6))
    key = key if isinstance(key, tuple) else (key,)
    same(c.index_get(a, len(key), indices(*key)), x[key], 0)


@given(pairs(least=1, empty=False), seeds, st.data())
def test_array_index(pair, seed, data):
    x, a = pair
    rng = np.random.default_rng(seed)
    shape = data.draw(st.sampled_from([(3,), (2, 2), (0,)]))
    index = [rng.integers(-n, n, shape).astype(data.draw(st.sampled_from(["int64", "int32", "int8"])))
             for n in x.shape[: data.draw(st.integers(1, x.ndim))]]  # fmt: skip
    ours = indices(*map(array, index))
    same(c.index_get(a, len(index), ours), x[tuple(index)], 0)
    first = indices(slice(None, None, -1), *map(array, index[1:]))
    same(c.index_get(a, len(index), first), x[(slice(None, None, -1), *index[1:])], 0)
    y, b = x.copy(), c.copy(a)
    y[tuple(index)] = 3
    c.index_set(b, len(index), ours, operand(3))
    same(b, y, 0)
    if x.dtype.kind in "iu":
        np.add.at(y, tuple(index), 1)
        c.index_update("add", b, len(index), ours, operand(1))
        same(b, y, 0)


@given(pairs(), seeds)
def test_masks(pair, seed):
    x, a = pair
    mask = np.random.default_rng(seed).random(x.shape) < 0.5
    m = array(mask)
    same(c.mask_get(a, m), x[mask], 0)
    y, b = x.copy(), c.copy(a)
    y[mask] = 2
    c.mask_set(b, m, operand(2))
    same(b, y, 0)
    if x.ndim:
        for ours, expected in zip(many("nonzero", a, count=x.ndim), x.nonzero(), strict=True):
            same(ours, expected, 0)
    same(c.where(m, operand(a), operand(1)), np.where(mask, x, 1), 0)
    same(c.where(a, operand(m), operand(b)), np.where(x, mask, y), 0)


@given(pairs(least=1, empty=False), seeds, st.data())
def test_take(pair, seed, data):
    x, a = pair
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    rng = np.random.default_rng(seed)
    i = rng.integers(-9, 9, (2, 3))
    for mode, name in ((1, "wrap"), (2, "clip")):
        same(c.take(a, array(i), axis, mode), x.take(i, axis, mode=name), 0)
    inside = rng.integers(-x.size, x.size, 4)
    same(c.take(a, array(inside), FLATTENED, 0), x.take(inside), 0)
    order = np.argsort(x, axis, kind="stable")
    same(c.take_along_axis(a, array(order), axis), np.take_along_axis(x, order, axis), 0)
    y, b = x.copy(), c.copy(a)
    np.put_along_axis(y, order[:1], 4, axis)
    c.put_along_axis(b, array(order[:1]), operand(4), axis)
    same(b, y, 0)


# ---- ufuncs


def loops():
    """(name, number of arguments, of results) of NumPy's ufuncs in the table."""
    found, i = [], 0
    num_in, num_out = ctypes.c_int32(), ctypes.c_int32()
    while name := c.ufunc_name(i, ctypes.byref(num_in), ctypes.byref(num_out)):
        found.append((name.decode(), num_in.value, num_out.value))
        i += 1
    return [f for f in found if isinstance(getattr(np, f[0], None), np.ufunc)]


LOOPS = loops()


@pytest.mark.parametrize("name, num_in, num_out", LOOPS, ids=[f[0] for f in LOOPS])
@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint32", "int64", "float32", "float64", "complex128"]
)
def test_every_ufunc(name, num_in, num_out, dtype):
    function = getattr(np, name)
    rng = np.random.default_rng(1)
    shapes = [(3, 4), (4,), (3, 1)][:num_in]
    xs = [
        np.abs(elements(rng, s, dtype)) + (dtype != "bool")
        if dtype != "bool"
        else elements(rng, s, dtype)
        for s in shapes
    ]
    xs = [x.astype(dtype) for x in xs]
    with np.errstate(all="ignore"):
        try:
            expected = function(*xs)
        except TypeError:
            with pytest.raises(Failure):
                ufunc(name, *map(array, xs), outs=num_out)
            return
        got = ufunc(name, *map(array, xs), outs=num_out)
    got, expected = (got, expected) if num_out > 1 else ([got], [expected])
    for ours, numpys in zip(got, expected, strict=True):
        same(
            ours,
            numpys,
            1e-5 if dtype == "float32" or numpys.dtype in (np.float16, np.float32) else 1e-13,
        )


@given(pairs(dtypes=[*INTEGERS, *INEXACT]), st.sampled_from(["add", "multiply", "subtract"]),
       st.sampled_from([2, 1.5, 2 + 1j, True]))  # fmt: skip
def test_numbers(pair, name, n):
    """Python's numbers on either side: NEP 50."""
    x, a = pair
    function = getattr(np, name)
    with np.errstate(all="ignore"):
        same(c.binary_number(name, a, number(n)), function(x, n))
        same(c.number_binary(name, number(n), a), function(n, x))


@given(pairs(dtypes=REALS))
def test_pairs_and_forms(pair):
    x, a = pair
    for ours, expected in zip(ufunc("modf", a, outs=2), np.modf(x), strict=True):
        same(ours, expected, 0)
    for ours, expected in zip(ufunc("divmod", a, 2, outs=2), np.divmod(x, 2), strict=True):
        same(ours, expected)
    same(c.unary("square", a), np.square(x))
    same(c.binary("maximum", a, a), x, 0)
    same(c.add(a, a), x + x)
    same(c.subtract(a, a), x - x)
    same(c.multiply(a, a), x * x)
    with np.errstate(all="ignore"):
        same(c.divide(a, a), x / x)
    # an output may be an argument, and a view of one
    b, y = c.copy(a), x.copy()
    c.ufunc_into("frexp", 1, operands(b), 2, handles([b, array(np.zeros(x.shape, np.int32))]), None)
    same(b, np.frexp(y)[0], 0)


@given(numpy_arrays(dtypes=["float64", "int32"], least=1), seeds)
def test_into_views_where(x, seed):
    mask = np.random.default_rng(seed).random(x.shape) < 0.5
    a, y = array(x), x.copy()
    back = c.flip(a, 1, axes(0))
    np.add(y[::-1], 1, out=y, where=mask)
    c.ufunc_into("add", 2, operands(back, 1), 1, handles([a]), array(mask))
    same(a, y, 0)


# ---- reductions


def some_axes(data, ndim):
    chosen = sorted(data.draw(st.sets(st.integers(0, ndim - 1)))) if ndim else []
    return (
        (None, 0, None) if data.draw(st.booleans()) else (tuple(chosen), len(chosen), axes(*chosen))
    )


def same_sums(ours, x, axis, keep):
    """Each sum within what the rounding of its own elements allows, on both sides: n eps of their sizes."""
    with np.errstate(all="ignore"):
        expected = np.asarray(np.sum(x, axis=axis, keepdims=keep))
        got = ours.numpy()
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        if expected.dtype.kind not in "fc":
            np.testing.assert_array_equal(got, expected)
            return
        sizes = np.sum(np.abs(x).astype(float), axis=axis, keepdims=keep)
        n = x.size // max(expected.size, 1)
        near = np.abs(got - expected) <= 2 * n * np.finfo(expected.dtype).eps * sizes
    exact = (got == expected) | (np.isnan(got) & np.isnan(expected))
    assert np.all(near & np.isfinite(expected) | exact), (got, expected)


@given(pairs(), st.data(), st.booleans())
def test_sums(pair, data, keep):
    x, a = pair
    axis, *ours = some_axes(data, x.ndim)
    same_sums(c.sum(a, *ours, keep), x, axis, keep)
    for name in ("prod", "any", "all"):
        rtol = (
            4e-2
            if x.dtype == np.float16
            else 1e-4
            if x.dtype in (np.float32, np.complex64)
            else 1e-12
        )
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(x, axis=axis, keepdims=keep)
        same(getattr(c, name)(a, *ours, keep), expected, rtol)
    count = c.count_nonzero(a, *ours, keep)
    same(count, np.asarray(np.count_nonzero(x, axis=axis, keepdims=keep)))


@given(pairs(empty=False), st.data(), st.booleans())
def test_extremes(pair, data, keep):
    x, a = pair
    axis, *ours = some_axes(data, x.ndim)
    same(c.max(a, *ours, keep), np.max(x, axis=axis, keepdims=keep), 0)
    same(c.min(a, *ours, keep), np.min(x, axis=axis, keepdims=keep), 0)
    same(c.argmax(a, FLATTENED, 0), np.argmax(x), 0)
    same(c.argmin(a, FLATTENED, 0), np.argmin(x), 0)
    if x.ndim:
        d = data.draw(st.integers(-x.ndim, x.ndim - 1))
        same(c.argmax(a, d, keep), np.argmax(x, axis=d, keepdims=keep), 0)
        same(c.argmin(a, d, keep), np.argmin(x, axis=d, keepdims=keep), 0)


@given(pairs(empty=False), st.data(), st.booleans(), st.sampled_from([0.0, 1.0]))
def test_moments(pair, data, keep, ddof):
    x, a = pair
    axis, *ours = some_axes(data, x.ndim)
    rtol = (
        3e-2 if x.dtype == np.float16 else 1e-4 if x.dtype in (np.float32, np.complex64) else 1e-12
    )
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        same(c.mean(a, *ours, keep), np.mean(x, axis=axis, keepdims=keep), rtol)
        spread = np.var(x, axis=axis, keepdims=keep, ddof=ddof)
        assert c.var(a, *ours, ddof, keep).dtype == spread.dtype
        np.testing.assert_allclose(
            c.var(a, *ours, ddof, keep).numpy(), spread, rtol=rtol, atol=rtol
        )
        deviation = np.std(x, axis=axis, keepdims=keep, ddof=ddof)
        np.testing.assert_allclose(
            c.std(a, *ours, ddof, keep).numpy(), deviation, rtol=rtol, atol=rtol
        )


@given(pairs(dtypes=["int32", "float64", "uint8"], least=1), seeds, st.booleans())
def test_reduce_options(pair, seed, keep):
    x, a = pair
    mask = np.random.default_rng(seed).random(x.shape) < 0.5
    m, first, initial = array(mask), axes(0), number(3)
    options = ReduceOptions(
        1, ctypes.addressof(first), keep, DTYPES["float64"], m.handle, ctypes.addressof(initial)
    )
    expected = np.add.reduce(x, axis=0, keepdims=keep, dtype="float64", where=mask, initial=3)
    least = float(np.abs(x.astype("float64")).sum())  # sums may cancel
    same(c.reduce("add", a, ctypes.byref(options)), expected, least=least)
    out = c.zeros(DTYPES["float64"], expected.ndim, extents(*expected.shape))
    c.reduce_into("add", a, ctypes.byref(options), out)
    same(out, expected, least=least)
    same(c.reduce("add", a, None), np.add.reduce(x, axis=None), least=least)


def test_initial_values_fit_the_result():
    a = array(np.ones(3, np.int8))
    for value, dtype, message in (
        (1000, "int8", "1000 out of bounds for int8"),
        (-1, "uint8", "-1 out of bounds for uint8"),
    ):
        initial = number(value)
        options = ReduceOptions(0, None, 0, DTYPES[dtype], None, ctypes.addressof(initial))
        with pytest.raises(Failure, match=message):
            c.reduce("add", a, ctypes.byref(options))


@given(pairs(), st.data())
def test_scans(pair, data):
    x, a = pair
    rtol = (
        5e-2 if x.dtype == np.float16 else 1e-4 if x.dtype in (np.float32, np.complex64) else 1e-11
    )
    with np.errstate(all="ignore"):
        same(c.cumsum(a, FLATTENED), np.cumsum(x), rtol)
        if x.ndim:
            axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
            same(c.cumsum(a, axis), np.cumsum(x, axis), rtol)
            same(c.cumprod(a, axis), np.cumprod(x, axis), rtol)
            same(c.accumulate("maximum", a, axis, NONE), np.maximum.accumulate(x, axis), 0)
            same(
                c.accumulate("add", a, axis, DTYPES["complex128"]),
                np.cumsum(x, axis, dtype="complex128"),
                rtol,
            )


# ---- order


@given(pairs(least=1), st.data())
def test_sorting(pair, data):
    x, a = pair
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    same(c.sort(a, axis), np.sort(x, axis), 0)
    same(c.sort(a, FLATTENED), np.sort(x, None), 0)
    same(c.argsort(a, axis), np.argsort(x, axis, kind="stable"), 0)
    b = c.copy(a)
    c.sort_in_place(b, axis)
    same(b, np.sort(x, axis), 0)
    n = x.shape[axis]
    if n:
        kth = data.draw(st.lists(st.integers(-n, n - 1), min_size=1, max_size=3))
        parts = c.partition(a, axis, len(kth), extents(*kth)).numpy()
        full = np.sort(x, axis)
        by_index = np.take_along_axis(
            x, c.argpartition(a, axis, len(kth), extents(*kth)).numpy(), axis
        )
        for k in kth:
            np.testing.assert_array_equal(np.take(parts, k, axis), np.take(full, k, axis))
            np.testing.assert_array_equal(np.take(by_index, k, axis), np.take(full, k, axis))
        np.testing.assert_array_equal(np.sort(parts, axis), full)


@given(numpy_arrays(dtypes=["float64", "int16", "float32"], least=1, most=1), pairs(dtypes=["float64", "int8"]),
       st.booleans())  # fmt: skip
def test_searchsorted(table, values, right):
    table = np.sort(table)
    x, a = values
    got = c.searchsorted(array(table), a, right)
    same(got, np.asarray(np.searchsorted(table, x, "right" if right else "left")), 0)


@given(pairs(), st.booleans())
def test_unique(pair, nans):
    x, a = pair
    if nans and x.dtype.kind == "f":
        x = np.where(x > 0, np.nan, x).astype(x.dtype)
        a = array(x)
    expected = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    found = c.unique(a)
    for ours, numpys in zip(found, expected, strict=True):
        same(ours, numpys, 0)
    only = c.unique(a, want=[True, False, False, False])
    same(only[0], expected[0], 0)
    assert only[1:] == [None] * 3 and isinstance(only[0], Array)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(0, 12))
def test_bincount(values, least):
    x = np.array(values)
    weights = np.arange(x.size) / 4
    same(c.bincount(array(x), None, least), np.bincount(x, minlength=least), 0)
    same(c.bincount(array(x), array(weights), least), np.bincount(x, weights, least))
    few = x < 4
    same(c.bincount(array(few), None, least), np.bincount(few, minlength=least), 0)
    same(c.bincount(array(few), array(weights), least), np.bincount(few, weights, least))
