"""linalg's solvers and decompositions against NumPy: every dtype, stacks, layouts, empty matrices, errors. Results that are
unique are compared with NumPy's; factors by what they must satisfy."""

import inspect
import warnings

import asnumpy
import numpy as np
import pytest
from conftest import SINGLE_OPERATORS
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import outcome, same, to_device, to_host

L = asnumpy.linalg
TYPES = ["f4", "f8", "c8", "c16"]


def eps(dtype):
    return np.finfo(np.dtype(dtype)).eps


def values(rng, shape, dtype):
    x = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype)


def matrix(rng, batch, n, dtype, spread=None):
    """Far enough from singular for results to be compared."""
    return values(rng, (*batch, n, n), dtype) + (3 * np.sqrt(n) * np.eye(n)).astype(dtype)


def definite(rng, batch, n, dtype):
    a = values(rng, (*batch, n, n), dtype)
    return (a @ a.conj().swapaxes(-1, -2) + np.eye(n) * (n + 1)).astype(dtype)


def close(got, expected, bound=200, where=""):
    assert type(to_host(got)) is type(expected), where
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype and got.shape == expected.shape, where
    if expected.size:
        finite = np.isfinite(expected)
        assert (finite == np.isfinite(got)).all(), where
        got, expected = np.where(finite, got, 0), np.where(finite, expected, 0)
        far = np.abs(got - expected).max() / (np.abs(expected).max() or 1)
        assert far <= bound * eps(expected.dtype), (where, far / eps(expected.dtype))


STACKS = [(), (3,), (2, 9), (0,)]
SIZES = [0, 1, 2, 3, 4, 5, 8, 13, 16, 17, 32, 33, 50]


@pytest.mark.parametrize("right", [*TYPES, "i4", "?"])
@pytest.mark.parametrize("left", [*TYPES, "i8", "u1"])
def test_operands_of_two_dtypes(left, right):
    """A result is complex when one operand is, and double when one is wider than single."""
    rng = np.random.default_rng(4)
    a = (rng.integers(0, 3, (3, 3)) + 5 * np.eye(3)).astype(left)
    if np.dtype(left).kind == "c":
        a += 2j * np.triu(np.ones((3, 3)))
    for shape in ((3,), (3, 2), (4, 3, 2)):
        b = values(rng, shape, right)
        where = (left, right, shape)
        close(L.solve(asnumpy.array(a), asnumpy.array(b)), np.linalg.solve(a, b), 300, where)
        if len(shape) < 3:
            got, want = (m.linalg.lstsq(m.array(a), m.array(b)) for m in (asnumpy, np))
            close(got[0], want[0], 500, where)
            close(got[3], want[3], 500, where)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", SIZES)
def test_unique_results(n, dtype):
    rng = np.random.default_rng(n)
    for batch in STACKS:
        a, s = matrix(rng, batch, n, dtype), definite(rng, batch, n, dtype)
        b = values(rng, (*batch, n, 4), dtype)
        da, ds, db = (asnumpy.array(x) for x in (a, s, b))
        where = (n, batch, dtype)
        bound = 200 + 20 * n
        close(L.inv(da), np.linalg.inv(a), bound, where)
        close(L.solve(da, db), np.linalg.solve(a, b), bound, where)
        close(L.det(da), np.linalg.det(a), bound, where)
        close(L.cholesky(ds), np.linalg.cholesky(s), bound, where)
        close(L.cholesky(ds, upper=True), np.linalg.cholesky(s, upper=True), bound, where)
        close(L.eigvalsh(ds), np.linalg.eigvalsh(s), bound, where)
        close(L.eigvalsh(ds, "U"), np.linalg.eigvalsh(s, "U"), bound, where)
        close(L.svdvals(da), np.linalg.svdvals(a), bound, where)
        for got, expected in zip(L.slogdet(da), np.linalg.slogdet(a), strict=True):
            close(got, expected, bound, where)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", SIZES[1:])
