"""Integers divided by one number: of 64 bits, beyond what floating point holds, and narrower ones."""

import asnumpy
import numpy as np
import pytest
from conftest import NPU

SIGNED = [1, 2, 3, 5, 7, 10, 641, 2**31 - 1, 2**32, 2**32 + 1, 2**51, 2**52 + 1, 2**62, 2**63 - 1]
DIVISORS = {
    "int64": [*SIGNED, -2, -3, -7, -1000, -(2**40) - 1, -(2**62), -(2**63)],
    "uint64": [*SIGNED, 2**63, 2**63 + 1, 2**64 - 1],
}


@pytest.mark.parametrize(
    "dtype", ["int64"] if NPU else DIVISORS
)  # CANN has no arithmetic of uint64
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_same_as_numpy(name, dtype):
    info, rng = np.iinfo(dtype), np.random.default_rng(1)
    for d in DIVISORS[dtype]:
        near = np.array([d], dtype) * rng.integers(0, 1000, 100).astype(dtype)
        a = np.concatenate([
            rng.integers(info.min, info.max, 500, dtype=dtype, endpoint=True),
            np.array([info.min, info.max, 0, 1, info.max - 1], dtype), near, near - np.array(1, dtype), near + np.array(1, dtype),
        ])  # fmt: skip
        divisor = np.array(d, dtype)
        ours = getattr(asnumpy, name)(asnumpy.asarray(a), divisor)
        np.testing.assert_array_equal(
            ours.to_numpy(), getattr(np, name)(a, divisor), err_msg=str(d)
        )


def test_in_place_and_over_the_divisor():
    a = np.random.default_rng(2).integers(-(2**62), 2**62, 300)
    x = asnumpy.array(a)
    x //= 7
    np.testing.assert_array_equal(x.to_numpy(), a // 7)
    x, y = asnumpy.array(a), asnumpy.full(300, 11)
    np.remainder(x, y, out=y)
    np.testing.assert_array_equal(y.to_numpy(), a % 11)


@pytest.mark.parametrize("d", [0, -1])
def test_conditions_are_numpys(d):
    a = np.array([-(2**63), 2**62, 5] * 10)
    with np.errstate(all="ignore"), asnumpy.errstate(all="ignore"):
        np.testing.assert_array_equal((asnumpy.array(a) // d).to_numpy(), a // d)
        np.testing.assert_array_equal((asnumpy.array(a) % d).to_numpy(), a % d)


def all_values(dtype):
    """Every value of one and two bytes; of four, random ones and those near the ends and the powers of two."""
    info = np.iinfo(dtype)
    if info.bits < 32:
        return np.arange(info.min, info.max + 1).astype(dtype)
    rng = np.random.default_rng(1)
    ends = np.array([s * 2**k + e for k in range(32) for e in (-1, 0, 1) for s in (1, -1)])
    ends = ends[(ends >= info.min) & (ends <= info.max)]
    random = rng.integers(info.min, info.max, 20_000, endpoint=True)
    return np.concatenate([random, ends, [info.min, info.max]]).astype(dtype)


def divisors(dtype):
    info, rng = np.iinfo(dtype), np.random.default_rng(2)
    if info.bits == 8:
        return [d for d in range(info.min, info.max + 1) if d]
    powers = [2**k + e for k in range(1, info.bits) for e in (-1, 0, 1)]
    drawn = [
        int(x) for x in rng.integers(2, info.max, 40, dtype="u4" if info.bits == 32 else dtype)
    ]
    found = {1, 3, 5, 7, 10, 100, 255, 641, info.max, info.max - 1, *powers, *drawn}
    return sorted(d for d in found if 0 < d <= info.max) + ([-1, -3, info.min] if info.min else [])


@pytest.mark.skipif(NPU, reason="CANN has no arithmetic of unsigned integers above 8 bits")
@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
)
def test_narrow_integers_and_powers_of_two(dtype):
    """A number beside a recorded array, and arrays of one number; powers of two are shifts and masks."""
    x = all_values(
        "int32" if dtype == "int64" else "uint32" if dtype == "uint64" else dtype
    ).astype(dtype)
    x = np.resize(x, max(x.size, 5000))
    a = asnumpy.array(x)
    with np.errstate(all="ignore"), asnumpy.errstate(all="ignore"):
        for d in divisors(dtype):
            number = np.array(d, dtype)[()]
            many = asnumpy.full(x.shape, d, dtype)
            for name in ("floor_divide", "remainder", "fmod"):
                want = getattr(np, name)(x, number)
                for got in (getattr(asnumpy, name)(a, number), getattr(asnumpy, name)(a, many)):
                    assert got.dtype == want.dtype
                    np.testing.assert_array_equal(got.to_numpy(), want, err_msg=f"{name} by {d}")
        y = x.copy()
        b = asnumpy.array(x)
        b //= 8
        b %= 4
        y //= 8
        y %= 4
        np.testing.assert_array_equal(b.to_numpy(), y)
