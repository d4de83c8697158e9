"""Every vector operation of Ascend C against NumPy: by count, in iterations with masks and strides, all dtypes."""

import functools

import ascendc_kernels
import asnumpy
import numpy as np
import pytest

pytestmark = ascendc_kernels.needs_kernels
rng = np.random.default_rng(5)

C_TYPES = {"float16": "half", "float32": "float", "int16": "int16_t", "int32": "int32_t"}
FLOATS, NUMBERS, SHORTS = ("float16", "float32"), tuple(C_TYPES), ("int16",)


def leaky(x, s):
    return np.where(x < 0, x * s, x)


BINARY = {"Add": (np.add, NUMBERS), "Sub": (np.subtract, NUMBERS), "Mul": (np.multiply, NUMBERS),
          "Div": (np.divide, FLOATS), "Max": (np.maximum, NUMBERS), "Min": (np.minimum, NUMBERS),
          "And": (np.bitwise_and, SHORTS), "Or": (np.bitwise_or, SHORTS)}  # fmt: skip
SCALAR = {"Adds": (np.add, NUMBERS), "Muls": (np.multiply, NUMBERS), "Maxs": (np.maximum, NUMBERS),
          "Mins": (np.minimum, NUMBERS), "LeakyRelu": (leaky, FLOATS),
          "ShiftLeft": (np.left_shift, ("int16", "int32")), "ShiftRight": (np.right_shift, ("int16", "int32"))}  # fmt: skip
UNARY = {"Abs": (np.abs, FLOATS), "Exp": (np.exp, FLOATS), "Ln": (np.log, FLOATS), "Sqrt": (np.sqrt, FLOATS),
         "Rsqrt": (lambda x: 1 / np.sqrt(x.astype(np.float32)), FLOATS),
         "Reciprocal": (lambda x: np.float32(1) / x.astype(np.float32), FLOATS),
         "Relu": (lambda x: np.maximum(x, 0), ("float16", "float32", "int32")), "Not": (np.invert, SHORTS)}  # fmt: skip
ALL = {**BINARY, **SCALAR, **UNARY}

SOURCE = """
using namespace AscendC;
extern "C" __global__ __aicore__ void every(GM_ADDR a, GM_ADDR b, GM_ADDR z, uint32_t n, int which, int way,
                                            uint64_t mask, uint64_t high, int repeats, int last, TYPE s) {
    TPipe pipe;
    TBuf<> bufA, bufB, bufZ;
    GlobalTensor<TYPE> gm;
    pipe.InitBuffer(bufA, n * sizeof(TYPE));
    pipe.InitBuffer(bufB, n * sizeof(TYPE));
    pipe.InitBuffer(bufZ, n * sizeof(TYPE));
    LocalTensor<TYPE> A = bufA.Get<TYPE>(), B = bufB.Get<TYPE>(), Z = bufZ.Get<TYPE>();
    DataCopyExtParams p{1, (uint32_t)(n * sizeof(TYPE)), 0, 0, 0};
    DataCopyPadExtParams<TYPE> pad{false, 0, 0, 0};
    gm.SetGlobalBuffer((TYPE *)a, n);
    DataCopyPad(A, gm, p, pad);
    gm.SetGlobalBuffer((TYPE *)b, n);
    DataCopyPad(B, gm, p, pad);
    gm.SetGlobalBuffer((TYPE *)z, n);
    DataCopyPad(Z, gm, p, pad);
    uint64_t bits[2] = {mask, high};
    uint8_t rep = (uint8_t)last;
    SWITCH
    DataCopyPad(gm, Z, p);
}
"""


def calls(name):
    """The three ways to call it."""
    if name in BINARY:
        some, strides = f"{name}(Z, A, B, ", "{1, 1, 1, 8, 8, rep}"
    else:
        some = f"{name}(Z, A, s, " if name in SCALAR else f"{name}(Z, A, "
        strides = "{1, 1, 8, rep}"
    return (
        f"if (way == 0) {some}n); else if (way == 1) {some}mask, repeats, {strides}); "
        f"else {some}bits, repeats, {strides});"
    )


