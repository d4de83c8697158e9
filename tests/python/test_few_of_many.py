"""Few elements of large arrays: picked, written, looked for, and as bits; beside NumPy and the general path."""

import numbers
import warnings

import asnumpy
import numpy as np
import pytest
from conftest import NPU

DTYPES = ("?", "i1", "u1", "i2", "i4", "i8", "f4", "f8", "c8", "c16")
if not NPU:
    DTYPES += ("u2", "u4", "u8", "f2")


def random(rng, shape, dtype):
    if np.dtype(dtype).kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return (rng.normal(size=shape) * 50).astype(dtype)


def same(got, want):
    got = np.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_few_indices_of_many_elements(dtype):
    rng = np.random.default_rng(1)
    for shape in ((3000,), (70_000,), (5000, 3), (30, 40, 50), (2500, 1)):
        x = random(rng, shape, dtype)
        for count in (1, 7, 200, 2048, 2049):
            at = rng.integers(-shape[0], shape[0], count)
            a = asnumpy.array(x)
            same(a[asnumpy.array(at)], x[at])
            values = random(rng, (count, *shape[1:]), dtype)
            for value in (values, values[0], values.ravel()[0]):
                want = x.copy()
                want[at] = value
                a[asnumpy.array(at)] = asnumpy.array(value) if np.ndim(value) else value
                same(a, want)
                a, want = asnumpy.array(x), x.copy()


@pytest.mark.parametrize("dtype", ["f8", "i2"])
def test_views_of_large_arrays(dtype):
    """With gaps, backwards, from the middle; the indices and the values parts of the array itself."""
    rng = np.random.default_rng(2)
    at = rng.integers(-2000, 2000, 300)
    for cut in (np.s_[::2], np.s_[::-1], np.s_[1000:3500], np.s_[5::3]):
        x = random(rng, 9000, dtype)
        a = asnumpy.array(x)
        same(a[cut][asnumpy.array(at)], x[cut][at])
        for value in (x[:300].copy(), x[0]):
            a[cut][asnumpy.array(at)] = asnumpy.array(value) if np.ndim(value) else value
            x[cut][at] = value
            same(a, x)
    y = rng.integers(0, 5000, 5000)
    b = asnumpy.array(y)
    b[b[:100]] = b[100:200]
    y[y[:100].copy()] = y[100:200].copy()
    same(b, y)


def test_an_index_outside_writes_nothing():
    x = np.arange(5000.0)
    a = asnumpy.array(x)
    at = asnumpy.array([1, 5000])
    with pytest.raises(IndexError, match="index 5000 is out of bounds for axis 0 with size 5000"):
        a[at]
    for write in (lambda: a.__setitem__(at, 1.0), lambda: a.__setitem__(at, asnumpy.ones(2)),
                  lambda: asnumpy.put(a, at, asnumpy.ones(2))):  # fmt: skip
        with pytest.raises(IndexError):
            write()
        same(a, x)
    fixed = asnumpy.array(x)
    fixed.flags.writeable = False
    for write in (lambda: fixed.__setitem__(at[:1], 1.0), lambda: asnumpy.put(fixed, at[:1], asnumpy.ones(1)),
                  lambda: asnumpy.putmask(fixed, fixed > 0, asnumpy.ones(2))):  # fmt: skip
        with pytest.raises(ValueError):
            write()


@pytest.mark.parametrize("dtype", DTYPES)
def test_put_place_putmask(dtype):
    rng = np.random.default_rng(3)
    for shape in ((1,), (13,), (100,), (9, 21), (2048,), (2049,), (60, 70)):
        x = random(rng, shape, dtype)
        n = x.size
        for count in (1, 3, n, n + 5):
            values = random(rng, count, dtype)
            v = asnumpy.array(values)
            for p in (0.0, 0.2, 1.0):
                mask = rng.random(shape) < p
                for name in ("place", "putmask"):
                    want, a = x.copy(), asnumpy.array(x)
                    getattr(np, name)(want, mask, values)
                    getattr(asnumpy, name)(a, asnumpy.array(mask), v)
                    same(a, want)
            at = rng.integers(-n, n, min(count, 2000))
            for few in (values, values[:1], values[:2]):
                want, a = x.copy(), asnumpy.array(x)
                np.put(want, at, few)
                asnumpy.put(a, asnumpy.array(at), asnumpy.array(few))
                same(a, want)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 64, 255, 256, 257, 2040, 2048, 2049, 20_000])
