"""Shifts, logits, gates, slices and tensors put together from pieces: against PyTorch and NumPy."""

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import LAYOUTS, RNG, blank, every, laid, near, normal, wide

INTS = [np.dtype(t) for t in ("int8", "uint8", "int16", "int32", "int64")]
EACH = list(every())


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_shifts(dtype, layout):
    low = -50 if dtype.kind == "i" else 0
    a = RNG.integers(low, 100, (4, 70)).astype(dtype)
    by = np.resize(np.arange(70), (4, 70)).astype(dtype)
    if dtype.kind == "i":
        by[1] -= 3
    for name, torch_op in (
        ("LeftShift", torch.bitwise_left_shift),
        ("RightShift", torch.bitwise_right_shift),
    ):
        out = blank(a.shape, dtype, layout)
        run(name, laid(a, layout), laid(by, layout), out)
        np.testing.assert_array_equal(out, torch_op(torch.tensor(a), torch.tensor(by)).numpy())
        run(name, laid(a, layout), np.array(3, dtype), out)
        np.testing.assert_array_equal(out, torch_op(torch.tensor(a), 3).numpy())
    run("LeftShifts", laid(a, layout), 2, out)
    np.testing.assert_array_equal(out, torch.bitwise_left_shift(torch.tensor(a), 2).numpy())


def test_shifts_errors():
    a = np.zeros(3, np.int32)
    run("LeftShift", a[:0], a[:0], a[:0])
    for args in [(a, a[:2], a), (a.astype(np.float32), a, a), (a, a, np.zeros((2, 3), np.int32))]:
        with pytest.raises(AclError, match="161002"):
            run("LeftShift", *args)
    with pytest.raises(AclError, match="161001"):
        run("RightShift", a, None, a)


@pytest.mark.parametrize(("dtype", "layout"), EACH)
def test_add_v3(dtype, layout):
    a, out = normal(3, 5, dtype=dtype), blank((3, 5), dtype, layout)
    run("AddV3", 2.5, laid(a, layout), 0.5, out)
    near(out, 2.5 + 0.5 * a.astype(np.float64), 3)
    ints, total = np.arange(5), np.empty(5, np.int64)
    run("AddV3", 4, ints, 3, total)
    np.testing.assert_array_equal(total, 4 + 3 * ints)
    with pytest.raises(AclError, match="161002"):
        run("AddV3", 4, ints, 3, np.empty(4, np.int64))


@pytest.mark.parametrize(("dtype", "layout"), EACH)
def test_angle(dtype, layout):
    a = normal(3, 5, dtype=dtype)
    a[0, :3] = np.nan, 0, -0.0
    out = blank(a.shape, dtype, layout)
    run("AngleV2", laid(a, layout), out)
    near(out, torch.angle(wide(a)))


def test_angle_of_others():
    for dtype, real in ((np.complex64, np.float32), (np.complex128, np.float64)):
        z = (normal(4, 3) + 1j * normal(4, 3)).astype(dtype)
        out = np.empty((4, 3), real)
        run("AngleV2", laid(z, "strided"), out)
        np.testing.assert_allclose(out, np.angle(z), rtol=1e-6, atol=1e-7)
    out = np.empty(3, np.float32)
    run("AngleV2", np.array([-2, 0, 3]), out)
    np.testing.assert_allclose(out, [np.pi, 0, 0], rtol=1e-6)
    run("AngleV2", np.zeros((0, 2)), np.zeros((0, 2)))
    with pytest.raises(AclError, match="161002"):
        run("AngleV2", out, np.zeros(3, np.int32))
    with pytest.raises(AclError, match="161002"):
        run("AngleV2", out, np.zeros(2, np.float32))


@pytest.mark.parametrize("eps", [-1.0, 0.0, 0.1])
@pytest.mark.parametrize(("dtype", "layout"), EACH)
def test_logit(eps, dtype, layout):
    x, dy = normal(6, 7, dtype=dtype, low=0.02, high=0.98), normal(6, 7, dtype=dtype)
    x[0] = [-0.5, 1.5, np.nan, 0, 1, 0.5, 0.0625]
    given, out = eps if eps >= 0 else None, blank(x.shape, dtype, layout)
    t = wide(x, grad=True)
    want = torch.logit(t, given)
    want.backward(wide(dy))
    run("Logit", laid(x, layout), eps, out)
    near(out, want, 4)
    run("LogitGrad", laid(x, layout), laid(dy, layout), eps, out)
    near(out, t.grad, 40)


