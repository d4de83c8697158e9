"""Attention over triples and its gradient, against PyTorch's derivatives."""

import math

import numpy as np
import pytest
import torch
from aclnn import run
from oracle import BF16, refuse

RNG = np.random.default_rng(99)
F32 = np.float32
B, H, N, M, K, D = 2, 3, 4, 5, 6, 8
SHAPES = [(B, H, N, M, D), (B, H, N, K, D), (B, H, N, K, D), (B, H, K, M, D), (B, H, K, M, D)]


def wanted(given, mask, scale, dout):
    """Greatest score, sum, output, and the gradients of the five inputs, in float64."""
    q, k1, v1, k2, v2 = leaves = [torch.tensor(a.astype(float), requires_grad=True) for a in given]
    s = torch.einsum("bhimd,bhijd->bhimj", q, k1) + torch.einsum("bhimd,bhjmd->bhimj", q, k2)
    s = s * scale
    if mask is not None:
        s = s.masked_fill(torch.tensor(mask), -math.inf)
    w = s.softmax(-1)
    out = torch.einsum("bhimj,bhijd->bhimd", w, v1) + torch.einsum("bhimj,bhjmd->bhimd", w, v2)
    out.backward(torch.tensor(dout.astype(float)))
    top = s.amax(-1)
    numbers = [top, (s - top[..., None]).exp().sum(-1), out, *(a.grad for a in leaves)]
    return [a.detach().numpy() for a in numbers]


@pytest.mark.parametrize("dtype", [F32, np.float16, BF16])
@pytest.mark.parametrize("masked", [False, True])
def test_floyd_attention(dtype, masked):
    given = [RNG.normal(size=s).astype(dtype) for s in SHAPES]
    dout, scale = RNG.normal(size=SHAPES[0]).astype(dtype), 1 / math.sqrt(D)
    mask = RNG.random((B, 1, N, 1, K)) < 0.4 if masked else None
    if masked:
        mask[..., 0] = False
    top, total, out, *grads = wanted(given, mask, scale, dout)
    tolerance = {"rtol": 1e-5, "atol": 1e-5} if dtype is F32 else {"rtol": 2e-2, "atol": 3e-2}
    stats = [np.zeros((B, H, N, M, 8), F32) for _ in range(2)]
    got = np.zeros(SHAPES[0], dtype)
    run("FusedFloydAttention", *given, mask, scale, *stats, got)
    for lane in (0, 7):
        np.testing.assert_allclose(stats[0][..., lane], top, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(stats[1][..., lane], total, rtol=1e-5)
    np.testing.assert_allclose(got.astype(F32), out, **tolerance)
    made = [np.zeros(s, dtype) for s in SHAPES]
    run("FusedFloydAttentionGrad", *given, dout, mask, *stats, got, scale, *made)
    for a, b in zip(made, grads, strict=True):
        np.testing.assert_allclose(a.astype(F32), b, **tolerance)


def test_queries_that_see_nothing():
    """Weights of 0, and nothing flows back; bytes are a mask as truth values are."""
    given = [RNG.normal(size=s).astype(F32) for s in SHAPES]
    mask = np.zeros((B, 1, N, 1, K), np.uint8)
    mask[1, 0, 2] = 1
    stats = [np.zeros((B, H, N, M, 8), F32) for _ in range(2)]
    out, made = np.ones(SHAPES[0], F32), [np.ones(s, F32) for s in SHAPES]
    run("FusedFloydAttention", *given, mask, 0.5, *stats, out)
    assert (out[1, :, 2] == 0).all() and (out[0] != 0).any() and (stats[1][1, :, 2] == 0).all()
    run("FusedFloydAttentionGrad", *given, out, mask, *stats, out, 0.5, *made)
    assert (made[0][1, :, 2] == 0).all() and (made[1][1, :, 2] == 0).all()
    assert np.isfinite(made[3]).all()


def test_floyd_attention_refuses():
    given = [RNG.normal(size=s).astype(F32) for s in SHAPES]
    stats = [np.zeros((B, H, N, M, 8), F32) for _ in range(2)]
    out = np.zeros(SHAPES[0], F32)
    good = [*given, None, 1.0, *stats, out]
    turned, mask = np.zeros((B, H, M, K, D), F32), np.zeros((B, H, N, 1, K), bool)
    no_keys = {
        i: np.zeros(s, F32)
        for i, s in ((1, (B, H, N, 0, D)), (2, (B, H, N, 0, D)), (3, (B, H, 0, M, D)), (4, (B, H, 0, M, D)))
    }  # fmt: skip
    refuse("FusedFloydAttention", good,
           [{3: turned}, {5: mask}, {5: mask[:, :1].astype(F32)}, {8: stats[1][..., :4]}, {9: out.astype(float)}, no_keys])  # fmt: skip
