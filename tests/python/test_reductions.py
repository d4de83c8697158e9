"""Reductions against NumPy: axis, keepdims, dtype, out, where, initial, empties, NaN."""

import itertools
import re

import asnumpy
import numpy as np
import pytest
from conftest import SINGLE_OPERATORS
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import DTYPES, outcome, same, sample, to_device

NAMES = ["sum", "prod", "max", "min", "all", "any", "mean", "std", "var"]
AXES = [None, 0, 1, -1, 2, (0, 1), (0, 2), (1, -1), (0, 1, 2), ()]


def loose(name, dtype):
    """Sums differ in rounding order; a mean of n values by a few ULP of their magnitude."""
    exact = np.dtype(dtype).kind in "biu" and name not in ("mean", "std", "var")
    return 0 if exact or name in ("max", "min", "all", "any") else 512


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_axes_and_keepdims(name, dtype, rng):
    a = sample(dtype, 60, rng, special=False).reshape(3, 4, 5)
    if name == "prod":
        a = (a.real * 0 + rng.integers(1, 3, a.shape)).astype(dtype)
    for axis, keepdims, view in itertools.product(AXES, (False, True), ("a", "T", "flip")):

        def run(np_, a, axis=axis, keepdims=keepdims, view=view):
            v = {"a": a, "T": a.T, "flip": a[::-1, :, ::-1]}[view]
            f = getattr(np_, name)
            return f(v, axis=axis, keepdims=keepdims), getattr(v, name)(axis=axis)

        same(run, a, ulp=loose(name, dtype), where=f"{name} {dtype} {axis} {keepdims} {view}")


@pytest.mark.parametrize("name", NAMES)
def test_dtype_out_where_initial(name, rng):
    for dtype in ("bool", "int8", "int64", "float16", "float32", "float64", "complex128"):
        a = sample(dtype, 24, rng, special=False).reshape(4, 6)
        if name == "prod":
            a = (a.real * 0 + rng.integers(1, 3, a.shape)).astype(dtype)
        mask = rng.random((4, 6)) < 0.6
        mask[:, 0] = True
        mask[0] = True

        def run(np_, a, mask):
            f = getattr(np_, name)
            result = []
            if name in ("sum", "prod", "mean", "std", "var"):
                result += [f(a, axis=0, dtype=d) for d in (np.float32, np.complex128)]
            extra = {"initial": 3} if name in ("max", "min") else {}
            result.append(f(a, axis=1, where=mask, **extra))
            result.append(f(a, where=mask, **extra))
            if name in ("sum", "prod", "max", "min"):
                result.append(f(a, axis=1, initial=2))
                result.append(f(a[:0], initial=5))
            out = np_.zeros(6, f(a, axis=0).dtype)
            assert f(a, axis=0, out=out) is out
            return [*result, out]

        same(run, a, mask, ulp=512, where=f"{name} {dtype}")


@pytest.mark.parametrize("name", [*NAMES, "argmax", "argmin", "cumsum", "cumprod", "median", "ptp"])
def test_empty_and_zero_d(name):
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 3), ()):
        for axis in (None, 0, -1, 1):
            same(lambda np_, a, x=axis: getattr(np_, name)(a, axis=x), np.zeros(shape),
                 where=f"{name} {shape} axis={axis}")  # fmt: skip


NAN_NAMES = ["max", "min", "argmax", "argmin", "sum", "nanmax", "nanmin", "nansum", "nanargmax",
             "nanargmin", "nanmean", "nanvar", "nanstd", "nanmedian", "nanprod", "nancumsum",
             "nancumprod"]  # fmt: skip


@pytest.mark.parametrize("name", NAN_NAMES)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
def test_nan(name, dtype, rng):
    if dtype == "complex128" and name in ("nanmedian", "nanargmax", "nanargmin"):
        return
    a = sample(dtype, 60, rng, special=False).reshape(3, 4, 5)
    a[rng.random(a.shape) < 0.3] = np.nan
    for axis in (None, 0, 1, -1):
        same(lambda np_, a, x=axis: getattr(np_, name)(a, axis=x), a, ulp=512,
             where=f"{name} {dtype} {axis}")  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4", "u8", "i8", "i4", "u1", "?"])
@pytest.mark.parametrize("axis", [0, None])
def test_positions_go_to_what_casts_to_them(dtype, axis):
    def call(m):
        out = m.zeros((3,) if axis == 0 else (), dtype=dtype)
        try:
            m.argmax(m.asarray([[1, 5, 2], [7, 3, 9]]), axis=axis, out=out)
        except TypeError as error:
            return str(error)
        return out.tolist()

    assert call(asnumpy) == call(np)


