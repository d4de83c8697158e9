"""Products of small integers through CANN's interface, against NumPy's exact integers."""

import numpy as np
import pytest
from aclnn import AclError, Int4, run
from test_quant import pack

RNG = np.random.default_rng(33)
close, same = np.testing.assert_allclose, np.testing.assert_array_equal


def ints(*shape, bits=8):
    return RNG.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), shape).astype(np.int8)


def test_v1_v2():
    a, b, bias = ints(5, 40), ints(40, 7), RNG.integers(-900, 900, 7).astype(np.int32)
    want = a.astype(int) @ b.astype(int)
    out = np.empty((7, 5), np.float16).T
    run("QuantMatmul", a, np.asfortranarray(b), bias, 0.01, out)
    same(out, ((want + bias).astype(np.float32) * np.float32(0.01)).astype(np.float16))
    scale = RNG.random(16).astype(np.float32)
    words = run("TransQuantParamV2", scale, None, np.empty(16, np.uint64))
    cut = (scale.view(np.uint32) & 0xFFFFE000).view(np.float32)
    run("QuantMatmulV2", a.T, b.T, None, words, True, True, out)
    same(out, (want.astype(np.float32) * cut[:7]).astype(np.float16))
    run("QuantMatmul", a[:0], b, None, 1.0, out[:0])
    for bad in ((a, b[:9], bias, 1.0, out), (a, b, bias[:3], 1.0, out), (a, b, bias, 1.0, out[:2]),
                (a.astype(int), b, bias, 1.0, out)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("QuantMatmul", *bad)


@pytest.mark.parametrize("trans", [(False, False), (True, False), (False, True), (True, True)])
def test_v3_v4(trans):
    import ml_dtypes

    a, b = ints(2, 1, 4, 24), ints(3, 24, 16)
    exact = a.astype(int) @ b.astype(int)
    x = [np.ascontiguousarray(m.swapaxes(-1, -2)) if t else m for m, t in zip((a, b), trans)]  # noqa: B905
    scale, bias = (RNG.random(16) / 500).astype(np.float32), RNG.integers(-900, 900, 16).astype(np.int32)  # fmt: skip
    offset, rows = RNG.integers(-9, 9, 16).astype(np.float32), RNG.random(4).astype(np.float32)
    words = run("TransQuantParamV2", scale, None, np.empty(16, np.uint64))
    cut = (scale.view(np.uint32) & 0xFFFFE000).view(np.float32)
    v = (exact + bias).astype(np.float32)
    got = run("QuantMatmulV3", *x, words, offset, bias, *trans, np.empty((2, 3, 4, 16), np.int8))
    same(got, np.rint(v * cut + offset).clip(-128, 127))
    packed = run("TransQuantParamV2", scale, offset, np.empty(16, np.int64))
    same(
        run("QuantMatmulV3", *x, packed, None, bias, *trans, np.empty((2, 3, 4, 16), np.int8)), got
    )
    out = np.empty((2, 3, 4, 16), np.float16)
    same(run("QuantMatmulV3", *x, words, None, bias, *trans, out), (v * cut).astype(np.float16))
    out = np.empty((2, 3, 4, 16), ml_dtypes.bfloat16)
    want = (v * scale * rows[:, None]).astype(out.dtype)
    same(run("QuantMatmulV4", *x, scale, None, rows, bias, *trans, out).astype(float), want.astype(float))  # fmt: skip
    real = RNG.random(16).astype(np.float32)
    want = (exact.astype(np.float32) * scale[:1] * rows[:, None] + real).astype(np.float16)
    close(run("QuantMatmulV4", *x, scale[:1], None, rows, real, *trans, np.empty(want.shape, np.float16)), want)  # fmt: skip
    for bad in ((*x, scale[:5], None, None, None, *trans, out), (*x, scale, offset, None, None, *trans, out),
                (*x, scale, None, rows[:2], None, *trans, out), (*x, scale, None, None, None, *trans, out[0])):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("QuantMatmulV4", *bad)


def test_int4():
    a, b = ints(5, 16, bits=4), ints(16, 24, bits=4)
    scale = RNG.random(24).astype(np.float32)
    want = ((a.astype(int) @ b.astype(int)).astype(np.float32) * scale).astype(np.float16)
    same(run("QuantMatmulV4", pack(a), pack(b), scale, None, None, None, False, False, np.empty((5, 24), np.float16)), want)  # fmt: skip
    same(run("QuantMatmulV4", pack(a), pack(np.ascontiguousarray(b.T)), scale, None, None, None, False, True,
             np.empty((5, 24), np.float16)), want)  # fmt: skip
    for left in (Int4(a), Int4(a, (1, 0)), a):
        for right in (Int4(b), Int4(b, (1, 0)), pack(b)):
            same(run("QuantMatmulV4", left, right, scale, None, None, None, False, False, np.empty((5, 24), np.float16)), want)  # fmt: skip
    same(run("QuantMatmulV3", Int4(a.T), Int4(b.T), scale, None, None, True, True, np.empty((5, 24), np.float16)), want)  # fmt: skip
    odd = ints(3, 5, 7, bits=4)  # no row of whole bytes
    exact = odd.astype(int) @ odd.astype(int).swapaxes(1, 2)
    same(run("QuantMatmulV3", Int4(odd), Int4(odd), scale[:1], None, None, False, True, np.empty((3, 5, 5), np.int32)), exact)  # fmt: skip
    for name in ("QuantMatmul", "QuantMatmulV2"):  # for which CANN documents none
        with pytest.raises(AclError, match="dtype 29"):
            run(name, Int4(a), b, None, *((1.0,) if name == "QuantMatmul" else (scale, False, False)), np.empty((5, 24), np.float16))  # fmt: skip


@pytest.mark.parametrize("trans", [(False, False), (True, False), (False, True), (True, True)])
def test_int32_and_weight_nz(trans):
    a, b = ints(2, 1, 9, 40), ints(3, 40, 16)
    exact = a.astype(int) @ b.astype(int)
    x = [np.ascontiguousarray(m.swapaxes(-1, -2)) if t else m for m, t in zip((a, b), trans)]  # noqa: B905
    scale, bias = RNG.random(16).astype(np.float32) / 99, RNG.integers(-900, 900, 16).astype(np.int32)  # fmt: skip
    out = np.empty((16, 9, 3, 2), np.int32).T
    same(run("QuantMatmulV3", *x, scale, None, bias, *trans, out), exact + bias)
    same(run("QuantMatmulV4", *x, scale, None, None, None, *trans, out), exact)
    rows, offset = RNG.random(9).astype(np.float32), RNG.random(16).astype(np.float32)
    for bad in ((*x, scale, None, rows, None, *trans, out), (*x, scale, None, None, scale, *trans, out),
                (*x, scale, offset, None, None, *trans, out)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("QuantMatmulV4", *bad)
    eight, half = np.empty((2, 3, 9, 16), np.int8), np.empty((2, 3, 9, 16), np.float16)
    v = (exact + bias).astype(np.float32) * scale
    words = run("TransQuantParamV2", scale, None, np.empty(16, np.int64))
    cut = (scale.view(np.uint32) & 0xFFFFE000).view(np.float32)

    def nz(scale, out, x1_scale=None, offset=None, bias=bias, reserved=None, group=0):
        return run("QuantMatmulWeightNz", *x, x1_scale, scale, reserved, None, offset, None, bias, *trans, group, out)  # fmt: skip

    same(nz(scale, eight, offset=offset), np.rint(v + offset).clip(-128, 127))
    same(nz(words, eight), np.rint((exact + bias).astype(np.float32) * cut).clip(-128, 127))
    same(nz(scale, half, x1_scale=rows), (v * rows[:, None]).astype(np.float16))
    same(nz(scale, half, bias=None), (exact.astype(np.float32) * scale).astype(np.float16))
    nz(scale, half, reserved=np.empty(0, np.float32))
    for bad in (
        {"reserved": scale},
        {"group": 128},
        {"offset": offset[:3]},
        {"x1_scale": rows[:4]},
    ):
        with pytest.raises(AclError, match="161002"):
            nz(scale, half, **bad)


@pytest.mark.parametrize("shape", [(7, 300, 130), (64, 1030, 70), (1, 64, 17), (200, 33, 257)])
def test_many(shape):
    """Beyond one block of the kernel, in both orders, at the ends of the range."""
    m, k, n = shape
    for a, b in ((ints(m, k), ints(k, n)), (np.full((m, k), -128, np.int8), np.full((k, n), -128, np.int8))):  # fmt: skip
        want = a.astype(np.int64) @ b.astype(np.int64)
        one = np.ones(1, np.float32)
        for x in (a, np.asfortranarray(a)):
            for y in (b, np.asfortranarray(b)):
                same(run("QuantMatmulV3", x, y, one, None, None, False, False, np.empty((m, n), np.int32)), want)  # fmt: skip


@pytest.mark.parametrize("order", ["rows", "columns", "apart"])
@pytest.mark.parametrize(
    ("m", "k", "n"),
    [
        (1, 300, 1100),
        (1, 5000, 33),
        (1, 2048, 131),
        (2, 32, 3),
        (4, 96, 1101),
        (8, 96, 1101),
        (9, 96, 1101),
        (16, 65, 515),
        (17, 65, 515),
        (40, 130, 48),
        (3, 70001, 2),
        (2, 7, 1),
    ],
)
def test_weights_as_they_lie(m, k, n, order):
    """One row to many, lines of every length, each kind of scales: few rows of x take another way than many."""
    w, bits = ints(k, n), ints(k, n, bits=4)
    x = (RNG.standard_normal((m, k)) / 16).astype(np.float16)
    groups = -(-k // 32)
    lay = {
        "rows": np.array,
        "columns": np.asfortranarray,
        "apart": lambda a: np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2],
    }[order]
    for shape, group in (((1,), 0), ((n,), 0), ((groups, n), 32)):
        scale = (RNG.random(shape) + 0.5).astype(np.float16)
        offset = RNG.integers(-3, 3, shape).astype(np.float16)
        s, o = (
            np.repeat(t.astype(float), 32, 0)[:k] if group else t.astype(float)
            for t in (scale, offset)
        )
        # Which of the weights a few rows in fixed point may meet: whole blocks of contiguous columns.
        whole = m <= 32 and k % 32 == 0
        lines = whole and order == "columns"
        for values, weights in (
            (w, [(lay(w), lines)]),
            (bits, [(lay(bits), lines), (Int4(bits), False), (Int4(bits, (1, 0)), whole)]),
        ):
            for shift, back in ((None, 0), (offset, o)):
                wide = (values + back) * s
                want, sums = x.astype(float) @ wide, np.abs(x.astype(float)) @ np.abs(wide)
                for weight, fixed in weights:
                    out = np.empty((m, n), np.float16)
                    run(
                        "WeightQuantBatchMatmulV2",
                        x,
                        weight,
                        scale,
                        shift,
                        None,
                        None,
                        None,
                        group,
                        out,
                    )
                    assert (
                        np.abs(out.astype(float) - want)
                        <= 2.0**-10 * np.abs(want)
                        + 1e-6 * sums
                        + 1e-7
                        + fixed * rounded(x, wide, group)
                    ).all()


def rounded(x, w, group=0):
    """By how much x @ w may be off because elements of x are, by 2^-12 of the mean size of those around them."""
    x, w = np.abs(x.astype(float)), np.abs(w)
    part = min(group or len(w), 256)
    starts = np.arange(0, len(w), part)
    sizes = np.diff([*starts, len(w)])
    return 2.0**-12 * (np.add.reduceat(x, starts, 1) / sizes) @ np.add.reduceat(w, starts, 0)


SPREADS = {
    "normal": lambda x: x,
    "one large": lambda x: np.where(np.arange(x.shape[1]) == 5, 3000, x),
    "wide": lambda x: np.exp(4 * x) * np.sign(x),
    "integers": lambda x: np.rint(x * 40),
    "zeros": lambda x: np.where(np.arange(x.shape[1]) < 100, 0, x),
    "tiny": lambda x: x * 2.0**-120,
    "huge": lambda x: x * 2.0**100,
    "not finite": lambda x: np.where(x > 2.5, np.inf, np.where(x < -2.5, np.nan, x)),
}


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("m", [1, 2, 3, 7, 8, 32, 33])
def test_few_rows_in_fixed_point(spread, m):
    """Rows that integers hold, in one part or in two, and those that they don't."""
    import ml_dtypes

    for k, group in ((32, 0), (288, 0), (544, 32), (1024, 96), (1056, 512)):
        x = SPREADS[spread](RNG.standard_normal((m, k))).astype(ml_dtypes.bfloat16)
        scale = (RNG.random((-(-k // group) if group else 1, 37)) + 0.5).astype(x.dtype)
        offset = RNG.integers(-3, 3, scale.shape).astype(x.dtype)
        s, o = (np.repeat(t.astype(float), group or k, 0)[:k] for t in (scale, offset))
        for bits, shift in ((8, None), (8, offset), (4, None), (4, offset)):
            values = ints(k, 37, bits=bits)
            wide = (values + (0 if shift is None else o)) * s
            with np.errstate(invalid="ignore"):
                want = x.astype(float) @ wide
                allowed = 2.0**-8 * np.abs(want) + 2.0**-21 * np.abs(x.astype(float)) @ np.abs(wide)
                # Sums of float32 have an offset's part and the others apart.
                allowed += 2.0**-21 * np.abs(x.astype(float)) @ (np.abs(values * s) + np.abs(o * s))
                if spread != "integers" and m <= 32:
                    allowed += rounded(x, wide, group)
            weight = np.asfortranarray(values) if bits == 8 else Int4(values, (1, 0))
            out = np.empty(want.shape, x.dtype)
            run("WeightQuantBatchMatmulV2", x, weight, scale if group else scale[0],
                shift if shift is None or group else shift[0], None, None, None, group, out)  # fmt: skip
            got, finite = out.astype(float), np.isfinite(want)
            assert (np.isfinite(got) == finite).all()
            same(got[~finite], want[~finite])
            assert (np.abs(got - want) <= allowed)[finite].all()


@pytest.mark.parametrize("m", [2, 3, 9, 32])
def test_row_in_fixed_point_alone(m):
    """Its bits do not depend on the rows beside it, one of which has a second part."""
    x = RNG.standard_normal((m, 544)).astype(np.float16)
    x[0, 7] = 30000
    w, scale = np.asfortranarray(ints(544, 37)), RNG.random(37).astype(np.float16)
    together, alone = np.empty((m, 37), np.float16), np.empty((1, 37), np.float16)
    run("WeightQuantBatchMatmulV2", x, w, scale, None, None, None, None, 0, together)
    for i in range(m):
        run("WeightQuantBatchMatmulV2", x[i : i + 1], w, scale, None, None, None, None, 0, alone)
        same(together[i].view(np.uint16), alone[0].view(np.uint16))


@pytest.mark.parametrize("version", ["V2", "V3"])
def test_weight_quant(version):
    import ml_dtypes

    more = () if version == "V2" else (0,)
    w = ints(32, 16, bits=4)
    for dtype, tolerance in ((np.float16, 2e-3), (ml_dtypes.bfloat16, 2e-2)):
        x = RNG.standard_normal((6, 32)).astype(dtype)
        bias = RNG.standard_normal(16).astype(np.float32)
        for shape, group in (((1,), 0), ((16,), 0), ((1, 16), 0), ((4, 16), 8)):
            scale, offset = (
                RNG.random(shape).astype(dtype),
                RNG.integers(-3, 3, shape).astype(dtype),
            )
            s, o = (np.repeat(t.astype(float), 8, 0) if group else t.astype(float) for t in (scale, offset))  # fmt: skip
            want = x.astype(float) @ ((w + o) * s) + bias
            for weight in (w, np.asfortranarray(w), pack(w), Int4(w), Int4(w, (1, 0))):
                out = np.empty((16, 6), dtype).T
                run("WeightQuantBatchMatmul" + version, x, weight, scale, offset, None, None, bias, group, *more, out)  # fmt: skip
                close(out.astype(float), want, rtol=tolerance, atol=tolerance * 4)
        for q_scale in (np.array([9], np.float32), RNG.random(16).astype(np.float32) * 9):
            for q_offset in (None, RNG.random((1, 16)).astype(np.float32) * 9):
                eight = np.empty((6, 16), np.int8)
                run("WeightQuantBatchMatmul" + version, x, w, s1 := scale[0], None, q_scale, q_offset, bias, 0, *more, eight)  # fmt: skip
                y = (x.astype(float) @ (w * s1.astype(float)) + bias) * q_scale + (0 if q_offset is None else q_offset)  # fmt: skip
                near = np.abs(y - np.floor(y) - 0.5) < 1e-3  # ties of float32
                same(eight[~near], np.rint(y).clip(-128, 127)[~near])
        words = run("TransQuantParamV2", q_scale, q_scale, np.empty(16, np.int64))
        got = run("WeightQuantBatchMatmul" + version, x, w, s1, None, words, None, bias, 0, *more, eight.copy())  # fmt: skip
        cut = (q_scale.view(np.uint32) & 0xFFFFE000).view(np.float32)
        y = (x.astype(float) @ (w * s1.astype(float)) + bias) * cut + np.rint(q_scale)
        near = np.abs(y - np.floor(y) - 0.5) < 1e-3
        same(got[~near], np.rint(y).clip(-128, 127)[~near])
        for bad in ((q_scale, None, out), (None, None, eight), (None, q_scale, out), (q_scale[:3], None, eight)):  # fmt: skip
            with pytest.raises(AclError, match="161002"):
                run("WeightQuantBatchMatmul" + version, x, w, s1, None, *bad[:2], bias, 0, *more, bad[2])  # fmt: skip
        run("WeightQuantBatchMatmul" + version, x[:0], w, scale[:1], None, None, None, None, 0, *more, out[:0])  # fmt: skip
        for bad in ((x, w[:9], scale, None, None, None, None, 8), (x, w, scale[:3], None, None, None, None, 8),
                    (x, w, scale, None, scale, None, None, 8), (x, w, scale, None, None, None, bias[:3], 8)):  # fmt: skip
            with pytest.raises(AclError, match="161002"):
                run("WeightQuantBatchMatmul" + version, *bad, *more, out)


def test_v5():
    import ml_dtypes

    a, b = ints(3, 6, 24), ints(24, 16)
    exact = a.astype(int) @ b.astype(int)
    scale, rows = (RNG.random(16) / 500).astype(np.float32), RNG.random(6).astype(np.float32)
    bias = RNG.integers(-900, 900, 16).astype(np.int32)
    none = np.zeros(0, np.float16)  # as torch_npu passes what is reserved
    out = np.zeros((3, 6, 16), ml_dtypes.bfloat16)
    run(
        "QuantMatmulV5",
        a,
        np.asfortranarray(b),
        rows,
        scale,
        None,
        none,
        None,
        none,
        bias,
        False,
        False,
        0,
        out,
    )
    want = ((exact + bias).astype(np.float32) * scale * rows[:, None]).astype(out.dtype)
    same(out.astype(float), want.astype(float))
    words = run("TransQuantParamV2", scale, None, np.empty(16, np.int64))
    cut = (scale.view(np.uint32) & 0xFFFFE000).view(np.float32)
    half = np.zeros((3, 6, 16), np.float16)
    run("QuantMatmulV5", a, b.T, None, words, None, none, None, none, None, False, True, 0, half)
    same(half, (exact.astype(np.float32) * cut).astype(np.float16))
    small, offset = np.zeros((3, 6, 16), np.int8), RNG.integers(-9, 9, 16).astype(np.float32)
    run("QuantMatmulV5", a, b, None, words, None, none, offset, none, None, False, False, 0, small)
    same(small, np.rint(exact.astype(np.float32) * cut + offset).clip(-128, 127))
    c, d = ints(6, 24, bits=4), ints(24, 16, bits=4)
    four = np.zeros((6, 16), np.float16)
    want = ((c.astype(int) @ d.astype(int)).astype(np.float32) * scale * rows[:, None]).astype(
        np.float16
    )
    for left, right in ((pack(c), pack(d)), (Int4(c), Int4(d))):
        run(
            "QuantMatmulV5",
            left,
            right,
            rows,
            scale,
            None,
            none,
            None,
            none,
            None,
            False,
            False,
            0,
            four,
        )
        same(four, want)
    with pytest.raises(AclError, match="groupSize is 32"):
        run("QuantMatmulV5", a, b, rows, scale, None, none, None, none, None, False, False, 32, out)
    with pytest.raises(AclError, match="reserved"):
        run("QuantMatmulV5", a, b, rows, scale, scale, none, None, none, None, False, False, 0, out)
