"""Mixtures of experts against NumPy and PyTorch: the gate, the experts' order and back."""

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import BF16, RNG, blank, every, laid, near, normal, wide

I32 = np.int32


def some(shape, dtype, layout):
    return laid(normal(*shape).astype(dtype), layout)


def refused(name, *args):
    with pytest.raises(AclError, match="161002"):
        run(name, *args)


def top(scores, k):
    """The k largest of each row, equal ones by their number."""
    at = np.argsort(-scores, axis=-1, kind="stable")[..., :k]
    return np.take_along_axis(scores, at, -1), at


def soft(x):
    return torch.softmax(wide(x), -1).numpy()


@pytest.mark.parametrize("shape", ((5, 8), (2, 3, 9)))
def test_gate(shape):
    for dtype, layout in every():
        x = some(shape, dtype, layout)
        done = laid(RNG.random(shape[:-1]) < 0.4, layout)
        best = (*shape[:-1], 3)
        for finished in (None, done):
            y, expert = blank(best, dtype, layout), blank(best, I32, layout)
            row = run("MoeGatingTopKSoftmax", x, finished, 3, y, expert, blank(best, I32, layout))
            want, at = top(soft(x), 3)
            if finished is not None:
                at = np.where(done[..., None], shape[-1], at)
            near(y, want)
            assert (expert == at).all()
            rows = x.size // shape[-1]
            assert (row == np.arange(rows * 3).reshape(3, rows).T.reshape(best)).all()
            scores = blank(shape, np.float32, layout)
            run("MoeGatingTopKSoftmaxV2", x, finished, 3, 0, True, y, expert, scores)
            near(y, want)
            near(scores, soft(x))
            assert (expert == at).all()
            run("MoeGatingTopKSoftmaxV2", x, finished, 3, 1, False, y, expert, None)
            near(y, soft(top(x.astype(np.float64), 3)[0]))
            assert (expert == at).all()


def grouped(x, bias, k, best, groups, mode, norm, scale, eps):
    s = soft(x) if norm == 0 else 1 / (1 + np.exp(-x.astype(np.float64)))
    chosen = s if bias is None else s + bias.astype(np.float64)
    parts = chosen.reshape(len(x), groups, -1)
    value = np.sort(parts, -1)[..., -2 if mode else -1 :].sum(-1)
    kept = np.zeros((len(x), groups), bool)
    np.put_along_axis(kept, top(value, best)[1], True, -1)
    at = top(np.where(kept[..., None], parts, -np.inf).reshape(x.shape), k)[1]
    y = np.take_along_axis(s, at, -1)
    return (y / (y.sum(-1, keepdims=True) + eps) if norm else y) * scale, at, s


def test_group_gate():
    for dtype, layout in every():
        x = laid(
            RNG.permuted(np.linspace(-3, 3, 16)[None].repeat(6, 0), axis=1).astype(dtype), layout
        )
        b = laid(RNG.permutation(16).astype(dtype) / 8, layout)
        for bias, best, groups, mode, norm in ((b, 2, 4, 1, 1), (None, 2, 4, 0, 0), (None, 1, 1, 0, 1), (b, 3, 8, 1, 0)):  # fmt: skip
            y, expert = blank((6, 4), dtype, layout), blank((6, 4), I32, layout)
            out = blank((6, 16), np.float32, layout)
            run(
                "MoeGatingTopK",
                x,
                bias,
                4,
                best,
                groups,
                mode,
                0,
                norm,
                True,
                2.5,
                1e-20,
                y,
                expert,
                out,
            )
            want, at, s = grouped(x, bias, 4, best, groups, mode, norm, 2.5, 1e-20)
            near(y, want)
            near(out, s)
            assert (expert == at).all()