def test_eigenvectors(n, dtype):
    rng = np.random.default_rng(n)
    for batch in STACKS:
        s = definite(rng, batch, n, dtype)
        for uplo in "LU":
            w, v = (np.asarray(x) for x in L.eigh(asnumpy.array(s), uplo))
            expected = np.linalg.eigh(s, uplo)
            assert w.dtype == expected[0].dtype and v.dtype == expected[1].dtype
            assert v.shape == s.shape and (np.diff(w, axis=-1) >= 0).all()
            close(w, np.asarray(expected[0]), 200 + 20 * n)
            scale = 40 * (n + 5) * eps(dtype)
            if s.size:
                assert np.abs(s @ v - v * w[..., None, :]).max() <= scale * np.abs(s).max()
                unit = v.conj().swapaxes(-1, -2) @ v
                assert np.abs(unit - np.eye(n)).max() <= scale
        a = values(rng, (*batch, n, n), dtype)
        w, v = (np.asarray(x) for x in L.eig(asnumpy.array(a)))
        expected = np.linalg.eig(a)
        assert w.dtype == expected[0].dtype and v.dtype == expected[1].dtype
        assert w.shape == expected[0].shape and v.shape == expected[1].shape
        if a.size:
            scale = 100 * (n + 5) * eps(dtype) * np.abs(a).max()
            assert np.abs(a @ v - v * w[..., None, :]).max() <= scale
            close(np.linalg.norm(v, axis=-2), np.ones(w.shape, w.real.dtype), 50)
        assert np.asarray(L.eigvals(asnumpy.array(a))).dtype == np.linalg.eigvals(a).dtype


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("m, n", [(1, 1), (3, 5), (5, 3), (8, 8), (20, 7), (7, 40), (0, 3), (3, 0)])
def test_factors(m, n, dtype):
    rng = np.random.default_rng(m * 50 + n)
    bound = 60 * (m + n) * eps(dtype)
    for batch in STACKS:
        a = values(rng, (*batch, m, n), dtype)
        d = asnumpy.array(a)
        for mode in ("reduced", "complete"):
            got, expected = L.qr(d, mode), np.linalg.qr(a, mode)
            q, r = np.asarray(got.Q), np.asarray(got.R)
            assert (
                q.shape == expected.Q.shape and r.shape == expected.R.shape and q.dtype == a.dtype
            )
            if a.size:
                assert np.abs(q @ r - a).max() <= bound * np.abs(a).max()
            assert (np.tril(r, -1) == 0).all()
            assert (
                np.abs(q.conj().swapaxes(-1, -2) @ q - np.eye(q.shape[-1])).max(initial=0) <= bound
            )
        close(L.qr(d, "r"), np.linalg.qr(a, "r"), 500)
        for got, expected in zip(L.qr(d, "raw"), np.linalg.qr(a, "raw"), strict=True):
            close(got, expected, 500)
        for full in (True, False):
            got, expected = L.svd(d, full), np.linalg.svd(a, full)
            u, s, vh = (np.asarray(x) for x in got)
            assert u.shape == expected.U.shape and vh.shape == expected.Vh.shape
            close(got.S, expected.S, 500)
            if a.size:
                k = min(m, n)
                product = (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]
                assert np.abs(product - a).max() <= bound * np.abs(a).max()
            for x in (u.conj().swapaxes(-1, -2) @ u, vh @ vh.conj().swapaxes(-1, -2)):
                assert np.abs(x - np.eye(x.shape[-1])).max(initial=0) <= bound
        if m and n:
            close(L.pinv(d), np.linalg.pinv(a), 200 * np.linalg.cond(a).max(initial=1))
        assert L.pinv(d).shape == np.linalg.pinv(a).shape
        assert np.array_equal(L.matrix_rank(d), np.linalg.matrix_rank(a))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "m, n, r", [(5, 3, 2), (3, 5, 2), (4, 4, None), (6, 2, None), (0, 3, 1), (3, 0, 1), (9, 4, 0)]
)
def test_least_squares(m, n, r, dtype):
    rng = np.random.default_rng(m * 10 + n)
    a, b = values(rng, (m, n), dtype), values(rng, m if r is None else (m, r), dtype)
    got, expected = L.lstsq(asnumpy.array(a), asnumpy.array(b)), np.linalg.lstsq(a, b)
    for x, y in zip(got, expected, strict=True):
        if isinstance(y, np.ndarray):
            close(x, y, 1000)
        else:
            assert x == y and type(x) is type(y)
    if n > 1 and m > n:  # rank-deficient
        a[:, 1] = a[:, 0]
        got, expected = L.lstsq(asnumpy.array(a), asnumpy.array(b)), np.linalg.lstsq(a, b)
        assert got[2] == expected[2] == n - 1
        close(got[0], expected[0], 1000)


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_layouts_and_broadcasting(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    n, r = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 4))
    whole = data.draw(st.lists(st.integers(1, 5), max_size=2))
    batch_a = [data.draw(st.sampled_from([d, 1])) for d in whole][
        data.draw(st.integers(0, len(whole))) :
    ]
    batch_b = [data.draw(st.sampled_from([d, 1])) for d in whole]
    types = ["f4", "f8", "c8", "c16", "i4", "?"]
    ta, tb = data.draw(st.sampled_from(types)), data.draw(st.sampled_from(types))
    a = matrix(rng, batch_a, n, "f8")
    a = (
        (a + 1j * values(rng, a.shape, "f8") * (ta[0] == "c")).astype(ta)
        if ta != "?"
        else np.tri(n) > 0
    )
    b = (values(rng, (*batch_b, n, r), "c16") * 5).astype(tb)
    if data.draw(st.booleans()):
        a = a.swapaxes(-1, -2)
    if data.draw(st.booleans()):
        b = np.asfortranarray(b)[..., ::-1]
    if data.draw(st.booleans()) and a.ndim > 2:
        a = a[::-1]
    assume(np.linalg.cond(a).max() < 1e5)
    expected = np.linalg.solve(a, b)
    close(L.solve(to_device(a), to_device(b)), expected, 1e5)
    v = b.reshape(-1)[:n].copy()
    close(L.solve(to_device(a), to_device(v)), np.linalg.solve(a, v), 1e5)
    close(L.inv(to_device(a)), np.linalg.inv(a), 1e5)
    close(L.det(to_device(a)), np.linalg.det(a), 1e4)


