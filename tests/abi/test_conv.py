"""Convolutions and their gradients against PyTorch."""

import ml_dtypes
import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import strided

RNG = np.random.default_rng(31)
close = np.testing.assert_allclose
CONV = {
    False: [torch.nn.functional.conv1d, torch.nn.functional.conv2d, torch.nn.functional.conv3d],
    True: [
        torch.nn.functional.conv_transpose1d,
        torch.nn.functional.conv_transpose2d,
        torch.nn.functional.conv_transpose3d,
    ],
}


def values(*shape):
    return RNG.standard_normal(shape)


def case(spatial, transposed):
    """One random case: input, weight, bias, the options, PyTorch's output."""
    groups = int(RNG.integers(1, 4))
    cx, cy = (int(RNG.integers(1, 5)) for _ in range(2))
    kernel = RNG.integers(1, 4, spatial)
    stride, dilation = RNG.integers(1, 4, spatial), RNG.integers(1, 3, spatial)
    pad = RNG.integers(0, 3, spatial)
    more = np.array([RNG.integers(0, max(s, d)) for s, d in zip(stride, dilation, strict=True)])
    size = RNG.integers(5, 10, spatial)
    n = int(RNG.integers(1, 4))
    channels = groups * (cy if transposed else cx)
    x = values(n, channels, *size)
    w = values(groups * cy, cx, *kernel)
    b = values(groups * (cx if transposed else cy))
    options = [stride.tolist(), pad.tolist(), dilation.tolist(), transposed, more.tolist(), groups]
    return x, w, b, options


def expected(x, w, b, options):
    stride, pad, dilation, transposed, more, groups = options
    extra = {"output_padding": more} if transposed else {}
    f = CONV[transposed][w.ndim - 3]
    return f(x, w, b, stride=stride, padding=pad, dilation=dilation, groups=groups, **extra)


