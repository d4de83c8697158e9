"""Quantisation through CANN's interface: against NumPy in float32, and PyTorch where it has the operator."""

import numpy as np
import pytest
import torch
from aclnn import AclError, run

RNG = np.random.default_rng(32)
close, same = np.testing.assert_allclose, np.testing.assert_array_equal
ROUND = {"round": np.rint, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}


def floats(*shape, dtype=np.float32):
    return (RNG.standard_normal(shape) * 2).astype(dtype)


def pack(q):
    """Eight int4 to an int32."""
    nibbles = (q.astype(np.int64) & 15).reshape(*q.shape[:-1], -1, 8) << (4 * np.arange(8))
    return nibbles.sum(-1).astype(np.uint32).view(np.int32)


@pytest.mark.parametrize("mode", ROUND)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_ascend_quant(mode, dtype):
    x, scale, offset = floats(3, 4, 16, dtype=dtype), floats(16, dtype=dtype) * 10, floats(16, dtype=dtype) * 9  # fmt: skip
    f = x.astype(np.float32)
    for sqrt in (False, True):
        y = f * scale.astype(np.float32)
        y = y * scale.astype(np.float32) if sqrt else y
        y = ROUND[mode](y + offset.astype(np.float32))
        out = np.empty((16, 4, 3), np.int8).T
        x2 = np.asfortranarray(x)
        same(run("AscendQuant", x2, scale, offset, sqrt, mode, 2, out.transpose(0, 1, 2)), y.clip(-128, 127))  # fmt: skip
        run("AscendQuant", x, scale, offset, sqrt, mode, 3, packed := np.empty((3, 4, 2), np.int32))
        same(packed, pack(y.clip(-8, 7)))
    one = np.array([3], dtype)
    same(run("AscendQuant", x, one, None, False, mode, 2, np.empty(x.shape, np.int8)),
         ROUND[mode](f * 3).clip(-128, 127))  # fmt: skip
    along = floats(4, dtype=dtype) * 4
    same(run("AscendQuantV3", x, along, None, False, mode, 2, -2, np.empty(x.shape, np.int8)),
         ROUND[mode](f * along.astype(np.float32)[:, None]).clip(-128, 127))  # fmt: skip
    run("AscendQuant", x[:0], scale, offset, False, mode, 2, np.empty((0, 4, 16), np.int8))
    for bad in ((x, along, None, False, mode, 2, np.empty(x.shape, np.int8)),
                (x, one, None, False, "up", 2, np.empty(x.shape, np.int8)),
                (x, one, None, False, mode, 3, np.empty(x.shape, np.int8)),
                (x, one, None, False, mode, 2, np.empty((3, 4), np.int8)),
                (x, one, None, False, mode, 3, np.empty((3, 4, 16), np.int32))):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("AscendQuant", *bad)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32])
def test_quantize(dtype):
    x, scale = floats(5, 6), RNG.random(6).astype(np.float32) + 0.01
    zero = RNG.integers(0, 20, 6).astype(np.int32)
    limits = np.iinfo(dtype)
    want = np.rint(x / scale + zero).clip(limits.min, limits.max)
    same(run("Quantize", x[::-1], scale, zero, dtype, 1, np.empty((5, 6), dtype))[::-1], want)
    same(run("Quantize", x.T, scale, zero, dtype, 0, np.empty((6, 5), dtype)), want.T)
    h = x.astype(np.float16)
    want = np.rint(h.astype(np.float32) / np.float32(0.5)).clip(limits.min, limits.max)
    half = np.array([0.5], np.float16)
    same(run("Quantize", h, half, None, dtype, 1, np.empty((5, 6), dtype)), want)
    with pytest.raises(AclError, match="161002"):
        run("Quantize", x, scale, zero, dtype, 0, np.empty((5, 6), dtype))
    with pytest.raises(AclError, match="161002"):
        run("Quantize", x, scale, zero, dtype, 2, np.empty((5, 6), dtype))


def test_quantize_torch():
    x = floats(40, 7)
    want = torch.quantize_per_channel(
        torch.tensor(x),
        torch.tensor([0.25, 0.5, 1, 2, 4, 8, 0.125]),
        torch.arange(7),
        1,
        torch.quint8,
    )
    out = np.empty((40, 7), np.uint8)
    scales = np.array([0.25, 0.5, 1, 2, 4, 8, 0.125], np.float32)
    # NumPy's rule adds the zero point before rounding; with integers and half to even they part at ties only.
    run("Quantize", x, scales, np.arange(7, dtype=np.int32), np.uint8, 1, out)
    same(out, want.int_repr())