def test_logit_errors():
    x = np.full((2, 3), 0.5)
    run("Logit", x[:0], 0.1, x[:0])
    run("LogitGrad", x[:0], x[:0], 0.1, x[:0])
    for name, args in [
        ("Logit", (x, 0.1, x[:1])),
        ("LogitGrad", (x, x[:, :2], 0.1, x)),
        ("Logit", (x.astype("c16"), 0.1, x)),
    ]:
        with pytest.raises(AclError, match="161002"):
            run(name, *args)
    with pytest.raises(AclError, match="161001"):
        run("Logit", None, 0.1, x)


@pytest.mark.parametrize("base", [2.0, 10.0, 0.5, 1.0])
@pytest.mark.parametrize(("dtype", "layout"), EACH)
def test_logspace(base, dtype, layout):
    for steps in (0, 1, 2, 9):
        out = blank((steps,), dtype, layout)
        run("LogSpace", -1.5, 3, steps, base, out)
        near(out, torch.logspace(-1.5, 3, steps, base, dtype=torch.float64), 1)
    ints = np.empty(5, np.int32)
    run("LogSpace", 0, 4, 5, 2.0, ints)
    np.testing.assert_array_equal(ints, [1, 2, 4, 8, 16])
    for kind in (np.complex64, np.complex128):
        powers = np.empty(9, kind)
        for signed in (base, -base):
            run("LogSpace", -1.5, 3, 9, signed, powers)
            want = np.complex128(signed) ** np.linspace(-1.5, 3, 9)
            np.testing.assert_allclose(powers, want, rtol=1e-6, atol=1e-6)
    with pytest.raises(AclError, match="steps is -1"):
        run("LogSpace", 0, 4, -1, 2.0, out)
    with pytest.raises(AclError, match="161002"):
        run("LogSpace", 0, 4, 3, 2.0, out)


@pytest.mark.parametrize(("dtype", "layout"), EACH)
def test_hardswish_backward_v2(dtype, layout):
    x, dy = 3 * normal(5, 6, dtype=dtype), normal(5, 6, dtype=dtype)
    x[0, :4] = -3, 3, -4, 4
    t = wide(x, grad=True)
    torch.nn.functional.hardswish(t).backward(wide(dy))
    out = blank(x.shape, dtype, layout)
    run("HardswishBackwardV2", laid(dy, layout), laid(x, layout), out)
    near(out, t.grad, 2)


@pytest.mark.parametrize(("dtype", "layout"), EACH)
@pytest.mark.parametrize("kind", ["uint8", "int8", "float16", "float32"])
def test_masked_scale(dtype, layout, kind):
    x, mask = normal(5, 6, dtype=dtype), RNG.integers(0, 2, (5, 6)).astype(kind)
    out = blank(x.shape, dtype, layout)
    run("MaskedScale", laid(x, layout), laid(mask, layout), 1.25, out)
    near(out, x.astype(np.float64) * mask * 1.25, 2)


@pytest.mark.parametrize(("dtype", "layout"), EACH)
def test_fast_gelu(dtype, layout):
    x, dy = 3 * normal(5, 6, dtype=dtype), normal(5, 6, dtype=dtype)
    t = wide(x, grad=True)
    want = t * torch.sigmoid(1.702 * t)
    want.backward(wide(dy))
    out = blank(x.shape, dtype, layout)
    run("FastGelu", laid(x, layout), out)
    near(out, want, 2)
    run("FastGeluBackward", laid(dy, layout), laid(x, layout), out)
    near(out, t.grad, 2)
    run("FastGelu", np.array([-1e30, 1e30, np.inf], np.float32), edge := np.empty(3, np.float32))
    np.testing.assert_array_equal(edge, np.array([0, 1e30, np.inf], np.float32))


