"""asnumpy.sparse against SciPy: formats, shapes, dtypes, empty rows, elements stored twice."""

import operator
import os

import asnumpy
import numpy as np
import pytest
from asnumpy import sparse
from hypothesis import given, settings
from hypothesis import strategies as st

theirs = pytest.importorskip("scipy.sparse", reason="needs SciPy")
FORMATS = ["csr", "csc", "coo", "bsr", "dia"]
DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int32",
    "int64",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
FEW = settings(max_examples=25, deadline=None)


def dense_values(rng, shape, dtype, density):
    """Small whole numbers, most of them 0, so that sums are exact."""
    values = rng.integers(0 if np.dtype(dtype).kind in "bu" else -4, 5, shape)
    return np.where(rng.random(shape) < density, values, 0).astype(dtype)


def pair(dense, name, kind="array"):
    """The same array of ours and of SciPy's."""
    return (getattr(sparse, f"{name}_{kind}")(asnumpy.array(dense)),
            getattr(theirs, f"{name}_{kind}")(dense))  # fmt: skip


def host(x):
    if isinstance(x, sparse.sparray) or theirs.issparse(x):
        x = x.toarray()
    return np.asarray(x)


def same(ours, expected):
    """Equal shapes, dtypes and elements; sparse where SciPy's is, and of its class. Sums of whole numbers are exact;
    what is inexact beyond (means, functions) is within a few units of the last place of the largest element, or of 1."""
    if theirs.issparse(expected):
        assert isinstance(ours, sparse.sparray), type(ours)
        assert isinstance(ours, sparse.spmatrix) == isinstance(expected, theirs.spmatrix)
    else:
        assert not isinstance(ours, sparse.sparray), type(ours)
    a, b = host(ours), host(expected)
    assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape, a.dtype, b.dtype)
    exact = b.dtype.kind in "biu"
    bound = (
        0
        if exact
        else 8 * np.finfo(b.dtype).eps * max(1, np.abs(b).max(initial=0, where=np.isfinite(b)))
    )
    np.testing.assert_allclose(a, b, rtol=0, atol=bound)