def tensors(*arrays):
    return [torch.tensor(np.ascontiguousarray(a), requires_grad=True) for a in arrays]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_filters(dtype):
    """Strips of filters of every height, rows of every length, with and without a bias."""
    for k in range(24):
        cx, cy, kernel = int(RNG.integers(1, 12)), 3 + k, RNG.integers(1, 5, 2)
        stride, pad = RNG.integers(1, 3, 2), RNG.integers(0, 2, 2)
        x = values(2, cx, *RNG.integers(5, 70, 2)).astype(dtype)
        w, b = values(cy, cx, *kernel).astype(dtype), values(cy).astype(dtype) if k % 3 else None
        options = [stride.tolist(), pad.tolist(), [1, 1], False, [0, 0], 1]
        a = [None if t is None else torch.tensor(t) for t in (x, w, b)]
        want = torch.nn.functional.conv2d(*a, options[0], options[1])
        y = np.empty(want.shape, dtype)
        run("Convolution", x, w, b, *options, y, 0)
        close(y, want, rtol=0, atol=1e-4 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_convolution(spatial, transposed):
    for k in range(12):
        x, w, b, options = case(spatial, transposed)
        if k % 4 == 1:
            x = x[0]
        if k % 4 == 2:
            x, w, b = (a.astype(np.float32) for a in (x, w, b))
        if k % 4 == 3:
            x, w, b = strided(x), strided(w), strided(b)
        bias = None if k % 5 == 0 else b
        with_grad = tensors(x, w, b)
        want = expected(*with_grad[:2], None if bias is None else with_grad[2], options)
        y = np.empty(want.shape, x.dtype)
        if k % 4 == 3:
            y = strided(y)
        tolerance = {"rtol": 1e-4, "atol": 1e-4} if x.dtype == np.float32 else {"atol": 1e-11}
        close(_out("Convolution", (x, w, bias, *options), y),
              want.detach().numpy(), **tolerance)  # fmt: skip
        g = values(*want.shape).astype(x.dtype)
        want.backward(torch.tensor(g))
        grads = [np.full(a.shape, np.nan, x.dtype) for a in (x, w, b)]
        mask = [k % 3 != 1, k % 3 != 2, bias is not None]
        run("ConvolutionBackward", strided(g) if k % 4 == 3 else g, x, w, [len(b)], *options, mask,
            0, *(a if m else None for a, m in zip(grads, mask, strict=True)))  # fmt: skip
        for a, t, m in zip(grads, with_grad, mask, strict=True):
            if m:
                close(a, t.grad.numpy(), **tolerance)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_integers(spatial, transposed, dtype):
    """Exact, sums that wrap around included."""
    for k in range(8):
        x, w, b, options = case(spatial, transposed)
        ends = np.iinfo(dtype)
        x, w, b = (RNG.integers(ends.min, ends.max, a.shape, dtype, endpoint=True)
                   for a in (x, w, b))  # fmt: skip
        bias = None if k % 3 == 0 else b
        want = expected(*(None if a is None else torch.tensor(a.astype(np.int64))
                          for a in (x, w, bias)), options).numpy().astype(dtype)  # fmt: skip
        if k % 4 == 3:
            x, w = strided(x), strided(w)
        y = np.empty(want.shape, dtype)
        y = strided(y) if k % 4 == 1 else y
        np.testing.assert_array_equal(_out("Convolution", (x, w, bias, *options), y), want)
    y, g = np.empty(want.shape, dtype), np.empty_like(x)
    for bad in ((x.astype(float), w, y), (x, w.astype(float), y), (x, w, y.astype(float))):
        with pytest.raises(AclError, match="161002"):
            run("Convolution", *bad[:2], None, *options, bad[2], 0)
    with pytest.raises(AclError, match="161002"):
        run("ConvolutionBackward", y, x, w, None, *options, [True, False, False], 0, g, None, None)
    empty = np.empty((0, *want.shape[1:]), dtype)
    run("Convolution", x[:0], w, None, *options, empty, 0)


def _out(name, args, y):
    run(name, *args, y, 0)
    return y


def test_large():
    """Several bands, windows of one element, one channel a group."""
    for shape, weight, groups, stride in (
        ((2, 40, 50, 60), (24, 40, 3, 3), 1, 1),
        ((2, 40, 50, 60), (24, 40, 1, 1), 1, 1),
        ((3, 16, 33, 31), (16, 1, 3, 3), 16, 2),
        ((1, 3, 90, 90), (8, 3, 7, 7), 1, 2),
    ):
        x, w = values(*shape).astype(np.float32), values(*weight).astype(np.float32)
        options = [[stride], [1], [1], False, [0], groups]
        a, b = tensors(x, w)
        want = expected(a, b, None, options)
        y = _out("Convolution", (x, w, None, *options), np.empty(want.shape, np.float32))
        close(y, want.detach().numpy(), rtol=1e-4, atol=2e-3)
        want.sum().backward()
        gx, gw = np.empty_like(x), np.empty_like(w)
        run("ConvolutionBackward", np.ones_like(y), x, w, None, *options, [True, True, False], 0,
            gx, gw, None)  # fmt: skip
        close(gx, a.grad.numpy(), rtol=1e-4, atol=2e-3)
        close(gw, b.grad.numpy(), rtol=1e-3, atol=2e-2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_without_patches(dtype):
    """Strides, dilations, paddings, groups and row lengths of conv_direct.c, and its neighbours."""
    for shape, weight, groups, stride, pad, dilation in (
        ((1, 16, 9, 23), (13, 16, 3, 3), 1, [1, 1], [1, 1], [1, 1]),
        ((2, 6, 11, 7), (8, 3, 3, 2), 2, [2, 1], [0, 1], [1, 2]),
        ((1, 3, 21, 34), (7, 3, 7, 7), 1, [2, 2], [3, 3], [1, 1]),
        ((2, 20, 5, 5), (4, 20, 3, 3), 1, [1, 1], [0, 3], [1, 1]),
        ((1, 5, 6, 40), (9, 5, 3, 3), 1, [1, 2], [2, 2], [2, 2]),
        ((3, 17, 50), (5, 17, 4), 1, [1], [2], [1]),
        ((1, 4, 5, 6, 9), (6, 4, 3, 2, 3), 1, [2, 1, 1], [1, 0, 1], [1, 1, 1]),
        ((1, 30, 7, 7), (11, 30, 3, 3), 1, [1, 1], [1, 1], [1, 1]),
        ((1, 4, 12, 12), (5, 4, 3, 3), 1, [3, 3], [1, 1], [1, 1]),
        ((2, 5, 9, 75), (5, 1, 3, 3), 5, [1, 1], [1, 1], [1, 1]),
        ((1, 4, 11, 70), (8, 1, 5, 5), 4, [1, 2], [2, 2], [1, 1]),
    ):
        x, w = values(*shape).astype(dtype), values(*weight).astype(dtype)
        b = values(weight[0]).astype(dtype)
        options = [stride, pad, dilation, False, [0] * len(stride), groups]
        for bias in (b, None):
            want = expected(*tensors(x, w), None if bias is None else torch.tensor(b), options)
            y = _out("Convolution", (x, w, bias, *options), np.empty(want.shape, dtype))
            tolerance = 1e-4 if dtype == np.float32 else 1e-11
            close(y, want.detach().numpy(), rtol=tolerance, atol=tolerance)


def test_not_finite():
    """Padding is zeros of the input: they meet an infinite weight, and no value that is beside them."""
    x, w = values(1, 3, 6, 17), values(6, 3, 3, 3)
    x[0, 1, 2, 16], x[0, 2, 5, 0] = np.inf, np.nan
    options = [[1, 1], [1, 1], [1, 1], False, [0, 0], 1]
    for weight in (0.5, -np.inf):
        w[4, 0, 0, 0] = weight
        want = expected(*tensors(x, w), None, options).detach().numpy()
        got = _out("Convolution", (x, w, None, *options), np.empty(want.shape))
        close(got, want, atol=1e-11)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half(dtype):
    x, w, b = (values(*s).astype(dtype) for s in ((2, 4, 6, 7), (6, 2, 3, 3), (6,)))
    options = [[1, 1], [1, 1], [1, 1], False, [0, 0], 2]
    a = tensors(*(v.astype(np.float32) for v in (x, w, b)))
    want = expected(*a, options)
    y = _out("Convolution", (x, w, b, *options), np.empty((2, 6, 6, 7), dtype))
    close(y.astype(np.float32), want.detach().numpy(), rtol=1e-2, atol=2e-2)
    want.sum().backward()
    grads = [np.empty_like(v) for v in (x, w, b)]
    run("ConvolutionBackward", np.ones_like(y), x, w, [6], *options, [True] * 3, 0, *grads)
    for got, t in zip(grads, a, strict=True):
        close(got.astype(np.float32), t.grad.numpy(), rtol=2e-2, atol=5e-2)


def test_padding_pairs():
    x, w = values(2, 3, 7, 8), values(4, 3, 3, 2)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 2), (0, 3)))
    want = expected(torch.tensor(padded), torch.tensor(w), None, [1, 0, 1, False, 0, 1]).numpy()
    y = np.empty(want.shape)
    close(_out("Convolution", (x, w, None, [1], [1, 2, 0, 3], [1], False, [0], 1), y), want)


