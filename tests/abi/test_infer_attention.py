"""Attention of inference against PyTorch: lengths, lists of keys, caches of blocks."""

import numpy as np
import pytest
import torch
from aclnn import DATA, AclError, lib, run
from oracle import RNG, blank, every, laid, normal, wide
from test_flash_attention import attention, band, close, got, put

FUSED = [f"FusedInferAttentionScoreV{n}" for n in (2, 3, 4, 5)]


def called(name, **given):
    usual = {"preTokens": 2**31 - 1, "nextTokens": 2**31 - 1, "scaleValue": 0.3}
    args = []
    for text in DATA["aclnn" + name]["params"]:
        kind, word = text.replace("const ", "").rsplit(" ", 1)
        value = given.get(word, usual.get(word, None if kind.endswith("*") else 0))
        args.append(
            [value] if kind == "aclTensorList*" and isinstance(value, np.ndarray) else value
        )
    run(name, *args)


def wanted(q, k, v, lengths_q=None, lengths_k=None, **more):
    """Every sequence by itself; 0 behind its queries, and the logarithm of sums."""
    out, lse = (
        torch.zeros(*q.shape[:3], v.shape[-1], dtype=torch.float64),
        torch.zeros(*q.shape[:3], 1, dtype=torch.float64),
    )
    for b in range(q.shape[0]):
        m = q.shape[2] if lengths_q is None else lengths_q[b]
        n = k.shape[2] if lengths_k is None else lengths_k[b]
        part = {key: f(b, m, n) for key, f in more.items()}
        o, most, total = attention(
            q[b : b + 1, :, :m],
            k[b : b + 1, :, :n],
            v[b : b + 1, :, :n],
            0.3,
            pse_first=False,
            **part,
        )
        out[b, :, :m], lse[b, :, :m] = o[0], (most + total.log())[0]
    return out, lse


def test_one_query_whatever_its_length_says():
    """Decoding: programs give the lengths of keys for queries, too."""
    q, k, v = normal(2, 4, 1, 8), normal(2, 4, 9, 8), normal(2, 4, 9, 8)
    want, _ = wanted(*map(torch.tensor, (q, k, v)), lengths_k=[9, 4])
    for lengths in (None, [1], [9], [9, 4]):
        for name in FUSED:
            out = np.empty((2, 4, 1, 8), np.float16)
            called(name, query=q.astype(np.float16), key=k.astype(np.float16), value=v.astype(np.float16), numHeads=4,
                   inputLayout="BNSD", actualSeqLengthsOptional=lengths, actualSeqLengthsKvOptional=[9, 4],
                   attentionOut=out, softmaxLse=np.empty((2, 4, 1, 1), np.float32))  # fmt: skip
            np.testing.assert_allclose(out.astype(float), want, rtol=4e-3, atol=4e-3)
    with pytest.raises(AclError, match="161002"):  # which has no other way of decoding
        called("PromptFlashAttentionV3", query=q.astype(np.float16), key=k.astype(np.float16), value=v.astype(np.float16),
               numHeads=4, inputLayout="BNSD", actualSeqLengthsOptional=[9], attentionOut=np.empty((2, 4, 1, 8), np.float16))  # fmt: skip


@pytest.mark.parametrize("order", ("BSH", "BSND", "BNSD", "BNSD_BSND"))
def test_dense(order):
    batch, heads, kv, rows, keys, d = 2, 4, 2, 5, 7, 8
    plain, back = order.split("_")[0], order.split("_")[-1]
    for dtype, layout in every():
        q, k, v = (
            put(normal(batch, n, s, d), plain, dtype, layout)
            for n, s in ((heads, rows), (kv, keys), (kv, keys))
        )
        full = [torch.tensor(got(x, plain, n)) for x, n in ((q, heads), (k, kv), (v, kv))]
        mask = RNG.random((batch, 1, rows, keys)) < 0.3
        pse = laid(normal(1, heads, rows, keys).astype(dtype), layout)
        for lengths_q, lengths_k in ((None, None), ([5, 3], [2, 7]), ([4], [6])):
            given = {"query": q, "key": k, "value": v, "numHeads": heads, "numKeyValueHeads": kv, "inputLayout": order,
                     "actualSeqLengthsOptional": lengths_q, "actualSeqLengthsKvOptional": lengths_k}  # fmt: skip
            each = [n and (n * batch if len(n) == 1 else n) for n in (lengths_q, lengths_k)]
            for more, part in (({}, {}), ({"attenMaskOptional": mask}, {"hidden": lambda b, m, n, mask=mask: torch.tensor(mask[b : b + 1, :, :m, :n])}),
                               ({"sparseMode": 3, "attenMaskOptional": np.ones((64, 64), np.int8)},
                                {"hidden": lambda b, m, n: band(m, n, -99, n - m)}),
                               ({"pseShiftOptional": pse}, {"pse": lambda b, m, n, pse=pse: wide(pse)[:, :, :m, :n]})):  # fmt: skip
                want, lse = wanted(*full, *each, **part)
                shape = put(want, back, dtype).shape
                for name in ("PromptFlashAttentionV3", *FUSED):
                    out = blank(shape, dtype, layout)
                    sums = blank((batch, heads, rows, 1), np.float64, layout)
                    called(
                        name,
                        attentionOut=out,
                        softmaxLse=sums,
                        softmaxLseFlag=True,
                        **given,
                        **more,
                    )
                    close(got(out, back, heads), want, dtype)
                    if name in FUSED:
                        for b in range(batch):
                            m = rows if each[0] is None else each[0][b]
                            seen = torch.isfinite(lse[b, :, :m]).numpy()
                            close(
                                sums[b, :, :m][seen],
                                lse[b, :, :m][torch.tensor(seen)],
                                np.float32 if dtype == np.float64 else dtype,
                                4,
                            )


