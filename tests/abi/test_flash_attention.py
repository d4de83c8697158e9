"""Attention and its gradient against PyTorch: layouts, masks, biases, dropout, sequences of several lengths."""

import numpy as np
import pytest
import torch
from aclnn import DATA, AclError, lib, run
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import RNG, blank, every, laid, normal, wide

ORDERS = {"BNSD": (0, 1, 2, 3), "BSND": (0, 2, 1, 3), "BSH": (0, 2, 1, 3), "SBH": (2, 0, 1, 3)}


def called(name, *wanted, **given):
    """Calls the operator with arguments by name; the others are NULL, 0, or what means nothing."""
    usual = {"keepProbOptional": 1.0, "preTokensOptional": 2**31 - 1, "nextTokensOptional": 2**31 - 1,
             "softmaxLayoutOptional": "", "scaleValueOptional": 1.0, "pseTypeOptional": 1}  # fmt: skip
    args = []
    for text in DATA["aclnn" + name]["params"]:
        kind, word = text.replace("const ", "").rsplit(" ", 1)
        args.append(given.get(word, usual.get(word, None if kind.endswith("*") else 0)))
    run(name, *args)
    return [given[w] for w in wanted]


def put(x, order, dtype, layout="packed"):
    """(batch, heads, rows, columns) in the order of a layout."""
    x = np.asarray(x).transpose(ORDERS[order])
    return laid(
        (x.reshape(*x.shape[:2], -1) if order in ("BSH", "SBH") else x).astype(dtype), layout
    )


def got(x, order, heads):
    """The other way round, in float64."""
    x = np.asarray(x, np.float64)
    if order in ("BSH", "SBH"):
        x = x.reshape(*x.shape[:2], heads, -1)
    return np.ascontiguousarray(x.transpose(np.argsort(ORDERS[order])))


def close(a, want, dtype, scale=1.0):
    tol = {"float64": 1e-12, "float32": 2e-5, "float16": 3e-3, "bfloat16": 2.5e-2}[
        np.dtype(dtype).name
    ] * scale
    np.testing.assert_allclose(a, want.detach().numpy(), rtol=tol, atol=tol)


def attention(q, k, v, scale, hidden=None, pse=None, pse_first=True, keep=None, sink=None):
    """By the formula, in float64; (batch, heads, rows, columns)."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    s = q @ k.transpose(-1, -2)
    if pse is not None and pse_first:
        s = s + pse
    s = s * scale
    if pse is not None and not pse_first:
        s = s + pse
    if hidden is not None:
        s = s.masked_fill(hidden, -torch.inf)
    if sink is not None:
        s = torch.cat((s, sink.reshape(1, -1, 1, 1).expand(*s.shape[:3], 1)), -1)
    most, p = s.max(-1, True)[0], s.softmax(-1)
    total = (s - most).exp().sum(-1, True)
    if sink is not None:
        p = p[..., :-1]
    if keep is not None:
        p = p * keep
    return p.nan_to_num(0) @ v, most, total


def bits(keep):
    """Dropout's mask as DropoutGenMask has it, padded to 128 bits."""
    packed = np.packbits(keep.ravel(), bitorder="little")
    return np.pad(packed, (0, -len(packed) % 16))


def values(batch, heads, kv_heads, rows, keys, d, dv):
    return (normal(batch, heads, rows, d), normal(batch, kv_heads, keys, d), normal(batch, kv_heads, keys, dv),
            normal(batch, heads, rows, dv))  # fmt: skip