def test_gate_edges():
    x, y, i = normal(4, 6, dtype=np.float32), np.empty((4, 2), np.float32), np.empty((4, 2), I32)
    e = np.empty((0, 6), np.float32)
    run("MoeGatingTopKSoftmax", e, None, 2, y[:0], i[:0], i[:0].copy())
    refused("MoeGatingTopKSoftmax", x, None, 7, y, i, i.copy())
    refused("MoeGatingTopKSoftmax", x, np.zeros(3, bool), 2, y, i, i.copy())
    refused("MoeGatingTopKSoftmax", x, None, 2, y, y.copy(), i)
    refused("MoeGatingTopKSoftmaxV2", x, None, 2, 2, False, y, i, None)
    refused("MoeGatingTopK", x, None, 2, 1, 4, 0, 0, 1, False, 1.0, 0.0, y, i, None)
    refused("MoeGatingTopK", x, None, 2, 1, 2, 2, 0, 1, False, 1.0, 0.0, y, i, None)
    with pytest.raises(AclError, match="161001"):
        run("MoeGatingTopKSoftmaxV2", x, None, 2, 0, True, y, i, None)


def routed(x, expert, active, by_column=None):
    """Stable by the expert."""
    order = np.argsort(expert.ravel(), kind="stable")
    number = order if by_column is None else by_column.ravel()[order]
    where = np.empty(expert.size, I32)
    where[number] = np.arange(expert.size)
    row = number // expert.shape[1] if by_column is None else number % len(x)
    return x[row][:active], where, expert.ravel()[order]


@pytest.mark.parametrize("active", (0, 2, 3, 99))
def test_init_routing(active):
    for dtype, layout in every():
        x, expert = some((4, 5), dtype, layout), laid(RNG.integers(0, 6, (4, 2), I32), layout)
        rows = laid(np.arange(8, dtype=I32).reshape(2, 4).T, layout)
        n = min(active, 4) * 2
        out, at = blank((n, 5), dtype, layout), blank(8, I32, layout)
        by = run("MoeInitRouting", x, rows, expert, active, out, at, blank(8, I32, layout))
        for got, want in zip((out, at, by), routed(x, expert, n, rows), strict=True):
            assert (got == want).all()
        n = 8 if active == 0 else min(active, 8)
        out, counts = blank((n, 5), dtype, layout), blank(6, I32, layout)
        for flag in (0, 1, 2):
            run("MoeInitRoutingV2", x, expert, active, 0, 6, 0, flag, False, out, at, counts, None)
            want = routed(x, expert, n)
            assert (out == want[0]).all() and (at == want[1]).all()
            count = np.bincount(expert.ravel(), minlength=6)
            if flag:
                assert (counts == (count.cumsum() if flag == 1 else count)).all()
    assert run(
        "MoeComputeExpertTokens", np.array([0, 0, 2, 5], I32), 6, np.empty(6, I32)
    ).tolist() == [2, 2, 3, 3, 3, 4]


