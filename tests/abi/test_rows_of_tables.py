"""Special functions, embeddings and rescaled rows through CANN's interface, against mpmath and PyTorch."""

import mpmath
import numpy as np
import pytest
import torch
from aclnn import AclError, run

RNG = np.random.default_rng(31)
close, same = np.testing.assert_allclose, np.testing.assert_array_equal


def special_inputs(name):
    if name == "Erfinv":
        x = np.concatenate([RNG.uniform(-1, 1, 300), 1 - 10.0 ** RNG.uniform(-15, -1, 100), 10.0 ** RNG.uniform(-300, -1, 100)])  # fmt: skip
    else:
        poles = -RNG.integers(0, 20, 100) + RNG.choice([-1, 1], 100) * 10.0 ** RNG.uniform(
            -9, -1, 100
        )
        x = np.concatenate([RNG.uniform(-20, 20, 300), 10.0 ** RNG.uniform(-10, 10, 200), poles])
    return x


ORACLES = {
    "Digamma": mpmath.digamma,
    "Lgamma": lambda v: mpmath.log(abs(mpmath.gamma(v))),
    "Erfinv": mpmath.erfinv,
}


@pytest.mark.parametrize("name", ORACLES)
def test_special(name):
    mpmath.mp.dps = 60
    x = special_inputs(name)
    want = np.array([float(ORACLES[name](mpmath.mpf(float(v)))) for v in x])
    relative = {"Digamma": 4e-15, "Lgamma": 2e-14, "Erfinv": 4e-15}[name]
    absolute = {"Digamma": 4e-15, "Lgamma": 1e-14, "Erfinv": 0}[name]
    got = run(name, x, np.empty_like(x))
    assert (np.abs(got - want) <= relative * np.abs(want) + absolute).all()
    for dtype in (np.float32, np.float16):
        y = x[np.abs(x) < 1e4].astype(dtype)
        y = y[np.abs(y) < 1] if name == "Erfinv" else y[y > 0]
        w = np.array([float(ORACLES[name](mpmath.mpf(float(v)))) for v in y])
        got = run(name, y[::-2], np.empty((y[::-2].size, 2), dtype)[:, 1])
        with np.errstate(over="ignore"):
            nearest = w[::-2].astype(dtype)
        finite = np.isfinite(nearest)
        same(got[~finite], nearest[~finite])
        unit = np.spacing(np.abs(nearest[finite])).astype(float)
        assert (np.abs(got[finite] - w[::-2][finite]) <= 0.51 * unit + 1e-14).all()
    bf = torch.tensor(x[:50]).bfloat16().float().numpy()
    import ml_dtypes

    got = run(name, bf.astype(ml_dtypes.bfloat16), np.empty(50, ml_dtypes.bfloat16))
    w = run(name, bf.astype(float), np.empty(50))
    same(got.astype(np.float32), w.astype(ml_dtypes.bfloat16).astype(np.float32))
    run(name, np.empty((0, 3)), np.empty((0, 3)))
    for bad in ((x, np.empty(3)), (x, np.empty(x.size, int)), (x.astype(complex), x)):
        with pytest.raises(AclError, match="16100"):
            run(name, *bad)


def test_special_ends():
    x = np.array([0.0, -0.0, -1, -2, np.inf, -np.inf, np.nan])
    for name, f in (("Digamma", torch.digamma), ("Lgamma", torch.lgamma)):
        same(run(name, x, np.empty(7)), f(torch.tensor(x)).numpy())
    x = np.array([1, -1, 1.5, -2, 0, -0.0, np.nan])
    same(run("Erfinv", x, np.empty(7)), torch.erfinv(torch.tensor(x)).numpy())
    y = run("InplaceErfinv", np.array([0.5, -0.25], np.float32))
    close(y, torch.erfinv(torch.tensor([0.5, -0.25])))
    same(run("Erfinv", np.array([0, 1]), np.empty(2, np.float32)), [0, np.inf])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_embedding_dense_backward(dtype):
    grad, index = RNG.standard_normal((3, 4, 5)).astype(dtype), RNG.integers(0, 7, (3, 4))
    for padding, scale in ((3, False), (100, True), (0, True)):
        want = torch.ops.aten.embedding_dense_backward(
            torch.tensor(grad).double(), torch.tensor(index), 7, padding, scale
        )
        out = np.empty((7, 5), dtype)
        run("EmbeddingDenseBackward", grad, index, 7, padding, scale, out)
        close(out, want, rtol=1e-2 if dtype == np.float16 else 1e-5, atol=1e-3)
        out = np.empty((5, 7), dtype).T
        run("EmbeddingDenseBackward", np.asfortranarray(grad), index.astype(np.int32), 7, padding, scale, out)  # fmt: skip
        close(out, want, rtol=1e-2 if dtype == np.float16 else 1e-5, atol=1e-3)
    empty = np.empty((0, 5), dtype), np.empty(0, int)
    same(run("EmbeddingDenseBackward", *empty, 7, 0, False, out), np.zeros((7, 5)))
    with pytest.raises(AclError, match="161002.*elements"):
        run("EmbeddingDenseBackward", grad, index[:2], 7, 0, False, out)
    with pytest.raises(AclError, match="out of bounds"):
        run("EmbeddingDenseBackward", grad, index + 7, 7, 0, False, out)


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("width", [4, 255, 257, 600])
def test_embedding_bag(mode, last, width):
    weight = RNG.standard_normal((10, width))
    index = RNG.integers(0, 10, 12)
    offsets = np.array([0, 3, 3, 8, 12] if last else [0, 3, 3, 8])
    for padding in (-1, int(index[4])):
        for dtype in (np.float64, np.float32, np.float16):
            samples = RNG.random(12).astype(dtype) if mode == 0 else None
            w = weight.astype(dtype)
            want = torch.ops.aten._embedding_bag(
                torch.tensor(w).double(), torch.tensor(index), torch.tensor(offsets), False, mode, False,
                None if samples is None else torch.tensor(samples).double(), last, padding)  # fmt: skip
            out, bag_of, size = np.empty((4, width), dtype), np.empty(12, int), np.empty(4, int)
            top = np.empty((4, width), int) if mode == 2 else np.empty(4, int)
            run("EmbeddingBag", np.asfortranarray(w), index.astype(np.int32), offsets, False, mode, False, samples,
                last, padding, out, bag_of, size, top)  # fmt: skip
            close(out, want[0], rtol=2e-3 if dtype == np.float16 else 1e-6, atol=1e-6)
            same(bag_of, np.repeat(np.arange(4), [3, 0, 5, 4]))
            if mode == 1:
                same(size, want[2][:4])
            if mode == 2:
                ends = ((0, 0, 3), (2, 3, 8), (3, 8, 12))
                held = [bag for bag, i, j in ends if (index[i:j] != padding).any()]
                same(top[held], want[3][held])
    with pytest.raises(AclError, match="161002.*mode"):
        run("EmbeddingBag", weight, index, offsets, False, 3, False, None, last, -1, out, bag_of, size, top)  # fmt: skip
    with pytest.raises(AclError, match="out of bounds"):
        run("EmbeddingBag", weight, index + 10, offsets, False, mode, False, None, last, -1, np.empty((4, width)),
            bag_of, size, top)  # fmt: skip


