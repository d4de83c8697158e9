"""Partial results of attention, combined, against attention over all keys."""

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import blank, every, laid, normal, wide
from test_flash_attention import attention, close


def parts(batch, heads, rows, keys, d, count):
    """Outputs and statistics over `count` parts of the keys, then over all of them."""
    q, k, v = (torch.tensor(normal(batch, heads, n, d)) for n in (rows, keys, keys))
    cut = [
        attention(q, a, b, 0.4) for a, b in zip(k.chunk(count, 2), v.chunk(count, 2), strict=True)
    ]
    return cut, attention(q, k, v, 0.4)


@pytest.mark.parametrize("count", (1, 2, 5))
def test_attention_update(count):
    for dtype, layout in every():
        cut, (want, most, total) = parts(1, 1, 6, 20, 8, count)
        lse = [laid((m + s.log()).reshape(-1).numpy(), layout) for _, m, s in cut]
        local = [laid(o.reshape(6, 8).numpy().astype(dtype), layout) for o, _, _ in cut]
        out, lse_out = blank((6, 8), dtype, layout), blank((6,), np.float64)
        run("AttentionUpdate", lse, local, 0, out, None)
        close(out.astype(np.float64), want.reshape(6, 8), dtype)
        run("AttentionUpdate", lse, local, 1, out, lse_out)
        close(
            lse_out, (most + total.log()).reshape(-1), np.float32 if dtype != np.float64 else dtype
        )
        lse[0][...] = -np.inf  # a part that saw nothing
        local[0][...] = 3
        run("AttentionUpdate", lse, local, 0, out, None)
        if count == 1:
            assert not out.any()
        else:
            w = torch.stack([wide(x) for x in lse]).softmax(0)
            close(
                out.astype(np.float64),
                sum(w[i][:, None] * wide(x) for i, x in enumerate(local)),
                dtype,
            )


@pytest.mark.parametrize("rows", (False, True))
def test_ring(rows):
    batch, heads, n, d = (1, 3, 6, 8) if rows else (2, 3, 6, 8)
    for dtype, layout in every():
        (a, b), want = parts(batch, heads, n, 14, d, 2)

        def put(x, statistic):
            x = x.expand(-1, -1, -1, 8) if statistic else x
            if rows:
                return x[0].transpose(0, 1).numpy()  # (T, N, columns)
            return x.numpy() if statistic else x.permute(2, 0, 1, 3).reshape(n, batch, -1).numpy()

        kind = np.float64 if dtype == np.float64 else np.float32
        given = [
            laid(put(x, i > 0).astype(kind if i else dtype), layout)
            for p in (a, b)
            for i, x in enumerate(p)
        ]
        outs = [
            blank(put(x, i > 0).shape, kind if i else dtype, layout) for i, x in enumerate(want)
        ]
        ends = np.array([2, 6]) if rows else None
        for softmax in ("", "TND" if rows else "SBH"):
            run("RingAttentionUpdateV2", *given, ends, "TND" if rows else "SBH", softmax, *outs)
            for i, (got, x) in enumerate(zip(outs, want, strict=True)):
                close(got.astype(np.float64), torch.tensor(put(x, i > 0).copy()), dtype, 4)
        run(
            "RingAttentionUpdateV2", *given, ends, "TND" if rows else "SBH", "", *given[:3]
        )  # in place
        for got, x in zip(given, outs, strict=False):
            assert (got == x).all()


def test_edges():
    x, s, e = normal(4, 2, 6), normal(2, 3, 4, 8), np.empty((0, 8))
    o = x.copy()
    run("AttentionUpdate", [e[:, 0], e[:, 0]], [e, e], 0, e.copy(), None)
    run("RingAttentionUpdateV2", x[:0], s[:, :, :0], s[:, :, :0], x[:0], s[:, :, :0], s[:, :, :0], None, "SBH", "", o[:0],
        s[:, :, :0].copy(), s[:, :, :0].copy())  # fmt: skip
    for args in (([x[..., 0]], [x, x], 0, o, None), ([x[..., 0]], [x], 2, o, None), ([x], [x], 0, o, None),
                 ([x[..., 0]], [x[:2]], 0, o, None), ([x[..., 0]], [x], 0, o[:2], None)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("AttentionUpdate", *args)
    with pytest.raises(AclError, match="161001"):
        run("AttentionUpdate", [x[..., 0]], [x], 1, o, None)
    for layout, softmax, stats in (
        ("BSH", "", s),
        ("SBH", "TND", s),
        ("TND", "SBH", s),
        ("SBH", "", s[:1]),
        ("TND", "", s),
    ):
        with pytest.raises(AclError, match="161002"):
            run(
                "RingAttentionUpdateV2",
                x,
                stats,
                stats,
                x,
                stats,
                stats,
                None,
                layout,
                softmax,
                o,
                s.copy(),
                s.copy(),
            )
