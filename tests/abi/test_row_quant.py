"""Norms and gated activations that end as small integers, and integers that become floats, against NumPy."""

import ml_dtypes
import numpy as np
import pytest
from aclnn import AclError, Int4, run

BF16 = np.dtype(ml_dtypes.bfloat16)
RNG = np.random.default_rng(61)
close, same = np.testing.assert_allclose, np.testing.assert_array_equal
F32 = np.float32


def real(*shape, dtype=np.float16, low=-2, high=2):
    return RNG.uniform(low, high, shape).astype(dtype)


def wide(a):
    return a.astype(F32)


def near(got, want, low=-128, high=127):
    """Integers that are the wanted ones; where the value lies at a half, one of both."""
    got = np.asarray(got).astype(float)
    exact = np.rint(want).clip(low, high)
    doubt = np.abs(np.abs(want - np.floor(want)) - 0.5) < 1e-3
    assert got.shape == exact.shape
    assert (got == exact)[~doubt].all(), (got[got != exact], want[got != exact])
    assert (np.abs(got - exact) <= 1).all()
    assert doubt.mean() < 0.05


def strided(a):
    room = np.zeros((*a.shape[:-1], a.shape[-1] * 2), a.dtype)
    room[..., ::2] = a
    return room[..., ::2]


def nibbles(packed):
    """The int4 of int32 words."""
    four = (packed[..., None] >> np.arange(0, 32, 4) & 15).reshape(*packed.shape[:-1], -1)
    return np.where(four > 7, four - 16, four)


def norm(x1, x2, gamma, beta=None, eps=1e-5):
    s = wide(x1) + (0 if x2 is None else wide(x2))
    axes = tuple(range(s.ndim - gamma.ndim, s.ndim))
    y = s / np.sqrt((s * s).mean(axes, keepdims=True) + F32(eps)) * wide(gamma)
    return s, y, y if beta is None else y + wide(beta)


