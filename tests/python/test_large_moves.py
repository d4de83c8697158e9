"""Moves and fills that are large or come in several pieces, against NumPy."""

import asnumpy as anp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st


def check(got, want):
    got = np.asarray(got)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 1000, 100003])
@pytest.mark.parametrize("ends", [(0.0, 1.0), (-3.5, 1e9), (5.0, -2.0), (1.0, 1.0), (0.0, 5e-324)])
def test_linspace_of_floats(n, ends):
    check(anp.linspace(*ends, n), np.linspace(*ends, n))
    got, want = (m.linspace(*ends, n, retstep=True) for m in (anp, np))
    check(got[0], want[0])
    assert np.array_equal(got[1], want[1], equal_nan=True) and type(got[1]) is type(want[1])


@pytest.mark.parametrize("dtype", "bhilefdFD")
@pytest.mark.parametrize("n", [1, 5, 40, 70000])
def test_arange_dtypes(dtype, n):
    if np.dtype(dtype).itemsize < 4:
        n = min(n, 40)
    check(anp.arange(3, 3 + 2 * n, 2, dtype=dtype), np.arange(3, 3 + 2 * n, 2, dtype=dtype))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_pad_constant(data):
    shape = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    pairs = st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=2),
                     min_size=len(shape), max_size=len(shape))  # fmt: skip
    widths, values = data.draw(pairs), data.draw(pairs)
    a = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    if data.draw(st.booleans()):
        a = np.asfortranarray(a)
    want = np.pad(a, widths, constant_values=values)
    got = anp.pad(anp.array(a), widths, constant_values=values)
    check(got, want)
    assert (got.flags.fnc, got.flags.c_contiguous) == (want.flags.fnc, want.flags.c_contiguous)


@pytest.mark.parametrize("shift", [0, 1, 7])
def test_results_past_the_caches(shift):
    """Sizes that are stored so, at addresses that begin a line and others; every element."""
    n = 1_600_003
    a = np.random.default_rng(0).standard_normal(n + shift)[shift:]
    x = anp.array(np.concatenate([np.zeros(shift), a]))[shift:]
    out = anp.empty(n + shift)[shift:]
    anp.add(x, x, out=out)
    check(out, a + a)
    check(x * 2.0, a * 2.0)
    check(x.astype(anp.float32), a.astype(np.float32))
    check((x > 0).astype(anp.float64), (a > 0).astype(np.float64))
    check(x.copy(), a.copy())
    check(anp.concatenate((x, x)), np.concatenate((a, a)))
    rows = n // 1001
    plane, p = a[: rows * 1001].reshape(rows, 1001), x[: rows * 1001].reshape(rows, 1001)
    check(p[:, 1:] + p[:, :-1], plane[:, 1:] + plane[:, :-1])
    check(anp.concatenate((p, p), axis=1), np.concatenate((plane, plane), axis=1))


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("n", [1, 5, 100, 4000, 400_003])
@pytest.mark.parametrize("count", [2, 3, 8, 9])
def test_stack_along_the_last_axis(dtype, n, count):
    rng = np.random.default_rng(0)
    a = [rng.integers(0, 9, 2 * n).astype(dtype) for _ in range(count)]
    x = [anp.array(v) for v in a]
    views = [slice(None, n), slice(None, None, 2), slice(None, n - 1 or None, -1)]
    a = [v[views[k % 3]][:n] for k, v in enumerate(a)]
    x = [v[views[k % 3]][:n] for k, v in enumerate(x)]
    check(anp.stack(x, axis=-1), np.stack(a, axis=-1))
    check(anp.stack(x[:1] * 2, axis=-1), np.stack(a[:1] * 2, axis=-1))


def test_columns_that_change_places():
    a = np.arange(40_000.0).reshape(-1, 2)
    x = anp.array(a)
    a[:, 0], a[:, 1] = a[:, 1].copy(), a[:, 0].copy()
    x[:, 0], x[:, 1] = x[:, 1].copy(), x[:, 0].copy()
    check(x, a)
    x[:, 0], x[:, 1] = x[::-1, 1], x[::-1, 0]
    a[:, 0] = a[::-1, 1]
    a[:, 1] = a[::-1, 0]
    check(x, a)