S = np.array([[1.0, 2.0], [2.0, 4.0]])
EXPRESSIONS = """
inv(s)
solve(s, v)
inv(np.stack([s, s + np.eye(2), s]))
solve(np.stack([s, s + np.eye(2)]), np.ones((2, 2, 1)))
det(s)
slogdet(s)
det(np.zeros((40, 40)))
slogdet(np.zeros((40, 40)))
det(np.full((2, 2), np.nan))
slogdet(np.stack([s] * 20))
det(np.eye(64) * 1e300)
det(np.eye(4) * 0.5)
slogdet(np.eye(64) * -1e300)
slogdet(np.eye(3) * 1j)
slogdet(np.full((2, 2), np.nan))
slogdet(np.full((40, 40), np.nan))
slogdet(np.stack([np.full((3, 3), np.nan), np.eye(3), np.zeros((3, 3))]))
slogdet(np.array([[np.inf, 1], [1, 2]]))
slogdet(np.array([[np.inf, 1], [1, 2j]]))
slogdet(np.array([[np.nan, 1], [1, 2j]]))
cholesky(-s)
cholesky(np.stack([np.eye(3), -np.eye(3)]))
cholesky(np.stack([np.eye(40), -np.eye(40)]))
inv(np.zeros((40, 40)))
inv(np.ones((2, 3)))
inv(np.ones(3))
inv(np.ones((2, 2), "f2"))
inv([[1, 2], [3, 4]])
inv(np.array([[True, False], [True, True]]))
solve(s + np.eye(2), np.ones(3))
solve(s + np.eye(2), np.ones((3, 1)))
solve(s + np.eye(2), 3.0)
solve(np.zeros((3, 2, 2)) + np.eye(2), np.ones((4, 2, 1)))
solve(np.zeros((3, 2, 2)) + np.eye(2), np.ones(2))
det(np.ones((2, 3)))
det(3.0)
eig(np.ones((2, 3)))
eig(np.full((2, 2), np.inf))
eigvals(np.full((2, 2), np.nan))
eigvals(np.eye(3))
eigvals(np.array([[0, 1], [-1, 0]]))
eigh(np.ones(2))
eigh(s, "x")
eigvalsh(s, "u")
eigvalsh(np.array([[1, 2j], [-2j, 5]]))
qr(s, "x")
qr(np.ones(3))
svd(np.ones(3))
svd(np.full((3, 3), np.nan))
svd(s, compute_uv=False)
svd(s, compute_uv=False, hermitian=True)
svdvals(np.ones((3, 2, 2)) + np.eye(2))
lstsq(s, np.ones((2, 1, 1)))
lstsq(np.ones(2), np.ones(2))
lstsq(s, np.ones(3))
pinv(s)
pinv(s, hermitian=True)
pinv(s, rtol=None)
pinv(s, 0.5)
pinv(s, 0.5, rtol=0.5)
pinv(np.zeros((3, 0)))
pinv(np.stack([s, s + np.eye(2)]), [0.1, 0.9])
matrix_rank(s)
matrix_rank(np.stack([s, np.eye(2), s * 0]))
matrix_rank(s, tol=10.0)
matrix_rank(s, rtol=0.5)
matrix_rank(s, tol=1.0, rtol=1.0)
matrix_rank(s, hermitian=True)
matrix_rank(v)
matrix_rank(v * 0)
cond(s + np.eye(2))
cond(s + np.eye(2), 1)
cond(s + np.eye(2), np.inf)
cond(s + np.eye(2), "fro")
cond(s + np.eye(2), -2)
cond(np.stack([s, s + np.eye(2)]), 1)
cond(s, 1)
cond(np.zeros((2, 2)), 2)
cond(s * np.nan, 1)
cond(np.ones((2, 3)))
cond(np.zeros((0, 0)))
norm(s, 2)
norm(s, -2)
norm(s, "nuc")
norm(np.stack([s, s * 2]), 2, axis=(1, 2), keepdims=True)
norm(np.stack([s, s * 2]), "nuc", axis=(0, 2))
matrix_norm(np.stack([s, s * 2]), ord=2)
matrix_power(s + np.eye(2), -3)
matrix_power(s, -1)
matrix_power(np.stack([s + np.eye(2)] * 3), -2)
tensorsolve(np.eye(24).reshape(6, 4, 2, 3, 4), np.ones((6, 4)))
tensorsolve(np.eye(24).reshape(2, 3, 4, 6, 4).transpose(3, 0, 4, 1, 2) + 0, np.ones((6, 4)), axes=(0, 2))
tensorsolve(np.ones((2, 3)), np.ones(2))
tensorinv(np.eye(24).reshape(4, 6, 8, 3))
tensorinv(np.eye(24).reshape(24, 8, 3), ind=1)
tensorinv(np.eye(4), ind=0)
tensorinv(np.ones((4, 3)), ind=1)
""".strip().splitlines()


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression(text):
    def run(np_, s, v):
        return eval("linalg." + text, {"np": np_, "linalg": np_.linalg, "s": s, "v": v})

    same(run, S, np.array([1.0, 3.0]), ulp=1e4 if "pinv" in text else 64, where=text)