def by_row(v, top):
    scale = np.abs(v).max(-1, keepdims=True) / F32(top)
    return np.divide(v, scale, out=np.zeros_like(v), where=scale > 0), scale[..., 0]


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16, np.dtype(F32)])
@pytest.mark.parametrize("div", [True, False])
def test_add_rms_norm_quant(dtype, div):
    x1, x2 = strided(real(3, 5, 24, dtype=dtype)), real(3, 5, 24, dtype=dtype)
    gamma, beta = real(24, dtype=dtype), real(24, dtype=dtype)
    scales = [real(24, dtype=F32, low=0.02, high=0.1), real(1, dtype=F32, low=0.02, high=0.1)]
    zeros = [RNG.integers(-9, 9, 24).astype(np.int32), None]
    if not div:
        scales = [1 / s for s in scales]
    s, y, shifted = norm(x1, x2, gamma, beta)

    def want(v, k):
        return (v / scales[k] if div else v * scales[k]) + (0 if zeros[k] is None else zeros[k])

    y1, y2 = np.zeros((3, 5, 24), np.int8), strided(np.zeros((3, 5, 24), np.int8))
    out = np.zeros((3, 5, 24), dtype)
    run(
        "AddRmsNormQuant",
        x1,
        x2,
        gamma,
        scales[0],
        scales[1],
        zeros[0],
        zeros[1],
        -1,
        1e-5,
        div,
        y1,
        y2,
        out,
    )
    near(y1, want(y, 0))
    near(y2, want(y, 1))
    same(wide(out), wide(s.astype(dtype)))
    plain = np.zeros((3, 5, 24), dtype)
    run("AddRmsNormQuantV2", x1, x2, gamma, scales[0], scales[1], zeros[0], zeros[1], beta, -1, 1e-5, div, y1, y2, out,
        plain)  # fmt: skip
    near(y1, want(shifted, 0))
    near(y2, want(shifted, 1))
    close(wide(plain), y, rtol=2**-7, atol=1e-6)
    y2[...] = 77  # without its scales it is not written
    run(
        "AddRmsNormQuantV2",
        x1,
        x2,
        gamma,
        scales[0],
        None,
        None,
        None,
        None,
        -1,
        1e-5,
        div,
        y1,
        y2,
        out,
        None,
    )
    near(y1, y / scales[0] if div else y * scales[0])
    assert (y2 == 77).all()
    # gamma over two dimensions
    gamma = real(5, 24, dtype=dtype)
    full = np.resize(scales[0], (5, 24))
    run("AddRmsNormQuant", x1, x2, gamma, full, None, None, None, -1, 1e-5, div, y1, None, out)
    _, y, _ = norm(x1, x2, gamma)
    near(y1, y / full if div else y * full)


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16])
def test_rms_norm_quant(dtype):
    x, gamma, beta = real(6, 16, dtype=dtype), real(1, 16, dtype=dtype), real(1, 16, dtype=dtype)
    scale, offset = real(1, dtype=dtype, low=9, high=20), np.array([-7], np.int8)
    _, _, y = norm(x, None, gamma[0], beta[0], 1e-6)
    v = y * wide(scale) + wide(offset)
    near(run("RmsNormQuant", x, gamma, beta, scale, offset, 1e-6, np.zeros((6, 16), np.int8)), v)
    out = np.zeros((6, 2), np.int32)
    run("RmsNormQuant", x, gamma, beta, scale, offset, 1e-6, out)
    near(nibbles(out), v, -8, 7)
    held = Int4(np.zeros((6, 16), int), (1, 0))
    run("RmsNormQuant", x, gamma, beta, scale, offset, 1e-6, held)
    same(held.values(), nibbles(out))


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16])
def test_add_rms_norm_dynamic_quant(dtype):
    x1, x2 = real(4, 3, 16, dtype=dtype), real(4, 3, 16, dtype=dtype)
    x1[0, 0], x2[0, 0] = 1, -1  # a row of zeros
    gamma, beta = real(16, dtype=dtype), real(16, dtype=dtype)
    smooth = [real(16, dtype=dtype, low=0.5, high=2) for _ in range(2)]
    s, y, shifted = norm(x1, x2, gamma, beta)

    def outputs():
        return [np.full((4, 3, 16), 55, np.int8) for _ in range(2)], [
            np.full((4, 3), 55, F32) for _ in range(2)
        ]

    out = np.zeros((4, 3, 16), dtype)
    q, scale = outputs()
    run("AddRmsNormDynamicQuantV2", x1, x2, gamma, *smooth, beta, 1e-5, None, *q, out, *scale)
    for k in range(2):
        v, want = by_row(shifted * wide(smooth[k]), 127)
        near(q[k], v)
        close(scale[k], want, rtol=1e-5)
    same(wide(out), wide(s.astype(dtype)))
    q, scale = outputs()
    run(
        "AddRmsNormDynamicQuantV2",
        x1,
        x2,
        gamma,
        smooth[0],
        None,
        None,
        1e-5,
        None,
        *q,
        out,
        *scale,
    )
    v, want = by_row(y * wide(smooth[0]), 127)
    near(q[0], v)
    assert scale[0][0, 0] == 0 and (q[0][0, 0] == 0).all()
    assert (q[1] == 55).all() and (scale[1] == 55).all()
    q, scale = outputs()
    one = [np.zeros((), np.int8), np.zeros((), F32)]  # of an output that is not wanted
    run("AddRmsNormDynamicQuantV2", x1, x2, gamma, None, smooth[1], None, 1e-5, [False, True], one[0], q[1], out, one[1],
        scale[1])  # fmt: skip
    near(q[1], by_row(y * wide(smooth[1]), 127)[0])
    four = np.zeros((4, 3, 2), np.int32)
    run(
        "AddRmsNormDynamicQuantV2",
        x1,
        x2,
        gamma,
        None,
        None,
        None,
        1e-5,
        [True, False],
        four,
        None,
        out,
        scale[0],
        None,
    )
    near(nibbles(four), by_row(y, 7)[0], -8, 7)
    for bad in ([True], [False, False]):
        with pytest.raises(AclError, match="outputMask"):
            run(
                "AddRmsNormDynamicQuantV2",
                x1,
                x2,
                gamma,
                None,
                None,
                None,
                1e-5,
                bad,
                four,
                None,
                out,
                scale[0],
                None,
            )


def test_norms_refuse():
    x, gamma, scale = real(2, 8), real(8), np.ones(8, F32)
    y, out = np.zeros((2, 8), np.int8), np.zeros((2, 8), np.float16)
    good = [x, x, gamma, scale, None, None, None, -1, 1e-5, True, y, None, out]
    run("AddRmsNormQuant", *good)
    run(
        "AddRmsNormQuant",
        x[:0],
        x[:0],
        gamma,
        scale,
        None,
        None,
        None,
        -1,
        1e-5,
        True,
        y[:0],
        None,
        out[:0],
    )
    for i, bad in ((1, x[:1]), (2, gamma[:4]), (3, scale[:3]), (7, 0), (10, y[:, :4]), (10, out), (12, out[:1]),
                   (5, np.ones(3, np.int32)), (0, x.astype(int)), (2, np.ones(8, np.int32))):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("AddRmsNormQuant", *[bad if k == i else a for k, a in enumerate(good)])


