"""Products that quantise: QuantMatmulDequant, BatchMatmulQuant, FlatQuant, WeightQuantBatchMatmul. The oracle is the
formula of CANN's pages, in NumPy's integers and in PyTorch.
"""

import numpy as np
import pytest
import torch
from aclnn import AclError, Int4, run
from oracle import BF16, LAYOUTS, laid
from test_quant import pack

RNG = np.random.default_rng(93)
close, same = np.testing.assert_allclose, np.testing.assert_array_equal


def halves(*shape, by=1.0, dtype=np.float16):
    return (RNG.standard_normal(shape) * by).astype(dtype)


def dequant(x, w, w_scale, bias, x_scale, smooth, mode):
    """The page's formula; x_scale None: found from the data."""
    f = x.astype(np.float32)
    f = f if smooth is None else f * smooth.astype(np.float32)
    if x_scale is None:
        most = np.abs(f).max(1, keepdims=True) if mode == "pertoken" else np.abs(f).max(keepdims=True)  # fmt: skip
        x_scale = most / np.float32(127)
    else:
        x_scale = x_scale.astype(np.float32).reshape(-1, 1)
    q = np.rint(f / np.where(x_scale == 0, np.float32(1), x_scale)).clip(-128, 127).astype(np.int64)
    total = (q @ w.astype(np.int64) + (0 if bias is None else bias)).astype(np.float32)
    if w_scale.dtype == np.int64:
        return total * w_scale.astype(np.int32).view(np.float32)
    return total * w_scale * x_scale


