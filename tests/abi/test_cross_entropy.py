"""Distances, Cholesky factors, singular values, cross entropies of a softmax: against PyTorch and its gradients."""

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import LAYOUTS, RNG, blank, every, laid, near, normal, wide

EACH = list(every())
ORDERS = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, -1.0, float("inf")]


def order(p):
    return float("inf") if p == -1 else p


@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize(("dtype", "layout"), EACH)
def test_cdist(p, dtype, layout):
    for first, second in (((5, 7), (200, 7)), ((2, 3, 4), (1, 6, 4)), ((4, 3), (2, 1, 5, 3))):
        x1, x2 = normal(*first, dtype=dtype), normal(*second, dtype=dtype)
        want = torch.cdist(
            wide(x1), wide(x2), order(p), compute_mode="donot_use_mm_for_euclid_dist"
        )
        out = blank(want.shape, dtype, layout)
        run("Cdist", laid(x1, layout), laid(x2, layout), p, 0, out)
        near(out, want, 60 if p == 0.5 else 4)


@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize(("dtype", "layout"), EACH)
def test_cdist_backward(p, dtype, layout):
    x1, x2 = normal(2, 5, 4, dtype=dtype), normal(2, 6, 4, dtype=dtype)
    x1[0, 1] = x2[0, 2]
    dy = normal(2, 5, 6, dtype=dtype)
    dist = torch.cdist(
        wide(x1), wide(x2), order(p), compute_mode="donot_use_mm_for_euclid_dist"
    ).numpy()
    single = dist.astype(dtype) if dtype.itemsize == 8 else dist.astype(np.float32)
    want = torch.ops.aten._cdist_backward(
        wide(dy), wide(x1), wide(x2), order(p), torch.tensor(dist)
    )
    if p in (-1.0, float("inf")) and dtype.itemsize < 8:  # the largest difference, in float32
        single = np.abs(x1.astype(np.float32)[:, :, None] - x2.astype(np.float32)[:, None]).max(-1)
    out = blank(x1.shape, dtype, layout)
    run("CdistBackward", laid(dy, layout), laid(x1, layout), laid(x2, layout), single, p, out)
    near(out, want, 30 if p < 1 else 8)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_cdist_of_many_rows(layout, dtype):
    """By a product, though near rows are as exact as by their differences."""
    x1, x2 = 100 + normal(2, 600, 20), 100 + normal(1, 90, 20)
    x2[0, 7], x2[0, 8] = x1[0, 3], x1[0, 4] + 1e-3
    x1, x2 = x1.astype(dtype), x2.astype(dtype)
    x1[1, 5, 2], x1[1, 6, 0] = np.inf, np.nan
    want = torch.cdist(wide(x1), wide(x2), compute_mode="donot_use_mm_for_euclid_dist").numpy()
    out = blank(want.shape, dtype, layout)
    run("Cdist", laid(x1, layout), laid(x2, layout), 2.0, 0, out)
    tol = 2e-6 if dtype == "float32" else 1e-3
    np.testing.assert_allclose(out.astype(float), want, rtol=tol, atol=1e-30)
    assert out[0, 3, 7] == 0