def test_bits(n):
    rng = np.random.default_rng(n)
    bits, numbers = rng.random(n) < 0.5, rng.integers(0, 3, n).astype("u1")
    data = rng.integers(0, 256, n).astype("u1")
    for order in ("big", "little"):
        for x in (bits, numbers, bits.view("u1") * 7):
            same(asnumpy.packbits(asnumpy.array(x), bitorder=order), np.packbits(x, bitorder=order))
        same(asnumpy.unpackbits(asnumpy.array(data), bitorder=order), np.unpackbits(data, bitorder=order))  # fmt: skip
        rows = np.resize(data, (5, n))
        for axis in (0, 1):
            same(asnumpy.packbits(asnumpy.array(rows), axis=axis, bitorder=order),
                 np.packbits(rows, axis=axis, bitorder=order))  # fmt: skip
            for count in (None, 8 * rows.shape[axis] - 3):
                same(asnumpy.unpackbits(asnumpy.array(rows), axis=axis, count=count, bitorder=order),
                     np.unpackbits(rows, axis=axis, count=count, bitorder=order))  # fmt: skip
    a = asnumpy.array(bits)
    same(asnumpy.packbits(a[1:]), np.packbits(bits[1:]))
    result = asnumpy.unpackbits(asnumpy.array(data))
    result += 1  # its own memory
    same(result, np.unpackbits(data) + np.uint8(1))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "?"])