def both(order, dtype, layout, sizes, *, name="", scale=0.3, hidden=None, pse=None, keep=None, sink=None, ropes=None,
         **more):  # fmt: skip
    """Forward and gradient of one call against PyTorch."""
    batch, heads, kv_heads, rows, keys, d, dv = sizes
    numbers = [put(x, order, dtype, layout) for x in values(*sizes)]
    q, k, v, dy = (torch.tensor(got(x, order, n), requires_grad=True)
                   for x, n in zip(numbers, (heads, kv_heads, kv_heads, heads), strict=True))  # fmt: skip
    extra = {}
    bias, drop, sinks = None, None, None
    if pse is not None:
        extra["realShiftOptional"] = laid(pse.astype(dtype), layout)
        bias = wide(extra["realShiftOptional"], True)
    if keep is not None:
        stays = RNG.random((batch, heads, rows, keys)) < keep
        extra |= {"dropMaskOptional": bits(stays), "keepProbOptional": keep}
        drop = torch.tensor(stays / keep)
    if sink is not None:
        extra["sinkOptional"] = sink
        sinks = wide(sink, True)
    a, b = q, k
    if ropes:
        parts = [
            put(x, order, dtype, layout)
            for x in values(batch, heads, kv_heads, rows, keys, ropes, 1)[:2]
        ]
        extra |= {"queryRopeOptional": parts[0], "keyRopeOptional": parts[1]}
        parts = [
            torch.tensor(got(x, order, n), requires_grad=True)
            for x, n in zip(parts, (heads, kv_heads), strict=True)
        ]
        a, b = torch.cat((q, parts[0]), -1), torch.cat((k, parts[1]), -1)
    want, most, total = attention(
        a, b, v, scale, hidden, bias, more.get("pseTypeOptional", 1) == 1, drop, sinks
    )
    shape = put(want.detach(), order, dtype).shape
    kind = np.float64 if dtype == np.float64 else np.float32
    statistics = [blank((batch, heads, rows, 8), kind, layout) for _ in range(2)]
    inputs = dict(zip(("query", "key", "value"), numbers[:3], strict=True)) | extra | more
    inputs |= {"headNum": heads, "inputLayout": order, "scaleValueOptional": scale}
    out = blank(shape, dtype, layout)
    called("FlashAttentionScore" + name, softmaxMaxOut=statistics[0], softmaxSumOut=statistics[1], attentionOutOut=out,
           **inputs)  # fmt: skip
    close(got(out, order, heads), want, dtype)
    seen = torch.isfinite(most).numpy()[..., 0]
    for x, y in zip(statistics, (most, total), strict=True):
        close(x[seen], y.expand(-1, -1, -1, 8)[torch.tensor(seen)], dtype, 4)
        assert (x == x[..., :1]).all()
    assert (statistics[1][~seen] == 0).all()
    leaves = {"dqOut": q, "dkOut": k, "dvOut": v, "dpseOut": bias, "dsinkOut": sinks}
    if ropes:
        leaves |= {"dqRopeOut": parts[0], "dkRopeOut": parts[1]}
    leaves = {n: x for n, x in leaves.items() if x is not None}
    want.backward(dy)
    near_by = put(want.detach(), order, dtype, layout)
    outs = {}
    for n, x in leaves.items():
        rows_of = put(x.detach(), order, dtype).shape if n[:2] in ("dq", "dk", "dv") else x.shape
        outs[n] = blank(rows_of, np.float32 if n == "dsinkOut" else dtype, layout)
    called("FlashAttentionScoreGrad" + name, dy=numbers[3], softmaxMaxOptional=statistics[0],
           softmaxSumOptional=statistics[1], attentionInOptional=near_by, **inputs, **outs)  # fmt: skip
    for n, x in leaves.items():
        n_heads = heads if n.startswith("dq") else kv_heads
        mine = (
            got(outs[n], order, n_heads)
            if n[:2] in ("dq", "dk", "dv")
            else np.asarray(outs[n], np.float64)
        )
        close(mine, x.grad, dtype if n != "dsinkOut" or dtype != np.float64 else np.float32, 8)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kv_heads", (4, 2, 1))
def test_layouts(order, kv_heads):
    for dtype, layout in every():
        for name in ("", "V2", "V3", "V4"):
            both(order, dtype, layout, (2, 4, kv_heads, 5, 7, 8, 8), name=name)


def test_blocks():
    """More queries and keys than a block has, values of another width."""
    for dtype in (np.float32, np.float64):
        both("BNSD", dtype, "packed", (1, 2, 1, 300, 1100, 16, 24))
        off = 1100 - 300
        both("BSH", dtype, "packed", (1, 2, 2, 300, 1100, 16, 16), hidden=band(300, 1100, -2000, off), sparseModeOptional=3,
             attenMaskOptional=np.ones((2048, 2048), bool))  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    extents=st.tuples(*(st.integers(1, 4),) * 3),
    rows=st.integers(1, 9),
    keys=st.sampled_from((1, 2, 7, 31, 511, 512, 513, 1100)),
    widths=st.tuples(*(st.sampled_from((1, 3, 8, 40, 64, 130)),) * 2),
    kind=st.sampled_from(list(every())),
    more=st.sets(st.sampled_from(("mask", "pse", "keep", "sink", "ropes"))),
    seed=st.integers(0, 2**32 - 1),
)
def test_few_queries(extents, rows, keys, widths, kind, more, seed):
    """Heads that share keys as rows of one block; few rows read keys and values where they lie."""
    batch, kv_heads, group = extents
    heads, extra = kv_heads * group, {"name": "V4"}
    others = RNG.bit_generator.state  # other tests' numbers do not depend on these examples
    RNG.bit_generator.state = np.random.default_rng(seed).bit_generator.state
    if "mask" in more:
        mask = RNG.random((batch, heads, rows, keys)) < 0.3
        extra |= {"hidden": torch.tensor(mask), "attenMaskOptional": mask}
    if "pse" in more:
        extra["pse"] = normal(batch, heads, rows, keys)
    if "sink" in more:
        extra["sink"] = normal(heads, dtype=np.float32)
    extra |= {"keep": 0.7} if "keep" in more else {}
    extra |= {"ropes": 4} if "ropes" in more else {}
    try:
        both("BNSD", *kind, (batch, heads, kv_heads, rows, keys, *widths), **extra)
    finally:
        RNG.bit_generator.state = others