def test_anti_quant():
    import ml_dtypes

    x, scale, offset = RNG.integers(-128, 128, (4, 8), dtype=np.int8), floats(8), floats(8)
    f = x.astype(np.float32)
    for dtype, code in ((np.float16, 1), (ml_dtypes.bfloat16, 27)):
        for sqrt in (False, True):
            want = (f + offset) * scale * (scale if sqrt else 1)
            got = run("AscendAntiQuant", np.asfortranarray(x), scale, offset, code, sqrt, np.empty((4, 8), dtype))  # fmt: skip
            same(got.astype(float), want.astype(np.float32).astype(dtype).astype(float))
    q = RNG.integers(-8, 8, (4, 16))
    got = run("AscendAntiQuant", pack(q), scale[:1], None, 1, False, np.empty((4, 16), np.float16))
    same(got, (q.astype(np.float32) * scale[:1]).astype(np.float16))
    run("AscendAntiQuant", x[:0], scale, offset, 1, False, np.empty((0, 8), np.float16))
    for bad in ((x, scale[:3], None, 1, False, got[:, :8]), (x, scale, None, 27, False, got[:, :8]),
                (x.astype(float), scale, None, 1, False, got[:, :8])):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("AscendAntiQuant", *bad)


def test_group_quant():
    x, scale, offset = floats(9, 16), floats(3, 16) * 8, np.array([1.5], np.float32)
    ends = np.array([2, 2, 9])
    want = np.rint(x * scale[[0, 0] + [2] * 7] + offset)
    same(run("GroupQuant", x, scale, ends, offset, 2, np.empty((9, 16), np.int8)), want.clip(-128, 127))  # fmt: skip
    got = run("GroupQuant", np.asfortranarray(x), scale, ends.astype(np.int32), offset, 29, np.empty((9, 2), np.int32))  # fmt: skip
    same(got, pack(want.clip(-8, 7)))
    h = x.astype(np.float16)
    want = np.rint(h.astype(np.float32) * scale.astype(np.float16).astype(np.float32)[[0, 0] + [2] * 7])  # fmt: skip
    same(run("GroupQuant", h, scale.astype(np.float16), ends, None, 2, np.empty((9, 16), np.int8)), want.clip(-128, 127))  # fmt: skip
    run("GroupQuant", x[:0], scale, ends * 0, None, 2, np.empty((0, 16), np.int8))
    with pytest.raises(AclError, match="161002"):
        run("GroupQuant", x, scale[:, :8], ends, None, 2, np.empty((9, 16), np.int8))
    with pytest.raises(AclError, match="groupIndex"):
        run("GroupQuant", x, scale, ends + 1, None, 2, np.empty((9, 16), np.int8))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_fake_quant(dtype):
    x = floats(6, 5, dtype=dtype) * 3
    scale, zero = (RNG.random(5) * 0.2 + 0.05).astype(np.float32), RNG.integers(-3, 4, 5).astype(np.int32)  # fmt: skip
    rtol = 0 if dtype == np.float32 else 1e-3
    want, kept = torch.ops.aten.fake_quantize_per_channel_affine_cachemask(
        torch.tensor(x).float(), torch.tensor(scale), torch.tensor(zero), 1, -20, 30)  # fmt: skip
    out, mask = np.empty((5, 6), dtype).T, np.empty((6, 5), bool)
    run("FakeQuantPerChannelAffineCachemask", np.asfortranarray(x), scale, zero, 1, -20, 30, out, mask)  # fmt: skip
    close(out, want, rtol=rtol), same(mask, kept)
    for enabled in (0.0, 1.0):
        want, kept = torch.ops.aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
            torch.tensor(x).float(), torch.tensor(scale[:1]), torch.tensor(zero[:1]),
            torch.tensor([int(enabled)]), -20, 30)  # fmt: skip
        run("FakeQuantPerTensorAffineCachemask", x, scale[:1], zero[:1], enabled, -20, 30, out, mask)  # fmt: skip
        close(out, want, rtol=rtol), same(mask, kept)
    run("FakeQuantPerTensorAffineCachemask", x[:0], scale[:1], zero[:1], 1.0, 0, 9, out[:0], mask[:0])  # fmt: skip
    with pytest.raises(AclError, match="161002.*quantMin"):
        run("FakeQuantPerTensorAffineCachemask", x, scale[:1], zero[:1], 1.0, 9, 0, out, mask)
    with pytest.raises(AclError, match="161002"):
        run("FakeQuantPerChannelAffineCachemask", x, scale[:4], zero, 1, 0, 9, out, mask)