def test_few_values_in_a_long_sorted_array(dtype):
    rng = np.random.default_rng(4)
    for n in (500, 5000, 40_000):
        x = random(rng, n, dtype)
        if np.dtype(dtype).kind in "fc":
            x[:7] = [np.nan, 0.0, -0.0, np.inf, -np.inf, np.nan, 0.0]
        x = np.sort(x)
        for count in (1, 2, 15, 16, 17, 40, 150):
            values = random(rng, count, dtype)
            values[: count // 3] = x[rng.integers(0, n, count // 3)]
            for side in ("left", "right"):
                same(asnumpy.searchsorted(asnumpy.array(x), asnumpy.array(values), side),
                     np.searchsorted(x, values, side))  # fmt: skip
                wide = asnumpy.array(np.repeat(x, 2))[::2]
                same(asnumpy.searchsorted(wide, asnumpy.array(values)[::-1], side),
                     np.searchsorted(x, values[::-1], side))  # fmt: skip


def test_membership_by_a_table():
    rng = np.random.default_rng(5)
    ends = np.array([-(2**63), 2**63 - 1, -1, 0, 1, 10, 19, 20, 21, 9])
    x = np.concatenate([ends, rng.integers(-30, 60, 3000)])
    for test in ([10, 12, 20], [-(2**63), -(2**63) + 5], [2**63 - 1, 2**63 - 9], [0], [-1, 1]):
        for invert in (False, True):
            same(asnumpy.isin(asnumpy.array(x), test, invert=invert), np.isin(x, test, invert=invert))  # fmt: skip
    for dtype in ("i1", "u1", "i4", "?"):
        y = x[10:].astype(dtype)
        same(asnumpy.isin(asnumpy.array(y), [1, 3]), np.isin(y, [1, 3]))


@pytest.mark.parametrize("dtype", ["i1"] if NPU else ["i1", "u1"])
def test_bytes_shifted(dtype):
    """Every byte by every count, those beyond the width and negative ones as well."""
    every = np.arange(256).astype(dtype)
    x, by = np.repeat(every, 256), np.tile(every, 256)
    with np.errstate(all="ignore"):
        for name in ("left_shift", "right_shift"):
            want = getattr(np, name)(x, by)
            same(getattr(asnumpy, name)(asnumpy.array(x), asnumpy.array(by)), want)
            for count in (0, 1, 4, 7):
                number = np.array(count, dtype)[()]
                same(getattr(asnumpy, name)(asnumpy.array(x), number), getattr(np, name)(x, number))


@pytest.mark.parametrize("dtype", DTYPES)
def test_positions_in_few_rows(dtype):
    """argmax and argmin of each row, of arrays that are small and some that are not."""
    rng = np.random.default_rng(6)
    for shape in (
        (1, 1),
        (1, 7),
        (10, 10),
        (32, 64),
        (33, 62),
        (40, 3),
        (2, 3, 5),
        (3, 0 + 1, 9),
        (31, 67),
    ):
        x = random(rng, shape, dtype)
        if np.dtype(dtype).kind in "fc" and x.size > 3:
            x.ravel()[[0, 3]] = np.nan
        a = asnumpy.array(x)
        for name in ("argmax", "argmin"):
            for options in ({"axis": -1}, {"axis": len(shape) - 1, "keepdims": True}, {"axis": 0}):
                same(getattr(asnumpy, name)(a, **options), getattr(np, name)(x, **options))
            same(
                getattr(asnumpy, name)(a[:, ::-1], axis=-1), getattr(np, name)(x[:, ::-1], axis=-1)
            )


@pytest.mark.parametrize("mode", ["edge", "constant"])
def test_pads_of_any_widths(mode):
    rng = np.random.default_rng(7)
    for shape in ((5,), (3000,), (4, 6), (40, 50), (3, 4, 5), (1, 1), (0, 3)):
        for dtype in ("f4", "i8", "?", "c16"):
            for _ in range(4):
                widths = [tuple(map(int, rng.integers(0, 4, 2))) if n else (0, 0) for n in shape]
                for x in (random(rng, shape, dtype), np.asfortranarray(random(rng, shape, dtype))):
                    got = asnumpy.pad(asnumpy.asarray(x), widths, mode)
                    want = np.pad(x, widths, mode)
                    same(got, want)
                    assert got.flags.fnc == want.flags.fnc


@pytest.mark.parametrize("dtype", DTYPES)
def test_put_of_lists_and_numbers(dtype):
    rng = np.random.default_rng(8)
    x = random(rng, (5, 9), dtype)
    lists = ([1, 3, -45], [], [44], 7, [[0, 1], [2, 3]], [True, False], np.array([3, 1], "i2"))
    for at in lists:
        for values in (0.5, 2, True, [1, 2, 3], [0.25], [2.5, 1.0], np.float32(3), [[7]], []):
            want, a = x.copy(), asnumpy.array(x)
            with np.errstate(all="ignore"), asnumpy.errstate(all="ignore"):
                try:
                    np.put(want, at, values)
                except Exception as error:
                    with pytest.raises(type(error)):
                        asnumpy.put(a, at, values)
                    continue
                asnumpy.put(a, at, values)
            same(a, want)


def set_flat(a, value):
    a.flat[[0, 2]] = value


def choose_default(np_, a, value):
    return np_.select([a != 0], [a], value)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i8", "u8", "f4", "f8", "?", "c8"])
@pytest.mark.parametrize(
    "value", [300, -5, 3.7, 1e10, float("nan"), 1j, True, 2**40, [1, 300], [1.5, 2], [], "7", np.str_("7"), None,
              np.int64(300), np.float64(1e10), np.array([300, 1.5])]
)  # fmt: skip
@pytest.mark.parametrize("write", [
    lambda np_, a, v: np_.put(a, [0, 2], v),
    lambda np_, a, v: set_flat(a, v),
    lambda np_, a, v: np_.where(a[:3] == 0, v, a[0]),
    choose_default,
    lambda np_, a, v: np_.pad(a, 1, constant_values=v),
    lambda np_, a, v: np_.full(3, v, a.dtype),
    lambda np_, a, v: np_.full_like(a[:3], v),
])  # fmt: skip
def test_numbers_are_taken_as_the_array_takes_them(write, dtype, value):
    for n in (4, 5000):
        if write is choose_default and not isinstance(value, numbers.Number):
            continue  # text and objects are a result of their own
        outcomes = []
        for np_ in (np, asnumpy):
            a = np_.zeros(n, dtype)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    made = write(np_, a, value)
                    made = np.asarray(a if made is None else made)
                    outcomes.append((made.dtype, made.tobytes()))
                except (TypeError, ValueError, OverflowError) as error:
                    outcomes.append(type(error))
        assert outcomes[0] == outcomes[1]
