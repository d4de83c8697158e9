"""Copies, masks, indices and small products: the shapes at which a faster loop takes over."""

import asnumpy as anp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

DTYPES = ["?", "i1", "i2", "i4", "f4", "f8", "c8", "c16"]
EXTENTS = st.sampled_from([1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 65, 70, 130])


def made(rng, dtype, shape):
    return (rng.standard_normal(shape) * 100).astype(dtype)


def same(ours, theirs):
    ours = np.asarray(ours)
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


@given(
    st.sampled_from(DTYPES),
    st.lists(EXTENTS, min_size=1, max_size=3),
    st.randoms(use_true_random=False),
)
def test_copies_of_views(dtype, shape, random):
    rng = np.random.default_rng(random.randrange(2**32))
    a = made(rng, dtype, shape)
    index = tuple(
        random.choice([slice(None), slice(None, None, -1), slice(None, None, 2), slice(1, None, 3),
                       slice(None, None, -4)])
        for _ in shape
    )  # fmt: skip
    axes = random.sample(range(a.ndim), a.ndim)
    b = anp.array(a)
    same(b[index].transpose(axes).copy(), a[index].transpose(axes).copy())
    # into strided memory
    to, ours = np.zeros(a.shape, dtype), anp.zeros(a.shape, dtype)
    to[index], ours[index] = a[index], b[index]
    same(ours, to)


@pytest.mark.parametrize("n", [1000, 4096, 40_960, 40_961, 100_003])
@pytest.mark.parametrize("shift", [0, 1, 7, 33])
def test_long_rows_of_any_alignment(n, shift):
    a = np.arange(3 * n, dtype=np.int8).reshape(3, n)
    b = anp.array(a)
    same(anp.roll(b, shift, axis=1), np.roll(a, shift, axis=1))
    same(b[:, shift:].copy(), a[:, shift:])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 7, 63, 64, 65, 1023, 1024, 1025, 40_000])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_masks(dtype, n, share):
    rng = np.random.default_rng(n)
    a, m = made(rng, dtype, n), rng.random(n) < share
    b, k = anp.array(a), anp.array(m)
    same(b[k], a[m])
    same(b[::-1][k], a[::-1][m])
    same(anp.nonzero(k)[0], np.nonzero(m)[0])
    assert anp.count_nonzero(k) == np.count_nonzero(m)
    v = made(rng, dtype, int(m.sum()))
    a[m], b[k] = v, anp.array(v)
    same(b, a)


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f4", "f8"])
def test_repeated_indices_add_up(dtype):
    rng = np.random.default_rng(5)
    a = (rng.standard_normal(50) * 10).astype("i8").astype(dtype)
    i, v = rng.integers(-50, 50, 3000), rng.integers(0, 100, 3000).astype(dtype)
    b = anp.array(a)
    np.add.at(a, i, v)
    anp.add.at(b, anp.array(i), anp.array(v))
    same(b, a)
    same(b[anp.array(i)], a[i])
    with pytest.raises(IndexError, match="index 50 is out of bounds for axis 0 with size 50"):
        b[anp.array(np.append(i, 50))]


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8"])
def test_weighted_counts(dtype):
    rng = np.random.default_rng(6)
    x, w = rng.integers(0, 100, 5000).astype(dtype), rng.standard_normal(5000)
    same(anp.bincount(anp.array(x), anp.array(w)), np.bincount(x, w))
    same(anp.bincount(anp.array(x)[::3], anp.array(w)[::3]), np.bincount(x[::3], w[::3]))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["i2", "i4", "f4", "f8", "c16"])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_few_searches_in_a_long_array(dtype, side, step):
    rng = np.random.default_rng(7)
    a = np.sort(made(rng, dtype, 9000))
    if dtype == "f8":
        a[-5:] = np.nan
    v = np.concatenate([a[[0, 5000, 8999]], made(rng, dtype, 9)])
    a, b = (a, anp.array(a)) if step > 0 else (a, anp.array(a[::-1].copy())[::-1])
    if step == 2:
        a, b = a[::2], b[::2]
    same(anp.searchsorted(b, anp.array(v), side), np.searchsorted(a, v, side))


