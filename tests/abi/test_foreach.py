"""Operators over lists of tensors, and what trains with them, against PyTorch in float64."""

import numpy as np
import pytest
import torch
from aclnn import DATA, AclError, run
from oracle import blank, every, laid, near, normal, wide

CASES = list(every())
SHAPES = ((3, 4), (), (5,), (2, 0), (2, 3, 2))


def lists(dtype, layout, count=1, low=0.25, high=0.75):
    """Lists of tensors of some shapes, with values where every function is defined."""
    found = [
        [laid(normal(*s, low=low, high=high, dtype=dtype), layout) for s in SHAPES]
        for _ in range(count)
    ]
    return found[0] if count == 1 else found


def outs(dtype, layout):
    return [blank(s, dtype, layout) for s in SHAPES]


def check(out, want, scale=2):
    for o, w in zip(out, want, strict=True):
        near(o, w, scale)


UNARY = {
    "Abs": torch.abs, "Acos": torch.acos, "Asin": torch.asin, "Atan": torch.atan, "Cos": torch.cos, "Cosh": torch.cosh,
    "Erf": torch.erf, "Erfc": torch.erfc, "Exp": torch.exp, "Expm1": torch.expm1, "Log": torch.log,
    "Log10": torch.log10, "Log1p": torch.log1p, "Log2": torch.log2, "Neg": torch.neg, "Reciprocal": torch.reciprocal,
    "Sigmoid": torch.sigmoid, "Sign": torch.sign, "Sin": torch.sin, "Sinh": torch.sinh, "Sqrt": torch.sqrt,
    "Tan": torch.tan, "Tanh": torch.tanh, "Copy": torch.clone,
}  # fmt: skip


@pytest.mark.parametrize(("dtype", "layout"), CASES)
def test_of_one_list(dtype, layout):
    x = lists(dtype, layout)
    for name, f in UNARY.items():
        out = outs(dtype, layout)
        run(f"Foreach{name}", x, out)
        check(out, [f(wide(a)) for a in x])
    run("ForeachZeroInplace", x)
    assert all((np.asarray(a, np.float64) == 0).all() for a in x)


BINARY = {"Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div, "Maximum": torch.maximum,
          "Minimum": torch.minimum, "Pow": torch.pow}  # fmt: skip


@pytest.mark.parametrize(("dtype", "layout"), CASES)
def test_of_two_lists(dtype, layout):
    x, y = lists(dtype, layout, 2)
    for name, f in BINARY.items():
        out = outs(dtype, layout)
        if name in ("Add", "Sub"):
            run(f"Foreach{name}List", x, y, np.array([3], dtype), out)
            check(out, [f(wide(a), wide(b), alpha=3) for a, b in zip(x, y, strict=True)])
        else:
            run(f"Foreach{name}List", x, y, out)
            check(out, [f(wide(a), wide(b)) for a, b in zip(x, y, strict=True)])


@pytest.mark.parametrize(("dtype", "layout"), CASES)
def test_scalars(dtype, layout):
    x = lists(dtype, layout)
    scalars = [2.0, 0.5, 3.0, 1.5, 0.25]
    for name, f in BINARY.items():
        out = outs(dtype, layout)
        run(f"Foreach{name}ScalarList", x, scalars, out)
        check(
            out,
            [
                f(wide(a), torch.tensor(s, dtype=torch.float64))
                for a, s in zip(x, scalars, strict=True)
            ],
        )
        if f"aclnnForeach{name}Scalar" in DATA:
            out = outs(dtype, layout)
            run(f"Foreach{name}Scalar", x, np.array([0.5], dtype), out)
            check(out, [f(wide(a), torch.tensor(0.5, dtype=torch.float64)) for a in x])
    out = outs(dtype, layout)
    run("ForeachPowScalarAndTensor", 2.5, x, out)
    check(out, [2.5 ** wide(a) for a in x])


@pytest.mark.parametrize(("dtype", "layout"), CASES)
def test_of_three_lists(dtype, layout):
    x, y, z = lists(dtype, layout, 3)
    scalars = np.array([2, 0.5, 3, 1.5, 0.25], dtype)
    for name, f in (("Addcmul", torch.addcmul), ("Addcdiv", torch.addcdiv)):
        out = outs(dtype, layout)
        run(f"Foreach{name}Scalar", x, y, z, np.array([0.5], dtype), out)
        check(
            out, [f(wide(a), wide(b), wide(c), value=0.5) for a, b, c in zip(x, y, z, strict=True)]
        )
        out = outs(dtype, layout)
        run(f"Foreach{name}ScalarList", x, y, z, scalars, out)
        want = [
            f(wide(a), wide(b), wide(c), value=float(s))
            for a, b, c, s in zip(x, y, z, scalars, strict=True)
        ]
        check(out, want, 4)
    out = outs(dtype, layout)
    run("ForeachLerpList", x, y, z, out)
    check(out, [torch.lerp(wide(a), wide(b), wide(c)) for a, b, c in zip(x, y, z, strict=True)])
    out = outs(dtype, layout)
    run("ForeachLerpScalar", x, y, 0.7, out)
    check(out, [torch.lerp(wide(a), wide(b), 0.7) for a, b in zip(x, y, strict=True)])


