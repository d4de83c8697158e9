"""Reductions by index, slices by index, positions: against PyTorch. Tensors without dimensions count as (1,)."""

import itertools

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import DTYPES, LAYOUTS, RNG, blank, every, laid, near, normal, wide

REDUCE = {"sum": 1, "prod": 2, "amax": 3, "amin": 4, "mean": 5}
INTS = [np.dtype(t) for t in ("int8", "uint8", "int16", "int32", "int64")]


def positions(n, *shape, dtype=np.int64):
    """Indices below n, from the end for a third of them."""
    at = RNG.integers(0, n, shape)
    return np.where(RNG.random(shape) < 0.3, at - n, at).astype(dtype)


@pytest.mark.parametrize("reduce", REDUCE)
@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize(("dtype", "layout"), every())
def test_scatter_reduce(reduce, include, dtype, layout):
    self, src = normal(5, 6, 3, dtype=dtype), normal(9, 6, 4, dtype=dtype)
    index = RNG.integers(0, 5, (8, 4, 3))
    want = wide(self).scatter_reduce(
        0, torch.tensor(index), wide(src), reduce, include_self=include
    )
    out = blank(self.shape, dtype, layout)
    run(
        "ScatterReduce",
        laid(self, layout),
        0,
        laid(index, layout),
        laid(src, layout),
        REDUCE[reduce],
        include,
        out,
    )
    near(out, want, 4)
    ref = laid(self, layout)
    run("InplaceScatterReduce", ref, -3, index.astype(np.int32), src, REDUCE[reduce], include)
    near(ref, want, 4)


@pytest.mark.parametrize("reduce", REDUCE)
@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("dtype", INTS)
def test_scatter_reduce_integers(reduce, include, dtype):
    self = RNG.integers(0, 9, (4, 7)).astype(dtype)
    src = RNG.integers(1, 4, (4, 9)).astype(dtype)
    if dtype.kind == "i":
        self, src = self - dtype.type(4), src - dtype.type(2)
    index = RNG.integers(0, 7, (4, 5))
    want = torch.tensor(self).scatter_reduce(
        1, torch.tensor(index), torch.tensor(src), reduce, include_self=include
    )
    out = np.full_like(self, 55)
    run("ScatterReduce", self, 1, index, src, REDUCE[reduce], include, out)
    np.testing.assert_array_equal(out, want.numpy())


def test_scatter_reduce_nan_and_no_dimensions():
    self = np.array([1.0, 2.0, 3.0])
    out = np.empty(3)
    run("ScatterReduce", self, 0, np.array([0, 0]), np.array([np.nan, 5.0]), 3, True, out)
    np.testing.assert_array_equal(out, [np.nan, 2, 3])
    run("ScatterReduce", self, 0, np.zeros(0, np.int64), np.zeros(0), 1, True, out)
    np.testing.assert_array_equal(out, self)
    run("ScatterReduce", self, 0, np.array([2]), np.array([7.0]), 0, True, out)
    np.testing.assert_array_equal(out, [1, 2, 7])
    for shape in ((), (1,)):
        one = np.full(shape, 2.0)
        run("InplaceScatterReduce", one, 0, np.array(0), np.array(3.0), 1, True)
        np.testing.assert_array_equal(one, np.full(shape, 5.0))
    c = np.array([1 + 1j, 2])
    run("InplaceScatterReduce", c, 0, np.array([0, 0]), np.array([1j, 4.0 + 0j]), 5, True)
    np.testing.assert_allclose(c, [(5 + 2j) / 3, 2])


def test_scatter_reduce_errors():
    a, index, src = np.zeros((3, 4)), np.zeros((2, 4), np.int64), np.zeros((2, 4))
    out = np.empty((3, 4))
    for args, match in [
        ((a, 0, index, src, 6, True, out), "reduction is 6"),
        ((a, 2, index, src, 1, True, out), "161002"),
        ((a, 0, index, src[:1], 1, True, out), "src is smaller"),
        ((a, 0, index.astype(np.float32), src, 1, True, out), "161002"),
        ((a, 0, index, src.astype(np.float32), 1, True, out), "161002"),
        ((a, 0, index, src, 1, True, out[:2]), "161002"),
        ((a > 0, 0, index, src > 0, 1, True, out > 0), "dtype bool"),
        ((None, 0, index, src, 1, True, out), "161001"),
    ]:  # fmt: skip
        with pytest.raises(AclError, match=match):
            run("ScatterReduce", *args)
    with pytest.raises(AclError, match="out of bounds"):
        run("ScatterReduce", a, 0, index + 3, src, 1, True, out)