def band(rows, keys, low, high, prefix=0):
    far = torch.arange(keys)[None] - torch.arange(rows)[:, None]
    return ((far < low) | (far > high)) & (torch.arange(keys)[None] >= prefix)


@pytest.mark.parametrize(
    "sizes", ((2, 2, 1, 6, 6, 8, 8), (1, 3, 3, 5, 9, 4, 6), (2, 2, 2, 9, 5, 4, 4))
)
def test_masks(sizes):
    batch, heads, _, rows, keys = sizes[:5]
    compressed, off = np.triu(np.ones((2048, 2048), bool), 1), keys - rows
    for dtype, layout in every():
        for shape in (
            (rows, keys),
            (batch, 1, rows, keys),
            (1, 1, rows, keys),
            (batch, heads, rows, keys),
        ):
            mask = RNG.random(shape) < 0.4
            for kind, mode in ((np.bool_, 0), (np.uint8, 1)):
                both("BNSD", dtype, layout, sizes, hidden=torch.tensor(mask), sparseModeOptional=mode,
                     attenMaskOptional=laid(mask.astype(kind), layout))  # fmt: skip
        for mode, low, high, more in ((2, -99, 0, {}), (3, -99, off, {}),
                                      (4, off - 2, off + 1, {"preTokensOptional": 2, "nextTokensOptional": 1}),
                                      (4, off - 3, off - 1, {"preTokensOptional": 3, "nextTokensOptional": -1})):  # fmt: skip
            both("BSND", dtype, layout, sizes, hidden=band(rows, keys, low, high), attenMaskOptional=compressed,
                 sparseModeOptional=mode, **more)  # fmt: skip
        mask = band(rows, keys, -2, 1)
        both("SBH", dtype, layout, sizes, hidden=mask, attenMaskOptional=np.zeros((rows, keys), bool), preTokensOptional=2,
             nextTokensOptional=1)  # fmt: skip
        both("SBH", dtype, layout, sizes, sparseModeOptional=2)  # no mask: everything is seen
        prefix = [3, 1][:batch]
        hidden = torch.stack([band(rows, keys, -99, off, n) for n in prefix])[:, None]
        both("BNSD", dtype, layout, sizes, hidden=hidden, sparseModeOptional=6, prefixOptional=prefix,
             attenMaskOptional=compressed)  # fmt: skip
        both("BNSD", dtype, layout, sizes, hidden=hidden, sparseModeOptional=5, prefixOptional=prefix,
             attenMaskOptional=hidden.numpy())  # fmt: skip


@pytest.mark.parametrize("form", ((2, 4, 5, 7), (1, 4, 5, 7), (2, 4, 1, 7), (1, 1, 5, 7)))
def test_bias(form):
    for dtype, layout in every():
        pse = normal(*form)
        both("BNSD", dtype, layout, (2, 4, 2, 5, 7, 8, 8), pse=pse)
        for kind in (0, 1):
            both(
                "BSH",
                dtype,
                layout,
                (2, 4, 2, 5, 7, 8, 8),
                pse=pse,
                pseTypeOptional=kind,
                name="V2",
            )