@pytest.mark.parametrize(("dtype", "layout"), CASES)
def test_norms(dtype, layout):
    x = [laid(normal(*s, dtype=dtype), layout) for s in SHAPES]
    for order in (0.0, 1.0, 2.0, 3.0):
        out = [blank((), dtype) for _ in SHAPES]
        run("ForeachNorm", x, order, out)
        check(out, [torch.linalg.vector_norm(wide(a), order) for a in x], 8)
    x = [a for a in x if a.size]
    out = [blank((), dtype) for _ in x]
    run("ForeachNorm", x, np.inf, out)
    check(out, [wide(a).abs().max() for a in x])


def test_integers():
    x, y = [np.arange(6).reshape(2, 3), np.array(4)], [np.full((2, 3), 2), np.array(3)]
    out = [np.zeros((2, 3), np.int64), np.zeros((), np.int64)]
    run("ForeachMulList", x, y, out)
    assert (out[0] == x[0] * 2).all() and out[1] == 12
    run("ForeachAddScalarList", x, [5, 7], out)
    assert (out[0] == x[0] + 5).all() and out[1] == 11


def test_refusals():
    x = [normal(3), normal(2)]
    for name, args in (("ForeachMulList", (x, x[:1], [x[0].copy(), x[1].copy()])),
                       ("ForeachAddScalarList", (x, [1.0], [x[0].copy(), x[1].copy()])),
                       ("ForeachExp", (x, [x[1].copy(), x[1].copy()])),
                       ("ForeachAddcmulScalarList", (x, x, x, np.ones(3), [x[0].copy(), x[1].copy()]))):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run(name, *args)


@pytest.mark.parametrize(("dtype", "layout"), CASES)
def test_unscale(dtype, layout):
    for bad in (None, np.inf, np.nan):
        x = [laid(normal(*s, dtype=dtype), layout) for s in SHAPES]
        before = [a.copy() for a in x]
        if bad is not None:
            x[4][1, 2, 0] = before[4][1, 2, 0] = bad
        found, scale = np.zeros(1, np.float32), np.array([0.5], np.float32)
        run("ForeachNonFiniteCheckAndUnscale", x, found, scale)
        assert found[0] == (bad is not None)
        for a, b in zip(x, before, strict=True):
            np.testing.assert_array_equal(a.astype(np.float64), b.astype(np.float64) * 0.5)
    with pytest.raises(AclError, match="161002"):
        run("ForeachNonFiniteCheckAndUnscale", x, np.zeros(2, np.float32), scale)


def test_update_of_the_scale():
    for found, tracker in ((0, 0), (0, 3), (1, 2), (0, 4)):
        scale = torch.tensor([1024.0])
        steps = torch.tensor([tracker], dtype=torch.int32)
        torch._amp_update_scale_(scale, steps, torch.tensor([float(found)]), 2.0, 0.25, 4)
        s, t = np.array([1024], np.float32), np.array([tracker], np.int32)
        new, count = np.zeros(1, np.float32), np.zeros(1, np.int32)
        run("AmpUpdateScale", s, t, np.array([found], np.float32), 2.0, 0.25, 4, new, count)
        assert new[0] == scale.item() and count[0] == steps.item()
        run("AmpUpdateScale", s, t, np.array([found], np.float32), 2.0, 0.25, 4, s, t)
        assert s[0] == scale.item() and t[0] == steps.item()
    big = np.array([3e38], np.float32)
    run(
        "AmpUpdateScale",
        big,
        np.array([0], np.int32),
        np.array([0], np.float32),
        2.0,
        0.5,
        1,
        big,
        np.zeros(1, np.int32),
    )
    assert big[0] == np.float32(3e38)  # it would not be finite


@pytest.mark.parametrize(("dtype", "layout"), CASES)
def test_sgd(dtype, layout):
    for momentum, dampening, nesterov, maximize, decay, scale in (
        (0.75, 0.0, False, False, 0.0, None), (0.75, 0.25, False, True, 0.125, 4.0), (0.5, 0.0, True, False, 0.125, None)):  # fmt: skip
        x, g, b = ([laid(normal(*s, dtype=dtype), layout) for s in SHAPES] for _ in range(3))
        for first in (True, False):
            params, grads, buffers = ([wide(a) for a in side] for side in (x, g, b))
            run("FusedSgd", x, g, b, None if scale is None else np.array([scale], np.float32), decay, momentum, 0.125,
                dampening, nesterov, maximize, first)  # fmt: skip
            torch._fused_sgd_(params, grads, buffers, weight_decay=decay, momentum=momentum, lr=0.125, dampening=dampening,
                              nesterov=nesterov, maximize=maximize, is_first_step=first,
                              grad_scale=None if scale is None else torch.tensor(scale))  # fmt: skip
            check(x, params, 4), check(b, buffers, 4), check(g, grads, 4)
    with pytest.raises(AclError, match="161002"):
        run("FusedSgd", x, g[:1], b, None, 0.0, 0.5, 0.1, 0.0, False, False, True)
