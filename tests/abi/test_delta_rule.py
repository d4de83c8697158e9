"""The gated delta rule, token by token, against NumPy."""

import ml_dtypes
import numpy as np
import pytest
from aclnn import AclError, run

BF16 = np.dtype(ml_dtypes.bfloat16)
RNG = np.random.default_rng(94)
F32, I32, close = np.float32, np.int32, np.testing.assert_allclose
NK, NV, DK, DV = 2, 4, 6, 5


def inputs(tokens, dtype):
    q, k = (RNG.normal(size=(tokens, NK, DK)) for _ in range(2))
    q, k = (a / np.linalg.norm(a, axis=-1, keepdims=True) for a in (q, k))
    return [
        a.astype(dtype)
        for a in (q, k, RNG.normal(size=(tokens, NV, DV)), RNG.uniform(0, 1, (tokens, NV)))
    ]


def step(s, q, k, v, beta, g, scale):
    """s: (NV, DV, DK) in float64; what it becomes, and the output."""
    q, k = (np.repeat(a.astype(float), NV // NK, 0) for a in (q, k))
    s = s * np.exp(g.astype(float))[:, None, None]
    delta = (v.astype(float) - np.einsum("hij,hj->hi", s, k)) * beta.astype(float)[:, None]
    s = s + delta[:, :, None] * k[:, None]
    return s, np.einsum("hij,hj->hi", s, q) * scale


@pytest.mark.parametrize("dtype", [BF16, np.dtype(F32)])
@pytest.mark.parametrize("gated", [True, False])
def test_chunks(dtype, gated):
    lengths, tokens = np.array([7, 0, 30, 1], I32), 40
    q, k, v, beta = inputs(tokens, dtype)
    g = RNG.uniform(-1, 0, (tokens, NV)).astype(F32) if gated else None
    first = RNG.normal(size=(4, NV, DV, DK)).astype(dtype)
    out, last = np.full((tokens, NV, DV), 9, dtype), np.zeros_like(first)
    run("ChunkGatedDeltaRule", np.asfortranarray(q), k, v, beta, first, lengths, 0.4, g, out, last)
    at, tolerance = (
        0,
        {"rtol": 2**-7, "atol": 1e-2} if dtype == BF16 else {"rtol": 1e-4, "atol": 1e-5},
    )
    for b, n in enumerate(lengths):
        s = first[b].astype(float)
        for t in range(at, at + n):
            s, y = step(s, q[t], k[t], v[t], beta[t], np.zeros(NV) if g is None else g[t], 0.4)
            close(out[t].astype(float), y, **tolerance)
        at += n
        close(last[b].astype(float), s, **tolerance)
    assert (out[at:].astype(float) == 9).all()  # tokens of no sequence


@pytest.mark.parametrize("dtype", [BF16, np.dtype(F32)])
@pytest.mark.parametrize("drafts", [True, False])
def test_recurrent(dtype, drafts):
    lengths, tokens = np.array([3, 1, 2], I32), 6
    q, k, v, beta = inputs(tokens, dtype)
    beta = beta if drafts else None
    g = RNG.uniform(-1, 0, (tokens, NV)).astype(F32)
    cache = RNG.normal(size=(9, NV, DV, DK)).astype(dtype)
    places = RNG.permutation(9)[:tokens].astype(I32)
    accepted = np.array([2, 1, 2], I32) if drafts else None
    want, out = cache.astype(float), np.zeros((tokens, NV, DV), dtype)
    run(
        "RecurrentGatedDeltaRule",
        q,
        k,
        v,
        beta,
        cache,
        lengths,
        places,
        g,
        None,
        accepted,
        0.4,
        out,
    )
    at, tolerance = (
        0,
        {"rtol": 2**-7, "atol": 1e-2} if dtype == BF16 else {"rtol": 1e-4, "atol": 1e-5},
    )
    for b, n in enumerate(lengths):
        s = want[places[at + (accepted[b] - 1 if drafts else 0)]].copy()
        for t in range(at, at + n):
            s, y = step(s, q[t], k[t], v[t], beta[t] if drafts else np.ones(NV), g[t], 0.4)
            want[places[t]] = s
            close(out[t].astype(float), y, **tolerance)
        at += n
    close(cache.astype(float), want, **tolerance)


def test_empty_and_refused():
    q, k, v, beta = inputs(4, BF16)
    first, lengths = np.zeros((2, NV, DV, DK), BF16), np.array([3, 1], I32)
    out, last = np.zeros((4, NV, DV), BF16), first.copy()
    good = [q, k, v, beta, first, lengths, 1.0, None, out, last]
    run("ChunkGatedDeltaRule", *good)
    run(
        "ChunkGatedDeltaRule",
        q[:0],
        k[:0],
        v[:0],
        beta[:0],
        first[:0],
        lengths[:0],
        1.0,
        None,
        out[:0],
        last[:0],
    )
    for changes in ({0: q[:3]}, {1: k[:, :1]}, {2: v[:, :3]}, {3: beta[:2]}, {4: first[:1]}, {5: lengths.astype(F32)}, {8: out[:3]},
                    {9: last[:1]}, {7: np.ones((4, 1), F32)}, {0: q.astype(int)}, {4: first.astype(float)}):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("ChunkGatedDeltaRule", *[changes.get(i, a) for i, a in enumerate(good)])
    with pytest.raises(AclError, match="sequence 1 has length 2"):
        run(
            "ChunkGatedDeltaRule",
            *[{5: np.array([3, 2], I32)}.get(i, a) for i, a in enumerate(good)],
        )
    places = np.array([0, 1, 0, 1], I32)
    good = [q, k, v, beta, first, lengths, places, None, None, None, 1.0, out]
    run("RecurrentGatedDeltaRule", *good)
    for changes in (
        {8: np.ones((4, NV), F32)},
        {6: places[:3]},
        {9: places},
        {4: first[:, :1]},
        {4: first[0]},
    ):
        with pytest.raises(AclError, match="161002"):
            run("RecurrentGatedDeltaRule", *[changes.get(i, a) for i, a in enumerate(good)])
    for changes, message in (({6: places + 1}, "ssmStateIndices has 2"), ({9: np.array([3, 2], I32)}, "numAcceptedTokens"),
                             ({9: np.array([0, 1], I32)}, "numAcceptedTokens"), ({9: np.array([1, -(2**63)])}, "numAcceptedTokens")):  # fmt: skip
        with pytest.raises(AclError, match=message):
            run("RecurrentGatedDeltaRule", *[changes.get(i, a) for i, a in enumerate(good)])
