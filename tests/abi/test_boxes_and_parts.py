"""Col2im, adaptive maxima's gradients, overlaps of boxes, sums of BatchNorm, against PyTorch and formulas."""

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import RNG, blank, every, laid, near, normal, wide


def test_im2col_backward():
    for dtype, layout in every():
        options = [RNG.integers(1, 4, 2).tolist(), RNG.integers(1, 3, 2).tolist(),
                   RNG.integers(0, 3, 2).tolist(), RNG.integers(1, 4, 2).tolist()]  # fmt: skip
        shape = tuple(torch.nn.functional.unfold(torch.zeros(2, 3, 8, 9), *options).shape)
        g = laid(normal(*shape).astype(dtype), layout)
        want = torch.nn.functional.fold(wide(g), (8, 9), *options)
        near(run("Im2colBackward", g, [8, 9], *options, blank(want.shape, dtype, layout)), want, 4)
        near(
            run("Im2colBackward", g[1], [8, 9], *options, blank(want.shape[1:], dtype)), want[1], 4
        )
    good = [g, [8, 9], *options, np.empty((2, 3, 8, 9), g.dtype)]
    run("Im2colBackward", g[:0], [8, 9], *options, np.empty((0, 3, 8, 9), g.dtype))
    for at, bad in ((0, g[:1]), (0, g.astype(np.float32)), (1, [8, 8, 8]), (1, [0, 9]), (2, [20, 1]), (6, good[6][:, :2]),
                    (6, good[6][0, 0])):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("Im2colBackward", *good[:at], bad, *good[at + 1 :])


def test_adaptive_max_pool2d_backward():
    for dtype, layout in every():
        for index in (np.int32, np.int64):
            x = laid(normal(2, 3, 9, 7).astype(dtype), layout)
            t = wide(x, True)
            y, at = torch.nn.functional.adaptive_max_pool2d(t, (4, 5), return_indices=True)
            g = laid(normal(*y.shape).astype(dtype), layout)
            y.backward(wide(g))
            at = at.numpy().astype(index)
            near(
                run("AdaptiveMaxPool2dBackward", g, x, at, blank(x.shape, dtype, layout)), t.grad, 2
            )
    with pytest.raises(AclError, match="161002"):
        run("AdaptiveMaxPool2dBackward", g, x, at[:1], x.copy())


def test_iou():
    def overlaps(a, b, foreground, eps):
        low, high = np.maximum(a[..., :2], b[..., :2]), np.minimum(a[..., 2:], b[..., 2:])
        both = np.maximum(high - low, 0).prod(-1)
        area = [(v[..., 2:] - v[..., :2]).prod(-1) for v in (a, b)]
        return both / (area[1] + (0 if foreground else area[0] - both) + eps)

    for dtype, layout in every():
        corners = [RNG.uniform(0, 4, (n, 2)) for n in (5, 7)]
        a, b = (
            laid(np.hstack([c, c + RNG.uniform(1, 5, c.shape)]).astype(dtype), layout)
            for c in corners
        )
        wide_a, wide_b = a.astype(float), b.astype(float)
        for mode, eps in (("iou", 0.01), ("iof", 0.0)):
            eps32 = float(np.float32(eps))
            want = overlaps(wide_a[:, None], wide_b[None], mode == "iof", eps32)
            near(run("Iou", a, b, mode, eps, False, blank(want.shape, dtype, layout)), want)
            want = overlaps(wide_a, wide_b[:5], mode == "iof", eps32)[:, None]
            near(run("Iou", a, b[:5], mode, eps, True, blank(want.shape, dtype)), want)
    run("Iou", a[:0], b, "iou", 0.0, False, np.empty((0, 7), a.dtype))
    out = np.empty((5, 7), a.dtype)
    for args in ((a, b, "giou", 0.0, False, out), (a, b, "iou", 0.0, True, out), (a[:, :3], b, "iou", 0.0, False, out),
                 (a, b, "iou", 0.0, False, out.T), (a, b.astype(np.float32), "iou", 0.0, False, out)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("Iou", *args)


def test_batch_norm_sums():
    x = normal(4, 3, 5, 2)
    for dtype, layout in every():
        v = laid(x.astype(dtype), layout)
        sums, squares = blank(3, np.float32), blank(3, np.float32)
        run("BatchNormReduce", v, sums, squares)
        near(sums, v.astype(float).sum((0, 2, 3)), 8)
        near(squares, (v.astype(float) ** 2).sum((0, 2, 3)), 8)
    with pytest.raises(AclError, match="161002"):
        run("BatchNormReduce", x, sums[:2], squares)


def test_sync_batch_norm():
    """The sums of three devices' parts give the statistics of the whole."""
    x, momentum, eps = normal(9, 4, 6), np.float32(0.2), np.float32(1e-3)
    parts = np.split(x, (2, 5))
    counts = np.array([p.size // 4 for p in parts], np.int32)
    sums = np.stack([p.sum((0, 2)) for p in parts])
    squares = np.stack([(p**2).sum((0, 2)) for p in parts])
    for dtype, layout in every():
        if dtype.itemsize == 2:
            continue
        old = normal(4).astype(dtype), normal(4, low=1, high=2).astype(dtype)
        mean, variance = (laid(v.copy(), layout) for v in old)
        joint, rstd = blank(4, dtype, layout), blank(4, dtype)
        args = [
            laid(sums.astype(dtype), layout),
            squares.astype(dtype),
            counts,
            mean,
            variance,
            momentum,
            eps,
            joint,
            rstd,
        ]
        run("SyncBatchNormGatherStats", *args)
        near(joint, x.mean((0, 2)))
        near(rstd, 1 / np.sqrt(x.var((0, 2)) + eps), 3)
        near(mean, old[0] + momentum * (x.mean((0, 2)) - old[0]))
        near(variance, old[1] + momentum * (x.var((0, 2), ddof=1) - old[1]), 3)
    for at, bad in (
        (0, sums[0]),
        (1, squares[:2]),
        (2, counts[:2]),
        (3, mean[:2].copy()),
        (7, joint[:3]),
    ):
        with pytest.raises(AclError, match="161002"):
            run("SyncBatchNormGatherStats", *args[:at], bad, *args[at + 1 :])
