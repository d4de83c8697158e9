"""Sizes that no machine has: shapes, strides, counts and offsets whose products or sums leave 64 bits are refused, in a
process that goes on. Broadcast views make such shapes of one element. NumPy is not asked: some of it overflows."""

import math

import asnumpy
import numpy as np
import pytest

B = "np.broadcast_to(np.int8(1), (2**62,))"
REFUSED = f"""
np.concatenate([{B}] * 2) | np.concatenate([{B}] * 3) | np.concatenate([{B}] * 4) | np.concatenate([{B}] * 4 + [np.zeros(5, 'i1')]) | np.concatenate([{B}] * 8, axis=None)
np.vstack([{B}] * 4) | np.hstack([{B}] * 4) | np.hstack([{B}] * 5) | np.stack([{B}] * 4) | np.stack([{B}] * 4, 1) | np.dstack([{B}] * 4) | np.block([{B}] * 4) | np.append({B}, {B}) | np.column_stack([{B}] * 4)
np.tile({B}, 2) | np.tile({B}, 4) | np.tile({B}, (4, 4)) | np.tile({B}, 2**62) | np.tile(np.arange(3), 2**62) | np.tile(np.arange(3), (2**40, 2**40))
np.repeat({B}, 2) | np.repeat({B}, 4) | np.repeat({B}, [4]) | np.repeat({B}, 2**62) | np.repeat({B}, 2**62, axis=0) | np.repeat(5, 2**62) | np.repeat(np.arange(3), 2**62) | np.repeat(np.arange(4), [2**62] * 4)
np.repeat(np.arange(3), [2**63 - 1, 2**63 - 1, 2]) | np.pad(np.arange(3), 2**62) | np.pad(np.arange(3), 2**62, mode="reflect") | np.pad(np.arange(3), 2**63 - 1, mode="edge")
np.broadcast_to(1.0, (3, 6148914691236517208)) | np.broadcast_to(1.0, (2**60, 16)) | np.broadcast_to(np.int8(1), (2**32, 2**31)) | np.broadcast_to(np.int8(1), (2**32, 2**32, 0)) | np.broadcast_to(np.float64(1), (2**60,))
np.broadcast_to({B}, (4, 2**62)) | np.broadcast_arrays({B}, np.zeros((4, 1))) | np.broadcast_shapes((2**40, 1), (1, 2**40)) | np.broadcast(np.broadcast_to(1, (2**40, 1)), np.broadcast_to(1, (1, 2**40)))
np.lib.stride_tricks.sliding_window_view({B}, 2**30, axis=0) | np.broadcast_to(1.0, (2**31, 1)) + np.broadcast_to(1.0, (1, 2**31)) | np.add.outer(*[np.broadcast_to(1.0, 2**32)] * 2) | np.zeros((2**63 - 1, 2))
np.ndarray((2**61,), "f8", bytearray(80)) | np.ndarray((3,), "f8", bytearray(80), strides=(2**62,)) | np.ndarray((3, 3), "f8", bytearray(80), 0, (2**62, 2**62)) | np.ndarray((4,), "f8", bytearray(80), 2**63 - 8)
np.ndarray((3,), "f8", bytearray(80), 8, (-8,)) | np.frombuffer(b"12345678", "i1", 2**63 - 1, 1) | np.frombuffer(b"12345678", offset=-8) | np.zeros(3).resize((2**32, 2**32))
np.random.default_rng(0).random(2**60 - 1) | np.random.default_rng(0).random(2**61 - 1, "f4") | np.random.default_rng(0).integers(0, 2, 2**63 - 1, "i1") | np.random.default_rng(0).normal(0, 1, 2**60 - 1)
np.ones(2**63 - 1, "i1")[1] | np.ones(2**60 - 1).tobytes() | np.array(np.zeros(2**60 - 1))[0]
"""  # fmt: skip


@pytest.mark.parametrize(
    "text", [t.strip() for t in REFUSED.replace("\n", "|").split("|") if t.strip()]
)
def test_refused(text):
    with pytest.raises((ValueError, MemoryError)):
        eval(text, {"np": asnumpy})
        asnumpy.synchronize()


def test_results_larger_than_all_memory():
    """Matrices that fit as views have factors that do not; a small one before each leaves its traces."""
    tall = asnumpy.broadcast_to(asnumpy.zeros(1), (2**33, 1))
    x = asnumpy.arange(12.0).reshape(3, 4)
    for solve in ("svd", "qr"):
        for small in (x, x.T, x + 1j, asnumpy.broadcast_to(x, (2, 3, 4)), x.astype("f4")):
            getattr(asnumpy.linalg, solve)(small)
            with pytest.raises(ValueError, match="too big"):
                asnumpy.linalg.svd(tall)
            with pytest.raises(ValueError, match="too big"):
                asnumpy.linalg.qr(tall, "complete")


STRIDED = [
    ((2**62,), (8,)), ((3,), (2**62,)), ((5,), (2**62,)), ((3, 3), (2**62, 2**62)), ((2, 3), (-(2**63), 2**62)), ((2**61 + 1,), (8,)),
    ((2**60, 2**60), (0, 0)), ((2,), (-(2**63),)), ((2, 2), (2**63 - 1, 1 - 2**63)), ((2**59, 3), (16, 2**63 - 8)), ((2**59, 16), (16, 0)),
]  # fmt: skip


@pytest.mark.parametrize("shape, strides", STRIDED)
def test_strides_that_leave_all_addresses(shape, strides):
    a = asnumpy.zeros(4)
    with pytest.raises(ValueError, match="reach bytes|too big"):
        asnumpy.lib.stride_tricks.as_strided(a, shape, strides)
    if math.prod(shape) <= 4:
        b = a[: math.prod(shape)].reshape(shape)
        with pytest.warns(DeprecationWarning), pytest.raises(ValueError, match="not compatible"):
            b.strides = strides


@pytest.mark.parametrize("offset", [-8, -800, -(2**63)])
def test_a_buffer_is_not_read_before_its_beginning(offset):
    for shape in [(4,), (0,), ()]:
        with pytest.raises(ValueError, match="offset must not be negative, got -"):
            asnumpy.ndarray(shape, "f8", bytearray(80), offset)


def test_what_fits():
    a = asnumpy.broadcast_to(np.int8(1), (2**62,))
    assert (a.size, a.nbytes, a[2**61], a[:: 2**61].shape) == (2**62, 2**62, 1, (2,))
    assert asnumpy.broadcast_to(asnumpy.zeros((0, 1)), (0, 2**59)).shape == (0, 2**59)
    assert asnumpy.repeat(asnumpy.zeros((3, 0)), 2**40, axis=0).shape == (3 * 2**40, 0)
