"""Softmax of scaled and masked scores, and its gradient, against PyTorch."""

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import blank, every, laid, near, normal, wide


def made(shape, dtype, layout):
    return laid(normal(*shape).astype(dtype), layout)


def hidden(shape, rows):
    """A mask in which every row of scores keeps its first element."""
    mask = normal(*shape) > 0
    mask[..., 0] = False
    return np.broadcast_to(mask, rows) if mask.ndim < 2 else mask


@pytest.mark.parametrize(
    "form", ((2, 3, 5, 6), (2, 1, 5, 6), (1, 1, 5, 6), (5, 6), None, "triangle")
)
def test_scaled_masked_softmax(form):
    shape = (2, 3, 5, 6)
    for dtype, layout in every():
        x, g = made(shape, dtype, layout), made(shape, dtype, layout)
        triangle = form == "triangle"
        mask = None if form is None or triangle else laid(hidden(form, shape), layout)
        a = wide(x, True)
        scores = a * 0.7
        if triangle:
            scores = scores.masked_fill(torch.ones(5, 6).triu(1).bool(), -torch.inf)
        elif mask is not None:
            scores = scores.masked_fill(torch.tensor(mask.copy()), -torch.inf)
        want = scores.softmax(-1)
        want.backward(wide(g))
        y = run("ScaledMaskedSoftmax", x, mask, 0.7, triangle, blank(shape, dtype, layout))
        near(y, want)
        y = want.detach().numpy().astype(dtype)
        dx = run(
            "ScaledMaskedSoftmaxBackward", g, y, mask, 0.7, triangle, blank(shape, dtype, layout)
        )
        near(dx, a.grad, 4)


@pytest.mark.parametrize("columns", (1, 2, 15, 16, 33, 500, 4097, 40000))
def test_rows(columns):
    """Contiguous rows are one visit each, others passes of the fused engine; from 32768 on all are."""
    shape = (3, 2, columns)
    for dtype, layout in every():
        x = made(shape, dtype, layout)
        x *= 4
        x[0, 0, columns // 2] = -np.inf
        x[0, 1, 0] = 60
        x[1, 0] = -np.inf
        x[1, 1, columns // 3] = np.nan
        x[2, 0, -1] = np.inf
        want = wide(x).softmax(-1).numpy()
        near(run("Softmax", x, -1, blank(shape, dtype, layout)), want)
        if layout == "packed":  # rows at a distance, and in place
            near(run("Softmax", x[:, 1:], -1, blank((3, 1, columns), dtype, layout)), want[:, 1:])
            near(run("Softmax", x, -1, x), want)


def test_rows_to_another_dtype():
    x = normal(5, 300).astype(np.float16)
    near(run("Softmax", x, -1, np.empty(x.shape, np.float32)), wide(x).softmax(-1))


@pytest.mark.parametrize("split", (False, True))
def test_relative_position_bias(split):
    batch, w, heads, rows, columns = 2, 3, 2, 4, 5
    shape = (batch, w, heads, rows, columns) if split else (batch * w, heads, rows, columns)
    for dtype, layout in every():
        x = made(shape, dtype, layout)
        for mask_shape in (
            (w, rows, columns),
            (w, 1, rows, columns),
            (1, w, 1, rows, columns),
            None,
        ):
            mask = None if mask_shape is None else made(mask_shape, dtype, layout)
            for front in ((), (1,), (1, 1)):
                bias = made((*front, heads, rows, columns), dtype, layout)
                scores = 0.5 * wide(x).reshape(batch, w, heads, rows, columns)
                scores = scores + wide(bias).reshape(heads, rows, columns)
                if mask is not None:
                    scores = scores + wide(mask).reshape(1, w, 1, rows, columns)
                out = blank(shape, dtype, layout)
                run("MaskedSoftmaxWithRelPosBias", x, mask, bias, 0.5, 0, out)
                near(out, scores.softmax(-1).reshape(shape))


def test_edges():
    e = np.empty((2, 0, 3, 4), np.float32)
    run("ScaledMaskedSoftmax", e, None, 1.0, False, e.copy())
    run("ScaledMaskedSoftmaxBackward", e, e, None, 1.0, False, e.copy())
    run("MaskedSoftmaxWithRelPosBias", e, None, e[0], 1.0, 0, e.copy())
    x, mask = normal(2, 3, 4, 4), np.ones((4, 4), bool)
    y = run("ScaledMaskedSoftmax", x, mask, 1.0, False, np.zeros((2, 3, 4, 4)))
    assert np.isnan(y).all()  # a row with nothing to see
    bias = normal(3, 4, 4)
    for name, args in (("ScaledMaskedSoftmax", (x, mask[:3], 1.0, False, y)), ("ScaledMaskedSoftmax", (x, x, 1.0, False, y)),
                       ("ScaledMaskedSoftmax", (x[0, 0, 0], None, 1.0, False, y[0, 0, 0])),
                       ("ScaledMaskedSoftmax", (x, mask, 1.0, False, y[0])),
                       ("ScaledMaskedSoftmaxBackward", (x, y[0], mask, 1.0, False, y)),
                       ("MaskedSoftmaxWithRelPosBias", (x, None, bias[:2], 1.0, 0, y)),
                       ("MaskedSoftmaxWithRelPosBias", (x, bias, bias, 1.0, 0, y)),
                       ("MaskedSoftmaxWithRelPosBias", (x[0], None, bias, 1.0, 0, y[0]))):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run(name, *args)
