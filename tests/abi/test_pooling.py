"""Pooling, its gradients and unpooling against PyTorch."""

import ml_dtypes
import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import strided

RNG = np.random.default_rng(32)
close, same = np.testing.assert_allclose, np.testing.assert_array_equal
F = torch.nn.functional
MAX = {2: ("MaxPool2dWithIndices", F.max_pool2d), 3: ("MaxPool3dWithArgmax", F.max_pool3d)}
AVG = {2: ("AvgPool2d", F.avg_pool2d), 3: ("AvgPool3d", F.avg_pool3d)}
HALVES = (np.float16, ml_dtypes.bfloat16)


def image(k, spatial):
    """A random input: batched or not, of the dtypes, strided or not."""
    x = RNG.standard_normal((2, 3, *RNG.integers(5, 9, spatial)))
    if k % 4 == 1:
        x = x[0]
    if k % 4 == 2:
        x = x.astype(np.float32)
    return strided(x) if k % 4 == 3 else x


def windows(spatial):
    kernel = RNG.integers(1, 4, spatial)
    pad = np.array([RNG.integers(0, n // 2 + 1) for n in kernel])
    return kernel.tolist(), RNG.integers(1, 4, spatial).tolist(), pad.tolist()


def leaf(x):
    return torch.tensor(np.ascontiguousarray(x), requires_grad=True)


@pytest.mark.parametrize("spatial", [2, 3])
def test_max(spatial):
    name, f = MAX[spatial]
    for k in range(16):
        x, (kernel, stride, pad) = image(k, spatial), windows(spatial)
        dilation, ceil = RNG.integers(1, 3, spatial).tolist(), bool(k & 1)
        if k == 5:
            x[..., ::3] = np.nan
        a = leaf(x)
        want, where = f(a, kernel, stride, pad, dilation, ceil, return_indices=True)
        y, i = np.empty(want.shape, x.dtype), np.empty(want.shape, np.int32 if k % 2 else np.int64)
        y, i = (strided(y), strided(i)) if k % 4 == 3 else (y, i)
        options = [kernel, [] if stride == kernel else stride, pad, dilation, ceil]
        run(name, x, *options, y, i)
        same(y, want.detach()), same(i, where)
        g = RNG.standard_normal(want.shape).astype(x.dtype)
        want.backward(torch.tensor(g))
        gx = np.full(x.shape, np.nan, x.dtype)
        run(name + "Backward", strided(g) if k % 4 == 3 else g, x, i, *options, gx)
        close(gx, a.grad, rtol=1e-5)
    for dtype in HALVES:
        x = RNG.standard_normal((2, 3, *[6] * spatial)).astype(dtype)
        want, where = f(torch.tensor(x.astype(np.float32)), 2, return_indices=True)
        y, i = np.empty(want.shape, dtype), np.empty(want.shape, np.int64)
        run(name, x, [2], [], [0], [1], False, y, i)
        same(y.astype(np.float32), want), same(i, where)
        gx = np.empty_like(x)
        run(name + "Backward", y, x, i, [2], [2], [0], [1], False, gx)
        assert (gx.astype(np.float32) != 0).sum() == y.size
    i[0, 0, 0] = x[0, 0].size
    with pytest.raises(AclError, match="indices"):
        run(name + "Backward", y, x, i, [2], [2], [0], [1], False, gx)
    for at, bad in ((1, [0]), (1, [9]), (2, [0]), (3, [2]), (4, [0]), (6, y[..., 1:]), (7, i.astype(float)),
                    (0, x[0, 0]), (1, [1, 1, 1, 1])):  # fmt: skip
        args = [x, [2], [2], [0], [1], False, y, i]
        with pytest.raises(AclError, match="161002"):
            run(name, *args[:at], bad, *args[at + 1 :])
    run(name, x[:0], [2], [2], [0], [1], False, y[:0], i[:0])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64])
def test_max_of_integers(dtype):
    """As PyTorch has them, which CANN's table of dtypes does not name."""
    ends = np.iinfo(dtype)
    for spatial, (name, f) in MAX.items():
        x = RNG.integers(ends.min, ends.max, (2, 3, *[6] * spatial), dtype, endpoint=True)
        x[0, 0] = ends.min
        want, where = f(torch.tensor(x), 3, 2, 1, return_indices=True)
        y, i = np.empty(want.shape, dtype), np.empty(want.shape, np.int64)
        run(name, x, [3], [2], [1], [1], False, y, i)
        same(y, want), same(i, where)
    y, mask = np.empty((2, 3, 3, 3), dtype), np.empty((2, 3, 4, 64), np.int8)
    flat = x[:, :, 0]
    run("MaxPool2dWithMask", flat, [2], [2], [0], [1], False, y, mask)
    same(y, flat.reshape(2, 3, 3, 2, 3, 2).max((3, 5)))
    with pytest.raises(AclError, match="161002"):
        run("MaxPool2dWithMask", flat, [2], [2], [0], [1], False, y.astype(float), mask)


def test_max_with_mask():
    for k in range(10):
        x, (kernel, stride, pad) = image(k, 2), windows(2)
        a = leaf(x)
        want = F.max_pool2d(a, kernel, stride, pad, 1, bool(k & 1))
        y = np.empty(want.shape, x.dtype)
        rows = ((want.shape[-1] * want.shape[-2] + 15) // 16 + 1) * 32
        mask = np.empty((*x.shape[:-2], kernel[0] * kernel[1], rows), np.int8)
        options = [kernel, stride, pad, [1, 1], bool(k & 1)]
        run("MaxPool2dWithMask", x, *options, y, mask)
        same(y, want.detach())
        assert mask.sum() == y.size
        g = RNG.standard_normal(want.shape).astype(x.dtype)
        want.backward(torch.tensor(g))
        gx = np.empty(x.shape, x.dtype)
        run("MaxPool2dWithMaskBackward", g, x, mask, *options, gx)
        close(gx, a.grad, rtol=1e-5)
    with pytest.raises(AclError, match="161002"):
        run("MaxPool2dWithMask", x, *options, y, mask[..., 1:])
    x = RNG.standard_normal((1, 2, 4, 4)).astype(np.float16)
    y, mask = np.empty((1, 2, 2, 2), np.float16), np.empty((1, 2, 4, 64), np.int8)
    run("MaxPool2dWithMask", x, [2], [2], [0], [1], False, y, mask)
    same(y, x.reshape(1, 2, 2, 2, 2, 2).max((3, 5)))
    run("MaxPool2dWithMask", x[:0], [2], [2], [0], [1], False, y[:0], mask[:0])


def test_max_of_an_empty_window():
    """All of the image lies between the window's elements: no maximum, no position."""
    x, y = np.ones((1, 2, 3, 3), np.float32), np.empty((1, 2, 1, 1), np.float32)
    mask = np.empty((1, 2, 4, 64), np.int8)
    run("MaxPool2dWithMask", x, [2], [1], [1], [4], False, y, mask)
    assert (y == -np.inf).all() and not mask.any()


def test_max_onnx():
    for dtype in (np.float32, np.float16, ml_dtypes.bfloat16, np.int32, np.int64, np.uint8, np.int16,
                  np.int8, np.uint16):  # fmt: skip
        x = (RNG.standard_normal((2, 3, 7, 8)) * 50).astype(dtype)
        low = (
            -np.inf
            if np.issubdtype(dtype, np.floating) or dtype == ml_dtypes.bfloat16
            else np.iinfo(dtype).min
        )
        wide = np.pad(x.astype(float), ((0, 0), (0, 0), (1, 0), (0, 1)), constant_values=low)
        want = F.max_pool2d(torch.tensor(wide), (3, 2), (2, 1)).numpy().astype(dtype)
        y = np.empty(want.shape, dtype)
        run("MaxPool", x, [3, 2], [2, 1], 0, [1, 0, 0, 1], [1, 1, 1, 1], 0, y)
        same(y, want)
    y = np.empty((3, 4, 4), x.dtype)
    run("MaxPool", strided(x[0]), [2], [], 0, [], [], 1, strided(y))
    with pytest.raises(AclError, match="autoPad"):
        run("MaxPool", x[0], [2], [], 1, [], [], 1, y)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
@pytest.mark.parametrize("spatial", [2, 3])
def test_avg_of_integers(spatial, dtype):
    """In int64, and quotients are cut."""
    name, f = AVG[spatial]
    cube = [0] if spatial == 2 else []
    for k in range(20):
        kernel, stride, pad = windows(spatial)
        ends = np.iinfo(dtype)
        shape = (2, 3, *RNG.integers(5, 9, spatial))
        x = RNG.integers(ends.min, ends.max, shape, dtype, endpoint=True)
        ceil, include, divisor = bool(k & 1), bool(k & 2), [0, 0, 5, -1][k // 4 % 4]
        a = torch.tensor(x.astype(np.int64))
        want = f(a, kernel, stride, pad, ceil, include, divisor or None)
        y = np.empty(want.shape, dtype)
        run(name, strided(x), kernel, stride, pad, ceil, include, divisor, *cube, y)
        same(y, want.numpy().astype(dtype))
    with pytest.raises(AclError, match="161002"):
        run(name + "Backward", y, x, kernel, stride, pad, ceil, include, 0, *cube, np.empty_like(x))


@pytest.mark.parametrize("spatial", [2, 3])
def test_avg(spatial):
    name, f = AVG[spatial]
    cube = [0] if spatial == 2 else []
    for k in range(20):
        x, (kernel, stride, pad) = image(k, spatial), windows(spatial)
        ceil, include, divisor = bool(k & 1), bool(k & 2), [0, 0, 5, -2][k // 4 % 4]
        a = leaf(x)
        want = f(a, kernel, stride, pad, ceil, include, divisor or None)
        y = np.empty(want.shape, x.dtype)
        y = strided(y) if k % 4 == 3 else y
        options = [kernel, [] if stride == kernel else stride, pad, ceil, include, divisor, *cube]
        run(name, x, *options, y)
        close(y, want.detach(), rtol=1e-5, atol=1e-6)
        g = RNG.standard_normal(want.shape).astype(x.dtype)
        want.backward(torch.tensor(g))
        gx = np.full(x.shape, np.nan, x.dtype)
        run(name + "Backward", strided(g) if k % 4 == 3 else g, x, *options, gx)
        close(gx, a.grad, rtol=1e-5, atol=1e-6)
    for dtype in HALVES:
        x = RNG.standard_normal((2, 3, *[6] * spatial)).astype(dtype)
        want = f(torch.tensor(x.astype(np.float32)), 3)
        y, gx = np.empty(want.shape, dtype), np.empty_like(x)
        run(name, x, [3], [3], [0], False, True, 0, *cube, y)
        close(y.astype(np.float32), want, rtol=1e-2, atol=1e-3)
        run(name + "Backward", np.ones_like(y), x, [3], [3], [0], False, True, 0, *cube, gx)
        close(gx.astype(np.float32), 3.0**-spatial, rtol=1e-2)
    run(name, x[:0], [3], [3], [0], False, True, 0, *cube, y[:0])
    for at, bad in ((1, [7]), (2, [0]), (3, [2]), (0, x.astype(int)), (-1, y[..., 1:])):
        args = [x, [3], [3], [0], False, True, 0, *cube, y]
        args[at] = bad
        with pytest.raises(AclError, match="161002"):
            run(name, *args)


@pytest.mark.parametrize("spatial", [2, 3])
def test_adaptive(spatial):
    avg = F.adaptive_avg_pool2d if spatial == 2 else F.adaptive_avg_pool3d
    largest = F.adaptive_max_pool2d if spatial == 2 else F.adaptive_max_pool3d
    for k in range(12):
        x, size = image(k, spatial), RNG.integers(1, 8, spatial).tolist()
        a = leaf(x)
        want = avg(a, size)
        y = np.empty(want.shape, x.dtype)
        run(f"AdaptiveAvgPool{spatial}d", x, size, y)
        close(y, want.detach(), rtol=1e-5, atol=1e-6)
        g = RNG.standard_normal(want.shape).astype(x.dtype)
        want.backward(torch.tensor(g))
        gx = strided(np.empty(x.shape, x.dtype))
        run(f"AdaptiveAvgPool{spatial}dBackward", g, x, gx)
        close(gx, a.grad, rtol=1e-5, atol=1e-6)
        a = leaf(x)
        want, where = largest(a, size, return_indices=True)
        i = np.empty(want.shape, int)
        run(f"AdaptiveMaxPool{spatial}d", x, size, y, i)
        same(y, want.detach()), same(i, where)
        if spatial == 3:
            want.backward(torch.tensor(g))
            run("AdaptiveMaxPool3dBackward", g, x, i, gx)
            close(gx, a.grad, rtol=1e-5)
    for dtype in HALVES:
        x = RNG.standard_normal((2, 3, *[6] * spatial)).astype(dtype)
        y = np.empty((2, 3, *[2] * spatial), dtype)
        run(f"AdaptiveAvgPool{spatial}d", x, [2] * spatial, y)
        close(
            y.astype(np.float32), avg(torch.tensor(x.astype(np.float32)), 2), rtol=1e-2, atol=1e-3
        )
    with pytest.raises(AclError, match="161002"):
        run(f"AdaptiveAvgPool{spatial}d", x, [3] * spatial, y)
    run(f"AdaptiveAvgPool{spatial}d", x[:0], [2] * spatial, y[:0])


def test_global():
    for dtype in (float, np.float32, np.float16):
        for shape in ((2, 3, 5), (2, 3, 9, 7), (2, 3, 4, 5, 6)):
            x = RNG.standard_normal(shape).astype(dtype)
            y = np.empty(shape[:2] + (1,) * (len(shape) - 2), dtype)
            axes = tuple(range(2, len(shape)))
            run("GlobalMaxPool", strided(x), y)
            same(y, x.max(axes, keepdims=True))
            run("GlobalAveragePool", x, y)
            close(y, x.astype(float).mean(axes, keepdims=True), rtol=1e-6 if dtype != np.float16 else 1e-3, atol=1e-3 if dtype == np.float16 else 1e-7)  # fmt: skip
    run("GlobalAveragePool", x[:0], y[:0])
    with pytest.raises(AclError, match="161002"):
        run("GlobalAveragePool", x, y[..., :0])
    with pytest.raises(AclError, match="161002"):
        run("GlobalMaxPool", x, x)


@pytest.mark.parametrize("spatial", [2, 3])
def test_unpool(spatial):
    pool, unpool = (
        (F.max_pool2d, F.max_unpool2d) if spatial == 2 else (F.max_pool3d, F.max_unpool3d)
    )
    more = [[2], [0]] if spatial == 3 else []
    shape = (2, 3, *[6] * spatial)
    for dtype in (float, np.float32, np.float16, np.int64, np.int32, np.int16, np.int8, np.uint8):
        x = (RNG.standard_normal(shape) * 20).astype(dtype)
        y, i = pool(torch.tensor(x.astype(float)), 2, return_indices=True)
        want = unpool(y, i, 2).numpy().astype(dtype)
        y, i = y.numpy().astype(dtype), i.numpy()
        out = np.empty(shape, dtype)
        run(f"MaxUnpool{spatial}d", strided(y), i.astype(np.int32), [6] * spatial, *more, out)
        same(out, want)
        back = np.empty(y.shape, dtype)
        run(f"MaxUnpool{spatial}dBackward", x, y, i, [6] * spatial, *more, strided(back))
        run(f"MaxUnpool{spatial}dBackward", x, y, i, [6] * spatial, *more, back)
        same(back, y)
    i[0] = 6**spatial
    with pytest.raises(AclError, match="indices"):
        run(f"MaxUnpool{spatial}d", y, i, [6] * spatial, *more, out)
    with pytest.raises(AclError, match="161002"):
        run(f"MaxUnpool{spatial}d", y, i, [5] * spatial, *more, out)
    run(f"MaxUnpool{spatial}d", y[:0], i[:0], [6] * spatial, *more, out[:0])
