"""Variants of operators, in place, of one dimension, of lists, with other parameters, whose other forms are tested
elsewhere: in every dtype and layout, against PyTorch in float64.
"""

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import BF16, RNG, blank, every, laid, near, normal, wide

same = np.testing.assert_array_equal
CASES = list(every())


@pytest.mark.parametrize(("dtype", "layout"), CASES)
def test_reductions(dtype, layout):
    a = laid(normal(3, 4, 5, dtype=dtype), layout)
    w = wide(a)
    low, high = blank((), dtype), blank((), dtype)
    run("AminmaxAll", a, low, high)
    same([low, high], [a.min(), a.max()])
    low, high = blank((3, 1, 5), dtype, layout), blank((3, 1, 5), dtype)
    run("AminmaxDim", a, 1, True, low, high)
    same(low, a.min(1, keepdims=True)), same(high, a.max(1, keepdims=True))
    same(run("Min", a, blank((), dtype)), a.min())
    same(run("MaxV2", a, [0, 2], False, False, blank(4, dtype, layout)), a.max((0, 2)))
    least, at = blank((3, 5), dtype, layout), blank((3, 5), np.int64)
    run("MinDim", a, 1, False, least, at)
    same(least, a.min(1)), same(at, a.astype(np.float64).argmin(1))
    near(run("MeanV2", a, [1], True, False, blank((3, 1, 5), dtype, layout)), w.mean(1, True))
    near(run("Var", a, [0, 2], True, False, blank(4, dtype, layout)), w.var((0, 2)), 4)
    dev, mean = blank((3, 1, 5), dtype, layout), blank((3, 1, 5), dtype)
    run("StdMeanCorrection", a, [1], 0, True, dev, mean)
    near(dev, w.std(1, correction=0, keepdim=True), 4), near(mean, w.mean(1, True))
    b = laid(normal(3, 4, low=0.5, high=2, dtype=dtype), layout)
    near(
        run("ReduceLogSum", b, [1], True, False, blank((3, 1), dtype)),
        wide(b).sum(1, True).log(),
        4,
    )
    for order in (0.0, 1.0, 2.0, 3.0, np.inf):
        want = torch.linalg.vector_norm(w, order, (0, 2), True)
        near(
            run("LinalgVectorNorm", a, order, [0, 2], True, dtype, blank((1, 4, 1), dtype, layout)),
            want,
            4,
        )


@pytest.mark.parametrize(("dtype", "layout"), CASES)
def test_running_minimum(dtype, layout):
    a = laid(normal(3, 6, dtype=dtype), layout)
    values, at = blank((3, 6), dtype, layout), blank((3, 6), np.int64)
    run("Cummin", a, 1, values, at)
    want = wide(a).cummin(1)
    near(values, want.values), same(at, want.indices)


@pytest.mark.parametrize(("dtype", "layout"), CASES)
def test_lists(dtype, layout):
    shapes = [(3,), (2, 4), (0,)]
    x, y, z = (
        [laid(normal(*s, low=0.5, high=3, dtype=dtype), layout) for s in shapes] for _ in range(3)
    )
    for name, f in (("AddScalarV2", lambda a: a + 2), ("SubScalarV2", lambda a: a - 2),
                    ("DivScalarV2", lambda a: a / 2), ("MinimumScalarV2", lambda a: a.clamp(max=2))):  # fmt: skip
        out = [blank(s, dtype, layout) for s in shapes]
        run("Foreach" + name, x, 2.0, out)
        for got, a in zip(out, x, strict=True):
            near(got, f(wide(a)), 4)
    out = [blank(s, dtype, layout) for s in shapes]
    run("ForeachAddcdivScalarV2", x, y, z, 0.5, out)
    for got, a, b, c in zip(out, x, y, z, strict=True):
        near(got, wide(a) + 0.5 * wide(b) / wide(c), 8)
    three = [laid(normal(2, 3, dtype=dtype), layout) for _ in range(3)]
    same(
        run("MinN", three, blank((2, 3), dtype, layout)),
        np.minimum(np.minimum(*three[:2]), three[2]),
    )


@pytest.mark.parametrize(("dtype", "layout"), CASES)
def test_products_in_place(dtype, layout):
    x, y = laid(normal(2, 3, 4, dtype=dtype), layout), laid(normal(2, 4, 5, dtype=dtype), layout)
    c, b = normal(3, 5, dtype=dtype), normal(2, 3, 5, dtype=dtype)
    got = laid(c, layout)
    run("InplaceAddbmm", got, x, y, 0.5, 2.0, 0)
    near(got, 0.5 * wide(c) + 2 * torch.bmm(wide(x), wide(y)).sum(0), 16)
    got = laid(b, layout)
    run("InplaceBaddbmm", got, x, y, 0.5, 2.0, 0)
    near(got, 0.5 * wide(b) + 2 * torch.bmm(wide(x), wide(y)), 16)
    u, v = normal(3, dtype=dtype), normal(5, dtype=dtype)
    for beta, alpha in ((None, None), (0.5, 2.0)):
        got = laid(c, layout)
        run("InplaceAddr", got, u, v, beta, alpha)
        outer = torch.outer(wide(u), wide(v))
        near(
            got,
            (1 if beta is None else beta) * wide(c) + (1 if alpha is None else alpha) * outer,
            8,
        )


