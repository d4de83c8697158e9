"""Sorting and selection: every width of key, lines short and long, ties, NaN and zeros of both signs.

The vector sorts, the columns of short lines, packed indices and selections each begin at some length,
so lengths are drawn around those, and values with few and with many ties.
"""

import asnumpy as anp
import numpy as np
import pytest
from conftest import SINGLE_OPERATORS
from hypothesis import given
from hypothesis import strategies as st

DTYPES = ["i1", "u1", "i2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
SHAPES = st.one_of(
    st.tuples(st.integers(1, 300)),
    st.tuples(st.sampled_from([1023, 1024, 1025, 2500, 30_000, 70_000])),
    st.tuples(st.integers(1, 140), st.integers(1, 40)),
    st.tuples(st.integers(129, 1500), st.integers(1, 40)),
    st.tuples(st.integers(1, 30), st.integers(1, 12), st.integers(1, 20)),
)


def values(rng, dtype, shape, kind):
    dtype = np.dtype(dtype)
    if dtype.kind != "f":
        info = np.iinfo(dtype)
        low, high = {"ties": (0, 5), "some": (0, 100)}.get(kind, (info.min, info.max))
        return rng.integers(low, high, shape, dtype=dtype, endpoint=True)
    a = rng.standard_normal(shape)
    if kind == "ties":
        a = np.round(a)
    if kind == "some":
        special = rng.choice([0.0, -0.0, np.nan, np.inf, -np.inf], shape)
        a = np.where(rng.random(shape) < 0.3, special, a)
    return a.astype(dtype)


def ordered(a, axis):
    return np.sort(a, axis=axis, kind="stable")


def same(ours, theirs):
    np.testing.assert_array_equal(np.asarray(ours), theirs)


@st.composite
def lines(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    a = values(
        rng,
        draw(st.sampled_from(DTYPES)),
        draw(SHAPES),
        draw(st.sampled_from(["ties", "some", "any"])),
    )
    b = anp.array(a)
    view = draw(st.sampled_from(["plain", "transposed", "reversed", "every second"]))
    if view == "transposed":
        a, b = a.T, b.T
    elif view == "reversed":
        a, b = a[..., ::-1], b[..., ::-1]
    elif view == "every second":
        a, b = a[..., ::2], b[..., ::2]
    return a, b, draw(st.integers(0, a.ndim - 1)), rng


@given(lines())
def test_sort(case):
    a, b, axis, _ = case
    ours = np.asarray(anp.sort(b, axis=axis))
    same(ours, ordered(a, axis))
    if a.dtype.kind == "f":  # no zero loses its sign
        assert np.signbit(ours[ours == 0]).sum() == np.signbit(a[a == 0]).sum()


@given(lines())
def test_argsort_is_stable(case):
    a, b, axis, _ = case
    same(anp.argsort(b, axis=axis), np.argsort(a, axis=axis, kind="stable"))


@given(lines(), st.integers(1, 3))
def test_partition(case, count):
    a, b, axis, rng = case
    kth = sorted({int(k) for k in rng.integers(0, a.shape[axis], count)})
    order = ordered(a, axis)
    values_, at = np.asarray(anp.partition(b, kth, axis=axis)), anp.argpartition(b, kth, axis=axis)
    for ours in (values_, np.take_along_axis(a, np.asarray(at), axis)):
        start = 0
        for k in kth:  # what lies between two kth is what sorting puts there, in any order
            piece = range(start, k + 1)
            same(np.take(ours, k, axis), np.take(order, k, axis))
            same(ordered(np.take(ours, piece, axis), axis), np.take(order, piece, axis))
            start = k + 1
        same(ordered(ours, axis), order)


@pytest.mark.parametrize("n", [4096, 100_000])
@pytest.mark.parametrize(
    "make",
    [
        np.arange,
        lambda n: np.arange(n)[::-1],
        lambda n: np.arange(n) % 2,
        lambda n: np.minimum(np.arange(n), np.arange(n)[::-1]),
        lambda n: np.where(np.arange(n) % 64, 0, np.arange(n)),
        np.zeros,
    ],
)
def test_hard_orders(make, n):
    a = np.asarray(make(n), dtype=np.float64)
    b = anp.array(a)
    same(anp.sort(b), np.sort(a))
    same(anp.argsort(b), np.argsort(a, kind="stable"))
    for k in (0, n // 3, n - 1):
        assert np.asarray(anp.partition(b, k))[k] == np.sort(a)[k]


@pytest.mark.parametrize("dtype", ["u4", "f8"])
def test_every_length(dtype):
    """Networks of one to sixteen registers, merges of up to eight tiles, and partitions of few blocks with every
    remainder."""
    rng = np.random.default_rng(3)
    tiles = [128 * t + r for t in range(6, 37) for r in (-1, 0, 1, 63)]
    for n in [*range(1, 700), *tiles]:
        for most in (3, 2**32 - 1):
            a = rng.integers(0, most, n, dtype="u4", endpoint=True).astype(dtype)
            same(anp.sort(anp.array(a)), np.sort(a))
            same(anp.sort(anp.array(a[::-1])), np.sort(a))


PATTERNS = {
    "sorted": lambda r, n: np.arange(n),
    "reversed": lambda r, n: np.arange(n)[::-1],
    "constant": lambda r, n: np.full(n, 7),
    "few": lambda r, n: r.integers(0, 3, n),
    "organ pipe": lambda r, n: np.minimum(np.arange(n), np.arange(n)[::-1]),
    "ends": lambda r, n: np.where(r.random(n) < 0.5, 0, 2**31 - 1),
    "any": lambda r, n: r.integers(0, 2**31 - 1, n),
}


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("dtype", ["i4", "u4", "f4", "i8", "u8", "f8"])
def test_every_length_of_every_pattern(dtype, pattern):
    """Both signs, the dtype's bounds among them, in lines alone and along both axes of a matrix."""
    rng = np.random.default_rng(12)
    extremes = (-np.inf, np.inf) if dtype[0] == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for n in [*range(601), 769, 1000, 1025, 2047, 2049, 2600, 5000, 20_000]:
        a = PATTERNS[pattern](rng, n).astype(dtype)
        if dtype[0] != "u":
            a -= a.dtype.type(n // 2)
        if n % 3 == 1:
            a[:: n // 4 + 1] = extremes[n % 2]
        same(anp.sort(anp.array(a)), np.sort(a))
        if n > 600:
            b = anp.array(a)
            b.sort()
            same(b, np.sort(a))
        if n % 40 == 17:
            rows = np.stack([np.roll(a, i) for i in range(11)])
            same(anp.sort(anp.array(rows), axis=1), np.sort(rows, axis=1))
            same(anp.sort(anp.array(rows.T), axis=0), np.sort(rows.T, axis=0))
            same(anp.argsort(anp.array(rows), axis=1), np.argsort(rows, axis=1, kind="stable"))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", [3, 16, 64, 129, 1000, 20_000, 70_000])
def test_nan_and_zeros_of_both_signs(dtype, n):
    """A line with one NaN or -0.0, at whatever place, and lines with many: no bit of a zero is lost."""
    rng = np.random.default_rng(n)
    for odd in ([], [-0.0], [np.nan], [-0.0, 0.0], [-0.0, np.nan, 0.0, np.inf]):
        for count in (1, n // 3):
            a = rng.standard_normal(n).astype(dtype)
            if odd:
                a[rng.integers(0, n, count)] = rng.choice(odd, count)
            theirs = np.sort(a)
            minus = np.signbit(a[a == 0]).sum()
            for ours in (anp.sort(anp.array(a)), anp.sort(anp.array(a[::-1]))):
                ours = np.asarray(ours)
                assert np.array_equal(ours, theirs, equal_nan=True)
                assert np.signbit(ours[ours == 0]).sum() == minus


def killer(n, lanes):
    """Keys whose every pivot is one of the least: what the AVX2 sort does to one line, with values given where it looks."""
    rank, value = np.full(n, -1), 0
    at = np.arange(n)
    while len(at) > 16 * lanes:
        m = len(at)
        places = (
            m // 8 + np.arange(3) * (m // 4) if m < 1024 else m // 20 + np.arange(9) * (m // 10)
        )
        seen = at[(places[:, None] + [0, lanes // 2, lanes - 1]).ravel()]
        for i in seen[rank[seen] < 0]:
            rank[i], value = value, value + 1
        by = np.sort(rank[seen].reshape(-1, 3, 3), axis=1)[
            :, 1
        ]  # middles of three places, lane by lane
        if len(by) == 3:
            by = np.sort(by, axis=0)[1:2]
        pivot = np.sort(by[0])[1]
        odd = m % lanes
        parts = [at[:odd], *at[odd:].reshape(-1, lanes)]
        above = [part[(rank[part] < 0) | (rank[part] >= pivot)] for part in parts]
        if len(rest := np.concatenate(above[::-1])) == m:
            break
        at = rest
    rank[rank < 0] = np.arange(value, n)
    return rank


@pytest.mark.parametrize("dtype", ["i4", "i8", "f8"])
def test_bad_pivots(dtype):
    """Nothing but the depth limit, behind which the radix sort waits, ends these in good time."""
    dtype = np.dtype(dtype)
    for n in (500, 1000, 2000):
        a = killer(n, 32 // dtype.itemsize).astype(dtype)
        same(anp.sort(anp.array(a)), np.arange(n).astype(dtype))
    for turn in (8, 64, 512):
        a = (np.arange(40_000) % turn * 40_000 + np.arange(40_000) // turn).astype(dtype)
        same(anp.sort(anp.array(a)), np.sort(a))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    "view", [np.s_[:, :], np.s_[::-1], np.s_[:, ::-1], np.s_[::2, 3:], np.s_[:, ::3]]
)
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "f8", "c16"])
def test_sort_of_a_view_in_place(dtype, view, axis):
    a = (np.random.default_rng(4).standard_normal((300, 37)) * 50).astype(dtype)
    for transpose in (False, True):
        ours, theirs = anp.array(a), a.copy()
        x, y = ours[view], theirs[view]
        (x.T if transpose else x).sort(axis=axis)
        (y.T if transpose else y).sort(axis=axis)
        same(ours, theirs)


@pytest.mark.parametrize("n", [65_536, 200_003])
@pytest.mark.parametrize("dtype", ["i4", "u8", "f4", "f8"])
def test_long_lines_on_all_threads(dtype, n):
    """Many or few distinct keys, in order, in reverse, and all equal: the pieces differ in length."""
    rng = np.random.default_rng(5)
    for most in (0, 1, 6, 2**31 - 1):
        a = rng.integers(0, most, n, endpoint=True).astype(dtype)
        for x in (a, np.sort(a), np.sort(a)[::-1]):
            same(anp.sort(anp.array(x)), np.sort(a))


@pytest.mark.parametrize("n", [200, 5000, 70_000])
@pytest.mark.parametrize(
    "low, high", [(-5, 5), (-(2**31), 2**31), (-(2**62), 2**62), (2**40, 2**40 + 9)]
)
def test_argsort_of_ranges(low, high, n):
    """Indices go along in the bits that the range of the keys leaves free, if any."""
    a = np.random.default_rng(6).integers(low, high, n, endpoint=True)
    a[: n // 2] -= a[0]
    same(anp.argsort(anp.array(a)), np.argsort(a, kind="stable"))


def test_keys_that_differ_in_their_lowest_bits():
    """More bits than fit beside an index, and runs of equal prefixes."""
    rng = np.random.default_rng(3)
    a = (rng.integers(0, 4, 5000).astype(np.uint64) << np.uint64(62)) | rng.integers(
        0, 8, 5000, dtype=np.uint64
    )
    same(anp.argsort(anp.array(a)), np.argsort(a, kind="stable"))
    rows = a.reshape(50, 100)
    same(anp.argsort(anp.array(rows), axis=0), np.argsort(rows, axis=0, kind="stable"))


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 5001])
@pytest.mark.parametrize("nan", [False, True])
def test_medians_and_quantiles_select(n, nan):
    a = np.random.default_rng(n).standard_normal((3, n))
    if nan:
        a[1, n // 2] = np.nan
    b = anp.array(a)
    for axis in (None, 0, 1):
        same(anp.median(b, axis=axis), np.median(a, axis=axis))
        np.testing.assert_allclose(
            np.asarray(anp.percentile(b, [0, 10, 50, 99, 100], axis=axis)),
            np.percentile(a, [0, 10, 50, 99, 100], axis=axis),
            rtol=1e-14,
        )
    many = np.linspace(0, 1, 40)
    np.testing.assert_allclose(
        np.asarray(anp.quantile(b, many)), np.quantile(a, many), rtol=1e-13, atol=1e-13
    )


def test_more_positions_than_dimensions():
    x = np.random.default_rng(2).random(500)
    kth = np.arange(0, 500, 3)
    ours = anp.partition(anp.array(x), kth).to_numpy()
    np.testing.assert_array_equal(ours[kth], np.sort(x)[kth])
    for bad in ([500] * 70, [0] * 70 + [-501]):
        with pytest.raises(ValueError, match="out of bounds"):
            anp.partition(anp.array(x), bad)


@given(lines(), st.integers(1, 5))
def test_order_statistics(case, count):
    """What median and quantile read: the elements at some positions of what is sorted."""
    a, b, axis, rng = case
    a, b = np.moveaxis(a, axis, -1), anp.moveaxis(b, axis, -1)
    kth = sorted({int(k) for k in rng.integers(0, a.shape[-1], count)})
    same(anp._core._order_statistics(b, kth), np.take(ordered(a, -1), kth, -1))


@pytest.mark.parametrize("kth", [[9, 3], [5000], [-1, 3]])
def test_order_statistics_ascend(kth):
    with pytest.raises(ValueError, match="order statistics: position"):
        anp._core._order_statistics(anp.arange(5000.0), kth)


# A sample of every n-th element says nothing of the rest.
MISLEADING = {
    **PATTERNS,
    "waves": lambda r, n: np.where(np.arange(n) % max(n // 512, 1), r.integers(0, 9999, n), -1),
    "one above": lambda r, n: np.where(np.arange(n) == n // 2, 9, 3),
    "halves": lambda r, n: np.concatenate([r.integers(500, 999, n // 2), r.integers(0, 501, n - n // 2)]),
    "around 0": lambda r, n: r.integers(-1, 2, n),
}  # fmt: skip


@pytest.mark.parametrize("pattern", MISLEADING)
@pytest.mark.parametrize("dtype", ["i4", "u4", "f4", "i8", "u8", "f8"])
def test_long_partitions_keep_the_order(dtype, pattern):
    """Past 1024 elements: those below the kth, equal to it and above it, each in their order, on every machine."""
    rng = np.random.default_rng(5)
    for n in (1025, 1031, 5000, 40_003):
        with np.errstate(invalid="ignore"):
            a = MISLEADING[pattern](rng, n).astype("i8").astype(dtype)
        for odd in ([], [0.0, -0.0], [-0.0, np.inf, -np.inf], [np.nan, -0.0, 0.0]):
            if odd and dtype[0] != "f":
                continue
            if odd:
                a[rng.integers(0, n, 99)] = rng.choice(odd, 99)
            b = anp.array(a)
            full = np.sort(a, kind="stable")
            zeros = np.flatnonzero(full == 0)
            if dtype[0] == "f" and zeros.size:  # -0.0 comes first
                minus = np.signbit(a[a == 0]).sum()
                full[zeros] = 0.0
                full[zeros[:minus]] = -0.0
            for k in (0, 1, n // 10, n // 2, n - 2, n - 1):
                ours = np.asarray(anp.partition(b, k))
                below, above = a < full[k], a > full[k]
                if dtype[0] == "f" and full[k] == 0:
                    below |= (a == 0) & np.signbit(a) & ~np.signbit(full[k])
                    above |= (a == 0) & ~np.signbit(a) & np.signbit(full[k])
                nan = np.isnan(a)
                if np.isnan(full[k]):
                    below = ~nan
                else:
                    above |= nan
                theirs = np.concatenate([a[below], a[~below & ~above], a[above]])
                if SINGLE_OPERATORS:  # there is an operator that sorts, and none that parts
                    theirs = np.sort(a, kind="stable")
                np.testing.assert_array_equal(ours, theirs)
                assert np.array_equal(np.signbit(ours[ours == 0]), np.signbit(theirs[theirs == 0]))
                own = b.copy()
                own.partition(k)
                np.testing.assert_array_equal(own, theirs)
            same(anp.median(b), np.median(a))
            same(anp.percentile(b, [1, 50, 99.9]), np.percentile(a, [1, 50, 99.9]))


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int32", "int64", "uint8", "float16", "complex128"]
)
@pytest.mark.parametrize("shape", [(9, 40, 51), (2, 5000), (3, 1600, 2), (16, 700), (33, 9, 20), (128, 70), (129, 70)])  # fmt: skip
def test_many_short_lines_across(dtype, shape):
    """Sorted side by side along the first axis and the last, where the wanted elements alone leave the tile."""
    r = np.random.default_rng(3)
    x = (r.standard_normal(shape) * 50).astype(dtype)
    kind = np.dtype(dtype).kind
    if kind == "f":
        x[r.random(shape) < 0.01] = np.nan
        x[r.random(shape) < 0.01] = np.inf
    for host in (x, np.ascontiguousarray(np.moveaxis(x, 0, -1)), x[:, ::-1]):
        axis = -1 if host.shape != shape else 0
        a = anp.array(host)
        np.testing.assert_array_equal(anp.sort(a, axis=axis).to_numpy(), np.sort(host, axis=axis))
        with np.errstate(all="ignore"), anp.errstate(all="ignore"):
            got, want = anp.median(a, axis=axis).to_numpy(), np.median(host, axis=axis)
            np.testing.assert_allclose(got, want, rtol=1e-3 if dtype == "float16" else 1e-6)
            if kind == "f" and dtype != "float16":
                q = [0, 0.1, 0.5, 0.77, 1]
                got = anp.quantile(a, q, axis=axis).to_numpy()
                np.testing.assert_allclose(got, np.quantile(host, q, axis=axis), rtol=1e-5)


# ---- from the largest down: NumPy has descending= from 2.5 on, AsNumpy with every version


def falling(a, axis):
    """Positions from the largest down, ties in their order, NaN at the end: of classes of NaN, then values."""
    if a.dtype.kind == "c":
        nans = 2 * np.isnan(a.real) + np.isnan(a.imag)
        keys = (
            np.where(np.isnan(a.imag), 0, -a.imag),
            np.where(np.isnan(a.real), 0, -a.real),
            nans,
        )
        return np.lexsort(keys, axis=axis)
    nans = np.isnan(a) if a.dtype.kind == "f" else np.zeros(a.shape, bool)
    value = np.where(nans, 0, -a) if a.dtype.kind == "f" else ~a
    return np.lexsort((value, nans), axis=axis)


@given(data=st.data(), dtype=st.sampled_from([*DTYPES, "?", "c8", "c16"]))
def test_descending(data, dtype):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    shape = data.draw(
        st.sampled_from([(0,), (1,), (7,), (33, 5), (5, 33), (2, 3, 4), (1500,), (3000, 2)])
    )
    kind = data.draw(st.sampled_from(["ties", "some", "any"]))
    if dtype == "?":
        a = rng.random(shape) < 0.5
    elif dtype[0] == "c":
        part = {"c8": "f4", "c16": "f8"}[dtype]
        a = np.empty(shape, dtype)
        a.real, a.imag = values(rng, part, shape, kind), values(rng, part, shape, kind)
    else:
        a = values(rng, dtype, shape, kind)
    for axis in (0, -1, None):
        flat, along = (a.reshape(-1), 0) if axis is None else (a, axis)
        order = falling(flat, along)
        wanted = np.take_along_axis(flat, order, along)
        same(anp.argsort(anp.array(a), axis=axis, descending=True), order)
        same(anp.array(a).argsort(axis, stable=True, descending=True), order)
        got = anp.sort(anp.array(a), axis=axis, descending=True)
        assert got.dtype == a.dtype
        same(got, wanted)
        if hasattr(np.ndarray, "_set_shape"):  # NumPy 2.5
            same(got, np.sort(a, axis=axis, stable=True, descending=True))
            same(order, np.argsort(a, axis=axis, stable=True, descending=True))
        if axis is not None:
            x, y = anp.array(a), anp.array(a)[::-1]
            assert x.sort(axis, descending=True) is None
            same(x, wanted)
            y.sort(axis, descending=True)
            same(y, np.take_along_axis(a[::-1], falling(a[::-1], axis), axis))


def test_keywords_of_descending():
    a = anp.array([2.0, np.nan, 3, -0.0, 0.0])
    assert anp.sort(a, descending=None).tolist()[:4] == anp.sort(a).tolist()[:4] == [0, 0, 2, 3]
    assert anp.sort(a, descending=np._NoValue).tolist()[:4] == [0, 0, 2, 3]
    assert anp.argsort(a, descending=1).tolist() == [2, 0, 3, 4, 1]
    assert anp.argsort(a, descending=False).tolist() == [3, 4, 0, 2, 1]
    assert anp.sort(np.float64(3), axis=None, descending=True).tolist() == [3]
    frozen = anp.arange(3)
    frozen.flags.writeable = False
    for call, error in (
        (lambda: anp.sort(a, kind="stable", descending=True), "`kind` and keyword parameters"),
        (lambda: a.argsort(kind="stable", descending=False), "`kind` and keyword parameters"),
        (lambda: a.sort(kind="foo", descending=True), "sort kind must be one of"),
        (lambda: anp.sort(a, descending=anp.ones(2)), "truth value of an array"),
        (lambda: anp.sort(a, order="x", descending=True), "no fields"),
        (lambda: frozen.sort(descending=True), "read-only"),
        (lambda: anp.sort(anp.array(1), descending=True), "out of bounds"),
    ):
        with pytest.raises(ValueError, match=error):
            call()
    with pytest.raises(TypeError):
        anp.sort(a, -1, None, None, None, True)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_stable_sorts_keep_every_bit(dtype, rng):
    """Zeros of both signs are equal, and so are NaN of whatever bits."""
    part = np.dtype(dtype).type(0).real.dtype
    integer = {2: "u2", 4: "u4", 8: "u8"}[part.itemsize]
    nan = np.array([np.nan] * 4, part).view(integer) | np.arange(4).astype(integer)
    nan = np.concatenate([nan.view(part), -nan.view(part)])
    plain = np.array([0.0, -0.0, 1, -1, np.inf], part)
    for n in (1, 2, 3, 9, 33, 150, 1000, 5000, 70000):
        for choice in (plain, plain[:2], np.concatenate([plain, nan]), nan[:1], plain[2:]):
            a = rng.choice(choice, n * (np.dtype(dtype).itemsize // part.itemsize)).view(dtype)
            pairs = [(m.sort(x, kind="stable"), m.sort(m.stack([x, x[::-1]]), axis=0, kind="m"),
                      m.sort(m.stack([x, x[::-1]]), stable=True)) for m, x in
                     ((np, a), (anp, anp.array(a)))]  # fmt: skip
            for expected, got in zip(*pairs, strict=True):
                assert got.to_numpy().tobytes() == expected.tobytes(), (n, choice)
            b = anp.array(a)
            b.sort(kind="stable")
            assert b.to_numpy().tobytes() == pairs[0][0].tobytes()
