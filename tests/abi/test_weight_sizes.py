"""Elements of weights in FRACTAL_NZ: CANN's documented examples, random shapes, refusals."""

import ctypes

import numpy as np
import pytest
from aclnn import lib
from hypothesis import given
from hypothesis import strategies as st

FLOAT, FLOAT16, INT8, BF16 = 0, 1, 2, 27  # aclDataType
EXTENT = st.integers(1, 5000)


def size(shape, dtype=None):
    """(status, elements) of a shape; without a dtype the first version."""
    create = lib.aclCreateIntArray
    array = ctypes.c_void_p(create((ctypes.c_int64 * len(shape))(*shape), len(shape)))
    found = ctypes.c_uint64()
    if dtype is None:
        code = lib.aclnnCalculateMatmulWeightSize(array, ctypes.byref(found))
    else:
        code = lib.aclnnCalculateMatmulWeightSizeV2(array, dtype, ctypes.byref(found))
    assert lib.aclDestroyIntArray(array) == 0
    return code, found.value


def test_documented_examples():
    assert size([510, 510]) == (0, 262144)
    assert size([510, 510], FLOAT16) == (0, 262144)
    assert size([510, 270], INT8) == (0, 147456)


@given(st.lists(EXTENT, min_size=2, max_size=3), st.sampled_from([FLOAT16, INT8, BF16]))
def test_last_two_extents_are_rounded_up(shape, dtype):
    step = np.array([16, 32 if dtype == INT8 else 16])
    last = -(-np.array(shape[-2:]) // step) * step
    want = int(np.prod(shape[:-2], dtype=int) * last.prod())
    assert size(shape, dtype) == (0, want)
    if dtype != INT8:
        assert size(shape) == (0, want)


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [([3], FLOAT16), ([1] * 7, FLOAT16), ([3, 0], FLOAT16), ([3, 4], FLOAT), ([2] * 4, None),
     ([2**40, 2**40], INT8)],
)  # fmt: skip
def test_refused(shape, dtype):
    assert size(shape, dtype) == (161002, 0)
    assert lib.aclnnCalculateMatmulWeightSize(None, None) == 161001
