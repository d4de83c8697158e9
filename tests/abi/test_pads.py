"""Padding by an image's own elements, and its gradients, against PyTorch."""

import ml_dtypes
import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import strided

RNG = np.random.default_rng(33)
KINDS = [(n, d) for n in ("Reflection", "Replication", "Circular") for d in (1, 2, 3)]
KINDS.remove(("Circular", 1))
MODE = {"Reflection": "reflect", "Replication": "replicate", "Circular": "circular"}
DTYPES = {
    "Circular": (np.float32, np.float16, np.int8, np.int32),
    "": (bool, np.int8, np.uint8, np.int16, np.uint16, np.float16, np.int32, np.uint32, np.float32,
         np.int64, np.uint64, np.float64, np.complex64, np.complex128),
}  # fmt: skip


def numpy_pad(x, pads, mode):
    width = [(0, 0)] * (x.ndim - len(pads) // 2)
    width += [(pads[i], pads[i + 1]) for i in range(len(pads) - 2, -1, -2)]
    return np.pad(x, width, {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode])


@pytest.mark.parametrize(("kind", "spatial"), KINDS)
def test_pad(kind, spatial):
    name = f"{kind}Pad{spatial}d"
    for k in range(8):
        size = RNG.integers(3, 6, spatial)
        x = RNG.standard_normal((2, 3, *size))
        pads = [int(RNG.integers(0, n)) for n in np.repeat(size[::-1], 2)]
        if k == 5:
            pads[0], pads[1] = -1, 2
        want = torch.nn.functional.pad(
            leaf := torch.tensor(x, requires_grad=True), pads, MODE[kind]
        )
        y = np.empty(want.shape)
        y = strided(y) if k % 2 else y
        run(name, strided(x) if k % 2 else x, pads, y)
        np.testing.assert_array_equal(y, want.detach())
        g = RNG.standard_normal(want.shape)
        want.backward(torch.tensor(g))
        gx = np.full(x.shape, np.nan)
        gx = strided(gx) if k % 2 else gx
        run(name + "Backward", strided(g) if k % 2 else g, x, pads, gx)
        np.testing.assert_allclose(gx, leaf.grad, atol=1e-12)
        if k == 0:
            run(name + "Backward", g[0].copy(), x[0].copy(), pads, one := np.empty(x.shape[1:]))
            np.testing.assert_allclose(one, leaf.grad[0], atol=1e-12)
            run(name, x[:0], pads, y[:0])


@pytest.mark.parametrize(("kind", "spatial"), KINDS)
def test_dtypes(kind, spatial):
    name, shape = f"{kind}Pad{spatial}d", (3, *[4] * spatial)
    pads = [int(n) for n in RNG.integers(0, 4, 2 * spatial)]
    for dtype in DTYPES.get(kind, DTYPES[""]):
        x = (RNG.standard_normal(shape) * 100).astype(dtype)
        want = numpy_pad(x, pads, MODE[kind])
        np.testing.assert_array_equal(run(name, x, pads, np.empty_like(want)), want)
    for dtype in (np.float32, np.float16, ml_dtypes.bfloat16, np.complex64, np.complex128):
        if kind == "Circular" and np.issubdtype(dtype, np.complexfloating):
            continue
        g = RNG.standard_normal(want.shape)
        g = (
            (g + 1j * g[::-1]).astype(dtype)
            if np.issubdtype(dtype, np.complexfloating)
            else g.astype(dtype)
        )
        wide = g.astype(np.complex128)
        ones = [torch.zeros(shape, dtype=torch.float64, requires_grad=True) for _ in range(2)]
        for leaf, part in zip(ones, (wide.real, wide.imag), strict=True):
            torch.nn.functional.pad(leaf, pads, MODE[kind]).backward(torch.tensor(part.copy()))
        back = run(name + "Backward", g, np.zeros(shape, dtype), pads, np.empty(shape, dtype))
        expected = ones[0].grad.numpy() + 1j * ones[1].grad.numpy()
        loose = (
            {"rtol": 2e-2, "atol": 5e-2}
            if np.dtype(dtype).itemsize == 2
            else {"rtol": 1e-4, "atol": 1e-5}
        )
        np.testing.assert_allclose(back.astype(np.complex128), expected, **loose)


@pytest.mark.parametrize(("kind", "spatial"), KINDS)
def test_errors(kind, spatial):
    name, x = f"{kind}Pad{spatial}d", RNG.standard_normal((2, *[3] * spatial))
    y = np.empty((2, *[5] * spatial))
    run(name, x, [1] * 2 * spatial, y)
    bad = [([1] * (2 * spatial - 1), y, "padding has"), ([1] * 2 * spatial, y[:1], "shape"),
           ([-2] * 2 * spatial, y, "empty|at most"), ([1] * 2 * spatial, y.astype(np.float32), "dtype")]  # fmt: skip
    if kind != "Replication":
        bad.append(([4] * 2 * spatial, y, "at most"))
    for pads, out, message in bad:
        with pytest.raises(AclError, match=message):
            run(name, x, pads, out)
    with pytest.raises(AclError, match="dimensions"):
        run(name, x[None, None], [1] * 2 * spatial, y)
    with pytest.raises(AclError, match="shape"):
        run(name + "Backward", y, x, [1] * 2 * spatial, y)
