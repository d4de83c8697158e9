"""Reductions through CANN's interface against NumPy."""

import numpy as np
import pytest
from aclnn import AclError, run

RNG = np.random.default_rng(2)
AXES = [[], [0], [1], [-1], [0, 2], [0, 1, 2]]


def shapes(a, axes, keep):
    axes = tuple(axes) if axes else tuple(range(a.ndim))
    return axes, np.empty(a.sum(axis=axes, keepdims=keep).shape)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16", "complex128"])
def test_sum_and_mean(dtype, axes, keep):
    a = (RNG.random((4, 5, 6)) * 10).astype(dtype)
    ax, out = shapes(a, axes, keep)
    tol = {"float16": 5e-3, "float32": 1e-6}.get(dtype, 1e-13)
    want = a.sum(axis=ax, keepdims=keep)
    got = run("ReduceSum", a, axes, keep, want.dtype, np.empty_like(want))
    np.testing.assert_allclose(got, want, rtol=tol)
    if dtype != "int32":
        want = a.mean(axis=ax, keepdims=keep)
        got = run("Mean", a, axes, keep, want.dtype, np.empty_like(want))
        np.testing.assert_allclose(got, want, rtol=tol)
        want = np.asarray(a.var(axis=ax, keepdims=keep, ddof=1))
        got = run("VarCorrection", a, axes, 1, keep, np.empty_like(want))
        np.testing.assert_allclose(got, want, rtol=tol * 4)


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("dtype", ["float64", "int16", "uint64", "bool"])
def test_extremes_and_logic(dtype, axes):
    a = (RNG.random((4, 5, 6)) * 3).astype(dtype)
    ax, _ = shapes(a, axes, False)
    for name, f in (("Amax", np.max), ("Amin", np.min)):
        want = np.asarray(f(a, axis=ax))
        np.testing.assert_array_equal(run(name, a, axes, False, np.empty_like(want)), want)
    for name, f in (("All", np.all), ("Any", np.any)):
        want = np.asarray(f(a, axis=ax))
        np.testing.assert_array_equal(run(name, a, axes, False, np.empty_like(want)), want)


def test_others():
    a = RNG.standard_normal((3, 7))
    np.testing.assert_allclose(run("Prod", a, a.dtype, np.empty(())), a.prod())
    np.testing.assert_allclose(run("ProdDim", a, 1, False, a.dtype, np.empty(3)), a.prod(1))
    np.testing.assert_allclose(
        run("LogSumExp", a, [1], False, np.empty(3)), np.log(np.exp(a).sum(1))
    )
    z = np.array([[3, 1], [4, -2], [1j, 2]]) + 2j * np.arange(6).reshape(3, 2)
    np.testing.assert_allclose(
        run("LogSumExp", z, [1], False, np.empty(3, complex)), np.log(np.exp(z).sum(1))
    )
    np.testing.assert_allclose(
        run("Std", a, [0], 0, True, np.empty((1, 7))), a.std(0, keepdims=True)
    )
    for p in (0, 1, 2, 3, np.inf, -np.inf):
        want = np.linalg.norm(a, p, axis=1)
        np.testing.assert_allclose(run("Norm", a, float(p), [1], False, np.empty(3)), want)
    low, high = np.empty(7), np.empty(7)
    run("Aminmax", a, [0], False, low, high)
    np.testing.assert_array_equal([low, high], [a.min(0), a.max(0)])
    var, mean = np.empty(3), np.empty(3)
    run("VarMean", a, [1], 1, False, var, mean)
    np.testing.assert_allclose([var, mean], [a.var(1, ddof=1), a.mean(1)])
    a[0, 3] = np.nan
    np.testing.assert_allclose(
        run("ReduceNansum", a, [1], False, a.dtype, np.empty(3)), np.nansum(a, 1)
    )
    assert np.isnan(run("Max", a, np.empty(())))


@pytest.mark.parametrize("shape", [(), (1,), (3, 7), (2, 3, 4)])
def test_one_value_of_shape_one(shape):
    """What is one value for all elements may be written to a tensor of shape (1,) too."""
    a = RNG.standard_normal(shape)
    size = a.size
    median = np.sort(a.ravel())[(size - 1) // 2]
    for out in (np.empty(()), np.empty(1), np.empty((2, 1))[1]):
        same = np.testing.assert_array_equal
        same(run("Max", a, out), np.full(out.shape, a.max()))
        same(run("Min", a, out), np.full(out.shape, a.min()))
        np.testing.assert_allclose(run("Prod", a, a.dtype, out), np.full(out.shape, a.prod()))
        low = np.empty(out.shape)
        run("AminmaxAll", a, low, out)
        same(low, np.full(out.shape, a.min())), same(out, np.full(out.shape, a.max()))
        same(run("Median", a, out), np.full(out.shape, median))
        same(run("NanMedian", a, out), np.full(out.shape, median))
        s, at = np.sort(a.ravel()), np.empty(out.shape, int)
        same(run("SearchSorteds", s, 0.5, False, False, None, at), np.full(at.shape, np.searchsorted(s, 0.5)))  # fmt: skip
    for out in (np.empty((1, 1)), np.empty(2), np.empty(0)):
        for name in ("Max", "Min", "Median", "NanMedian"):
            with pytest.raises(AclError, match="161002"):
                run(name, a, out)
    if a.ndim > 1:  # with a parameter for dimensions the shape is theirs
        with pytest.raises(AclError, match="161002"):
            run("ReduceSum", a, [], False, a.dtype, np.empty(1))


def test_row_to_one_value_of_shape_one():
    """As llama.cpp's backend sums a row."""
    a = RNG.standard_normal(7)
    np.testing.assert_allclose(run("ReduceSum", a, [0], False, a.dtype, np.empty(1)), [a.sum()])
    for keep, out in ((False, np.empty((1, 1))), (False, np.empty(2)), (True, np.empty(()))):
        with pytest.raises(AclError, match="161002"):
            run("ReduceSum", a, [0], keep, a.dtype, out)


def test_strided_empty_and_zero_dim():
    a = RNG.random((6, 8))[::2, ::-1]
    np.testing.assert_allclose(run("ReduceSum", a, [0], False, a.dtype, np.empty(8)), a.sum(0))
    e = np.empty((0, 3))
    np.testing.assert_array_equal(run("ReduceSum", e, [0], False, e.dtype, np.ones(3)), np.zeros(3))
    assert run("All", e, [], False, np.zeros((), bool))
    z = np.array(2.0)
    assert run("ReduceSum", z, [], False, z.dtype, np.empty(())) == 2
    with pytest.raises(AclError, match="161002"):
        run("Amax", e, [0], False, np.empty(3))
    with pytest.raises(AclError, match="must be"):
        run("ReduceSum", a, [0], False, a.dtype, np.empty(7))
    with pytest.raises(AclError, match="dim is 2"):
        run("ReduceSum", a, [2], False, a.dtype, np.empty(7))
    with pytest.raises(AclError, match="twice"):
        run("ReduceSum", a, [0, -2], False, a.dtype, np.empty(8))
