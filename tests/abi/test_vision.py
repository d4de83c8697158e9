"""Patches, shuffled channels, affine grids, nearest points, deformable attention, against PyTorch."""

import ml_dtypes
import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import strided

RNG = np.random.default_rng(34)
close, same = np.testing.assert_allclose, np.testing.assert_array_equal
HALVES = (np.float16, ml_dtypes.bfloat16)


def test_im2col():
    for _ in range(8):
        x = RNG.standard_normal((2, 3, 8, 9))
        options = [RNG.integers(1, 4, 2).tolist(), RNG.integers(1, 3, 2).tolist(),
                   RNG.integers(0, 3, 2).tolist(), RNG.integers(1, 4, 2).tolist()]  # fmt: skip
        want = torch.nn.functional.unfold(torch.tensor(x), *options).numpy()
        same(run("Im2col", x, *options, np.empty(want.shape)), want)
        y = strided(np.empty(want.shape))
        run("Im2col", strided(x), *options, y)
        same(y, want)
        same(run("Im2col", x[1], *options, np.empty(want.shape[1:])), want[1])
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, bool,
                  np.float16, np.float32):  # fmt: skip
        y = np.abs(x * 50).astype(dtype)
        want = torch.nn.functional.unfold(torch.tensor(y.astype(float)), 3, 1, 1, 2).numpy()
        same(
            run("Im2col", y, [3, 3], [1, 1], [1, 1], [2, 2], np.empty(want.shape, dtype)),
            want.astype(dtype),
        )
    y = (x + 1j * x[::-1]).astype(np.complex64)
    want = torch.nn.functional.unfold(torch.tensor(y), 3, 1, 1, 2).numpy()
    same(run("Im2col", y, [3, 3], [1, 1], [1, 1], [2, 2], np.empty_like(want)), want)
    good = [x, [3, 3], [1, 1], [1, 1], [2, 2], np.empty(want.shape)]
    run("Im2col", x[:0], *good[1:5], good[5][:0])
    for at, bad in ((1, [0, 1]), (1, [11, 1]), (2, [0]), (3, [-1]), (4, []), (0, x[0, 0]), (5, good[5][:1]),
                    (5, good[5].astype(int))):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("Im2col", *good[:at], bad, *good[at + 1 :])


def test_channel_shuffle():
    for dtype in (float, np.float32, np.float16, ml_dtypes.bfloat16, np.uint8, np.int8, np.int16, np.int32,
                  np.int64, np.complex64, np.complex128, bool):  # fmt: skip
        for shape in ((2, 6, 3), (2, 6, 3, 4), (1, 6, 2, 3, 2)):
            x = (RNG.standard_normal(shape) * 9).astype(dtype)
            want = x.reshape(shape[0], 3, 2, -1).swapaxes(1, 2).reshape(shape)
            same(run("ChannelShuffle", x, 3, np.empty_like(x)), want)
            y = strided(np.empty_like(x))
            run("ChannelShuffle", strided(x), 3, y)
            same(y, want)
    run("ChannelShuffle", x[:0], 3, x[:0])
    for args in ((x, 4, x), (x, 0, x), (x[0, 0, 0], 1, x[0, 0, 0]), (x, 3, x[:, :3])):
        with pytest.raises(AclError, match="161002"):
            run("ChannelShuffle", *args)