@pytest.mark.parametrize("dtype", ["i8", "i1", "u2", "?", "f4", "c8"])
@pytest.mark.parametrize("mean", [2, 2.5, [[1], [3]], None])
def test_variance_about_a_given_mean(dtype, mean):
    x = np.array([[1, 2, 3, 10], [0, 5, 5, 4]]).astype(dtype)
    axis = 1 if isinstance(mean, list) else None
    for name in ("var", "std"):
        options = {} if mean is None else {"mean": np.array(mean)}
        expected = outcome(lambda m: getattr(m, name)(x, axis=axis, **options), np)  # noqa: B023
        got = outcome(lambda m: getattr(m, name)(asnumpy.asarray(x), axis=axis, **options), asnumpy)  # noqa: B023
        assert type(got[1]) is type(expected[1]), (got, expected)
        if expected[1] is None:
            np.testing.assert_allclose(np.asarray(got[0]), expected[0], rtol=1e-6)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_arg_ties_and_keepdims(name, rng):
    for dtype in DTYPES:
        a = rng.integers(0, 2, (4, 5, 6)).astype(dtype)
        for axis in (None, 0, 1, 2, -1):
            same(lambda np_, a, x=axis: [getattr(np_, name)(a, axis=x),
                                         getattr(np_, name)(a, axis=x, keepdims=True),
                                         getattr(a.T, name)(x)], a)  # fmt: skip


def test_errors():
    a = np.ones((2, 3))
    cases = [
        lambda np_, a: a.sum(axis=2), lambda np_, a: a.sum(axis=(0, 0)),
        lambda np_, a: a.sum(axis=1.5), lambda np_, a: a.max(axis="x"),
        lambda np_, a: a[:0].max(), lambda np_, a: a[:0].argmax(),
        lambda np_, a: a.sum(out=np_.zeros(3)), lambda np_, a: a.sum(axis=0, out=[1]),
        lambda np_, a: a.max(where=a > 0), lambda np_, a: np_.subtract.reduce(a, axis=(0, 1)),
        lambda np_, a: np_.add.reduce(a, axis=0, out=np_.zeros(3, int)),
        lambda np_, a: np_.sin.reduce(a), lambda np_, a: np_.add.accumulate(a, axis=3),
        lambda np_, a: np_.add.reduceat(a, [0, 5]), lambda np_, a: a.cumsum(axis=5),
        lambda np_, a: np_.add.accumulate(np_.array(1.0)),
    ]  # fmt: skip
    for i, f in enumerate(cases):
        same(f, a, where=f"case {i}")


@pytest.mark.parametrize("name", ["sum", "max", "mean", "var"])
@pytest.mark.parametrize("shape", [(5,), (1, 4, 5), (4, 4), (1, 3, 4, 5)])
def test_outputs_of_another_shape(name, shape):
    def run(np_, a):
        getattr(np_, name)(a, axis=0, out=np_.zeros(shape))

    a = np.ones((3, 4, 5))
    with pytest.raises(ValueError) as expected:
        run(np, a)
    with pytest.raises(ValueError) as got:
        run(asnumpy, asnumpy.array(a))
    assert "wrong number of dimensions: Found" in str(got.value) or len(shape) == 2
    assert re.findall(r"Found \d.*", str(got.value)) == re.findall(
        r"Found \d.*", str(expected.value)
    )


def test_accuracy_of_long_sums(rng):
    """Pairwise: the error of a long float32 sum stays within NumPy's."""
    a = rng.random(1_000_000).astype(np.float32)
    exact = a.astype(np.float64).sum()
    ours = abs(float(to_device(a).sum()) - exact)
    assert ours <= max(abs(float(a.sum()) - exact), 1e-7 * exact) * 2


@pytest.mark.skipif(SINGLE_OPERATORS, reason="an operator adds as it likes")
@pytest.mark.parametrize("shape", [(400_000, 2, 3), (200_000, 4, 5), (200_000, 3, 7)], ids=str)
def test_accuracy_over_the_first_and_a_short_last_axis(shape, rng):
    """Few results of many short rows: the rows are folded, whose error is one block's, not added one after the other."""
    a = rng.random(shape).astype(np.float32)
    exact = a.astype(np.float64).sum(axis=(0, 2))
    ours = to_device(a).sum(axis=(0, 2)).to_numpy().astype(np.float64)
    assert (abs(ours / exact - 1) <= 1e-7).all()


