"""Rotary position embeddings and their gradient against PyTorch."""

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import RNG, blank, every, laid, near, normal, wide

MODES = ("half", "interleave", "quarter", "interleave-half")


def made(shape, dtype, layout):
    return laid(normal(*shape).astype(dtype), layout)


def halves(x):
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)


def turned(x, cos, sin, mode):
    if mode == "interleave-half":
        x = torch.cat((x[..., ::2], x[..., 1::2]), -1)
    if mode == "interleave":
        rotated = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    elif mode == "quarter":
        rotated = torch.cat([halves(part) for part in x.chunk(2, -1)], -1)
    else:
        rotated = halves(x)
    return x * cos + rotated * sin


@pytest.mark.parametrize("mode", range(4))
@pytest.mark.parametrize("table", ((2, 3, 4, 8), (1, 1, 4, 8), (2, 1, 4, 8), (4, 8)))
def test_embedding(mode, table):
    shape = (2, 3, 4, 8)
    for dtype, layout in every():
        x, cos, sin, dy = (made(s, dtype, layout) for s in (shape, table, table, shape))
        leaves = [wide(a, True) for a in (x, cos, sin)]
        want = turned(*leaves, MODES[mode])
        want.backward(wide(dy))
        near(
            run("RotaryPositionEmbedding", x, cos, sin, mode, blank(shape, dtype, layout)), want, 4
        )
        outs = [blank(s, dtype, layout) for s in (shape, table, table)]
        run("RotaryPositionEmbeddingGrad", dy, cos, sin, x, mode, *outs)
        for got, leaf in zip(outs, leaves, strict=True):
            near(got, leaf.grad, 8)
        dx = blank(shape, dtype, layout)
        run("RotaryPositionEmbeddingGrad", dy, cos, sin, None, mode, dx, None, None)
        assert (dx == outs[0]).all()
        run("RotaryPositionEmbedding", x, cos, sin, mode, x)  # in place
        near(x, want, 4)
        run("RotaryPositionEmbeddingGrad", dy, cos, sin, None, mode, dy, None, None)
        assert (dy == dx).all()


def test_interleave_rope():
    for dtype, layout in every():
        x, cos, sin = (
            made(s, dtype, layout) for s in ((2, 3, 4, 64), (2, 1, 4, 64), (2, 1, 4, 64))
        )
        out = run("InterleaveRope", x, cos, sin, blank(x.shape, dtype, layout))
        near(out, turned(wide(x), wide(cos), wide(sin), "interleave-half"), 4)


@pytest.mark.parametrize(("layout_number", "shape", "other", "table"), (
    (1, (2, 3, 4, 8), (2, 3, 1, 8), (2, 3, 1, 8)), (2, (3, 2, 4, 8), (3, 2, 2, 8), (3, 1, 1, 8)),
    (3, (2, 4, 3, 8), (2, 1, 3, 8), (1, 1, 3, 8)), (4, (6, 4, 8), (6, 2, 8), (6, 1, 8))))  # fmt: skip
def test_apply(layout_number, shape, other, table):
    for dtype, layout in every():
        for mode in MODES[:3]:
            q, k, cos, sin = (made(s, dtype, layout) for s in (shape, other, table, table))
            want = [turned(wide(a), wide(cos), wide(sin), mode) for a in (q, k)]
            if mode == "half":
                a, b = q.copy(), k.copy()
                run("ApplyRotaryPosEmb", a, b, cos, sin, layout_number)
                near(a, want[0], 4)
                near(b, want[1], 4)
            run("ApplyRotaryPosEmbV2", q, k, cos, sin, layout_number, mode)
            near(q, want[0], 4)
            near(k, want[1], 4)


def looked_up(cache, positions, sections, in_turn):
    cos, sin = cache.chunk(2, -1)
    if not sections:
        return cos[positions], sin[positions]
    result = []
    for table in (cos[positions], sin[positions]):  # (sections, tokens, columns)
        if in_turn:
            row = table[0].clone()
            for s in (1, 2):
                row[..., s : 3 * sections[s] : 3] = table[s][..., s : 3 * sections[s] : 3]
            result.append(row)
        else:
            parts = table.split(sections, -1)
            result.append(torch.cat([p[i] for i, p in enumerate(parts)], -1))
    return result


