"""Optimisers' steps against PyTorch's fused ones, and against their formulas."""

import itertools

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import every, laid, near, normal, wide

SHAPES = ((3, 5), (), (4, 2), (0,), (17,))


def state(dtype, layout, count, positive=()):
    """`count` lists of tensors; those in `positive` hold squares."""
    return [[laid((abs if k in positive else np.positive)(normal(*s)).astype(dtype), layout) for s in SHAPES]
            for k in range(count)]  # fmt: skip


def agree(got, want, scale=2.0):
    for a, b in zip(got, want, strict=True):
        near(a, b, scale)


@pytest.mark.parametrize(("amsgrad", "maximize"), list(itertools.product((False, True), repeat=2)))
def test_fused_adam(amsgrad, maximize):
    for dtype, layout in every():
        for scaled in (False, True):
            var, grad, m, v, top = state(dtype, layout, 5, (3, 4))
            steps = [np.array(k, np.float32) for k in range(len(var))]
            scale = np.array([4.0], np.float32) if scaled else None
            wanted = [[wide(a) for a in x] for x in (var, grad, m, v, top)]
            torch._fused_adam_(
                *wanted[:4], wanted[4] if amsgrad else [], [torch.tensor(float(s) + 1) for s in steps],
                lr=0.01, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=1e-8, amsgrad=amsgrad,
                maximize=maximize, grad_scale=torch.tensor(4.0) if scaled else None,
            )  # fmt: skip
            given = [a.copy() for a in grad]
            run("FusedAdam", var, grad, m, v, top if amsgrad else None, steps, scale, None,
                0.01, 0.9, 0.99, 0.1, 1e-8, amsgrad, maximize)  # fmt: skip
            for k, got in enumerate((var, m, v)):
                agree(got, wanted[(0, 2, 3)[k]])
            if amsgrad:
                agree(top, wanted[4])
            agree(grad, given, 0)


def test_fused_adam_skips_a_step():
    var, grad, m, v = [[np.ones(3)] for _ in range(4)]
    for found, moved in ((0.0, True), (1.0, False)):
        var[0][:] = 1
        run("FusedAdam", var, grad, m, v, [], [np.zeros(1)], None, np.array([found], np.float32),
            0.01, 0.9, 0.99, 0.0, 1e-8, False, False)  # fmt: skip
        assert (var[0] != 1).all() == moved


def number(x, dtype=np.float64):
    return np.array([x], dtype)


def adam(var, m, v, g, lr, b1, b2, first, second, eps, top=None):
    """The formula, over float64; new m, v and var."""
    m, v = m * b1 + g * (1 - b1), v * b2 + g * g * (1 - b2)
    seen = v if top is None else np.maximum(top, v)
    return m, v, var - lr * (m / first) / (np.sqrt(seen / second) + eps)


def test_adam_w():
    for dtype, layout in every():
        for amsgrad, maximize in itertools.product((False, True), repeat=2):
            var, m, v, g, top = (laid(normal(4, 5).astype(dtype), layout) for _ in range(5))
            v, top = abs(v), abs(top)
            old = [a.astype(np.float64) for a in (var * 1, m, v, g, top)]
            t, lr, decay, b1, b2, eps = 3, 0.01, 0.1, 0.9, 0.99, 1e-6
            run("ApplyAdamW", var, m, v, number(b1 ** (t - 1)), number(b2 ** (t - 1)), number(lr), number(decay),
                number(b1), number(b2), number(eps), g, top if amsgrad else None, amsgrad, maximize)  # fmt: skip
            want = adam(old[0] * (1 - lr * decay), old[1], old[2], -old[3] if maximize else old[3], lr, b1, b2,
                        1 - b1**t, 1 - b2**t, eps, old[4] if amsgrad else None)  # fmt: skip
            for got, expected in zip((m, v, var), want, strict=True):
                near(got, expected, 2)
            near(top, old[4], 0)


def test_adam_w_is_pytorchs():
    x = torch.nn.Parameter(wide(normal(6, 5)))
    optimizer = torch.optim.AdamW([x], lr=0.01, betas=(0.9, 0.99), weight_decay=0.1)
    var, m, v = x.detach().numpy().copy(), np.zeros((6, 5)), np.zeros((6, 5))
    for t in range(4):
        g = normal(6, 5)
        x.grad = torch.tensor(g)
        optimizer.step()
        run("ApplyAdamW", var, m, v, number(0.9**t), number(0.99**t), number(0.01), number(0.1), number(0.9),
            number(0.99), number(1e-8), g, None, False, False)  # fmt: skip
        near(var, x)


@pytest.mark.parametrize("nesterov", (False, True))
def test_adam(nesterov):
    for dtype, layout in every():
        var, m, v, g = (laid(normal(3, 4, 2).astype(dtype), layout) for _ in range(4))
        v = abs(v)
        old = [a.astype(np.float64) for a in (var, m, v, g)]
        lr, b1, b2, eps, t = 0.01, 0.9, 0.99, 1e-4, 5
        run("ApplyAdam", var, m, v, number(b1**t), number(b2**t), number(lr), number(b1), number(b2), number(eps), g,
            False, nesterov)  # fmt: skip
        new_m, new_v = (
            old[1] + (old[3] - old[1]) * (1 - b1),
            old[2] + (old[3] ** 2 - old[2]) * (1 - b2),
        )
        rate = lr * np.sqrt(1 - b2**t) / (1 - b1**t)
        way = new_m * b1 + (1 - b1) * old[3] if nesterov else new_m
        for got, want in (
            (m, new_m),
            (v, new_v),
            (var, old[0] - rate * way / (np.sqrt(new_v) + eps)),
        ):
            near(got, want, 2)


def test_edges():
    x, one = np.ones((2, 3)), np.ones(1)
    e = np.empty((0, 3))
    run("ApplyAdam", e, e, e, *[one] * 6, e, False, False)
    run("FusedAdam", [], [], [], [], None, [], None, None, 0.1, 0.9, 0.9, 0.0, 1e-8, False, False)
    rest = (0.1, 0.9, 0.9, 0.0, 1e-8)
    for code, name, args in (
        (161002, "ApplyAdam", (x, x, x[:1], *[one] * 6, x, False, False)),
        (161002, "ApplyAdam", (x, x, x, np.ones(2), *[one] * 5, x, False, False)),
        (161001, "ApplyAdamW", (x, x, x, *[one] * 7, x, None, True, False)),
        (161002, "FusedAdam", ([x], [], [x], [x], None, [one], None, None, *rest, False, False)),
        (161002, "FusedAdam", ([x], [x[0]], [x], [x], None, [one], None, None, *rest, False, False)),
        (161002, "FusedAdam", ([x], [x], [x], [x], None, [one[:0]], None, None, *rest, False, False)),
        (161001, "FusedAdam", ([x], [x], [x], [x], None, [one], None, None, *rest, True, False)),
        (161001, "FusedAdam", ([x], [x], [None], [x], None, [one], None, None, *rest, False, False)),
        (161002, "FusedSgd", ([x], [x], [x, x], None, 0.0, 0.5, 0.1, 0.0, False, False, True)),
        (161001, "FusedSgd", ([x], [x], None, None, 0.0, 0.5, 0.1, 0.0, False, False, True)),
        (161002, "FusedSgd", ([x.astype(int)], [x], None, None, 0.0, 0.0, 0.1, 0.0, False, False, True)),
    ):  # fmt: skip
        with pytest.raises(AclError, match=str(code)):
            run(name, *args)
