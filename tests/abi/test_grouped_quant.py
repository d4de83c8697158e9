"""GroupedMatmul of small integers, and of floats with quantised weights, against NumPy."""

import ml_dtypes
import numpy as np
import pytest
from aclnn import AclError, Int4, run
from test_quant import pack

BF16 = np.dtype(ml_dtypes.bfloat16)
RNG = np.random.default_rng(71)
F32, same, close = np.float32, np.testing.assert_array_equal, np.testing.assert_allclose
M, K, N, G = 11, 16, 8, 4
SIZES = [3, 0, 5, 2]  # a row is left, which belongs to no group
OF = np.repeat(np.arange(G), SIZES)


def ints(*shape, bits=8):
    return RNG.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), shape).astype(np.int8)


def grouped(x, weight, y, *, bias=None, scale=None, anti=None, offset=None, rows=None, sizes=True, version=5, split=3,
            kind=0, act=0, given=None):  # fmt: skip
    """V4 or V5; x and y are tensors, the others lists or tensors."""

    def listed(a):
        return a if a is None or isinstance(a, list) else [a]

    groups = np.array(SIZES if sizes else np.cumsum(SIZES), np.int64) if given is None else given
    tuning = [] if version == 4 else [None]
    run(f"GroupedMatmulV{version}", [x], listed(weight), listed(bias), listed(scale), None, listed(anti), listed(offset),
        listed(rows), groups, None, None, None, split, kind, int(sizes), act, *tuning, [y], None, None)  # fmt: skip
    return y


def products(x, weight):
    """int64, of the rows that belong to a group."""
    return np.stack([x[i].astype(np.int64) @ weight[g].astype(np.int64) for i, g in enumerate(OF)])


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16, np.dtype(F32)])
def test_integers(version, listed, dtype):
    x, weight = ints(M, K), ints(G, K, N)
    scale = RNG.uniform(1e-4, 1e-3, (G, N)).astype(F32)
    rows = RNG.uniform(0.5, 2, M).astype(F32)
    whole = RNG.integers(-900, 900, (G, N)).astype(np.int32)
    real = RNG.uniform(-1, 1, (G, N)).astype(F32)
    exact = products(x, weight)

    def form(a):
        return [m.copy() for m in a] if listed else a

    def check(y, want):
        same(y[: len(OF)].astype(float), want.astype(dtype).astype(float))
        assert (y[len(OF) :] == 0).all()

    y = np.full((M, N), 7, dtype)
    grouped(x, form(weight), y, scale=form(scale), rows=rows, version=version)
    check(y, exact.astype(F32) * scale[OF] * rows[: len(OF), None])
    y = np.full((N, M), 7, dtype).T
    grouped(x, form(weight), y, scale=form(scale), bias=form(whole), version=version, sizes=False)
    check(y, (exact + whole[OF]).astype(F32) * scale[OF])
    if dtype == F32:
        return
    grouped(
        x, form(weight), y, scale=form(scale), bias=form(real), rows=rows, version=version, split=2
    )
    check(y, exact.astype(F32) * scale[OF] * rows[: len(OF), None] + real[OF])


def test_sums_and_words():
    x, weight = ints(M, K), ints(G, K, N)
    exact, whole = products(x, weight), RNG.integers(-900, 900, (G, N)).astype(np.int32)
    y = np.full((M, N), 7, np.int32)
    grouped(x, weight, y)
    same(y[: len(OF)], exact)
    grouped(x, weight.swapaxes(1, 2).copy().swapaxes(1, 2), y, bias=whole)
    same(y[: len(OF)], exact + whole[OF])
    scale = RNG.uniform(1e-4, 1e-3, N * G).astype(F32)
    words = run("TransQuantParamV2", scale, None, np.empty(N * G, np.int64)).reshape(G, N)
    cut = (scale.view(np.uint32) & 0xFFFFE000).view(F32).reshape(G, N)
    half = np.zeros((M, N), np.float16)
    grouped(x, weight, half, scale=words)
    same(half[: len(OF)], (exact.astype(F32) * cut[OF]).astype(np.float16))
    grouped(x, weight, half, scale=RNG.uniform(1e-4, 1e-3, (G, 1)).astype(F32))  # one for a group
    grouped(x[:0], weight, half[:0], scale=words, given=np.zeros(G, np.int64))