@pytest.mark.parametrize(
    ("dtype", "layout"),
    itertools.product([*DTYPES, *INTS, np.dtype(bool), np.dtype("c8")], LAYOUTS),
)
def test_index_fill(dtype, layout):
    self = RNG.integers(0, 9, (4, 5, 3)).astype(dtype)
    index = positions(5, 3, dtype=np.int32)
    want = self.copy()
    want[:, index] = 1
    out = blank(self.shape, dtype, layout)
    run("IndexFill", laid(self, layout), 1, laid(index, layout), 1, out)
    np.testing.assert_array_equal(out, want)
    ref = laid(self, layout)
    run("InplaceIndexFill", ref, -2, index.astype(np.int64), 1)
    np.testing.assert_array_equal(ref, want)


def test_index_fill_no_dimensions_and_errors():
    out = np.empty(())
    run("IndexFill", np.array(3.0), 0, np.array([0]), 7.5, out)
    assert out == 7.5
    run("IndexFillTensor", np.array(3.0), 0, [0], 6.5, out)
    assert out == 6.5
    ref = np.arange(4.0)
    run("InplaceIndexFill", ref, 0, np.array(2), 9.0)
    np.testing.assert_array_equal(ref, [0, 1, 9, 3])
    run("InplaceIndexFill", ref, 0, np.zeros(0, np.int64), 9.0)
    run("IndexFill", np.zeros((0, 2)), 1, np.array([1]), 1.0, np.zeros((0, 2)))
    with pytest.raises(AclError, match="index has 2 dimensions"):
        run("InplaceIndexFill", ref, 0, np.zeros((1, 1), np.int64), 1.0)
    with pytest.raises(AclError, match="161002"):
        run("InplaceIndexFill", ref, 0, np.zeros(1), 1.0)
    with pytest.raises(AclError, match="161001"):
        run("InplaceIndexFill", ref, 0, None, 1.0)
    with pytest.raises(AclError, match="out of bounds"):
        run("InplaceIndexFill", ref, 0, np.array([4]), 1.0)


@pytest.mark.parametrize(("dtype", "layout"), every())
@pytest.mark.parametrize("mode", [0, 1])
def test_index_add_v2(dtype, layout, mode):
    self, source = normal(4, 5, 3, dtype=dtype), normal(4, 7, 3, dtype=dtype)
    index = RNG.integers(0, 5, 7)
    want = wide(self).index_add(1, torch.tensor(index), wide(source), alpha=0.5)
    out = blank(self.shape, dtype, layout)
    run("IndexAddV2", laid(self, layout), 1, index, laid(source, layout), 0.5, mode, out)
    near(out, want, 4)


def test_index_add_v2_errors():
    a, index = np.zeros((3, 2)), np.array([0, 1])
    with pytest.raises(AclError, match="mode is 2"):
        run("IndexAddV2", a, 0, index, np.zeros((2, 2)), 1, 2, a.copy())
    with pytest.raises(AclError, match="161002"):
        run("IndexAddV2", a, 0, index, np.zeros((3, 2)), 1, 0, a.copy())


@pytest.mark.parametrize("self", [(), (1,)])
@pytest.mark.parametrize("index", [(), (1,)])
@pytest.mark.parametrize("source", [(), (1,)])
def test_no_dimensions(self, index, source):
    at, values = np.zeros(index, np.int64), np.full(source, 3.0)
    out = np.empty(self)
    run("IndexAdd", np.full(self, 2.0), 0, at, values, 2, out)
    np.testing.assert_array_equal(out, np.full(self, 8.0))
    ref = np.full(self, 2.0)
    run("InplaceIndexCopy", ref, -1, at, values)
    np.testing.assert_array_equal(ref, np.full(self, 3.0))
    run("IndexCopy", np.full(self, 2.0), 0, at, values, out)
    np.testing.assert_array_equal(out, np.full(self, 3.0))
    for shape in {index, self if index == () else index, (1,)}:
        out = np.empty(shape)
        run("IndexSelect", np.full(self, 4.0), 0, at, out)
        np.testing.assert_array_equal(out, np.full(shape, 4.0))
    if self == ():
        run("IndexSelect", np.full(self, 4.0), 0, at, out := np.empty(()))
        assert out == 4
    run("ScatterAdd", np.full(self, 2.0), 0, at, values, out := np.empty(self))
    np.testing.assert_array_equal(out, np.full(self, 5.0))
    run("Gather", np.full(self, 2.0), 0, at, out := np.empty(index))
    np.testing.assert_array_equal(out, np.full(index, 2.0))