MESSAGES = """
inv(np.zeros((3, 3)))
inv(np.zeros((50, 50)))
solve(np.zeros((3, 3)), np.ones(3))
cholesky(-np.eye(3))
cholesky(-np.eye(50))
inv(np.ones((2, 3)))
inv(np.ones(2))
eig(np.full((2, 2), np.inf))
svd(np.full((3, 3), np.nan))
inv(np.ones((2, 2), "f2"))
eigh(np.eye(2), "x")
qr(np.eye(2), "x")
cond(np.zeros((0, 0)))
lstsq(np.eye(2), np.ones(3))
lstsq(np.ones(2), np.ones(3))
""".strip().splitlines()


@pytest.mark.parametrize("text", MESSAGES)
def test_message(text):
    errors = [
        outcome(lambda m=m: eval("m.linalg." + text, {"m": m, "np": np}))[1] for m in (np, asnumpy)
    ]
    assert errors[0] is not None and type(errors[0]) is type(errors[1])
    assert str(errors[0]) == str(errors[1])


@pytest.mark.parametrize("name", sorted(set(np.linalg.__all__) - {"LinAlgError"}))
def test_signature(name):
    ours, theirs = getattr(L, name), getattr(np.linalg, name)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert ours.__doc__


def test_named_results():
    a = asnumpy.array(S + np.eye(2))
    for name in ("eig", "eigh", "qr", "svd", "slogdet"):
        assert getattr(L, name)(a)._fields == getattr(np.linalg, name)(S)._fields
        assert type(getattr(L, name)(a)).__name__ == type(getattr(np.linalg, name)(S)).__name__


def test_inputs_stay_and_recorded_operations_are_seen():
    a = asnumpy.ones((6, 6)) + 5 * asnumpy.eye(6)
    before = np.asarray(a).copy()
    for name in ("inv", "det", "cholesky", "eig", "eigh", "qr", "svd"):
        getattr(L, name)(a)
    L.lstsq(a, a)
    L.solve(a, a)
    assert (np.asarray(a) == before).all()
    b = L.inv(a + a) @ a
    a += 1
    close(b * 2, np.eye(6))


def test_hermitian_svd():
    s = np.array([[1.0, 2.0], [2.0, -7.0]])
    u, w, vh = L.svd(asnumpy.array(s), hermitian=True)
    assert np.allclose(np.asarray((u * w) @ vh), s) and np.all(np.asarray(w) > 0)


