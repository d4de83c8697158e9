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
    for t, want in ((0, 0), (-1, 0)):  # a tensor without dimensions is a row of one class
        out, named = np.full((), 9.0), np.full((), 9.0)
        run("MultilabelMarginLoss", np.array(2.0), np.array(t), 1, out, named)
        assert out == want
        assert named == (t == 0)
    run("MultilabelMarginLoss", e, e.astype(int), 0, e[:, 0].copy(), e.copy())
    for t in (np.full(6, 6), np.full(6, -2)):
        with pytest.raises(AclError, match="target"):
            run("MultilabelMarginLoss", np.ones(6), t, 1, np.empty(()), np.empty(6))
    with pytest.raises(AclError, match="161002"):
        run("MultilabelMarginLoss", np.ones(6), np.zeros(5, int), 1, np.empty(()), np.empty(6))


@pytest.mark.parametrize("together", (False, True))
@pytest.mark.parametrize("zero", (False, True))
def test_ctc(together, zero):
    times, count, kinds, room = 9, 4, 5, 6
    ops = torch.ops.aten
    inputs, lengths = [9, 7, 5, 8], [3, 0, 4, 5]
    for dtype, layout in every():
        x = F.log_softmax(torch.tensor(normal(times, count, kinds)), -1).numpy()
        x = laid(x.astype(dtype), layout)
        for kind in (np.int64, np.int32):
            t = classes((count, room), 1, kinds, kind, layout)
            t[0, :2] = 2  # a repetition
            t[2, :4] = (
                [3, 3, 3, 1] if dtype == np.float64 else [3, 2, 3, 1]
            )  # which does not fit in five steps
            if together:
                t = laid(np.concatenate([t[n, :k] for n, k in enumerate(lengths)]), layout)
            a = wide(x, True)
            loss, alpha = ops._ctc_loss(a, wide(t).long(), inputs, lengths, 0, zero)
            got, got_alpha = blank(count, dtype, layout), blank((count, times, 16), dtype, layout)
            run("CtcLoss", x, t, inputs, lengths, 0, zero, got, got_alpha)
            want = torch.where(torch.isinf(loss), 0.0, loss) if zero else loss
            near(got, want, 4)
            for n, k in enumerate(lengths):
                near(got_alpha[n, : inputs[n], : 2 * k + 1], alpha[n, : inputs[n], : 2 * k + 1], 4)
            g = normal(count).astype(dtype)
            exact = np.full((count, times, 11), -np.inf), np.empty(count)
            run("CtcLoss", x, t, inputs, lengths, 0, zero, exact[1], exact[0])
            want = ops._ctc_loss_backward(
                wide(g), a, wide(t).long(), inputs, lengths, loss, alpha, 0, zero
            )
            dx = blank(x.shape, dtype, layout)
            run("CtcLossBackward", g, x, t, inputs, lengths, exact[1], exact[0], 0, zero, dx)
            near(dx, want, 2)


def test_ctc_edges():
    x = F.log_softmax(torch.tensor(normal(6, 3)), -1).numpy()
    t = np.array([0, 1])
    loss, alpha, dx = np.empty(()), np.empty((6, 5)), np.empty_like(x)
    run("CtcLoss", x, t, [6], [2], 2, False, loss, alpha)  # one sequence, another blank
    want = F.ctc_loss(torch.tensor(x), torch.tensor(t), (6,), (2,), 2, reduction="none")
    near(loss, want)
    run("CtcLossBackward", np.ones(()), x, t, [6], [2], loss, alpha, 2, False, dx)
    near(dx.sum(1), np.exp(x).sum(1) - 1)
    e = np.empty((6, 0, 3))
    run("CtcLoss", e, np.empty((0, 2), int), [], [], 0, False, np.empty(0), np.empty((0, 6, 1)))
    b, one = x[:, None], np.empty(1)
    for args in ((b, t, [7], [2], 0, False, one, alpha[None]), (b, t, [6], [3], 0, False, one, alpha[None]),
                 (b, t, [6], [1], 0, False, one, alpha[None]), (b, t, [6], [2], 3, False, one, alpha[None]),
                 (b, t, [6, 6], [2], 0, False, one, alpha[None]), (b, t, [6], [2], 0, False, one, alpha[None, :, :4]),
                 (x[0], t, [6], [2], 0, False, one, alpha)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("CtcLoss", *args)
    with pytest.raises(AclError, match="target 1"):
        run("CtcLoss", b, np.array([0, 3]), [6], [2], 2, False, one, alpha[None])