@functools.cache
def compiled(dtype):
    names = [name for name, (_, dtypes) in ALL.items() if dtype in dtypes]
    cases = ascendc_kernels.switch([calls(name) for name in names])
    source = SOURCE.replace("SWITCH", cases).replace("TYPE", C_TYPES[dtype])
    return ascendc_kernels.kernel(source, "every"), names


def values(dtype, n, name=""):
    if dtype in FLOATS:
        x = (rng.standard_normal(n) * 4).astype(dtype)
        return np.abs(x) + np.dtype(dtype).type(0.01) if name in ("Ln", "Sqrt", "Rsqrt") else x
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)


def run(name, dtype, a, b, z, scalar, way=0, mask=0, high=0, repeats=0, last=8):
    kernel, names = compiled(dtype)
    out = asnumpy.array(z)
    kernel(asnumpy.array(a), asnumpy.array(b), out, a.size, names.index(name), way, mask, high, repeats, last,
           scalar, blocks=1)  # fmt: skip
    return out.to_numpy()


def wanted(name, a, b, scalar):
    function = ALL[name][0]
    with np.errstate(all="ignore"):
        if name in UNARY:
            return function(a).astype(a.dtype)
        return function(a, b if name in BINARY else a.dtype.type(scalar)).astype(a.dtype)


def check(name, got, expected):
    if name in ("Exp", "Ln", "Rsqrt", "Reciprocal"):
        few = 2e-7 if expected.dtype == np.float32 else 1e-3
        np.testing.assert_allclose(got, expected, rtol=few, atol=few)
    else:
        np.testing.assert_array_equal(got, expected)


CASES = [(name, dtype) for name, (_, dtypes) in ALL.items() for dtype in dtypes]