@pytest.mark.parametrize("kind", (2, 3))
def test_distances(kind):
    batch, heads, rows, keys, d = 2, 3, 5, 7, 8
    far = (np.arange(rows)[:, None] + 2 - np.arange(keys)[None] - 1).__abs__().astype(float)
    far = np.sqrt(far) if kind == 3 else far
    for shape in ((heads,), (batch, heads)):
        slopes = normal(*shape, low=0.1, high=1, dtype=np.float32)
        q, k, v, _ = (x.astype(np.float32) for x in values(batch, heads, heads, rows, keys, d, d))
        pse = -torch.tensor(slopes.astype(float).reshape(-1, heads, 1, 1) * far)
        want, _, _ = attention(wide(q), wide(k), wide(v), 0.5, pse=pse, pse_first=False)
        out, most, total = (
            blank(q.shape, np.float32),
            *(blank((batch, heads, rows, 8), np.float32) for _ in range(2)),
        )
        called("FlashAttentionScoreV2", query=q, key=k, value=v, realShiftOptional=slopes, qStartIdxOptional=[2],
               kvStartIdxOptional=[1], scaleValueOptional=0.5, headNum=heads, inputLayout="BNSD", pseTypeOptional=kind,
               softmaxMaxOut=most, softmaxSumOut=total, attentionOutOut=out)  # fmt: skip
        close(out, want, np.float32)


def test_dropout_sink_rope():
    sizes = (2, 4, 2, 5, 7, 8, 6)
    for dtype, layout in every():
        both("BNSD", dtype, layout, sizes, keep=0.7)
        both("BSH", dtype, layout, sizes, keep=0.5, sink=normal(4, dtype=np.float32), name="V3")
        both("BSND", dtype, layout, sizes, ropes=4, sink=normal(4, dtype=np.float32), name="V4")
        both("BSND", dtype, layout, sizes, ropes=4, keep=0.6, name="V4")


def sequences(total, ends):
    starts = [0, *ends[:-1]]
    return [slice(a, b) for a, b in zip(starts, ends, strict=True)]


@pytest.mark.parametrize("mode", (None, 0, 2, 3, 4, 6, 7, 8))
def test_lengths(mode):
    ends_q, ends_k, heads, kv_heads, d, scale = [3, 3, 8, 12], [4, 4, 11, 13], 4, 2, 8, 0.4
    versions = {"": "", "V2": "V2", "V3": "V3", "V4": "V4", "V5": "V5"}
    for dtype, layout in every():
        q, dy = (laid(normal(12, heads, d).astype(dtype), layout) for _ in range(2))
        k, v = (laid(normal(13, kv_heads, d).astype(dtype), layout) for _ in range(2))
        given = {"query": q, "key": k, "value": v, "headNum": heads, "inputLayout": "TND", "scaleValueOptional": scale,
                 "actualSeqQLenOptional": ends_q, "actualSeqKvLenOptional": ends_k}  # fmt: skip
        mask = RNG.random((5, 7)) < 0.3
        if mode is not None:
            given |= {
                "sparseModeOptional": mode,
                "attenMaskOptional": mask if mode == 0 else np.ones((2048, 2048), np.uint8),
            }
        if mode in (4, 7, 8):
            given |= {"preTokensOptional": 1, "nextTokensOptional": 1}
        if mode == 6:
            given["prefixOptional"] = [2, 0, 3, 1]
        leaves = [wide(x, True) for x in (q, k, v)]
        parts, most, total = [], [], []
        for n, (a, b) in enumerate(zip(sequences(12, ends_q), sequences(13, ends_k), strict=True)):
            x = [leaf[s].transpose(0, 1)[None] for leaf, s in zip(leaves, (a, b, b), strict=True)]
            rows, keys = x[0].shape[2], x[1].shape[2]
            off, kind = keys - rows, mode
            if mode in (7, 8):
                kind = 4 if n == (3 if mode == 7 else 0) else 3 if mode == 7 else 2
            hidden = {0: torch.tensor(mask[:rows, :keys]), 2: band(rows, keys, -99, 0), 3: band(rows, keys, -99, off),
                      4: band(rows, keys, off - 1, off + 1),
                      6: band(rows, keys, -99, off, given.get("prefixOptional", [0] * 4)[n])}.get(kind)  # fmt: skip
            if rows == 0:
                continue
            results = attention(*x, scale, hidden)
            for to, r in zip((parts, most, total), results, strict=True):
                to.append(r[0].transpose(0, 1))
        want, most, total = (torch.cat(x) for x in (parts, most, total))
        want.backward(wide(dy))
        kind = np.float64 if dtype == np.float64 else np.float32
        statistics = [blank((12, heads, 8), kind) for _ in range(2)]
        for version, grad in versions.items():
            out = blank(q.shape, dtype, layout)
            called("FlashAttentionVarLenScore" + version, softmaxMaxOut=statistics[0], softmaxSumOut=statistics[1],
                   attentionOutOut=out, **given)  # fmt: skip
            close(out.astype(np.float64), want, dtype)
            outs = {
                n: blank(x.shape, dtype, layout)
                for n, x in (("dqOut", q), ("dkOut", k), ("dvOut", v))
            }
            exact = laid(want.detach().numpy().astype(dtype), layout)
            called("FlashAttentionUnpaddingScoreGrad" + grad, dy=dy, softmaxMaxOptional=statistics[0],
                   softmaxSumOptional=statistics[1], attentionInOptional=exact, **given, **outs)  # fmt: skip
            for x, leaf in zip(outs.values(), leaves, strict=True):
                close(x.astype(np.float64), leaf.grad, dtype, 8)


