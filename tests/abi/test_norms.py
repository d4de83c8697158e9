"""Normalisations and their gradients against PyTorch: every documented dtype, several layouts, masks of outputs,
parameters that are NULL, empty tensors, refusals.
"""

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import blank, every, laid, near, normal, wide

F = torch.nn.functional
ops = torch.ops.aten
SCALE = {2: 4.0, 4: 1.0, 8: 1.0}  # halves: errors are of the largest term of a sum


def made(shape, dtype, layout, **bounds):
    return laid(normal(*shape, **bounds).astype(dtype), layout)


def grads(f, g, *inputs):
    """The gradients of f at the inputs that are there."""
    leaves = [wide(a, True) if a is not None else None for a in inputs]
    f(*leaves).backward(wide(g))
    return [a.grad if a is not None else None for a in leaves]


@pytest.mark.parametrize("dim", (0, 1, -1))
def test_softmax_backward(dim):
    for dtype, layout in every():
        x, g = made((3, 4, 5), dtype, layout), made((3, 4, 5), dtype, layout)
        for name, f in (("Softmax", F.softmax), ("LogSoftmax", F.log_softmax)):
            y = laid(np.asarray(f(wide(x), dim).numpy()).astype(dtype), layout)
            want = {
                "Softmax": lambda: wide(y) * (wide(g) - (wide(g) * wide(y)).sum(dim, True)),  # noqa: B023
                "LogSoftmax": lambda: wide(g) - wide(y).exp() * wide(g).sum(dim, True),  # noqa: B023
            }[name]()
            near(run(name + "Backward", g, y, dim, blank(x.shape, dtype, layout)), want)
    one, e = np.ones((), np.float32), np.empty((0, 3), np.float32)
    assert run("SoftmaxBackward", one, one, 0, one.copy()) == 0
    run("SoftmaxBackward", e, e, 1, e.copy())
    with pytest.raises(AclError, match="161002"):
        run("SoftmaxBackward", one, one, 1, one.copy())
    with pytest.raises(AclError, match="161002"):
        run("LogSoftmaxBackward", e, e, 0, np.empty((1, 3), np.float32))


@pytest.mark.parametrize("shape", ((5,), (4, 5)))
def test_layer_norm_backward(shape):
    k = len(shape)
    for dtype, layout in every():
        x, g = made((3, 4, 5), dtype, layout), made((3, 4, 5), dtype, layout)
        w, b = made(shape, dtype, layout), made(shape, dtype, layout)
        a = wide(x)
        axes = tuple(range(3 - k, 3))
        mean = a.mean(axes, keepdim=True)
        rstd = (a.var(axes, correction=0, keepdim=True) + 1e-5).rsqrt()
        for weight, bias in ((w, b), (None, None)):
            stats = [np.asarray(s.numpy()).astype(np.float64 if x.itemsize == 8 else np.float32)
                     for s in (mean, rstd)]  # fmt: skip
            want = grads(lambda a, w, b: F.layer_norm(a, shape, w, b), g, x, weight, bias)
            got = [blank(x.shape, dtype, layout), blank(shape, dtype), blank(shape, dtype, layout)]
            run("LayerNormBackward", g, x, list(shape), *stats, weight, bias, [True] * 3, *got)
            near(got[0], want[0])
            if weight is not None:
                near(got[1], want[1], SCALE[x.itemsize])
                near(got[2], want[2], SCALE[x.itemsize])
    one = np.ones((3, 1), np.float32)
    x = normal(3, 4, dtype=np.float32)
    db = np.empty(4, np.float32)
    run("LayerNormBackward", x, x, [4], one, one, None, None, [False, False, True], None, None, db)
    near(db, x.astype(float).sum(0))
    e = np.empty((0, 4), np.float32)
    run("LayerNormBackward", e, e, [4], one[:0], one[:0], None, None, [True] * 3, e.copy(), db, db)
    assert not db.any()
    for mask, code in (([True, True], 161002), ([True] * 3, 161001)):
        with pytest.raises(AclError, match=str(code)):
            run("LayerNormBackward", x, x, [4], one, one, None, None, mask, None, None, db)