@st.composite
def arrays(draw, dtypes=DTYPES, least=0):
    """A dense array with some zeros, and a format."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    shape = draw(st.tuples(st.integers(least, 9), st.integers(least, 9)))
    dense = dense_values(
        rng, shape, draw(st.sampled_from(dtypes)), draw(st.sampled_from([0, 0.2, 0.9]))
    )
    return dense, draw(st.sampled_from(FORMATS))


@FEW
@given(arrays(), st.sampled_from(FORMATS))
def test_conversions(one, to):
    dense, name = one
    a, b = pair(dense, name)
    same(a, b)
    assert a.format == name and a.shape == dense.shape
    converted = getattr(a, f"to{to}")()
    same(converted, getattr(b, f"to{to}")())
    assert converted.format == to
    back = a.to_scipy()
    assert type(back) is type(b)
    same(getattr(sparse, f"{to}_array")(back), b)
    same(a.T, b.T)
    same(a.count_nonzero(), b.count_nonzero())
    if to in ("csr", "csc"):
        # SciPy's BSR chooses blocks of several elements, zeros among them
        expected = getattr(b if name != "bsr" else b.tobsr((1, 1)), f"to{to}")()
        expected.sum_duplicates()
        expected.eliminate_zeros() if name == "bsr" else None
        assert converted.nnz == expected.nnz
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(converted, part), getattr(expected, part))


@FEW
@given(st.integers(0, 2**31), st.sampled_from(["coo", "csr", "csc"]), st.sampled_from(DTYPES))
def test_elements_stored_twice(seed, name, dtype):
    rng = np.random.default_rng(seed)
    count = rng.integers(0, 40)
    places = (rng.integers(0, 5, count), rng.integers(0, 7, count))
    data = dense_values(rng, count, dtype, 0.9)
    a = getattr(sparse, f"{name}_array")((data, places), shape=(5, 7))
    b = getattr(theirs, f"{name}_array")((data, places), shape=(5, 7))
    for one, other in ((a, b), (a.tocsr(), b.tocsr()), (a.tocoo(), b.tocoo())):
        same(one, other)
        same(one.sum(axis=0), other.sum(axis=0))
    a.sum_duplicates()
    b.sum_duplicates()
    assert a.has_canonical_format and a.nnz == b.nnz
    a.eliminate_zeros()
    b.eliminate_zeros()
    assert a.nnz == b.nnz
    same(a, b)


def test_lines_that_are_not_sorted():
    data, indices, indptr = [1.0, 2, 3, 4], [2, 0, 0, 0], [0, 2, 2, 4]
    a, b = sparse.csr_array((data, indices, indptr)), theirs.csr_array((data, indices, indptr))
    assert a.shape == b.shape and not a.has_sorted_indices and not a.has_canonical_format
    same(a @ np.ones(3), b @ np.ones(3))
    same(abs(sparse.csr_array(([1, -1], [0, 0], [0, 2]))), theirs.csr_array([[0]]))
    a.sort_indices()
    assert a.has_sorted_indices and a.nnz == 4
    same(a.tocsc(), b.tocsc())
    a.sum_duplicates()
    assert a.nnz == 3
    same(a.sorted_indices(), b)


@FEW
@given(
    arrays(), arrays(), st.sampled_from(["add", "sub", "mul", "ne", "lt", "gt", "eq", "le", "ge"])
)
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_two_arrays(one, other, name):
    op = getattr(operator, name)
    x, y = one[0], np.resize(other[0], one[0].shape) if other[0].size else one[0]
    if name == "sub" and x.dtype == y.dtype == bool or "c" in (x.dtype.kind, y.dtype.kind) and name not in (
        "add", "sub", "mul", "ne", "eq"):  # fmt: skip
        return
    (a, b), (c, d) = pair(x, one[1]), pair(y, other[1])
    # SciPy 1.17 adds DIA of two dtypes in the dtype of the longer one, or fails
    same(op(a, c), op(b.tocsr() if (one[1], other[1]) == ("dia", "dia") else b, d))
    if name in ("add", "sub"):
        same(op(a, y), op(x, y))
    if name in ("ne", "mul"):
        same(op(a, 2), op(b, 2))
    same(a.multiply(y), b.multiply(y))


@FEW
@given(arrays(["int32", "float32", "float64"]))
def test_extremes(one):
    a, b = pair(*one)
    c, d = a * -1, b * -1
    same(a.maximum(c), b.maximum(d))
    same(a.minimum(c), b.minimum(d))
    for axis in (None, 0, 1, -1):
        for name in ("max", "min"):
            if not one[0].size:
                continue
            same(getattr(a, name)(axis=axis), getattr(b.tocsr(), name)(axis=axis))


@FEW
@given(arrays())
def test_sums(one):
    a, b = pair(*one)
    for axis in (None, 0, 1, -1, -2):
        same(a.sum(axis=axis), b.sum(axis=axis))
        if one[0].size:
            same(a.mean(axis=axis), b.mean(axis=axis))
    for k in (-2, 0, 1):
        if one[0].shape[0] + k > 0 and one[0].shape[1] > k and one[0].size:
            same(a.diagonal(k), b.diagonal(k))
    for ours, expected in zip(a.nonzero(), np.nonzero(one[0]), strict=True):
        np.testing.assert_array_equal(ours, expected)
    same(a.reshape(-1, 1), b.reshape(-1, 1)) if one[0].size else None


@FEW
@given(arrays(), st.sampled_from(FORMATS), st.integers(0, 8), st.sampled_from(DTYPES))
def test_products(one, other, width, dtype):
    a, b = pair(*one)
    rng = np.random.default_rng(width)
    y = dense_values(rng, (one[0].shape[1], width), dtype, 0.7)
    same(a @ y, b @ y)
    same(a @ asnumpy.array(y), b @ y)
    # SciPy 1.17: a product of no columns by a vector is a scalar of COO, empty products of DIA fail
    same(a @ y[:, 0], b.tocsr() @ y[:, 0]) if width else None
    c, d = pair(y, other)
    same(a @ c, b.tocsr() @ d.tocsr())
    x = np.ascontiguousarray(y.T)
    same(x @ a.T, x @ b.T)
    same(asnumpy.array(x) @ a.T, x @ b.T)


def taken(ours, expected):
    """What was taken out of an array is NumPy's of the dense one; SciPy 1.17 fails on lists of one index."""
    if expected.ndim == 0:
        assert ours == expected and ours.dtype == expected.dtype
    else:
        same(ours, theirs.coo_array(expected))