def test_depthwise():
    for k in range(4):
        x, w, b = (
            values(2, 5, 9, 8),
            values(10 if k % 2 else 5, 1, 3, 2),
            values(10 if k % 2 else 5),
        )
        want = torch.nn.functional.conv2d(
            *(torch.tensor(v) for v in (x, w, b)), stride=(1, 2), padding=(1, k % 2), groups=5
        ).numpy()
        y = np.empty(want.shape)
        run("ConvDepthwise2d", x, w, [3, 2], b, [1, 2], [1, k % 2], [1, 1], y, 0)
        close(y, want, atol=1e-12)
    with pytest.raises(AclError, match="161002"):
        run("ConvDepthwise2d", x, w, [3, 3], b, [1, 2], [1, 1], [1, 1], y, 0)


def test_tbc():
    x, w, b = values(7, 2, 3), values(3, 3, 5), values(5)
    a = tensors(x, w, b)
    want = torch.conv_tbc(*a, 2)
    y = _out("ConvTbc", (x, w, b, 2), np.empty(want.shape))
    close(y, want.detach().numpy(), atol=1e-12)
    g = values(*want.shape)
    want.backward(torch.tensor(g))
    grads = [np.empty_like(v) for v in (x, w, b)]
    run("ConvTbcBackward", strided(g), strided(x), w, b, 2, 0, *grads)
    for got, t in zip(grads, a, strict=True):
        close(got, t.grad.numpy(), atol=1e-12)
    with pytest.raises(AclError, match="161002"):
        run("ConvTbc", x, w, b, 2, np.empty((7, 2, 5)), 0)


