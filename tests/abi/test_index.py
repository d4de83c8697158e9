"""Indexing, masks, gather and scatter through CANN's interface against NumPy."""

import numpy as np
import pytest
from aclnn import AclError, run

RNG = np.random.default_rng(4)
same = np.testing.assert_array_equal
A = RNG.random((4, 5, 6))
I, J = np.array([0, 3, -1]), np.array([[1], [2]])
MASK = RNG.random((4, 5)) < 0.5

KEYS = [
    ([I], np.s_[I]), ([None, I], np.s_[:, I]), ([I, J], np.s_[I, J]), ([I, None, J], np.s_[I, :, J]),
    ([None, I, J], np.s_[:, I, J]), ([MASK], np.s_[MASK]), ([None, MASK[0]], np.s_[:, MASK[0]]),
    ([I.astype(np.int32)], np.s_[I]), ([I, None, MASK[0, :3].repeat(2)], None),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "int8", "complex128", "bool"])
@pytest.mark.parametrize("number", range(len(KEYS) - 1))
def test_index(number, dtype):
    indices, key = KEYS[number]
    a = (A * 100).astype(dtype)
    same(run("Index", a, indices, np.empty_like(a[key])), a[key])
    same(run("Index", a.copy(order="F"), indices, np.empty_like(a[key])), a[key])
    got, want = a.copy(), a.copy()
    values = (RNG.random(a[key].shape) * 100).astype(dtype)
    want[key] = values
    run("IndexPutImpl", got, indices, values, False, False)
    same(got, want)
    if dtype in ("float64", "int8"):
        got, want = a.copy(), a.copy()
        np.add.at(want, key, values)
        run("IndexPutImpl", got, indices, values, True, False)
        np.testing.assert_allclose(got, want)


def test_index_errors():
    with pytest.raises(AclError, match="100000.*out of bounds"):
        run("Index", A, [np.array([9])], np.empty((1, 5, 6)))
    with pytest.raises(AclError, match="161002"):
        run("Index", A, [I.astype(float)], np.empty((3, 5, 6)))
    with pytest.raises(AclError, match="161002"):
        run("Index", A, [I, I, I, I], np.empty(3))
    with pytest.raises(AclError, match="broadcast"):
        run("Index", A, [I, np.array([0, 1])], np.empty((3, 6)))
    with pytest.raises(AclError, match="output has shape"):
        run("Index", A, [I], np.empty((2, 5, 6)))


def test_take():
    idx = RNG.integers(-5, 5, (2, 3))
    same(run("IndexSelect", A, 1, idx[0], np.empty((4, 3, 6))), A.take(idx[0], 1))
    same(run("GatherV2", A, 1, idx, np.empty((4, 2, 3, 6))), A.take(idx, 1))
    same(run("Embedding", A, abs(idx) % 4, np.empty((2, 3, 5, 6))), A[abs(idx) % 4])
    same(run("Take", A.T, idx, np.empty((2, 3))), A.T.take(idx))
    g = RNG.integers(0, 5, (4, 3, 6))
    same(run("Gather", A, 1, g, np.empty((4, 3, 6))), np.take_along_axis(A, g, 1))
    nd = np.array([[0, 1], [3, -1]])
    same(run("GatherNd", A, nd, True, np.empty((2, 6))), A[nd[:, 0], nd[:, 1]])


def test_scatter():
    g = RNG.permuted(np.tile(np.arange(5), (4, 1)), axis=1)[:, :, None].repeat(6, 2)[:, :3]
    src = RNG.random((4, 3, 6))
    want = A.copy()
    np.put_along_axis(want, g, src, 1)
    same(run("Scatter", A, 1, g, src, 0, np.empty_like(A)), want)
    got = A.copy()
    run("InplaceScatter", got, 1, g, src, 0)
    same(got, want)
    want = A.copy()
    np.put_along_axis(want, g, np.take_along_axis(A, g, 1) + src, 1)
    np.testing.assert_allclose(run("ScatterAdd", A, 1, g, src, np.empty_like(A)), want)
    np.put_along_axis(want, g, 7.0, 1)
    same(run("ScatterValue", want, 1, g, 7, 0, np.empty_like(A)), want)
    nd, up = np.array([[0, 1], [3, -1]]), RNG.random((2, 6))
    want = A.copy()
    want[nd[:, 0], nd[:, 1]] = up
    same(run("ScatterNd", A, nd, up, np.empty_like(A)), want)
    i = np.array([1, 3, 1])
    source = RNG.random((4, 3, 6))
    want = A.copy()
    np.add.at(want, np.s_[:, i], source * 0.5)
    np.testing.assert_allclose(run("IndexAdd", A, 1, i, source, 0.5, np.empty_like(A)), want)
    want = A.copy()
    want[:, i] = source
    got = A.copy()
    run("InplaceIndexCopy", got, 1, i, source)
    same(got, want)
    want[:, i] = 3
    same(
        run("IndexFillTensor", A, 1, [1, 3], 3, np.empty_like(A)),
        np.where(np.isin(np.arange(5), i)[:, None], 3, A),
    )
    got, want = A.copy(), A.copy()
    np.put(want, [5, -1], [1.0, 2.0])
    run("InplacePut", got, np.array([5, -1]), np.array([1.0, 2.0]), False)
    same(got, want)


def test_masks():
    n = int(MASK.sum())
    flat = A[:, :, 0]
    same(run("MaskedSelect", flat, MASK, np.empty(n)), flat[MASK])
    same(run("MaskedSelect", A, MASK[:, :, None], np.empty(n * 6)), A[MASK].ravel())
    got = A.copy()
    run("InplaceMaskedFillScalar", got, MASK[:, :, None], 9)
    same(got, np.where(MASK[:, :, None], 9, A))
    got = A.copy()
    run("InplaceMaskedFillTensor", got[:, :, 0], MASK, np.array(2))
    same(got[:, :, 0], np.where(MASK, 2, A[:, :, 0]))
    got, want = flat.copy(), flat.copy()
    want[MASK] = np.arange(n)
    run("InplaceMaskedScatter", got, MASK, np.arange(n))
    same(got, want)
    same(run("NonzeroV2", MASK, np.empty((2, n), int)), np.array(MASK.nonzero()))
    same(run("Nonzero", MASK, np.empty((n, 2), int)), np.argwhere(MASK))
    out = run("Nonzero", MASK, np.empty((20, 2), int))  # room for more
    same(out[:n], np.argwhere(MASK))
    with pytest.raises(AclError, match="room"):
        run("NonzeroV2", MASK, np.empty((2, n - 1), int))


def test_repeat_interleave():
    r = np.array([2, 0, 1, 3])
    same(run("RepeatInterleaveWithDim", A, r, 0, 6, np.empty((6, 5, 6))), A.repeat(r, 0))
    same(run("RepeatInterleaveIntWithDim", A, 2, 1, 10, np.empty((4, 10, 6))), A.repeat(2, 1))
    same(run("RepeatInterleaveInt", A, 2, 240, np.empty(240)), A.repeat(2))
    same(run("RepeatInterleave", A[:, 0, 0], r, 6, np.empty(6)), A[:, 0, 0].repeat(r))
    same(run("RepeatInterleaveTensor", r, 6, np.empty(6, int)), np.arange(4).repeat(r))