@FEW
@given(arrays(least=1), st.data())
def test_slices(one, data):
    dense, name = one
    if name in ("bsr", "dia"):
        name = "csr"
    a = pair(dense, name)[0]

    def key(n):
        bound = st.one_of(st.none(), st.integers(-n, n))
        step = st.sampled_from([None, 1, 2, -1, -3])
        return data.draw(st.one_of(st.integers(-n, n - 1), st.builds(slice, bound, bound, step),
                                   st.lists(st.integers(-n, n - 1), min_size=1, max_size=4)))  # fmt: skip

    row, col = key(dense.shape[0]), key(dense.shape[1])
    if isinstance(row, list) and isinstance(col, list):
        row, col = row[:1] * len(col), col
    for where in (row, (row, col), (..., col), np.ix_(*(np.arange(max(1, n - 1)) for n in dense.shape)),
                  dense[:, 0] != 0):  # fmt: skip
        taken(a[where], dense[where])
    taken(a[asnumpy.array(dense != 0)], dense[dense != 0])
    taken(a[a != 0], dense[dense != 0])


def test_matrices():
    dense = np.array([[1, 0, 2], [0, 3, 0], [4, 0, 0]])
    for name in FORMATS:
        a, b = pair(dense, name, "matrix")
        same(a * a, b * b)
        same(a**3, b**3)
        same(a**0, theirs.csr_matrix(np.eye(3, dtype=int)))
        same(2 * a, 2 * b)
        same(a * np.ones(3), b * np.ones(3))
        same(a.T.T, b)
        same(a.sum(axis=0), np.asarray(b.sum(axis=0)))
        same(a.sum(axis=1), np.asarray(b.sum(axis=1)))
        if name == "csr":
            same(a[0], b[0])
            same(a[:, 1], b[:, 1])
            same(a.max(axis=1), b.max(axis=1))
    with pytest.raises(TypeError, match="not square"):
        sparse.csr_matrix([[1, 2]]) ** 2


def test_one_dimension():
    a, b = sparse.coo_array([0, 3, 0, 5]), theirs.coo_array([0, 3, 0, 5])
    same(a, b)
    same(a @ np.arange(4), b @ np.arange(4))
    same(a + a, b + b)
    same(a.sum(), b.sum())
    same(a.reshape(2, 2), b.reshape(2, 2))
    assert a[1] == 3 and a.ndim == 1 and a.nnz == 2 and len(a.coords) == 1
    same(a[1:3], theirs.coo_array([3, 0]))
    with pytest.raises(ValueError, match="1d"):
        a.tocsc()


def test_blocks():
    dense = np.kron(np.array([[1, 0, 2], [0, 3, 0]]), np.array([[1, 2], [0, 4]]))
    a, b = sparse.csr_array(dense).tobsr((2, 2)), theirs.csr_array(dense).tobsr((2, 2))
    assert a.blocksize == b.blocksize and a.nnz == b.nnz
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(a, part), getattr(b, part))
    same(sparse.bsr_array((b.data, b.indices, b.indptr)), b)
    assert sparse.bsr_array(dense, blocksize=(1, 3)).blocksize == (1, 3)
    assert a.T.blocksize == (2, 2) and a.copy().nnz == a.nnz
    with pytest.raises(ValueError, match="does not divide"):
        a.tobsr((4, 4))


def test_diagonals():
    data, offsets = [[1, 2, 3], [4, 5, 6]], [0, -1]
    a, b = (
        sparse.dia_array((data, offsets), shape=(4, 3)),
        theirs.dia_array((data, offsets), shape=(4, 3)),
    )
    same(a, b)
    assert a.nnz == b.nnz
    with pytest.raises(ValueError, match="duplicate"):
        sparse.dia_array((data, [1, 1]), shape=(4, 3))


