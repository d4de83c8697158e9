"""Comparisons and tests of numbers: every rest of a vector, special values. NumPy is the oracle."""

import asnumpy
import numpy as np
import pytest

TESTS = ["isnan", "isinf", "isfinite", "signbit"]
COMPARISONS = ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"]


def numbers_with_ends(rng, n, dtype):
    """Random numbers of which a third are special: zeros of both signs, extremes, infinities, NaN of both signs."""
    if dtype[0] == "f":
        ends = [
            0.0,
            -0.0,
            np.inf,
            -np.inf,
            np.nan,
            -np.nan,
            np.finfo(dtype).tiny,
            -np.finfo(dtype).max,
        ]
        x = rng.normal(size=n).astype(dtype)
    else:
        ends = [0, np.iinfo(dtype).min, np.iinfo(dtype).max, np.iinfo(dtype).max // 2 + 1]
        x = rng.integers(0, 3, n).astype(dtype)
    some = rng.random(n) < 0.3
    x[some] = rng.choice(np.array(ends, dtype), int(some.sum()))
    return x


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u8", "i4", "u4", "i2", "u1"])
@pytest.mark.parametrize("n", [1, 15, 31, 32, 33, 63, 64, 65, 97, 2049, 5001])
def test_truth_of_numbers(dtype, n):
    """Comparisons and tests at every rest of a vector's length, on aligned memory and off it."""
    rng = np.random.default_rng(n)
    x, y = (numbers_with_ends(rng, n + 3, dtype) for _ in range(2))
    same = rng.random(n + 3) < 0.3
    y[same] = x[same]
    a, b = asnumpy.array(x), asnumpy.array(y)
    for first in (0, 1, 3):
        part = slice(first, first + n)
        for name in COMPARISONS:
            got = getattr(asnumpy, name)(a[part], b[part])
            assert got.dtype == bool
            np.testing.assert_array_equal(
                got.to_numpy().view("u1"), getattr(np, name)(x[part], y[part]).view("u1"), name
            )
        for name in TESTS if dtype[0] == "f" else []:
            got = getattr(asnumpy, name)(a[part]).to_numpy()
            np.testing.assert_array_equal(got.view("u1"), getattr(np, name)(x[part]).view("u1"))


@pytest.mark.parametrize(
    "n", [1, 2, 31, 32, 33, 64, 127, 128, 129, 200, 1000, 2049, 32768, 32769, 70001]
)
def test_any_and_all_find_the_one(n):
    """One truth value that differs, at the ends and between, wherever it lies in a vector."""
    for at in sorted({0, 1, n // 2, n - 33, n - 2, n - 1}):
        if not 0 <= at < n:
            continue
        x = np.zeros(n, "?")
        x[at] = True
        a, b = asnumpy.array(x), asnumpy.array(~x)
        assert a.any() and not b.all() and a.all() == x.all() and b.any() == (~x).any()
        rows = asnumpy.array(np.stack([x, ~x, x & False]))
        assert rows.any(1).tolist() == [True, n > 1, False]
        assert rows.all(1).tolist() == [n == 1, False, False]
        assert rows.any(0).all() and not rows.all(0).any()
    assert not asnumpy.zeros(n, "?").any() and asnumpy.ones(n, "?").all()
