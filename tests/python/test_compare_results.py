"""`debug.compare_results`: every figure against a loop over the elements, and findings that must not raise."""

import asnumpy
import numpy as np
import pytest

compare = asnumpy.debug.compare_results
RNG = np.random.default_rng(7)


def reference(e, a, absolute, relative):
    """One element at a time, in Python's numbers."""
    far, size, differing = [], [], 0
    for x, y in zip(e.ravel().tolist(), a.ravel().tolist(), strict=True):
        far.append(abs(y - x))
        size.append(abs(x))
        differing += far[-1] > absolute + relative * size[-1]
    shares = [f / s for f, s in zip(far, size, strict=True) if s]
    index = np.unravel_index(int(np.argmax(far)), e.shape)
    return (max(far), sum(far) / len(far), max(shares, default=0),
            sum(shares) / max(len(shares), 1), tuple(map(int, index)), differing)  # fmt: skip


@pytest.mark.parametrize(
    "dtype", ["f2", "f4", "f8", ">f8", "i1", "u2", "i8", ">i4", "u8", "c8", "c16"]
)
@pytest.mark.parametrize("shape", [(40,), (5, 6), (2, 3, 4)])
def test_figures(dtype, shape):
    e = (RNG.normal(size=shape) * 50).round(1)
    e = abs(e) if "u" in dtype else e
    e, a = e.astype(dtype), (e + RNG.integers(0, 3, shape)).astype(dtype)
    tolerance = (0.5, 0.01)
    found = compare(asnumpy.asarray(e) if dtype[0] != ">" else e, a, tolerance)
    far, mean, relative, mean_relative, index, differing = reference(e, a, *tolerance)
    got = (found.largest, found.mean, found.largest_relative, found.mean_relative)
    np.testing.assert_allclose(got, (far, mean, relative, mean_relative), rtol=1e-12)
    assert (found.index, found.differing, found.size) == (index, differing, e.size)
    assert (found.expected, found.actual) == (e[index], a[index])
    assert bool(found) == (differing == 0)


def test_integers_that_no_float_holds():
    e = np.array([2**63 - 1, -(2**63), 2**53], "i8")
    found = compare(e, e - np.array([1, -1, 1]), (0, 0))
    assert (found.differing, found.largest, found.index) == (3, 1.0, (0,))
    found = compare(np.array([2**64 - 1], "u8"), np.array([-1], "i8"), 0)
    assert found.differing == 1 and found.largest == 2.0**64


def test_nan_and_infinities():
    e = np.array([[np.nan, np.nan, np.inf, np.inf], [1.0, -np.inf, 2.0, 0.0]])
    a = np.array([[np.nan, 1.0, np.inf, -np.inf], [np.nan, 5.0, 2.5, 0.0]])
    found = compare(asnumpy.array(e), asnumpy.array(a))
    assert (found.nan, found.inf) == ([(0, 1), (1, 0)], [(0, 3), (1, 1)])
    assert (found.differing, found.largest, found.index) == (5, 0.5, (1, 2))
    assert found.mean == 0.25 and found.largest_relative == 0.25
    told = str(found)
    assert (
        "NaN in one alone at (0, 1), (1, 0)" in told and "infinity in one alone at (0, 3)" in told
    )
    same = compare(e, e)
    assert same and same.index is None and same.nan == same.inf == []
    nothing = compare([np.nan], [1.0])
    assert not nothing and nothing.index is None and nothing.largest == 0
    many = compare(np.full(50, np.nan), np.zeros(50))
    assert many.differing == 50 and len(many.nan) == 10


def test_shapes_dtypes_and_no_elements():
    found = compare(np.zeros((2, 3)), asnumpy.zeros(6))
    assert not found and str(found) == "shapes differ: expected (2, 3), actual (6,)"
    found = compare(np.zeros(3, "f8"), asnumpy.zeros(3, "f4"))
    assert found and "dtypes: expected float64, actual float32" in str(found)
    assert compare(np.zeros((0, 3)), asnumpy.zeros((0, 3)))
    assert not compare(np.zeros((0, 3)), asnumpy.zeros((3, 0)))
    found = compare(3.0, asnumpy.array(3.5))
    assert (found.index, found.largest, bool(found)) == ((), 0.5, False)
    assert compare([[1, 2]], asnumpy.array([[1, 2]]))
    assert compare(True, np.True_) and not compare([True, False], [True, True])


def test_tolerances():
    e, a = np.array([0.0, 100.0]), np.array([0.05, 101.0])
    assert compare(e, a, 0.1) and compare(e, a, (0.05, 0.01))
    assert compare(e, a, (0.1, 0)).differing == 1 and compare(e, a, (0, 0.01)).differing == 1
    assert compare(e, e, 0) and compare(e, e.copy(), np.float32(0))
    for wrong in (-1, "x", None, (1,), (1, 2, 3), (1, -1), float("nan"), True):
        with pytest.raises(ValueError, match="tolerance is .*; it may be a number from 0 on"):
            compare(e, a, wrong)


def test_what_is_no_number():
    assert compare(["a", "b"], ["a", "b"])
    found = compare(np.array(["a", "b"]), np.array(["a", "c"]))
    assert (found.differing, found.index, str(found.actual)) == (1, (1,), "c")
    assert compare(np.array([None, 1], object), np.array([None, 1], object))
    assert not compare(np.array(["a"]), np.array([1.0]))
    dates = np.array(["2024-01-01"], "M8[D]")
    assert compare(dates, dates) and not compare(dates, dates + 1)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    e = asnumpy.arange(4).astype(ml_dtypes.bfloat16)
    found = compare(e, e + e)
    assert found.largest == 3 and found.index == (3,) and found.differing == 3


def test_recorded_arrays_are_computed_and_stay():
    a = asnumpy.arange(100_000.0)
    b = a * 2 + 1
    assert compare(2 * np.arange(100_000.0) + 1, b)
    b += 1
    assert compare(b, 2 * np.arange(100_000.0) + 1, 0).differing == 100_000