@pytest.mark.parametrize("kind", ("whole", "list", "blocks", "blocks by head"))
def test_one_query(kind):
    batch, heads, kv, keys, d, size = 3, 4, 2, 9, 8, 4
    lengths = [9, 1, 6]
    for dtype, layout in every():
        q = laid(normal(batch, 1, heads * d).astype(dtype), layout)
        k, v = (normal(batch, keys, kv * d).astype(dtype) for _ in range(2))
        hidden = RNG.random((batch, keys)) < 0.3
        hidden[:, 0] = False
        full = [torch.tensor(got(x, "BSH", n)) for x, n in ((q, heads), (k, kv), (v, kv))]
        table, given = None, {"key": laid(k, layout), "value": laid(v, layout)}
        if kind == "list":
            given = {
                n: [laid(x[b : b + 1, : lengths[b]], layout) for b in range(batch)]
                for n, x in (("key", k), ("value", v))
            }
        if kind.startswith("blocks"):
            table = np.arange(11)[RNG.permutation(11)][:9].reshape(3, 3).astype(np.int32)
            given = {}
            for n, x in (("key", k), ("value", v)):
                cache = normal(11, size, kv * d).astype(dtype)
                padded = np.pad(x, ((0, 0), (0, 3), (0, 0)))
                for b in range(batch):
                    cache[table[b]] = padded[b].reshape(3, size, -1)
                if kind == "blocks by head":
                    cache = cache.reshape(11, size, kv, d).transpose(0, 2, 1, 3)
                given[n] = laid(cache, layout)
        given |= {"query": q, "numHeads": heads, "numKeyValueHeads": kv, "inputLayout": "BSH", "blockTableOptional": table,
                  "blockSize": size}  # fmt: skip
        for mask, part in (
            (None, {}),
            (
                hidden,
                {
                    "hidden": lambda b, m, n, hidden=hidden: torch.tensor(
                        hidden[b : b + 1, None, None, :n]
                    )
                },
            ),
        ):
            want, _ = wanted(*full, None, lengths, **part)
            shape = put(want, "BSH", dtype).shape
            out = blank(shape, dtype, layout)
            called(
                "IncreFlashAttentionV4",
                attentionOut=out,
                attenMaskOptional=mask,
                actualSeqLengthsOptional=lengths,
                **given,
            )
            close(got(out, "BSH", heads), want, dtype)
            for name in FUSED:
                out = blank(shape, dtype, layout)
                called(
                    name,
                    attentionOut=out,
                    attenMaskOptional=mask,
                    actualSeqLengthsKvOptional=lengths,
                    **given,
                )
                close(got(out, "BSH", heads), want, dtype)