@pytest.mark.parametrize("dim", [-1, 0, 1])
@pytest.mark.parametrize(("dtype", "layout"), EACH)
def test_swiglu(dim, dtype, layout):
    x = normal(4, 6, 8, dtype=dtype)
    t = wide(x, grad=True)
    a, b = t.chunk(2, dim)
    want = torch.nn.functional.silu(a) * b
    dy = normal(*want.shape, dtype=dtype)
    want.backward(wide(dy))
    out, grad = blank(want.shape, dtype, layout), blank(x.shape, dtype, layout)
    run("SwiGlu", laid(x, layout), dim, out)
    near(out, want, 2)
    run("SwiGluGrad", laid(dy, layout), laid(x, layout), dim, grad)
    near(grad, t.grad, 3)


@pytest.mark.parametrize("how", ["none", "tanh", None])
@pytest.mark.parametrize(("dtype", "layout"), EACH)
def test_gelu_mul(how, dtype, layout):
    x = normal(4, 3, 8, dtype=dtype)
    a, b = wide(x).chunk(2, -1)
    want = torch.nn.functional.gelu(a, approximate=how or "none") * b
    out = blank(want.shape, dtype, layout)
    run("GeluMul", laid(x, layout), how, out)
    near(out, want, 2)


@pytest.mark.parametrize("dim", [-1, 0, 1])
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize(("dtype", "layout"), EACH)
def test_clipped_swiglu(dim, interleaved, dtype, layout):
    x = 3 * normal(4, 6, 8, dtype=dtype)
    axis = dim % 3
    rows = int(np.prod(x.shape[:axis]))
    flat = x.astype(np.float64).reshape(rows, -1)
    n = flat.shape[1] // 2
    a, b = (flat[:, ::2], flat[:, 1::2]) if interleaved else (flat[:, :n], flat[:, n:])
    a, b = np.minimum(a, 2.5), np.clip(b, -2.5, 2.5)
    want = a / (1 + np.exp(-1.7 * a)) * (b + 0.5)
    shape = list(x.shape)
    shape[axis] //= 2
    out = blank(shape, dtype, layout)
    run("ClippedSwiglu", laid(x, layout), None, dim, 1.7, 2.5, 0.5, interleaved, out)
    near(out, want.reshape(shape), 4)
    if rows > 3:
        out = blank(shape, dtype, layout)
        run(
            "ClippedSwiglu",
            laid(x, layout),
            np.array([1, 0, 2]),
            dim,
            1.7,
            2.5,
            0.5,
            interleaved,
            out,
        )
        want[3:] = 77
        near(out, want.reshape(shape), 4)


def test_gates_errors():
    x, y = np.zeros((2, 6)), np.zeros((2, 3))
    run("SwiGlu", x[:0], 1, y[:0])
    run("SwiGluGrad", y[:0], x[:0], 1, x[:0])
    run("GeluMul", x[:0], "none", y[:0])
    run("ClippedSwiglu", x[:0], None, 1, 1.0, 1.0, 1.0, True, y[:0])
    for name, args, match in [
        ("SwiGlu", (y, 1, y), "even extent"),
        ("SwiGlu", (x, 2, y), "161002"),
        ("SwiGlu", (x, 1, x), "161002"),
        ("SwiGluGrad", (x, x, 1, x), "161002"),
        ("GeluMul", (x, "fast", y), "approximateOptional is"),
        ("GeluMul", (y, "none", y), "even extent"),
        ("ClippedSwiglu", (y, None, 1, 1.0, 1.0, 1.0, True, y), "even number"),
        ("ClippedSwiglu", (x, None, 1, 1.0, -1.0, 1.0, True, y), "limit is -1"),
        ("ClippedSwiglu", (x, np.zeros(2), 1, 1.0, 1.0, 1.0, True, y), "161002"),
        ("ClippedSwiglu", (x, np.array([3]), 1, 1.0, 1.0, 1.0, True, y), "there are 2 rows"),
        ("SwiGlu", (None, 1, y), "161001"),
    ]:  # fmt: skip
        with pytest.raises(AclError, match=match):
            run(name, *args)