def test_one_slice_by_an_index_without_dimensions():
    a = normal(3, 4, 2)
    for shape in ((3, 2), (3, 1, 2)):
        out = np.empty(shape)
        run("IndexSelect", a, 1, np.array(2), out)
        np.testing.assert_array_equal(out, a[:, 2].reshape(shape))
    ref = a.copy()
    run("InplaceIndexCopy", ref, 1, np.array(1), a[:, :1] + 5)
    np.testing.assert_array_equal(ref[:, 1], a[:, 0] + 5)
    many = np.empty(3)
    run("IndexSelect", np.array(2.5), 0, np.zeros(3, np.int32), many)
    np.testing.assert_array_equal(many, [2.5] * 3)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "int16", "complex64", "bool"])
@pytest.mark.parametrize(
    ("batch", "dim", "index"),
    [(0, 1, (5,)), (0, -1, (2, 2)), (1, 1, (3, 5)), (1, 2, (3,)), (2, 2, (3, 4, 2, 2))],
)
def test_gather_v3(layout, dtype, batch, dim, index):
    self = RNG.integers(0, 99, (3, 4, 6)).astype(dtype)
    at = positions((3, 4, 6)[dim], *index)
    if batch == 0:
        want = np.take(self, at % (3, 4, 6)[dim], axis=dim)
    else:
        rows = int(np.prod(self.shape[:batch]))
        flat, flat_at = self.reshape(rows, *self.shape[batch:]), at.reshape(rows, *at.shape[batch:])
        want = np.stack(
            [
                np.take(s, i % (3, 4, 6)[dim], axis=dim - batch)
                for s, i in zip(flat, flat_at, strict=True)
            ]
        )
        want = want.reshape(*self.shape[:batch], *want.shape[1:])
    out = np.zeros_like(laid(want, layout))
    run("GatherV3", laid(self, layout), dim, laid(at, layout), batch, batch % 2, out)
    np.testing.assert_array_equal(out, want)


def test_gather_v3_errors():
    a, at = np.zeros((3, 4)), np.zeros((3, 2), np.int64)
    run("GatherV3", np.zeros((0, 4)), 1, np.zeros((0, 2), np.int64), 1, 0, np.zeros((0, 2)))
    for args, match in [
        ((a, 1, at, 2, 0, np.zeros((3, 2))), "batchDims is 2"),
        ((a, 1, at[:2], 1, 0, np.zeros((3, 2))), "batchDims is 1"),
        ((a, 1, at, -1, 0, np.zeros((3, 2))), "batchDims is -1"),
        ((a, 1, at, 1, 7, np.zeros((3, 2))), "mode is 7"),
        ((a, 1, at, 1, 0, np.zeros((3, 4))), "161002"),
        ((a, 1, at + 4, 1, 0, np.zeros((3, 2))), "out of bounds"),
    ]:  # fmt: skip
        with pytest.raises(AclError, match=match):
            run("GatherV3", *args)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize(("dtype", "layout"), itertools.product([*DTYPES, *INTS], LAYOUTS))
def test_bucketize(right, dtype, layout):
    values = RNG.integers(0, 20, (3, 5)).astype(dtype)
    edges = np.arange(2, 18, 3).astype(dtype)
    want = torch.bucketize(wide(values), wide(edges), right=right).numpy()
    for int32 in (False, True):
        out = blank(values.shape, np.int32 if int32 else np.int64, layout)
        run("Bucketize", laid(values, layout), laid(edges, layout), int32, right, out)
        np.testing.assert_array_equal(out, want)


def test_bucketize_edges():
    out = np.empty((), np.int64)
    run("Bucketize", np.array(3.0), np.array([1.0, 3.0]), False, True, out)
    assert out == 2
    run("Bucketize", np.array(3.0), np.zeros(0), False, True, out)
    assert out == 0
    run("Bucketize", np.zeros((0, 3)), np.array([1.0]), False, True, np.zeros((0, 3), np.int64))
    with pytest.raises(AclError, match="boundaries has 2 dimensions"):
        run(
            "Bucketize", np.zeros((2, 3)), np.zeros((2, 3)), False, True, np.zeros((2, 3), np.int64)
        )
    with pytest.raises(AclError, match="161002"):
        run("Bucketize", np.zeros(3), np.zeros(2), False, True, np.zeros(3))
    with pytest.raises(AclError, match="161001"):
        run("Bucketize", np.zeros(3), None, False, True, np.zeros(3, np.int64))


@pytest.mark.parametrize(("dtype", "layout"), every())
def test_topk_v2(dtype, layout):
    a = RNG.permutation(60).reshape(3, 5, 4).astype(dtype)
    for largest, policy in itertools.product((True, False), (0, 1)):
        want = torch.topk(wide(a), 2, 1, largest)
        values, found = (
            blank(want.values.shape, dtype, layout),
            blank(want.values.shape, np.int64, layout),
        )
        run("TopkV2", laid(a, layout), 2, 1, largest, True, policy, values, found)
        near(values, want.values)
        np.testing.assert_array_equal(found, want.indices.numpy())
    with pytest.raises(AclError, match="sortPolicy is 2"):
        run("TopkV2", a, 2, 1, True, True, 2, values, found)
    with pytest.raises(AclError, match="k is 9"):
        run("TopkV2", a, 9, 1, True, True, 0, values, found)


