"""Distinct slices and runs, and sampling of categories, through CANN's interface against NumPy and PyTorch."""

import numpy as np
import pytest
import torch
from aclnn import AclError, check, ctypes, lib, run, tensor
from oracle import BF16, LAYOUTS, laid

RNG = np.random.default_rng(91)
same = np.testing.assert_array_equal
DTYPES = ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "bool"]


def runs(shape, dtype, kinds=3):
    """Few different values, so that neighbours and slices repeat."""
    return RNG.integers(0, kinds, shape).astype(dtype)


def outputs(a, dim, kind=np.int64):
    """Outputs as large as they may become: values, inverse, counts."""
    if dim is None:
        return np.empty(a.size, a.dtype), np.empty(a.shape, kind), np.empty(a.size, kind)
    return np.empty(a.shape, a.dtype), np.empty(a.shape[dim], kind), np.empty(a.shape[dim], kind)


def cut(outs, wants, dim=0):
    """The leading parts of the outputs equal what is wanted."""
    for out, want in zip(outs, wants, strict=True):
        axis = dim if out is outs[0] else 0
        same(np.take(out, np.arange(want.shape[axis]), axis) if want.ndim else out, want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_consecutive(dtype, layout):
    for shape in ((40,), (4, 9), (3, 4, 5), (1, 1), (0, 3)):
        a = laid(runs(shape, dtype), layout)
        t = torch.tensor(a.copy())
        for kind in (np.int64, np.int32):
            outs = outputs(a, None, kind)
            run("UniqueConsecutive", a, True, True, 1000, *outs)
            value, inverse, counts = torch.unique_consecutive(t, True, True)
            same(outs[0][: len(value)], value), same(outs[1], inverse), same(outs[2][: len(counts)], counts)  # fmt: skip
        for dim in range(-a.ndim, a.ndim):
            if a.size == 0 and dim not in (0, -2):
                continue
            outs = outputs(a, dim)
            run("UniqueConsecutive", a, True, True, dim, *outs)
            wants = [x.numpy() for x in torch.unique_consecutive(t, True, True, dim)]
            cut(outs, wants, dim)
            values = np.empty(a.shape, a.dtype)
            run("UniqueConsecutive", a, False, False, dim, values, None, None)
            cut([values], wants[:1], dim)


@pytest.mark.parametrize("dtype", [*DTYPES, "uint32", "uint64"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_dim(dtype, layout):
    for shape in ((40,), (30, 2), (3, 12, 2), (2, 1), (5, 0)):
        a = laid(runs(shape, dtype, 2 + (len(shape) == 1) * 9), layout)
        for dim in range(-a.ndim, a.ndim):
            if a.size == 0 and dim not in (0, -2):
                continue
            outs = outputs(a, dim)
            run("UniqueDim", a, True, True, dim, *outs)
            wants = np.unique(np.ascontiguousarray(a), return_inverse=True, return_counts=True, axis=dim)  # fmt: skip
            cut(outs, wants, dim)
            values, counts = np.empty(a.shape, a.dtype), np.empty(a.shape[dim], np.int64)
            run("UniqueDim", a, False, False, dim, values, None, counts)
            cut([values, counts], [wants[0], wants[2]], dim)


def test_numbers():
    """NaN equals nothing, zeros are equal, halves keep their dtype."""
    a = np.array([np.nan, np.nan, 0.0, -0.0, 1, 1])
    for dtype in (np.float64, np.float32, np.float16, BF16):
        x = a.astype(dtype)
        outs = outputs(x, None)
        run("UniqueConsecutive", x, True, True, 1000, *outs)
        same(outs[1], [0, 1, 2, 2, 3, 3]), same(outs[2][:4], [1, 1, 2, 2])
        same(outs[0][:4].astype(float), [np.nan, np.nan, 0, 1])
        outs = outputs(x, 0)
        run("UniqueDim", x, True, True, 0, *outs)
        same(outs[2][:4], [2, 2, 1, 1]), same(outs[1][2:], [0, 0, 1, 1])
    z = np.array([1j, 1j, 1, 1 + 1j])
    outs = outputs(z, None)
    run("UniqueConsecutive", z, True, True, 1000, *outs)
    same(outs[0][:3], [1j, 1, 1 + 1j]), same(outs[1], [0, 0, 1, 2])


def test_shapes_are_told():
    """The program's tensors have the shapes that came out."""
    a = np.array([[1, 1, 2], [1, 1, 2]], np.float32)
    outs = outputs(a, 1)
    made = [tensor(x) for x in (a, *outs)]
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    check(lib.aclnnUniqueConsecutiveGetWorkspaceSize(
        made[0], True, True, ctypes.c_int64(1), *made[1:], ctypes.byref(size), ctypes.byref(executor)))  # fmt: skip
    room = np.empty(size.value, np.uint8)
    check(
        lib.aclnnUniqueConsecutive(
            ctypes.c_void_p(room.ctypes.data if room.size else None), size, executor, None
        )
    )
    check(lib.aclrtSynchronizeStream(None))
    for handle, shape in zip(made[1:], [(2, 2), (3,), (2,)], strict=True):
        dims, n = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_uint64()
        check(lib.aclGetViewShape(handle, ctypes.byref(dims), ctypes.byref(n)))
        assert tuple(dims[: n.value]) == shape
    for handle in made:
        lib.aclDestroyTensor(handle)


def test_errors():
    a = runs((4, 6), np.float32)
    value, inverse, counts = outputs(a, 1)
    for bad in ((a, True, True, 2, value, inverse, counts), (a, True, True, 1, value[0], inverse, counts),
                (a, True, True, 1, value, None, counts), (a, True, True, 1, value, inverse[:3], counts),
                (a, True, True, 1, value.astype(int), inverse, counts), (a, True, True, 1, value, inverse, None),
                (a, True, True, 1, value, inverse.astype(float), counts)):  # fmt: skip
        for name in ("UniqueConsecutive", "UniqueDim"):
            with pytest.raises(AclError, match="1610"):
                run(name, *bad)
    with pytest.raises(AclError, match="room for 1"):
        run("UniqueConsecutive", np.arange(5.0), False, False, 1000, np.empty(1), None, None)
    with pytest.raises(AclError, match="room for 2"):
        run("UniqueDim", np.arange(5.0), True, False, 0, np.empty(5), None, np.empty(2, int))


# ---- Multinomial


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, BF16])
def test_multinomial_replaces(dtype):
    p = np.array([[1, 0, 3, 4], [5, 1, 0, 2]]).astype(dtype)
    n = 40000
    out = run("Multinomial", laid(p, "turned"), n, True, 7, 3, np.empty((2, n), int))
    for row, weight in zip(out, p.astype(float), strict=True):
        seen = np.bincount(row, minlength=4)
        want = weight / weight.sum() * n
        assert (seen[want == 0] == 0).all()
        chi = ((seen - want)[want > 0] ** 2 / want[want > 0]).sum()
        assert chi < 21  # 2 degrees of freedom: one in 36000
    again = run("Multinomial", p, n, True, 7, 3, np.empty((n, 2), int).T)
    same(again, out)
    for seed, offset in ((8, 3), (7, 4)):
        other = run("Multinomial", p, n, True, seed, offset, np.empty((2, n), int))
        assert (other != out).mean() > 0.3
    assert run("Multinomial", p[0], 9, True, 7, 3, np.empty(9, int)).max() < 4


def test_multinomial_without():
    p = np.array([1.0, 0, 3, 4, 2])
    n = 30000
    rows = np.broadcast_to(p, (n, 5))
    out = run("Multinomial", rows, 5, False, 11, 0, np.empty((n, 5), int))
    same(np.sort(out, 1), np.broadcast_to(np.arange(5), (n, 5)))
    assert (out[:, 4] == 1).all()  # no probability: last
    first = np.bincount(out[:, 0], minlength=5) / n
    np.testing.assert_allclose(first, p / p.sum(), atol=0.012)
    pair = np.mean((out[:, 0] == 3) & (out[:, 1] == 2))  # 4/10 * 3/6
    np.testing.assert_allclose(pair, 0.2, atol=0.012)
    same(run("Multinomial", rows, 3, False, 11, 0, np.empty((n, 3), int)), out[:, :3])


def test_multinomial_errors():
    p, out = np.array([1.0, 2, 3]), np.empty(4, int)
    for bad in ((p, 4, False, 0, 0, out), (p, 0, True, 0, 0, out[:0]), (p, 4, True, 0, 0, out[:3]),
                (p.astype(int), 4, True, 0, 0, out), (p, 4, True, 0, 0, out.astype(float)),
                (p.reshape(1, 1, 3), 4, True, 0, 0, out)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("Multinomial", *bad)
    for bad, text in (([-1.0, 2], "finite"), ([np.inf, 1], "finite"), ([np.nan, 1], "finite"), ([0, 0.0], "sum to 0")):  # fmt: skip
        for replace in (False, True):
            with pytest.raises(AclError, match=text):
                run("Multinomial", np.array(bad), 1, replace, 0, 0, out[:1])
