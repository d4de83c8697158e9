"""Tokens sampled by top k, top p, min p and exponential weights against op-plugin's rules in NumPy."""

import numpy as np
import pytest
from aclnn import AclError, run
from oracle import BF16, RNG, laid

F32, F16, I32, I64 = np.float32, np.float16, np.int32, np.int64
EPS = 1e-8


def left(row, k, p, low, most, logits):
    """What is left of a row, the best first, with the probabilities of those."""
    order = np.argsort(-row, kind="stable")
    if 1 <= k <= min(len(row), most):
        order = order[:k]
    probs = row[order]
    if logits:
        probs = np.exp(row[order] - row.max())
        probs = probs / probs.sum()
    keep = np.ones(len(order), bool)
    if p <= 0:
        keep[1:] = False
    elif p < 1:
        keep = np.cumsum(probs) - probs <= p
        keep[0] = True
    if low >= 1:
        keep[1:] = False
    elif low > 0:
        keep &= probs >= probs[keep].max() * low
    return order[keep], probs[keep]


def sampled(x, k, p, low, q, most=1024, logits=True):
    x = x.astype(np.float64)
    token = np.empty(len(x), I64)
    some = np.full(x.shape, -np.inf if logits else 0.0)
    index = np.argsort(-x, axis=1, kind="stable")
    masked = np.zeros(x.shape)
    for i, row in enumerate(x):
        at, probs = left(row, k[i], float(p[i]), 0 if low is None else float(low[i]), most, logits)
        some[i, at] = row[at]
        masked[i, : len(at)] = probs
        if q is not None:
            probs = probs / (q[i, : len(at)] if len(at) < len(row) else q[i, at]) + 0.0
        token[i] = at[probs.argmax()]
    return token, some, index, masked


def case(dtype, layout, rows=9, n=40):
    """Logits that differ, also as halves, so that order is certain."""
    x = RNG.permuted(np.arange(n)[None].repeat(rows, 0), axis=1) / 8 - 2
    k = np.array([1, 5, 12, 33, 40, 0, -3, 41, 2000], I32)[:rows]
    p = np.array([0.9, 0.31, 1, 0, 0.7, 0.5, 0.99, -1, 0.05])[:rows]
    q = RNG.exponential(size=x.shape).astype(F32)
    return laid(x.astype(dtype), layout), laid(k, layout), laid(p.astype(dtype), layout), q


@pytest.mark.parametrize("layout", ("packed", "strided"))
@pytest.mark.parametrize("dtype", (F32, F16, BF16))
def test_top_sample(dtype, layout):
    x, k, p, q = case(dtype, layout)
    for weights in (None, laid(q, layout)):
        want = sampled(x, k, p, None, weights)
        token, some = np.empty(9, I64), np.empty(x.shape, F32)
        run("TopKTopPSample", x, k, p, weights, EPS, True, 32, token, some)
        assert (token == want[0]).all() and (some == want[1]).all()
        token[:], before = -1, some.copy()
        some[:] = 7
        run("TopKTopPSample", x, k, p, weights, EPS, False, 32, token, some)
        assert (token == want[0]).all() and (some == 7).all() and (before == want[1]).all()


@pytest.mark.parametrize("logits", (True, False))
@pytest.mark.parametrize("most", (5, 1024, 9999))
@pytest.mark.parametrize("dtype", (F32, F16, BF16))
def test_top_sample_v2(dtype, most, logits):
    x, k, p, q = case(dtype, "strided")
    if not logits:
        x = np.exp(x.astype(F32))
        x = (x / x.sum(1, keepdims=True)).astype(dtype)
    low = np.array([0.3, 0.1, 0.5, 0.2, 0, -1, 1, 2, 0.7]).astype(dtype)
    limit = min(-(-most // 8) * 8, 1024)
    for least in (None, low):
        for weights in (None, q):
            want = sampled(x, k, p, least, weights, limit, logits)
            token, some = np.empty(9, I64), np.empty(x.shape, F32)
            index, masked = np.full(x.shape, -5, I64), np.empty(x.shape, F32)
            args = x, k, p, weights, least, EPS, True, 32, most, logits
            run("TopKTopPSampleV2", *args, False, token, some, index, masked)
            assert (token == want[0]).all() and (some == want[1]).all() and (index == -5).all()
        seeds = np.zeros((1, 2), I64)
        args = x, k, p, seeds, least, EPS, True, 32, most, logits
        run("TopKTopPSampleV2", *args, True, token, some, index, masked)
        assert (token == index[:, 0]).all() and (index == want[2]).all()
        wide = np.empty((9, 1), I64)
        run("TopKTopPSampleV2", *args, True, wide, some, index, masked)
        assert (wide[:, 0] == token).all()
        np.testing.assert_allclose(masked, want[3], rtol=1e-5)


def test_top_sample_of_one():
    """A row of one logit, and one whose logits are equal: the first is taken."""
    token, some = np.empty(2, I64), np.empty((2, 1), F32)
    k, p = np.array([1, 0], I32), np.array([0.5, 1], F16)
    run("TopKTopPSample", np.ones((2, 1), F16), k, p, None, EPS, True, 32, token, some)
    assert (token == 0).all() and (some == 1).all()
    x, q = np.zeros((2, 7), F32), np.ones((2, 7), F32)
    run("TopKTopPSample", x, k, p.astype(F32), q, EPS, False, 32, token, np.empty((2, 7), F32))
    assert (token == 0).all()
    q[1, 3] = 0.5
    run("TopKTopPSample", x, k, p.astype(F32), q, EPS, False, 32, token, np.empty((2, 7), F32))
    assert token.tolist() == [0, 3]


def test_top_sample_edges():
    x, k, p, q = case(F32, "packed", 4)
    token, some = np.empty(4, I64), np.empty(x.shape, F32)

    def refused(name, *args):
        with pytest.raises(AclError, match="161002"):
            run(name, *args)

    name = "TopKTopPSample"
    run(name, x[:0], k[:0], p[:0], None, EPS, True, 32, token[:0], some[:0])
    refused(name, x[:, :0], k, p, None, EPS, False, 32, token, some[:, :0])
    refused(name, x, k[:3], p, None, EPS, True, 32, token, some)
    refused(name, x, k, p[:3], None, EPS, True, 32, token, some)
    refused(name, x, k, p, q[:3], EPS, True, 32, token, some)
    refused(name, x, k, p, q.astype(F16), EPS, True, 32, token, some)
    refused(name, x, k, p, None, EPS, True, 32, token[:3], some)
    refused(name, x, k, p, None, EPS, True, 32, token, some[:, :3])
    refused(name, x.astype(np.float64), k, p, None, EPS, True, 32, token, some)
    index, masked = np.empty(x.shape, I64), np.empty(x.shape, F32)
    end = token, some, index, masked
    name += "V2"
    refused(name, x, k, p, None, p[:3], EPS, True, 32, 1024, True, False, *end)
    refused(name, x, k, p, None, None, EPS, True, 32, 0, True, False, *end)
    refused(name, x, k, p, None, None, EPS, True, 32, 9, True, True, token, some, index[:3], masked)
    refused(name, x, k, p, None, None, EPS, True, 32, 9, True, True, token, some, index, masked[:3])