def test_four_bits():
    x, weight = ints(M, K), ints(G, K, N, bits=4)
    scale, half = RNG.uniform(1e-3, 1e-2, (G, N)).astype(F32), np.zeros((M, N), np.float16)
    want = (products(x, weight).astype(F32) * scale[OF]).astype(np.float16)
    for w in (pack(weight), Int4(weight), Int4(weight, (0, 2, 1))):
        half[...] = 0
        grouped(x, w, half, scale=scale)
        same(half[: len(OF)], want)
    small = ints(M, K, bits=4)
    want = (products(small, weight).astype(F32) * scale[OF]).astype(np.float16)
    grouped(pack(small), pack(weight), half, scale=scale)
    same(half[: len(OF)], want)


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16])
def test_quantised_weights(listed, dtype):
    x = RNG.uniform(-1, 1, (M, K)).astype(dtype)
    weight = ints(G, K, N)
    anti = RNG.uniform(0.01, 0.02, (G, N)).astype(dtype)
    offset, bias = (RNG.uniform(-9, 9, (G, N)).astype(t) for t in (dtype, F32))
    y = np.zeros((M, N), dtype)

    def form(a):
        return [m.copy() for m in a] if listed else a

    for shift in (None, offset):
        w = (weight.astype(F32) + (0 if shift is None else shift[:, None].astype(F32))) * anti[
            :, None
        ].astype(F32)
        want = np.stack([x[i].astype(float) @ w[g].astype(float) for i, g in enumerate(OF)])
        grouped(x, form(weight), y, anti=form(anti), offset=None if shift is None else form(shift))
        close(y[: len(OF)].astype(float), want, rtol=2**-7, atol=2**-7)
        grouped(
            x,
            form(weight),
            y,
            anti=form(anti),
            offset=None if shift is None else form(shift),
            bias=form(bias),
        )
        close(y[: len(OF)].astype(float), want + bias[OF], rtol=2**-7, atol=2**-7)
    four = ints(G, K, N, bits=4)
    grouped(x, pack(four), y, anti=anti[:, :1].copy())
    want = np.stack(
        [x[i].astype(float) @ (four[g].astype(float) * float(anti[g, 0])) for i, g in enumerate(OF)]
    )
    close(y[: len(OF)].astype(float), want, rtol=2**-7, atol=2**-7)


def test_refused():
    x, weight, scale = ints(M, K), ints(G, K, N), np.ones((G, N), F32)
    y, sums = np.zeros((M, N), np.float16), np.zeros((M, N), np.int32)
    good = {"x": x, "weight": weight, "y": y, "scale": scale}
    grouped(**good)
    for bad in ({"scale": None}, {"scale": scale[:, :3].copy()}, {"scale": [scale[0]] * 2}, {"rows": np.ones(M - 1, F32)},
                {"rows": np.ones(M, np.float16)}, {"weight": weight[:, :5].copy()}, {"y": y[:, :3]}, {"y": sums},
                {"y": sums, "scale": None, "bias": np.ones((G, N), F32)}, {"split": 0}, {"kind": 2}, {"act": 1},
                {"given": np.ones(G - 1, np.int64)}, {"anti": scale}, {"weight": weight.astype(np.int16)},
                {"bias": scale[:, :3].copy()}, {"x": x.astype(np.int16)}):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            grouped(**(good | bad))
    with pytest.raises(AclError, match="ends at"):
        grouped(**good, given=np.array([5, 9, 1, 1], np.int64))
    with pytest.raises(AclError, match="groupList"):
        run("GroupedMatmul", [x], [weight], None, [scale], None, None, None, SIZES, 3, [y])
