"""Lines so long that threads share the sort of one: plain, by index, of all kinds of runs. NumPy's stable sort is the
oracle (its other one misplaces -0.0 among float16 infinities with AVX-512: 2.4.6)."""

import asnumpy as np
import numpy
import pytest

N = 200_003
PATTERNS = {
    "random": lambda r, n: r.integers(-(2**62), 2**62, n),
    "few": lambda r, n: r.integers(0, 3, n),
    "equal": lambda r, n: numpy.zeros(n, "i8") + 7,
    "ascending": lambda r, n: numpy.arange(n) * 1000,
    "descending": lambda r, n: numpy.arange(n)[::-1] * 1000,
    "two runs": lambda r, n: numpy.arange(n) % (n // 2),
    "mostly one": lambda r, n: numpy.where(r.random(n) < 0.97, 5, r.integers(-99, 99, n)),
    "last is least": lambda r, n: numpy.concatenate((numpy.arange(1, n), [0])),
    "sampled apart": lambda r, n: numpy.where(numpy.arange(n) % 97 == 0, 10**12, r.integers(0, 10**6, n)),
}  # fmt: skip
DTYPES = ["i4", "u4", "i8", "u8", "f4", "f8", "i2", "f2", "c16"]


def values(pattern, dtype, n=N):
    rng = numpy.random.default_rng(0)
    with numpy.errstate(all="ignore"):
        x = PATTERNS[pattern](rng, n).astype(dtype)
    if numpy.dtype(dtype).kind == "f":
        x[:: n // 5] = numpy.nan
        x[1 :: n // 3] = -0.0
    return x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_sort_and_argsort(pattern, dtype):
    x = values(pattern, dtype)
    a = np.array(x)
    numpy.testing.assert_array_equal(numpy.asarray(np.sort(a)), numpy.sort(x, stable=True))
    numpy.testing.assert_array_equal(
        numpy.asarray(np.argsort(a, stable=True)), numpy.argsort(x, stable=True)
    )
    a.sort()
    numpy.testing.assert_array_equal(numpy.asarray(a), numpy.sort(x, stable=True))


@pytest.mark.parametrize("dtype", ["i4", "f8"])
@pytest.mark.parametrize("n", [65536, 65537, 131071, 1_000_000, 5_000_001])
def test_lengths(n, dtype):
    x = values("random", dtype, n)
    numpy.testing.assert_array_equal(
        numpy.asarray(np.sort(np.array(x))), numpy.sort(x, stable=True)
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_views(dtype):
    """Elements apart, backwards, and two lines."""
    x = values("random", dtype, 3 * N)
    a = np.array(x)
    for key in (slice(None, None, 3), slice(None, None, -1), slice(5, -7, 2)):
        numpy.testing.assert_array_equal(
            numpy.asarray(np.sort(a[key])), numpy.sort(x[key], stable=True)
        )
    g, h = x[: 2 * N].reshape(2, N), np.array(x[: 2 * N]).reshape(2, N)
    numpy.testing.assert_array_equal(numpy.asarray(np.sort(h, 1)), numpy.sort(g, 1, stable=True))
    numpy.testing.assert_array_equal(
        numpy.asarray(np.argsort(h.T, 0, stable=True)), numpy.argsort(g.T, 0, stable=True)
    )
    h.T.sort(0)
    numpy.testing.assert_array_equal(numpy.asarray(h), numpy.sort(g, 1, stable=True))
