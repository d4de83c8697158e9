"""Hyper-connections, convolutions that look back, windows of sparse attention, against NumPy and PyTorch."""

import numpy as np
import pytest
import torch
from aclnn import run
from oracle import BF16, refuse

RNG = np.random.default_rng(97)
F32, close = np.float32, np.testing.assert_allclose
FLOATS = [np.dtype(np.float16), BF16, np.dtype(F32)]
TOLERANCE = {
    "float16": {"rtol": 2e-3, "atol": 5e-3},
    "bfloat16": {"rtol": 2e-2, "atol": 3e-2},
    "float32": {"rtol": 1e-4, "atol": 1e-4},
}


def normal(*shape, dtype=F32):
    return RNG.normal(size=shape).astype(dtype)


def wide(a, grad=False):
    return torch.tensor(np.asarray(a).astype(float), requires_grad=grad)


def near(got, want, dtype=None):
    close(
        got.astype(float),
        np.asarray(want.detach() if isinstance(want, torch.Tensor) else want),
        **TOLERANCE[(dtype or got.dtype).name],
    )


@pytest.mark.parametrize("lead", [(5,), (2, 3)])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mixed", [True, False])
def test_pre(lead, dtype, mixed):
    n, d = 4, 6
    many = 2 * n + (n * n if mixed else 0)
    x, phi, bias = normal(*lead, n, d, dtype=dtype), normal(many, n * d) / 3, normal(many)
    alpha, gamma = (
        RNG.uniform(0.3, 0.8, 3 if mixed else 2).astype(F32),
        RNG.uniform(0.5, 2, (n, d)).astype(F32),
    )
    for version, scale in (("", gamma), ("V2", None)):
        out = [
            np.zeros((*lead, *s), t)
            for s, t in (
                ((d,), dtype),
                ((n,), F32),
                ((n, n), F32),
                ((), F32),
                ((many,), F32),
                ((n,), F32),
            )
        ]
        given = [*out[:2], out[2] if mixed else None, *out[3:]]
        streams = (x, phi, alpha, bias, scale, 1e-3, 0.25)
        run("MhcPre" + version, *streams, *([1] if version else []), *given)
        a = x.astype(float).reshape(*lead, n * d)
        rms = 1 / np.sqrt((a**2).mean(-1) + 1e-3)
        mix = (a if scale is None else a * scale.reshape(-1)) @ phi.astype(float).T
        m = mix * rms[..., None]
        pre = 1 / (1 + np.exp(-(m[..., :n] * alpha[0] + bias[:n]))) + 0.25
        post = 2 / (1 + np.exp(-(m[..., n : 2 * n] * alpha[1] + bias[n : 2 * n])))
        wants = [(pre[..., None] * x.astype(float)).sum(-2), post, None, rms, mix, pre]
        if mixed:
            wants[2] = (m[..., 2 * n :] * alpha[2] + bias[2 * n :]).reshape(*lead, n, n)
        for got, want in zip(out, wants, strict=True):
            if want is not None:
                near(got, want)
        absent = [None] * 3
        run("MhcPre" + version, *streams, *([0] if version else []), *given[:3], *absent)


def test_pre_refused():
    n, d, t = 4, 6, 3
    good = [normal(t, n, d), normal(24, n * d), normal(3), normal(24), None, 1e-6, 1e-6, 0, normal(t, d), normal(t, n),
            normal(t, n, n), normal(t), normal(t, 24), normal(t, n)]  # fmt: skip
    run("MhcPreV2", *good)
    refuse("MhcPreV2", good, [{7: 2}, {1: good[1][:20]}, {2: normal(4)}, {3: normal(8)}, {4: normal(n, 3)}, {8: normal(t, 3)},
                              {10: normal(t, n, 3)}, {11: normal(t, 1)}, {12: normal(t, 8)}, {13: normal(t, 3)}, {0: normal(n, d)},
                              {0: normal(t, n, 0), 1: normal(24, 0), 8: normal(t, 0)}, {0: good[0].astype(float)}])  # fmt: skip


@pytest.mark.parametrize("lead", [(5,), (2, 3)])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mixed", [True, False])
def test_post(lead, dtype, mixed):
    n, d = 4, 7
    x, res = normal(*lead, n, d, dtype=dtype), normal(*lead, n, n) if mixed else None
    out, post, g = normal(*lead, d, dtype=dtype), normal(*lead, n), normal(*lead, n, d, dtype=dtype)
    a, o, w = (wide(v, True) for v in (x, out, post))
    r = wide(res if mixed else np.broadcast_to(np.eye(n), (*lead, n, n)).copy(), True)
    want = torch.einsum("...ji,...jd->...id", r, a) + w[..., None] * o[..., None, :]
    want.backward(wide(g))
    y = np.zeros_like(x)
    run("MhcPost", x, res, out, post, y)
    near(y, want)
    grads = [
        np.zeros_like(x),
        np.zeros((*lead, n, n), F32),
        np.zeros_like(out),
        np.zeros_like(post),
    ]
    run("MhcPostBackward", g, x, res, out, post, *grads)
    for got, leaf in zip(grads, (a, r, o, w), strict=True):
        near(got, leaf.grad)
    good = [x, res, out, post, y]
    refuse(
        "MhcPost",
        good,
        [{1: normal(*lead, n, 3)}, {2: out[..., :3]}, {3: post[..., :3]}, {4: y[:1]}],
    )
    refuse(
        "MhcPostBackward",
        [g, x, res, out, post, *grads],
        [{0: g[:1]}, {5: y[:1]}, {6: normal(*lead, n)}],
    )
    run("MhcPost", *[None if v is None else v[:0] for v in good])
    refuse("MhcPost", good, [{0: x.astype(float)}, {4: y.astype(float)}])
    if len(lead) == 1:  # without streams nothing comes to what they share
        many = [v[:, :0] for v in (g, x, post, x, post)]
        grads = [many[3], np.zeros((*lead, 0, 0), F32), np.full_like(out, 9), many[4]]
        run("MhcPostBackward", many[0], many[1], None, out, many[2], *grads)
        assert (grads[2] == 0).all()


