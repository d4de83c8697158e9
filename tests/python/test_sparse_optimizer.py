"""asnumpy.sparse's patterns and SparseMatMulOptimizer, every way and threshold, against SciPy."""

import asnumpy
import numpy as np
import pytest
from asnumpy import sparse
from hypothesis import given, settings
from hypothesis import strategies as st

theirs = pytest.importorskip("scipy.sparse", reason="needs SciPy")
WAYS = ["auto", "direct", "blocked", "dense"]
USUAL = sparse.SparseMatMulOptimizer(0.10, 0.30, 0.15)
FEW = settings(max_examples=40, deadline=None)


def uneven(rng, rows, cols):
    """A mask whose blocks of 64 rows have every density."""
    share = np.repeat(rng.choice([0, 0.02, 0.2, 0.9], (rows + 63) // 64), 64)[:rows, None]
    return rng.random((rows, cols)) < share


def whole_numbers(rng, shape, dtype):
    return rng.integers(-3, 4, shape).astype(dtype)


@FEW
@given(
    st.integers(0, 300), st.integers(0, 90), st.integers(0, 70), st.sampled_from(WAYS),
    st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)),
    st.sampled_from(["int8", "int64", "float32", "float64", "complex64"]), st.integers(0, 2**31),
)  # fmt: skip
def test_products(rows, cols, width, strategy, thresholds, dtype, seed):
    """Sums of whole numbers are exact, in whatever order."""
    rng = np.random.default_rng(seed)
    mask = uneven(rng, rows, cols)
    a, b = whole_numbers(rng, (rows, cols), dtype), whole_numbers(rng, (cols, width), dtype)
    stored = theirs.csr_array(np.where(mask, a, np.zeros((), dtype)))
    want = stored @ b
    low, high = sorted(thresholds[:2])
    optimizer = sparse.SparseMatMulOptimizer(low, high, thresholds[2])
    found = optimizer.matmul(a, b, sparse.SparsePattern(mask), strategy=strategy)
    assert isinstance(found, asnumpy.ndarray) and found.dtype == dtype
    assert np.array_equal(found, want)
    assert np.array_equal(optimizer.matmul(sparse.csr_array(stored), b, strategy=strategy), want)


@pytest.mark.parametrize("strategy", WAYS)
@pytest.mark.parametrize("rows", [64, 127, 128, 129, 1000])
def test_uneven_last_block(rows, strategy):
    """Random numbers, every other block dense, more rows than the parts of a panel."""
    rng = np.random.default_rng(rows)
    dense = np.arange(rows) // 64 % 2 == 1
    mask = rng.random((rows, 150)) < np.where(dense, 0.7, 0.05)[:, None]
    a, b = rng.random((rows, 150)), rng.random((150, 33))
    found = USUAL.matmul(a, b, sparse.SparsePattern(mask), strategy=strategy)
    np.testing.assert_allclose(found, theirs.csr_array(np.where(mask, a, 0)) @ b, rtol=1e-12)


