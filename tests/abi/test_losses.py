"""Losses, their gradients and activations with options against PyTorch, in every documented dtype and several
layouts; broadcasting, empty tensors, refusals.
"""

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import blank, every, laid, near, normal, wide

F = torch.nn.functional
REDUCTIONS = ("none", "mean", "sum")

# name: the loss over (self, target, reduction), the low and high of its operands, its arguments
LOSSES = {
    "MseLoss": (lambda x, t, r: F.mse_loss(x, t, reduction=r), None, ()),
    "MseLossOut": (lambda x, t, r: F.mse_loss(x, t, reduction=r), None, ()),
    "L1Loss": (lambda x, t, r: F.l1_loss(x, t, reduction=r), None, ()),
    "SmoothL1Loss": (lambda x, t, r: F.smooth_l1_loss(x, t, reduction=r, beta=0.75), None, (0.75,)),
    "SoftMarginLoss": (lambda x, t, r: F.soft_margin_loss(x, t, reduction=r), None, ()),
    "KlDiv": (lambda x, t, r: F.kl_div(x, t, reduction=r), (0.05, 1), (False,)),
    "KlDiv+": (lambda x, t, r: F.kl_div(x, t, reduction=r, log_target=True), (-2, 1), (True,)),
    "BinaryCrossEntropy": (lambda x, t, r: F.binary_cross_entropy(x, t, reduction=r), (0.05, 0.95), ()),
}  # fmt: skip


def operands(bounds, dtype, layout, shape=(3, 5, 4)):
    low, high = bounds or (None, None)
    return [laid(normal(*shape, low=low, high=high).astype(dtype), layout) for _ in range(2)]


@pytest.mark.parametrize("key", LOSSES)
def test_loss(key):
    name = key.rstrip("+")
    f, bounds, rest = LOSSES[key]
    middle = (None,) if name == "BinaryCrossEntropy" else ()
    for dtype, layout in every():
        x, t = operands(bounds, dtype, layout)
        for k, reduction in enumerate(REDUCTIONS):
            want = f(wide(x), wide(t), reduction)
            out = blank(want.shape, dtype, layout)
            run(name, x, t, *middle, k, *rest, out)
            near(out, want)
            if name == "MseLossOut":
                continue
            a = wide(x, True)
            g = normal(*want.shape).astype(dtype)
            f(a, wide(t), reduction).backward(wide(g))
            grad = blank(x.shape, dtype, layout)
            run(name + "Backward", g, x, t, *middle, k, *rest, grad)
            near(grad, a.grad)


def test_loss_edges():
    x, t = normal(3, 4), normal(4)
    near(run("MseLoss", x, t, 1, np.empty(())), ((x - t) ** 2).mean())
    near(run("MseLoss", x, t, 0, np.empty((3, 4))), (x - t) ** 2)
    near(run("L1Loss", np.arange(5), np.arange(5)[::-1], 2, np.empty((), int)).astype(float), 12)
    e = np.empty((0, 4), np.float32)
    assert run("MseLoss", e, e, 2, np.full((), 7.0, np.float32)) == 0
    assert np.isnan(run("L1Loss", e, e, 1, np.full((1,), 7.0, np.float32)))
    run("MseLossBackward", np.ones((), np.float32), e, e, 1, e.copy())
    near(run("SmoothL1Loss", x, x - 2, 2, 0.0, np.empty(())), 24)
    near(run("KlDiv", x, np.zeros((3, 4)), 2, False, np.empty(())), 0)
    p = normal(3, 4, low=0.1, high=1)
    near(run("KlDiv", x, p, 3, False, np.empty(())),
         F.kl_div(wide(x), wide(p), reduction="batchmean"))  # fmt: skip
    near(run("KlDivBackward", np.ones(()), x, p, 3, False, np.empty((3, 4))), -p / 3)
    odd = np.array([0.5, 0.0, -2.0, np.nan])  # no probabilities: as PyTorch
    near(run("KlDivBackward", np.ones(()), x[0], odd, 2, False, np.empty(4)), -odd)
    big = np.array([200.0, -200.0], np.float32)
    near(run("SoftMarginLoss", -big, np.sign(big), 0, np.empty(2, np.float32)), [200, 200])
    near(
        run("BinaryCrossEntropy", np.array([0.0, 1.0]), np.array([1.0, 0.0]), None, 0, np.empty(2)),
        [100, 100],
    )
    for bad in (("MseLoss", x, t, 3, np.empty(())), ("MseLoss", x, t, 1, np.empty(2)), ("MseLoss", x, t, 0, np.empty(4)),
                ("MseLoss", x, normal(3), 0, np.empty((3, 4))), ("MseLoss", x.astype(complex), t, 0, np.empty((3, 4))),
                ("SmoothL1Loss", x, x, 0, -1.0, np.empty((3, 4))),
                ("GeluV2", x, 2, np.empty((3, 4))), ("GeluBackwardV2", x, x, "erf", np.empty((3, 4)))):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run(*bad)