def in_double(module, name, *args):
    result = getattr(module.linalg, name)(*args)
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("dtype", ["f4", "c8"])
@pytest.mark.parametrize("batch", STACKS)
@pytest.mark.parametrize("n", [1, 2, 4, 7, 17, 40])
def test_single_precision_is_rounded_once(n, batch, dtype):
    """NumPy computes in double precision and rounds; so every result is right to a unit in the last place, even
    for matrices that are far from well conditioned."""
    rng = np.random.default_rng(n)
    a = values(rng, (*batch, n, n), dtype)
    a[..., 0] = a[..., -1] * (1 + 1e-4) if n > 2 else a[..., 0]
    s = definite(rng, batch, n, dtype)
    b = values(rng, (*batch, n, 3), dtype)
    calls = [
        ("inv", s), ("solve", s, b), ("det", a), ("slogdet", a), ("cholesky", s), ("eigvalsh", s),
        ("eigvals", s), ("svdvals", a), ("cond", s), ("qr", a, "r"), ("qr", a, "raw"),
    ]  # fmt: skip
    for name, *args in calls:
        got = in_double(asnumpy, name, *map(to_device, args))
        for x, y in zip(got, in_double(np, name, *args), strict=True):
            if name == "eigvals":  # in the order of their convergence, which the last bits decide
                x, y = asnumpy.sort(x), np.sort(y)
            close(x, y, 2, (name, n, batch))


def test_single_precision_corners():
    a = (np.eye(4) * 1e20).astype("f4")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert L.det(asnumpy.array(a)) == np.inf
    if not SINGLE_OPERATORS:  # which report no exceptions
        assert [str(w.message) for w in caught] == ["overflow encountered in cast"]
    assert L.slogdet(asnumpy.array(a)).logabsdet == np.linalg.slogdet(a).logabsdet
    # Complex eigenvalues whose imaginary parts round to 0 stay complex.
    turning = np.array([[1, -1e-30], [1e-30, 1]], "f4")
    got, expected = L.eig(asnumpy.array(turning)), np.linalg.eig(turning)
    assert [np.asarray(x).dtype for x in got] == [x.dtype for x in expected]
    nearly = np.array([[1, 1], [1, 1 + 1e-7]], "f4")
    close(L.inv(asnumpy.array(nearly)), np.linalg.inv(nearly), 2)
    tall = np.array([[1, 1], [1, 1 + 1e-6], [1, 1 - 1e-6]], "f4")
    got, expected = (
        L.lstsq(asnumpy.array(tall), asnumpy.ones(3, "f4")),
        np.linalg.lstsq(tall, np.ones(3, "f4")),
    )
    assert got[2] == expected[2] == 2
    close(got[3], expected[3], 2)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        L.inv(asnumpy.ones((3, 2, 2), "f4"))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", range(1, 9))
def test_a_small_matrix_alone_is_as_in_a_stack(n, dtype):
    """Systems and inverses of up to eight rows: the bits do not depend on how many there are."""
    rng = np.random.default_rng(n)
    a = rng.standard_normal((9, n, n)).astype(dtype)
    a[0] = np.eye(n)[::-1]  # every pivot is elsewhere
    a[1, :, 0] = 0  # singular
    b = rng.standard_normal((9, n, 3)).astype(dtype)
    x, y = asnumpy.array(a), asnumpy.array(b)
    good = [0, *range(2, 9)]
    inverses, solutions = (L.inv(x[good]), L.solve(x[good], y[good]))
    for k, i in enumerate(good):
        for one in (x[i], asnumpy.array(a[i].T.copy()).T, x[i : i + 1]):
            assert L.inv(one).to_numpy().tobytes() == inverses[k].to_numpy().tobytes()
            got = L.solve(one, y[i])
            assert got.to_numpy().tobytes() == solutions[k].to_numpy().tobytes()
    np.testing.assert_allclose(inverses.to_numpy(), np.linalg.inv(a[good]), rtol=1e-2, atol=1e-2)
    for one in (x[1], x[:2]):
        with pytest.raises(np.linalg.LinAlgError):
            L.inv(one)
        with pytest.raises(np.linalg.LinAlgError):
            L.solve(one, one)


def singular_integers(rng, n, count):
    """Matrices of small integers in which a row or a column is made of the others."""
    result = rng.integers(-9, 10, (count, n, n)).astype("f8")
    for k, a in enumerate(result):
        one, weights = rng.integers(n), rng.integers(-2, 3, n - 1)
        others = np.delete(np.arange(n), one)
        if k % 2:
            a[one] = weights @ a[others]
        else:
            a[:, one] = a[:, others] @ weights
    return result


