"""Caches of keys and values, and top-k and top-p sampling, against NumPy and PyTorch."""

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import BF16, RNG, blank, every, laid, near, normal, wide

I32 = np.int32


def some(shape, dtype, layout):
    return laid(normal(*shape).astype(dtype), layout)


def refused(name, *args, match="161002"):
    with pytest.raises(AclError, match=match):
        run(name, *args)


def in_parts(cache, last):
    """(blocks, blockSize, heads, size) as (blocks, heads * size / last, blockSize, last)."""
    b, s = cache.shape[:2]
    return np.ascontiguousarray(cache.reshape(b, s, -1, last).transpose(0, 2, 1, 3))


@pytest.mark.parametrize("kind", (np.int8, np.float16, BF16, np.float32, np.float64))
def test_scatter_and_gather(kind):
    for layout in ("packed", "strided", "turned"):
        keys, values = (
            some((6, 2, 4), np.float64, layout) * 9,
            some((6, 2, 8), np.float64, layout) * 9,
        )
        keys, values = laid(keys.astype(kind), layout), laid(values.astype(kind), layout)
        slots = laid(np.array([5, -1, 11, 0, 3, 7], I32), layout)
        caches = [np.zeros((4, 3, 2, n), kind) for n in (4, 8)]
        want = [c.copy() for c in caches]
        for w, a in zip(want, (keys, values), strict=True):
            w.reshape(12, 2, -1)[slots[slots >= 0]] = a[slots >= 0]
        for mode, form in (("Norm", lambda a: a), ("PA_NZ", lambda a: in_parts(a, 4))):
            k, v = (laid(form(c), layout) for c in caches)
            run(
                "ScatterPaKvCache",
                keys,
                k,
                slots,
                values,
                v,
                None,
                None,
                None,
                mode,
                "None",
                [1, 1],
                [0, 0],
            )
            assert (k == form(want[0])).all() and (v == form(want[1])).all()
            k = laid(form(caches[0]), layout)
            run("ScatterPaCache", keys, k, slots, None, None, None, mode)
            assert (k == form(want[0])).all()
            full = [RNG.integers(-50, 50, c.shape).astype(kind) for c in caches]
            table, lengths = laid(np.array([[3, 0, 9], [1, 2, 0]]), layout), np.array([7, 4])
            for offset, sums in ((None, False), (np.array([0, 3]), True)):
                out = [blank((12, 2, n), kind, layout) for n in (4, 8)]
                given = np.array([0, 7, 11]) if sums else lengths
                k, v = (laid(form(c), layout) for c in full)
                run("GatherPaKvCache", k, v, table, given, *out, offset, mode, sums)
                for got, cache in zip(out, full, strict=True):
                    i = 0
                    for row, n, first in zip(
                        table, lengths, (0, 0) if offset is None else offset // 3, strict=True
                    ):
                        for j in range(n):
                            at = first + j // 3
                            there = at < 3 and row[at] < 4
                            assert (got[i] == (cache[row[at], j % 3] if there else 0)).all()
                            i += 1
                    assert (got[i:] == blank((1,), kind)[0]).all()


def test_paged_edges():
    k, c, s = normal(4, 2, 3), np.zeros((2, 4, 2, 3)), np.arange(4, dtype=I32)
    rest = (None, None, None)
    run("ScatterPaCache", k[:0], c, s[:0], *rest, None)
    refused("ScatterPaCache", k, c, s[:3], *rest, "Norm")
    refused("ScatterPaCache", k, c, s, *rest, "PA")
    refused("ScatterPaCache", k, c[..., :2].copy(), s, *rest, "Norm")
    refused("ScatterPaCache", k, c, s, s, None, None, "Norm")
    refused("ScatterPaCache", k, c.astype(np.float32), s, *rest, "Norm")
    refused("ScatterPaCache", k, c, s + 5, *rest, "Norm", match="slot 8 of")
    refused("ScatterPaKvCache", k, c, s, k[:3], c, *rest, "Norm", "None", None, None)
    refused("ScatterPaKvCache", k, c, s, k, c, *rest, "Norm", "Nct", None, None)
    refused(
        "GatherPaKvCache",
        c,
        c,
        np.zeros((2, 1), I32),
        np.zeros(3, I32),
        k,
        k.copy(),
        None,
        "Norm",
        False,
    )