@given(
    st.sampled_from(["f4", "f8"]),
    st.tuples(*[st.sampled_from([1, 2, 3, 4, 5, 7, 8, 9, 16, 40, 300])] * 3),
    st.sampled_from([(), (3,), (2, 3), (60,)]),
    st.randoms(use_true_random=False),
)
def test_products(dtype, mnk, batch, random):
    m, n, k = mnk
    rng = np.random.default_rng(random.randrange(2**32))
    a, b = made(rng, dtype, (*batch, m, k)), made(rng, dtype, (*batch, k, n))
    x, y = anp.array(a), anp.array(b)
    if random.random() < 0.4:
        x = anp.array(np.ascontiguousarray(a.swapaxes(-1, -2))).swapaxes(-1, -2)
    if random.random() < 0.4:
        y = anp.array(np.ascontiguousarray(b.swapaxes(-1, -2))).swapaxes(-1, -2)
    if not batch and random.random() < 0.4:
        b, y = b[:, 0], y[:, 0]
    if not batch and random.random() < 0.4:
        a, x = a[0], x[0]
    exact = a.astype("f8") @ b.astype("f8")
    bound = np.abs(a.astype("f8")) @ np.abs(b.astype("f8")) * np.finfo(dtype).eps * (k + 2)
    assert (np.abs(np.asarray(x @ y) - exact) <= bound).all()