def test_large_gather_of_rows():
    a = np.random.default_rng(0).standard_normal((1001, 1003))
    r = np.random.default_rng(1).integers(-1001, 1001, 1500)
    x = anp.array(a)
    check(x[r], a[r])
    check(anp.take(x[:, 1:], r, axis=0), np.take(a[:, 1:], r, axis=0))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_operands_that_lie_across(data):
    """Programs over transposed operands, in squares of their two inner dimensions."""
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    shape = tuple(data.draw(st.lists(st.integers(30, 75), min_size=2, max_size=2)))
    if data.draw(st.booleans()):
        shape = (data.draw(st.integers(1, 3)), *shape)
    swapped = (*shape[:-2], shape[-1], shape[-2])
    kinds = st.sampled_from(["float64", "float32", "float16", "int32", "int8", "complex128"])
    a, b, c = (rng.integers(-9, 9, s).astype(data.draw(kinds)) for s in (shape, swapped, shape))
    x, y, z = (anp.array(v) for v in (a, b, c))
    check(x + y.swapaxes(-1, -2), a + b.swapaxes(-1, -2))
    check(x * y.swapaxes(-1, -2) + z[..., :1], a * b.swapaxes(-1, -2) + c[..., :1])
    check(x[..., ::-1] - y.swapaxes(-1, -2), a[..., ::-1] - b.swapaxes(-1, -2))
    if np.can_cast(b.dtype, a.dtype, "same_kind"):
        x[...] = y.swapaxes(-1, -2)
        a[...] = b.swapaxes(-1, -2)
        check(x, a)
        x += y.swapaxes(-1, -2)
        a += b.swapaxes(-1, -2)
        check(x, a)


def test_large_operand_that_lies_across():
    a = np.random.default_rng(0).standard_normal((1009, 1003))
    b = np.random.default_rng(1).standard_normal((1003, 1009))
    x, y = anp.array(a), anp.array(b)
    check(x + y.T, a + b.T)
    out = anp.empty((1009, 1100))[:, 50:1053]
    anp.multiply(x, y.T, out=out)
    check(out, a * b.T)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("columns", [1200, 1203])
def test_large_gather_of_columns(dtype, columns):
    """Whole lines of the result, past the caches where they are aligned; the indices in two blocks."""
    a = np.random.default_rng(0).standard_normal((2003, columns)).astype(dtype)
    r = np.random.default_rng(1).integers(-columns, columns, 1500)
    x = anp.array(a)
    check(x[:, r], a[:, r])
    check(anp.take(x[:2000], r, axis=1), np.take(a[:2000], r, axis=1))


def test_far_elements():
    """Elements that are announced early: more indices than that, and tables past the second cache."""
    rng = np.random.default_rng(0)
    for dtype, n in (("float64", 90_000), ("float32", 200_000), ("complex128", 50_000)):
        a, v = rng.standard_normal(n).astype(dtype), rng.standard_normal(70_001).astype(dtype)
        i = rng.integers(-n, n, 70_001)
        x = anp.array(a)
        check(x[i], a[i])
        x[i] = anp.array(v)
        a[i] = v
        check(x, a)