def raises(call, *args):
    try:
        call(*args)
    except np.linalg.LinAlgError:
        return True
    return False


NAMED = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9.0]])


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_which_singular_matrices_raise(n):
    """Whether a pivot is 0 or what rounding left of 0 is a matter of the order of LAPACK's additions, so that whatever is
    close is LAPACK's. NumPy's OpenBLAS may be another version than ours, with other kernels for this processor: one matrix
    in fifty may differ."""
    rng = np.random.default_rng(n)
    matrices = singular_integers(rng, n, 150)
    if n == 3:
        matrices[0] = NAMED
    b = rng.integers(-9, 10, (n, 2)).astype("f8")
    differ, expected = set(), []
    for k, a in enumerate(matrices):
        expected.append(raises(np.linalg.inv, a))
        for count in (1, 2, 5):
            x = asnumpy.array(np.stack([a] * count) if count > 1 else a)
            if (
                raises(L.inv, x) != expected[k]
                or raises(L.solve, x, asnumpy.array(b)) != expected[k]
            ):
                differ.add(k)
    assert any(expected) and (n == 2 or not all(expected))
    assert len(differ) <= len(matrices) // 50 and (n != 3 or 0 not in differ), differ
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dets, expected = L.det(asnumpy.array(matrices)).to_numpy(), np.linalg.det(matrices)
    assert ((dets == 0) != (expected == 0)).sum() <= len(matrices) // 50
    signs, logs = (x.to_numpy() for x in L.slogdet(asnumpy.array(matrices)))
    assert ((signs == 0) == (dets == 0)).all() and (np.isinf(logs) == (dets == 0)).all()
    for k in range(0, len(matrices), 10):
        assert L.det(asnumpy.array(matrices[k])) == dets[k]


@pytest.mark.parametrize("dtype, tiny", [("float64", 1e-310), ("float32", 1e-40)])
@pytest.mark.parametrize("count", [1, 3, 70])
@pytest.mark.parametrize("n", [2, 3, 5, 20])
def test_pivots_that_have_no_finite_reciprocal(n, count, dtype, tiny):
    """They are divided by, as in LAPACK: no overflow on the way to a finite result."""
    rng = np.random.default_rng(n)
    a, b = matrix(rng, (count,), n, dtype), values(rng, (count, n, 1), dtype)
    a[::7] *= a.dtype.type(tiny)
    b[::7] *= a.dtype.type(tiny)
    scaled = matrix(rng, (count,), n, dtype)
    scaled[::7, :, n // 2] *= a.dtype.type(tiny)
    x = asnumpy.array(scaled)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(L.det(x).to_numpy(), np.linalg.det(scaled), rtol=1e-2)
        got, expected = (
            L.solve(asnumpy.array(a), asnumpy.array(b)).to_numpy(),
            np.linalg.solve(a, b),
        )
    np.testing.assert_allclose(got, expected, rtol=1e-2, atol=1e-3)
    inverses = L.inv(x).to_numpy()
    np.testing.assert_array_equal(np.isfinite(inverses), np.isfinite(np.linalg.inv(scaled)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_one_nearly_singular_matrix_leaves_the_others_alone(dtype):
    """Its neighbours in a stack have the bits that they have without it, and it has those that it has alone."""
    rng = np.random.default_rng(7)
    a = matrix(rng, (37,), 4, dtype)
    near = a.copy()
    near[11] = singular_integers(rng, 4, 1)[0]
    near[11, 0, 0] += 2.0**-47 if dtype == "float64" else 2.0**-18
    others = np.arange(37) != 11
    got, alone = (L.inv(asnumpy.array(x)).to_numpy() for x in (near, a))
    assert got[others].tobytes() == alone[others].tobytes()
    assert got[11].tobytes() == L.inv(asnumpy.array(near[11])).to_numpy().tobytes()


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_determinants_of_infinities(n, rng):
    """slogdet's sign is that of the diagonal's numbers, among which NaN counts as positive."""
    values = np.array([np.inf, -np.inf, np.nan, 1, 0, 2, -3.5])
    for _ in range(60):
        a = rng.choice(values, (n, n))
        for x in (a, np.stack([a, a.T, -a]), a.astype("f4")):
            same(lambda np_, x: (*np_.linalg.slogdet(x), np_.linalg.det(x)), x, ulp=8, where=f"{x}")