@pytest.mark.parametrize("strategy", WAYS)
def test_other_formats_vectors_and_places_stored_twice(strategy):
    rng = np.random.default_rng(4)
    dense = np.where(rng.random((90, 40)) < 0.4, rng.integers(1, 5, (90, 40)), 0)
    y = rng.integers(0, 5, 40)
    for kind in ("csc", "coo", "bsr", "dia"):
        a = sparse.csr_array(dense).asformat(kind)
        assert np.array_equal(USUAL.matmul(a, y, strategy=strategy), dense @ y)
    twice = sparse.csr_array(([1.0, 2.0, 4.0], [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    assert USUAL.matmul(twice, np.eye(2), strategy=strategy).tolist() == [[0, 3], [4, 0]]


@pytest.mark.parametrize("strategy", WAYS)
def test_what_is_not_stored_takes_no_part(strategy):
    mask = np.random.default_rng(2).random((100, 30)) < 0.5
    a, b = np.where(mask, 1, np.nan), np.ones((30, 3))
    b[4] = np.inf
    want = np.where(mask[:, 4], np.inf, mask.sum(1))[:, None] + np.zeros(3)
    assert np.array_equal(USUAL.matmul(a, b, sparse.SparsePattern(mask), strategy=strategy), want)
    stored = sparse.csr_array(mask.astype(float))
    assert np.array_equal(USUAL.matmul(stored, b, strategy=strategy), want)


def test_halves_are_summed_in_float32():
    a, b = np.full((3, 4096), 0.5, "float16"), np.full((4096, 2), 0.25, "float16")
    for strategy in WAYS:
        found = USUAL.matmul(
            a, b, sparse.SparsePattern(np.ones((3, 4096), bool)), strategy=strategy
        )
        assert found.dtype == "float16" and (np.asarray(found) == 512).all()


@FEW
@given(st.integers(0, 150), st.integers(0, 90), st.integers(-200, 200), st.integers(-200, 200))
def test_bands(rows, cols, lower, upper):
    i, j = np.ogrid[:rows, :cols]
    want = (j - i <= upper) & (i - j <= lower)
    pattern = sparse.SparsePattern.banded(rows, cols, lower, upper)
    assert np.array_equal(pattern.mask, want) and pattern.shape == (rows, cols)
    stored = theirs.csr_array(want)
    assert pattern.nnz == stored.nnz
    assert np.array_equal(pattern.indptr, stored.indptr)
    assert np.array_equal(pattern.indices, stored.indices)
    assert np.array_equal(sparse.SparsePattern.causal(rows, cols).mask, j <= i)


def test_blocks():
    blocks = np.random.default_rng(1).random((3, 4)) < 0.5
    whole = blocks.repeat(50, 0).repeat(20, 1)
    assert np.array_equal(sparse.SparsePattern.block(blocks, (50, 20)).mask, whole)
    cut = sparse.SparsePattern.block(blocks, (50, 20), (130, 70))
    assert np.array_equal(cut.mask, whole[:130, :70])
    assert repr(cut) == f"SparsePattern(shape=(130, 70), nnz={whole[:130, :70].sum()})"
    for shape in [(100, 80), (151, 80), (-1, 80)]:
        with pytest.raises(ValueError, match="3 by 4 blocks"):
            sparse.SparsePattern.block(blocks, (50, 20), shape)


def test_a_pattern_is_a_copy():
    mask = asnumpy.ones((2, 2), dtype=bool)
    pattern = sparse.SparsePattern(mask)
    mask[...] = False
    pattern.mask[...] = False
    assert pattern.mask.all() and pattern.nnz == 4


def test_analysis():
    mask = np.zeros((150, 40), bool)
    mask[:64, :30], mask[64:128, :2] = True, True
    found = sparse.SparsePattern(mask).analyze(USUAL)
    assert found.block_density == (0.75, 0.05, 0) and found.row_counts == tuple(mask.sum(1))
    assert (found.nnz, found.filled_blocks, found.dense_blocks) == (mask.sum(), 2, 1)
    assert found.density == mask.mean() and found.strategy == "dense"
    assert found.reason == "dense: density 0.3413 is not below 0.3"
    for share, strategy, reason in [
        (0.05, "direct", "below 0.1"),
        (0.2, "blocked", "3 of 3 blocks have 0.15"),
    ]:
        mask[:] = np.arange(40) < 40 * share
        found = sparse.SparsePattern(mask).analyze(USUAL)
        assert found.strategy == strategy and reason in found.reason


def test_thresholds():
    measured = sparse.SparseMatMulOptimizer().thresholds()
    assert measured == sparse.SparseMatMulOptimizer().thresholds()  # once in a process
    assert 0 <= measured.direct <= measured.blocked <= 1 and 0 <= measured.inner <= 1
    assert USUAL.thresholds() == (0.10, 0.30, 0.15)
    assert sparse.SparseMatMulOptimizer(direct=1).thresholds() == (1, 1, measured.inner)
    assert sparse.SparseMatMulOptimizer(blocked=0).thresholds() == (0, 0, measured.inner)
    assert sparse.SparsePattern.causal(5).analyze().strategy in WAYS[1:]
    for wrong in [(0.3, 0.2, 0), (-1, 1, 0), (0, 2, 0), (0, 1, 1.5), (0, float("nan"), 0)]:
        with pytest.raises(ValueError, match="thresholds are direct"):
            sparse.SparsePattern.causal(5).analyze(sparse.SparseMatMulOptimizer(*wrong))


def test_refusals():
    a, causal = np.ones((4, 3)), sparse.SparsePattern.causal(4, 3)
    with pytest.raises(ValueError, match="strategy is 'fast'; allowed are"):
        USUAL.matmul(a, a.T, causal, strategy="fast")
    with pytest.raises(TypeError, match="needs a SparsePattern, got NoneType"):
        USUAL.matmul(a, a.T)
    with pytest.raises(TypeError, match="pattern of its own"):
        USUAL.matmul(sparse.csr_array(a), a.T, causal)
    with pytest.raises(ValueError, match="dimension mismatch"):
        USUAL.matmul(a, a, causal)
    with pytest.raises(ValueError, match="dimension mismatch"):
        USUAL.matmul(sparse.csr_array(a), a)
    with pytest.raises(ValueError, match=r"pattern's is \(4, 3\)"):
        USUAL.matmul(a.T, a, causal)
    with pytest.raises(TypeError, match="mask is float64"):
        sparse.SparsePattern(a)
    with pytest.raises(ValueError, match="1 dimensions"):
        sparse.SparsePattern(np.ones(3, bool))
    with pytest.raises(ValueError, match=r"shape is \(-1, -1\)"):
        sparse.SparsePattern.causal(-1)


def test_captures_have_no_part_of_what_looks():
    causal = sparse.SparsePattern.causal(5)
    traced = asnumpy.jit(lambda x: USUAL.matmul(x, x, causal, strategy="dense"))
    with pytest.raises((RuntimeError, TypeError)):
        traced(asnumpy.ones((5, 5)))
