"""Which tokens a query shall look at, the feed-forward network of experts, GELU behind a product of small integers, rows turned
before they are quantised, the gradient of a gate: against NumPy and PyTorch."""

import math

import numpy as np
import pytest
import torch
from aclnn import AclError, Int4, run
from oracle import BF16, refuse
from test_quant import pack

RNG = np.random.default_rng(98)
F32, I32, close, same = (
    np.float32,
    np.int32,
    np.testing.assert_allclose,
    np.testing.assert_array_equal,
)
FLOATS = [np.dtype(np.float16), BF16, np.dtype(F32)]
FAR = 2**63 - 1


def normal(*shape, dtype=F32):
    return RNG.normal(size=shape).astype(dtype)


def best(q, k, w, count, causal):
    """Places and values for the queries (s, g, d) of one sequence."""
    score = np.einsum(
        "sg,sgt->st",
        w.astype(float),
        np.maximum(np.einsum("sgd,td->sgt", q.astype(float), k.astype(float)), 0),
    )
    at, value = np.full((len(q), count), -1), np.zeros((len(q), count))
    for i, line in enumerate(score):
        seen = len(k) - (len(q) - 1 - i) if causal else len(k)
        order = np.argsort(-line[: max(seen, 0)], kind="stable")[:count]
        at[i, : len(order)], value[i, : len(order)] = order, line[order]
    return at, value


