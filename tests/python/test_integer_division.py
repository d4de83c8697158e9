"""Integer quotients and remainders: vectors by way of floating point, and what these leave to single divisions."""

import warnings

import asnumpy
import numpy as np
import pytest
from conftest import DELAYED, SINGLE_OPERATORS

FUNCTIONS = ("floor_divide", "remainder", "fmod")
DTYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")


def edges(dtype):
    """Ends of the dtype and of what a float64 or a float32 holds, zeros and small numbers."""
    info = np.iinfo(dtype)
    near = [1 << k for k in (22, 23, 24, 31, 32, 50, 51, 52, 53, 62, 63)] + [info.max, info.min]
    values = [0, 1, 2, 3, 7, 100] + [n + d for n in near for d in (-2, -1, 0, 1, 2)]
    values += [-v for v in values]
    return np.array([v for v in values if info.min <= v <= info.max], dtype)


def check(x, y):
    a, b = asnumpy.array(x), asnumpy.array(y)
    for name in FUNCTIONS:
        with warnings.catch_warnings(record=True) as expected:
            warnings.simplefilter("always")
            want = getattr(np, name)(x, y)
        with warnings.catch_warnings(record=True) as met:
            warnings.simplefilter("always")
            got = getattr(asnumpy, name)(a, b).to_numpy()
        np.testing.assert_array_equal(got, want, err_msg=f"{name} of {x.dtype}")
        if SINGLE_OPERATORS:
            continue  # CANN's operators tell of no exceptions
        ours, theirs = ([str(w.message) for w in heard] for heard in (met, expected))
        if DELAYED:  # where it is waited for, it may not be known any more which operation it was
            ours, theirs = ([m.partition(" in ")[0] for m in heard] for heard in (ours, theirs))
        assert sorted(ours) == sorted(theirs)


@pytest.mark.parametrize("dtype", ["i1", "u1"])
def test_every_pair_of_bytes(dtype):
    every = np.arange(256).astype(dtype)
    check(np.repeat(every, 256), np.tile(every, 256))


@pytest.mark.parametrize("dtype", DTYPES)
def test_pairs_of_edges(dtype):
    """Each pair in vectors of its own kind (all lanes alike), and among others."""
    values = edges(dtype)
    x, y = np.repeat(values, len(values)), np.tile(values, len(values))
    fits = (y != 0) & ~((x == np.iinfo(dtype).min) & (y.astype("f8") == -1))
    check(np.repeat(x[fits], 8), np.repeat(y[fits], 8))
    check(x[fits], y[fits])
    check(x, y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bits", [5, 20, 40, 52, 64])
def test_random_pairs(dtype, bits):
    r = np.random.default_rng(bits)
    for n in (1, 3, 4, 7, 8, 9, 33, 10_007):
        x, y = (r.integers(0, 1 << 64, n, dtype="u8") >> np.uint64(64 - bits) for _ in range(2))
        x, y = (x.astype(dtype), y.astype(dtype))
        if dtype[0] == "i":
            x = np.where(r.random(n) < 0.5, x, -x)
            y = np.where(r.random(n) < 0.5, y, -y)
        y[y == 0] = 3
        check(x, y)
        quotient, rest = asnumpy.divmod(asnumpy.array(x), asnumpy.array(y))
        np.testing.assert_array_equal(quotient.to_numpy(), np.divmod(x, y)[0])
        np.testing.assert_array_equal(rest.to_numpy(), np.divmod(x, y)[1])
        a, b = asnumpy.array(x), asnumpy.array(y)
        a //= b
        b %= a + (a == 0)
        np.testing.assert_array_equal(a.to_numpy(), x // y)
        np.testing.assert_array_equal(b.to_numpy(), y % (x // y + (x // y == 0)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bits", [4, 15, 31, 45, 64])
def test_common_divisors(dtype, bits):
    r = np.random.default_rng(bits)
    values = edges(dtype)
    pairs = [(np.repeat(values, len(values)), np.tile(values, len(values)))]
    for n in (1, 15, 16, 17, 33, 64, 127, 3001):
        x, y, z = (r.integers(0, 1 << 64, n, dtype="u8") >> np.uint64(64 - bits) for _ in range(3))
        pairs.append((x.astype(dtype), y.astype(dtype)))
        pairs.append(((x * z).astype(dtype), (y * z).astype(dtype)))
    for x, y in pairs:
        a, b = asnumpy.array(x), asnumpy.array(y)
        np.testing.assert_array_equal(asnumpy.gcd(a, b).to_numpy(), np.gcd(x, y))
        np.testing.assert_array_equal(asnumpy.lcm(a, b).to_numpy(), np.lcm(x, y))
        a = asnumpy.gcd(a, b, out=a)
        np.testing.assert_array_equal(a.to_numpy(), np.gcd(x, y))


@pytest.mark.skipif(SINGLE_OPERATORS or DELAYED, reason="conditions are not known at the call")
@pytest.mark.parametrize("size", [5, 60_000])
@pytest.mark.parametrize("text", [
    "a // z", "7 // z", "a // 0", "a % 0", "7 % z", "divmod(a, z)", "divmod(7, z)", "np.floor_divide(7, z, out=a)", "np.fmod(7, z)",
    "np.remainder(a, z)", "a.__ifloordiv__(z)", "np.floor_divide(np.int64(7), z)", "low // -1", "low // m",
])  # fmt: skip
def test_zero_is_told_at_the_call(text, size):
    """... and not by what reads the result: programs catch the warning around the call."""
    seen = []
    for module in (asnumpy, np):
        names = {"a": module.arange(size) + 3, "z": module.zeros(size, dtype="i8"), "np": module}
        names |= {"low": module.full(size, -(2**63)), "m": module.full(size, -1)}
        if module is asnumpy:
            asnumpy.synchronize()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            kept = eval(text, names)
        seen.append(sorted({str(w.message).partition(" in ")[0] for w in caught}))
        del kept
    assert seen[0] == seen[1] and seen[0]