def slices(entries):
    """The lists and masks of a Python index: integers, slices, None and one Ellipsis."""
    begin, end, strides, masks = [], [], [], [0] * 5
    for i, s in enumerate(entries):
        bit = 1 << i
        b, e, step = 0, 0, 1
        if s is Ellipsis:
            masks[2] |= bit
        elif s is None:
            masks[3] |= bit
        elif isinstance(s, slice):
            b, e, step = s.start or 0, s.stop or 0, s.step or 1
            masks[0] |= bit * (s.start is None)
            masks[1] |= bit * (s.stop is None)
        else:
            b, masks[4] = s, masks[4] | bit
        begin.append(b), end.append(e), strides.append(step)
    return begin, end, strides, *masks


S = slice


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "bool", "complex64"])
@pytest.mark.parametrize("entries", [
    (S(1, 3),), (S(None), S(0, 4, 2)), (S(-3, -1), S(None, None, -1)), (2,), (-1, S(None), 0), (Ellipsis, S(1, 3)),
    (None, S(0, 2), Ellipsis, 1), (S(4, 1, -2), S(100, -100, -1)), (S(-100, 100), S(3, 2)), (Ellipsis,), (S(None), None, None, -2),
    (S(9, 12), 1), (S(None, 1, -1), S(2, None, -1), Ellipsis),
])  # fmt: skip
def test_strided_slice(layout, dtype, entries):
    a = RNG.integers(0, 99, (5, 6, 4)).astype(dtype)
    want = a[entries]
    out = np.zeros_like(laid(want, layout))
    run("StridedSlice", laid(a, layout), *slices(entries), out)
    np.testing.assert_array_equal(out, want)


def test_strided_slice_errors():
    a, out = np.zeros((3, 4)), np.zeros((3, 4))
    for args, match in [
        (([0], [3, 4], [1], 0, 0, 0, 0, 0), "161002"),
        (([0], [3], [0], 0, 0, 0, 0, 0), r"strides\[0\] is 0"),
        (([3], [3], [1], 0, 0, 0, 0, 1), r"begin\[0\] is 3"),
        (([0] * 3, [3] * 3, [1] * 3, 0, 0, 0, 0, 0), "3 entries"),
        (([0] * 2, [3] * 2, [1] * 2, 0, 0, 3, 0, 0), "2 ellipses"),
        (([0], [2], [1], 0, 0, 0, 0, 0), "161002"),
    ]:  # fmt: skip
        with pytest.raises(AclError, match=match):
            run("StridedSlice", a, *args, out)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "bool"])
def test_confusion_transpose(layout, dtype):
    a = RNG.integers(0, 99, (4, 3, 6)).astype(dtype)
    want = a.transpose(2, 0, 1).reshape(12, 6)
    out = np.zeros_like(laid(want, layout))
    run("ConfusionTranspose", laid(a, layout), [2, 0, 1], [12, 6], True, out)
    np.testing.assert_array_equal(out, want)
    want = a.reshape(2, 2, 9, 2).transpose(3, 1, 0, 2)
    out = np.zeros_like(laid(want, layout))
    run("ConfusionTranspose", laid(a, layout), [3, 1, 0, 2], [2, 2, 9, 2], False, out)
    np.testing.assert_array_equal(out, want)


def test_confusion_transpose_errors():
    a, out = np.zeros((3, 4)), np.zeros((2, 6))
    run("ConfusionTranspose", a[:0], [1, 0], [0, 6], True, out[:0])
    for args, match in [
        (([1], [2, 6], True), "perm names 1 dimensions"),
        (([1, 1], [2, 6], True), "dimension 1 twice"),
        (([1, 0], [2, 5], True), "12 elements"),
        (([1, 0], [-2, -6], True), "12 elements"),
        (([1, 0], [3, 4], True), "161002"),
        (([1, 2], [2, 6], True), "161002"),
    ]:  # fmt: skip
        with pytest.raises(AclError, match=match):
            run("ConfusionTranspose", a, *args, out)