@pytest.mark.parametrize("layout", ["BSND", "TND", "PA_BSND"])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("count", [3, 16])
def test_indexer(layout, causal, count):
    b, s1, s2, g, d, block = 3, 4, 10, 5, 8, 4
    q, w = normal(b, s1, g, d, dtype=BF16), normal(b, s1, g, dtype=BF16)
    k, lengths = normal(b, s2, 1, d, dtype=BF16), np.array([10, 7, 0], I32)
    queries = np.array([4, 2, 3], I32)
    keys, table, k_lengths, layouts = k, None, lengths, ("BSND", layout)
    if layout == "PA_BSND":
        table = RNG.permutation(9).reshape(b, 3).astype(I32)
        keys = np.zeros((9, block, 1, d), BF16)
        for i in range(b):
            for t in range(s2):
                keys[table[i, t // block], t % block] = k[i, t]
    shape = (b, s1, 1, count)
    if layout == "TND":
        layouts = ("TND", "TND")
        taken = np.concatenate([np.arange(n) + i * s1 for i, n in enumerate(queries)])
        q_given, w_given = q.reshape(-1, g, d)[taken], w.reshape(-1, g)[taken]
        keys = np.concatenate([k[i, :n] for i, n in enumerate(lengths)])
        q_lengths, k_lengths, shape = (
            np.cumsum(queries).astype(I32),
            np.cumsum(lengths).astype(I32),
            (len(taken), 1, count),
        )
    else:
        q_given, w_given, q_lengths = q, w, queries
    at, value = np.full(shape, 9, I32), np.full(shape, 9, F32)
    run("LightningIndexer", q_given, keys, w_given, q_lengths, k_lengths, table, *layouts, count, 3 if causal else 0, FAR, FAR,
        True, at, value)  # fmt: skip
    row, at, value = 0, at.reshape(-1, count), value.reshape(-1, count)
    for i, n in enumerate(queries):
        row = row if layout == "TND" else i * s1
        want, values = best(q[i, :n], k[i, : lengths[i], 0], w[i, :n], count, causal)
        same(at[row : row + n], want)
        close(value[row : row + n], values, rtol=1e-4, atol=1e-5)
        row += n
    if layout != "TND":  # queries beyond the length
        assert (at.reshape(b, s1, count)[1, 2:] == -1).all()


def test_indexer_refused():
    q, k, w, at = (
        normal(2, 3, 4, 8),
        normal(2, 6, 1, 8),
        normal(2, 3, 4),
        np.zeros((2, 3, 1, 2), I32),
    )
    good = [q, k, w, None, None, None, "BSND", "BSND", 2, 3, FAR, FAR, False, at, np.zeros(0, F32)]
    run("LightningIndexer", *good)
    run(
        "LightningIndexer",
        *[{0: q[:0], 1: k[:0], 2: w[:0], 13: at[:0]}.get(i, a) for i, a in enumerate(good)],
    )
    lengths = np.array([3, 3], I32)
    refuse("LightningIndexer", good, [{6: "BNSD"}, {7: "TND"}, {8: 0}, {9: 1}, {10: 5}, {11: 5}, {1: k[:1]}, {1: normal(2, 6, 2, 8)},
                                      {2: w[:, :2]}, {3: lengths[:1]}, {12: True}, {13: at[:1]}, {13: at.astype(F32)}])  # fmt: skip
    refuse("LightningIndexer", good, [{7: "PA_BSND"}, {7: "PA_BSND", 4: lengths}], "161001")
    for bad in ({3: lengths + 1}, {4: lengths + 4}):
        with pytest.raises(AclError, match="of sequence 0 is"):
            run("LightningIndexer", *[bad.get(i, a) for i, a in enumerate(good)])
    refuse("LightningIndexer", good, [{12: True, 14: None}], "161001")
    refuse("LightningIndexer", good, [{i: good[i].astype(float)} for i in range(3)])
    with pytest.raises(AclError, match="blockTable has 7"):
        bad = {4: lengths, 5: np.full((2, 1), 7, I32), 7: "PA_BSND"}
        run("LightningIndexer", *[bad.get(i, a) for i, a in enumerate(good)])


@pytest.mark.parametrize("heads", [4, 0])
@pytest.mark.parametrize("tokens", [3, 0])
@pytest.mark.parametrize("size", [8, 0])
def test_indexer_of_nothing(heads, tokens, size):
    """Without tokens there are no places; without numbers all scores are 0."""
    at, value = np.full((2, 3, 1, 4), 9, I32), np.full((2, 3, 1, 4), 9, F32)
    run("LightningIndexer", normal(2, 3, heads, size), normal(2, tokens, 1, size), normal(2, 3, heads), None, None, None, "BSND",
        "BSND", 4, 0, FAR, FAR, True, at, value)  # fmt: skip
    if heads * size == 0 or tokens == 0:
        same(value, 0)
        same(at, np.broadcast_to([*range(tokens), *[-1] * (4 - tokens)], at.shape))


def test_indexer_far_lengths():
    """Ends that are the least and the largest integers are refused before anything is computed with them."""
    q, k, w, at = normal(5, 4, 8), normal(6, 1, 8), normal(5, 4), np.zeros((5, 1, 2), I32)
    ends, rest = np.array([2, 5]), ["TND", "TND", 2, 0, FAR, FAR, False, at, np.zeros(0, F32)]
    run("LightningIndexer", q, k, w, ends, np.array([3, 6]), None, *rest)
    for far in (-FAR - 1, FAR, -1, 1):
        with pytest.raises(AclError, match="of sequence 1 is"):
            run("LightningIndexer", q, k, w, ends, np.array([2, far]), None, *rest)
        with pytest.raises(AclError, match="of sequence 1 is"):
            run("LightningIndexer", q, k, w, np.array([2, far]), ends, None, *rest)


ACTS = {"relu": torch.relu, "gelu": torch.nn.functional.gelu, "silu": torch.nn.functional.silu,
        "fastgelu": lambda x: x * torch.sigmoid(1.702 * x)}  # fmt: skip


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("experts", [0, 3])
@pytest.mark.parametrize("dtype", FLOATS)
def test_network(act, experts, dtype):
    lead, k, n, m = (7,) if experts else (2, 3), 8, 6, 5
    front = (experts,) if experts else ()
    x = normal(*lead, k, dtype=dtype)
    w1, w2 = (
        normal(*front, k, n, dtype=dtype) / np.sqrt(k).astype(dtype),
        normal(*front, n, m, dtype=dtype),
    )
    b1, b2 = normal(*front, n), normal(*front, m)
    sizes = [3, 0, 4]
    rows = x.reshape(-1, k).astype(float)
    want, none = [], [None] * 8
    for g, part in enumerate(np.split(rows, np.cumsum(sizes)[:-1]) if experts else [rows]):
        at = g if experts else ...
        between = ACTS[act](torch.tensor(part @ w1[at].astype(float) + b1[at]))
        want.append(between.numpy() @ w2[at].astype(float) + b2[at])
    want, tolerance = (
        np.concatenate(want).reshape(*lead, m),
        {"float16": 5e-3, "bfloat16": 4e-2, "float32": 1e-4}[dtype.name],
    )
    for ends in (False, True) if experts else (False,):
        y = np.zeros((*lead, m), dtype)
        tokens = [] if not experts else np.cumsum(sizes).tolist() if ends else sizes
        run("FFNV2", x, w1, w2, tokens, b1, b2, *none, act, 1, ends, y)
        close(y.astype(float), want, rtol=tolerance, atol=tolerance)
    run("FFNV2", x[:0], w1, w2, [0] * experts or None, None, None, *none, act, 0, False, y[:0])
    good = [x, w1, w2, sizes if experts else None, None, None, *none, act, 0, False, y]
    run("FFNV2", *good)
    refuse("FFNV2", good, [{14: "swiglu"}, {6: b1}, {1: w1[..., :3]}, {2: w2[..., :3, :]}, {4: b2}, {17: y[..., :3]},
                           {3: [1, 2]}, {3: [9, 9, 9]}, {0: x[..., :3]}, {4: b1.astype(float)}])  # fmt: skip
    refuse("FFNV2", [a.astype(float) if isinstance(a, np.ndarray) else a for a in good], [{}])


@pytest.mark.parametrize("ends", [True, False])
def test_network_rows(ends):
    """The experts' rows are all of x, in their order: nothing else is taken for an end."""
    good = [normal(7, 4), normal(3, 4, 5), normal(3, 5, 2), [7, 7, 7] if ends else [7, 0, 0], *[None] * 10, "relu", 0, ends,
            np.zeros((7, 2), F32)]  # fmt: skip
    run("FFNV2", *good)
    tokens = [[7, -7, 7], [7, 0, 0], [7, FAR, 7], [7, 7, -FAR], [8, 7, 7], [-1, 7, 7], [6, 6, 6]]
    if not ends:
        tokens = [[7, -7, 7], [7, FAR, 0], [7, 1, -1], [7, 0, -FAR - 1], [-1, 8, 0], [3, 3, 0]]
    refuse("FFNV2", good, [{3: t} for t in tokens])
    refuse("FFNV2", good, [{1: good[1][:0], 2: good[2][:0], 3: t} for t in ([], None)])


@pytest.mark.parametrize("form", ["gelu_erf", "gelu_tanh"])
@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16])
def test_product_with_gelu(form, dtype):
    x1, x2 = (RNG.integers(-8, 8, s).astype(np.int8) for s in ((2, 5, 16), (16, 8)))
    rows, columns = RNG.uniform(0.1, 0.3, 5).astype(F32), RNG.uniform(0.05, 0.1, 8).astype(F32)
    bias, none = normal(8), [None] * 4
    v = (x1.astype(float) @ x2.astype(float)) * rows[:, None] * columns
    for name in ("FusedQuantMatmul", "FusedQuantMatmulWeightNz"):
        for add in (None, bias):
            for b in (x2, Int4(x2), pack(x2)):
                a, y = v if add is None else v + add, np.zeros((2, 5, 8), dtype)
                run(
                    name,
                    x1 if b is x2 else Int4(x1),
                    b,
                    rows,
                    columns,
                    *none,
                    add,
                    None,
                    form,
                    0,
                    y,
                )
                want = 0.5 * a * (1 + np.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)))
                if form == "gelu_erf":
                    want = torch.nn.functional.gelu(torch.tensor(a)).numpy()
                close(y.astype(float), want, rtol=2**-7 if dtype == BF16 else 2**-10, atol=1e-4)
    good = [x1, x2, rows, columns, *none, None, None, form, 0, y]
    refuse(
        "FusedQuantMatmul",
        good,
        [{10: "relu"}, {11: 32}, {4: rows}, {6: rows}, {9: y}, {12: y.astype(F32)}, {2: rows[:3]}],
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_turned_rows(dtype):
    x, rotation = normal(5, 24, dtype=dtype), np.linalg.qr(RNG.normal(size=(8, 8)))[0].astype(dtype)
    v = (x.astype(float).reshape(5, 3, 8) @ rotation.astype(float)).reshape(5, 24)
    none = [None, -1, "rint", 0, 0.0, False]
    for y, top in (
        (np.zeros((5, 24), np.int8), 127),
        (Int4(np.zeros((5, 24))), 7),
        (np.zeros((5, 3), I32), 7),
    ):
        told = np.zeros(5, F32)
        run("RotateQuant", x, rotation, *none, y, told)
        close(told, np.abs(v).max(1) / top, rtol=1e-4)
        if isinstance(y, np.ndarray) and y.dtype == I32:
            bits = (y[..., None] >> (4 * np.arange(8)) & 15).reshape(5, 24)
            q = np.where(bits > 7, bits - 16, bits)
        else:
            q = y.values() if isinstance(y, Int4) else y
        assert (np.abs(q * told[:, None].astype(float) - v) <= told[:, None] * 0.502).all()
    q = np.zeros((5, 24), np.int8)
    run("RotateQuant", x[:0], rotation, *none, q[:0], told[:0])
    good = [x, rotation, *none, q, told]
    refuse("RotateQuant", good, [{1: rotation[:7]}, {1: rotation[:7, :7].copy()}, {2: told}, {3: 0}, {4: "floor"}, {5: 1}, {6: 6.0},
                                 {7: True}, {8: q[:2]}, {9: told[:2]}, {0: x[0]}])  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
def test_gradient_of_a_gate(dtype):
    x = torch.tensor(RNG.normal(size=(6, 8)), requires_grad=True)
    expert = np.stack([RNG.permutation(8)[:3] for _ in range(6)]).astype(I32)
    s, g = torch.sigmoid(x), normal(6, 3, dtype=dtype)
    y = torch.gather(s, 1, torch.tensor(expert.astype(np.int64)))
    (2.5 * y / (y.sum(1, keepdim=True) + 0.1)).backward(torch.tensor(g.astype(float)))
    out = np.full((8, 6), 9, dtype).T
    good = [s.detach().numpy().astype(F32), g, expert, 0, 1, 2.5, 0.1, out]
    run("MoeGatingTopKBackward", *good)
    tolerance = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-5}[dtype.name]
    close(out.astype(float), x.grad, rtol=tolerance, atol=tolerance / 10)
    run(
        "MoeGatingTopKBackward",
        *[
            {0: good[0][:0], 1: g[:0], 2: expert[:0], 7: out[:0]}.get(i, a)
            for i, a in enumerate(good)
        ],
    )
    refuse(
        "MoeGatingTopKBackward",
        good,
        [{3: 1}, {4: 0}, {1: g[:2]}, {2: expert[:, :2]}, {7: out[:, :3]}, {0: expert}],
    )
    with pytest.raises(AclError, match="expertIdx has"):
        run("MoeGatingTopKBackward", *[{2: expert + 8}.get(i, a) for i, a in enumerate(good)])


