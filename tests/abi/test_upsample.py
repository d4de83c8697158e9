"""Resampled images and their gradients against PyTorch's aten operators of the same names."""

import numpy as np
import pytest
import torch
from aclnn import DATA, AclError, run
from oracle import RNG, blank, every, laid, near, normal

ATEN = torch.ops.aten
NAMES = {  # of the operators: PyTorch's, spatial dimensions, whether corners may be aligned, scales that it takes
    "UpsampleNearest1d": ("upsample_nearest1d", 1, False),
    "UpsampleNearest1dV2": ("upsample_nearest1d", 1, False),
    "UpsampleNearest2d": ("upsample_nearest2d", 2, False),
    "UpsampleNearest2dV2": ("upsample_nearest2d", 2, False),
    "UpsampleNearest3d": ("upsample_nearest3d", 3, False),
    "UpsampleNearestExact1d": ("_upsample_nearest_exact1d", 1, False),
    "UpsampleNearestExact2d": ("_upsample_nearest_exact2d", 2, False),
    "UpsampleNearestExact3d": ("_upsample_nearest_exact3d", 3, False),
    "UpsampleLinear1d": ("upsample_linear1d", 1, True),
    "UpsampleBilinear2d": ("upsample_bilinear2d", 2, True),
    "UpsampleTrilinear3d": ("upsample_trilinear3d", 3, True),
    "UpsampleBicubic2d": ("upsample_bicubic2d", 2, True),
    "UpsampleBilinear2dAA": ("_upsample_bilinear2d_aa", 2, True),
    "UpsampleBicubic2dAA": ("_upsample_bicubic2d_aa", 2, True),
}
BACKWARD = {"UpsampleBicubic2dAA": ["UpsampleBicubic2dAAGrad"],
            "UpsampleBilinear2d": ["UpsampleBilinear2dBackward", "UpsampleBilinear2dBackwardV2"]}  # fmt: skip
SIZES = (
    ([5], [12], [1], [7]),
    ([8, 10], [3, 4], [1, 1], [13, 2]),
    ([4, 6, 8], [2, 2, 3], [1, 5, 1], [3, 4, 5]),
)


def scales_of(name):
    return sum(
        p.startswith(("double ", "float ", "const double ")) for p in DATA["aclnn" + name]["params"]
    )


def backward_of(name):
    return BACKWARD.get(name, [] if name.endswith("V2") else [name + "Backward"])


def oracle(name, x, size, align, scales):
    """PyTorch's result in float64 (nearest modes: in float32, whose rounding decides), and its gradient."""
    aten, _, aligns = NAMES[name]
    args = ([align] if aligns else []) + [s if s > 0 else None for s in scales]
    if not scales:
        args += [None] * len(size)
    return getattr(ATEN, aten).default(x, size, *args)


@pytest.mark.parametrize("name", NAMES)
def test_upsample(name):
    _, spatial, aligns = NAMES[name]
    nearest = "Nearest" in name
    for dtype, layout in every():
        image = [5, 6, 7][-spatial:]
        for size in SIZES[spatial - 1]:
            for align in (False, True) if aligns else (False,):
                x = laid(normal(2, 3, *image).astype(dtype), layout)
                scales = [0.0] * scales_of(name)
                if RNG.random() < 0.5:
                    scales = [0.1 + s / i for s, i in zip(size, image, strict=False)][: len(scales)]
                    if name.endswith("V2"):
                        scales = [float(np.float32(s)) for s in scales]
                wide = torch.tensor(x.astype(np.float64), requires_grad=True)
                if nearest and dtype != np.float64:  # rounding decides: the positions are float32's
                    wide = torch.tensor(x.astype(np.float32), requires_grad=True)
                want = oracle(name, wide, size, align, scales)
                shape = (2, 3, *size)
                flags = [align] if aligns else []
                out = run(name, x, size, *flags, *scales, blank(shape, dtype, layout))
                near(out, want.detach().double(), 3)
                g = laid(normal(*shape).astype(dtype), layout)
                for back in backward_of(name):
                    given = (scales + [0.0] * spatial)[: scales_of(back)]
                    if not scales:
                        want = oracle(name, wide, size, align, given)
                    wide.grad = None
                    want.backward(
                        torch.tensor(g.astype(np.float64)).to(want.dtype), retain_graph=True
                    )
                    args = (g, size, list(x.shape), *flags, *given)
                    near(
                        run(back, *args, blank(x.shape, dtype, layout)),
                        gradient(name, wide, g, size, align, given),
                        8,
                    )


