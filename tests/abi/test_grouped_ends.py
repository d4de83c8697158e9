"""Grouped products of int8 with the experts' sum or a gate behind them, and products summed over a batch,
against NumPy."""

import ml_dtypes
import numpy as np
import pytest
from aclnn import AclError, run

BF16 = np.dtype(ml_dtypes.bfloat16)
RNG = np.random.default_rng(93)
F32, close, same = np.float32, np.testing.assert_allclose, np.testing.assert_array_equal
M, K, N, G = 11, 24, 8, 4
SIZES = [3, 0, 5, 2]  # a row is left, which belongs to no group
OF = np.repeat(np.arange(G), SIZES)
ALL = len(OF)


def ints(*shape):
    return RNG.integers(-128, 128, shape).astype(np.int8)


def listed(sizes):
    return np.array(SIZES if sizes else np.cumsum(SIZES), np.int64)


def products(x, w, scale, rows):
    """float64, of the rows that belong to a group."""
    exact = np.stack([x[i].astype(np.int64) @ w[g].astype(np.int64) for i, g in enumerate(OF)])
    return exact * scale.astype(float)[OF] * (1 if rows is None else rows[:ALL, None].astype(float))


def finalize(
    version,
    x,
    w,
    scale,
    rows,
    groups,
    shared,
    logit,
    index,
    y,
    by=1.0,
    offset=0,
    kind=1,
    tail=None,
    dtype=0,
):
    between = [] if version == "WeightNz" else [None] * 3
    tuning = [[]] if version in ("V3", "WeightNzV2") else []
    run("GroupedMatmulFinalizeRouting" + version, x, w, scale, tail, *between, rows, groups, shared, logit, index, dtype, by,
        offset, False, False, kind, *tuning, y)  # fmt: skip
    return y


@pytest.mark.parametrize("version", ["WeightNz", "WeightNzV2", "V2", "V3"])
@pytest.mark.parametrize("sizes", [True, False])
def test_finalize(version, sizes):
    x, w = ints(M, K), ints(G, K, N)
    if version == "V3":  # any strides
        x, w = np.ascontiguousarray(x.T).T, w.swapaxes(1, 2).copy().swapaxes(1, 2)
    scale, rows = RNG.uniform(1e-3, 1e-2, (G, N)).astype(F32), RNG.uniform(0.5, 2, M).astype(F32)
    shared, logit = RNG.normal(size=(2, N)).astype(BF16), RNG.uniform(0, 1, M).astype(F32)
    index = RNG.integers(0, 6, M).astype(np.int32 if sizes else np.int64)
    v = products(x, w, scale, rows)
    for how in (logit, None):
        want = np.zeros((7, N))
        np.add.at(want, index[:ALL], v * (1 if how is None else how[:ALL, None]))
        y = finalize(
            version,
            x,
            w,
            scale,
            rows,
            listed(sizes),
            None,
            how,
            index,
            np.full((7, N), 9, F32),
            kind=int(sizes),
        )
        close(y, want, rtol=1e-5, atol=1e-4)
        assert (y[6] == 0).all()
        want[3:5] += 0.5 * shared.astype(float)
        finalize(
            version, x, w, scale, rows, listed(sizes), shared, how, index, y, 0.5, 3, int(sizes)
        )
        close(y, want, rtol=1e-5, atol=1e-4)


def test_finalize_refused():
    x, w, scale, index = ints(M, K), ints(G, K, N), np.ones((G, N), F32), np.zeros(M, np.int64)
    good = {"x": x, "w": w, "scale": scale, "rows": np.ones(M, F32), "groups": listed(True), "shared": np.ones((2, N), BF16),
                "logit": np.ones(M, F32), "index": index, "y": np.zeros((5, N), F32)}  # fmt: skip
    finalize("V3", **good)
    finalize("V3", **(good | {"y": np.zeros((0, N), F32), "shared": None}))
    for bad in ({"tail": scale}, {"dtype": 1}, {"offset": 4}, {"offset": -1}, {"kind": 2}, {"x": x.astype(F32)}, {"w": w[:, :5]},
                {"w": w[0]}, {"scale": None}, {"rows": np.ones(3, F32)}, {"groups": listed(True)[:2]}, {"index": index[:3]},
                {"index": index.astype(F32)}, {"logit": np.ones(3, F32)}, {"y": np.zeros((5, N), np.float16)},
                {"shared": np.ones((2, 3), BF16)}, {"y": np.zeros((5, 3), F32)}):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            finalize("V3", **(good | bad))
    with pytest.raises(AclError, match="161001"):
        finalize("V3", **(good | {"index": None}))
    with pytest.raises(AclError, match="rowIndex has 5"):
        finalize("V3", **(good | {"index": index + 5}))


def swiglu(version, x, w, scale, rows, groups, q, told, kind=0, bias=None, mode=0):
    if version == "WeightNZ":
        run(
            "GroupedMatmulSwigluQuantWeightNZ",
            x,
            w,
            bias,
            None,
            scale,
            rows,
            groups,
            q,
            told,
            np.zeros((), F32),
        )
    else:
        run(
            "GroupedMatmulSwigluQuant" + version,
            x,
            [w],
            [scale],
            [],
            bias,
            rows,
            None,
            groups,
            mode,
            0,
            0,
            kind,
            [],
            q,
            told,
        )