SHAPES = ((6, 3), (4, 3, 5), (2, 3, 4, 5), (2, 3, 2, 3, 4))


def kept_dtype(dtype):
    return np.float64 if dtype == np.float64 else np.float32


@pytest.mark.parametrize("training", (True, False))
@pytest.mark.parametrize("shape", SHAPES)
def test_batch_norm(shape, training):
    for dtype, layout in every():
        kept = kept_dtype(dtype)
        x, g = made(shape, dtype, layout), made(shape, dtype, layout)
        full = {"weight": made((3,), kept, layout), "bias": made((3,), kept, layout)}
        for params in (full, {"weight": None, "bias": None}):
            mean, var = made((3,), kept, layout), made((3,), kept, layout, low=0.5, high=2)
            running = wide(mean), wide(var)
            f = lambda a, w, b: F.batch_norm(a, running[0].clone(), running[1].clone(), w, b,  # noqa: E731, B023
                                             training, 0.3, 1e-4)  # fmt: skip
            want = grads(f, g, x, *params.values())
            out = F.batch_norm(wide(x), *running, *map(wide, params.values()), training, 0.3, 1e-4)
            old = mean.copy(), var.copy()
            got, save, invstd = blank(shape, dtype, layout), blank(3, kept, layout), blank(3, kept)
            run("BatchNorm", x, *params.values(), mean, var, training, 0.3, 1e-4, got, save, invstd)
            near(got, out)
            near(mean, running[0])
            near(var, running[1])
            to = [blank(shape, dtype, layout), blank(3, kept), blank(3, kept, layout)]
            run(
                "BatchNormBackward",
                g,
                x,
                params["weight"],
                *old,
                save,
                invstd,
                training,
                1e-4,
                [True] * 3,
                *to,
            )
            near(to[0], want[0], 4 * max(1, invstd.max()))
            if params["weight"] is not None:
                near(to[1], want[1], 10)
                near(to[2], want[2], 10)


def test_batch_norm_edges():
    x = normal(4, 3, dtype=np.float32)
    y, s, r = np.empty_like(x), np.empty(3, np.float32), np.empty(3, np.float32)
    run("BatchNorm", x, None, None, None, None, True, 0.1, 1e-5, y, s, r)
    near(y, F.batch_norm(wide(x), None, None, training=True))
    near(s, x.astype(float).mean(0))
    e = np.empty(0, np.float32)
    run("BatchNorm", x, None, None, s, np.ones_like(s), False, 0.1, 0.0, y, e, None)
    near(y, x - s)
    d = np.empty(3, np.float32)
    nothing = np.empty((0, 3), np.float32)
    run(
        "BatchNormBackward",
        nothing,
        nothing,
        None,
        None,
        None,
        s,
        r,
        True,
        1e-5,
        [False, True, True],
        None,
        d,
        d,
    )
    assert not d.any()
    for args, code in (((x, None, None, None, None, False, 0.1, 1e-5, y, s, r), 161001),
                       ((x[0], None, None, None, None, True, 0.1, 1e-5, y[0], s, r), 161002),
                       ((x, s[:2], None, None, None, True, 0.1, 1e-5, y, s, r), 161002),
                       ((x, None, None, None, None, True, 0.1, 1e-5, y.astype(int), s, r), 161002)):  # fmt: skip
        with pytest.raises(AclError, match=str(code)):
            run("BatchNorm", *args)