@pytest.mark.parametrize("mode", ("Norm", "PA_NZ"))
def test_tokens_of_one_slot(mode):
    """The last one stays, whichever thread comes to it."""
    tokens = RNG.normal(size=(96, 2, 4096)).astype(np.float32)
    slots = np.array([5, 2, -1] * 30 + [2, 5, 0, 0, -1, -1], I32)
    want = np.zeros((3, 2, 2, 4096), np.float32)
    want.reshape(6, 2, -1)[[2, 5, 0]] = tokens[[90, 91, 93]]
    form = (lambda a: a) if mode == "Norm" else (lambda a: in_parts(a, 2048))
    for _ in range(30):
        k, v, alone = (form(np.zeros_like(want)) for _ in range(3))
        run("ScatterPaKvCache", tokens, k, slots, tokens, v, None, None, None, mode, "None", [1, 1], [0, 0])  # fmt: skip
        run("ScatterPaCache", tokens, alone, slots, None, None, None, mode)
        for cache in (k, v, alone):
            assert (cache == form(want)).all()


@pytest.mark.parametrize("step", (1, 16, 128))
def test_many_tokens_of_few_slots(step):
    """Many slots are named twice or more; slots side by side, or evenly apart."""
    tokens, cache = normal(3000, 1, 2), np.zeros((step, 3000, 1, 2))
    slots = np.maximum(RNG.integers(-50, 3000, 3000) * step, -7)
    want = np.zeros((step * 3000, 1, 2))
    for slot, token in zip(slots, tokens, strict=True):
        if slot >= 0:
            want[slot] = token
    run("ScatterPaCache", tokens, cache, slots, None, None, None, "Norm")
    assert (cache.reshape(want.shape) == want).all()