@pytest.mark.parametrize("version", ["WeightNZ", "V2", "WeightNzV2"])
@pytest.mark.parametrize("sizes", [True, False])
def test_swiglu(version, sizes):
    x, w = ints(M, K), ints(G, K, N)
    scale, rows = RNG.uniform(1e-3, 1e-2, (G, N)).astype(F32), RNG.uniform(0.1, 0.3, M).astype(F32)
    sizes = sizes and version != "WeightNZ"
    q, told = np.full((N // 2, M), 9, np.int8).T, np.full(M, 9, F32)
    swiglu(version, x, w, scale, rows, listed(sizes), q, told, int(sizes))
    v = products(x, w, scale, rows)
    s = v[:, : N // 2] / (1 + np.exp(-v[:, : N // 2])) * v[:, N // 2 :]
    close(told[:ALL], np.abs(s).max(1) / 127, rtol=1e-5)
    assert (np.abs(q[:ALL] * told[:ALL, None].astype(float) - s) <= told[:ALL, None] * 0.5001).all()
    assert (q[ALL:] == 0).all() and (told[ALL:] == 0).all()  # rows of no group


def test_swiglu_refused():
    x, w, scale, rows = ints(M, K), ints(G, K, N), np.ones((G, N), F32), np.ones(M, F32)
    good = {
        "x": x,
        "w": w,
        "scale": scale,
        "rows": rows,
        "groups": listed(False),
        "q": np.zeros((M, N // 2), np.int8),
        "told": np.zeros(M, F32),
    }
    for version in ("WeightNZ", "V2"):
        swiglu(version, **good)
        swiglu(
            version,
            **(good | {"x": x[:0], "rows": rows[:0], "q": good["q"][:0], "told": rows[:0].copy()}),
        )
        for bad in ({"bias": scale}, {"x": x.astype(F32)}, {"w": w[:, :, :7].copy()}, {"w": w[:, :5].copy()}, {"rows": rows[:4]},
                    {"scale": scale[:2]}, {"q": good["q"][:, :3]}, {"told": rows[:3]}, {"q": np.zeros((M, N // 2), np.int32)},
                    {"groups": listed(False)[:2]}):  # fmt: skip
            with pytest.raises(AclError, match="161002"):
                swiglu(version, **(good | bad))
    for bad in ({"mode": 1}, {"kind": 2}):
        with pytest.raises(AclError, match="161002"):
            swiglu("V2", **(good | bad))
    with pytest.raises(AclError, match="161002"):
        run("GroupedMatmulSwigluQuantV2", x, [w, w], [scale], None, None, rows, None, listed(False), 0, 0, 0, 0, None,
            good["q"], good["told"])  # fmt: skip


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16])
def test_private_layout(dtype):
    """GroupedMatmulWeightNz is V5: small integers, and floats."""
    x, w, scale = ints(M, K), ints(G, K, N), RNG.uniform(1e-4, 1e-3, (G, N)).astype(F32)
    rest = [None] * 3

    def call(x, w, y, scale=None, rows=None, size=0):
        run("GroupedMatmulWeightNz", [x], [w], None, scale, None, None, None, rows, listed(True), *rest, 3, 0, 1, 0, None, size,
            [y], None, None)  # fmt: skip
        return y.astype(float)

    y = np.zeros((M, N), dtype)
    close(
        call(x, w, y, [scale]),
        np.pad(products(x, w, scale, None), ((0, M - ALL), (0, 0))),
        rtol=2**-7,
        atol=1e-6,
    )
    a, b = RNG.normal(size=(M, K)).astype(dtype), RNG.normal(size=(G, K, N)).astype(dtype)
    want = np.stack([a[i].astype(float) @ b[g].astype(float) for i, g in enumerate(OF)])
    close(call(a, b, y)[:ALL], want, rtol=2**-7, atol=2**-4)
    with pytest.raises(AclError, match="161002.*quantGroupSize"):
        call(x, w, y, [scale], size=32)


def test_sum_over_a_batch():
    x, w = ints(3, M, K), ints(3, K, N)
    rows, columns = (
        RNG.uniform(1e-2, 1e-1, (3, M)).astype(F32),
        RNG.uniform(1e-2, 1e-1, N).astype(BF16),
    )

    def call(
        x=x,
        w=w,
        rows=rows,
        columns=columns,
        y=None,
        bias=None,
        turned=False,
        size=-1,
        dims=(0,),
        keep=False,
    ):
        y = np.zeros((M, N), BF16) if y is None else y
        run("QuantMatmulReduceSumWeightNz", x, w, rows, columns, None, None, None, None, bias, turned, False, size, list(dims),
            keep, y)  # fmt: skip
        return y.astype(float)

    want = np.einsum(
        "bmk,bkn,bm,n->mn",
        x.astype(float),
        w.astype(float),
        rows.astype(float),
        columns.astype(float),
    )
    close(call(), want, rtol=2**-7, atol=np.abs(want).max() * 1e-5)
    close(
        call(w=w.swapaxes(1, 2).copy().swapaxes(1, 2), y=np.zeros((N, M), BF16).T),
        want,
        rtol=2**-7,
        atol=1e-2,
    )
    assert (call(x[:0], w[:0], rows[:0]) == 0).all()
    call(x[:, :0], w, rows[:, :0], y=np.zeros((0, N), BF16))
    for bad in ({"bias": columns}, {"turned": True}, {"size": 32}, {"dims": ()}, {"dims": (0, 1)}, {"keep": True}, {"x": x[0]},
                {"w": w[:2]}, {"rows": rows[:2]}, {"columns": columns[:3]}, {"y": np.zeros((M, N), F32)},
                {"y": np.zeros((M, 3), BF16)}, {"x": x.astype(F32)}):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            call(**bad)
