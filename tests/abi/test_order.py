"""Sorting, searching, scans, products through CANN's interface against NumPy."""

import ml_dtypes
import numpy as np
import pytest
from aclnn import AclError, run

RNG = np.random.default_rng(5)
same = np.testing.assert_array_equal
close = np.testing.assert_allclose


@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "int32", "uint8", "int64", "float16", "bool", "complex128"]
)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sort(dtype, axis):
    a = (RNG.random((7, 9)) * 20).astype(dtype)
    idx = np.argsort(a, axis, stable=True)
    values, found = np.empty_like(a), np.empty(a.shape, int)
    run("Sort", a, True, axis, False, values, found)
    same(values, np.sort(a, axis))
    same(found, idx)
    same(run("Argsort", a, axis, False, np.empty(a.shape, int)), idx)
    run("Sort", a, True, axis, True, values, found)
    same(values, np.flip(np.sort(a, axis), axis))
    same(np.take_along_axis(a, found, axis), values)


def test_select():
    a = RNG.permutation(30).reshape(5, 6).astype(float)
    v, i = np.empty((5, 2)), np.empty((5, 2), int)
    run("Topk", a, 2, 1, True, True, v, i)
    same(v, -np.sort(-a, 1)[:, :2])
    same(np.take_along_axis(a, i, 1), v)
    v, i = np.empty(5), np.empty(5, int)
    run("Kthvalue", a, 3, 1, False, v, i)
    same(v, np.sort(a, 1)[:, 2])
    run("MedianDim", a, 1, False, v, i)
    same(v, np.sort(a, 1)[:, 2])
    same(run("Median", a, np.empty(())), np.sort(a.ravel())[14])


def test_search_and_count():
    s, v = np.sort(RNG.random(50)), RNG.random((4, 3))
    same(
        run("SearchSorted", s, v, False, False, None, np.empty((4, 3), int)), np.searchsorted(s, v)
    )
    same(
        run("SearchSorted", s, v, True, True, None, np.empty((4, 3), np.int32)),
        np.searchsorted(s, v, "right"),
    )
    same(
        run("SearchSorteds", s, 0.5, False, False, None, np.empty((), int)), np.searchsorted(s, 0.5)
    )
    p = RNG.permutation(50)
    same(
        run("SearchSorted", s[p], v, False, False, np.argsort(s[p]), np.empty((4, 3), int)),
        np.searchsorted(s, v),
    )
    x = RNG.integers(0, 9, 40)
    u, inv, n = np.unique(x, return_inverse=True, return_counts=True)
    gu, ginv, gn = np.empty(len(u), int), np.empty(40, int), np.empty(len(u), int)
    run("Unique2", x, True, True, True, gu, ginv, gn)
    same(gu, u), same(ginv, inv), same(gn, n)
    same(run("Bincount", x, None, 12, np.empty(12, int)), np.bincount(x, minlength=12))
    w = RNG.random(40)
    close(run("Bincount", x, w, 0, np.empty(9)), np.bincount(x, w))
    same(run("Histc", w, 5, 0, 1, np.empty(5)), np.histogram(w, 5, (0, 1))[0])
    far = np.array([-1.7e308, 0.0, 1.7e308, 1e308])
    same(run("Histc", far, 4, 0, 0, np.empty(4)), [1, 0, 1, 2])
    for bad in (np.inf, -np.inf, np.nan):  # as the first element, and later
        for data in ([bad, 1.0, 2.0], [1.0, 2.0, bad]):
            with pytest.raises(AclError, match="not finite"):
                run("Histc", np.array(data), 3, 0, 0, np.empty(3))
            same(run("Histc", np.array(data), 3, 0, 3, np.empty(3)), [0, 1, 1])
        with pytest.raises(AclError, match="161002"):
            run("Histc", np.ones(3), 3, 0, bad, np.empty(3))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "complex64"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_scan(dtype, axis):
    a = (RNG.random((3, 4, 5)) * 3 + 1).astype(dtype)
    tol = 1e-5 if dtype in ("float32", "complex64") else 1e-12
    want = np.cumsum(a, axis)
    close(run("Cumsum", a, axis, want.dtype, np.empty_like(want)), want, rtol=tol)
    want = np.cumprod(a, axis, dtype)
    close(run("Cumprod", a, axis, dtype, np.empty_like(want)), want, rtol=tol)
    close(run("CumsumV2", a, axis, False, True, np.empty_like(a)),
          np.flip(np.cumsum(np.flip(a, axis), axis, dtype), axis), rtol=tol)  # fmt: skip
    want = np.cumsum(a, axis, dtype)
    close(
        run("CumsumV2", a, axis, True, False, np.empty_like(a)), want - a, rtol=tol, atol=tol * 10
    )
    run("InplaceCumprod", a, axis)


def test_extremes():
    a = RNG.integers(0, 4, (5, 7)).astype(float)
    same(run("ArgMax", a, 1, False, np.empty(5, int)), a.argmax(1))
    same(run("ArgMin", a, 0, True, np.empty((1, 7), np.int32)), a.argmin(0, keepdims=True))
    v, i = np.empty(5), np.empty(5, int)
    run("MaxDim", a, 1, False, v, i)
    same(v, a.max(1)), same(i, a.argmax(1))
    v, i = np.empty_like(a), np.empty(a.shape, int)
    run("Cummax", a, 1, v, i)
    same(v, np.maximum.accumulate(a, 1))
    same(np.take_along_axis(a, i, 1), v)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64", "float16"])
@pytest.mark.parametrize("shapes", [((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)),
                                    ((2, 1, 3, 4), (6, 4, 5)), ((4,), (6, 4, 5)), ((3, 0), (0, 2))])  # fmt: skip
