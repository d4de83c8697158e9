"""Conversions, copies, joins, creation through CANN's interface against NumPy."""

import itertools

import numpy as np
import pytest
from aclnn import AclError, run

RNG = np.random.default_rng(3)
DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
          "float32", "float64", "complex64", "complex128"]  # fmt: skip
same = np.testing.assert_array_equal


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("of", DTYPES)
@pytest.mark.filterwarnings("ignore")
def test_cast(of, to):
    a = (RNG.random((5, 6)) * 100).astype(of)
    same(run("Cast", a, to, np.empty((5, 6), to)), a.astype(to))
    same(run("Cast", a[::2].T, to, np.empty((6, 3), to)), a[::2].T.astype(to))


def test_copy_and_fill():
    a, b = np.zeros((4, 5)), RNG.random(5)
    run("InplaceCopy", a, b)
    same(a, np.broadcast_to(b, (4, 5)))
    c = np.arange(10.0)
    run("InplaceCopy", c[1:], c[:-1].copy())
    d = np.arange(10.0)
    run("InplaceCopy", d[1:], d[:-1])  # overlapping
    same(c, d)
    run("InplaceFillScalar", a[:, ::2], 3)
    same(a[:, ::2], 3)
    run("InplaceFillTensor", a, np.array(5, np.int16))
    same(a, 5)
    run("InplaceZero", a)
    same(a, 0)
    run("InplaceOne", a[1])
    same(a[1], 1)


def test_views():
    a = RNG.random((3, 4, 5))
    same(run("Permute", a, [2, 0, 1], np.empty((5, 3, 4))), a.transpose(2, 0, 1))
    same(
        run("Expand", a[:, :1], [3, 6, 5], np.empty((3, 6, 5))),
        np.broadcast_to(a[:, :1], (3, 6, 5)),
    )
    same(run("Flatten", a, 1, np.empty((3, 20))), a.reshape(3, 20))
    same(
        run("Flatten", a.transpose(2, 1, 0), 1, np.empty((5, 12))),
        a.transpose(2, 1, 0).reshape(5, 12),
    )
    same(run("Slice", a, 1, 1, 4, 2, np.empty((3, 2, 5))), a[:, 1:4:2])
    same(run("SliceV2", a, [0, -4], [2, 99], [0, 2], [1, 3], np.empty((2, 4, 2))), a[:2, :, -4::3])
    same(run("Flip", a, [0, 2], np.empty_like(a)), a[::-1, :, ::-1])
    same(run("Roll", a, [1, -2], [0, 1], np.empty_like(a)), np.roll(a, (1, -2), (0, 1)))
    same(run("Roll", a, [7], [], np.empty_like(a)), np.roll(a, 7))
    same(run("Repeat", a, [2, 1, 3, 2], np.empty((2, 3, 12, 10))), np.tile(a, (2, 1, 3, 2)))


def test_joins():
    a, b = RNG.random((3, 4)), RNG.random((3, 2))
    same(run("Cat", [a, b, np.empty(0)], 1, np.empty((3, 6))), np.concatenate([a, b], 1))
    same(
        run("Cat", [a.astype(int), b], -1, np.empty((3, 6))), np.concatenate([a.astype(int), b], 1)
    )
    same(run("Stack", [a, a + 1], 1, np.empty((3, 2, 4))), np.stack([a, a + 1], 1))
    parts = [np.empty((3, 3)), np.empty((3, 1))]
    run("SplitTensor", a, 3, 1, parts)
    same(np.concatenate(parts, 1), a)
    parts = [np.empty((1, 4)), np.empty((2, 4))]
    run("SplitWithSize", a, [1, 2], 0, parts)
    same(np.concatenate(parts, 0), a)
    same(run("ConstantPadNd", a, [1, 2, 3, 0], 9, np.empty((6, 7))),
         np.pad(a, ((3, 0), (1, 2)), constant_values=9))  # fmt: skip
    same(
        run("ConstantPadNd", a, [-1, 1], 0.0, np.empty((3, 4))), np.pad(a[:, 1:], ((0, 0), (0, 1)))
    )
    for k in (-2, 0, 1, 9):
        same(run("Tril", a, k, np.empty_like(a)), np.tril(a, k))
        same(run("Triu", a, k, np.empty_like(a)), np.triu(a, k))
    want = np.triu(a, 1)
    run("InplaceTriu", a, 1)
    same(a, want)
    v = np.arange(3.0)
    same(run("Diag", v, -1, np.empty((4, 4))), np.diag(v, -1))
    same(run("Diag", a, 1, np.empty(3)), np.diag(a, 1))
    same(run("DiagFlat", b, 0, np.empty((6, 6))), np.diagflat(b))
    t, w = np.zeros((7, 2)), np.zeros((7, 2))
    np.fill_diagonal(w, 4, wrap=True)
    run("InplaceFillDiagonal", t, 4, True)
    same(t, w)