@pytest.mark.parametrize("shape", SHAPES)
def test_batch_norm_in_parts(shape):
    """Two devices' shares of a batch give what the whole batch gives."""
    cut = shape[0] // 2
    for dtype, layout in every():
        kept = kept_dtype(dtype)
        x, g = made(shape, dtype, layout), made(shape, dtype, layout)
        w, b = made((3,), kept, layout), made((3,), kept, layout)
        parts = [slice(0, cut), slice(cut, None)]
        means, stds = np.empty((2, 3), kept), np.empty((2, 3), kept)
        each = shape[0] * np.prod(shape[2:]) / shape[0]
        counts = np.array([cut * each, (shape[0] - cut) * each]).astype(kept)
        for k, part in enumerate(parts):
            run("BatchNormStats", x[part], 1e-4, means[k], stds[k])
        running = normal(3, dtype=kept), normal(3, dtype=kept, low=0.5, high=1)
        want_running = wide(running[0]), wide(running[1])
        out = F.batch_norm(wide(x), *want_running, wide(w), wide(b), True, 0.2, 1e-4)
        mean, invstd = np.empty(3, kept), np.empty(3, kept)
        run(
            "BatchNormGatherStatsWithCounts",
            x,
            means,
            stds,
            *running,
            0.2,
            1e-4,
            counts,
            mean,
            invstd,
        )
        near(running[0], want_running[0])
        near(running[1], want_running[1])
        got = blank(shape, dtype, layout)
        for part in parts:
            run("BatchNormElemt", x[part], w, b, mean, invstd, 1e-4, got[part])
        near(got, out)
        want = grads(lambda a, w, b: F.batch_norm(a, None, None, w, b, True, 0.2, 1e-4), g, x, w, b)
        sums = np.zeros((4, 3), kept)
        for part in parts:
            one = np.empty((4, 3), kept)
            run(
                "BatchNormReduceBackward", g[part], x[part], mean, invstd, w, True, True, True, *one
            )
            sums += one
        near(sums[2], want[1], 10)
        near(sums[3], want[2], 10)
        dx = blank(shape, dtype, layout)
        for part in parts:
            run("BatchNormElemtBackward", g[part], x[part], mean, invstd, w, sums[0], sums[1],
                counts.astype(np.int32), dx[part])  # fmt: skip
        near(dx, want[0], 4 * max(1, invstd.max()))


def test_batch_norm_parts_edges():
    x, s = normal(4, 3, dtype=np.float32), np.ones(3, np.float32)
    got = np.full((4, 3), 7, np.float32)
    run("BatchNormReduceBackward", x, x, s, s, None, False, False, True, None, None, None, got[0])
    near(got[0], x.astype(float).sum(0))
    run("BatchNormElemt", x, None, None, s, s * 2, 1e-5, got)
    near(got, (x.astype(float) - 1) * 2)
    e = np.empty((4, 0), np.float32)
    run("BatchNormStats", e, 1e-5, e[0], e[0].copy())
    for name, args in (("BatchNormStats", (x, 1e-5, s, s[:2])), ("BatchNormElemt", (x, s[:1], s, s, s, 0.0, got)),
                       ("BatchNormGatherStatsWithCounts", (x, s, s, s, s, 0.1, 0.0, s, s, s)),
                       ("BatchNormElemtBackward", (x, x, s, s, s, s, s, got, got)),
                       ("BatchNormReduceBackward", (x, x, s, s, s, True, True, True, s, None, s, s))):  # fmt: skip
        with pytest.raises(AclError, match="16100"):
            run(name, *args)