def scalar_for(name):
    return 3 if name.startswith("Shift") else 2


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_by_count(name, dtype):
    for n in (1, 31, 1000):
        a, b, z = values(dtype, n, name), values(dtype, n), values(dtype, n)
        check(
            name, run(name, dtype, a, b, z, scalar_for(name)), wanted(name, a, b, scalar_for(name))
        )


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_in_iterations(name, dtype):
    """The elements that a mask leaves out stay; the last operand may be one iteration again and again."""
    per, repeats = 256 // np.dtype(dtype).itemsize, 5
    n = per * repeats
    for way, last in ((1, 8), (2, 8), (1, 0)):
        bits = int(rng.integers(1, 1 << 62)) | 1, int(rng.integers(1 << 62))
        lanes = np.arange(per) < 37
        if way == 2:
            lanes = np.array([bits[e // 64] >> e % 64 & 1 for e in range(per)], bool)
        a, b, z = (values(dtype, n, name) for _ in range(3))
        got = run(
            name,
            dtype,
            a,
            b,
            z,
            scalar_for(name),
            way,
            37 if way == 1 else bits[0],
            bits[1],
            repeats,
            last,
        )
        repeated = b if name in BINARY else a
        if last == 0:
            repeated = np.tile(repeated[:per], repeats)
        first = a if name in BINARY else repeated
        expected = wanted(name, first, repeated, scalar_for(name))
        check(name, got, np.where(np.tile(lanes, repeats), expected, z))


def test_specials():
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 65504, -65504, 6e-8], np.float32)
    for dtype in FLOATS:
        a = special.astype(dtype)
        b = np.roll(a, 3)
        for name in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Abs", "Sqrt", "Reciprocal", "Relu"):
            check(name, run(name, dtype, a, b, a, 1), wanted(name, a, b, 1))


def test_shifts_by_the_width_and_more():
    for dtype in ("int16", "int32"):
        a = np.array([-5, 5, -1, 0], dtype)
        for name, expected in (("ShiftLeft", 0 * a), ("ShiftRight", np.where(a < 0, -1, 0))):
            np.testing.assert_array_equal(
                run(name, dtype, a, a, a, 31 if dtype == "int16" else 40), expected
            )


CASTS = {("float", "half"): ("float32", "float16"), ("float", "float"): ("float32", "float32"),
         ("float", "int32_t"): ("float32", "int32"), ("float", "int16_t"): ("float32", "int16"),
         ("float", "bfloat16_t"): ("float32", "uint16"), ("half", "float"): ("float16", "float32"),
         ("half", "int32_t"): ("float16", "int32"), ("half", "int16_t"): ("float16", "int16"),
         ("half", "int8_t"): ("float16", "int8"), ("half", "uint8_t"): ("float16", "uint8"),
         ("int32_t", "float"): ("int32", "float32"), ("int16_t", "half"): ("int16", "float16"),
         ("int16_t", "float"): ("int16", "float32"), ("int8_t", "half"): ("int8", "float16"),
         ("uint8_t", "half"): ("uint8", "float16"), ("bfloat16_t", "float"): ("uint16", "float32")}  # fmt: skip
MODES = ["NONE", "RINT", "FLOOR", "CEIL", "ROUND", "TRUNC", "ODD"]
CAST = """
using namespace AscendC;
extern "C" __global__ __aicore__ void cast(GM_ADDR x, GM_ADDR y, uint32_t n, int which, int mode) {
    TPipe pipe;
    TBuf<> from, to;
    pipe.InitBuffer(from, n * 4);
    pipe.InitBuffer(to, n * 4);
    SWITCH
}
"""
CAST_CASE = """GlobalTensor<{0}> in; GlobalTensor<{1}> out; in.SetGlobalBuffer(({0} *)x, n); out.SetGlobalBuffer(({1} *)y, n);
DataCopyPad(from.Get<{0}>(), in, {{1, (uint32_t)(n * sizeof({0})), 0, 0, 0}}, {{false, 0, 0, ({0})0}});
Cast(to.Get<{1}>(), from.Get<{0}>(), (RoundMode)mode, n);
DataCopyPad(out, to.Get<{1}>(), {{1, (uint32_t)(n * sizeof({1})), 0, 0, 0}});"""


@functools.cache
def cast_kernel():
    cases = ascendc_kernels.switch([CAST_CASE.format(*pair) for pair in CASTS])
    return ascendc_kernels.kernel(CAST.replace("SWITCH", cases), "cast")


def cast(pair, x, mode):
    y = asnumpy.zeros(x.size, CASTS[pair][1])
    cast_kernel()(asnumpy.array(x), y, x.size, list(CASTS).index(pair), MODES.index(mode), blocks=1)
    return y.to_numpy()


def integers(x, mode):
    whole = {"FLOOR": np.floor, "CEIL": np.ceil, "TRUNC": np.trunc}.get(mode, np.rint)
    if mode == "ROUND":
        return np.copysign(np.floor(np.abs(x) + 0.5), x)
    return whole(x)


def narrowed(x, grid, mode):
    """x in float64 as one of the ascending numbers `grid`, even places having even last bits."""
    high = np.searchsorted(grid, x)
    exact = grid[np.minimum(high, grid.size - 1)] == x
    low, high = np.where(exact, high, high - 1), high
    below, above = x - grid[low], grid[high] - x
    up = {
        "FLOOR": np.zeros(x.shape, bool),
        "CEIL": ~exact,
        "TRUNC": x < 0,
        "ODD": (high % 2 == 1),
    }.get(mode)
    if up is None:
        tie = x > 0 if mode == "ROUND" else high % 2 == 0
        up = np.where(below == above, tie, above < below)
    return np.where(up & ~exact, grid[high], grid[low])


@pytest.mark.parametrize("pair", CASTS, ids="-".join)
def test_casts(pair):
    source, target = CASTS[pair]
    if source in FLOATS:
        x = (rng.standard_normal(500) * 100).astype(source)
        x[:40] = np.arange(-20, 20) / 2
    elif pair[0] == "bfloat16_t":
        x = (rng.standard_normal(500) * 100).astype(np.float32).view(np.uint32) >> 16
        x = x.astype(np.uint16)
    else:
        info = np.iinfo(source)
        x = rng.integers(info.min, info.max, 500, dtype=source, endpoint=True)
    for mode in MODES[:6]:
        got = cast(pair, x, mode)
        if pair == ("float", "bfloat16_t"):
            grid = np.arange(0x7F80, dtype=np.uint32) << 16
            grid = grid.view(np.float32).astype(np.float64)
            size = narrowed(x.astype(np.float64), np.concatenate([-grid[:0:-1], grid]), mode)
            np.testing.assert_array_equal((got.astype(np.uint32) << 16).view(np.float32), size)
        elif pair[0] == "bfloat16_t":
            np.testing.assert_array_equal(got.view(np.uint32), x.astype(np.uint32) << 16)
        elif target.startswith(("int", "uint")) or pair == ("float", "float"):
            size = integers(x.astype(np.float64), mode)
            if pair != ("float", "float"):
                size = np.clip(size, np.iinfo(target).min, np.iinfo(target).max)
            np.testing.assert_array_equal(got, size.astype(target))
        elif mode in ("NONE", "RINT"):
            np.testing.assert_array_equal(got, x.astype(target))
        elif target == "float16":
            grid = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
            size = narrowed(x.astype(np.float64), np.concatenate([-grid[:0:-1], grid]), mode)
            np.testing.assert_array_equal(got, size.astype(np.float16))


def test_cast_odd_and_out_of_range():
    grid = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    x = np.abs(rng.standard_normal(300)).astype(np.float32)
    np.testing.assert_array_equal(cast(("float", "half"), x, "ODD"),
                                  narrowed(x.astype(np.float64), grid, "ODD").astype(np.float16))  # fmt: skip
    wild = np.array([1e20, -1e20, np.nan, np.inf, -np.inf, 40000], np.float32)
    top = 2**31 - 1
    assert cast(("float", "int32_t"), wild, "RINT").tolist() == [
        top,
        -top - 1,
        0,
        top,
        -top - 1,
        40000,
    ]
    assert cast(("float", "int16_t"), wild, "TRUNC").tolist() == [
        32767,
        -32768,
        0,
        32767,
        -32768,
        32767,
    ]
    # 2^24 + 1 lies between two floats.
    for mode, expected in (("RINT", 1 << 24), ("CEIL", (1 << 24) + 2), ("ROUND", (1 << 24) + 2)):
        assert cast(("int32_t", "float"), np.array([(1 << 24) + 1], np.int32), mode)[0] == expected


def test_casts_of_tiny_numbers():
    """Below the smallest half, on either side of 0, and above the largest."""
    x = np.array([1e-9, -1e-9, 5e-8, -5e-8, 65519, -65519, 70000], np.float32)
    tiny = 2.0**-24
    for mode, expected in [("RINT", [0, 0, tiny, -tiny, 65504, -65504, np.inf]),
                           ("FLOOR", [0, -tiny, 0, -tiny, 65504, -np.inf, 65504]),
                           ("CEIL", [tiny, 0, tiny, 0, np.inf, -65504, np.inf]),
                           ("TRUNC", [0, 0, 0, 0, 65504, -65504, 65504])]:  # fmt: skip
        np.testing.assert_array_equal(
            cast(("float", "half"), x, mode), np.array(expected, np.float16)
        )


def test_every_half():
    """All of them to float, and every float near one back."""
    bits = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    for part in np.split(bits, 16):
        h = part.view(np.float16)
        np.testing.assert_array_equal(cast(("half", "float"), h, "NONE"), h.astype(np.float32))
        finite = h[np.isfinite(h)].astype(np.float32)
        for near in (finite, np.nextafter(finite, np.float32(0)), finite * np.float32(1.0005)):
            if near.size:
                with np.errstate(over="ignore"):
                    expected = near.astype(np.float16)
                np.testing.assert_array_equal(cast(("float", "half"), near, "RINT"), expected)