def test_cdist_errors():
    a, b, out = np.zeros((3, 4)), np.zeros((5, 4)), np.zeros((3, 5))
    run("Cdist", a[:0], b, 2.0, 0, out[:0])
    run("Cdist", a[:, :0], b[:, :0], 2.0, 0, out)
    assert (out == 0).all()
    run(
        "Cdist", np.array([[np.nan, 1.0]]), np.array([[0.0, 5.0]]), -1.0, 0, one := np.zeros((1, 1))
    )
    assert np.isnan(one)
    for args, match in [
        ((a, b[:, :3], 2.0, 0, out), "does not go with"),
        ((a, b, -2.0, 0, out), "p is -2"),
        ((a, b, 2.0, 3, out), "computeMode is 3"),
        ((a, b, 2.0, 0, out.T), "161002"),
        ((a[0], b, 2.0, 0, out), "161002"),
        ((a.astype(np.int64), b, 2.0, 0, out), "161002"),
        ((None, b, 2.0, 0, out), "161001"),
    ]:  # fmt: skip
        with pytest.raises(AclError, match=match):
            run("Cdist", *args)
    run("CdistBackward", out[:0], a[:0], b, out[:0], 2.0, a[:0])
    for args in [(out.T, a, b, out, 2.0, a), (out, a, b, out, -3.0, a), (out, a, b, out, 2.0, b)]:
        with pytest.raises(AclError, match="161002"):
            run("CdistBackward", *args)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_cholesky(upper, layout, dtype):
    for shape in ((5, 5), (2, 3, 4, 4), (0, 3, 3), (1, 1)):
        a = normal(*shape)
        if dtype.startswith("c"):
            a = a + 1j * normal(*shape)
        a = (a @ a.conj().swapaxes(-1, -2) + 3 * np.eye(shape[-1])).astype(dtype)
        other = a.copy()  # the triangle that is not read
        rows, columns = np.tril_indices(shape[-1], -1)
        if upper:
            other[..., rows, columns] = 99
        else:
            other[..., columns, rows] = 99
        out = laid(np.full(shape, 7).astype(dtype), layout)
        run("LinalgCholesky", laid(other, layout), upper, out)
        want = torch.linalg.cholesky(torch.tensor(a), upper=upper).numpy()
        tol = 1e-5 if dtype in ("float32", "complex64") else 1e-11
        np.testing.assert_allclose(out, want, rtol=tol, atol=tol)


def test_cholesky_errors():
    a = np.eye(3)
    with pytest.raises(AclError, match="not positive definite"):
        run("LinalgCholesky", -a, False, np.empty((3, 3)))
    for args in [
        (np.zeros((3, 2)), False, a),
        (a, False, np.zeros((2, 2))),
        (a.astype(int), False, a),
    ]:
        with pytest.raises(AclError, match="161002"):
            run("LinalgCholesky", *args)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "float16"])
def test_svd(full, layout, dtype):
    real = np.zeros(1, dtype).real.dtype
    tol = {"float16": 4e-3, "float32": 2e-5}.get(real.name, 1e-12)
    for shape in ((5, 3), (3, 5), (2, 3, 4, 4), (0, 3, 2), (1, 1)):
        a = normal(*shape)
        if dtype.startswith("c"):
            a = a + 1j * normal(*shape)
        a = a.astype(dtype)
        (m, n), k = shape[-2:], min(shape[-2:])
        sigma = laid(np.full((*shape[:-2], k), 7, real), layout)
        u = laid(np.full((*shape[:-2], m, m if full else k), 7).astype(dtype), layout)
        v = laid(np.full((*shape[:-2], n, n if full else k), 7).astype(dtype), layout)
        run("Svd", laid(a, layout), full, True, sigma, u, v)
        wide_a = a.astype(np.complex128)
        want = np.linalg.svd(wide_a, compute_uv=False)
        np.testing.assert_allclose(sigma.astype(float), want, rtol=tol, atol=tol)
        left, right = u.astype(np.complex128), v.astype(np.complex128)
        again = (
            left[..., :k]
            * sigma.astype(float)[..., None, :]
            @ right[..., :k].conj().swapaxes(-1, -2)
        )
        np.testing.assert_allclose(again, wide_a, rtol=tol, atol=5 * tol)
        for x in (left, right):
            unit = x.conj().swapaxes(-1, -2) @ x
            np.testing.assert_allclose(
                unit, np.broadcast_to(np.eye(unit.shape[-1]), unit.shape), atol=5 * tol
            )
        sigma[...] = 7
        run("Svd", laid(a, layout), full, False, sigma, None, None)
        np.testing.assert_allclose(sigma.astype(float), want, rtol=tol, atol=tol)