def test_edges():
    f32 = np.float32
    q, stats = normal(2, 3, 4, 8, dtype=f32), np.empty((2, 3, 4, 8), f32)

    def call(name="FlashAttentionScore", **more):
        usual = {"query": q, "key": q, "value": q, "headNum": 3, "inputLayout": "BNSD", "softmaxMaxOut": stats,
                 "softmaxSumOut": stats.copy(), "attentionOutOut": np.empty_like(q), "dy": q, "softmaxMaxOptional": stats,
                 "softmaxSumOptional": stats, "attentionInOptional": q, "dqOut": q.copy(), "dkOut": q.copy(),
                 "dvOut": q.copy()}  # fmt: skip
        names = [p.rsplit(" ", 1)[1] for p in DATA["aclnn" + name]["params"]]
        return called(name, **{n: x for n, x in (usual | more).items() if n in names})

    call()
    e = np.empty((0, 3, 4, 8), f32)
    call(
        query=e,
        key=e,
        value=e,
        attentionOutOut=e.copy(),
        softmaxMaxOut=e.copy(),
        softmaxSumOut=e.copy(),
    )
    no_keys, zeros = q[:, :, :0], np.full_like(q, 5)
    call(key=no_keys, value=no_keys, attentionOutOut=zeros)
    assert not zeros.any()
    call(query=q, attentionOutOut=q)  # over its own queries
    mask = np.ones((4, 4), bool)
    for more in ({"headNum": 2}, {"headNum": 0}, {"inputLayout": "NBSD"}, {"key": q[:, :2]}, {"value": q[:1]},
                 {"key": q[..., :4]}, {"sparseModeOptional": 9}, {"sparseModeOptional": 7}, {"attentionOutOut": q[:1].copy()},
                 {"attenMaskOptional": q}, {"attenMaskOptional": mask[:3]}, {"keepProbOptional": 0.0},
                 {"keepProbOptional": 0.5}, {"keepProbOptional": 0.5, "dropMaskOptional": np.zeros(3, np.uint8)},
                 {"paddingMaskOptional": q}, {"realShiftOptional": q}, {"softmaxMaxOut": stats[..., :4]},
                 {"query": q.astype(np.int32)}, {"sparseModeOptional": 6, "attenMaskOptional": mask},
                 {"inputLayout": "TND"}):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            call(**more)
    for name, more in (("FlashAttentionScoreV4", {"dScaleQOptional": q}), ("FlashAttentionScoreV4", {"queryRopeOptional": q}),
                       ("FlashAttentionScoreV3", {"sinkOptional": normal(2)}), ("FlashAttentionScoreV2", {"pseTypeOptional": 4, "realShiftOptional": q}),
                       ("FlashAttentionScoreGrad", {"dqOut": q[:1].copy()}), ("FlashAttentionScoreGrad", {"attentionInOptional": None}),
                       ("FlashAttentionScoreGrad", {"dy": q[:1]})):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            call(name, **more)
    t = normal(6, 3, 8, dtype=f32)
    s = np.empty((6, 3, 8), f32)
    for ends in ([2, 5], [4, 3, 6], [], [7]):
        with pytest.raises(AclError, match="161002"):
            call("FlashAttentionVarLenScore", query=t, key=t, value=t, attentionOutOut=t.copy(), softmaxMaxOut=s,
                 softmaxSumOut=s.copy(), inputLayout="TND", actualSeqQLenOptional=ends, actualSeqKvLenOptional=[2, 4, 6][: len(ends)])  # fmt: skip


def test_largest_workspace(monkeypatch):
    """GetMaxWorkspaceSize plans as GetWorkspaceSize does."""
    for name in ("FlashAttentionVarLenScoreV5", "FlashAttentionUnpaddingScoreGradV5"):
        phase = f"aclnn{name}GetWorkspaceSize"
        monkeypatch.setattr(lib, phase, getattr(lib, phase.replace("GetW", "GetMaxW")))
    test_lengths(None)