@pytest.mark.parametrize("bits", [8, 4])
def test_dynamic_quant(bits):
    import ml_dtypes

    top = 127 if bits == 8 else 7
    for dtype in (np.float16, ml_dtypes.bfloat16):
        x = floats(3, 5, 16).astype(dtype)
        x[1, 2] = 0
        smooth = floats(16).astype(dtype)
        shape, out_dtype = ((3, 5, 16), np.int8) if bits == 8 else ((3, 5, 2), np.int32)
        y, scale, offset = np.empty(shape, out_dtype), np.empty((5, 3), np.float32).T, np.empty((3, 5), np.float32)  # fmt: skip
        f = x.astype(np.float32) * smooth.astype(np.float32)
        want_scale = np.abs(f).max(-1) / np.float32(top)
        safe = np.where(want_scale == 0, np.float32(1), want_scale)
        q = np.rint(f / safe[..., None])
        run("DynamicQuant", np.asfortranarray(x), smooth, y, scale)
        same(scale, want_scale), same(y, q if bits == 8 else pack(q))
        f = x.astype(np.float32)
        want_scale = (f.max(-1) - f.min(-1)) / np.float32(2 * top + 1)
        safe = np.where(want_scale == 0, np.float32(1), want_scale)
        want_offset = np.where(want_scale == 0, 0, np.float32(top) - f.max(-1) / safe)
        q = np.rint(f / safe[..., None] + want_offset[..., None]).clip(-top - 1, top)
        run("DynamicQuantV2", x, None, None, 2 if bits == 8 else 3, y, scale, offset)
        close(scale, want_scale, rtol=1e-6), close(offset, want_offset, rtol=1e-5)
        same(y, q if bits == 8 else pack(q))
    x, smooth = floats(6, 16, dtype=np.float16), floats(2, 16, dtype=np.float16)
    y, scale = np.empty((6, 16), np.int8), np.empty(6, np.float32)
    run("DynamicQuantV2", x, smooth, np.array([2, 6], np.int32), 2, y, scale, None)
    f = x.astype(np.float32) * smooth[[0, 0, 1, 1, 1, 1]]
    close(scale, np.abs(f).max(-1) / 127, rtol=1e-6)
    run("DynamicQuant", x[:0], None, y[:0], scale[:0])
    for bad in ((x, smooth, y, scale), (x, None, y[:5], scale), (x, None, y, scale[:5]), (x[0], None, y[0], scale)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("DynamicQuant", *bad)


def test_words_and_bits():
    scale, offset = RNG.random(6).astype(np.float32), np.array([-300, -256, -1, 0, 5, 999], np.float32)  # fmt: skip
    bits = scale.view(np.uint32).astype(np.uint64) & 0xFFFFE000 | 1 << 46
    same(run("TransQuantParamV2", scale[::-1], None, np.empty(6, np.uint64))[::-1], bits)
    nine = np.array([0x100, 0x100, 0x1FF, 0, 5, 0xFF], np.uint64)
    same(run("TransQuantParamV2", scale, offset, np.empty(6, np.uint64)), bits | nine << np.uint64(37))  # fmt: skip
    same(run("TransQuantParamV2", scale, offset, np.empty(6, np.int64)), (bits | nine << np.uint64(37)).view(np.int64))  # fmt: skip
    with pytest.raises(AclError, match="161002"):
        run("TransQuantParamV2", scale, offset, np.empty(5, np.uint64))
    q = RNG.integers(-8, 8, (3, 16)).astype(np.int32)
    same(run("ConvertWeightToINT4Pack", np.asfortranarray(q), np.empty((3, 2), np.int32)), pack(q))
    run("ConvertWeightToINT4Pack", q[:0], np.empty((0, 2), np.int32))
    with pytest.raises(AclError, match="161002.*multiple"):
        run("ConvertWeightToINT4Pack", q[:, :12], np.empty((3, 2), np.int32))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_sign_bits(dtype):
    a = np.array([5, 4, 3, 2, 0, -1, -2, 4, 3, 2, 1, 0, -1, -2], dtype)
    same(run("SignBitsPack", a, 2, np.empty((2, 1), np.uint8)), [[159], [15]])
    x = floats(200, dtype=dtype)[::-2]
    got = run("SignBitsPack", x, 1, np.empty((1, 13), np.uint8))
    same(got[0], np.packbits(x >= 0, bitorder="little"))
    back = run("SignBitsUnpack", got[0], 4, dtype, np.empty((26, 4), dtype).T)
    same(back.ravel()[:100], np.where(x >= 0, 1, -1))
    run("SignBitsPack", x[:0], 1, np.empty((1, 0), np.uint8))
    with pytest.raises(AclError, match="161002.*divide"):
        run("SignBitsPack", x, 2, np.empty((2, 6), np.uint8))
    with pytest.raises(AclError, match="161002"):
        run("SignBitsUnpack", got[0], 4, np.float64, np.empty((4, 26), dtype))