def test_creation():
    same(run("Arange", 2, 11, 3, np.empty(3, np.int64)), np.arange(2, 11, 3))
    same(run("Arange", 0.5, 2.0, 0.25, np.empty(6)), np.arange(0.5, 2, 0.25))
    for shape in ((1, 1, 1, 3), (3, 1), (1, 3)):  # llama.cpp's backend
        same(run("Arange", 2, 11, 3, np.empty(shape)), np.arange(2, 11, 3).reshape(shape))
        same(run("Arange", 2, 11, 3, np.empty((2, *shape))[1]).ravel(), np.arange(2, 11, 3))
    same(run("Arange", 2, 3, 3, np.empty((1, 1))), [[2]])
    same(run("Range", 1, 4, 1, np.empty(4, np.int32)), [1, 2, 3, 4])
    np.testing.assert_allclose(run("Linspace", 0, 1, 7, np.empty(7)), np.linspace(0, 1, 7))
    same(run("Eye", 3, 5, np.empty((3, 5))), np.eye(3, 5))


@pytest.mark.parametrize("call", [
    lambda: run("Cast", np.ones(3), "int32", np.empty(3)),
    lambda: run("Cast", np.ones(3), "float64", np.empty(4)),
    lambda: run("InplaceCopy", np.ones(3), np.ones(2)),
    lambda: run("Permute", np.ones((2, 3)), [0, 0], np.empty((2, 2))),
    lambda: run("Permute", np.ones((2, 3)), [0], np.empty((2, 3))),
    lambda: run("Cat", [np.ones(3), np.ones((2, 2))], 0, np.empty(5)),
    lambda: run("Cat", [], 0, np.empty(5)),
    lambda: run("Cat", [np.ones(3), None], 0, np.empty(5)),
    lambda: run("Stack", [np.ones(3)], 0, np.empty((2, 3))),
    lambda: run("Slice", np.ones(3), 0, 0, 2, 0, np.empty(2)),
    lambda: run("Repeat", np.ones(3), [-1], np.empty(3)),
    lambda: run("SplitTensor", np.ones(3), 0, 0, [np.empty(3)]),
    lambda: run("Arange", 0, 5, 0, np.empty(5)),
    lambda: run("Arange", 0, 5, 1, np.empty(4)),
    lambda: run("Arange", 0, 6, 1, np.empty((2, 3))),
    lambda: run("Arange", 0, 1, 1, np.empty(())),
    lambda: run("Eye", -1, 2, np.empty((0, 2))),
    lambda: run("Tril", np.ones(3), 0, np.empty(3)),
    lambda: run("ConstantPadNd", np.ones(3), [1], 0, np.empty(4)),
    lambda: run("InplaceFillTensor", np.ones(3), np.ones(2)),
])  # fmt: skip
def test_errors(call):
    with pytest.raises(AclError, match="161002") as error:
        call()
    assert len(error.value.message) > 20


@pytest.mark.parametrize("name,f", (("Tril", np.tril), ("Triu", np.triu)))
@pytest.mark.parametrize("dtype", (np.bool_, np.int16, np.float64, np.complex128))
def test_triangles(name, f, dtype):
    for shape, k in itertools.product(((7, 300), (300, 7), (2, 3, 5, 6), (1, 1)), (-2, 0, 1, 9)):
        x = np.random.default_rng(k + 5).integers(0, 9, shape).astype(dtype)
        for view in (x, x[..., ::-1], x.swapaxes(-1, -2), x[..., ::2, :]):
            same(run(name, view, k, np.empty(view.shape, dtype)), f(view, k))
            wide = np.ones((*view.shape, 2), dtype)
            same(run(name, view, k, wide[..., 1]), f(view, k))
            assert (wide[..., 0] == 1).all()
            same(run(name, view, k, np.empty(view.shape, np.complex128)), f(view, k))
            held = np.array(view)
            run(f"Inplace{name}", held, k)
            same(held, f(view, k))
    x = np.arange(35).reshape(5, 7).astype(dtype)
    want = f(x[:-1], 1)
    same(run(name, x[:-1], 1, x[1:]), want)  # over itself
    for k in (-(2**63), 2**63 - 1):
        same(run(name, x, k, np.empty_like(x)), f(x, 100 if k > 0 else -100))