def test_masks_of_many_blocks():
    """Selections that store whole registers until the end of a chunk is near."""
    rng = np.random.default_rng(0)
    for n in (63, 64, 200, 16_384, 16_500, 70_001):
        for share in (0.01, 0.5, 0.97):
            m = rng.random(n) < share
            check(anp.nonzero(anp.array(m))[0], np.nonzero(m)[0])
            for dtype in ("int32", "float64", "complex128", "int16"):
                a = rng.integers(0, 99, n).astype(dtype)
                check(anp.array(a)[anp.array(m)], a[m])


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float64", "complex128"])
def test_masks_of_long_runs(dtype):
    """Blocks of a mask that are all of one kind, from and to the list."""
    rng = np.random.default_rng(5)
    for n in (64, 129, 4000, 16_384, 40_001):
        for cuts in (1, 2, 7, 60):
            ends = rng.integers(0, n + 1, 2 * cuts)
            m = np.zeros(n, bool)
            for first, end in zip(ends[::2], ends[1::2], strict=True):
                m[min(first, end) : max(first, end)] ^= True
            x = rng.integers(0, 99, n).astype(dtype)
            values = rng.integers(0, 99, int(m.sum())).astype(dtype)
            a, mask = anp.array(x), anp.array(m)
            check(a[mask], x[m])
            a[mask], x[m] = anp.array(values), values
            check(a, x)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_gathered_columns(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    rows, columns = data.draw(st.integers(60, 90)), data.draw(st.integers(1, 90))
    dtype = data.draw(st.sampled_from(["bool", "int16", "float32", "float64", "complex128"]))
    a = rng.integers(0, 99, (rows, columns, data.draw(st.integers(1, 3)))).astype(dtype)
    r = rng.integers(-columns, columns, data.draw(st.integers(60, 600)))
    x = anp.array(a)
    check(x[:, r], a[:, r])
    check(anp.take(x, r, axis=1), np.take(a, r, axis=1))
    check(x[::-1, r], a[::-1, r])
    check(x[..., 0][:, r], a[..., 0][:, r])
    check(x[..., 0].T[r, :], a[..., 0].T[r, :])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_large_scans(dtype):
    """Straight from the input, past the caches; every bit as one after the other."""
    a = (np.random.default_rng(0).standard_normal(1_000_003) * 9).astype(dtype)
    x = anp.array(a)
    check(anp.cumsum(x), np.cumsum(a))
    check(anp.cumsum(x[::-1]), np.cumsum(a[::-1]))
    y = x.copy()
    anp.cumsum(y, out=y)
    check(y, np.cumsum(a))
    check(x, a)


@pytest.mark.parametrize("bins", [3, 200, 256, 300, 1000, 1024, 1030, 5000])
def test_bincount_of_many(bins):
    i = np.random.default_rng(0).integers(0, bins, 30_001)
    check(anp.bincount(anp.array(i)), np.bincount(i))
    c, d = np.zeros(bins), anp.zeros(bins)
    np.add.at(c, i, 1.5)
    anp.add.at(d, anp.array(i), 1.5)
    check(d, c)


EDGES = st.sampled_from([31, 32, 33, 40, 63, 64, 65, 100, 129, 300, 449, 700])


@given(
    EDGES,
    EDGES,
    st.lists(
        st.sampled_from(["?", "i1", "i2", "f4", "f8", "i8", "c8", "c16"]), min_size=1, max_size=5
    ),
    st.integers(0, 2**32 - 1),
)
@example(63, 129, ["f8", "f8", "f8"], 0)  # whole rows fit the scratch, but one block takes only one
@example(33, 129, ["i2", "f4"], 0)
@example(
    754, 456, ["f4", "f2", "f8", "f8"], 0
)  # parts of a row that are no whole lines, past the caches
@settings(max_examples=60, deadline=None)
def test_programs_over_operands_that_lie_across(m, n, dtypes, seed):
    """g.T + g: of any dtypes, reversed and cut, in planes, with rows and columns repeated."""
    rng = np.random.default_rng(seed)
    straight = rng.integers(0, 9, (2, m, n)).astype(rng.choice(["f4", "f8", "i4"]))
    want, got = straight[0], anp.array(straight)[0]
    planes, made = straight, anp.array(straight)
    for dtype in dtypes:
        x = rng.integers(0, 2 if dtype in ("?", "i1") else 9, (2, n + 3, m + 5)).astype(dtype)
        a = anp.array(x)
        view = [
            np.s_[:, 3:, 5:],
            np.s_[:, :-3, :-5],
            np.s_[:, n - 1 :: -1, 2:-3],
            np.s_[:, 1:-2, m - 1 :: -1],
        ][rng.integers(4)]
        planes, made = planes + x[view].swapaxes(1, 2), made + a[view].swapaxes(1, 2)
        if dtype != "?":
            want, got = want * 2 - x[view][1].T, got * 2 - a[view][1].T
    check(made, planes)
    row, column = straight[0, :1], straight[1, :, :1]
    check((got + anp.array(row)) * anp.array(column), (want + row) * column)
    out = anp.zeros((m, 2 * n))[:, ::2]
    out[...] = made[0].astype("c16").real + made[1].real
    check(out, (planes[0].astype("c16").real + planes[1].real).astype("f8"))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_assignments_to_itself_moved(data):
    """Source and target are the same array some elements apart, in any direction of any axis."""
    shape = data.draw(st.lists(st.sampled_from([1, 2, 3, 7, 40]), min_size=1, max_size=3))
    shape.append(data.draw(st.sampled_from([5, 33, 700])))
    dtype = data.draw(st.sampled_from(["?", "h", "f", "d", "D"]))
    a = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    b = anp.array(a)
    to, source = [], []
    for extent in shape:
        n = data.draw(st.integers(max(1, extent - 3), extent))
        to.append(data.draw(st.integers(0, extent - n)))
        source.append(data.draw(st.integers(0, extent - n)))
        to[-1], source[-1] = slice(to[-1], to[-1] + n), slice(source[-1], source[-1] + n)
    if data.draw(st.booleans()):  # nothing of it is settled
        a, b = a + a, b + b
    if data.draw(st.booleans()):
        a, b = a[..., ::-1], b[..., ::-1]
    if data.draw(st.booleans()):
        a, b = a.swapaxes(0, -1), b.swapaxes(0, -1)
        to[0], to[-1], source[0], source[-1] = to[-1], to[0], source[-1], source[0]
    a[tuple(to)] = a[tuple(source)]
    b[tuple(to)] = b[tuple(source)]
    check(b, a)


@pytest.mark.parametrize("dtype", "?bhifdFD")
@pytest.mark.parametrize("value", [0, 1, 3.5])
def test_large_fills(dtype, value):
    """Lengths around those from which the processor fills, and no whole number of words."""
    for n in (1 << 18, (1 << 18) + 5, 600_001):
        n //= np.dtype(dtype).itemsize
        check(anp.full(n, value, dtype=dtype), np.full(n, value, dtype=dtype))
        a, b = np.ones(n + 3, dtype), anp.ones(n + 3, dtype)
        a[1:-1], b[1:-1] = value, value
        check(b, a)
    check(anp.full((3, 90_000), 2, dtype), np.full((3, 90_000), 2, dtype))


@pytest.mark.parametrize("dtype", "?hfdFD")
@pytest.mark.parametrize("times", [2, 3, 4, 5, 8, 9])
def test_repeats(dtype, times):
    for n in (1, 7, 31, 33, 1000, 170_001, 900_000 if times == 3 else 64):
        a = np.arange(n).astype(dtype)
        check(anp.repeat(anp.array(a), times), np.repeat(a, times))
    a = np.arange(5 * 37).astype(dtype).reshape(5, 37)
    for axis in (0, 1):
        check(anp.repeat(anp.array(a), times, axis), np.repeat(a, times, axis))


@settings(max_examples=80, deadline=None)
@given(st.sampled_from([0, 1, 2, 63, 64, 65, 129, 3000, 100_003]), st.sampled_from([1, 2, 4, 5, 9, 200]), st.sampled_from("?bhfdD"),
       st.sampled_from(["flat", "rows", "pairs", "columns", "reversed", "across"]), st.integers(0, 10**6))  # fmt: skip
def test_repeats_by_counts(n, most, dtype, order, seed):
    """Counts of their own, in parts that threads share: none, all or nothing, few and many, not contiguous; items of
    one element, of two, of several; of a view."""
    rng = np.random.default_rng(seed)
    most = min(most, 4) if n > 3000 else most
    counts = rng.integers(0, most, (n, 3))[:, 1] * (rng.random(n) < rng.choice([0.01, 0.5, 1]))
    counts = counts[:: rng.choice([1, -1])].astype(rng.choice(["i8", "i4", "u1"]))
    shape, axis = {"flat": ((n,), None), "rows": ((n, 3), 0), "pairs": ((n, 2), 0), "columns": ((2, n), 1),
                   "reversed": ((3, n), 1), "across": ((n, 2, 2), 2)}[order]  # fmt: skip
    a = rng.integers(0, 99, shape).astype(dtype)
    held = anp.array(a)
    if order == "reversed":
        a, held = a[:, ::-1], held[:, ::-1]
    elif order == "across":
        a, held = a.T, held.T
    check(anp.repeat(held, anp.array(counts), axis), np.repeat(a, counts, axis))
    if n > 1:
        wrong = counts.astype(int)
        wrong[rng.integers(n)] = -1
        with pytest.raises(ValueError, match="negative"):
            anp.repeat(held, anp.array(wrong), axis)


@pytest.mark.parametrize("n", [65, 96, 128, 129, 150, 170, 171, 200])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
def test_rows_too_long_to_follow_each_other(n, dtype):
    """Several operands across, whose rows in the scratch would be a block each: they are taken in parts."""
    rng = np.random.default_rng(n)
    for count in range(1, 6):
        x = [rng.integers(0, 9, (2, n, 63)).astype(dtype) for _ in range(count)]
        straight = rng.integers(0, 9, (2, 63, n)).astype(dtype)
        a, b = anp.array(straight), straight
        for y in x:
            a, b = a + anp.array(y).swapaxes(1, 2), b + y.swapaxes(1, 2)
        check(a, b)


INDICES = [":, k", "r", "np.ix_(r, k)", "r, 2", "-1, k", ":, m", "b", "b, 1", "r[:, None], k", "np.ix_(k, k)", ":, [1]", ":, ::-1", "r[::-1], r % c",
           "..., k", "r, None, 2"]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(INDICES), st.sampled_from(["f8", "f4", "c16", "u1", "i2"]), st.integers(5, 400), st.integers(4, 60),
       st.sampled_from(["C", "F", "strided", "deep"]), st.sampled_from(["get", "number", "array", "row", "take"]), st.integers(0, 10**6))  # fmt: skip