@pytest.mark.parametrize(
    ("dtype", "layout"), itertools.product([*DTYPES, np.dtype("int32")], LAYOUTS)
)
def test_coalesce_sparse(dtype, layout):
    places = RNG.integers(0, 3, (12, 2)).astype(np.int32)
    values = RNG.integers(-8, 8, (12, 2, 3)).astype(dtype)
    sparse = torch.sparse_coo_tensor(
        torch.tensor(places.T.astype(np.int64)), wide(values), (3, 3, 2, 3)
    ).coalesce()
    flat, which = np.unique(places[:, 0] * 3 + places[:, 1], return_inverse=True)
    indices, sums = np.full((len(flat), 2), 9, np.int32), blank((len(flat), 2, 3), dtype, layout)
    run(
        "CoalesceSparse",
        flat.astype(np.int32),
        which.astype(np.int32),
        laid(places, layout),
        laid(values, layout),
        indices,
        sums,
    )
    np.testing.assert_array_equal(indices.T, sparse.indices().numpy())
    if dtype.kind == "i":
        np.testing.assert_array_equal(sums, sparse.values().numpy())
    else:
        near(sums, sparse.values(), 8)


def test_coalesce_sparse_errors():
    n, at = np.zeros(2, np.int32), np.zeros(3, np.int32)
    where, values = np.zeros((3, 2), np.int32), np.zeros((3, 4), np.float32)
    new, sums = np.zeros((2, 2), np.int32), np.zeros((2, 4), np.float32)
    run("CoalesceSparse", n[:0], at[:0], where[:0], values[:0], new[:0], sums[:0])
    for args, match in [
        ((n, at[:2], where, values, new, sums), "161002"),
        ((n, at, where, values[:2], new, sums), "3 positions for 2 values"),
        ((n, at, where, values, new, sums[:1]), "161002"),
        ((n, at, where, values.astype(np.float64), new, sums), "161002"),
        ((n, at + 2, where, values, new, sums), "out of bounds"),
        ((n, None, where, values, new, sums), "161001"),
    ]:  # fmt: skip
        with pytest.raises(AclError, match=match):
            run("CoalesceSparse", *args)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "int64"])
@pytest.mark.parametrize(("axis", "length"), [(-2, 1), (-1, 1), (-2, 3), (0, 2)])
def test_scatter_list(layout, dtype, axis, length):
    shape = [3, 6, 5]
    shape[axis] = length
    at = np.array([0, 1, 3 - length, 1])
    given = [RNG.integers(0, 99, (3, 6, 5)).astype(dtype) for _ in at]
    updates = RNG.integers(0, 99, (4, *shape)).astype(dtype)
    for mask in (None, np.array([1, 0, 1, 1], np.uint8)):
        want = [g.copy() for g in given]
        for i, w in enumerate(want):
            if mask is None or mask[i]:
                np.moveaxis(w, axis, 0)[at[i] : at[i] + length] = np.moveaxis(updates[i], axis, 0)
        got = [laid(g, layout) for g in given]
        run("ScatterList", got, at.astype(np.int32), laid(updates, layout), mask, "update", axis)
        for g, w in zip(got, want, strict=True):
            np.testing.assert_array_equal(g, w)


def test_scatter_list_errors():
    lists, at, updates = [np.zeros((4, 3)), np.zeros((5, 3))], np.array([0, 1]), np.ones((2, 2, 3))
    run("ScatterList", lists, at, updates[:, :0], None, "update", 0)
    for args, match in [
        ((lists, at, updates, None, "add", 0), "reduce is"),
        ((lists, at[:1], updates, None, "update", 0), "161002"),
        ((lists, at, updates[:1], None, "update", 0), "1 slices for 2 tensors"),
        ((lists, at, updates, None, "update", 1), r"varRef\[0\]"),
        ((lists, at, updates, None, "update", 2), "161002"),
        ((lists, at, updates.astype(np.float32), None, "update", 0), r"varRef\[0\]"),
        ((lists, at, updates, np.ones(3, np.uint8), "update", 0), "161002"),
        ((lists, at, updates, np.ones(2), "update", 0), "161002"),
        ((lists, at + 3, updates, None, "update", 0), r"indice\[0\] is 3"),
        (([lists[0], None], at, updates, None, "update", 0), "161001"),
        ((lists, None, updates, None, "update", 0), "161001"),
    ]:  # fmt: skip
        with pytest.raises(AclError, match=match):
            run("ScatterList", *args)