def test_matmul(shapes, dtype):
    a, b = ((RNG.random(s) * 4).astype(dtype) for s in shapes)
    want = np.asarray(a @ b)
    close(
        run("Matmul", a, b, np.empty_like(want), 0), want, rtol=3e-3 if dtype == "float16" else 1e-5
    )


@pytest.fixture
def blas():
    """Scaled products need a BLAS library, which the package ships."""
    try:
        run("Addmm", np.ones((2, 2)), np.ones((2, 2)), np.ones((2, 2)), 1, 1, np.empty((2, 2)), 0)
    except AclError as error:
        if "no BLAS library" not in error.message:
            raise
        pytest.skip(error.message)


def test_products(blas):
    a, b, c = RNG.random((3, 4)), RNG.random((4, 5)), RNG.random((3, 5))
    close(run("Mm", a, b, np.empty((3, 5)), 0), a @ b)
    close(run("Mm", a.T.copy().T, b[:, ::-1], np.empty((5, 3)).T, 0), a @ b[:, ::-1])
    close(run("Addmm", c, a, b, 2.0, 3.0, np.empty((3, 5)), 0), 2 * c + 3 * a @ b)
    close(run("Addmm", c[0], a, b, 1, 1, np.empty((3, 5)), 0), c[0] + a @ b)
    d = c.copy()
    run("InplaceAddmm", d, a, b, 1, 1, 0)
    close(d, c + a @ b)
    x, y, z = RNG.random((2, 3, 4)), RNG.random((2, 4, 5)), RNG.random((2, 3, 5))
    close(run("BatchMatMul", x, y, np.empty((2, 3, 5)), 0), x @ y)
    close(run("Baddbmm", z, x, y, 2, 1, np.empty((2, 3, 5)), 0), 2 * z + x @ y)
    close(run("Addbmm", c, x, y, 1, 2, np.empty((3, 5)), 0), c + 2 * (x @ y).sum(0))
    close(run("Mv", a, b[:, 0], np.empty(3), 0), a @ b[:, 0])
    close(run("Addmv", c[:, 0], a, b[:, 0], 2, 3, np.empty(3), 0), 3 * c[:, 0] + 2 * a @ b[:, 0])
    close(run("Dot", a[0], b[:, 0], np.empty(())), a[0] @ b[:, 0])
    close(run("Ger", a[0], c[0], np.empty((4, 5))), np.outer(a[0], c[0]))
    close(run("Addr", b, a[0], c[0], 2, 3, np.empty((4, 5))), 2 * b + 3 * np.outer(a[0], c[0]))
    close(run("Gemm", a, b.T.copy(), c, 2.0, 1.0, 0, 1, np.empty((3, 5)), 0), 2 * a @ b + c)
    s = np.empty((3, 3))
    s[:] = c[:, :3]
    close(run("Mm", s, s, s, 0), c[:, :3] @ c[:, :3])  # out is an input
    for bad in ((a, a), (a, b[0])):
        with pytest.raises(AclError, match="161002"):
            run("Mm", *bad, np.empty((3, 5)), 0)


@pytest.mark.parametrize("dtype", ["f4", "f2", ml_dtypes.bfloat16])
def test_precision_compare(dtype):
    a = RNG.standard_normal((4, 6)).astype(dtype)
    b = a.copy()
    assert run("PrecisionCompare", a.T[::2], b.T[::2], np.ones((), "u4")) == 0
    b[1, 2] += 1
    assert run("PrecisionCompare", a, b, np.ones((), "u4")) == 503
    assert run("PrecisionCompare", a.T[::2].copy(), b.T[::2], np.ones((), "u4")) == 503
    assert run("PrecisionCompare", a.T[1::2].copy(), b.T[1::2], np.ones((), "u4")) == 0
    zero, nan = np.zeros((), dtype), np.full((2,), np.nan).astype(dtype)
    assert run("PrecisionCompare", zero, np.asarray(-zero), np.ones((), "u4")) == 0
    assert run("PrecisionCompare", nan, nan, np.ones((), "u4")) == 503
    assert run("PrecisionCompare", a[:0], b[:0], np.ones((), "u4")) == 0
    deep = np.zeros((1,) * 9, dtype)
    for bad in ((a, b[:2], np.ones((), "u4")), (a, b.astype("f8"), np.ones((), "u4")), (a, b, np.ones(1, "u4")),
                (a, b, np.ones((), "i4")), (deep, deep, np.ones((), "u4")), (a.astype("i4"), b.astype("i4"), np.ones((), "u4"))):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("PrecisionCompare", *bad)


def test_others():
    a = RNG.standard_normal((3, 5))
    e = np.exp(a - a.max(1, keepdims=True))
    close(run("Softmax", a, 1, np.empty((3, 5))), e / e.sum(1, keepdims=True))
    close(run("LogSoftmax", a, -1, np.empty((3, 5))), np.log(e / e.sum(1, keepdims=True)))
    assert run("Equal", a, a.copy(), np.zeros(1, bool))
    assert not run("Equal", a, a + 1, np.ones(1, bool))
    assert not run("Equal", a, a[:2], np.ones(1, bool))
    close(run("Trace", a, np.empty(())), np.trace(a))
    close(run("Complex", a, a[0], np.empty((3, 5), complex)), a + 1j * a[0])
    close(run("Polar", a, a, np.empty((3, 5), complex)), a * np.exp(1j * a))
    close(run("Sum", [a, a[0], a[:, :1]], np.empty((3, 5))), a + a[0] + a[:, :1])
    close(run("MaxN", [a, a[0]], np.empty((3, 5))), np.maximum(a, a[0]))