def test_scalar_policy():
    a = asnumpy.arange(4.0)
    assert type(a.sum()) is np.float64 and type(a[1]) is np.float64
    before = asnumpy.set_scalars("array")
    try:
        assert before == "numpy"
        assert type(a.sum()) is asnumpy.ndarray and a.sum().shape == ()
        assert type(a[1]) is asnumpy.ndarray and type(asnumpy.add(1, 2)) is asnumpy.ndarray
        assert float(a.sum()) == 6
    finally:
        assert asnumpy.set_scalars(before) == "array"
    with pytest.raises(ValueError):
        asnumpy.set_scalars("x")


def test_ddof_mean_correction(rng):
    a = rng.standard_normal((4, 5))

    def run(np_, a):
        m = np_.mean(a, axis=1, keepdims=True)
        return [np_.var(a, axis=1, mean=m), np_.std(a, ddof=1), np_.var(a, correction=1),
                np_.var(a, axis=0, ddof=2), np_.std(a, axis=(0, 1))]  # fmt: skip

    same(run, a, ulp=16)
    for f in (np, asnumpy):
        assert outcome(lambda m=f: m.var([1.0, 2], ddof=1, correction=1))[1] is not None


def test_numbers_as_arrays_are_no_views():
    """set_scalars("array"): an operator in place makes another number, as with NumPy's scalars."""
    before = asnumpy.set_scalars("array")
    try:
        x = asnumpy.arange(6.0)
        total = same = x.sum()
        total += 1
        element = other = x[3]
        element *= 2
        whole = asnumpy.array(2.0)
        alias = whole
        whole += 1
        assert (float(total), float(same), float(element), float(other)) == (16, 15, 6, 3)
        assert float(alias) == 3 and alias is whole
    finally:
        asnumpy.set_scalars(before)


@pytest.mark.parametrize("dtype", ["i1", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("columns", [3, 100, 129, 200, 256, 300, 1000])
def test_rows_that_do_not_touch(columns, dtype):
    """Every second row, summed over: a few of them, or one, or a part of one make a block."""
    host = (np.arange(48 * columns) % 5).astype(dtype).reshape(48, columns)
    a = asnumpy.array(host)
    asnumpy.synchronize()
    for rows, rows_host in ((a[::2], host[::2]), (a[::-3], host[::-3])):
        for name in ("sum", "max"):
            got, want = getattr(rows, name)(axis=0), getattr(rows_host, name)(axis=0)
            assert got.to_numpy().tolist() == want.tolist(), name


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1)])
def test_order_of_axes_in_memory(name, order, rng):
    """What reshape views and what it copies depends on it: under where= the mask has its say."""
    x = rng.normal(size=tuple((3, 4, 5)[d] for d in order)).transpose(np.argsort(order))
    assert x.shape == (3, 4, 5)
    masks = [True, np.ones((3, 4, 5), bool), np.ones((5, 4, 3), bool).T, np.ones((1, 4, 5), bool)]
    for mask, axis, keepdims in itertools.product(masks, (0, 1, 2), (False, True)):
        options = {"axis": axis, "keepdims": keepdims}
        if mask is not True:
            options["where"] = mask
            if name in ("max", "min"):
                options["initial"] = 0.0
        want = getattr(np, name)(x, **options)
        if mask is not True:
            options["where"] = to_device(mask)
        got = getattr(asnumpy, name)(to_device(x), **options)
        steps = zip(got.strides, want.strides, want.shape, strict=True)
        assert [s for s, _, n in steps if n > 1] == [
            t for t, n in zip(want.strides, want.shape, strict=True) if n > 1
        ], (options, got.strides, want.strides)


MOMENT_OPTIONS = [
    {"dtype": int}, {"dtype": np.int8}, {"dtype": bool}, {"dtype": int, "axis": 0},
    {"dtype": int, "axis": 0, "keepdims": True}, {"dtype": int, "ddof": 1}, {"ddof": 0.5},
    {"ddof": -1}, {"ddof": 9}, {"dtype": np.uint8, "where": [True, True, False]}, {"mean": 2},
    {"mean": np.array([2]), "dtype": int}, {"mean": np.float64(2.5)}, {"mean": 2 + 1j},
    {"out": np.zeros((), int)}, {"out": np.zeros((), np.float32)},
    {"out": np.zeros(()), "dtype": int}, {"out": np.zeros((), np.float16), "dtype": np.float32},
    {"out": np.zeros(1), "dtype": int, "axis": 0, "keepdims": True}, {"out": np.zeros(2)},
]  # fmt: skip