def test_svd_errors():
    a, s, u, v = np.zeros((4, 3)), np.zeros(3), np.zeros((4, 3)), np.zeros((3, 3))
    full = np.zeros((4, 4))
    run("Svd", np.zeros((4, 0)), True, True, np.zeros(0), full, np.zeros((0, 0)))
    np.testing.assert_array_equal(full, np.eye(4))
    for args, match in [
        ((a, True, True, s, u, v), "161002"),
        ((a, False, True, s, full, v), "161002"),
        ((a, False, True, s[:2], u, v), "161002"),
        ((a, False, True, s, u, v.astype(np.float32)), "161002"),
        ((a.astype(int), False, True, s, u, v), "161002"),
        ((s, False, True, s, u, v), "161002"),
        ((a, False, True, s, None, v), "161001"),
        ((None, False, True, s, u, v), "161001"),
    ]:  # fmt: skip
        with pytest.raises(AclError, match=match):
            run("Svd", *args)


@pytest.mark.parametrize(("dtype", "layout"), EACH)
def test_softmax_cross_entropy(dtype, layout):
    x, y = 3 * normal(6, 9, dtype=dtype), RNG.dirichlet(np.ones(9), 6).astype(dtype)
    y[1] = np.eye(9)[4]
    t = wide(x, grad=True)
    want = -(wide(y) * torch.log_softmax(t, -1)).sum(-1)
    loss, grad = blank((6,), dtype, layout), blank(x.shape, dtype, layout)
    run("SoftmaxCrossEntropyWithLogits", laid(x, layout), laid(y, layout), loss, grad)
    near(loss, want, 4)
    near(grad, torch.softmax(t, -1) - wide(y), 1)


def test_softmax_cross_entropy_edges():
    x, y = np.array([[-1e4, 0.0, 0.0]]), np.array([[0.0, 0.5, 0.5]])
    loss, grad = np.empty(1), np.empty((1, 3))
    run("SoftmaxCrossEntropyWithLogits", x, y, loss, grad)
    np.testing.assert_allclose(loss, np.log(2))
    run("SoftmaxCrossEntropyWithLogits", x[:0], y[:0], loss[:0], grad[:0])
    for args in [
        (x, y[:, :2], loss, grad),
        (x[0], y, loss, grad),
        (x, y, grad, grad),
        (x.astype(int), y, loss, grad),
    ]:
        with pytest.raises(AclError, match="161002"):
            run("SoftmaxCrossEntropyWithLogits", *args)
    with pytest.raises(AclError, match="161001"):
        run("SoftmaxCrossEntropyWithLogits", x, None, loss, grad)


@pytest.mark.parametrize("how", ["mean", "sum", "none", None])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize(("dtype", "layout"), EACH)
def test_cross_entropy(how, weighted, smoothing, dtype, layout):
    n, classes = 7, 11
    x, target = 2 * normal(n, classes, dtype=dtype), RNG.integers(0, classes, n)
    target[2] = target[5] = 3
    weight = RNG.uniform(0.1, 1, classes).astype(np.float32) if weighted else None
    for ignored in (-100, 3):
        t = wide(x, grad=True)
        want = torch.nn.functional.cross_entropy(
            t, torch.tensor(target), None if weight is None else wide(weight), ignore_index=ignored,
            reduction=how or "mean", label_smoothing=smoothing,
        )  # fmt: skip
        dy = normal(*want.shape, dtype=dtype)
        want.backward(wide(dy))
        shape = (n,) if how == "none" else (1,)
        loss, log = blank(shape, dtype), blank(x.shape, dtype, layout)
        given = (weight, how, ignored, smoothing, 0.0)
        run("CrossEntropyLoss", laid(x, layout), target, *given, False, loss, log, None, None)
        near(loss, want.detach().reshape(shape), 8)
        near(log, torch.log_softmax(t, -1), 4)
        exact = torch.log_softmax(t, -1).detach().numpy().astype(dtype)
        grad = blank(x.shape, dtype, layout)
        run(
            "CrossEntropyLossGrad",
            dy,
            laid(exact, layout),
            target,
            weight,
            None,
            None,
            *given[1:],
            grad,
        )
        near(grad, t.grad, 3 * max(1, np.abs(dy.astype(float)).max()))