def swiglu(v, left):
    a, b = np.split(v, 2, -1)
    if not left:
        a, b = b, a
    return a / (1 + np.exp(-a)) * b


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16, np.dtype(F32)])
def test_swiglu_quant(left, dtype):
    x, n = strided(real(9, 24, dtype=dtype)), 12
    act = swiglu(wide(x), left)
    q, scale = np.zeros((9, n), np.int8), np.zeros(9, F32)
    run("SwiGluQuantV2", x, None, None, None, left, "dynamic", 0, 2, q, scale)
    v, told = by_row(act, 127)
    near(q, v)
    close(scale, 1 / told, rtol=1e-5)
    smooth, offset = real(3, n, dtype=F32, low=1, high=20), real(3, n, dtype=F32, low=-3)
    ends, sizes = np.array([2, 2, 7], np.int32), np.array([2, 0, 5], np.int32)
    of = np.array([0, 0, 2, 2, 2, 2, 2, 2, 2])
    for kind, group in ((0, ends), (1, sizes)):
        run("SwiGluQuantV2", x, smooth, None, group, left, "dynamic", kind, 2, q, scale)
        near(q, by_row(act * smooth[of], 127)[0])
        run("SwiGluQuantV2", x, smooth, offset, group, left, "static", kind, 2, q, None)
        near(q, act * smooth[of] + offset[of])
        run(
            "SwiGluQuantV2",
            x,
            smooth[:, 0].copy(),
            offset[:, 0].copy(),
            group,
            left,
            None,
            kind,
            2,
            q,
            None,
        )
        near(q, act * smooth[of, :1] + offset[of, :1])
    held = Int4(np.zeros((9, n), int))
    run("SwiGluQuantV2", x, smooth[0], None, None, left, "dynamic", 0, 29, held, scale)
    near(held.values(), by_row(act * smooth[0], 7)[0], -8, 7)
    for bad in ((x, None, None, None, left, "other", 0, 2, q, scale), (x, None, None, None, left, "dynamic", 2, 2, q, scale),
                (x, None, None, None, left, "dynamic", 0, 29, q, scale), (x[:, :23], None, None, None, left, "dynamic", 0, 2, q, scale),
                (x, smooth[:2], None, ends, left, "dynamic", 0, 2, q, scale), (x, None, None, ends * 2, left, "dynamic", 0, 2, q, scale),
                (x, None, None, None, left, "dynamic", 0, 2, q[:, :3], scale)):  # fmt: skip
        with pytest.raises(AclError, match="161002|100000"):
            run("SwiGluQuantV2", *bad)


@pytest.mark.parametrize("left", [True, False])
def test_dequant_swiglu_quant(left):
    x, n = RNG.integers(-900, 900, (7, 32)).astype(np.int32), 16
    weight, rows = real(32, dtype=F32, low=0.001, high=0.01), real(7, dtype=F32, low=0.5)
    bias = RNG.integers(-90, 90, 32).astype(np.int32)
    add = real(32, dtype=np.float16)
    smooth = real(1, n, dtype=F32, low=0.5)
    q, scale = np.zeros((7, n), np.int8), np.zeros(7, F32)
    run(
        "DequantSwigluQuant",
        x,
        weight,
        rows[:, None],
        None,
        smooth,
        None,
        None,
        left,
        "dynamic",
        q,
        scale,
    )
    v, told = by_row(swiglu(wide(x) * weight * rows[:, None], left) * smooth, 127)
    near(q, v)
    close(scale, told, rtol=1e-5)
    run("DequantSwigluQuant", x, weight, rows, bias, None, None, None, left, "dynamic", q, scale)
    near(q, by_row(swiglu(wide(x + bias) * weight * rows[:, None], left), 127)[0])
    run(
        "DequantSwigluQuant",
        x,
        weight,
        None,
        add,
        smooth * 9,
        smooth,
        None,
        left,
        "static",
        q,
        None,
    )
    near(q, swiglu(wide(x) * weight + wide(add), left) * smooth * 9 + smooth)
    group, weights, smooths = np.array([2, 0, 3], np.int64), real(3, 32, dtype=F32, low=0.001, high=0.01), real(3, n, dtype=F32, low=1)  # fmt: skip
    of = np.array([0, 0, 2, 2, 2, 2, 2])
    run(
        "DequantSwigluQuant",
        x,
        weights,
        rows,
        None,
        smooths,
        None,
        group,
        left,
        "dynamic",
        q,
        scale,
    )
    near(q, by_row(swiglu(wide(x) * weights[of] * rows[:, None], left) * smooths[of], 127)[0])
    half = real(7, 32)
    run("DequantSwigluQuant", half, None, None, None, None, None, None, left, "dynamic", q, scale)
    near(q, by_row(swiglu(wide(half), left), 127)[0])
    run(
        "DequantSwigluQuant",
        x[:0],
        weight,
        None,
        None,
        None,
        None,
        None,
        left,
        "dynamic",
        q[:0],
        scale[:0],
    )
    with pytest.raises(AclError, match="161001"):
        run("DequantSwigluQuant", x, None, None, None, None, None, None, left, "dynamic", q, scale)
    for i, bad in (
        (1, weight[:5]),
        (2, rows[:5]),
        (3, bias[:5]),
        (4, smooth[:, :5]),
        (0, x[:, :31]),
        (10, scale[:2]),
    ):
        good = [x, weight, rows, bias, smooth, None, None, left, "dynamic", q, scale]
        with pytest.raises(AclError, match="161002"):
            run("DequantSwigluQuant", *[bad if k == i else a for k, a in enumerate(good)])


