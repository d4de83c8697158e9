"""Products with low-rank matrices that each row names, against NumPy."""

import ml_dtypes
import numpy as np
import pytest
from aclnn import AclError, run

BF16 = np.dtype(ml_dtypes.bfloat16)
RNG = np.random.default_rng(95)
close = np.testing.assert_allclose
B, H1, H2, H3, R, W, LAYERS = 9, 12, 6, 10, 4, 3, 2
TOLERANCE = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 1e-5}


@pytest.mark.parametrize("low", [True, False])
@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16, np.dtype(np.float32)])
def test_rows(low, dtype):
    y, x = RNG.normal(size=(B, H3)).astype(dtype), RNG.normal(size=(H1, B)).astype(dtype).T
    a = RNG.normal(size=(W, LAYERS, R, H1)).astype(dtype) if low else None
    b = RNG.normal(size=(W, LAYERS, H2, R if low else H1)).astype(dtype)
    index = RNG.integers(-1, W, B).astype(np.int32)
    want = y.astype(float)
    for i, w in enumerate(index):
        if w >= 0:
            z = x[i].astype(float) @ (a[w, 1].astype(float).T if low else np.eye(H1))
            want[i, 3 : 3 + H2] += 0.25 * (z @ b[w, 1].astype(float).T)
    out = np.zeros((H3, B), dtype).T
    run("AddLora", y, x, b, index, a, 1, 0.25, 3, H2, out)
    for got in (out, y):  # the output takes y's memory
        close(got.astype(float), want, rtol=TOLERANCE[dtype.name], atol=TOLERANCE[dtype.name] * 4)


def test_empty_and_refused():
    y, x, index = (
        np.zeros((B, H3), np.float16),
        np.zeros((B, H1), np.float16),
        np.zeros(B, np.int32),
    )
    a, b = np.zeros((W, LAYERS, R, H1), np.float16), np.zeros((W, LAYERS, H2, R), np.float16)
    good = [y, x, b, index, a, 0, 1.0, 0, H2, y.copy()]
    run("AddLora", *good)
    run(
        "AddLora",
        *[{0: y[:0], 1: x[:0], 3: index[:0], 9: y[:0]}.get(i, v) for i, v in enumerate(good)],
    )
    for changes in ({0: y[0]}, {1: x[:3]}, {1: x.astype(np.float32)}, {2: b[:, :, :3]}, {2: b[0]}, {3: index[:2]}, {3: x[:, 0]},
                    {4: a[:, :, :, :5]}, {4: a[:2]}, {5: LAYERS}, {5: -1}, {7: H3}, {7: -1}, {8: H2 - 1}, {9: y[:, :3]},
                    {7: 2**63 - 1, 8: 2**63 - 1}, {i: good[i].astype(float) for i in (0, 1, 2, 4, 9)}):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("AddLora", *[changes.get(i, v) for i, v in enumerate(good)])
    for bad in (W, -2):
        with pytest.raises(AclError, match=f"indices has {bad}"):
            run("AddLora", *[{3: index + bad}.get(i, v) for i, v in enumerate(good)])
