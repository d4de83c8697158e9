"""RMSNorm, normalisations of a sum and GroupNorm with Swish, with their gradients, against PyTorch."""

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import LAYOUTS, blank, every, laid, near, normal, wide

F = torch.nn.functional
SHAPES = [((6, 4, 10), 1), ((3, 1, 7, 8), 2), ((9,), 1), ((2, 300), 1)]


def made(shape, dtype, layout, **bounds):
    return laid(normal(*shape, **bounds).astype(dtype), layout)


def statistic(dtype):
    return np.float64 if dtype == np.float64 else np.float32


def rms(x, gamma, eps):
    dims = tuple(range(-gamma.ndim, 0))
    rstd = (x.pow(2).mean(dims, keepdim=True) + eps).rsqrt()
    return x * rstd * gamma, rstd


@pytest.mark.parametrize(("shape", "last"), SHAPES)
def test_rms_norm(shape, last):
    rows = (*shape[:-last], *[1] * last)
    for dtype, layout in every():
        x, gamma = made(shape, dtype, layout), made(shape[-last:], dtype, layout)
        y, rstd = blank(shape, dtype, layout), blank(rows, statistic(dtype))
        for name, more in (("RmsNorm", 0), ("GemmaRmsNorm", 1)):
            run(name, x, gamma, 1e-5, y, rstd)
            want = rms(wide(x), wide(gamma) + more, 1e-5)
            near(y, want[0], 2)
            near(rstd, want[1])


@pytest.mark.parametrize(("shape", "last"), SHAPES)
def test_rms_norm_grad(shape, last):
    for dtype, layout in every():
        x, gamma, dy = (made(s, dtype, layout) for s in (shape, shape[-last:], shape))
        a, w = wide(x, True), wide(gamma, True)
        want, rstd = rms(a, w, 1e-6)
        want.backward(wide(dy))
        dx, dgamma = blank(shape, dtype, layout), blank(shape[-last:], statistic(dtype), layout)
        short = rstd.detach().numpy().reshape(shape[:-last]).astype(statistic(dtype))
        run("RmsNormGrad", dy, x, short, gamma, dx, dgamma)
        near(dx, a.grad, 4)
        near(dgamma, w.grad, 8)


@pytest.mark.parametrize(("shape", "last"), SHAPES)
def test_add_rms_norm(shape, last):
    rows = (*shape[:-last], *[1] * last)
    for dtype, layout in every():
        x1, x2, gamma = (made(s, dtype, layout) for s in (shape, shape, shape[-last:]))
        total = wide(x1) + wide(x2)
        want, rstd = rms(total, wide(gamma), 1e-6)
        y, x, saved = blank(shape, dtype, layout), blank(shape, dtype), blank(rows, np.float32)
        run("AddRmsNorm", x1, x2, gamma, 1e-6, y, saved, x)
        near(y, want, 2)
        near(x, total, 2)
        np.testing.assert_allclose(saved, rstd, rtol=1e-5)
        y1, y2 = blank(shape, np.float32, layout), blank(shape, dtype)
        run("AddRmsNormCast", x1, x2, gamma, 1e-6, y1, y2, saved, x)
        assert (y2 == y).all()
        assert (y1 == y2.astype(np.float32)).all()
        assert (saved == saved.astype(np.float32)).all()
        saved[...] = 0
        run("InplaceAddRmsNorm", x1, x2, gamma, 1e-6, saved)
        assert (x1 == y).all()
        assert (x2 == x).all()
        np.testing.assert_allclose(saved, rstd, rtol=1e-5)


