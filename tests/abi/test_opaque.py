"""Operators that only move elements take the dtypes that CANN documents and nothing computes with here: floats of
8 bits and complex32. They are the moves of words of that size. Cast converts most of them, as PyTorch does.
"""

import numpy as np
import pytest
import torch
from aclnn import AclError, Words, run
from oracle import LAYOUTS, laid

RNG = np.random.default_rng(95)
same = np.testing.assert_array_equal
E4M3, E5M2, HIF8, E8M0, C32 = 36, 35, 34, 37, 33


def words(acl, *shape, layout="packed"):
    size = np.uint32 if acl == C32 else np.uint8
    return laid(RNG.integers(0, 255 if size == np.uint8 else 2**32, shape).astype(size), layout)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("acl", [E4M3, E5M2, HIF8])
def test_bytes(acl, layout):
    x, y = words(acl, 3, 4, layout=layout), words(acl, 2, 4, layout=layout)

    def call(name, *args, shape):
        out = laid(np.full(shape, 7, np.uint8), layout)
        run(name, *args, Words(out, acl))
        return out

    same(call("Permute", Words(x, acl), [1, 0], shape=(4, 3)), x.T)
    same(call("Repeat", Words(x, acl), [2, 1, 2], shape=(2, 3, 8)), np.tile(x, (2, 1, 2)))
    same(call("Cat", [Words(x, acl), Words(y, acl)], 0, shape=(5, 4)), np.concatenate([x, y]))
    same(call("ReflectionPad1d", Words(x, acl), [1, 2], shape=(3, 7)), np.pad(x, ((0, 0), (1, 2)), "reflect"))  # fmt: skip
    same(call("ReplicationPad2d", Words(x[None], acl), [1, 0, 0, 2], shape=(1, 5, 5)), np.pad(x[None], ((0, 0), (0, 2), (1, 0)), "edge"))  # fmt: skip
    got, want = x.copy(), x.copy()
    want[[2, 0]] = y
    run("ScatterNdUpdate", Words(got, acl), np.array([[2], [0]]), Words(y, acl))
    same(got, want)
    data, updates = words(acl, 2, 5, 3, layout=layout), words(acl, 2, 2, 3, layout=layout)
    want = data.copy()
    want[0, 1:3], want[1, 3:5] = updates
    run("InplaceScatterUpdate", Words(data, acl), np.array([1, 3]), Words(updates, acl), 1)
    same(data, want)
    run("InplaceZero", Words(x, acl))
    same(x, 0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_complex32(layout):
    x = words(C32, 5, 4, layout=layout)
    for name, want in (("Tril", np.tril(x, 1)), ("Triu", np.triu(x, 1))):
        out = laid(np.full((5, 4), 7, np.uint32), layout)
        run(name, Words(x, C32), 1, Words(out, C32))
        same(out, want)
        got = x.copy()
        run("Inplace" + name, Words(got, C32), 1)
        same(got, want)
    image = words(C32, 2, 3, 3)
    out = np.full((8, 4), 7, np.uint32)
    run("Im2col", Words(image, C32), [2, 2], [1, 1], [0, 0], [1, 1], Words(out, C32))
    want = [image[c, i : i + 2, j : j + 2].ravel() for c in range(2) for i in range(2) for j in range(2)]  # fmt: skip
    same(out, want)


def test_some_take_more():
    """CANN documents float8_e8m0 for Cat and not for Permute."""
    x, out = words(E8M0, 2, 3), np.empty((4, 3), np.uint8)
    run("Cat", [Words(x, E8M0), Words(x, E8M0)], 0, Words(out, E8M0))
    same(out, np.concatenate([x, x]))


# ---- Cast

EIGHT = {E4M3: torch.float8_e4m3fn, E5M2: torch.float8_e5m2}
HARD = [0.0, -0.0, np.nan, np.inf, -np.inf, 448, 464, 464.01, 480, 57344, 61439, 61440, 2**-9, 2**-10, 1.5 * 2**-10, 2**-16,
        2**-17, 1.1 * 2**-17, 0.0146, 1e-30, 1e30]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("acl", EIGHT)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int32, np.int8, bool])
def test_cast_float8(acl, layout, dtype):
    if np.dtype(dtype).kind == "f":
        x = np.append(RNG.standard_normal(400) * np.exp2(RNG.integers(-20, 18, 400)), [*HARD, *(-np.array(HARD)), 0, 0])  # fmt: skip
        with np.errstate(over="ignore"):
            x = x.astype(dtype)[:444].reshape(12, 37)
    else:
        x = RNG.integers(-90, 90, (12, 37)).astype(dtype)
    want = torch.tensor(x).to(EIGHT[acl]).view(torch.uint8).numpy()
    out = laid(np.full(x.shape, 7, np.uint8), layout)
    run("Cast", laid(x, layout), acl, Words(out, acl))
    nan = (want & 0x7F) > (0x7E if acl == E4M3 else 0x7C)
    same(np.where(nan, out | 0x80, out), np.where(nan, want | 0x80, want))  # a NaN's sign is open
    codes = laid(np.arange(256, dtype=np.uint8).reshape(8, 32), layout)
    back = torch.tensor(codes.copy()).view(EIGHT[acl]).float()
    if np.dtype(dtype).kind != "f":
        back = back.nan_to_num(0, 100, -100).clip(-100, 100)
        codes = back.to(EIGHT[acl]).view(torch.uint8).numpy()
        back = torch.tensor(codes).view(EIGHT[acl]).float()
    got = laid(np.zeros((8, 32), dtype), layout)
    same(run("Cast", Words(codes, acl), dtype, got), back.numpy().astype(dtype))