@pytest.mark.parametrize("dtype", ["?", "u1", "i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("n", [1, 15, 16, 17, 63, 100, 2048, 2049, 100_000])
def test_extremes(dtype, n):
    rng = np.random.default_rng(n)
    a = made(rng, dtype, n)
    b = anp.array(a)
    for name in ("argmax", "argmin", "max", "min", "any", "all"):
        assert getattr(b, name)() == getattr(a, name)()
    if dtype[0] == "f":
        a[n // 2] = np.nan
        b = anp.array(a)
        assert b.argmax() == a.argmax() and b.argmin() == a.argmin()
        assert np.isnan(b.max()) and np.isnan(b.min())


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "u4", "i8", "u8"])
@pytest.mark.parametrize("n", [3, 1000, 50_000])
def test_choosing_an_integer_that_does_not_fit(n, dtype):
    """where takes its low bytes, as NumPy's does, where other functions refuse it."""
    x = np.arange(n).astype(dtype)
    for number in (300, -1, -129, 2**31, 2**62, -(2**40)):
        for mask in (x % 3 == 0, x >= 0):
            got = anp.where(anp.array(mask), number, anp.array(x))
            other = anp.where(anp.array(mask), anp.array(x), number)
            assert got.dtype == other.dtype == x.dtype
            np.testing.assert_array_equal(got.to_numpy(), np.where(mask, number, x))
            np.testing.assert_array_equal(other.to_numpy(), np.where(mask, x, number))


@pytest.mark.parametrize("where", [0, 5000, 99_999, None])
def test_any_and_all_end_early(where):
    a = np.zeros(100_000, bool)
    if where is not None:
        a[where] = True
    assert anp.array(a).any() == a.any() and anp.array(~a).all() == (~a).all()
    assert anp.array(a).argmax() == a.argmax() and anp.array(~a).argmin() == (~a).argmin()
    rows = a.reshape(10, 10_000)
    same(anp.array(rows).any(1), rows.any(1))
    same(anp.array(~rows).all(0), (~rows).all(0))


@given(
    st.sampled_from([0, 1, 5, 255, 256, 257, 1000, 9000]),
    st.sampled_from([1, 2, 3, 10, 100, 5000]),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_interpolation(n, points, ascending, random):
    """To the bit, with repeated points, infinities and NaN on either axis."""
    rng = np.random.default_rng(random.randrange(2**32))
    xp = np.sort(np.round(rng.standard_normal(points), random.randrange(4)))
    fp, x = rng.standard_normal(points), rng.standard_normal(n) * 1.5
    x = np.sort(x) if ascending else x
    if random.random() < 0.3:
        fp[random.randrange(points)] = random.choice([np.inf, -np.inf, np.nan])
    if n and random.random() < 0.5:
        x[rng.integers(0, n, n // 4 + 1)] = random.choice([np.nan, np.inf, xp[0], xp[-1]])
    sides = random.choice([{}, {"left": -7, "right": np.nan}])
    ours = np.asarray(anp.interp(anp.array(x), anp.array(xp), anp.array(fp), **sides))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(ours, np.interp(x, xp, fp, **sides))


@pytest.mark.parametrize("dtype", ["i2", "f4", "f8", "c16"])
def test_masks_of_every_length(dtype):
    """Masked moves store whole registers while elements are to follow, and nothing behind the last one."""
    r = np.random.default_rng(5)
    for n in range(0, 300, 1 if dtype in ("f4", "f8") else 7):
        mask = r.random(n) < r.choice([0.02, 0.5, 0.98])
        x = (r.standard_normal(n) * 99).astype(dtype)
        a, m = anp.array(x), anp.array(mask)
        np.testing.assert_array_equal(a[m].to_numpy(), x[mask])
        np.testing.assert_array_equal(anp.nonzero(m)[0].to_numpy(), np.nonzero(mask)[0])
        assert anp.count_nonzero(m) == mask.sum() and anp.count_nonzero(a) == np.count_nonzero(x)
        values = r.standard_normal(int(mask.sum())).astype(dtype)
        a[m], x[mask] = anp.array(values), values
        np.testing.assert_array_equal(a.to_numpy(), x)
        rows, mask_of_rows = anp.array(np.stack([x] * 3)), np.stack([mask, ~mask, mask])
        np.testing.assert_array_equal(
            rows[anp.array(mask_of_rows)].to_numpy(), np.stack([x] * 3)[mask_of_rows]
        )


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("step", [2, 3, 4, 5])
def test_every_second_to_fifth_element_is_written(dtype, step):
    """By vectors whose other lanes are left alone: copies, results in place, sums along the last axis."""
    r = np.random.default_rng(step)
    for n in (1, 15, 16, 17, 31, 64, 65, 700, 4099):
        x = r.integers(0, 9, (n, step)).astype(dtype)
        y = r.integers(0, 9, n).astype(dtype)
        for column in (0, step - 1):
            a, b = anp.array(x), x.copy()
            a[:, column] = anp.array(y)
            b[:, column] = y
            np.testing.assert_array_equal(a.to_numpy(), b)
            a[:, column] += anp.array(y)[::-1]
            b[:, column] += y[::-1]
            a[1:, column] *= a[1:, (column + 1) % step]
            b[1:, column] *= b[1:, (column + 1) % step]
            np.testing.assert_array_equal(a.to_numpy(), b)
        out, host = anp.array(x), x.copy()
        anp.sum(anp.array(x), axis=1, out=out[:, 1])
        np.sum(x, axis=1, out=host[:, 1])
        np.testing.assert_array_equal(out.to_numpy(), host)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float32", "float64"])
def test_positions_in_short_rows(dtype):
    """The first largest and smallest of rows of up to a few vectors: ties, zeros of both signs, NaN, rows far apart."""
    r = np.random.default_rng(0)
    for n in [*range(1, 20), 31, 33]:
        for rows in (1, 7, 8, 15, 16, 17, 63, 2000):
            x = r.integers(-3, 4, (rows, n)).astype(dtype)
            if np.dtype(dtype).kind == "f":
                x[x == 1] = -0.0
                x[r.random(x.shape) < 0.02] = np.nan
                x[r.random(x.shape) < 0.02] = np.inf
            wide = np.zeros((rows, n + 3), dtype)
            wide[:, :n] = x
            a, b = anp.array(x), anp.array(wide)
            for name in ("argmax", "argmin"):
                for array, host in (
                    (a, x), (b[:, :n], x), (a[::-1], x[::-1]), (a[:, ::-1], x[:, ::-1]), (b[::2, :n], x[::2]),
                ):  # fmt: skip
                    got = getattr(array, name)(axis=1).to_numpy()
                    np.testing.assert_array_equal(got, getattr(host, name)(axis=1))


@pytest.mark.parametrize("dtype", ["u1", "f4", "c16"])
def test_rows_of_every_short_length(dtype):
    """Rows from one element to more than two vectors, between memory of other strides, at every place."""
    item = np.dtype(dtype).itemsize
    for n in range(1, 150 // item + 2):
        wide = (np.arange(40 * (170 // item + 8)) * 7 % 251).astype(dtype).reshape(40, -1)
        begin = n % 5
        rows = wide[:, begin : begin + n]
        device = anp.array(wide)[:, begin : begin + n]
        np.testing.assert_array_equal(device.copy().to_numpy(), rows)
        target, into = np.zeros_like(wide), anp.zeros(wide.shape, dtype)
        target[:, 1 : n + 1] = rows
        into[:, 1 : n + 1] = device
        np.testing.assert_array_equal(into.to_numpy(), target)  # and nothing beside them
        joined = anp.concatenate([device, into[:, :3]], axis=1)
        np.testing.assert_array_equal(joined.to_numpy(), np.concatenate([rows, target[:, :3]], 1))