def test_dequant_bias():
    x = RNG.integers(-9000, 9000, (5, 12)).astype(np.int32)
    weight, rows = real(12, dtype=F32, low=0.001, high=0.01), real(5, dtype=F32)
    whole, out = RNG.integers(-90, 90, 12).astype(np.int32), np.zeros((5, 12), np.float16)
    half = np.float16
    same(run("DequantBias", x, weight, None, None, 1, out), (wide(x) * weight).astype(half))
    same(
        run("DequantBias", x, weight, rows, whole, 1, out),
        (wide(x + whole) * weight * rows[:, None]).astype(half),
    )
    for add in (real(12), real(12, dtype=BF16), real(12, dtype=F32)):
        want = wide(x) * weight * rows[:, None] + wide(add)
        same(run("DequantBias", x, weight, rows, add, 1, out), want.astype(half))
    w = weight.astype(BF16)
    to = strided(np.zeros((5, 12), BF16))
    same(
        wide(run("DequantBias", x, w, rows, None, 27, to)),
        wide((wide(x) * wide(w) * rows[:, None]).astype(BF16)),
    )
    for bad in ((x, weight, None, None, 27, out), (x, weight[:3], None, None, 1, out), (x, weight, rows[:2], None, 1, out),
                (x, weight, None, whole[:4], 1, out), (wide(x), weight, None, None, 1, out), (x, weight, None, None, 1, out[:2])):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("DequantBias", *bad)


@pytest.mark.parametrize("name", ["DynamicQuantV3", "DynamicQuantV4"])
@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16])
def test_dynamic_quant(name, dtype):
    x, smooth = strided(real(2, 6, 16, dtype=dtype)), real(16, dtype=dtype, low=0.5)
    v = wide(x) * wide(smooth)
    most = [0.0] if name == "DynamicQuantV4" else []
    for mode, axes in (("pertoken", (2,)), ("perchannel", (1,)), ("pertensor", (0, 1, 2))):
        scale = np.abs(v).max(axes, keepdims=True) / F32(127)
        shape = (1,) if mode == "pertensor" else np.squeeze(scale, axes).shape
        q, told, off = np.zeros(x.shape, np.int8), np.zeros(shape, F32), np.zeros(shape, F32)
        run(name, x, smooth, None, 2, True, mode, *most, q, told, None)
        near(q, v / scale)
        close(told, scale.reshape(shape), rtol=1e-6)
        high, low = v.max(axes, keepdims=True), v.min(axes, keepdims=True)
        scale = (high - low) / F32(255)
        run(name, x, smooth, None, 2, False, mode, *most, q, told, off)
        near(q, v / scale + (127 - high / scale))
        close(off, (127 - high / scale).reshape(shape), rtol=1e-5)
        four = np.zeros((2, 6, 2), np.int32)
        run(name, x, None, None, 3, True, mode, *most, four, told, None)
        want = wide(x) / (np.abs(wide(x)).max(axes, keepdims=True) / F32(7))
        near(nibbles(four), want, -8, 7)
    smooths, ends = real(2, 16, dtype=dtype, low=0.5), np.array([5, 12], np.int32)
    told = np.zeros((2, 6), F32)
    run(name, x, smooths, ends, 2, True, "pertoken", *most, q, told, None)
    of = (np.arange(12) >= 5).astype(int).reshape(2, 6)
    near(q, by_row(wide(x) * wide(smooths)[of], 127)[0])
    zero = np.zeros_like(x)
    run(name, zero, None, None, 2, False, "pertoken", *most, q, told, told.copy())
    assert (q == 0).all() and (told == 0).all()
    for bad in ((x, smooths, ends, 2, True, "pertensor", *most, q, told, None), (x, None, None, 2, True, "else", *most, q, told, None),
                (x, None, None, 3, True, "pertoken", *most, q, told, None), (x, smooth[:3], None, 2, True, "pertoken", *most, q, told, None),
                (x, None, None, 2, True, "perchannel", *most, q, told, None)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run(name, *bad)
    with pytest.raises(AclError, match="161001"):
        run(name, x, None, None, 2, False, "pertoken", *most, q, told, None)
