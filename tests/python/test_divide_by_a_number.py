"""Integers of 64 bits divided by one number, beyond what floating point holds."""

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
