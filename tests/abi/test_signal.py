"""Fourier transforms, Scale, Sinkhorn, rounding of lists, the layout of weights: against PyTorch and NumPy."""

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import BF16, DTYPES, LAYOUTS, blank, laid, near, normal, wide

RNG = np.random.default_rng(92)
close, same = np.testing.assert_allclose, np.testing.assert_array_equal


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("norm", [1, 2, 3])
def test_rfft(layout, norm):
    name = {1: "backward", 2: "forward", 3: "ortho"}[norm]
    for shape in ((9,), (3, 16), (2, 3, 7), (0, 4)):
        a = laid(normal(*shape, dtype=np.float32), layout)
        for n in (1, 5, shape[-1], 32):
            want = np.fft.rfft(a.astype(float), n, norm=name)
            pairs = np.stack([want.real, want.imag], -1)
            for dim in (-1, a.ndim - 1):
                out = blank(pairs.shape, np.float32, layout)
                near(run("aclRfft1D", a, n, dim, norm, out), pairs, 8)
            flat = blank((*want.shape[:-1], 2 * want.shape[-1]), np.float32)
            near(run("aclRfft1D", a, n, -1, norm, flat), pairs.reshape(flat.shape), 8)
    example = run("aclRfft1D", np.arange(1, 5, dtype=np.float32), 4, -1, 1, blank(6, np.float32))
    same(example, [10, 0, -2, 2, -2, 0])  # of CANN's documentation
    a = normal(3, 8, dtype=np.float32)
    out = blank((3, 5, 2), np.float32)
    for bad in ((a, 8, 0, 1, out), (a, 0, -1, 1, out), (a, 8, -1, 4, out), (a, 8, -1, 0, out), (a, 9, -1, 1, out[:2]),
                (a.astype(float), 8, -1, 1, out), (a, 8, 2, 1, out), (a, 8, -1, 1, out.astype(float))):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("aclRfft1D", *bad)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_stft(dtype, layout):
    real = np.dtype(dtype).kind == "f"
    for shape in ((50,), (3, 41)):
        a = normal(*shape).astype(dtype)
        a = laid(a if real else a + 1j * normal(*shape).astype(dtype), layout)
        t = torch.tensor(a.copy())
        for n, hop, width in ((16, 4, 16), (16, 5, 9), (7, 1, 4), (1, 3, 1), (41, 2, 40)):
            window = laid(normal(width, low=0.1, high=1, dtype=t.real.numpy().dtype), layout)
            for w in (None, window):
                tw = None if w is None else torch.tensor(w.copy())
                for one_sided in (True, False) if real else (False,):
                    for normalized in (False, True):
                        want = torch.stft(t, n, hop, width, tw if tw is not None else torch.ones(width, dtype=t.real.dtype), center=False,
                                          normalized=normalized, onesided=one_sided, return_complex=True).numpy()  # fmt: skip
                        tol = 1e-12 if want.dtype == np.complex128 else 4e-5
                        out = blank(want.shape, want.dtype, layout)
                        run("aclStft", a, w, out, n, hop, width, normalized, one_sided, True)
                        close(out, want, rtol=tol, atol=tol)
                        pairs = blank((*want.shape, 2), want.real.dtype, layout)
                        run("aclStft", a, w, pairs, n, hop, width, normalized, one_sided, False)
                        close(pairs, np.stack([want.real, want.imag], -1), rtol=tol, atol=tol)