def test_advance_step():
    for layout in ("packed", "strided", "turned"):
        table = laid(RNG.integers(0, 30, (5, 4)), layout)
        lengths, tokens = laid(np.array([0, 7, 8, 15, 3]), layout), laid(np.arange(5) + 90, layout)
        positions, slots = laid(np.zeros(5, np.int64), layout), laid(np.zeros(5, np.int64), layout)
        sampled, old = laid(np.array([[4], [5], [6], [7]]), layout), lengths.copy()
        run("AdvanceStep", tokens, sampled, positions, lengths, slots, table, 5, 4, 4)
        assert tokens.tolist() == [4, 5, 6, 7, 94] and positions.tolist() == [0, 7, 8, 15, 0]
        assert lengths.tolist() == [1, 8, 9, 16, 3]
        assert slots.tolist() == [*(table[i, old[i] // 4] * 4 + old[i] % 4 for i in range(4)), 0]
    refused("AdvanceStep", tokens, sampled, positions, lengths, slots, table, 5, 6, 4)
    refused("AdvanceStep", tokens, sampled, positions, lengths, slots, table[:3], 5, 4, 4)
    refused("AdvanceStep", tokens, sampled, positions, lengths, slots, table, 5, 4, 0)
    refused(
        "AdvanceStep", tokens, sampled, positions, lengths, slots, table, 5, 4, 4, match="length 16"
    )


def kept(logits, p, k):
    """vLLM's: ascending, ties at the k-th kept."""
    x, at = wide(logits).sort(dim=-1, stable=True)
    if k is not None:
        x[x < x.gather(1, x.shape[1] - torch.tensor(k.astype(np.int64))[:, None])] = -np.inf
    if p is not None:
        low = x.softmax(-1).cumsum(-1) <= 1 - wide(p)[:, None]
        low[:, -1] = False
        x[low] = -np.inf
    return torch.empty_like(x).scatter_(1, at, x).numpy()


def test_top_k_top_p():
    for dtype, layout in every():
        if dtype == np.float64:
            continue
        x = laid(
            (RNG.permuted(np.arange(20.0)[None].repeat(4, 0), axis=1) / 8).astype(dtype), layout
        )
        p, k = (
            laid(np.array([0.3, 0.71, 0.05, 0.99]).astype(dtype), layout),
            laid(np.array([1, 20, 7, 12], I32), layout),
        )
        for args in ((p, k), (None, k), (p, None), (None, None)):
            got = run("ApplyTopKTopP", x, *args, blank(x.shape, dtype, layout))
            assert (got.astype(np.float64) == kept(x, *args)).all()
    y = np.empty((4, 20), np.float32)
    run("ApplyTopKTopP", y[:0], None, None, y[:0])
    y[:] = 1
    assert (run("ApplyTopKTopP", y, None, np.full(4, 3, I32), np.empty_like(y)) == 1).all()
    refused("ApplyTopKTopP", y, p, k[:3], y.copy())
    refused("ApplyTopKTopP", y, None, k.astype(np.float32), y.copy())
    refused("ApplyTopKTopP", y, None, np.full(4, 21, I32), y.copy(), match="is 21")


def key_and_value(kv, gamma, cos, sin, eps):
    x, k = f64(kv)[..., : len(gamma)], f64(kv)[..., len(gamma) :]
    a, b = k[..., ::2], k[..., 1::2]
    turned = np.concatenate([a, b], -1) * f64(cos) + np.concatenate([-b, a], -1) * f64(sin)
    return turned, x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * f64(gamma)


def f64(a):
    return wide(a).numpy()


def test_kv_rms_norm_rope_cache():
    for dtype, layout in every():
        kv, gamma = some((2, 1, 3, 10), dtype, layout), some((6,), dtype, layout)
        cos, sin = some((2, 1, 3, 4), dtype, layout), some((2, 1, 1, 4), dtype, layout)
        want = key_and_value(kv, gamma, cos, sin, 1e-5)
        index = np.array([[4, 0, -1], [2, 3, 1]])
        for mode in ("Norm", "PA", "PA_BNSD"):
            shape = (2, 1, 5) if mode == "Norm" else (4, 3, 1)
            k, v = (laid(np.zeros((*shape, d), dtype), layout) for d in (4, 6))
            out = [blank((2, 1, 3, d), dtype, layout) for d in (4, 6)]
            at = index if mode == "Norm" else (index + np.array([[0], [5]]) * (index >= 0)).ravel()
            run("KvRmsNormRopeCache", kv, gamma, cos, sin, laid(at, layout), k, v, None, None, None, None,
                1e-5, mode, True, *out)  # fmt: skip
            for cache, y, w in zip((k, v), out, want, strict=True):
                near(y, w, 2)
                full = np.zeros((10 if mode == "Norm" else 12, w.shape[-1]))
                for i, row in enumerate(w.reshape(6, -1)):
                    if index.ravel()[i] >= 0:
                        full[i // 3 * 5 + index.ravel()[i]] = row
                near(cache.reshape(len(full), -1), full, 2)


@pytest.mark.parametrize("mode", ("Norm", "PA"))
def test_kv_rms_norm_rope_cache_of_one_slot(mode):
    """As above; with Norm, sequences have places of their own."""
    kv, gamma = normal(2, 1, 48, 6144).astype(np.float32), normal(4096).astype(np.float32)
    cos, sin = (normal(2, 1, 48, 2048).astype(np.float32) for _ in range(2))
    index = np.array([1, 0, -1] * 15 + [0, 1, -1])
    out = [np.empty((2, 1, 48, d), np.float32) for d in (2048, 4096)]
    want = [np.zeros((2, 1, 2, d), np.float32) for d in (2048, 4096)]
    at = np.tile(index, 2) if mode == "PA" else np.stack([index] * 2)
    for _ in range(30):
        caches = [np.zeros_like(w) if mode == "Norm" else np.zeros((1, 2, 1, w.shape[3]), np.float32)
                  for w in want]  # fmt: skip
        run("KvRmsNormRopeCache", kv, gamma, cos, sin, at, *caches, None, None, None, None, 1e-5,
            mode, True, *out)  # fmt: skip
        for cache, w, rows in zip(caches, want, out, strict=True):
            w[:, 0, [0, 1]] = rows[:, 0, [45, 46]]
            assert (cache.ravel() == (w if mode == "Norm" else w[1]).ravel()).all()


def test_kv_rms_norm_rope_cache_edges():
    kv, g, c, i = normal(1, 1, 2, 6), normal(4), normal(1, 1, 2, 2), np.array([[0, 1]])
    k, v, none = np.zeros((1, 1, 3, 2)), np.zeros((1, 1, 3, 4)), [None] * 4
    name = "KvRmsNormRopeCache"
    run(name, kv[:0], g, c[:0], c[:0], i[:0], k[:0], v[:0], *none, 0.0, None, False, None, None)
    refused(name, kv, g, c, c, i, k, v, *none, 0.0, "PA_NZ", False, None, None)
    refused(name, kv, g, c, c, i, v, v, *none, 0.0, "Norm", False, None, None)
    refused(name, kv, normal(5), c, c, i, k, v, *none, 0.0, "Norm", False, None, None)
    refused(name, kv, g, c[..., :1], c, i, k, v, *none, 0.0, "Norm", False, None, None)
    refused(name, kv, g, c, c, i[0], k, v, *none, 0.0, "Norm", False, None, None)
    refused(name, kv, g, c, c, i, k, v, g, None, None, None, 0.0, "Norm", False, None, None)
    refused(name, kv, g, c, c, i, k, v, *none, 0.0, "Norm", True, None, None, match="161001")
    refused(
        name, kv, g, c, c, i + 2, k, v, *none, 0.0, "Norm", False, None, None, match="index 3 of"
    )
