"""Lists, random numbers, layer normalisation and single operators through CANN's interface."""

import numpy as np
import pytest
from aclnn import AclError, run

RNG = np.random.default_rng(8)
close, same = np.testing.assert_allclose, np.testing.assert_array_equal


def test_foreach():
    x = [RNG.random(3), RNG.random((2, 2)), np.empty(0)]
    y = [RNG.random(3), RNG.random((2, 2)), np.empty(0)]
    out = [np.empty_like(a) for a in x]
    for name, f, args in (("AddListV2", lambda a, b: a + 3 * b, (y, 3)), ("SubListV2", lambda a, b: a - b, (y, 1)),
                          ("MulScalarV2", lambda a, b: a * 2, (2,)), ("PowScalarV2", lambda a, b: a**2, (2,)),
                          ("MaximumScalarV2", lambda a, b: np.maximum(a, 0.5), (0.5,)),
                          ("AddcmulScalarV2", lambda a, b: a + 0.5 * b * b, (y, y, 0.5)),
                          ("MulScalar", lambda a, b: a * 4, (np.array([4.0]),))):  # fmt: skip
        run("Foreach" + name, x, *args, out)
        for a, b, c in zip(x, y, out, strict=False):
            close(c, f(a, b))
    for bad in (([x[0]], y, 1, out), ([x[0], None, x[2]], y, 1, out), (x[::-1], y, 1, out)):
        with pytest.raises(AclError, match="16100"):
            run("ForeachAddListV2", *bad)


def test_random():
    n = 200_001
    a = run("InplaceUniform", np.empty(n), -1.0, 3.0, 7, 0)
    assert (
        a.min() >= -1 and a.max() < 3 and abs(a.mean() - 1) < 0.02 and abs(a.var() - 16 / 12) < 0.02
    )
    same(a, run("InplaceUniform", np.empty(n), -1.0, 3.0, 7, 0))
    assert not np.array_equal(a, run("InplaceUniform", np.empty(n), -1.0, 3.0, 8, 0))
    b = run("InplaceNormal", np.empty(n, np.float32), 2.0, 3.0, 1, 5)
    assert abs(b.mean() - 2) < 0.03 and abs(b.std() - 3) < 0.03
    # PyTorch's complex numbers: each is two real ones; the variance is that of both together.
    for dtype, real in ((np.complex64, np.float32), (np.complex128, np.float64)):
        z = run("InplaceNormal", np.empty(n, dtype), 2.0, 3.0, 1, 5)
        parts = run("InplaceNormal", np.empty(2 * n, real), 0.0, 3 / np.sqrt(2), 1, 5)
        close(z.real - 2, parts[::2], rtol=1e-5, atol=1e-6)
        close(z.imag, parts[1::2], rtol=1e-6)
        u = run("InplaceUniform", np.empty((n, 2), dtype)[:, 1], 0.0, 1.0, 7, 0)
        same(
            np.stack([u.real, u.imag], 1).ravel(),
            run("InplaceUniform", np.empty(2 * n, real), 0.0, 1.0, 7, 0),
        )
    mean = np.array([[0.0], [100.0]])
    c = run("NormalTensorFloat", mean, 1.0, 1, 0, np.empty((2, 5000)))
    assert abs(c.mean(1) - mean[:, 0]).max() < 0.1
    d = run("InplaceRandom", np.empty(n, int), -2, 5, 3, 0)
    same(np.unique(d), np.arange(-2, 5))
    e = run("Bernoulli", np.empty(n), 0.3, 1, 0, np.empty(n))
    assert abs(e.mean() - 0.3) < 0.01 and set(np.unique(e)) == {0, 1}
    same(np.sort(run("Randperm", 1000, 1, 0, np.empty(1000, int))), np.arange(1000))
    for call in (("InplaceUniform", np.empty(3), 2.0, 1.0, 0, 0), ("InplaceUniform", np.empty(3, int), 0.0, 1.0, 0, 0),
                 ("NormalTensorFloat", np.zeros(3), 1.0, 1, 0, np.empty(3, complex)),
                 ("Bernoulli", np.empty(3), 1.5, 0, 0, np.empty(3)), ("Randperm", -1, 0, 0, np.empty(0, int))):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run(*call)


def test_sigmoids_of_complex_numbers():
    """As PyTorch has them: 1 / (1 + exp(-z)), and z times that."""
    for dtype in (np.complex64, np.complex128):
        z = (RNG.standard_normal((7, 5)) + 1j * RNG.standard_normal((7, 5))).astype(dtype)
        want = 1 / (1 + np.exp(-z.astype(np.complex128)))
        close(run("Sigmoid", z, np.empty_like(z)), want, rtol=1e-5)
        close(run("Silu", z, np.empty_like(z)), z * want, rtol=1e-5)
        close(run("InplaceSigmoid", z.copy()), want, rtol=1e-5)


def test_layer_norm():
    x, w, b = RNG.standard_normal((4, 3, 5)), RNG.random((3, 5)), RNG.random((3, 5))
    mean, rstd = np.empty((4, 1, 1)), np.empty((4, 1, 1))
    m, v = x.mean((1, 2), keepdims=True), x.var((1, 2), keepdims=True)
    out = np.empty_like(x)
    run("LayerNorm", x, [3, 5], w, b, 1e-5, out, mean, rstd)
    close(out, (x - m) / np.sqrt(v + 1e-5) * w + b)
    close(mean, m), close(rstd, 1 / np.sqrt(v + 1e-5))
    h = x.astype(np.float16)
    out = np.empty_like(h)
    run("LayerNorm", h, [5], None, None, 1e-5, out, None, None)
    close(out, (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True), atol=1e-2)
    none, e = (
        np.empty(0),
        np.empty((0, 3, 5)),
    )  # statistics of no rows, of any shape without elements
    for stats in (none, np.empty((0, 1, 1))):
        run("LayerNorm", e, [3, 5], w, b, 1e-5, e.copy(), stats, stats)
    for bad in ((x, [4], None, None, 1e-5, np.empty_like(x), None, None),
                (x, [3, 5], w, b, 1e-5, np.empty_like(x), none, none),
                (e, [3, 5], w, b, 1e-5, e.copy(), np.empty(1), none)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("LayerNorm", *bad)


def test_single():
    x = RNG.integers(0, 4, (2, 3))
    same(run("OneHot", x, 4, np.array([2.0]), np.array([-1.0]), -1, np.empty((2, 3, 4))),
         np.where(np.arange(4) == x[..., None], 2.0, -1.0))  # fmt: skip
    same(run("OneHot", x, 4, np.array([1]), np.array([0]), 1, np.empty((2, 4, 3), int)),
         (np.arange(4)[:, None] == x[:, None]).astype(int))  # fmt: skip
    assert run("IsInScalarTensor", 3, np.array([1, 3]), False, False, np.zeros(1, bool))
    assert run("IsInScalarTensor", 3, np.array([1, 2]), False, True, np.zeros(1, bool))
    same(run("IsInTensorScalar", x, 2, False, True, np.empty((2, 3), bool)), x != 2)
    a = RNG.standard_normal(50) * 100
    for d in (-1, 0, 3):
        close(run("RoundDecimals", a, d, np.empty(50)), np.round(a, d))