def test_stft_windows_and_errors():
    a, w = normal(30, dtype=np.float32), normal(8).astype(np.complex64) + 1j
    want = torch.stft(torch.tensor(a), 8, 2, 8, torch.tensor(w), center=False, onesided=False, return_complex=True)  # fmt: skip
    out = blank(want.shape, np.complex64)
    close(run("aclStft", a, w, out, 8, 2, 8, False, False, True), want, rtol=1e-5, atol=1e-5)
    r = w.real.copy()
    good = blank((5, 12), np.complex64)
    run("aclStft", a, r, good, 8, 2, 8, False, True, True)
    for bad in ((a, r, good, 31, 2, 8, False, True, True), (a, r, good, 8, 0, 8, False, True, True),
                (a, r, good, 8, 2, 9, False, True, True), (a, r[:5], good, 8, 2, 8, False, True, True),
                (a, w, good, 8, 2, 8, False, True, True), (a, r, good[:4], 8, 2, 8, False, True, True),
                (a, r, good, 8, 2, 8, False, True, False), (a.astype(int), r, good, 8, 2, 8, False, True, True),
                (a, r, good.astype(np.complex128), 8, 2, 8, False, True, True)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("aclStft", *bad)


# ---- Scale


@pytest.mark.parametrize("dtype", DTYPES[1:])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_scale(dtype, layout):
    x = laid(normal(2, 3, 4, 5, dtype=dtype), layout)
    for axis, part, axes in ((1, (3,), 1), (1, (3, 4), 2), (2, (4, 5), -1), (-1, (5,), 1), (0, (2, 3, 4, 5), -1),
                             (1, (1, 4), 2), (1, (), 0), (2, (1,), 1)):  # fmt: skip
        scale, bias = (laid(normal(*part, dtype=dtype), layout) for _ in range(2))
        behind = (1,) * (0 if len(part) == 0 else 4 - axis % 4 - len(part))
        for b in (None, bias):
            want = wide(x) * wide(scale).reshape(part + behind)
            want = want if b is None else want + wide(b).reshape(part + behind)
            for blob, count in ((True, axes), (False, -1)):
                near(run("Scale", x, scale, b, axis, count, blob, blank(x.shape, dtype, layout)), want)  # fmt: skip
    s = normal(3, dtype=dtype)
    out = blank(x.shape, dtype)
    for bad in ((x, s, None, 2, 1, True, out), (x, s, s[:2], 1, 1, True, out), (x, s, None, 4, 1, True, out),
                (x, s, None, 1, 4, True, out), (x, s, None, 1, 2, True, out), (x, s, None, 1, 1, True, out[0]),
                (x, s.astype(int), None, 1, 1, True, out), (x, s, None, 3, 1, False, out)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("Scale", *bad)


# ---- Sinkhorn


def sinkhorn(cost, tol):
    """The page's formula."""
    cost = torch.exp(cost)
    d0, d1 = torch.ones(cost.shape[0]), torch.ones(cost.shape[1])
    error, old = 1e9, d1
    while error > tol:
        d0 = 1 / (len(d0) * ((d1 * cost).sum(1) + 1e-8))
        d1 = 1 / (len(d1) * ((d0[:, None] * cost).sum(0) + 1e-8))
        error, old = (old - d1).abs().mean(), d1
    return d1 * cost * d0[:, None]


@pytest.mark.parametrize("dtype", DTYPES[1:])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sinkhorn(dtype, layout):
    for shape in ((1, 1), (3, 8), (40, 5), (17, 33)):
        cost = laid(normal(*shape, dtype=dtype), layout)
        for tol in (None, 1e-6, 0.01):
            out = blank(shape, dtype, layout)
            run("Sinkhorn", cost, None if tol is None else np.float32(tol), out)
            want = sinkhorn(wide(cost).float(), tol or 1e-4)
            rtol = 2e-5 if dtype == np.float32 else 2e-3 if dtype == np.float16 else 1.6e-2
            close(out.astype(float), want, rtol=rtol, atol=1e-7)
    run("Sinkhorn", blank((0, 3), dtype), None, blank((0, 3), dtype))
    cost, out = normal(3, 4, dtype=dtype), blank((3, 4), dtype)
    for bad in ((cost, np.float32(0), out), (cost, np.float32(np.nan), out), (cost[0], None, out[0]),
                (cost, None, out[:2]), (cost, None, out.astype(np.float64))):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("Sinkhorn", *bad)


# ---- ForeachRoundOffNumberV2, TransMatmulWeight

MODES = {1: torch.round, 2: torch.floor, 3: torch.ceil, 5: torch.trunc, 7: torch.frac}


@pytest.mark.parametrize("dtype", DTYPES[1:])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_foreach_round(dtype, layout):
    x = [laid(np.append(normal(5, dtype=dtype) * dtype.type(3), [0.5, -2.5, -0.0, np.inf, np.nan]).astype(dtype), layout),
         laid(normal(2, 3, dtype=dtype), layout)]  # fmt: skip
    for mode in (1, 2, 3, 4, 5, 7):
        out = [blank(a.shape, dtype) for a in x]
        run("ForeachRoundOffNumberV2", x, np.int8(mode) if mode % 2 else mode, out)
        for got, a in zip(out, x, strict=True):
            f = wide(a)
            away = torch.where((f - f.trunc()).abs() >= 0.5, f.trunc() + f.sign(), f.trunc())
            want = away if mode == 4 else MODES[mode](f)
            if mode == 7:
                want = torch.where(f.isinf(), torch.nan, want)
            same(got.astype(float), want.numpy())
    below = np.array([0.49999997, 4194303.5, 8388609.0], np.float32)
    out = [np.empty(3, np.float32)]
    run("ForeachRoundOffNumberV2", [below], 4, out)
    same(out[0], [0, 4194304, 8388609])
    for mode in (0, 6, 8, -1):
        with pytest.raises(AclError, match="roundMode"):
            run("ForeachRoundOffNumberV2", x, mode, [blank(a.shape, dtype) for a in x])


def test_foreach_round_integers():
    x = [RNG.integers(-99, 99, 9).astype(np.int16)]
    for mode in (1, 2, 3, 4, 5, 7):
        out = [np.empty(9, np.int16)]
        run("ForeachRoundOffNumberV2", x, mode, out)
        same(out[0], 0 * x[0] if mode == 7 else x[0])
    run("ForeachRoundOffNumberV2", [], 1, [])


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16, np.dtype(np.int8)])
def test_trans_matmul_weight(dtype):
    a = normal(4, 6, low=-9, high=9, dtype=dtype)
    before = a.copy()
    run("TransMatmulWeight", a)
    same(a.view(np.int8), before.view(np.int8))  # the plain layout
    for bad in (a[0], a.astype(np.float32)):
        with pytest.raises(AclError, match="161002"):
            run("TransMatmulWeight", bad)