def test_cross_entropy_errors():
    x, t, loss = np.zeros((3, 4)), np.array([0, 1, 2]), np.zeros(1)
    log, z = np.zeros((3, 4)), np.zeros(0)

    def forward(
        x=x, t=t, w=None, how="mean", smoothing=0.0, scale=0.0, returns=False, loss=loss, log=log
    ):
        run("CrossEntropyLoss", x, t, w, how, -100, smoothing, scale, returns, loss, log, z, z)

    forward()
    np.testing.assert_allclose(loss, np.log(4))
    forward(x[:0], t[:0], log=log[:0])
    assert np.isnan(loss)
    for case, match in [
        ({"how": "max"}, "reductionOptional is"),
        ({"smoothing": 2.0}, "labelSmoothing is 2"),
        ({"scale": 0.5}, "lseSquareScaleForZloss is 0.5"),
        ({"returns": True}, "returnZloss"),
        ({"t": t[:2]}, "161002"),
        ({"t": t.astype(float)}, "161002"),
        ({"w": np.zeros(3)}, "161002"),
        ({"log": log[:2]}, "161002"),
        ({"how": "none"}, "161002"),
        ({"t": t + 2}, r"target 2 is 4"),
        ({"t": t - 1}, r"target 0 is -1"),
        ({"x": None}, "161001"),
    ]:  # fmt: skip
        with pytest.raises(AclError, match=match):
            forward(**case)
    for args in [
        (x, log, t, None, None, None, "mean", -100, 0.0, 0.0, log),
        (loss, log, t, None, None, None, "mean", -100, 0.0, 1.0, log),
    ]:
        with pytest.raises(AclError, match="161002"):
            run("CrossEntropyLossGrad", *args)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(("how", "name"), enumerate(["none", "mean", "sum", "batchmean"]))
@pytest.mark.parametrize(("dtype", "layout"), EACH)
def test_kl_div_target_backward(log, how, name, dtype, layout):
    x = np.log(RNG.dirichlet(np.ones(5), 4)).astype(dtype)
    target = RNG.dirichlet(np.ones(5), 4)
    target = (np.log(target) if log else target).astype(dtype)
    t = wide(target, grad=True)
    loss = torch.nn.functional.kl_div(wide(x), t, reduction=name, log_target=log)
    dy = normal(*loss.shape, dtype=dtype)
    loss.backward(wide(dy))
    out = blank(x.shape, dtype, layout)
    run("KlDivTargetBackward", dy, laid(x, layout), laid(target, layout), how, log, out)
    near(out, t.grad, 8)


def test_kl_div_target_backward_edges():
    x, t, out = np.log(np.full((1, 2), 0.5)), np.array([[0.0, 1.0]]), np.empty((1, 2))
    run("KlDivTargetBackward", np.array(2.0), x, t, 2, False, out)
    np.testing.assert_allclose(out, [[0, 2 * (1 + np.log(2))]])
    run("KlDivTargetBackward", np.array(2.0), x[:0], t[:0], 2, False, out[:0])
    for args, match in [
        ((np.array(2.0), x, t, 4, False, out), "reduction is 4"),
        ((np.array(2.0), x, t, 2, False, out[:, :1]), "161002"),
        ((np.zeros((3, 2)), x, t, 2, False, out), "161002"),
        ((None, x, t, 2, False, out), "161001"),
    ]:
        with pytest.raises(AclError, match=match):
            run("KlDivTargetBackward", *args)
