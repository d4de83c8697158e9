"""The formulas of the quantising operators against sources that are not ours: PyTorch's quantised tensors and
fake_quantize, its product of int8, exact integers. And tensors of int4.

Scales are powers of two and offsets even where PyTorch rounds before it adds its zero point: then both rules agree.
"""

import numpy as np
import pytest
import torch
from aclnn import AclError, Int4, run
from oracle import BF16, LAYOUTS, laid

RNG = np.random.default_rng(94)
close, same = np.testing.assert_allclose, np.testing.assert_array_equal
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*quantized tensor creation functions.*", "ignore:overflow encountered in cast"
)
FLOATS = [np.dtype(np.float32), np.dtype(np.float16), BF16]


def floats(*shape, dtype=np.float32, by=3.0):
    return (RNG.standard_normal(shape) * by).astype(dtype)


def single(a):
    return torch.tensor(np.asarray(a).astype(np.float32, order="C"))


def quantised(x, scale, zero, kind=torch.qint8):
    return torch.quantize_per_tensor(single(x), scale, zero, kind).int_repr().numpy()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_per_tensor(dtype, layout):
    """AscendQuant multiplies by a scale, Quantize divides by it, as PyTorch does."""
    x = laid(floats(5, 7, 16, dtype=dtype, by=20), layout)
    for scale, zero in ((0.25, 0), (0.5, -8), (4.0, 6), (0.0625, 0)):
        want = quantised(x, scale, zero)
        inverse, offset = np.array([1 / scale], dtype), np.array([zero], dtype)
        out = laid(np.full(x.shape, 77, np.int8), layout)
        run("AscendQuant", x, inverse, offset, False, "round", 2, out)
        same(out, want)
        run("AscendQuantV3", x, np.full(7, 1 / scale, dtype), np.full(7, zero, dtype), False, "round", 2, 1, out)  # fmt: skip
        same(out, want)
        root = np.array([2 * round(np.log2(1 / scale) / 2)])  # sqrtMode: the scale twice
        twice = np.exp2(root / 2)
        run("AscendQuant", x, twice.astype(dtype), offset, True, "round", 2, out)
        same(out, quantised(x, float(1 / twice[0] ** 2), zero))
        run("Quantize", x, np.array([scale], dtype), np.array([zero], np.int32), np.int8, 0, out)
        same(out, want)


@pytest.mark.parametrize("dtype", FLOATS)
def test_per_channel(dtype):
    x, scales = floats(6, 9, dtype=dtype, by=20), np.exp2(RNG.integers(-4, 3, 9))
    zeros = 2 * RNG.integers(-8, 9, 9)
    want = torch.quantize_per_channel(single(x), torch.tensor(scales), torch.tensor(zeros), 1, torch.qint8)  # fmt: skip
    args = (1 / scales).astype(dtype), zeros.astype(dtype)
    same(run("AscendQuantV3", x, *args, False, "round", 2, 1, np.empty((6, 9), np.int8)), want.int_repr())  # fmt: skip
    back = run("AscendAntiQuant", want.int_repr().numpy(), scales.astype(np.float32), -zeros.astype(np.float32), 1, False, np.empty((6, 9), np.float16))  # fmt: skip
    same(back, want.dequantize().half())
    rows = np.array([2, 6])
    groups = (1 / scales[:2, None]).repeat(9, 1).astype(dtype)
    got = run("GroupQuant", x, groups, rows, np.array([6], dtype), 2, np.empty((6, 9), np.int8))
    same(got[:2], quantised(x[:2], scales[0], 6)), same(got[2:], quantised(x[2:], scales[1], 6))


@pytest.mark.parametrize("dtype", FLOATS[1:])
def test_dynamic(dtype):
    """A row's scale by the definition; its integers by PyTorch's fake_quantize for that scale."""
    x = floats(11, 24, dtype=dtype, by=9)
    y, scale = np.empty((11, 24), np.int8), np.empty(11, np.float32)
    run("DynamicQuant", x, None, y, scale)
    close(scale, np.abs(x.astype(np.float64)).max(1) / 127, rtol=2e-7)
    for row, q, s in zip(x, y, scale, strict=True):
        fake = torch.fake_quantize_per_tensor_affine(single(row), float(s), 0, -128, 127) / float(s)
        exact = row.astype(np.float64) / s
        sure = np.abs(exact - np.floor(exact) - 0.5) > 1e-4  # PyTorch multiplies by the reciprocal
        same(q[sure], fake.round().numpy()[sure])
        assert np.abs(q).max() == 127
    offset = np.empty(11, np.float32)
    run("DynamicQuantV2", x, None, None, 2, y, scale, offset)
    wide = x.astype(np.float64)
    close(scale, (wide.max(1) - wide.min(1)) / 255, rtol=1e-6)
    back = (y - offset[:, None].astype(np.float64)) * scale[:, None]
    assert (np.abs(back - wide) <= scale[:, None] * 0.5001 + 1e-5).all()
    same(y.max(1), 127), same(y.min(1), -128)


