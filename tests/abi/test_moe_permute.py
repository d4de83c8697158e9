"""Tokens permuted to the experts' order and back against PyTorch, with gradients by autograd."""

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


@pytest.mark.parametrize("cut", (0, 7, -2, 99))
@pytest.mark.parametrize("k", (1, 3))
def test_permute(cut, k):
    for dtype, layout in every():
        tokens, index = some((4, 5), dtype, layout), laid(RNG.integers(0, 5, (4, k)), layout)
        if k == 1 and layout == "packed":
            index = index[:, 0]
        n = 4 * k
        rows = min(cut, n) if cut > 0 else n + cut
        order = np.argsort(index.ravel(), kind="stable")
        out = blank((rows, 5), dtype, layout)
        at = run("MoeTokenPermute", tokens, index, cut, False, out, blank(n, I32, layout))
        assert (at[order] == np.arange(n)).all()
        assert (out == tokens[order // k][:rows]).all()
        x = wide(tokens, True)
        g = some((rows, 5), dtype, layout)
        x[order // k][:rows].backward(wide(g))
        near(run("MoeTokenPermuteGrad", g, at, k, False, blank((4, 5), dtype, layout)), x.grad, 2)


@pytest.mark.parametrize("cut", (0, 3))
def test_unpermute(cut):
    for dtype, layout in every():
        rows = some((12 - cut, 5), dtype, layout)
        at, probs = laid(RNG.permutation(12).astype(I32), layout), some((4, 3), dtype, layout)
        g = some((4, 5), dtype, layout)
        for p in (probs, None):
            x, w = wide(rows, True), wide(probs, True)
            all_rows = torch.cat([x, torch.zeros(cut, 5, dtype=x.dtype)])
            picked = all_rows[torch.tensor(at.astype(np.int64))].reshape(4, 3, 5)
            want = (picked * (w[..., None] if p is not None else 1)).sum(1)
            near(
                run("MoeTokenUnpermute", rows, at, p, False, None, blank((4, 5), dtype, layout)),
                want,
                4,
            )
            want.backward(wide(g))
            dx, dw = blank(rows.shape, dtype, layout), blank((4, 3), dtype, layout)
            run(
                "MoeTokenUnpermuteGrad",
                rows,
                g,
                at,
                p,
                False,
                None,
                dx,
                dw if p is not None else None,
            )
            near(dx, x.grad, 2)
            if p is not None:
                near(dw, w.grad, 4)


def test_permute_edges():
    x, i, out, at = normal(4, 5), np.zeros((4, 2), I32), np.empty((8, 5)), np.empty(8, I32)
    run("MoeTokenPermute", x[:0], i[:0], 0, False, out[:0], at[:0])
    run("MoeTokenUnpermute", x[:0], at[:0], None, False, None, out[:0])
    refused("MoeTokenPermute", x, i[:3], 0, False, out, at)
    refused("MoeTokenPermute", x, i, 0, True, out, at)
    refused("MoeTokenPermute", x, i, 0, False, out[:7], at)
    refused("MoeTokenPermute", x, i.astype(np.float32), 0, False, out, at)
    refused("MoeTokenUnpermute", out, at, normal(4, 3), False, None, x)
    refused("MoeTokenUnpermute", out, at[:7], None, False, None, x)
    refused("MoeTokenPermuteGrad", out, at, 3, False, x)
    refused("MoeTokenUnpermuteGrad", out, x, at, normal(4, 2), False, None, out[:7], normal(4, 2))
    with pytest.raises(AclError, match="sortedIndices has 8"):
        run("MoeTokenUnpermute", out, at * 0 + 8, None, False, None, x)


def mapped(tokens, experts, k):
    chosen = np.zeros((tokens, experts), bool)
    np.put_along_axis(chosen, RNG.random((tokens, experts)).argsort(1)[:, :k], True, 1)
    return chosen


@pytest.mark.parametrize("kind", (bool, np.int8))
def test_permute_by_a_map(kind):
    for dtype, layout in every():
        tokens, probs = some((6, 5), dtype, layout), some((6, 4), dtype, layout)
        chosen = mapped(6, 4, 2)
        expert, token = np.nonzero(chosen.T)
        out, p, at = blank((12, 5), dtype, layout), blank(12, dtype, layout), blank(12, I32, layout)
        run(
            "MoeTokenPermuteWithRoutingMap",
            tokens,
            laid(chosen.astype(kind), layout),
            probs,
            13,
            False,
            out,
            p,
            at,
        )
        assert (out == tokens[token]).all() and (p == probs[token, expert]).all()
        assert (at == np.argsort(token, kind="stable")).all()
        run(
            "MoeTokenPermuteWithRoutingMap",
            tokens,
            laid(chosen.astype(kind), layout),
            None,
            12,
            False,
            out,
            None,
            at,
        )
        x, w = wide(tokens, True), wide(probs, True)
        g, gp = some((12, 5), dtype, layout), some((12,), dtype, layout)
        (x[token] * wide(g)).sum().add((w[token, expert] * wide(gp)).sum()).backward()
        dx, dp = blank((6, 5), dtype, layout), blank((6, 4), dtype, layout)
        run(
            "MoeTokenPermuteWithRoutingMapGrad",
            g,
            gp,
            at,
            laid(chosen.astype(kind), layout),
            4,
            6,
            False,
            dx,
            dp,
        )
        near(dx, x.grad, 2)
        near(dp, w.grad)


def test_permute_by_a_map_with_capacity():
    for dtype, layout in every():
        tokens, probs = some((6, 5), dtype, layout), some((6, 4), dtype, layout)
        chosen = mapped(6, 4, 2)
        token = np.argsort(~chosen.T, axis=1, kind="stable")[:, :3].ravel()
        expert = np.repeat(np.arange(4), 3)
        out, p, at = blank((12, 5), dtype, layout), blank(12, dtype, layout), blank(12, I32, layout)
        run(
            "MoeTokenPermuteWithRoutingMap",
            tokens,
            laid(chosen, layout),
            probs,
            12,
            True,
            out,
            p,
            at,
        )
        assert (
            (out == tokens[token]).all()
            and (p == probs[token, expert]).all()
            and (at == token).all()
        )
        x, w = wide(tokens, True), wide(probs, True)
        g, gp = some((12, 5), dtype, layout), some((12,), dtype, layout)
        (x[token] * wide(g)).sum().add((w[token, expert] * wide(gp)).sum()).backward()
        dx, dp = blank((6, 5), dtype, layout), blank((6, 4), dtype, layout)
        run("MoeTokenPermuteWithRoutingMapGrad", g, gp, at, None, 4, 6, True, dx, dp)
        near(dx, x.grad, 4)
        near(dp, w.grad)
        run("MoeTokenPermuteWithRoutingMapGrad", g, None, at, None, 4, 6, True, dx, None)
        near(dx, x.grad, 4)


def sum_back(rows, at, probs, place, tokens):
    """Row at[i] belongs to the token and expert at place[i]; their sums in float64."""
    token, expert = place
    taken = rows[torch.tensor(at)]
    if probs is not None:
        taken = taken * probs[torch.tensor(token), torch.tensor(expert)][:, None]
    out = torch.zeros(tokens, rows.shape[1], dtype=rows.dtype)
    return out.index_add(0, torch.tensor(token), taken)


@pytest.mark.parametrize("kind", (bool, np.int8))
@pytest.mark.parametrize("padded", (False, True))
def test_unpermute_by_a_map(padded, kind):
    name = "MoeTokenUnpermuteWithRoutingMap"
    for dtype, layout in every():
        chosen = mapped(6, 4, 2)
        rows, probs = some((12, 5), dtype, layout), some((6, 4), dtype, layout)
        if padded:
            token = np.argsort(~chosen.T, axis=1, kind="stable")[:, :3].ravel()
            expert, at = np.repeat(np.arange(4), 3), np.argsort(token, kind="stable")
            given = token
        else:
            expert, token = np.nonzero(chosen.T)
            given = at = np.argsort(token, kind="stable")
        place = token[at], expert[at]
        by, given = laid(chosen.astype(kind), layout), laid(given.astype(I32), layout)
        out, of = blank((6, 5), dtype, layout), blank(12, dtype, layout)
        index, ids = blank(12, I32, layout), blank(12, I32, layout)
        g = some((6, 5), dtype, layout)
        for p in (probs, None):
            x, w = wide(rows, True), wide(probs, True)
            want = sum_back(x, at, w if p is not None else None, place, 6)
            to = of if p is not None else None
            run(name, rows, given, by, p, padded, [6, 5], out, index, ids, to)
            near(out, want, 4)
            assert (index == at).all() and (ids == token[at]).all()
            if p is not None:
                assert (of == probs[token, expert]).all()
            want.backward(wide(g))
            dx, dw = blank((12, 5), dtype, layout), blank((6, 4), dtype, layout)
            to = dw if p is not None else None
            used = ids if padded else index
            run(name + "Grad", g, index, used, by, rows, p, padded, [6, 5], dx, to)
            near(dx, x.grad, 2)
            if p is not None:
                near(dw, w.grad, 4)
        run(name, rows, given, None, None, padded, [6, 5], out, index, ids, None)
        near(out, want, 4)


def test_unpermute_by_a_map_mixed():
    """Rows of bfloat16 and probs of float32; the sums round once."""
    rows, probs = normal(12, 5).astype(BF16), normal(6, 4).astype(np.float32)
    chosen = mapped(6, 4, 2)
    expert, token = np.nonzero(chosen.T)
    at = np.argsort(token, kind="stable")
    out, ids, of = np.empty((6, 5), BF16), np.empty((2, 12), I32), np.empty(12, np.float32)
    name = "MoeTokenUnpermuteWithRoutingMap"
    run(name, rows, at.astype(I32), chosen, probs, False, [6, 5], out, ids[0], ids[1], of)
    near(out, sum_back(wide(rows), at, wide(probs), (token[at], expert[at]), 6), 4)


def test_unpermute_by_a_map_edges():
    name = "MoeTokenUnpermuteWithRoutingMap"
    chosen, x, out = mapped(4, 3, 2), normal(8, 5), np.empty((4, 5))
    at, probs = np.arange(8).astype(I32), normal(4, 3)
    index, ids = np.empty(8, I32), np.empty(8, I32)
    run(name, x[:0], at[:0], None, None, False, [0, 5], out[:0], index[:0], ids[:0], None)
    run(name, x[:0], at[:0], None, None, False, [4, 5], out, index[:0], ids[:0], None)
    assert (out == 0).all()
    run(name, x, at, chosen, probs, False, [4, 5], out, index, ids, None)
    refused(name, x[:7], at[:7], None, None, False, [4, 5], out, index[:7], ids[:7], None)
    refused(name, x, at, chosen, probs, True, [4, 5], out, index, ids, None)
    refused(name, x, at, chosen[:3], probs, False, [4, 5], out, index, ids, None)
    refused(name, x, at, chosen, probs[:3], False, [4, 5], out, index, ids, None)
    refused(name, x, at, None, None, False, [4, 5], out[:, :4], index, ids, None)
    with pytest.raises(AclError, match="161001"):
        run(name, x, at, None, probs, False, [4, 5], out, index, ids, None)
    with pytest.raises(AclError, match="sortedIndices has 8"):
        run(name, x, at + 1, None, None, False, [4, 5], out, index, ids, None)
    with pytest.raises(AclError, match="12 entries"):
        run(name, x, at, chosen | True, probs, False, [4, 5], out, index, ids, None)
    g, dx, dw = normal(4, 5), np.empty((8, 5)), np.empty((4, 3))
    with pytest.raises(AclError, match="161001"):
        run(name + "Grad", g, at, at // 2, chosen, None, probs, False, [4, 5], dx, dw)
    with pytest.raises(AclError, match="permuteTokenId has 4"):
        run(name + "Grad", g, at, at, None, None, None, True, [4, 5], dx, None)
    run(name + "Grad", g, at, at // 2, chosen, None, probs, False, [4, 5], dx, None)


def test_gradients_of_rows_named_twice():
    """A row gets the last of its gradients, whichever thread comes to it."""
    tokens = 100000
    g, at = normal(tokens, 2).astype(np.float32), np.zeros(tokens, I32)
    at[tokens // 2 :] = np.arange(tokens // 2)
    want = np.zeros_like(g)
    want[: tokens // 2] = g[tokens // 2 :]
    probs, chosen = np.ones((tokens, 1), np.float32), np.ones((tokens, 1), bool)
    named = np.zeros((tokens, 1), np.float32)
    named[: tokens // 2, 0] = (g[tokens // 2 :] * g[: tokens // 2]).sum(1)
    for _ in range(3):
        dx, dw = np.full_like(g, 9), np.full_like(probs, 9)
        run("MoeTokenUnpermuteGrad", g, g, at, None, False, None, dx, None)
        assert (dx == want).all()
        dx[:] = 9
        run(
            "MoeTokenUnpermuteWithRoutingMapGrad",
            g,
            at,
            at,
            chosen,
            g,
            probs,
            False,
            [tokens, 2],
            dx,
            dw,
        )
        assert (dx == want).all()
        near(dw, named, 4)


def test_permute_by_a_map_edges():
    x, chosen, out, at = normal(4, 5), mapped(4, 3, 1), np.empty((4, 5)), np.empty(4, I32)
    name = "MoeTokenPermuteWithRoutingMap"
    run(name, x[:0], chosen[:0], None, 0, False, out[:0], None, at[:0])
    refused(name, x, chosen[:3], None, 4, False, out, None, at)
    refused(name, x, chosen, None, 8, False, out, None, at)
    refused(name, x, chosen.astype(np.float32), None, 4, False, out, None, at)
    with pytest.raises(AclError, match="161001"):
        run(name, x, chosen, normal(4, 3), 4, False, out, None, at)
    with pytest.raises(AclError, match="12 entries"):
        run(name, x, chosen | True, None, 4, False, out, None, at)
    refused(name + "Grad", out, None, at, chosen, 2, 4, False, x.copy(), None)
    with pytest.raises(AclError, match="161001"):
        run(name + "Grad", out, None, at, None, 3, 4, False, x.copy(), None)
    with pytest.raises(AclError, match="sortedIndices has 9"):
        run(name + "Grad", out[:3], None, at[:3] * 0 + 9, None, 3, 4, True, x.copy(), None)