@pytest.mark.parametrize("neox", (True, False))
@pytest.mark.parametrize(("sections", "in_turn"), (([], False), ([0, 0, 0], False), ([4, 2, 2], False),
                                                    ([4, 2, 2], True), ([2, 2, 2, 2], False)))  # fmt: skip
def test_cache(neox, sections, in_turn):
    tokens, head, rotary = 7, 20, 16
    real = sections if sum(sections) else []
    for dtype, layout in every():
        q, k, cache = (
            made(s, dtype, layout) for s in ((tokens, 3 * head), (tokens, head), (11, rotary))
        )
        positions = RNG.integers(0, 11, (len(real), tokens) if real else tokens)
        cos, sin = looked_up(wide(cache), torch.tensor(positions), real, in_turn)
        table = [torch.cat((t, t), -1) if neox else t.repeat_interleave(2, -1) for t in (cos, sin)]
        outs = [blank(a.shape, dtype, layout) for a in (q, k)]
        for name in ("RopeWithSinCosCache", "RopeWithSinCosCacheV2"):
            if in_turn and not name.endswith("V2"):
                continue
            style = (neox, int(in_turn)) if name.endswith("V2") else (neox,)
            run(name, positions.astype(np.int32), q, k, cache, sections, head, *style, *outs)
            for x, got in zip((q, k), outs, strict=True):
                a = wide(x).reshape(tokens, -1, head)
                want = turned(
                    a[..., :rotary],
                    table[0][:, None],
                    table[1][:, None],
                    "half" if neox else "interleave",
                )
                near(got, torch.cat((want, a[..., rotary:]), -1).reshape(x.shape), 4)


def test_edges():
    e, t = np.empty((0, 3, 8), np.float32), normal(8, dtype=np.float32)
    run("RotaryPositionEmbedding", e, t, t, 0, e.copy())
    dcos, dsin = np.full(8, 7, np.float32), np.full(8, 7, np.float32)
    run("RotaryPositionEmbeddingGrad", e, t, t, e, 0, e.copy(), dcos, dsin)
    assert not dcos.any()
    assert not dsin.any()
    x, y, t = normal(2, 3, 8), np.empty((2, 3, 8)), normal(8)
    q, cache, at = normal(5, 16), normal(4, 8), np.arange(5) % 4
    o = np.empty((5, 16))
    for name, args in (("RotaryPositionEmbedding", (x, t[:7], t, 0, y)), ("RotaryPositionEmbedding", (x, t, t, 4, y)),
                       ("RotaryPositionEmbedding", (x, t, t, 0, y[:1])), ("InterleaveRope", (x[..., :7], t[:7], t[:7], y[..., :7])),
                       ("RotaryPositionEmbedding", (x[..., :6], t[:6], t[:6], 2, y[..., :6])),
                       ("RotaryPositionEmbeddingGrad", (x, t, t, x, 0, y, t[:4].copy(), t.copy())),
                       ("ApplyRotaryPosEmb", (x, x, t, t, 1)), ("ApplyRotaryPosEmb", (x, x, t, t, 5)),
                       ("ApplyRotaryPosEmbV2", (x, x, t, t, 4, "third")),
                       ("RopeWithSinCosCache", (at, q, q, cache, [], 7, True, o, o.copy())),
                       ("RopeWithSinCosCache", (at[:3], q, q, cache, [], 8, True, o, o.copy())),
                       ("RopeWithSinCosCache", (at, q, q, cache, [1, 1, 1], 8, True, o, o.copy())),
                       ("RopeWithSinCosCacheV2", (at, q, q, cache, [], 8, True, 2, o, o.copy())),
                       ("RopeWithSinCosCache", (at * 1.0, q, q, cache, [], 8, True, o, o.copy()))):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run(name, *args)
    with pytest.raises(AclError, match="161001"):
        run("RotaryPositionEmbeddingGrad", x, t, t, x, 0, y, None, None)
    with pytest.raises(AclError, match="outside the cache"):
        run("RopeWithSinCosCache", at + 1, q, q, cache, [], 8, True, o, o.copy())