@pytest.mark.parametrize("blocks", (False, True))
def test_rows(blocks):
    heads, kv, d, rope, size, dims = 4, 2, 8, 4, 4, (3, 0, 2)
    ends, lengths = np.cumsum(dims).tolist(), [5, 2, 7]
    for dtype, layout in every():
        q, qr = (laid(normal(7, heads, n).astype(dtype), layout) for n in (d, rope))
        k, v, kr = (normal(14, kv, n).astype(dtype) for n in (d, d, rope))
        sink = normal(heads, dtype=np.float32)
        given, table = {}, np.array([[3, 1], [0, 5], [2, 4]], np.int32)
        for n, x in (("key", k), ("value", v), ("keyRopeOptional", kr)):
            cache = normal(6, size, kv * x.shape[-1]).astype(dtype)
            for b, (first, m) in enumerate(zip((0, 5, 7), lengths, strict=True)):
                rows = np.pad(x[first : first + m].reshape(m, -1), ((0, 8 - m), (0, 0)))
                cache[table[b]] = rows.reshape(2, size, -1)
            given[n] = laid(cache if blocks else x, layout)
        given |= {"query": q, "queryRopeOptional": qr, "numHeads": heads, "numKeyValueHeads": kv, "inputLayout": "TND",
                  "actualSeqLengthsOptional": ends, "actualSeqLengthsKvOptional": lengths if blocks else [5, 7, 14]}  # fmt: skip
        given |= {"blockTableOptional": table, "blockSize": size} if blocks else {}
        for name in FUSED[1:]:
            sinks = {"learnableSinkOptional": sink} if name[-1] in "45" else {}
            out, lse = blank((7, heads, d), dtype, layout), blank((7, heads, 1), np.float64)
            called(name, attentionOut=out, softmaxLse=lse, softmaxLseFlag=True, **given, **sinks)
            for b, (m, n) in enumerate(zip(dims, lengths, strict=True)):
                a, c = slice(ends[b] - m, ends[b]), slice((0, 5, 7)[b], (0, 5, 7)[b] + n)
                x = [
                    torch.cat((wide(y)[s], wide(z)[s]), -1).transpose(0, 1)[None]
                    for y, z, s in ((q, qr, a), (k, kr, c))
                ]
                want, most, total = attention(
                    *x, wide(v)[c].transpose(0, 1)[None], 0.3, sink=wide(sink) if sinks else None
                )
                close(out[a].astype(np.float64), want[0].transpose(0, 1), dtype)
                close(
                    lse[a],
                    (most + total.log())[0].transpose(0, 1),
                    np.float32 if dtype == np.float64 else dtype,
                    4,
                )
        if layout == "packed" and not blocks:
            out = blank((7, heads, d), dtype)
            call = {n: x for n, x in given.items() if "Rope" not in n}
            called(FUSED[0], attentionOut=out, **call)
            x = [
                wide(y)[:3].transpose(0, 1)[None] if y is q else wide(y)[:5].transpose(0, 1)[None]
                for y in (q, k, v)
            ]
            close(out[:3].astype(np.float64), attention(*x, 0.3)[0][0].transpose(0, 1), dtype)


def test_edges():
    q = normal(2, 4, 3, 8, dtype=np.float32)
    usual = {
        "query": q,
        "key": q,
        "value": q,
        "numHeads": 4,
        "inputLayout": "BNSD",
        "attentionOut": q.copy(),
    }
    e = q[:0].copy()
    called(FUSED[2], **(usual | {"query": e, "key": e, "value": e, "attentionOut": e.copy()}))
    table = np.zeros((2, 1), np.int32)
    cache = {"key": normal(3, 16, 32, dtype=np.float32), "value": normal(3, 16, 32, dtype=np.float32),
             "blockTableOptional": table, "blockSize": 16, "actualSeqLengthsKvOptional": [4, 16]}  # fmt: skip
    called(FUSED[2], **(usual | cache))
    for more in ({"numHeads": 3}, {"numKeyValueHeads": 3}, {"inputLayout": "SBH"}, {"key": [q, q, q]}, {"value": q[:1]},
                 {"key": q[..., :4]}, {"sparseMode": 5}, {"attentionOut": q[:1].copy()}, {"attenMaskOptional": q},
                 {"deqScale1Optional": q}, {"keySharedPrefixOptional": q}, {"actualSeqLengthsOptional": [4]},
                 {"actualSeqLengthsKvOptional": [9]}, cache | {"blockSize": 8}, cache | {"blockTableOptional": table[:1]},
                 cache | {"actualSeqLengthsKvOptional": None}, cache | {"actualSeqLengthsKvOptional": [17]},
                 {"learnableSinkOptional": normal(3)}, {"pseShiftOptional": q[:, :3]}, {"inputLayout": "TND"}):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            called(FUSED[2], **(usual | more))
    with pytest.raises(AclError, match="161002"):
        called(FUSED[3], pseType=2, **usual)
    for more in ({"softmaxLseFlag": True}, {"queryRopeOptional": q}):
        with pytest.raises(AclError, match="161001"):
            called(FUSED[2], **(usual | more))
    with pytest.raises(AclError, match="blockTable names block"):
        called(FUSED[2], **(usual | cache | {"blockTableOptional": table + 3}))


@pytest.mark.parametrize("name", FUSED[1:])
def test_largest_workspace(name, monkeypatch):
    """GetMaxWorkspaceSize plans as GetWorkspaceSize does."""
    phase = f"aclnn{name}GetWorkspaceSize"
    monkeypatch.setattr(lib, phase, getattr(lib, phase.replace("GetW", "GetMaxW")))
    q, k, v = (normal(1, 2, 3, 4).astype(np.float32) for _ in range(3))
    out = np.zeros_like(q)
    called(
        name,
        query=q,
        key=[k],
        value=[v],
        numHeads=2,
        numKeyValueHeads=2,
        inputLayout="BNSD",
        attentionOut=out,
    )
    want = torch.softmax(wide(q) @ wide(k).mT * 0.3, -1) @ wide(v)
    np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-5)