def test_every_half():
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    for acl, kind in EIGHT.items():
        out = np.empty(65536, np.uint8)
        run("Cast", x, acl, Words(out, acl))
        want = torch.tensor(x).to(kind).float().numpy()
        same(torch.tensor(out).view(kind).float().numpy(), want)
        same(np.signbit(torch.tensor(out).view(kind).float().numpy())[~np.isnan(want)], np.signbit(want)[~np.isnan(want)])  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_cast_complex32(layout):
    z = ((RNG.standard_normal((5, 6)) + 1j * RNG.standard_normal((5, 6))) * 9).astype(np.complex64)
    halves = z.view(np.float32).astype(np.float16)  # a pair of them is an element
    out = laid(np.zeros((5, 6), np.uint32), layout)
    run("Cast", laid(z, layout), C32, Words(out, C32))
    same(np.ascontiguousarray(out), halves.view(np.uint32))
    got = laid(np.zeros((5, 6), np.complex128), layout)
    same(run("Cast", Words(out, C32), np.complex128, got), halves.astype(float).view(complex))
    real = RNG.standard_normal((5, 6)).astype(np.float32)
    run("Cast", real, C32, Words(out, C32))
    want = np.stack([real, np.zeros_like(real)], -1).astype(np.float16).view(np.uint32)[..., 0]
    same(out, want)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_fill_complex32(layout):
    """As torch.zeros and torch.Tensor.fill_ of torch.chalf."""
    for value in (
        1.5,
        2**0.5 - 3e5j,
        np.complex64(0.1 + 7j),
        np.float16(-0.5),
        np.int32(-3),
        complex(np.nan, np.inf),
    ):
        x = words(C32, 3, 4, layout=layout)
        run("InplaceFillScalar", Words(x, C32), value)
        want = torch.tensor(complex(value), dtype=torch.complex128).to(torch.complex32)
        same(x, np.full((3, 4), want.view(torch.int32).numpy().view(np.uint32)))
    run("InplaceZero", Words(x, C32))
    same(x, 0)
    run("InplaceFillScalar", Words(words(C32, 0, 4), C32), 1)
    with pytest.raises(AclError, match="161002"):
        run("InplaceFillScalar", Words(words(E4M3, 3), E4M3), 1)
    with pytest.raises(AclError, match="161002"):
        run("InplaceOne", Words(words(C32, 3), C32))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_complex_of_halves(layout):
    real, imag = (laid(RNG.standard_normal(s).astype(np.float16), layout) for s in ((3, 1), (3, 4)))
    out = laid(np.full((3, 4), 7, np.uint32), layout)
    run("Complex", real, imag, Words(out, C32))
    pairs = np.stack(np.broadcast_arrays(real, imag), -1)
    same(np.ascontiguousarray(out), np.ascontiguousarray(pairs).view(np.uint32)[..., 0])
    for bad in ((words(C32, 3), imag[0], Words(words(C32, 3, 4), C32)), (real, imag, out)):
        with pytest.raises(AclError, match="161002"):
            run("Complex", *bad)
    with pytest.raises(AclError, match="161002"):
        run("Polar", real.astype(np.float32), imag.astype(np.float32), Words(out, C32))


def test_refused():
    x, out = words(E4M3, 3, 4), np.empty((4, 3), np.uint8)
    for bad in ((Words(x, E4M3), Words(out, E5M2)), (Words(x, E4M3), out), (x, Words(out, E4M3))):
        with pytest.raises(AclError, match="161002.*itself only"):
            run("Permute", bad[0], [1, 0], bad[1])
    for name, args in (("Abs", (Words(x, E4M3), Words(x, E4M3))), ("Permute", (Words(x, E8M0), [1, 0], Words(out, E8M0))),
                       ("Cast", (Words(x, HIF8), np.float32, np.empty((3, 4), np.float32)))):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run(name, *args)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copy_complex32(layout):
    """As torch.Tensor.copy_ between torch.chalf and other dtypes; the source broadcasts."""
    z = (RNG.standard_normal((3, 4)) + 1j * RNG.standard_normal((3, 4))).astype(np.complex64)
    half = torch.tensor(z).to(torch.complex32)
    bits = half.view(torch.int32).numpy().view(np.uint32)
    for dtype in ("complex64", "complex128", "float32", "float16", "int32"):
        out = laid(np.full((3, 4), 7).astype(dtype), layout)
        run("InplaceCopy", out, Words(laid(bits, layout), C32))
        wide = half.to(torch.complex64).numpy()
        same(out, (wide if dtype[0] == "c" else wide.real).astype(dtype))
    for source in (z, z.real.astype(np.float32), z[1], np.arange(4)):
        out = laid(np.full((3, 4), 7, np.uint32), layout)
        run("InplaceCopy", Words(out, C32), laid(source, layout))
        want = torch.tensor(np.broadcast_to(source, (3, 4)).copy()).to(torch.complex32)
        same(out, want.view(torch.int32).numpy().view(np.uint32))
    out = laid(np.full((3, 4), 7, np.uint32), layout)
    run("InplaceCopy", Words(out, C32), Words(laid(bits[:1], layout), C32))
    same(out, np.broadcast_to(bits[:1], (3, 4)))
    run("InplaceCopy", Words(out[:0], C32), Words(bits[:0], C32))
    with pytest.raises(AclError, match="161002"):
        run("InplaceCopy", Words(out, C32), Words(bits[:2], C32))
    with pytest.raises(AclError, match="161002"):
        run("InplaceCopy", Words(words(E4M3, 3), E4M3), np.zeros(3))