def test_sinkhorn():
    x = normal(2, 5, 4, 4)
    for rounds in (1, 20):
        y = np.zeros_like(x)
        run("MhcSinkhorn", x, 1e-3, rounds, y, None, None)
        want = torch.softmax(wide(x), -1) + 1e-3
        want = want / (want.sum(-2, keepdim=True) + 1e-3)
        for _ in range(rounds - 1):
            want = want / (want.sum(-1, keepdim=True) + 1e-3)
            want = want / (want.sum(-2, keepdim=True) + 1e-3)
        near(y, want)
    run("MhcSinkhorn", x[:0], 1e-3, 3, y[:0], None, None)
    refuse(
        "MhcSinkhorn",
        [x, 1e-3, 3, y, None, None],
        [{2: 0}, {2: 101}, {4: y}, {5: y}, {3: y[:1]}, {0: normal(3, 4, 5)}],
    )


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("dtype", FLOATS)
def test_convolution(dtype, masked):
    s, b, h, w = 9, 2, 6, 3
    x, weight, g = (
        normal(s, b, h, dtype=dtype),
        normal(w, h, dtype=dtype),
        normal(s, b, h, dtype=dtype),
    )
    mask = RNG.random((b, s)) > 0.3 if masked else None
    a, k = wide(x, True), wide(weight, True)
    line = torch.nn.functional.pad(a.permute(1, 2, 0), (w - 1, 0))
    want = torch.nn.functional.conv1d(line, k.T[:, None], groups=h).permute(2, 0, 1)
    if masked:
        want = want * wide(mask).T[:, :, None]
    want.backward(wide(g))
    y, gx, gw = np.zeros((h, b, s), dtype).T, np.zeros_like(x), np.zeros_like(weight)
    run("MaskedCausalConv1d", x, weight, mask, y)
    near(y, want)
    run("MaskedCausalConv1dBackward", g, x, weight, mask, gx, gw)
    near(gx, a.grad)
    near(gw, k.grad)
    run("MaskedCausalConv1d", x[:0], weight, None, y[:0])
    run("MaskedCausalConv1dBackward", g[:0], x[:0], weight, None, gx[:0], gw)
    assert (gw == 0).all()
    gx[:] = 9  # a window of nothing
    run("MaskedCausalConv1dBackward", g, x, weight[:0], mask, gx, gw[:0])
    assert (gx == 0).all()
    good = [x, weight, np.ones((b, s), bool), y]
    refuse(
        "MaskedCausalConv1d",
        good,
        [{1: weight[:, :3]}, {2: np.ones((s, b), bool)}, {3: y[:3]}, {0: x[0]}, {2: normal(b, s)}],
    )
    refuse(
        "MaskedCausalConv1d", [v.astype(float) for v in (x, weight)] + [None, y.astype(float)], [{}]
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_windows(dtype):
    ends, block, stride, n, d = [20, 23, 60], 8, 4, 2, 5
    x, weight = normal(60, n, d, dtype=dtype), normal(block, n, dtype=dtype)
    starts = [
        s for a, b in zip([0, *ends], ends, strict=False) for s in range(a, b - block + 1, stride)
    ]
    a, k = wide(x, True), wide(weight, True)
    want = torch.stack([(a[s : s + block] * k[:, :, None]).sum(0) for s in starts])
    g = normal(*want.shape, dtype=dtype)
    want.backward(wide(g))
    y, gx, gw = np.zeros(want.shape, dtype), np.zeros_like(x), np.zeros_like(weight)
    good = [x, weight, ends, "TND", block, stride, 0, y]
    run("NsaCompress", *good)
    near(y, want)
    run("NsaCompressGrad", g, x, weight, ends, block, stride, 0, "TND", gx, gw)
    near(gx, a.grad)
    close(gw.astype(float), k.grad, rtol=TOLERANCE[dtype.name]["rtol"], atol=0.1)
    run("NsaCompress", x, weight, [5], "TND", block, stride, 0, y[:0])
    refuse(
        "NsaCompress",
        good,
        [
            {2: [20, 61]},
            {2: [20, 10]},
            {3: "BSND"},
            {4: 7},
            {5: 0},
            {5: 9},
            {6: 1},
            {7: y[:3]},
            {1: weight[:3]},
        ],
    )
    refuse("NsaCompress", good, [{2: None}], "161001")
    refuse("NsaCompress", good, [{0: x.astype(float), 1: weight.astype(float), 7: y.astype(float)}])
