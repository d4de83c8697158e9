"""Matrices times a vector or a few, which are read as they lie, once, against float64 and one by one."""

import platform

import numpy as np
import pytest
from aclnn import run
from oracle import BF16, RNG

HALVES = (np.dtype(np.float16), BF16)
WIDTH = {"float16": 2.0**-10, "bfloat16": 2.0**-7}  # of a result, relative


def matrix(m, k, layout, dtype):
    a = RNG.standard_normal((m, k)).astype(dtype)
    if layout == "columns":
        return np.asfortranarray(a)
    if layout == "rows apart":
        room = np.zeros((2 * m, k + 3), dtype)
        room[::2, 1:-2] = a
        return room[::2, 1:-2]
    if layout == "neither":
        room = np.zeros((m, 2 * k), dtype)
        room[:, ::2] = a
        return room[:, ::2]
    return a


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("layout", ("rows", "columns", "rows apart", "neither"))
@pytest.mark.parametrize(
    ("m", "k"), ((200, 130), (3, 20000), (20000, 5), (1, 30000), (513, 33), (2, 70000))
)
def test_products(m, k, layout, dtype):
    a = matrix(m, k, layout, dtype)
    wide = a.astype(np.float64)
    v, w = RNG.standard_normal(k).astype(dtype), RNG.standard_normal((1, m)).astype(dtype)
    width = WIDTH[dtype.name]
    for got, want, sums in ((run("Mv", a, v, np.empty(m, dtype), 0), wide @ v.astype(np.float64), np.abs(wide) @ np.abs(v.astype(np.float64))),
                            (run("Matmul", w, a, np.empty((1, k), dtype), 0), w.astype(np.float64) @ wide,
                             np.abs(w.astype(np.float64)) @ np.abs(wide)),
                            (run("Matmul", a, v[:, None], np.empty((m, 2), dtype)[:, :1], 0), wide @ v.astype(np.float64)[:, None],
                             np.abs(wide) @ np.abs(v.astype(np.float64))[:, None])):  # fmt: skip
        assert (
            np.abs(got.astype(np.float64) - want) <= width * np.abs(want) + 1e-5 * sums + 2.0**-24
        ).all()  # the last: subnormal results


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_infinities_stay_in_their_rows(dtype):
    a = matrix(200, 130, "rows", dtype)
    a[7, 3], a[9, 5] = np.inf, np.nan
    v = np.abs(RNG.standard_normal(130).astype(dtype)) + dtype.type(0.5)
    got = run("Mv", a, v, np.empty(200, dtype), 0).astype(np.float64)
    assert np.isposinf(got[7]) and np.isnan(got[9]) and np.isfinite(np.delete(got, [7, 9])).all()


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("layout", ("rows", "columns", "rows apart", "neither"))
@pytest.mark.parametrize(
    ("m", "k"), ((200, 130), (3, 20000), (20000, 5), (1, 30000), (513, 33), (257, 9001), (40, 30))
)
def test_a_vector_of_float32(m, k, layout, dtype):
    """Matrices of halves by float32: what the matrix in float32 gives, bit for bit where it is read as it lies."""
    lies = layout != "neither" and m > 1 and platform.machine() == "x86_64"
    a = matrix(m, k, layout, dtype)
    wide = matrix(m, k, layout, np.float32)
    wide[...] = a
    v, w = (RNG.standard_normal(n).astype(np.float32) for n in (k, m))
    stack = np.stack([a, a[::-1]])
    for first, second, want, shape in ((a, v[:, None], (wide, v[:, None]), (m, 1)),
                                       (w[None], a, (w[None], wide), (1, k)),
                                       (stack, v[:, None], (np.stack([wide, wide[::-1]]), v[:, None]), (2, m, 1)),
                                       (np.broadcast_to(w[None, None], (2, 1, m)), stack,
                                        (w[None, None], np.stack([wide, wide[::-1]])), (2, 1, k))):  # fmt: skip
        got = run("Matmul", first, second, np.empty(shape, np.float32), 0)
        exact = run("Matmul", *want, np.empty(shape, np.float32), 0)
        if lies:
            np.testing.assert_array_equal(got, exact)
        else:
            scale = np.matmul(*(np.abs(x) for x in want))
            assert (np.abs(got - exact) <= 1e-5 * scale).all()
            continue
        rounded = run("Matmul", first, second, np.empty(shape, dtype), 0)
        np.testing.assert_array_equal(rounded, exact.astype(dtype))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("layout", ("rows", "columns", "rows apart", "neither"))
@pytest.mark.parametrize(
    ("m", "k"),
    ((200, 130), (3, 20000), (20000, 5), (1, 30000), (513, 33), (257, 9001), (40, 30), (2, 70000)),
)
def test_few_vectors(m, k, layout, dtype):
    """A few vectors meet the matrix as it lies, more its lines some at a time; 513 a copy of it."""
    a = matrix(m, k, layout, dtype)
    wide, sizes = a.astype(np.float64), np.abs(a.astype(np.float64))
    for count in (2, 8, 9, 513 if 200 < m < 1000 > k else 40):
        for kind in (dtype, np.dtype(np.float32)):
            rows = RNG.standard_normal((count, m)).astype(kind)
            columns = RNG.standard_normal((k, count)).astype(kind)
            # The result of halves is rounded to one.
            width = WIDTH[dtype.name] if kind == dtype else 0
            for vectors, of, from_left in (
                (rows, lambda x, y: x @ y, True),
                (columns, lambda x, y: y @ x, False),
            ):
                exact = of(vectors.astype(np.float64), wide)
                allowed = width * np.abs(exact) + (2.0**-24 if width else 0)
                allowed += 1e-5 * of(np.abs(vectors.astype(np.float64)), sizes)
                for v in (vectors, np.asfortranarray(vectors)):
                    pair = (v, a) if from_left else (a, v)
                    got = run("Matmul", *pair, np.empty(exact.shape, np.float32), 0)
                    assert (np.abs(got.astype(np.float64) - exact) <= allowed).all()


@pytest.mark.parametrize("dtype", (np.float32, np.float64, *HALVES), ids=lambda t: np.dtype(t).name)
@pytest.mark.parametrize("layout", ("rows", "rows apart"))
@pytest.mark.parametrize(
    ("m", "k"), ((200, 130), (64, 20000), (513, 33), (300, 9001), (4099, 64), (66, 70000))
)
def test_each_of_a_few_vectors_as_if_alone(m, k, layout, dtype):
    """Results of up to four vectors (of halves eight) have the bits that each has alone."""
    dtype = np.dtype(dtype)
    a = matrix(m, k, layout, dtype)
    result = np.float64 if dtype == np.float64 else np.float32
    most = 8 if dtype in HALVES and platform.machine() == "x86_64" else 4
    for count in (2, 3, 4, 5, most):
        rows = RNG.standard_normal((count, k)).astype(dtype)
        got = run("Matmul", a, rows.T, np.empty((m, count), result), 0)
        turned = run("Matmul", np.array(rows, order="F"), a.T, np.empty((count, m), result), 0)
        if count <= most:
            np.testing.assert_array_equal(turned.T, got)
        for one, column in zip(rows, got.T, strict=True):
            alone = run("Matmul", a, one[:, None], np.empty((m, 1), result), 0)[:, 0]
            if count <= most:
                np.testing.assert_array_equal(column, alone)
            else:
                sums = np.abs(a.astype(float)) @ np.abs(one.astype(float))
                assert (np.abs(column - alone) <= 1e-5 * sums).all()