@pytest.mark.parametrize("options", MOMENT_OPTIONS, ids=str)
@pytest.mark.parametrize("name", ["mean", "var", "std", "nanvar", "nanstd"])
def test_steps_of_moments(name, options):
    """dtype=, out= and mean= name the dtype of each of NumPy's steps, integers' among them."""
    if "mean" in name:
        options = {k: v for k, v in options.items() if k not in ("mean", "ddof")}
    for a in (
        [1, 2, 4], [1.5, 2, 4.25], [True, False, True], np.float32([1, 2, 4]),
        np.int8([100, 120, -3]), [1 + 2j, 3, 4], np.float16([1, 2, 4.5]),
    ):  # fmt: skip

        def run(np_, a, options=options):
            mine = {k: np_.array(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
            result = getattr(np_, name)(a, **mine)
            assert "out" not in mine or result is mine["out"]
            return result

        same(run, np.array(a), ulp=4, where=f"{name} {options} of {a!r}")


def test_halves_are_divided_by_counts_they_do_not_have():
    a = np.tile(np.float16([0.5, 0.25]), (1, 70000))
    for name in ("mean", "var", "std"):
        for options in (
            {},
            {"dtype": np.float16},
            {"axis": 1},
            {"axis": 1, "out": np.zeros(1, "f2")},
        ):

            def run(np_, a, name=name, options=options):
                mine = {k: np_.array(v) if k == "out" else v for k, v in options.items()}
                return getattr(np_, name)(a, **mine)

            same(run, a, ulp=2, where=f"{name} {options}")


def table(np_, h, layout):
    """The numbers h, (n, k), as a table laid out in another way."""
    a = np_.array(h)
    if layout == "columns":
        return np_.array(np_.ascontiguousarray(a.T)).T
    if layout == "gaps":
        wide = np_.zeros((h.shape[0], h.shape[1] + 2), h.dtype)
        wide[:, 1:-1] = a
        return wide[:, 1:-1]
    if layout == "column":
        return np_.broadcast_to(a[:, :1], a.shape)
    return a * a[:1] if layout == "row" else a  # beside a row that all share


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from(["f8", "f4", "i4", "u1", "?", "c16", "f2"]),
    st.integers(1, 70),
    st.sampled_from([1, 3, 4, 50, 700, 9000]),
    st.sampled_from(["rows", "columns", "gaps", "column", "row"]),
    st.sampled_from(["sum", "max", "any", "count", "kept", "square", "two", "planes"]),
    st.integers(0, 10**6),
)
def test_short_rows_to_one_result(dtype, k, n, layout, what, seed):
    """Reductions over all of a table whose rows are short: many of them are folded at a time."""
    rng = np.random.default_rng(seed)
    h = rng.integers(0, 4, (n, k)).astype(dtype)
    programs = {
        "sum": lambda p, a: a.sum(),
        "max": lambda p, a: (a + a).max(),
        "any": lambda p, a: (a == 2).any(),
        "count": lambda p, a: p.count_nonzero(a > 1),
        "kept": lambda p, a: (lambda y: (y.sum(), y))(a * a),
        "square": lambda p, a: ((a.real.astype("f8") - 1.25) ** 2).sum(),
        "two": lambda p, a: (a.sum(), a.min(), (a > 1).all()),
        "planes": lambda p, a: p.stack([a, a + a]).sum(axis=(1, 2)),
    }
    if dtype == "c16" and what in ("max", "two", "count"):
        what = "sum"
    ours, theirs = (programs[what](p, table(p, h, layout)) for p in (asnumpy, np))
    if not isinstance(theirs, tuple):
        ours, theirs = (ours,), (theirs,)
    for x, y in zip(ours, theirs, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=1e-2 if dtype == "f2" else 1e-5)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "i4", "i8", "f4", "f8"])