def test_rows_and_columns_by_indices(text, dtype, rows, columns, layout, use, seed):
    """A few columns, many rows, meshes of both, with duplicates, which the last one wins."""
    rng = np.random.default_rng(seed)
    x = (rng.random((rows, columns, 3) if layout == "deep" else (rows, columns)) * 200).astype(
        dtype
    )
    a = anp.array(x)
    if layout == "F":
        x, a = np.asfortranarray(x), anp.asfortranarray(a)
    elif layout == "strided":
        x, a = x[::-1, ::2], a[::-1, ::2]
    c = x.shape[1]
    names = {"k": rng.integers(-c, c, rng.integers(1, 7)), "r": rng.integers(-rows, rows, rng.integers(1, 600)),
             "m": rng.random(c) < 0.5, "b": rng.random(rows) < 0.5, "c": c, "np": np}  # fmt: skip
    if c < 3 and "2" in text or layout == "deep" and text == "..., k":
        return
    if "ix_(k" in text:
        names["k"] = names["k"] % min(rows, c)
    at = eval(f"np.s_[{text}]", names)
    ours = our_index(at)
    if use == "take":
        got, want = (
            anp.take(a, anp.array(names["k"]), axis=1),
            np.take(x, names["k"], axis=1),
        )
        np.testing.assert_array_equal(got.to_numpy(), want)
        return
    want = x[at]
    if use == "get":
        got = a[ours]
        assert got.shape == want.shape
        np.testing.assert_array_equal(got.to_numpy(), want)
        return
    value = (rng.random(want.shape[-1:] if use == "row" and want.ndim else want.shape) * 99).astype(
        dtype
    )
    x[at] = 7 if use == "number" else value
    a[ours] = 7 if use == "number" else anp.array(value)
    np.testing.assert_array_equal(a.to_numpy(), x)


def our_index(at):
    return (
        tuple(anp.array(i) if isinstance(i, np.ndarray) else i for i in at)
        if isinstance(at, tuple)
        else anp.array(at)
    )
