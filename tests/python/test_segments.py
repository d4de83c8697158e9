"""reduceat of a vector: segments of any lengths, many at once, to the bit what a reduction of each one is."""

import warnings

import asnumpy as np
import numpy
import pytest
from conftest import SINGLE_OPERATORS
from hypothesis import given, settings
from hypothesis import strategies as st

OPERATIONS = ("add", "multiply", "maximum", "minimum", "fmax", "hypot", "subtract", "logaddexp")
INTEGERS = ("gcd", "bitwise_xor", "bitwise_and", "add", "maximum", "left_shift")


def by_segments(name, a, at):
    """What NumPy documents: one reduction each; one element is itself."""
    ends = [*at[1:], len(a)]
    operation = getattr(np, name)
    return numpy.array([
        operation.reduce(a[i:j]) if j - i > 1 else a[i] for i, j in zip(at, ends, strict=True)
    ])  # fmt: skip


def vector(rng, n, dtype):
    if numpy.dtype(dtype).kind in "iu":
        return rng.integers(0, 100, n).astype(dtype)
    return (rng.random(n) * 4 + 0.1).astype(dtype)


@given(st.data(), st.sampled_from(["f4", "f8", "f2", "i4", "i8", "u1", "c16"]))
@settings(max_examples=60)
def test_against_numpy(data, dtype):
    """Any indices, also descending ones, whose segment is one element; strided vectors."""
    rng = numpy.random.default_rng(data.draw(st.integers(0, 2**32)))
    n = data.draw(st.integers(1, 3000))
    a = vector(rng, 2 * n, dtype)[:: data.draw(st.sampled_from([1, 2, -2]))]
    at = rng.integers(0, len(a), data.draw(st.integers(0, 40)))
    if data.draw(st.booleans()):
        at.sort()
    name = data.draw(st.sampled_from(["add", "maximum", "multiply"] if dtype != "c16" else ["add"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = getattr(numpy, name).reduceat(a, at)
        ours = getattr(np, name).reduceat(np.asarray(a), at)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    tolerance = {"f2": 2e-2, "f4": 1e-5}.get(dtype, 1e-12)
    numpy.testing.assert_allclose(numpy.asarray(ours), theirs, rtol=tolerance)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "u2"])
def test_bits_of_each_reduction(dtype):
    """Short segments, some beyond one loop's 8192 bytes between them, and single elements."""
    rng = numpy.random.default_rng(5)
    lengths = numpy.concatenate((rng.integers(1, 40, 300), [5000, 1, 2049, 1024, 1025, 3]))
    rng.shuffle(lengths)
    at = numpy.concatenate(([0], numpy.cumsum(lengths)[:-1]))
    a = np.asarray(vector(rng, lengths.sum(), dtype))
    for name in OPERATIONS[:4] if dtype[0] in "iu" else OPERATIONS:
        found = numpy.asarray(getattr(np, name).reduceat(a, at))
        numpy.testing.assert_array_equal(found, by_segments(name, a, at).astype(found.dtype), name)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name):
    rng = numpy.random.default_rng(7)
    a = rng.integers(-50, 50, 20_000) if name != "left_shift" else rng.integers(0, 2, 20_000)
    at = numpy.sort(rng.choice(20_000, 3000, replace=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = getattr(numpy, name).reduceat(a, at)
        numpy.testing.assert_array_equal(
            numpy.asarray(getattr(np, name).reduceat(np.asarray(a), at)), theirs
        )


def test_many_uneven_segments():
    """A hundred thousand, most of them short and the long ones together; out=, dtype= and views of one vector."""
    rng = numpy.random.default_rng(3)
    lengths = numpy.sort(rng.lognormal(1, 1.5, 100_000).astype(int) + 1)
    at = numpy.concatenate(([0], numpy.cumsum(lengths)[:-1]))
    a = rng.integers(0, 1000, lengths.sum())
    theirs = numpy.add.reduceat(a, at)
    ours = np.asarray(a)
    numpy.testing.assert_array_equal(numpy.asarray(np.add.reduceat(ours, at)), theirs)
    out = np.zeros(len(at), "i8")
    assert np.add.reduceat(ours, at, out=out) is out
    numpy.testing.assert_array_equal(numpy.asarray(out), theirs)
    numpy.testing.assert_array_equal(
        numpy.asarray(np.add.reduceat(ours, at, dtype="f8")), theirs.astype("f8")
    )
    ours += 1  # recorded: the segments see it
    numpy.testing.assert_array_equal(numpy.asarray(np.add.reduceat(ours, at)), theirs + lengths)


@pytest.mark.skipif(SINGLE_OPERATORS, reason="single operators report no conditions")
def test_what_it_warns_of():
    with pytest.warns(RuntimeWarning, match="overflow encountered in reduceat"):
        np.add.reduceat(np.full(60, 1e308), [0, 30, 59])
        np.synchronize()


def test_what_it_raises():
    big = np.full(60, 1e308)
    with pytest.raises(IndexError, match=r"index 60 out-of-bounds in add.reduceat \[0, 60\)"):
        np.add.reduceat(big, [0, 60])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.maximum.reduceat(np.array([1.0, np.nan, 2.0]), [0, 1, 2])
        np.synchronize()