@pytest.mark.parametrize("shape", ((5, 6), (2, 6, 5), (2, 6, 3, 4), (1, 6, 2, 2, 3)))
@pytest.mark.parametrize("groups", (1, 3, 6))
def test_group_norm(shape, groups):
    rest = int(np.prod(shape[2:]))
    for dtype, layout in every():
        if rest * 6 // groups < 5:  # a few nearly equal elements magnify any rounding
            continue
        x, g = made(shape, dtype, layout), made(shape, dtype, layout)
        w, b = made((6,), dtype, layout), made((6,), dtype, layout)
        for weight, bias in ((w, b), (None, None)):
            kept = kept_dtype(dtype)
            f = lambda a, w, b: F.group_norm(a, groups, w, b, 1e-4)  # noqa: E731, B023
            want = f(*map(wide, (x, weight, bias)))
            out, mean, rstd = (
                blank(shape, dtype, layout),
                blank((shape[0], groups), kept),
                blank((shape[0], groups), kept),
            )
            run("GroupNorm", x, weight, bias, shape[0], 6, rest, groups, 1e-4, out, mean, rstd)
            near(out, want)
            run("GroupNormSilu", x, weight, bias, groups, 1e-4, out, mean, rstd)
            near(out, F.silu(want))
            for flag in (True, False):
                run("GroupNormSiluV2", x, weight, bias, groups, 1e-4, flag, out, mean, rstd)
                near(out, F.silu(want) if flag else want)
            near(mean, wide(x).reshape(shape[0], groups, -1).mean(2))
            near(
                rstd, 1 / (wide(x).reshape(shape[0], groups, -1).var(2, correction=0) + 1e-4).sqrt()
            )
            want = grads(f, g, x, weight, bias)
            to = [blank(shape, dtype, layout), blank(6, dtype), blank(6, dtype, layout)]
            run(
                "GroupNormBackward",
                g,
                x,
                mean,
                rstd,
                weight,
                shape[0],
                6,
                rest,
                groups,
                [True] * 3,
                *to,
            )
            near(to[0], want[0], 4 * max(1, rstd.max(initial=0)))
            if weight is not None:
                near(to[1], want[1], 10)
                near(to[2], want[2], 10)


def test_group_norm_edges():
    x, s = normal(2, 6, 3, dtype=np.float32), np.ones((2, 3), np.float32)
    e, k = np.empty((0, 6, 3), np.float32), np.empty((0, 3), np.float32)
    run("GroupNorm", e, None, None, 0, 6, 3, 3, 1e-5, e.copy(), k, k.copy())
    d = np.full(6, 7, np.float32)
    run("GroupNormBackward", e, e, k, k, None, 0, 6, 3, 3, [True, True, True], e.copy(), d, d)
    assert not d.any()
    for args in ((x, None, None, 2, 6, 4, 3, 1e-5, x.copy(), s, s), (x, None, None, 2, 6, 3, 4, 1e-5, x.copy(), s, s),
                 (x, d[:3], None, 2, 6, 3, 3, 1e-5, x.copy(), s, s), (x, None, None, 2, 6, 3, 0, 1e-5, x.copy(), s, s)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("GroupNorm", *args)


@pytest.mark.parametrize("form", ("NCHW", "NHWC"))
def test_instance_norm(form):
    for dtype, layout in every():
        shape = (2, 3, 4, 5) if form == "NCHW" else (2, 4, 5, 3)
        axes = (2, 3) if form == "NCHW" else (1, 2)
        x, w, b = made(shape, dtype, layout), made((3,), dtype, layout), made((3,), dtype, layout)
        a = wide(x)
        mean, var = a.mean(axes, keepdim=True), a.var(axes, correction=0, keepdim=True)
        spread = (3, 1, 1) if form == "NCHW" else (3,)
        want = (a - mean) / (var + 1e-3).sqrt() * wide(w).reshape(spread) + wide(b).reshape(spread)
        y, m, v = (
            blank(shape, dtype, layout),
            blank(mean.shape, dtype),
            blank(mean.shape, dtype, layout),
        )
        run("InstanceNorm", x, w, b, form, 1e-3, y, m, v)
        near(y, want)
        near(m, mean)
        near(v, var)
    with pytest.raises(AclError, match="161002"):
        run("InstanceNorm", x, w, b, "CHWN", 1e-3, y, m, v)
    e = np.empty((0, 3, 4, 5) if form == "NCHW" else (0, 4, 5, 3), dtype)
    run("InstanceNorm", e, w, b, form, 1e-3, e.copy(), m[:0], v[:0])