@pytest.mark.parametrize("shape", [(17, 64, 16), (40, 512, 136), (33, 1000, 8)])
def test_int_mm(shape):
    m, k, n = shape
    a, b = (RNG.integers(-128, 128, s).astype(np.int8) for s in ((m, k), (k, n)))
    want = torch._int_mm(torch.tensor(a), torch.tensor(b)).numpy()
    scale = np.exp2(RNG.integers(-9, 0, n)).astype(np.float32)
    out = np.empty((m, n), np.int32)
    same(run("QuantMatmulV3", a, b, scale, None, None, False, False, out), want)
    same(run("QuantMatmulV4", a, b.T, scale, None, None, None, False, True, out.copy()), want)
    half = (want.astype(np.float64) * scale).astype(np.float32).astype(np.float16)
    same(run("QuantMatmulV3", a, b, scale, None, None, False, False, np.empty((m, n), np.float16)), half)  # fmt: skip
    eight = np.empty((m, n), np.int8)
    run("QuantMatmulV3", a, b, scale, None, None, False, False, eight)
    exact = want * np.round(scale * 2**9).astype(np.int64)  # in 2**-9: half to even by integers
    low, rest = exact >> 9, exact & 511
    same(eight, np.clip(low + ((rest > 256) | ((rest == 256) & (low % 2 == 1))), -128, 127))


def test_scatter():
    data, f = np.zeros((2, 9, 16), np.int8), floats(2, 3, 16, by=30)
    scale, zero = np.exp2(RNG.integers(-3, 2, 16)).astype(np.float32), 2.0 * RNG.integers(-4, 5, 16)
    q = torch.quantize_per_channel(single(f), torch.tensor(scale).double(), torch.tensor(zero).long(), 2, torch.qint8).int_repr()  # fmt: skip
    run("InplaceQuantScatter", data, np.array([1, 4]), f, scale, zero.astype(np.float32), 1, 2, 1)
    same(data[0, 1:4], q[0]), same(data[1, 4:7], q[1])


def test_signs():
    x = floats(64)
    x[:4] = [0.0, -0.0, 1, -1]
    bits = run("SignBitsPack", x, 2, np.empty((2, 4), np.uint8))
    same(bits.ravel(), np.packbits(x >= 0, bitorder="little"))


# ---- tensors of int4


@pytest.mark.parametrize("order", [None, (1, 0), "odd"])
def test_int4_out(order):
    x, n = floats(6, 16, dtype=np.float16), 16
    if order == "odd":  # rows that end within a byte
        x, n, order = x[:5, :15], 15, None
    scale = np.exp2(RNG.integers(-1, 3, n))
    want = torch.quantize_per_channel(single(x), torch.tensor(1 / scale), torch.zeros(n).long(), 1, torch.qint8).int_repr().numpy().clip(-8, 7)  # fmt: skip
    out = Int4(np.full(x.shape, 5), order)
    run("AscendQuant", x, scale.astype(np.float16), None, False, "round", 29, out)
    same(out.values(), want)
    out = Int4(np.full(x.shape, 5), order)
    run("AscendQuantV3", x, scale.astype(np.float16), None, False, "round", 29, -1, out)
    same(out.values(), want)
    run("GroupQuant", x, scale[None].astype(np.float16), np.array([4]), None, 29, out := Int4(np.full(x.shape, 5), order))  # fmt: skip
    same(out.values()[:4], want[:4]), same(out.values()[4:], 5)
    scales = np.empty(len(x), np.float32)
    run("DynamicQuant", x, None, out := Int4(np.full(x.shape, 5), order), scales)
    close(scales, np.abs(x.astype(float)).max(1) / 7, rtol=1e-6)
    back = out.values() * scales[:, None]
    assert (np.abs(back - x.astype(float)) <= scales[:, None] * 0.5001).all()
    offsets = np.empty(len(x), np.float32)
    run("DynamicQuantV2", x, None, None, 29, out := Int4(np.full(x.shape, 5), order), scales, offsets)  # fmt: skip
    same(out.values().max(1), 7), same(out.values().min(1), -8)
    whole = RNG.integers(-8, 8, x.shape).astype(np.int32)
    run("ConvertWeightToINT4Pack", whole, out := Int4(np.full(x.shape, 5), order))
    same(out.values(), whole)
    for dst in (2, 3):
        with pytest.raises(AclError, match="161002"):
            run("AscendQuant", x, scale.astype(np.float16), None, False, "round", dst, out)
        with pytest.raises(AclError, match="161002"):
            run("DynamicQuantV2", x, None, None, dst, out, scales, None)


def test_int4_in():
    q = RNG.integers(-8, 8, (3, 5, 7))
    scale, offset = floats(7), floats(7)
    want = ((q + offset.astype(np.float64)) * scale).astype(np.float32).astype(np.float16)
    for order in (None, (2, 0, 1), (1, 2, 0)):
        got = run("AscendAntiQuant", Int4(q, order), scale, offset, 1, False, np.empty(q.shape, np.float16))  # fmt: skip
        close(got, want, rtol=1e-3, atol=1e-4)
    with pytest.raises(AclError, match="dtype 29"):
        run("Add", Int4(q), q.astype(np.int8), 1, q.astype(np.int8))