def gradient(name, x, g, size, align, scales):
    """The transpose of the forward operator, by its matrix: PyTorch's own gradient of nearest modes computes positions
    in float32 whatever the dtype."""
    x = x.detach().clone().requires_grad_()
    if "Nearest" not in name:
        y = oracle(name, x, size, align, scales)
        y.backward(torch.tensor(g.astype(np.float64)).to(y.dtype))
        return x.grad.double()
    flat = torch.arange(np.prod(x.shape[2:]), dtype=x.dtype).reshape(1, 1, *x.shape[2:])
    at = oracle(name, flat, size, align, scales).long().reshape(-1)
    out = torch.zeros(*x.shape[:2], flat.numel(), dtype=torch.float64)
    out.index_add_(2, at, torch.tensor(g.astype(np.float64)).reshape(*g.shape[:2], -1))
    return out.reshape(x.shape)


def test_large():
    """Several slabs, bands and threads."""
    x = normal(3, 40, 90, 70).astype(np.float32)
    for name, aten in (("UpsampleBilinear2d", ATEN.upsample_bilinear2d), ("UpsampleBicubic2dAA", ATEN._upsample_bicubic2d_aa)):  # fmt: skip
        for size in ([180, 140], [33, 200], [20, 10]):
            want = aten.default(torch.tensor(x).double(), size, False, None, None)
            near(run(name, x, size, False, 0.0, 0.0, np.empty(want.shape, np.float32)), want, 2)


def test_bytes():
    x = RNG.integers(0, 256, (2, 3, 5, 7)).astype(np.uint8)
    want = torch.nn.functional.interpolate(torch.tensor(x), size=(9, 4)).numpy()
    np.testing.assert_array_equal(
        run("UpsampleNearest2d", x, [9, 4], np.empty((2, 3, 9, 4), np.uint8)), want
    )


def test_edges():
    x = normal(2, 3, 5, 7)
    run("UpsampleNearest2d", x[:0], [9, 4], np.empty((0, 3, 9, 4)))
    run(
        "UpsampleBilinear2dBackward",
        x[:0],
        [5, 7],
        [0, 3, 2, 2],
        False,
        0.0,
        0.0,
        np.empty((0, 3, 2, 2)),
    )
    x[0, 0, 1, 1] = np.inf
    out = run("UpsampleBilinear2d", x, [5, 7], False, 0.0, 0.0, np.empty_like(x))
    np.testing.assert_array_equal(out, x)  # nothing to resample
    out = run(
        "UpsampleBicubic2dAA", x, [5, 7], False, 1e300, 1e-300, np.empty_like(x)
    )  # scales without sense
    assert out.shape == x.shape
    good = [x, [9, 4], False, 0.0, 0.0, np.empty((2, 3, 9, 4))]
    run("UpsampleBilinear2d", *good)
    for at, bad in ((0, x[0]), (1, [9]), (1, [0, 4]), (1, [9, 4, 1]), (5, np.empty((2, 3, 9, 5))), (0, np.zeros(x.shape, int)),
                    (5, np.empty((2, 3, 9, 4), np.float32)), (0, x[:, :, :0])):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("UpsampleBilinear2d", *good[:at], bad, *good[at + 1 :])
    back = [np.empty((2, 3, 9, 4)), [9, 4], [2, 3, 5, 7], False, 0.0, 0.0, x.copy()]
    run("UpsampleBilinear2dBackward", *back)
    for at, bad in ((2, [5, 7]), (2, [2, 3, 5, 8]), (0, x), (2, [2, 3, 0, 7]), (6, x[:1])):
        with pytest.raises(AclError, match="161002"):
            run("UpsampleBilinear2dBackward", *back[:at], bad, *back[at + 1 :])
    with pytest.raises(AclError, match="161001"):
        run("UpsampleNearest1d", None, [3], np.empty((1, 1, 3)))