@pytest.mark.parametrize("mode", ["pertoken", "pertensor"])
@pytest.mark.parametrize("trans", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_quant_matmul_dequant(mode, trans, layout):
    for m, k, n in ((5, 16, 32), (1, 64, 16), (9, 300, 33)):
        x, w = laid(halves(m, k), layout), RNG.integers(-128, 128, (k, n)).astype(np.int8)
        x[m // 2] = 0
        weight = laid(w.T if trans else w, layout)
        w_scale = RNG.random(n).astype(np.float32) / 99
        bias, smooth = RNG.integers(-9999, 9999, n).astype(np.int32), laid(halves(k, by=2), layout)
        x_scale = (RNG.random(m if mode == "pertoken" else 1) / 20 + 0.01).astype(np.float32)
        for given in (None, x_scale, x_scale.astype(np.float16)):
            for b, s in ((None, None), (bias, None), (bias, smooth), (None, smooth)):
                for scale in (w_scale, w_scale[:1]):
                    want = dequant(x, w, scale, b, given, s, mode)
                    out = laid(np.full((m, n), 77, np.float16), layout)
                    run("QuantMatmulDequant", x, weight, scale, b, given, None, s, mode, trans, out)
                    close(out, want.astype(np.float16), rtol=2e-3, atol=1e-7)
        if mode == "pertensor":
            packed = (w_scale * x_scale).view(np.int32).astype(np.int64)
            want = dequant(x, w, packed, bias, x_scale, None, mode)
            out = run("QuantMatmulDequant", x, weight, packed, bias, x_scale.astype(np.float32), None, None, mode, trans, np.empty((m, n), np.float16))  # fmt: skip
            close(out, want.astype(np.float16), rtol=1e-3)


def test_quant_matmul_dequant_torch():
    """PyTorch's quantised tensors round and clamp the same way."""
    x, w = halves(7, 32), RNG.integers(-128, 128, (32, 8)).astype(np.int8)
    scale, w_scale = np.array([0.03125], np.float32), np.ones(8, np.float32)
    q = torch.quantize_per_tensor(torch.tensor(x).float(), 0.03125, 0, torch.qint8).int_repr()
    want = q.double() @ torch.tensor(w).double() * 0.03125
    out = run("QuantMatmulDequant", x, w, w_scale, None, scale, None, None, "pertensor", False, np.empty((7, 8), np.float16))  # fmt: skip
    same(out, want.half())


def test_quant_matmul_dequant_errors():
    x, w, s = halves(4, 16), np.ones((16, 8), np.int8), np.ones(8, np.float32)
    out, one = np.empty((4, 8), np.float16), np.ones(1, np.float32)
    good = [x, w, s, None, None, None, None, "pertoken", False, out]
    run("QuantMatmulDequant", *good)
    run("QuantMatmulDequant", x[:0], w, s, None, None, None, None, "pertoken", False, out[:0])
    for i, bad in ((0, x.astype(np.float32)), (0, x[:, :9]), (1, w[:9]), (1, w.astype(int)), (2, s[:3]), (2, s.astype(int)),
                   (3, s), (3, np.ones(3, np.int32)), (4, s), (5, one), (6, halves(9)), (7, "perrow"), (8, True), (9, out[:2])):  # fmt: skip
        args = list(good)
        args[i] = bad
        with pytest.raises(AclError, match="161002"):
            run("QuantMatmulDequant", *args)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("trans", [(False, False), (True, False), (False, True), (True, True)])
def test_batch_matmul_quant(layout, trans):
    a, b = RNG.integers(-8, 9, (6, 24)), RNG.integers(-8, 9, (24, 10))  # sums that float32 holds
    x = [laid((m.T if t else m).astype(np.float16), layout) for m, t in zip((a, b), trans, strict=True)]  # fmt: skip
    bias = laid(RNG.integers(-50, 50, 10).astype(np.float16), layout)
    for n in (1, 10, 16):
        scale, offset = RNG.random(n).astype(np.float32), RNG.integers(-20, 20, n).astype(np.float32)  # fmt: skip
        words = run("TransQuantParamV2", scale, offset, np.empty(n, np.uint64))
        cut = (scale.view(np.uint32) & 0xFFFFE000).view(np.float32)
        for add in (None, bias):
            v = (a @ b + (0 if add is None else add.astype(int))).astype(np.float32)
            want = np.rint(v * cut[:10] + offset[:10]).clip(-128, 127)
            out = laid(np.full((6, 10), 77, np.int8), layout)
            same(run("BatchMatmulQuant", *x, words, add, *trans, out), want)
    run("BatchMatmulQuant", *x, words, None, *trans, laid(out, layout))
    for bad in ((*x, words[:9], None, *trans, out), (*x, words, bias[:3], *trans, out), (*x, words, bias, *trans, out[:3]),
                (*x, words.astype(np.int64), bias, *trans, out), (x[0].astype(np.float32), x[1], words, None, *trans, out),
                (*x, words, bias.astype(np.float32), *trans, out), (x[0], x[1][:5, :5], words, None, *trans, out)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("BatchMatmulQuant", *bad)


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_flat_quant(dtype, layout):
    for k, m, n in ((3, 4, 8), (1, 7, 16), (5, 1, 24)):
        # Small whole numbers: both products are exact, so only the quantisation rounds.
        x, left, right = (laid(RNG.integers(-3, 4, s).astype(dtype), layout) for s in ((k, m, n), (m, m), (n, n)))  # fmt: skip
        x[k // 2] = 0
        f, p1, p2 = (torch.tensor(t.astype(np.float64, order="C")) for t in (x, left, right))
        y = p1 @ (f @ p2)
        for ratio in (1.0, 0.5):
            want = y.abs().amax((1, 2)) / (7 / ratio)
            q = (y / torch.where(want == 0, 1, want)[:, None, None]).numpy()
            ties = np.abs(q - np.floor(q) - 0.5) < 1e-5  # float32 divides to either side of them
            q = np.rint(q).clip(-8, 7)
            scale, eight = laid(np.full(k, 77, np.float32), layout), np.empty((k, m, n // 8), np.int32)  # fmt: skip
            run("FlatQuant", x, left, right, ratio, eight, scale)
            close(scale, want, rtol=1e-6)
            for order in (None, (2, 0, 1), (1, 2, 0)):
                four = Int4(np.zeros((k, m, n), int), order)
                run("FlatQuant", x, left, right, ratio, four, scale)
                same(four.values()[~ties], q[~ties])
                same(pack(four.values()), eight)
    out, scale = np.empty((5, 1, 3), np.int32), np.empty(5, np.float32)
    good = [x, left, right, 1.0, out, scale]
    run("FlatQuant", *good)
    for i, bad in ((0, x[0]), (1, right), (2, right[:3]), (2, right.astype(np.float32)), (3, 0.0), (3, 1.5),
                   (4, out[:2]), (4, out.astype(np.int8)), (5, scale[:2]), (5, scale.astype(float))):  # fmt: skip
        args = list(good)
        args[i] = bad
        with pytest.raises(AclError, match="161002"):
            run("FlatQuant", *args)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("trans", [(False, False), (True, False), (False, True), (True, True)])
def test_weight_quant_first(layout, trans):
    a, b = halves(5, 12), RNG.integers(-128, 128, (12, 7)).astype(np.int8)
    x = [laid(m.T if t else m, layout) for m, t in zip((a, b), trans, strict=True)]
    bias, eye = RNG.random(7).astype(np.float32), np.eye(32, dtype=np.int8)
    for shape in ((7,), (1, 7), (1,)):
        offset, scale = (laid(halves(*shape), layout) for _ in range(2))
        for add in (None, bias):
            for shift in (None, offset):
                w = (b + (0 if shift is None else shift.astype(float))) * scale.astype(float)
                want = a.astype(float) @ w + (0 if add is None else add)
                out = laid(np.full((5, 7), 77, np.float16), layout)
                run("WeightQuantBatchMatmul", *x, eye, None, None, shift, scale, add, *trans, 1.0, 0.0, out)  # fmt: skip
                close(out.astype(float), want, rtol=2e-3, atol=0.3)
    good = [*x, None, None, None, None, scale, bias, *trans, 1.0, 0.0, out]
    run("WeightQuantBatchMatmul", *good)
    for i, bad in ((0, x[0].astype(np.float32)), (1, x[1].astype(int)), (6, halves(3)), (5, halves(3)), (7, bias[:3]),
                   (7, bias.astype(np.float16)), (12, out[:2]), (12, out.astype(np.int8))):  # fmt: skip
        args = list(good)
        args[i] = bad
        with pytest.raises(AclError, match="161002"):
            run("WeightQuantBatchMatmul", *args)
    args[6] = None
    with pytest.raises(AclError, match="161001"):
        run("WeightQuantBatchMatmul", *args)
