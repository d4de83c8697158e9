"""QR, cross products, triangular systems, distances and sums of groups through CANN's interface."""

import numpy as np
import pytest
import torch
from aclnn import AclError, run

RNG = np.random.default_rng(34)
close, same = np.testing.assert_allclose, np.testing.assert_array_equal


def numbers(*shape, dtype=np.float64):
    x = RNG.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * RNG.standard_normal(shape)
    return x.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.complex64, np.complex128])
def test_qr(dtype):
    tolerance = {2: 2e-2, 4: 1e-4, 8: 1e-12}[np.dtype(dtype).itemsize // (2 if np.dtype(dtype).kind == "c" else 1)]  # fmt: skip
    for m, n in ((5, 3), (3, 5), (4, 4)):
        a = numbers(2, m, n, dtype=dtype)
        k = min(m, n)
        for mode, p in ((0, k), (1, m)):
            q, r = np.empty((2, p, m), dtype).swapaxes(1, 2), np.empty((2, p, n), dtype)
            run("LinalgQr", np.asfortranarray(a), mode, q, r)
            close(q.astype(complex) @ r, a, atol=tolerance)
            close(q.swapaxes(1, 2).conj().astype(complex) @ q, np.broadcast_to(np.eye(p), (2, p, p)), atol=tolerance)  # fmt: skip
            same(np.tril(r, -1), 0)
        only = np.empty((2, k, n), dtype)
        run("LinalgQr", a, 2, np.empty(0, dtype), only)
        close(np.abs(only), np.abs(r[:, :k]), atol=tolerance)
    run("LinalgQr", a[:0], 0, q[:0], r[:0])
    for bad in ((a, 3, q, r), (a, 0, q[:, :2], r), (a[0, 0], 0, q, r), (a.real.astype(int), 0, q, r)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("LinalgQr", *bad)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint8, np.int64, np.complex64])  # fmt: skip
def test_cross(dtype):
    a, b = (numbers(4, 3, 5, dtype=np.float64) * 3 for _ in range(2))
    a, b = a.astype(dtype) if np.dtype(dtype).kind != "u" else np.abs(a).astype(dtype), np.abs(b).astype(dtype)  # fmt: skip
    wide = np.float32 if dtype == np.float16 else dtype
    want = np.cross(a.astype(wide), b[:1].astype(wide), axis=1).astype(dtype)
    got = run("LinalgCross", np.asfortranarray(a), b[:1], -2, np.empty((5, 3, 4), dtype).T)
    close(got, want, rtol=1e-2 if dtype == np.float16 else 1e-5, atol=1e-5)
    same(run("LinalgCross", a, b, 1, a.copy()), run("LinalgCross", a, b, 1, a))
    run("LinalgCross", a[:0], b[:0], 1, np.empty((0, 3, 5), dtype))
    for bad in ((a, b, 2, a), (a, b, 3, a), (a, b[:2], 1, a), (a[:1], b[:1], 1, a)):
        with pytest.raises(AclError, match="161002"):
            run("LinalgCross", *bad)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_triangular_solve(dtype):
    a = numbers(2, 1, 6, 6, dtype=dtype) + 4 * np.eye(6).astype(dtype)
    b = numbers(3, 6, 4, dtype=dtype)
    rtol = 1e-3 if np.dtype(dtype).char in "fF" else 1e-10
    for flags in np.ndindex(2, 2, 2):
        upper, trans, unit = map(bool, flags)
        want = torch.triangular_solve(torch.tensor(b), torch.tensor(a), upper, trans, unit)
        x, m = np.empty((2, 3, 4, 6), dtype).swapaxes(2, 3), np.empty((2, 3, 6, 6), dtype)
        run("TriangularSolve", np.asfortranarray(b), np.asfortranarray(a), upper, trans, unit, x, m)
        close(x, want[0], rtol=rtol, atol=rtol * np.abs(want[0].numpy()).max())
        same(m, np.broadcast_to(a, m.shape))
    run("TriangularSolve", b[:0], a[:0, 0], True, False, False, x[:0, 0], m[:0, 0])
    for bad in ((b[:, :5], a, x), (b, a[..., :5], x), (b, a, x[0]), (b.astype(np.float16), a, x)):
        with pytest.raises(AclError, match="161002"):
            run("TriangularSolve", *bad[:2], True, False, False, bad[2], m)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf")])
def test_pdist(p):
    for dtype, rtol in ((np.float32, 1e-5), (np.float16, 2e-3)):
        x = numbers(7, 5, dtype=dtype)
        want = torch.pdist(torch.tensor(x).double(), p)
        close(run("Pdist", np.asfortranarray(x), p, np.empty(42, dtype)[::2]), want, rtol=rtol)
        close(run("PdistForward", x, p, np.empty(21, dtype)), want, rtol=rtol)
    run("Pdist", x[:1], p, np.empty(0, dtype))
    for bad in ((x, -1.0, np.empty(21, dtype)), (x, p, np.empty(20, dtype)), (x[0], p, np.empty(21, dtype))):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("Pdist", *bad)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_bias_grad(dtype):
    x, lengths = numbers(9, 4, dtype=dtype), np.array([2, 0, 5, 2])
    ends = lengths.cumsum()
    f = x.astype(float)
    want = np.array([f[e - n : e].sum(0) for e, n in zip(ends, lengths, strict=True)])
    rtol = 2e-3 if dtype == np.float16 else 1e-6
    out = np.empty((4, 4), dtype).T
    close(run("GroupedBiasAddGrad", np.asfortranarray(x), ends.astype(np.int32), out), want, rtol=rtol, atol=rtol)  # fmt: skip
    close(run("GroupedBiasAddGradV2", x, ends, 0, out), want, rtol=rtol, atol=rtol)
    close(run("GroupedBiasAddGradV2", x, lengths, 1, out), want, rtol=rtol, atol=rtol)
    cube = numbers(3, 5, 4, dtype=dtype)
    close(run("GroupedBiasAddGrad", cube, None, np.empty((3, 4), dtype)), cube.astype(float).sum(1), rtol=rtol, atol=rtol)  # fmt: skip
    same(run("GroupedBiasAddGrad", x[:0], ends * 0, out), np.zeros((4, 4)))
    for bad in ((x, None, 0, out), (x, ends, 2, out), (x, ends, 0, out[:3])):
        with pytest.raises(AclError, match="161002"):
            run("GroupedBiasAddGradV2", *bad)
    with pytest.raises(AclError, match="group"):
        run("GroupedBiasAddGradV2", x, ends + 1, 0, out)
