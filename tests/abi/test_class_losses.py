"""Losses whose targets are classes, and CTC, against PyTorch."""

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import RNG, blank, every, laid, near, normal, wide

F = torch.nn.functional
REDUCTIONS = ("none", "mean", "sum")
SHAPES = ((7,), (6, 7), (7, 2, 3), (2, 7, 3, 4))


def classes(shape, low, high, kind, layout):
    return laid(RNG.integers(low, high, shape).astype(kind), layout)


def torch_nll(x, t, w, ignored, reduction):
    """F.nll_loss takes no (C, H, W)."""
    lone = x.ndim == 3
    x, t = (x[None], t[None]) if lone else (x, t)
    out = F.nll_loss(x, t.long(), w, ignore_index=ignored, reduction=reduction)
    return out[0] if lone and reduction == "none" else out


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", (np.int64, np.int32, np.uint8))
def test_nll(shape, kind):
    name = "NLLLoss2d" if len(shape) > 2 else "NLLLoss"
    axis = len(shape) % 2 ^ 1
    where = shape[:axis] + shape[axis + 1 :]
    for dtype, layout in every():
        x, w = (laid(a.astype(dtype), layout) for a in (normal(*shape), normal(7, low=0.5, high=2)))
        t = classes(where, 0, 7, kind, layout)
        for weight in (w, None):
            for k, reduction in enumerate(REDUCTIONS):
                ignored = int(t.flat[0]) if where else 99
                if ignored != 99 and (np.asarray(t) == ignored).all():
                    ignored = 99
                a = wide(x, True)
                want = torch_nll(a, wide(t), wide(weight), ignored, reduction)
                out, total = blank(want.shape, dtype, layout), blank((), dtype)
                run(name, x, t, weight, k, ignored, out, total)
                near(out, want)
                used = np.where(t == ignored, 0, 1 if weight is None else weight.astype(float)[t])
                near(total, used.sum() if k else 0)
                g = np.asarray(normal(*want.shape)).astype(dtype)
                want.backward(wide(g))
                dx = blank(shape, dtype, layout)
                near(
                    run(
                        name + "Backward",
                        g,
                        x,
                        t,
                        weight,
                        k,
                        ignored,
                        np.array([used.sum()], float),
                        dx,
                    ),
                    a.grad,
                )


def test_nll_edges():
    x, t = normal(3, 4), np.array([0, 3, 1])
    out, total = np.empty(()), np.empty(1)
    run("NLLLoss", x[0], t[:1], None, 0, -100, np.empty(1), total)
    e = np.empty((0, 4))
    assert np.isnan(run("NLLLoss", e, t[:0], None, 1, -100, total, out)) or np.isnan(total)
    run("NLLLossBackward", np.ones(0), e, t[:0], None, 0, -100, np.ones(()), e.copy())
    run("NLLLoss", x, np.full(3, -100), None, 2, -100, out, total)
    assert out == 0 and total == 0
    for bad in (np.array([0, 4, 1]), np.array([-1, 0, 0])):
        with pytest.raises(AclError, match="target"):
            run("NLLLoss", x, bad, None, 1, -100, out, total)
    for args in ((x, t[:2], None, 1, -100, out, total), (x, t, x[0, :3], 1, -100, out, total),
                 (x, t.astype(float), None, 1, -100, out, total), (x, t, None, 0, -100, out, total),
                 (x, t, None, 3, -100, out, total), (x[None, None], t, None, 1, -100, out, total)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("NLLLoss", *args)


@pytest.mark.parametrize("shape", ((6,), (5, 6)))
def test_multilabel_margin(shape):
    for dtype, layout in every():
        x = laid(normal(*shape).astype(dtype), layout)
        order = np.argsort(RNG.random(shape), -1)
        stop = RNG.integers(0, 7, (*shape[:-1], 1))
        for kind in (np.int64, np.int32):
            t = laid(np.where(np.arange(6) == stop, -1, order).astype(kind), layout)
            for k, reduction in enumerate(REDUCTIONS):
                a = wide(x)
                want = F.multilabel_margin_loss(a, wide(t).long(), reduction=reduction)
                named = torch.ops.aten.multilabel_margin_loss_forward(a, wide(t).long(), k)[1]
                out, is_target = blank(want.shape, dtype, layout), blank(shape, dtype, layout)
                run("MultilabelMarginLoss", x, t, k, out, is_target)
                near(out, want)
                near(is_target, named)
    e = np.empty((0, 6), np.float32)
    run("MultilabelMarginLoss", e, e.astype(int), 0, e[:, 0].copy(), e.copy())
    for t in (np.full(6, 6), np.full(6, -2)):
        with pytest.raises(AclError, match="target"):
            run("MultilabelMarginLoss", np.ones(6), t, 1, np.empty(()), np.empty(6))
    with pytest.raises(AclError, match="161002"):
        run("MultilabelMarginLoss", np.ones(6), np.zeros(5, int), 1, np.empty(()), np.empty(6))
