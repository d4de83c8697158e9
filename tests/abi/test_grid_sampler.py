"""GridSampler2D and 3D with their gradients against torch.nn.functional.grid_sample."""

import itertools

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import DTYPES, LAYOUTS, RNG, blank, laid, near, normal, wide

MODES, PADS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


def off_edges(shape, size, align):
    """Coordinates some way from where rounding would decide which elements are taken."""
    grid = RNG.uniform(-1.6, 1.6, shape)
    extent = np.array(size[::-1], float)
    at = (grid + 1) / 2 * (extent - 1) if align else ((grid + 1) * extent - 1) / 2
    fraction = at * 2 - np.floor(at * 2)
    at += (np.clip(fraction, 0.1, 0.9) - fraction) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = at / (extent - 1) * 2 - 1 if align else (at * 2 + 1) / extent - 1
    return np.where(np.isfinite(moved), moved, 0.3)


@pytest.mark.parametrize("spatial", (2, 3))
@pytest.mark.parametrize("mode", range(3))
def test_grid_sampler(spatial, mode):
    if spatial == 3 and mode == 2:
        return
    for n, (padding, align, dtype) in enumerate(itertools.product(range(3), (False, True), DTYPES)):
        layout = LAYOUTS[n % 3]
        size = (
            ((5, 7), (1, 4), (9, 16))[n % 3]
            if spatial == 2
            else ((3, 4, 5), (2, 1, 6), (4, 4, 3))[n % 3]
        )
        points = ((6, 13), (3, 1))[n % 2] if spatial == 2 else ((2, 5, 7), (1, 3, 2))[n % 2]
        x = laid(normal(2, 3, *size).astype(dtype), layout)
        grid = laid(off_edges((2, *points, spatial), size, align).astype(dtype), layout)
        g = laid(normal(2, 3, *points).astype(dtype), layout)
        tx, tg = wide(x, True), wide(grid, True)
        want = torch.nn.functional.grid_sample(tx, tg, MODES[mode], PADS[padding], align)
        near(
            run(
                f"GridSampler{spatial}D",
                x,
                grid,
                mode,
                padding,
                align,
                blank(want.shape, dtype, layout),
            ),
            want,
            4,
        )
        want.backward(wide(g))
        dx, dg = blank(x.shape, dtype, layout), blank(grid.shape, dtype, layout)
        run(
            f"GridSampler{spatial}DBackward", g, x, grid, mode, padding, align, [True, True], dx, dg
        )
        near(dx, tx.grad, 8)
        near(dg, tg.grad, 8 * max(size))
        alone = blank(x.shape, dtype)
        run(
            f"GridSampler{spatial}DBackward",
            g,
            x,
            grid,
            mode,
            padding,
            align,
            [True, False],
            alone,
            None,
        )
        np.testing.assert_array_equal(alone, dx)
        alone = blank(grid.shape, dtype)
        run(
            f"GridSampler{spatial}DBackward",
            g,
            x,
            grid,
            mode,
            padding,
            align,
            [False, True],
            None,
            alone,
        )
        np.testing.assert_array_equal(alone, dg)


def test_large():
    """Many tiles and groups of channels, on all threads."""
    x, grid = normal(2, 37, 40, 50).astype(np.float32), normal(2, 70, 60, 2).astype(np.float32)
    tx, tg = torch.tensor(x, requires_grad=True), torch.tensor(grid, requires_grad=True)
    want = torch.nn.functional.grid_sample(tx, tg, align_corners=False)
    near(run("GridSampler2D", x, grid, 0, 0, False, blank(want.shape, np.float32)), want, 8)
    want.sum().backward()
    dx, dg = blank(x.shape, np.float32), blank(grid.shape, np.float32)
    run(
        "GridSampler2DBackward",
        np.ones(want.shape, np.float32),
        x,
        grid,
        0,
        0,
        False,
        [True, True],
        dx,
        dg,
    )
    near(dx, tx.grad, 20)
    near(dg, tg.grad, 3000)


def test_no_numbers():
    """What is no number samples nothing; infinities in the image stay where they are."""
    x, grid = np.ones((1, 1, 3, 3)), np.array([np.nan, np.inf, -np.inf, 1e30]).reshape(1, 2, 1, 2)
    for mode in range(3):
        run("GridSampler2D", x, grid, mode, 0, False, out := np.empty((1, 1, 2, 1)))
        assert mode == 2 or not out.any()
        run("GridSampler2D", x, grid, mode, 2, False, out)
    x[0, 0, 0, 0] = np.inf
    out = run("GridSampler2D", x, np.full((1, 1, 1, 2), 5.0), 0, 0, False, np.empty((1, 1, 1, 1)))
    assert out[0, 0, 0, 0] == 0


def test_errors():
    x, grid = normal(2, 3, 4, 5), normal(2, 6, 7, 2)
    good = [x, grid, 0, 0, False, np.empty((2, 3, 6, 7))]
    run("GridSampler2D", *good)
    run("GridSampler2D", x[:0], grid[:0], 0, 0, False, np.empty((0, 3, 6, 7)))
    for at, bad in ((0, x[0]), (0, x[:1]), (0, x[:, :, :0]), (1, grid[..., :1]), (2, 3), (2, -1), (3, 3), (5, good[5][:1]),
                    (0, x.astype(int)), (1, grid.astype(np.float32))):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("GridSampler2D", *good[:at], bad, *good[at + 1 :])
    back = [good[5], x, grid, 0, 0, False, [True, True], x.copy(), grid.copy()]
    run("GridSampler2DBackward", *back)
    run(
        "GridSampler2DBackward",
        good[5][:0],
        x[:0],
        grid[:0],
        0,
        0,
        False,
        [True, True],
        x[:0].copy(),
        grid[:0].copy(),
    )
    for at, bad in ((0, x), (6, [True]), (7, None), (7, x[:1]), (8, grid[:1])):
        with pytest.raises(AclError, match="161002"):
            run("GridSampler2DBackward", *back[:at], bad, *back[at + 1 :])
    volume = [normal(1, 2, 3, 4, 5), normal(1, 2, 2, 2, 3), 2, 0, False, np.empty((1, 2, 2, 2, 2))]
    with pytest.raises(AclError, match=r"interpolationMode is 2; it must be in \[0, 1\]"):
        run("GridSampler3D", *volume)
