"""Later versions of quantised operators, gates and rotations, against NumPy."""

import math

import numpy as np
import pytest
from aclnn import AclError, Int4, run
from oracle import BF16, refuse
from test_quant import pack

RNG = np.random.default_rng(96)
F32, I32, close, same = (
    np.float32,
    np.int32,
    np.testing.assert_allclose,
    np.testing.assert_array_equal,
)
FLOATS = [np.dtype(np.float16), BF16, np.dtype(F32)]


def rounds(q, v, step=1.0):
    """q is v / step rounded: within half a step, and what float32 adds to it."""
    assert (np.abs(q.astype(float) * step - v) <= step * 0.501 + np.abs(v) * 1e-5).all()


def gelu(x, form):
    x = x.astype(float)
    if form == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


@pytest.mark.parametrize("form", ["none", "tanh"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_gelu_quant(form, dtype):
    x = RNG.normal(scale=3, size=(2, 5, 8)).astype(dtype)
    q, told = np.zeros(x.shape, np.int8), np.zeros((2, 5), F32)
    for n in (1, 8):
        scale, offset = RNG.uniform(2, 9, n).astype(F32), RNG.uniform(-9, 9, n).astype(F32)
        run("GeluQuant", x, scale, offset, form, "static", "rint", 2, q, None)
        rounds(q, np.clip(gelu(x, form) * scale + offset, -128, 127))
        run("GeluQuant", x, scale, None, form, "dynamic", "rint", 2, q, told)
        v = gelu(x, form) * scale
        close(told, np.abs(v).max(-1) / 127, rtol=1e-5)
        rounds(q, v, told[..., None])
    run("GeluQuant", x, None, None, form, "dynamic", "rint", 2, q, told)
    close(told, np.abs(gelu(x, form)).max(-1) / 127, rtol=1e-5)
    run("GeluQuant", x[:0], None, None, form, "dynamic", "rint", 2, q[:0], told[:0])


def test_gelu_quant_refused():
    x, scale = RNG.normal(size=(3, 8)).astype(F32), np.ones(1, F32)
    good = [x, scale, None, "none", "static", "rint", 2, np.zeros((3, 8), np.int8), None]
    run("GeluQuant", *good)
    refuse("GeluQuant", good, [{3: "erf"}, {4: "none"}, {5: "round"}, {6: 3}, {1: np.ones(3, F32)}, {0: x.astype(int)},
                               {7: np.zeros((3, 7), np.int8)}, {7: np.zeros((3, 8), I32)}])  # fmt: skip
    refuse("GeluQuant", good, [{1: None}, {4: "dynamic"}], "161001")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("divides", [True, False])
def test_norm(dtype, divides):
    for shape in ((4, 3, 16), (1, 16), (16,)):
        x, gamma, beta = (
            RNG.normal(size=shape).astype(dtype),
            *RNG.uniform(0.5, 1, (2, 16)).astype(dtype),
        )
        scale, offset = (
            (RNG.uniform(0.02, 0.05, 1) if divides else RNG.uniform(20, 50, 1)).astype(dtype),
            np.array([3], np.int8),
        )
        rstd = 1 / np.sqrt((x.astype(float) ** 2).mean(-1, keepdims=True) + 1e-5)
        for shift, add in ((offset, beta), (None, None)):
            v = x.astype(float) * rstd * gamma.astype(float) + (
                0 if add is None else add.astype(float)
            )
            v = (v / scale.astype(float) if divides else v * scale.astype(float)) + (
                0 if shift is None else 3
            )
            given = (x, gamma, scale, shift, add, 1e-5, divides)
            for told in (np.full(rstd.shape, 9, F32), np.zeros(0, F32)):
                q = np.zeros(shape, np.int8)
                run("RmsNormQuantV3", *given, told.size > 0, q, told)
                rounds(q, np.clip(v, -128, 127))
                if told.size:
                    close(told, rstd, rtol=1e-5)
            four = np.zeros((*shape[:-1], 2), I32)
            run("RmsNormQuantV3", *given, False, four, np.zeros(0, F32))
            nibbles = (four[..., None] >> (4 * np.arange(8)) & 15).reshape(shape)
            rounds(np.where(nibbles > 7, nibbles - 16, nibbles), np.clip(v, -8, 7))


def test_norm_empty_and_refused():
    x, one = RNG.normal(size=(4, 8)).astype(F32), np.ones(8, F32)
    good = [
        x,
        one,
        one[:1],
        None,
        None,
        1e-5,
        True,
        True,
        np.zeros((4, 8), np.int8),
        np.zeros((4, 1), F32),
    ]
    run("RmsNormQuantV3", *good)
    run(
        "RmsNormQuantV3",
        *[{0: x[:0], 8: good[8][:0], 9: good[9][:0]}.get(i, a) for i, a in enumerate(good)],
    )
    q, told = np.zeros((0, 5, 8), np.int8), np.zeros((0, 5, 1), F32)
    run("RmsNormQuantV3", np.zeros((0, 5, 8), F32), *good[1:8], q, told)
    refuse("RmsNormQuantV3", good, [{1: one[:3]}, {2: one[:3]}, {8: good[8][:3]}, {9: np.zeros(4, F32)}, {0: x.astype(int)},
                                    {9: np.zeros((4, 1), np.float16)}, {9: np.zeros((4, 8), F32)}])  # fmt: skip


def test_dequantised_gate():
    x = RNG.integers(-900, 900, (6, 16)).astype(I32)
    weight, rows = RNG.uniform(1e-3, 1e-2, 16).astype(F32), RNG.uniform(0.5, 2, 6).astype(F32)
    q, told = np.zeros((6, 8), np.int8), np.zeros(6, F32)
    good = [
        x,
        weight,
        rows,
        None,
        None,
        None,
        None,
        True,
        "dynamic",
        2,
        "rint",
        -1,
        0,
        7.0,
        1.702,
        1.0,
        q,
        told,
    ]
    for left in (True, False):
        good[7] = left
        run("DequantSwigluQuantV2", *good)
        v = x * weight.astype(float) * rows[:, None]
        a, b = (v[:, :8], v[:, 8:]) if left else (v[:, 8:], v[:, :8])
        want = a / (1 + np.exp(-a)) * b
        close(told, np.abs(want).max(1) / 127, rtol=1e-5)
        rounds(q, want, told[:, None])
    good[11] = 1
    run("DequantSwigluQuantV2", *good)
    refuse(
        "DequantSwigluQuantV2",
        good,
        [{9: 3}, {10: "floor"}, {11: 0}, {12: 1}, {16: np.zeros((6, 1), I32)}, {17: told[:3]}],
    )


def test_kronecker():
    x = RNG.normal(size=(3, 4, 8)).astype(BF16)
    left, right = RNG.normal(size=(4, 4)).astype(BF16), RNG.normal(size=(8, 8)).astype(BF16)
    y = left.astype(float) @ x.astype(float) @ right.astype(float)
    out, told = np.zeros((3, 4, 1), I32), np.zeros(3, F32)
    run("FlatQuantV2", x, left, right, 0.8, 0.0, out, told)
    close(told, np.abs(y).max((1, 2)) / (7 / 0.8), rtol=1e-2)
    four = Int4(np.zeros((3, 4, 8)))
    run("FlatQuantV2", x, left, right, 1.0, 0.0, four, told)
    rounds(four.values(), np.clip(y / told[:, None, None], -8, 7), 1.0)
    refuse(
        "FlatQuantV2",
        [x, left, right, 1.0, 0.0, out, told],
        [{4: 6.0}, {3: 0.0}, {5: out[:2]}, {6: told[:2]}],
    )


def test_scatter():
    cache = RNG.integers(-99, 99, (3, 6, 4)).astype(np.int8)
    updates, at = RNG.normal(size=(2, 2, 4)).astype(BF16), np.array([1, 4], I32)
    scale, want = RNG.uniform(0.01, 0.05, (1, 1, 4)).astype(F32), cache.copy()
    for i, k in enumerate(at):
        want[i, k : k + 2] = np.clip(np.rint(updates[i].astype(F32) / scale[0]), -128, 127)
    good = [cache, at, updates, scale, None, -2, -1, 1, "rint"]
    run("InplaceQuantScatterV2", *good)
    same(cache, want)
    refuse("InplaceQuantScatterV2", good, [{8: "floor"}, {7: 0}, {1: at[:1]}])


@pytest.mark.parametrize("sigmoid", [True, False])
@pytest.mark.parametrize("dtype", FLOATS)
def test_hashed_experts(dtype, sigmoid):
    x, bias = RNG.normal(size=(5, 8)).astype(dtype), RNG.normal(size=8).astype(dtype)
    table = np.stack([RNG.permutation(8)[:3] for _ in range(20)]).astype(np.int64)
    ids = RNG.integers(0, 20, 5).astype(I32)
    y, expert, scores = np.zeros((5, 3), dtype), np.zeros((5, 3), I32), np.zeros((5, 8), F32)
    good = [x, bias, ids, table, 3, 1, 1, 0, 0, int(sigmoid), True, 2.5, 1e-20, y, expert, scores]
    run("MoeGatingTopKV2", *good)
    a = x.astype(float)
    s = 1 / (1 + np.exp(-a)) if sigmoid else np.exp(a) / np.exp(a).sum(1, keepdims=True)
    same(expert, table[ids])
    close(scores, s, rtol=1e-5)
    want = np.take_along_axis(s, table[ids], 1)
    want = 2.5 * (want / want.sum(1, keepdims=True) if sigmoid else want)
    close(y.astype(float), want, rtol=2**-7 if dtype == BF16 else 2**-10)
    run("MoeGatingTopKV2", *[{2: None, 3: None}.get(i, v) for i, v in enumerate(good)])
    same(expert, np.argsort(-(s + bias.astype(float)), 1, kind="stable")[:, :3])
    refuse(
        "MoeGatingTopKV2",
        good,
        [{2: ids[:3]}, {3: table[:, :2]}, {2: x[:, 0]}, {4: 9}, {13: y[:, :2]}],
    )
    refuse("MoeGatingTopKV2", good, [{2: None}, {3: None}, {15: None}], "161001")
    for change, message in (({2: ids + 20}, "inputIds has"), ({3: table + 8}, "tid2eid has")):
        with pytest.raises(AclError, match=message):
            run("MoeGatingTopKV2", *[change.get(i, v) for i, v in enumerate(good)])


@pytest.mark.parametrize("dtype", FLOATS)
def test_rotation_by_a_matrix(dtype):
    x = RNG.normal(size=(2, 3, 5, 8)).astype(dtype)
    cos, sin = RNG.uniform(-1, 1, (2, 1, 3, 1, 8)).astype(dtype)
    rotate, out = RNG.integers(-1, 2, (8, 8)).astype(dtype), np.zeros((2, 3, 5, 8), dtype)
    a = x.astype(float)
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5}[dtype.name]
    for matrix in (rotate, None):
        if matrix is None:
            turned = np.concatenate([-a[..., 4:], a[..., :4]], -1)
        else:
            turned = a @ matrix.astype(float)
        run("RotaryPositionEmbeddingV2", x, cos, sin, 0, matrix, out)
        close(
            out.astype(float),
            a * cos.astype(float) + turned * sin.astype(float),
            rtol=tolerance,
            atol=tolerance * 4,
        )
    run("RotaryPositionEmbeddingV2", x[:0], cos, sin, 1, rotate, out[:0])
    same(run("RotaryPositionEmbeddingV2", x, cos, sin, 0, rotate, x.copy()).shape, x.shape)
    refuse(
        "RotaryPositionEmbeddingV2",
        [x, cos, sin, 0, rotate, out],
        [{4: rotate[:4]}, {4: rotate.astype(int)}, {3: 4}],
    )


def test_finalize():
    rows, k, h = 4, 2, 6
    x, scales = RNG.normal(size=(rows * k, h)).astype(F32), RNG.uniform(0, 1, (rows, k)).astype(F32)
    at, out = RNG.permutation(rows * k).astype(I32), np.zeros((rows, h), F32)
    none = [None] * 4
    for mode in (0, 2):
        place = at.reshape(k, rows).T if mode == 0 else at.reshape(rows, k)
        run(
            "MoeFinalizeRoutingV4",
            x,
            at,
            None,
            None,
            None,
            scales,
            None,
            *none,
            mode,
            None,
            [],
            None,
            1,
            out,
        )
        close(out, (x[place] * scales[..., None]).sum(1), rtol=1e-5, atol=1e-6)
        good = [x, at, out * 0, None, None, None, None, *none, mode, None, None, None, k, out]
        run("MoeFinalizeRoutingV4", *good)
        close(out, x[place].sum(1), rtol=1e-5, atol=1e-6)
    refuse(
        "MoeFinalizeRoutingV4",
        good,
        [{7: x}, {10: x}, {12: [0, 1]}, {14: [3]}, {15: 3}, {11: 4}, {16: out[:3]}],
    )


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16])
def test_quantised_weights(dtype):
    x, weight = RNG.normal(size=(5, 16)).astype(dtype), RNG.integers(-8, 8, (16, 8)).astype(np.int8)
    scale, offset = (
        RNG.uniform(0.01, 0.02, (1, 8)).astype(dtype),
        RNG.uniform(-3, 3, (1, 8)).astype(dtype),
    )
    bias, y = RNG.normal(size=8).astype(F32 if dtype == BF16 else dtype), np.zeros((5, 8), dtype)
    want = x.astype(float) @ ((weight + offset.astype(float)) * scale.astype(float)) + bias.astype(
        float
    )
    for w in (weight, Int4(weight), pack(weight)):
        run("WeightQuantBatchMatmulNz", x, w, scale, offset, None, None, bias, 0, y)
        close(y.astype(float), want, rtol=2**-7, atol=2**-7)
    refuse("WeightQuantBatchMatmulNz", [x, weight, scale, offset, None, None, bias, 0, y],
           [{1: weight[:5]}, {8: y[:2]}, {2: scale[:, :3]}])  # fmt: skip