def dropped(x, expert, experts, capacity):
    out, at = np.zeros((experts, capacity, x.shape[1]), x.dtype), np.full(expert.size, -1)
    used = [0] * experts
    for entry, e in enumerate(expert.ravel()):
        if used[e] < capacity:
            out[e, used[e]] = x[entry // expert.shape[1]]
            at[entry] = e * capacity + used[e]
            used[e] += 1
    return out, at


def test_init_routing_with_capacity():
    for dtype, layout in every():
        x, expert = some((6, 3), dtype, layout), laid(RNG.integers(0, 4, (6, 2), I32), layout)
        out, at = blank((4, 2, 3), dtype, layout), blank(12, I32, layout)
        before = run(
            "MoeInitRoutingV2", x, expert, 0, 2, 4, 1, 0, True, out, at, None, blank(4, I32, layout)
        )
        want = dropped(x, expert, 4, 2)
        assert (out == want[0]).all() and (at == want[1]).all()
        assert (before == np.bincount(expert.ravel(), minlength=4)).all()
        counts = blank(4, np.int64, layout)
        run(
            "MoeInitRoutingV3",
            x,
            expert,
            None,
            None,
            12,
            2,
            4,
            1,
            1,
            True,
            -1,
            [0, 4],
            0,
            out,
            at,
            counts,
            None,
        )
        assert (out == want[0]).all() and (at == want[1]).all() and (counts == before).all()


def test_init_routing_of_a_range():
    for dtype, layout in every():
        x, expert = some((5, 3), dtype, layout), laid(RNG.integers(0, 9, (5, 4), I32), layout)
        scale = some((5,), np.float32, layout)
        flat = expert.ravel()
        key = np.where((flat >= 2) & (flat < 7), flat, 99)
        order, n = np.argsort(key, kind="stable"), int((key < 99).sum())
        where = np.full(20, -1)
        where[order[:n]] = np.arange(n)
        count = np.bincount(flat[order[:n]] - 2, minlength=5)
        for kind, rows in ((0, 0), (1, 1)):
            out, at = blank((20, 3), dtype, layout), blank(20, I32, layout)
            counts, scales = blank(5, np.int64, layout), blank(20, np.float32, layout)
            run("MoeInitRoutingV3", x, expert, scale, None, 20, -1, 9, 0, kind, True, -1, [2, 7], rows,
                out, at, counts, scales)  # fmt: skip
            assert (out[:n] == x[order[:n] // 4]).all() and not out[n:].any()
            assert (scales[:n] == scale[order[:n] // 4]).all()
            assert (at == (order if rows else where)).all()
            assert (counts == (count if kind else count.cumsum())).all()


def test_init_routing_edges():
    x, expert, out, at = normal(4, 5), np.zeros((4, 2), I32), np.empty((8, 5)), np.empty(8, I32)
    e = np.empty((0, 5))
    run("MoeInitRoutingV2", e, expert[:0], 0, 0, 3, 0, 0, False, e.copy(), at[:0], None, None)
    refused("MoeInitRoutingV2", x, expert[:3], 0, 0, 3, 0, 0, False, out, at, None, None)
    refused("MoeInitRoutingV2", x, expert, 0, 0, 3, 0, 3, False, out, at, None, None)
    refused("MoeInitRoutingV2", x, expert, 0, 0, 3, 1, 0, False, out, at, None, None)
    refused("MoeInitRoutingV2", x, expert, 0, 0, 3, 0, 0, False, out[:7], at, None, None)
    refused("MoeInitRouting", x, expert, expert, -1, out, at, at.copy())
    refused(
        "MoeInitRoutingV3",
        x,
        expert,
        None,
        None,
        8,
        0,
        3,
        0,
        1,
        False,
        1,
        [0, 3],
        0,
        out,
        at,
        None,
        None,
    )
    refused(
        "MoeInitRoutingV3",
        x,
        expert,
        None,
        None,
        8,
        0,
        3,
        0,
        1,
        False,
        -1,
        [3, 3],
        0,
        out,
        at,
        None,
        None,
    )
    refused("MoeComputeExpertTokens", at, 3, np.empty(2, I32))


def test_rerouting():
    for dtype in (np.float16, BF16, np.int8, np.float64):
        counts = RNG.integers(0, 4, (3, 5))
        n = int(counts.sum())
        for layout in ("packed", "strided", "turned"):
            tokens = laid((RNG.random((n, 6)) * 50).astype(dtype), layout)
            scales = some((n,), np.float32, layout)
            out, moved = blank((n, 6), dtype, layout), blank(n, np.float32, layout)
            at = blank(n, I32, layout)
            per = run(
                "MoeReRouting",
                tokens,
                laid(counts, layout),
                scales,
                1,
                0,
                out,
                moved,
                at,
                blank(5, np.int64, layout),
            )
            starts = (counts.ravel().cumsum() - counts.ravel()).reshape(3, 5)
            want = [
                starts[r, e] + i for e in range(5) for r in range(3) for i in range(counts[r, e])
            ]
            assert at.tolist() == want and (per == counts.sum(0)).all()
            assert (out == tokens[want]).all() and (moved == scales[want]).all()
            run("MoeReRouting", tokens, laid(counts, layout), None, 1, 0, out, None, at, per)
    refused("MoeReRouting", tokens, counts, None, 0, 0, out, None, at, per)
    refused("MoeReRouting", tokens, counts, None, 1, 0, out[:1], None, at, per)
    with pytest.raises(AclError, match="does not sum"):
        run("MoeReRouting", tokens, counts + 1, None, 1, 0, out, None, at, per)


def final(x, at, x1, x2, bias, scales, expert, by_row):
    rows, k = expert.shape
    out = np.zeros((rows, x.shape[-1])) + sum(wide(a).numpy() for a in (x1, x2) if a is not None)
    x = np.concatenate([wide(x).numpy().reshape(-1, x.shape[-1]), np.zeros((1, x.shape[-1]))])
    at = at.reshape(rows, k) if by_row else at.reshape(k, rows).T
    b = 0 if bias is None else wide(bias).numpy()[expert] * (at >= 0)[..., None]
    s = 1 if scales is None else wide(scales).numpy()[..., None]
    return out + (s * (x[at] + b)).sum(1)


def test_finalize_routing():
    for dtype, layout in every():
        x, h = some((12, 5), dtype, layout), (4, 5)
        x1, x2, bias = some(h, dtype, layout), some(h, dtype, layout), some((6, 5), dtype, layout)
        scales, expert = some((4, 3), dtype, layout), laid(RNG.integers(0, 6, (4, 3), I32), layout)
        at = laid(RNG.permutation(12).astype(I32), layout)
        out = blank(h, dtype, layout)
        near(run("MoeFinalizeRouting", x, x1, x2, bias, scales, at, expert, out),
             final(x, at, x1, x2, bias, scales, expert, False), 4)  # fmt: skip
        for mode in (0, 2):
            near(run("MoeFinalizeRoutingV2", x, at, x1, None, bias, scales, expert, mode, out),
                 final(x, at, x1, None, bias, scales, expert, mode == 2), 4)  # fmt: skip
            near(run("MoeFinalizeRoutingV2", x, at, None, None, None, None, None, mode, out),
                 final(x, at, None, None, None, None, expert, mode == 2), 4)  # fmt: skip
        cube = some((6, 4, 5), dtype, layout)
        at = laid(np.where(RNG.random(12) < 0.3, -1, RNG.permutation(24)[:12]).astype(I32), layout)
        for mode in (1, 3):
            near(run("MoeFinalizeRoutingV2", cube, at, x1, x2, bias, scales, expert, mode, out),
                 final(cube, at, x1, x2, bias, scales, expert, mode == 3), 4)  # fmt: skip


def test_finalize_routing_edges():
    x, at, out = normal(8, 3), np.arange(8, dtype=I32), np.empty((4, 3))
    expert, s, b = np.zeros((4, 2), I32), normal(4, 2), normal(2, 3)
    e = np.empty((0, 3))
    run("MoeFinalizeRoutingV2", e, at[:0], None, None, None, None, None, 0, e.copy())
    big = some((64, 700), np.float32, "packed")
    near(run("MoeFinalizeRoutingV2", big, np.arange(64, dtype=I32), None, None, None, None, None, 2,
             np.empty((32, 700), np.float32)), wide(big).reshape(32, 2, 700).sum(1))  # fmt: skip
    refused("MoeFinalizeRoutingV2", x, at, None, None, None, None, None, 4, out)
    refused("MoeFinalizeRoutingV2", x, at[:7], None, None, None, None, None, 0, out)
    refused("MoeFinalizeRoutingV2", x, at, None, None, None, s[:3], None, 0, out)
    refused("MoeFinalizeRoutingV2", x, at, None, None, None, None, None, 1, out)
    with pytest.raises(AclError, match="161001"):
        run("MoeFinalizeRoutingV2", x, at, None, None, b, s, None, 0, out)
    with pytest.raises(AclError, match="row 8 of"):
        run("MoeFinalizeRoutingV2", x, at + 2, None, None, None, None, None, 0, out)
    with pytest.raises(AclError, match="expert 2|row 2"):
        run("MoeFinalizeRoutingV2", x, at, None, None, b, s, expert + 2, 0, out)