def test_empty():
    options = [[1], [0], [1], False, [0], 1]
    x, w = np.empty((0, 3, 5, 5)), values(4, 3, 3, 3)
    run("Convolution", x, w, None, *options, np.empty((0, 4, 3, 3)), 0)
    gw, gb = np.ones_like(w), np.ones(4)
    run("ConvolutionBackward", np.empty((0, 4, 3, 3)), x, w, [4], *options, [True] * 3, 0,
        np.empty_like(x), gw, gb)  # fmt: skip
    assert not gw.any() and not gb.any()


def test_errors():
    x, w, y = values(1, 4, 6, 6), values(2, 4, 3, 3), np.empty((1, 2, 4, 4))
    good = [x, w, None, [1], [0], [1], False, [0], 1, y, 0]
    run("Convolution", *good)
    for at, bad in ((0, values(1, 3, 6, 6)), (0, values(6, 6)), (1, values(2, 4)), (2, values(3)),
                    (3, [0, 0]), (3, [1, 1, 1]), (4, [-1]), (5, [0]), (8, 3), (9, np.empty((1, 2, 4, 5))),
                    (5, [9]), (0, np.ones((1, 4, 6, 6), int))):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("Convolution", *good[:at], bad, *good[at + 1 :])
    with pytest.raises(AclError, match="161002"):
        run("Convolution", x, values(4, 4, 3, 3), None, [1], [0], [1], True, [1], 1, np.empty((1, 4, 9, 9)), 0)  # fmt: skip
    with pytest.raises(AclError, match="161001"):
        run("ConvolutionBackward", y, x, w, None, *good[3:9], [True, True, False], 0, None, w, None)


def test_weight_layout():
    """What TransConvolutionWeight makes is a weight that Convolution takes."""
    x, w = values(1, 4, 5, 5).astype(np.float16), values(3, 4, 3, 3).astype(np.float32)
    made = np.empty(w.shape, np.float16)
    run("TransConvolutionWeight", strided(w), False, 1, made)
    options = [[1], [0], [1], False, [0], 1]
    got, want = (np.empty((1, 3, 3, 3), np.float16) for _ in range(2))
    _out("Convolution", (x, made, None, *options), got)
    _out("Convolution", (x, w.astype(np.float16), None, *options), want)
    np.testing.assert_array_equal(got, want)
    run("TransConvolutionWeight", w[:0], False, 1, made[:0])
    for args in ((w, True, 1, made), (w, False, 0, made), (w, False, 1, w), (w[0], False, 1, made)):
        with pytest.raises(AclError, match="161002"):
            run("TransConvolutionWeight", *args)