@pytest.mark.parametrize(("dtype", "layout"), CASES)
def test_moves_in_place(dtype, layout):
    a = normal(4, 5, dtype=dtype)
    for k in (-1, 0, 2):
        got = laid(a, layout)
        run("InplaceTril", got, k)
        same(got, np.tril(a, k))
    got, want = laid(a, layout), a.copy()
    run("InplaceIndexFillTensor", got, 1, [1, 3], 7)
    want[:, [1, 3]] = 7
    same(got, want)
    index = np.array([[4, 0, 1], [1, 2, 3]])
    got, want = laid(a, layout), a.copy()
    run("InplaceScatterValue", got, 1, index, 7, 0)
    np.put_along_axis(want[:2], index, dtype.type(7), 1)
    same(got, want)
    source, out = normal(4, 2, dtype=dtype), blank((4, 5), dtype, layout)
    run("IndexCopy", laid(a, layout), 1, np.array([3, 0]), source, out)
    want = a.copy()
    want[:, [3, 0]] = source
    same(out, want)
    got, want = laid(a, layout), a.copy()
    rows = normal(2, 5, dtype=dtype)
    run("ScatterNdUpdate", got, np.array([[3], [1]]), rows)
    want[[3, 1]] = rows
    same(got, want)
    got = laid(normal(3, 4, dtype=dtype, low=-9, high=9), layout)
    want = wide(got).round(decimals=1)
    run("InplaceRoundDecimals", got, 1)
    near(got, want, 10)


@pytest.mark.parametrize("dtype", [np.dtype(t) for t in (np.float64, np.float32, np.float16, np.int64, np.int32, np.uint8, bool)])  # fmt: skip
def test_unique(dtype):
    x = RNG.integers(0, 6, (4, 5)).astype(dtype)
    want, inverse = np.unique(x, return_inverse=True)
    values, at = np.full(want.shape, 1).astype(dtype), blank((4, 5), np.int64)
    run("Unique", x, True, True, values, at)
    same(values, want), same(at, inverse.reshape(4, 5))
    values = np.full(want.shape, 1).astype(dtype)
    run("Unique", x.T, True, False, values, None)
    same(values, want)
    if len(want) > 1:
        with pytest.raises(AclError, match="room"):
            run("Unique", x, True, False, values[:1], None)


@pytest.mark.parametrize(("dtype", "layout"), CASES)
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_layer_norm(dtype, layout, mode):
    x = laid(normal(3, 4, 6, dtype=dtype), layout)
    weight, bias = normal(6, dtype=dtype), normal(6, dtype=dtype)
    mean, rstd = blank((3, 4, 1), np.float32), blank((3, 4, 1), np.float32)
    out = blank((3, 4, 6), dtype, layout)
    run("LayerNormWithImplMode", x, [6], weight, bias, 1e-5, out, mean, rstd, mode)
    w = wide(x)
    near(out, torch.nn.functional.layer_norm(w, [6], wide(weight), wide(bias), 1e-5), 8)
    (
        near(mean, w.mean(-1, True)),
        near(rstd, 1 / (w.var(-1, correction=0, keepdim=True) + 1e-5).sqrt(), 8),
    )


@pytest.mark.parametrize(("dtype", "layout"), CASES)
def test_random(dtype, layout):
    """No oracle has the same numbers: their distribution, what they depend on, and what they do not."""
    n = 4000
    prob = laid(np.linspace(0, 1, n, dtype=np.float64).astype(dtype), layout)
    a = run("BernoulliTensor", blank(n, dtype), prob, 3, 0, blank(n, dtype, layout))
    assert set(np.unique(a.astype(np.float64))) == {0, 1}
    assert abs(a.astype(np.float64).mean() - 0.5) < 0.04
    assert abs(a[: n // 4].astype(np.float64).mean() - 0.125) < 0.04
    b, c = laid(blank(n, dtype), layout), laid(blank(n, dtype), layout)
    run("InplaceBernoulliTensor", b, prob, 3, 0)
    same(a, b)
    run("InplaceBernoulli", b, 0.25, 3, 8)
    assert abs(b.astype(np.float64).mean() - 0.25) < 0.04
    run("InplaceBernoulli", c, 0.25, 3, 8)
    same(b, c)
    std, mean = laid(np.full(n, 2).astype(dtype), layout), laid(np.full(n, 1).astype(dtype), layout)
    first = run("NormalFloatFloat", 1.0, 2.0, 5, 0, blank(n, dtype, layout))
    same(run("NormalFloatTensor", 1.0, std, 5, 0, blank(n, dtype, layout)), first)
    same(run("NormalTensorTensor", mean, std, 5, 0, blank(n, dtype, layout)), first)
    assert abs(first.astype(np.float64).mean() - 1) < 0.15
    assert abs(first.astype(np.float64).std() - 2) < 0.15
    assert not np.array_equal(run("NormalFloatFloat", 1.0, 2.0, 6, 0, blank(n, dtype)), first)
    if dtype != BF16:
        assert len(np.unique(first)) > 500
    small = [run("NormalFloatFloat", 0.0, 1.0, 5, 0, blank((2, 3), dtype, layout)),
             run("InplaceBernoulli", blank((2, 3), dtype, layout), 0.5, 1, 0)]  # fmt: skip
    assert np.isfinite(small[0].astype(np.float64)).all()