def test_affine_grid():
    for size in ((3, 1, 4, 5), (2, 1, 1, 6), (2, 1, 3, 4, 5)):
        n = len(size) - 2
        theta = RNG.standard_normal((size[0], n, n + 1))
        for align in (False, True):
            want = torch.nn.functional.affine_grid(torch.tensor(theta), size, align).numpy()
            close(run("AffineGrid", theta, size, align, np.empty(want.shape)), want, atol=1e-12)
            y = strided(np.empty(want.shape, np.float32))
            run("AffineGrid", strided(theta.astype(np.float32)), size, align, y)
            close(y, want, rtol=1e-5, atol=1e-6)
            for dtype in HALVES:
                y = run("AffineGrid", theta.astype(dtype), size, align, np.empty(want.shape, dtype))
                close(y.astype(float), want, atol=0.05)
    run("AffineGrid", theta[:0], (0, *size[1:]), True, np.empty((0, *want.shape[1:])))
    for args in ((theta, (2, 1, 3), True, y), (theta, size, True, y[1:]), (theta[:, :2], size, True, y),
                 (theta.astype(int), size, True, y)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("AffineGrid", *args)


def nearest(a, b):
    """Squared distances to the nearest of the other set, as in Chamfer's distance."""
    d = ((a[:, :, None] - b[:, None]) ** 2).sum(-1)
    return d.min(2), d.min(1)


def test_chamfer():
    for dtype, tolerance in ((float, 1e-12), (np.float32, 1e-4), (np.float16, 5e-2)):
        a, b = (
            RNG.standard_normal((3, 7, 2)).astype(dtype),
            RNG.standard_normal((3, 5, 2)).astype(dtype),
        )
        ta, tb = (torch.tensor(v.astype(float), requires_grad=True) for v in (a, b))
        first, second = nearest(ta, tb)
        g = [RNG.standard_normal(v.shape).astype(dtype) for v in (a[..., 0], b[..., 0])]
        (first.values * torch.tensor(g[0].astype(float))).sum().backward(retain_graph=True)
        (second.values * torch.tensor(g[1].astype(float))).sum().backward()
        index = [first.indices.numpy().astype(np.int32), second.indices.numpy().astype(np.int32)]
        for change in (lambda v: v, strided):
            ga, gb = change(np.empty_like(a)), change(np.empty_like(b))
            run("ChamferDistanceBackward", *(change(v) for v in (a, b, *index, *g)), ga, gb)
            close(ga.astype(float), ta.grad, atol=tolerance)
            close(gb.astype(float), tb.grad, atol=tolerance)
    run("ChamferDistanceBackward", *(v[:0] for v in (a, b, *index, *g, ga, gb)))
    index[0][0, 0] = 5
    with pytest.raises(AclError, match="nearest"):
        run("ChamferDistanceBackward", a, b, *index, *g, ga, gb)
    for bad in (a[0], a[:2], a[..., :1]):
        with pytest.raises(AclError, match="161002"):
            run("ChamferDistanceBackward", bad, b, *index, *g, ga, gb)


def deform(value, sizes, location, weight):
    """The definition, map by map, through grid_sample."""
    n, _, heads, channels = value.shape
    queries, points = location.shape[1], location.shape[4]
    total, start = 0, 0
    for level, (h, w) in enumerate(sizes):
        part = (
            value[:, start : start + h * w].permute(0, 2, 3, 1).reshape(n * heads, channels, h, w)
        )
        grid = (
            (2 * location[:, :, :, level] - 1)
            .transpose(1, 2)
            .reshape(n * heads, queries, points, 2)
        )
        got = torch.nn.functional.grid_sample(part, grid, padding_mode="zeros", align_corners=False)
        mine = weight[:, :, :, level].transpose(1, 2).reshape(n * heads, 1, queries, points)
        total = total + (got * mine).sum(-1)
        start += h * w
    return total.view(n, heads * channels, queries).transpose(1, 2)


def test_deformable_attention():
    sizes = np.array([[4, 5], [2, 3], [1, 1]])
    starts = np.array([0, 20, 26])
    for dtype in (float, np.float32, *HALVES):
        value = RNG.standard_normal((2, 27, 3, 4)).astype(dtype)
        location = (RNG.random((2, 6, 3, 3, 5, 2)) * 1.6 - 0.3).astype(dtype)
        weight = RNG.random((2, 6, 3, 3, 5)).astype(dtype)
        leaves = [
            torch.tensor(v.astype(float), requires_grad=True) for v in (value, location, weight)
        ]
        want = deform(leaves[0], sizes.tolist(), *leaves[1:])
        g = RNG.standard_normal(want.shape).astype(dtype)
        want.backward(torch.tensor(g.astype(float)))
        loose = {"atol": 1e-11} if dtype is float else {"rtol": 1e-3, "atol": 1e-4}
        if np.dtype(dtype).itemsize == 2:
            loose = {"rtol": 2e-2, "atol": 2e-1}
        for change in (lambda v: v, strided):
            inputs = [change(v) for v in (value, sizes.astype(np.int32), starts, location, weight)]
            y = change(np.empty(want.shape, dtype))
            run("MultiScaleDeformableAttnFunction", *inputs, y)
            close(y.astype(float), want.detach(), **loose)
            grads = [change(np.empty_like(v)) for v in (value, location, weight)]
            run("MultiScaleDeformableAttentionGrad", *inputs, change(g), *grads)
            for got, leaf in zip(grads, leaves, strict=True):
                close(got.astype(float), leaf.grad, **loose)
    run(
        "MultiScaleDeformableAttnFunction",
        value[:0],
        sizes,
        starts,
        location[:0],
        weight[:0],
        y[:0],
    )
    with pytest.raises(AclError, match="keys"):
        run("MultiScaleDeformableAttnFunction", value, sizes, starts + 1, location, weight, y)
    for args in ((value[0], sizes, starts, location, weight, y), (value, sizes[:2], starts, location, weight, y),
                 (value, sizes, starts, location[..., :1], weight, y), (value, sizes, starts, location, weight[:1], y),
                 (value, sizes, starts, location, weight, y[:1])):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("MultiScaleDeformableAttnFunction", *args)