MAKERS = [
    lambda s: s.eye_array(3, 4, k=1, dtype="int32"), lambda s: s.eye(3, k=-1), lambda s: s.identity(4),
    lambda s: s.diags_array([[1.0, 2, 3], [4, 5]], offsets=[0, 1]),
    lambda s: s.diags_array([1.5, 2], offsets=[-1, 2], shape=(4, 5)),
    lambda s: s.diags([1.0, 2], -1), lambda s: s.kron([[1, 2], [0, 3]], s.eye_array(2)),
    lambda s: s.kron(s.eye(2), s.eye(3)), lambda s: s.hstack([s.eye_array(2), s.eye_array(2)]),
    lambda s: s.vstack([s.eye(2), s.eye(2)], format="csr"),
    lambda s: s.block_array([[s.eye_array(2), None], [None, s.eye_array(1, dtype=int)]]),
    lambda s: s.bmat([[s.eye(2), [[1], [2]]]]), lambda s: s.block_diag([s.eye_array(2), [[1, 2]]]),
    lambda s: s.tril([[1, 2], [3, 4]], -1), lambda s: s.triu(s.coo_array([[1, 2], [3, 4]]), 1),
    lambda s: s.csr_array((3, 4)), lambda s: s.coo_array((2, 3), dtype="int8"),
    lambda s: s.csr_array(s.eye_array(3), dtype="float32"), lambda s: s.csr_array(np.eye(3)).power(2),
    lambda s: s.csr_array(np.eye(3)) / 2, lambda s: -s.csr_array(np.eye(3)),
    lambda s: s.csr_array(np.eye(3)) - 0, lambda s: np.ones((3, 3)) - s.csr_array(np.eye(3)),
    lambda s: s.csr_array([[1, -2]]).sign(), lambda s: s.csr_array([[1.5, -2.5]]).floor(),
    lambda s: abs(s.csr_array([[1, -2j]])), lambda s: s.csr_array([[1, -2j]]).conj().T,
    lambda s: s.csr_array([[1.0, 0], [2, 3]]) / s.csr_array([[1.0, 0], [4, 5]]),
    lambda s: s.csr_array([[1.0, 0], [2, 3]]) / [[2, 0], [2, 4]],
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(MAKERS)))
def test_made(number):
    ours, expected = MAKERS[number](sparse), MAKERS[number](theirs)
    if theirs.issparse(expected):
        assert number in (6, 7, 28) or ours.format == expected.format
    same(ours, expected)


def test_random():
    a = sparse.random_array((30, 40), density=0.1, format="csr", rng=3, dtype="float32")
    assert a.nnz == 120 and a.dtype == np.float32 and a.format == "csr" and a.has_canonical_format
    same(
        sparse.random_array((30, 40), density=0.1, rng=3),
        sparse.random_array((30, 40), density=0.1, rng=3).to_scipy(),
    )
    assert sparse.isspmatrix(sparse.random(3, 4, 0.5))
    with pytest.raises(ValueError, match="density is 2"):
        sparse.random_array((2, 2), density=2)