def test_embedding_bag_ends_where_the_last_offset_says():
    """What comes after the last offset is in no bag; an offset beyond the indices is refused."""
    weight, index = RNG.standard_normal((10, 4)), RNG.integers(0, 10, 12)
    out, bag_of, size, top = np.empty((2, 4)), np.empty(12, int), np.empty(2, int), np.empty(2, int)
    rest = (False, 0, False, None, True, -1, out, bag_of, size, top)
    run("EmbeddingBag", weight, index, np.array([0, 3, 10]), *rest)
    close(out, [weight[index[:3]].sum(axis=0), weight[index[3:10]].sum(axis=0)], rtol=1e-12)
    for offsets in ([0, 3, 13], [0, 3, -1], [0, 5, 3]):
        with pytest.raises(AclError, match="bag 1 goes from"):
            run("EmbeddingBag", weight, index, np.array(offsets), *rest)


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.0, float("inf")])
def test_renorm(p):
    x = RNG.standard_normal((4, 3, 5)) * 3
    for dtype, tolerance in ((np.float64, 1e-6), (np.float32, 1e-5), (np.float16, 2e-3)):
        for dim in (0, 1, -1):
            a = x.astype(dtype)
            q = p if p != float("inf") else 1e9
            want = a.astype(float)
            if p == float("inf"):
                axes = tuple(d for d in range(3) if d != dim % 3)
                norm = np.abs(want).max(axes, keepdims=True)
                want = np.where(norm > 2, want * (2 / (norm + 1e-7)), want)
            else:
                want = torch.renorm(torch.tensor(want), q, dim, 2.0).numpy()
            close(run("Renorm", a, p, dim, 2.0, np.empty_like(a)), want, rtol=tolerance)
            b = np.asfortranarray(a)
            run("InplaceRenorm", b, p, dim, 2.0)
            close(b, want, rtol=tolerance)
    z = x + 1j * RNG.standard_normal(x.shape)
    for dtype, tolerance in ((np.complex128, 1e-6), (np.complex64, 1e-5)):
        a = z.astype(dtype)
        if p == float("inf"):
            norm = np.abs(z).max((0, 2), keepdims=True)
            want = np.where(norm > 2, z * (2 / (norm + 1e-7)), z)
        else:
            want = torch.renorm(torch.tensor(z), p, 1, 2.0).numpy()
        close(run("Renorm", a, p, 1, 2.0, np.empty_like(a)), want, rtol=tolerance)
        run("InplaceRenorm", a, p, 1, 2.0)
        close(a, want, rtol=tolerance)
    with pytest.raises(AclError, match="161002"):
        run("Renorm", z, p, 1, 2.0, np.empty_like(x))
    run("Renorm", x[:0], p, 1, 2.0, np.empty((0, 3, 5)))
    for bad in ((x, -1.0, 0, 2.0, x), (x, p, 3, 2.0, x), (x, p, 0, -2.0, x), (x[0, 0], p, 0, 2.0, x[0, 0])):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("Renorm", *bad)


def test_embedding_renorm():
    x, index = RNG.standard_normal((9, 6)) * 2, np.array([[1, 4], [4, 8]], np.int32)
    for dtype, tolerance in ((np.float32, 1e-5), (np.float16, 2e-3)):
        a = x.astype(dtype)
        want = torch.tensor(a).double()
        torch.embedding_renorm_(want, torch.tensor(index).long().reshape(-1), 1.5, 2.0)
        b = np.asfortranarray(a)
        run("EmbeddingRenorm", b, index, 1.5, 2.0)
        close(b, want, rtol=tolerance)
    run("EmbeddingRenorm", a, np.empty(0, int), 1.0, 2.0)
    with pytest.raises(AclError, match="out of bounds"):
        run("EmbeddingRenorm", a, index + 5, 1.0, 2.0)
    with pytest.raises(AclError, match="161002"):
        run("EmbeddingRenorm", a, index, 1.0, 0.0)
