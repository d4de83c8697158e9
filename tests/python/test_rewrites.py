"""Operations that run as other, cheaper ones: NumPy's results, bit for bit or within the stated bound."""

import asnumpy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

N = 5000
EDGES = [
    0,
    -0.0,
    1,
    -1,
    np.inf,
    -np.inf,
    np.nan,
    -3.5,
    1e-40,
    4e37,
    1e-310,
    5e-324,
    1e-210,
    1e-155,
    1e206,
    1.7e308,
]


def edged(dtype, seed=0):
    r = np.random.default_rng(seed)
    with np.errstate(over="ignore"):
        x = np.concatenate([r.uniform(-9, 9, N), np.exp(r.uniform(-80, 80, N)), EDGES]).astype(
            dtype
        )
    r.shuffle(x)
    return x


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(
    divisor=st.sampled_from([1, -1, 2, 4.0, -8, 0.5, 3, 2.0**120, 2.0**-3, 0]),
    seed=st.integers(0, 99),
)
def test_division_by_a_constant_has_its_bits(dtype, divisor, seed):
    x = edged(dtype, seed)
    with np.errstate(all="ignore"), asnumpy.errstate(all="ignore"):
        expected, got = x / divisor, (asnumpy.array(x) / divisor).to_numpy()
        strided = (asnumpy.array(x)[::2] / divisor).to_numpy()
    np.testing.assert_array_equal(got.view(f"u{got.itemsize}"), expected.view(f"u{got.itemsize}"))
    np.testing.assert_array_equal(strided, expected[::2])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("exponent", [0, 3, 4, -2, 1.5, -1.5])
def test_powers_of_a_constant(dtype, exponent):
    x = edged(dtype)
    with np.errstate(all="ignore"), asnumpy.errstate(all="ignore"):
        exact = x.astype(np.longdouble) ** np.longdouble(exponent)
        expected, got = exact.astype(dtype), (asnumpy.array(x) ** exponent).to_numpy()
        few = (asnumpy.array(x[:50]) ** exponent).to_numpy()
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    np.testing.assert_array_equal(
        np.signbit(got[~np.isnan(got)]), np.signbit(expected[~np.isnan(got)])
    )
    np.testing.assert_array_equal(few, got[:50])
    error = np.abs(got[finite] - exact[finite]) / np.spacing(np.abs(expected[finite]))
    assert error.max() <= 2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("column", [False, True])
@pytest.mark.parametrize("shape", [(49, 49), (90, 70), (3, 5000), (5000, 16), (700, 3)])
def test_products_of_recorded_matrices_have_the_bits_of_others(dtype, column, shape):
    """Whether the matrix is recorded, has memory from before, or was computed long ago."""
    r = np.random.default_rng(3)
    x = r.standard_normal(shape).astype(dtype)
    v = r.standard_normal((shape[1], 1) if column else shape[1]).astype(dtype)
    a, w, m = asnumpy.array(x), asnumpy.array(v), asnumpy.zeros(shape, dtype)
    ready = a * 0.75
    asnumpy.synchronize()
    expected = (ready @ w).to_numpy()
    for _ in range(4):
        np.testing.assert_array_equal(((a * 0.75) @ w).to_numpy(), expected)
        np.testing.assert_array_equal(asnumpy.dot(a * 0.75, w).to_numpy(), expected)
        m[...] = a * 0.75
        np.testing.assert_array_equal((m @ w).to_numpy(), expected)
    assert expected.shape == (x @ v).shape and expected.dtype == dtype
    exact = (x * np.dtype(dtype).type(0.75)).astype(np.float64) @ v.astype(np.float64)
    bound = np.finfo(dtype).eps * np.sqrt(shape[1]) * 8 * max(1, np.abs(exact).max())
    assert np.abs(expected - exact).max() <= bound


def test_strided_rows_shared_by_all():
    """A strided row that every row of the space reads, with and without a reduction."""
    r = np.random.default_rng(4)
    p = r.random((300, 3))
    q = asnumpy.array(p)
    x, u = p[:, 1:2], q[:, 1:2]
    np.testing.assert_array_equal((u.T - u).to_numpy(), x.T - x)
    np.testing.assert_array_equal((u[::-1].T * u + q[:, 0]).to_numpy(), x[::-1].T * x + p[:, 0])
    np.testing.assert_allclose(
        ((u.T - u) ** 2).sum(axis=1).to_numpy(), ((x.T - x) ** 2).sum(axis=1), rtol=1e-13
    )
    q[:, 1] += q[:, 2]
    p[:, 1] += p[:, 2]
    np.testing.assert_array_equal(q.to_numpy(), p)


def test_assignment_of_a_view_to_itself():
    a = asnumpy.arange(N, dtype=float)
    a[10:] += 1
    a[5:] = a[5:]
    a[::-1] = a
    expected = np.arange(N, dtype=float)
    expected[10:] += 1
    np.testing.assert_array_equal(a.to_numpy(), expected[::-1])
    frozen = asnumpy.ones(3)
    frozen.flags.writeable = False
    with pytest.raises(ValueError):
        frozen[:] = frozen


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("others", [lambda c, x: c - x, lambda c, x: x - c, lambda c, x: c * 1])
def test_counts_of_a_mask_whose_integers_are_read_too(others, order):
    """A sum of truth values may count bytes, but what else reads the integers gets them."""
    t, x = np.arange(N) % 3 == 0, np.arange(N)

    def run(m, t, x):
        integers = t.astype("i8")
        if order:
            return integers.sum(keepdims=True), others(integers, x)
        return others(integers, x), integers.sum(keepdims=True)

    want = run(np, t, x)
    got = run(asnumpy, asnumpy.array(t), asnumpy.array(x))
    for g, w in zip(got, want, strict=True):
        np.testing.assert_array_equal(g.to_numpy(), w)
