"""Gated activations and PRelu with their gradients against PyTorch."""

import functools

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import blank, every, laid, near, normal, wide

F = torch.nn.functional


def made(shape, dtype, layout):
    return laid(normal(*shape).astype(dtype), layout)


def gradient(f, g, *inputs):
    leaves = [wide(a, True) for a in inputs]
    f(*leaves).backward(wide(g))
    return [a.grad for a in leaves]


def geglu(dim, how, left, x):
    a, b = x.chunk(2, dim)
    return F.gelu(a, approximate=how) * b if left else a * F.gelu(b, approximate=how)


@pytest.mark.parametrize("dim", (0, -1, 1))
def test_gates(dim):
    shape = (4, 6, 2)
    half = list(shape)
    half[dim] //= 2
    for dtype, layout in every():
        x, g = made(shape, dtype, layout), made(half, dtype, layout)
        near(run("Glu", x, dim, blank(half, dtype, layout)), F.glu(wide(x), dim))
        near(run("GluBackward", g, x, dim, blank(shape, dtype, layout)),
             gradient(lambda a: F.glu(a, dim), g, x)[0])  # fmt: skip
        for k, how in enumerate(("none", "tanh")):
            for left in (False, True):
                f = functools.partial(geglu, dim, how, left)
                out, gelu, dx = (
                    blank(half, dtype, layout),
                    blank(half, dtype),
                    blank(shape, dtype, layout),
                )
                run("GeGluV3", x, dim, k, left, out, gelu)
                near(out, f(wide(x)))
                near(gelu, F.gelu(wide(x).chunk(2, dim)[0 if left else 1], approximate=how))
                want = gradient(f, g, x)[0]
                near(run("GeGluV3Backward", g, x, gelu, dim, k, left, dx), want, 2)
                if not left:
                    run("GeGlu", x, dim, k, out, gelu)
                    near(out, f(wide(x)))
                    near(run("GeGluBackward", g, x, gelu, dim, k, dx), want, 2)


def test_gate_edges():
    e = np.empty((0, 4), np.float32)
    run("Glu", e, 1, e[:, :2].copy())
    run("GeGluBackward", e[:, :2], e, e[:, :2], 1, 0, e.copy())
    x = normal(3, 4)
    for name, args in (("Glu", (x, 0, x[:1])), ("Glu", (x, 1, x)), ("Glu", (x, 2, x)), ("Glu", (np.ones(()), 0, np.ones(()))),
                       ("GeGlu", (x, 1, 2, x[:, :2].copy(), x[:, :2].copy()))):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run(name, *args)


@pytest.mark.parametrize("shape", ((), (5,), (4, 3), (2, 3, 4, 2)))
def test_prelu(shape):
    for dtype, layout in every():
        x = made(shape, dtype, layout)
        g = made(shape, dtype, layout)
        for count in {1, 3 if len(shape) > 1 else 1}:
            w = made((count,), dtype, layout)
            near(run("Prelu", x, w, blank(shape, dtype, layout)), F.prelu(wide(x), wide(w)))
            dx, dw = blank(shape, dtype, layout), blank(count, dtype, layout)
            run("PreluBackward", g, x, w, dx, dw)
            want = gradient(F.prelu, g, x, w)
            near(dx, want[0])
            near(dw, want[1], 4)


def test_prelu_of_a_weight_in_the_space_of_self():
    x, w, g = normal(2, 3, 4), normal(3), normal(2, 3, 4)
    spread = w.reshape(1, 3, 1).copy()  # as torch_npu gives it
    dx, dw = np.empty_like(x), np.empty((1, 3, 1))
    near(run("Prelu", x, spread, np.empty_like(x)), F.prelu(wide(x), wide(w)))
    run("PreluBackward", g, x, spread, dx, dw)
    want = gradient(F.prelu, g, x, w)
    near(dx, want[0])
    near(dw.ravel(), want[1], 4)
    for bad in (w.reshape(3, 1, 1), w.reshape(1, 3), w.reshape(1, 1, 3)):
        with pytest.raises(AclError, match="161002"):
            run("Prelu", x, bad.copy(), np.empty_like(x))


def test_prelu_edges():
    x, w = normal(4, 3), normal(3)
    dx, dw = np.empty((4, 3)), np.empty(3)
    run("PreluBackward", np.array(2.0), x, w, dx, dw)  # a gradient that is broadcast
    near(dx, np.where(x > 0, 2, 2 * w))
    near(dw, np.where(x > 0, 0, 2 * x).sum(0))
    e = np.empty((0, 3))
    run("PreluBackward", e, e, w, e.copy(), dw)
    assert not dw.any()
    for name, args in (("Prelu", (x, w[:2], x)), ("Prelu", (x[0], w, x[0])), ("Prelu", (x, w, x[0])),
                       ("PreluBackward", (x, x, w, dx, dw[:1]))):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run(name, *args)
