"""NaN-skipping medians and blocks written into caches through CANN's interface."""

import numpy as np
import pytest
import torch
from aclnn import AclError, run

RNG = np.random.default_rng(35)
close, same = np.testing.assert_allclose, np.testing.assert_array_equal


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.int64, np.uint8])
def test_nan_median(dtype):
    x = (RNG.standard_normal((4, 5, 6)) * 30).clip(0, 100).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[RNG.random(x.shape) < 0.3] = np.nan
        x[1, :, 2] = np.nan
    a = torch.tensor(x.astype(np.float32 if dtype == np.float16 else dtype))
    same(run("NanMedian", np.asfortranarray(x), np.empty((), dtype)), a.nanmedian())
    for dim in (0, 1, -1):
        for keep in (False, True):
            want = a.nanmedian(dim, keep)[0].numpy()
            values = np.empty(want.shape[::-1], dtype).T
            indices = np.empty(want.shape, np.int64)
            run("NanMedianDim", np.asfortranarray(x), dim, keep, values, indices)
            same(values, want)
            at = indices if keep else np.expand_dims(indices, dim)
            same(np.take_along_axis(x, at, dim).reshape(want.shape), want)
    one = np.array(3, dtype)
    same(run("NanMedianDim", one, 0, False, np.empty((), dtype), i := np.empty((), int)), 0), same(i, 0)  # fmt: skip
    run("NanMedianDim", x[:, :0], 0, False, np.empty((0, 6), dtype), np.empty((0, 6), int))
    for bad in ((x, 3, False, values, indices), (x, 0, False, values[0], indices), (x[:0], 0, False, values, indices)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("NanMedianDim", *bad)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.int32])
def test_scatter_update(dtype):
    data = (RNG.standard_normal((4, 3, 8, 5)) * 50).astype(dtype)
    updates = (RNG.standard_normal((2, 3, 2, 5)) * 50).astype(dtype)
    want = data.copy()
    want[0, :, 3:5], want[1, :, 6:8] = updates
    got = np.asfortranarray(data)
    run("InplaceScatterUpdate", got, np.array([3, 6], np.int32), np.asfortranarray(updates), -2)
    same(got, want)
    want = data.copy()
    want[3, :, 1:3], want[0, :, 0:2] = updates
    got = data.copy()
    run("InplaceScatterUpdate", got, np.array([[3, 1], [0, 0]]), updates, 2)
    same(got, want)
    run("InplaceScatterUpdate", got, np.empty(0, int), updates[:0], 2)
    with pytest.raises(AclError, match="out of bounds"):
        run("InplaceScatterUpdate", got, np.array([3, 7]), updates, 2)
    with pytest.raises(AclError, match="out of bounds"):  # nothing wraps around
        run("InplaceScatterUpdate", got, np.array([3, 2**63 - 1]), updates, 2)
    same(got, want)  # nothing of it was written
    for bad in ((got, np.array([1]), updates, 2), (got, np.array([1, 2]), updates, 0),
                (got, np.array([1, 2]), updates[..., :4], 2), (got, np.array([1.0, 2.0]), updates, 2)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("InplaceScatterUpdate", *bad)


def test_quant_scatter():
    data = RNG.integers(-128, 128, (4, 8, 5), dtype=np.int8)
    updates = RNG.standard_normal((2, 2, 5)).astype(np.float16)
    scale, zero = (RNG.random((1, 1, 5)) / 50 + 0.01).astype(np.float32), RNG.integers(-9, 9, (1, 1, 5)).astype(np.int32)  # fmt: skip
    f = updates.astype(np.float32)
    for z in (zero, None):
        q = np.rint(f / scale + (0 if z is None else z)).clip(-128, 127)
        want, got = data.copy(), np.asfortranarray(data)
        want[0, 2:4], want[1, 5:7] = q
        run("InplaceQuantScatter", got, np.array([2, 5]), updates, scale, z, 1, 2, 1)
        same(got, want)
    rows = np.array([[0.5], [0.25]], np.float32)
    want, got = data.copy(), data.copy()
    want[0, 2:4], want[1, 5:7] = np.rint(f / rows).clip(-128, 127)
    run("InplaceQuantScatter", got, np.array([2, 5], np.int32), updates, rows, None, 1, -2, 1)
    same(got, want)
    with pytest.raises(AclError, match="161002"):
        run("InplaceQuantScatter", got, np.array([2, 5]), updates, rows, None, 1, 2, 1)