@pytest.mark.parametrize(("dtype", "layout"), EACH)
@pytest.mark.parametrize(("dim", "chunks"), [(0, 1), (0, 3), (1, 2), (0, 7)])
def test_chunk_cat(dtype, layout, dim, chunks):
    shapes = [(4, 5, 3), (4, 2), (4, 7, 2, 2)] if dim else [(5, 3), (3,), (7, 2, 2)]
    tensors = [normal(*s, dtype=dtype) for s in shapes]
    want = torch._chunk_cat([wide(t) for t in tensors], dim, chunks)
    out = blank(want.shape, dtype, layout)
    run("ChunkCat", [laid(t, layout) for t in tensors], dim, chunks, out)
    near(out, want)
    if dtype == np.float16:
        out = blank(want.shape, np.float32, layout)
        run("ChunkCat", [laid(t, layout) for t in tensors], dim, chunks, out)
        near(out, want)


def test_chunk_cat_errors():
    a, out = np.zeros((4, 3)), np.zeros((2, 6))
    for args, match in [
        (([a], 0, 0, out), "numChunks is 0"),
        (([a], 2, 2, out), "161002"),
        (([a, np.zeros((4, 3), np.float32)], 0, 2, out), r"tensors\[1\]"),
        (([np.zeros((4, 3)), np.zeros((3, 3))], 1, 2, out), r"tensors\[1\]"),
        (([a], 0, 2, out[:, :5]), "161002"),
        (([a, None], 0, 2, out), "161001"),
    ]:  # fmt: skip
        with pytest.raises(AclError, match=match):
            run("ChunkCat", *args)


@pytest.mark.parametrize(("dtype", "layout"), EACH)
@pytest.mark.parametrize(
    ("dim", "size", "step"), [(0, 3, 1), (1, 2, 3), (-1, 4, 2), (1, 6, 1), (0, 1, 2)]
)
def test_unfold_grad(dtype, layout, dim, size, step):
    t = torch.zeros(5, 6, 4, dtype=torch.float64, requires_grad=True)
    windows = t.unfold(dim, size, step)
    dy = normal(*windows.shape, dtype=dtype)
    windows.backward(wide(dy))
    out = blank(t.shape, dtype, layout)
    run("UnfoldGrad", laid(dy, layout), [5, 6, 4], dim, size, step, out)
    near(out, t.grad, 3)


def test_unfold_grad_errors():
    run("UnfoldGrad", np.full(1, 3.0), [], 0, 1, 1, out := np.empty(()))
    assert out == 3
    dy, out = np.zeros((4, 2)), np.zeros(5)
    for args, match in [
        ((dy, [5], 0, 6, 1, out), "size is 6"),
        ((dy, [5], 0, 2, 0, out), "step 0"),
        ((dy, [5], 1, 2, 1, out), "161002"),
        ((dy, [6], 0, 2, 1, out), "161002"),
        ((dy.astype(np.float32), [5], 0, 2, 1, out), "161002"),
    ]:  # fmt: skip
        with pytest.raises(AclError, match=match):
            run("UnfoldGrad", *args)


@pytest.mark.parametrize(("dtype", "layout"), EACH)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_repeat_interleave_grad(dtype, layout, dim):
    shape = (3, 5, 4)
    repeats = RNG.integers(0, 4, shape[dim])
    t = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
    repeated = t.repeat_interleave(torch.tensor(repeats), dim)
    dy = normal(*repeated.shape, dtype=dtype)
    repeated.backward(wide(dy))
    out = blank(shape, dtype, layout)
    run("RepeatInterleaveGrad", laid(dy, layout), repeats.astype(np.int32), dim, out)
    near(out, t.grad, 4)


def test_repeat_interleave_grad_errors():
    dy, out = np.zeros((4, 2)), np.zeros((3, 2))
    run("RepeatInterleaveGrad", dy[:0], np.zeros(3, np.int64), 0, out)
    for repeats, match in [
        (np.array([1, 2]), "161002"),
        (np.array([1.0, 2, 1]), "161002"),
        (np.array([1, 2, 2]), r"repeats\[2\] is 2"),
        (np.array([1, -2, 5]), r"repeats\[1\] is -2"),
        (np.array([1, 0, 2]), "add up to 3"),
        (None, "161001"),
    ]:  # fmt: skip
        with pytest.raises(AclError, match=match):
            run("RepeatInterleaveGrad", dy, repeats, 0, out)