def test_many_short_rows(dtype):
    """Rows are folded several at a time: results, and their bits, are those of one row alone."""
    rng = np.random.default_rng(8)
    for n in (1, 2, 3, 4, 7, 8, 9, 16, 31, 47, 48, 49, 100, 127, 128, 129, 255, 256, 300):
        for rows in (1, 2, 3, 4, 5, 11, 700):
            x = (rng.normal(size=(rows, n)) * 3).astype(dtype)
            a = asnumpy.array(x)
            for name in ("sum", "prod", "max", "min", "any", "all"):
                with np.errstate(all="ignore"), asnumpy.errstate(all="ignore"):
                    got = getattr(asnumpy, name)(a, axis=1).to_numpy()
                    want = getattr(np, name)(x, axis=1)
                    alone = [getattr(asnumpy, name)(a[r]) for r in range(min(rows, 11))]
                assert got.dtype == want.dtype
                if dtype[0] == "f" and name in ("sum", "prod"):
                    close = 1e-4 if dtype == "f4" else 1e-11
                    np.testing.assert_allclose(got, want, rtol=close, atol=close)
                    if name == "prod" and n < 256:  # longer ones are multiplied in parts
                        np.testing.assert_array_equal(got[:11], np.asarray(alone, got.dtype))
                else:
                    np.testing.assert_array_equal(got, want)
            for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
                if dtype[0] != "f":
                    np.testing.assert_array_equal(
                        getattr(asnumpy, name).reduce(a, axis=1).to_numpy(), getattr(np, name).reduce(x, axis=1)
                    )  # fmt: skip


@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "maximum", "floor_divide", "hypot", "bitwise_or"]
)
@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "f4", "f8"])
@pytest.mark.parametrize("out", ["i8", "f8", "i1", "f4", "c16"])
def test_out_takes_part_in_the_dtype_computed_in(name, dtype, out):
    """As the operation's first operand does: 100 - 100 - 100 of uint8 is -100 in an int64."""

    def run(m, method, shape):
        o = m.zeros(shape, dtype=out)
        getattr(getattr(m, name), method)(m.array([100, 100, 100], dtype=dtype), out=o)
        return o

    for method, shape in (("reduce", ()), ("accumulate", 3)):
        got, error = outcome(run, asnumpy, method, shape)
        want, refused = outcome(run, np, method, shape)
        assert (error is None) == (refused is None) and isinstance(error, type(None) | TypeError)
        if error is None:
            # (roots differ by an ulp where they are put together of other operators)
            np.testing.assert_allclose(got.to_numpy(), want, rtol=1e-6 if name == "hypot" else 0)


@pytest.mark.parametrize(
    "initial", [1e3, 1000, -1, -1.5, np.nan, np.inf, 1e30, np.int64(1000), np.float32(np.nan), 2.7]
)
@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u8", "?", "f4"])
def test_initial_fits_the_result(initial, dtype):
    """300 is no int8, a NaN no integer; floats are cut."""
    calls = (
        lambda m, a: m.min(a, initial=initial),
        lambda m, a: m.sum(a, initial=initial),
        lambda m, a: m.sum(a, initial=initial, dtype=dtype),
        lambda m, a: m.max(a[:0], initial=initial),
        lambda m, a: m.max(a, initial=initial, where=m.array([True, False, True])),
        lambda m, a: m.subtract.reduce(a, initial=initial, where=m.array([True, False, True])),
    )
    for call in calls:
        got, error = outcome(call, asnumpy, asnumpy.ones(3, dtype=dtype))
        want, refused = outcome(call, np, np.ones(3, dtype=dtype))
        assert type(error) is type(refused) or isinstance(refused, TypeError), (error, refused)
        if refused is None:
            np.testing.assert_array_equal(np.asarray(got), want)


@pytest.mark.parametrize("shape", [(70, 90), (3, 4)])
@pytest.mark.parametrize("name", ["any", "all", "sum", "max"])
def test_reductions_of_no_axis_beside_others(name, shape):
    """They are recorded together, and none is reduced away."""
    x = np.random.default_rng(0).integers(0, 2, shape).astype("f4")
    a = asnumpy.array(x)
    got = a.nonzero(), getattr(a, name)(axis=()), a.all(axis=(0, 1)), getattr(a, name)(axis=0)
    want = x.nonzero(), getattr(x, name)(axis=()), x.all(axis=(0, 1)), getattr(x, name)(axis=0)
    for g, w in zip(got[1:], want[1:], strict=True):
        assert np.asarray(g).dtype == w.dtype
        np.testing.assert_array_equal(np.asarray(g), w)
    np.testing.assert_array_equal(
        asnumpy.add.reduce(a, axis=(), initial=3).to_numpy(), np.add.reduce(x, axis=(), initial=3)
    )