def test_add_layer_norm():
    shape = (5, 3, 12)
    for dtype, layout in every():
        x1, x2, gamma, beta = (
            made(s, dtype, layout) for s in (shape, shape, shape[-1:], shape[-1:])
        )
        for bias in (None, made(shape[-1:], dtype, layout), made(shape, dtype, layout)):
            total = wide(x1) + wide(x2) + (0 if bias is None else wide(bias))
            y, x = blank(shape, dtype, layout), blank(shape, dtype)
            mean, rstd = (blank((*shape[:-1], 1), statistic(dtype)) for _ in range(2))
            run("AddLayerNorm", x1, x2, gamma, beta, bias, 1e-5, True, y, mean, rstd, x)
            near(y, F.layer_norm(total, shape[-1:], wide(gamma), wide(beta), 1e-5), 2)
            near(x, total, 2)
            near(mean, total.mean(-1, True))
            near(rstd, (total.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt())
            x[...] = 3
            run("AddLayerNorm", x1, x2, gamma, beta, bias, 1e-5, False, y, mean, rstd, x)
            assert (x == 3).all()


def test_add_layer_norm_grad():
    shape = (5, 3, 12)
    for dtype, layout in every():
        x1, x2, dy, dsum = (made(shape, dtype, layout) for _ in range(4))
        gamma = made(shape[-1:], dtype, layout)
        a, w, b = (
            wide(x1, True),
            wide(gamma, True),
            torch.zeros(12, dtype=torch.float64, requires_grad=True),
        )
        total = a + wide(x2)
        F.layer_norm(total, shape[-1:], w, b, 1e-5).backward(wide(dy))
        kind = statistic(dtype)
        mean = total.mean(-1, True).detach().numpy().astype(kind)
        rstd = (
            (total.var(-1, correction=0, keepdim=True) + 1e-5).rsqrt().detach().numpy().astype(kind)
        )
        for more in (None, dsum):
            dx, dw, db = blank(shape, dtype, layout), blank((12,), kind), blank((12,), kind)
            run("AddLayerNormGrad", dy, x1, x2, rstd, mean, gamma, more, dx, dw, db)
            near(dx, a.grad + (0 if more is None else wide(more)), 4)
            near(dw, w.grad, 8)
            near(db, b.grad, 8)


def test_deep_norm():
    shape = (4, 5, 16)
    for dtype, layout in every():
        x, gx, dy = (made(shape, dtype, layout) for _ in range(3))
        gamma, beta = made(shape[-1:], dtype, layout), made(shape[-1:], dtype, layout)
        leaves = [wide(a, True) for a in (x, gx, gamma, beta)]
        total = 0.3 * leaves[0] + leaves[1]
        want = F.layer_norm(total, shape[-1:], leaves[2], leaves[3], 1e-5)
        kind = statistic(dtype)
        mean, rstd = (blank((*shape[:-1], 1), kind) for _ in range(2))
        y = blank(shape, dtype, layout)
        run("DeepNorm", x, gx, beta, gamma, 0.3, 1e-5, mean, rstd, y)
        near(y, want, 2)
        near(mean, total.mean(-1, True))
        want.backward(wide(dy))
        dx, dgx = blank(shape, dtype, layout), blank(shape, dtype)
        dbeta, dgamma = blank((16,), kind), blank((16,), kind)
        run("DeepNormGrad", dy, x, gx, gamma, mean, rstd, 0.3, dx, dgx, dbeta, dgamma)
        for got, leaf in zip((dx, dgx, dgamma, dbeta), leaves, strict=True):
            near(got, leaf.grad, 8)


def test_fast_layer_norm():
    for dtype, layout in every():
        x, gamma, beta = (made(s, dtype, layout) for s in ((4, 6), (6,), (6,)))
        y, mean, rstd = (
            blank((4, 6), dtype, layout),
            blank((4, 1), statistic(dtype)),
            blank((4, 1), statistic(dtype)),
        )
        run("FastLayerNorm", x, [6], gamma, beta, 1e-5, y, mean, rstd)
        near(y, F.layer_norm(wide(x), (6,), wide(gamma), wide(beta), 1e-5), 2)


@pytest.mark.parametrize("scale", (1.0, 1.7))
def test_group_norm_swish(scale):
    shape, groups = (2, 6, 4, 3), 3
    for dtype, layout in every():
        x, dy, gamma, beta = (made(s, dtype, layout) for s in (shape, shape, (6,), (6,)))
        leaves = [wide(a, True) for a in (x, gamma, beta)]
        z = F.group_norm(leaves[0], groups, *leaves[1:], 1e-5)
        out = z * torch.sigmoid(scale * z)
        y, mean, rstd = blank(shape, dtype, layout), blank((2, 3), dtype), blank((2, 3), dtype)
        run("GroupNormSwish", x, gamma, beta, groups, "NCHW", 1e-5, False, scale, y, mean, rstd)
        near(y, z, 2)
        run("GroupNormSwish", x, gamma, beta, groups, "NCHW", 1e-5, True, scale, y, mean, rstd)
        near(y, out, 2)
        out.backward(wide(dy))
        mean, rstd = mean.astype(np.float64), rstd.astype(np.float64)
        flat = wide(x).reshape(2, 3, -1)
        exact = [flat.mean(-1), (flat.var(-1, correction=0) + 1e-5).rsqrt()]
        for got, want in zip((mean, rstd), exact, strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-2, atol=1e-2)
        kind = statistic(dtype)
        mean, rstd = (a.numpy().astype(kind) for a in exact)
        dx, dw, db = blank(shape, dtype, layout), blank((6,), kind), blank((6,), kind)
        run(
            "GroupNormSwishGrad",
            dy,
            mean,
            rstd,
            x,
            gamma,
            beta,
            groups,
            "NCHW",
            scale,
            True,
            True,
            dx,
            dw,
            db,
        )
        for got, leaf in zip((dx, dw, db), leaves, strict=True):
            near(got, leaf.grad, 8)
        dw[...] = 5
        run(
            "GroupNormSwishGrad",
            dy,
            mean,
            rstd,
            x,
            gamma,
            beta,
            groups,
            "NCHW",
            scale,
            False,
            True,
            dx,
            dw,
            db,
        )
        assert (dw == 5).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_edges(layout):
    e, g, r = (
        np.empty((0, 4), np.float32),
        made((4,), np.float32, layout),
        np.empty((0, 1), np.float32),
    )
    run("RmsNorm", e, g, 1e-6, e.copy(), r)
    dw = np.full(4, 7, np.float32)
    run("RmsNormGrad", e, e, r, g, e.copy(), dw)
    assert not dw.any()
    x, y, r = normal(3, 4), np.empty((3, 4)), np.empty((3, 1))
    g = normal(4)
    whole, bad = np.ones((3, 4), np.int32), np.empty((4, 3))
    for name, args in (("RmsNorm", (x, g[:3], 1e-6, y, r)), ("RmsNorm", (x, g, 1e-6, bad, r)),
                       ("RmsNorm", (x, g, 1e-6, y, np.empty((4, 1)))), ("RmsNorm", (whole, g, 1e-6, y, r)),
                       ("RmsNorm", (x, np.ones(()), 1e-6, y, r)), ("AddRmsNorm", (x, x[:1], g, 1e-6, y, r, y)),
                       ("AddLayerNorm", (x, x, g, g, bad, 1e-5, True, y, r, r.copy(), y)),
                       ("DeepNorm", (x, bad, g, g, 1.0, 1e-5, r, r.copy(), y)),
                       ("RmsNormGrad", (x, x, r, g, y, g[:2])),
                       ("GroupNormSwish", (x, g, g, 3, "ND", 1e-5, True, 1.0, y, r, r.copy()))):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run(name, *args)
    for name, args in (("RmsNorm", (x, None, 1e-6, y, r)),
                       ("AddLayerNorm", (x, x, g, g, None, 1e-5, True, y, r, r.copy(), None)),
                       ("GroupNormSwishGrad", (x, r, r, x, g, g, 1, "ND", 1.0, True, False, y, None, None))):  # fmt: skip
        with pytest.raises(AclError, match="161001"):
            run(name, *args)