ERRORS = [
    lambda s: s.csr_array(np.zeros((2, 2), np.float16)), lambda s: s.csr_array([1]).tocsc() if s is theirs else s.csr_array([1]),
    lambda s: s.coo_array(([1], ([3], [0])), shape=(2, 2)), lambda s: s.coo_array(([1], ([-1], [0])), shape=(2, 2)),
    lambda s: s.csr_array(([1], [0], [0, 2])), lambda s: s.csr_array(([1, 2], [0, 3], [0, 2]), shape=(1, 2)),
    lambda s: s.csr_array(np.eye(2)) @ np.ones(3), lambda s: s.csr_array(np.eye(2)) @ s.csr_array(np.eye(3)),
    lambda s: s.csr_array(np.eye(2)) @ 2, lambda s: s.csr_array(np.eye(2)) + 1,
    lambda s: s.csr_array(np.eye(2))[2], lambda s: s.csr_array(np.eye(2))[0, [5]], lambda s: s.csr_array(np.eye(2))[0, 0, 0],
    lambda s: s.csr_array(np.eye(2)) + s.csr_array(np.eye(3)), lambda s: bool(s.csr_array(np.eye(2))),
    lambda s: len(s.csr_array(np.eye(2))), lambda s: s.csr_array(np.eye(2)).sum(axis=2), lambda s: s.dia_array(np.eye(2))[0],
    lambda s: s.csr_array((0, 2)).max(), lambda s: s.hstack([s.eye_array(2), s.eye_array(3)]),
    lambda s: s.csr_array(np.eye(2)).asformat("xyz"), lambda s: s.csr_array(np.eye(2)).reshape(3, 3),
    lambda s: s.diags_array([[1.0, 2], [3.0]], offsets=[0, 0]), lambda s: s.csr_array(np.eye(2)).power(0),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    """The classes of SciPy's errors."""
    with pytest.raises(Exception) as ours:
        ERRORS[number](sparse)
    try:
        ERRORS[number](theirs)
    except Exception as error:
        assert type(ours.value) is type(error), (ours.value, error)


def test_scipys_arrays_as_operands():
    dense = np.array([[1.0, 0], [2, 3]])
    a, b = pair(dense, "csr")
    same(a @ b, b @ b)
    same(a + b, b + b)
    same(sparse.csc_array(b), b)
    assert sparse.issparse(a) and not sparse.issparse(b)


def test_solvers():
    a = sparse.diags_array([[-1.0] * 4, [4.0] * 5, [-1.0] * 4], offsets=[-1, 0, 1], format="csr")
    b = asnumpy.arange(5.0)
    x = sparse.linalg.spsolve(a, b)
    assert isinstance(x, asnumpy.ndarray)
    np.testing.assert_allclose(a @ x, b, atol=1e-12)
    y, info = sparse.linalg.cg(a, b, rtol=1e-10)
    assert info == 0
    np.testing.assert_allclose(x, y, atol=1e-8)


def test_without_scipy(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "scipy.sparse.linalg", None)
    with pytest.raises(ImportError, match="asnumpy.sparse.linalg solves with SciPy"):
        sparse.linalg.cg(sparse.eye_array(2), [1, 2])


def test_large_and_uneven():
    """Both ways of the composition: gathers in pieces, and the product of matrices."""
    rng = np.random.default_rng(5)
    for density in (0.02, 0.6):
        dense = np.where(rng.random((300, 200)) < density, rng.random((300, 200)), 0)
        dense[7], dense[40:90] = 1.0, 0
        a, b = pair(dense, "csr")
        y = rng.random((200, 70))
        np.testing.assert_allclose(a @ y, b @ y, rtol=1e-12)
        y[5, 3] = np.inf  # meets zeros that are not stored
        np.testing.assert_allclose(a @ y, b @ y, rtol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [1, 3, 16, 65, 200])
def test_uneven_rows(dtype, width):
    """Rows of very uneven length, widths around panels, indices of both dtypes."""
    rng = np.random.default_rng(width)
    dense = dense_values(rng, (60, 500), dtype, 0.05)
    dense[11], dense[20:40] = dense_values(rng, 500, dtype, 1), 0
    y = dense_values(rng, (500, width), dtype, 0.8)
    a, b = pair(dense, "csr")
    wide = sparse.csr_array(a)
    wide.indices, wide.indptr = wide.indices.astype("int64"), wide.indptr.astype("int64")
    for one in (a, wide, a.tocsc()):
        same(one @ y, b @ y)


def has_operation():
    """Whether the device multiplies in one operation in this mode: without recording, and in CANN's place, not."""
    return os.environ.get("ASNUMPY_FUSE") != "0" and os.environ.get("ASNUMPY_DEVICE") != "ascend"


def test_products_are_traced():
    if not has_operation():
        pytest.skip("this mode has no such operation; the composition counts rows on the host")
    a = sparse.random_array((50, 60), density=0.2, format="csr", rng=1)
    y = asnumpy.random.default_rng(2).random((60, 9))
    times = asnumpy.jit(lambda x: a @ (2 * x))
    for _ in range(3):
        np.testing.assert_allclose(times(y), a.to_scipy() @ (2 * np.asarray(y)), rtol=1e-12)
    assert "  operator sparse_matmul  " in times.explain()


def test_indices_outside_are_refused():
    """An array whose parts a program has overwritten."""
    call = asnumpy._core._sparse_matmul
    y = asnumpy.ones((3, 2))
    if not has_operation():
        pytest.skip("this mode has no such operation")
    for indptr, index in (([0, 1], 3), ([0, 1], -1), ([0, 2], 0), ([1, 1], 0)):
        with pytest.raises((ValueError, IndexError, RuntimeError), match="sparse matmul"):
            call(asnumpy.array(indptr), asnumpy.array([index]), asnumpy.ones(1), y, 1, None).sum()
            asnumpy.synchronize()
    with pytest.raises(ValueError, match="as many indices as data"):
        call(asnumpy.array([0, 1]), asnumpy.array([0]), asnumpy.ones(2), y, 1, None)


def test_texts():
    a = sparse.csr_array([[1, 0], [0, 2]])
    assert repr(a) == repr(a.to_scipy())
    assert str(a) == str(a.to_scipy())