@pytest.mark.parametrize("weights", ("", "w", "p", "wp"))
def test_binary_cross_entropy_with_weights(weights):
    for dtype, layout in every():
        x = laid((3 * normal(4, 6)).astype(dtype), layout)
        t = laid(normal(4, 6, low=0, high=1).astype(dtype), layout)
        w = laid(normal(4, 1, low=0.5, high=2).astype(dtype), layout) if "w" in weights else None
        p = laid(normal(6, low=0.5, high=2).astype(dtype), layout) if "p" in weights else None
        prob = laid(normal(4, 6, low=0.02, high=0.98).astype(dtype), layout)
        for k, reduction in enumerate(REDUCTIONS):
            a, b, q = wide(x, True), wide(t, True), wide(prob, True)
            args = {"weight": wide(w), "reduction": reduction}
            want = F.binary_cross_entropy_with_logits(a, b, pos_weight=wide(p), **args)
            near(run("BinaryCrossEntropyWithLogits", x, t, w, p, k, blank(want.shape, dtype)), want)
            g = normal(*want.shape).astype(dtype)
            want.backward(wide(g))
            near(run("BinaryCrossEntropyWithLogitsBackward", g, x, t, w, p, k, blank(x.shape, dtype, layout)),
                 a.grad)  # fmt: skip
            near(run("BinaryCrossEntropyWithLogitsTargetBackward", g, x, t, w, p, k, blank(x.shape, dtype)),
                 b.grad, 4)  # fmt: skip
            if p is not None:
                continue
            want = F.binary_cross_entropy(q, wide(t), **args)
            near(run("BinaryCrossEntropy", prob, t, w, k, blank(want.shape, dtype)), want)
            want.backward(wide(g))
            near(
                run("BinaryCrossEntropyBackward", g, prob, t, w, k, blank(x.shape, dtype, layout)),
                q.grad,
                4,
            )


def gradient(f, x, g):
    a = wide(x, True)
    f(a).backward(wide(g))
    return a.grad


def test_activations():
    ops = torch.ops.aten
    for dtype, layout in every():
        x, g = (laid((2 * normal(4, 7)).astype(dtype), layout) for _ in range(2))
        out = lambda: blank((4, 7), dtype, layout)  # noqa: E731, B023
        for k, how in enumerate(("none", "tanh")):
            f = lambda a: F.gelu(a, approximate=how)  # noqa: E731, B023
            near(run("GeluV2", x, k, out()), f(wide(x)))
            near(run("GeluBackwardV2", g, x, how, out()), gradient(f, x, g))
        for result in (False, True):
            near(run("EluBackward", g, 0.7, 1.3, 0.9, result, x, out()),
                 ops.elu_backward(wide(g), 0.7, 1.3, 0.9, result, wide(x)))  # fmt: skip
        y = np.asarray(F.selu(wide(x)).numpy()).astype(dtype)
        near(run("SeluBackward", g, y, out()), torch.where(wide(y) > 0, 1.0507009873554805,
             wide(y) + 1.7580993408473766) * wide(g))  # fmt: skip
        near(run("MishBackward", g, x, out()), gradient(F.mish, x, g))
        near(run("SoftshrinkBackward", g, x, 0.5, out()), gradient(F.softshrink, x, g))
        near(run("LogSigmoidBackward", g, x, None, out()), gradient(F.logsigmoid, x, g))
        done = out()
        run("LogSigmoidForward", x, done, out())
        near(done, F.logsigmoid(wide(x)))
    i = np.array([3, -1, 0], np.int32)
    assert list(run("SeluBackward", i, i, np.empty(3, np.int32))) == [3, 0, 0]
    e = np.empty((0, 2), np.float32)
    run("GeluV2", e, 1, e.copy())
    with pytest.raises(AclError, match="161002"):
        run("MishBackward", normal(3), normal(3), np.empty(4))
