"""Tokens permuted to the experts' order and back against PyTorch, with gradients by autograd."""

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import RNG, blank, every, laid, near, normal, wide

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