def greatest_and_sum(q, k, w):
    """Of the scores of the queries (s, g, d) of one sequence: what a softmax needs."""
    dots = np.maximum(np.einsum("sgd,td->sgt", q.astype(float), k.astype(float)), 0)
    score = np.einsum("sg,sgt->st", w.astype(float), dots)
    hidden = np.arange(len(k)) > np.arange(len(q))[:, None] + len(k) - len(q)
    score[hidden] = -np.inf
    top = score.max(1)
    return top, np.exp(score - top[:, None]).sum(1)


@pytest.mark.parametrize("dtype", FLOATS)
def test_greatest_and_sum_of_the_indexers_scores(dtype):
    name, b, s1, s2, g, d = "DenseLightningIndexerSoftmaxLse", 2, 3, 5, 4, 8
    q, k, w = (normal(*s, dtype=dtype) for s in ((b, s1, g, d), (b, s2, 1, d), (b, s1, g)))
    top, total = np.zeros((b, 1, s1), F32), np.zeros((b, 1, s1), F32)
    run(name, q, k, w, None, None, "BSND", 3, FAR, FAR, top, total)
    for i in range(b):
        want = greatest_and_sum(q[i], k[i, :, 0], w[i])
        close(top[i, 0], want[0], rtol=1e-5, atol=1e-5)
        close(total[i, 0], want[1], rtol=1e-4)
    flat = [q.reshape(-1, g, d), k.reshape(-1, 1, d), w.reshape(-1, g)]
    outs = [np.zeros((1, b * s1), F32) for _ in range(2)]
    good = [*flat, [2, 6], [4, 10], "TND", 3, FAR, FAR, *outs]
    run(name, *good)
    for rows, keys in ((slice(0, 2), slice(0, 4)), (slice(2, 6), slice(4, 10))):
        want = greatest_and_sum(flat[0][rows], flat[1][keys, 0], flat[2][rows])
        close(outs[0][0, rows], want[0], rtol=1e-5, atol=1e-5)
        close(outs[1][0, rows], want[1], rtol=1e-4)
    refuse(name, good, [{3: [2, 5]}, {4: [4, 11]}, {3: [5, 6]}, {4: [11, 10]}, {3: None}, {5: "BSND"}, {5: "PA_BSND"},
                        {6: 0}, {7: 1}, {8: 1}, {9: top}, {2: flat[2][:5]}, {1: k[:, :2].reshape(-1, 1, d)}])  # fmt: skip
    few = [q, k[:, :2], w, None, None, "BSND", 3, FAR, FAR, top, total]
    refuse(name, few, [{}])
