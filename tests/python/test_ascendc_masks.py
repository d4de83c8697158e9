"""Ascend C: masks of SetVectorMask, copies that add to global memory, elementary functions, against NumPy."""

import functools
import math

import ascendc_kernels
import asnumpy
import numpy as np
import pytest

pytestmark = ascendc_kernels.needs_kernels
rng = np.random.default_rng(6)

C_TYPES = {"float16": "half", "float32": "float", "int16": "int16_t", "int32": "int32_t", "int8": "int8_t"}  # fmt: skip
FLOATS = ("float16", "float32")

# ---- masks

MASKS = """
using namespace AscendC;
extern "C" __global__ __aicore__ void masks(GM_ADDR a, GM_ADDR b, GM_ADDR z, uint32_t n, int which, uint64_t low,
                                            uint64_t high, int len) {
    TPipe pipe;
    TBuf<> bufA, bufB, bufZ;
    GlobalTensor<TYPE> gm;
    pipe.InitBuffer(bufA, n * sizeof(TYPE));
    pipe.InitBuffer(bufB, n * sizeof(TYPE));
    pipe.InitBuffer(bufZ, n * sizeof(TYPE));
    LocalTensor<TYPE> A = bufA.Get<TYPE>(), B = bufB.Get<TYPE>(), Z = bufZ.Get<TYPE>();
    gm.SetGlobalBuffer((TYPE *)a, n);
    DataCopy(A, gm, n);
    gm.SetGlobalBuffer((TYPE *)b, n);
    DataCopy(B, gm, n);
    gm.SetGlobalBuffer((TYPE *)z, n);
    DataCopy(Z, gm, n);
    uint64_t bits[2] = {low, high};
    constexpr uint32_t PER = 256 / sizeof(TYPE);
    int repeats = n / PER;
    if (which % 10 == 1) SetVectorMask<TYPE>(high, low);
    if (which % 10 == 2) SetVectorMask<TYPE>(len);
    if (which % 10 == 3) { SetMaskCount(); SetVectorMask<TYPE, MaskMode::COUNTER>(len); repeats = 1; }
    if (which % 10 == 4) { SetMaskCount(); SetVectorMask<TYPE, MaskMode::COUNTER>(0, len); repeats = 1; }
    if (which % 10 == 5) { SetVectorMask<TYPE>(3); ResetMask(); }
    SWITCH
    DataCopy(gm, Z, n);
}
"""
# With the mask passed (way 0 as bits), and with the one that was set.
USES = {
    "add": ("Add(Z, A, B, bits, repeats, {1, 1, 1, 8, 8, 8});",
            "Add<TYPE, false>(Z, A, B, MASK_PLACEHOLDER, repeats, {1, 1, 1, 8, 8, 8});"),
    "add_by_list": ("Add(Z, A, B, bits, repeats, {1, 1, 1, 8, 8, 8});",
                    "Add<TYPE, false>(Z, A, B, MASK_PLACEHOLDER_LIST, repeats, {1, 1, 1, 8, 8, 8});"),
    "muls": ("Muls(Z, A, (TYPE)3, bits, repeats, {1, 1, 8, 8});",
             "Muls<TYPE, false>(Z, A, (TYPE)3, MASK_PLACEHOLDER, repeats, {1, 1, 8, 8});"),
    "abs": ("Abs(Z, A, bits, repeats, {1, 1, 8, 8});",
            "Abs<TYPE, false>(Z, A, MASK_PLACEHOLDER, repeats, {1, 1, 8, 8});"),
    "axpy": ("Axpy(Z, A, (TYPE)2, bits, repeats, {1, 1, 8, 8});",
             "Axpy<TYPE, TYPE, false>(Z, A, (TYPE)2, MASK_PLACEHOLDER, repeats, {1, 1, 8, 8});"),
    "duplicate": ("Duplicate(Z, (TYPE)7, bits, repeats, 1, 8);",
                  "Duplicate<TYPE, false>(Z, (TYPE)7, MASK_PLACEHOLDER, repeats, 1, 8);"),
    "cast": ("Cast(Z.ReinterpretCast<INTEGER>(), A, RoundMode::CAST_TRUNC, bits, repeats, {1, 1, 8, 8});",
             "Cast<INTEGER, TYPE, false>(Z.ReinterpretCast<INTEGER>(), A, RoundMode::CAST_TRUNC, MASK_PLACEHOLDER, "
             "repeats, {1, 1, 8, 8});"),
    "sums": ("WholeReduceSum(Z, A, bits, repeats, 1, 1, 8);",
             "WholeReduceSum<TYPE, false>(Z, A, 0, repeats, 1, 1, 8);"),
    "largest": ("WholeReduceMax(Z, A, bits, repeats, 1, 1, 8);",
                "WholeReduceMax<TYPE, false>(Z, A, 0, repeats, 1, 1, 8);"),
    "blocks": ("BlockReduceSum(Z, A, repeats, bits, 1, 1, 8);",
               "BlockReduceSum<TYPE, false>(Z, A, repeats, 0, 1, 1, 8);"),
}  # fmt: skip


@functools.cache
def masked(dtype):
    bodies = [f"case {10 * k}: {{ {passed} break; }}\ncase {10 * k + 1}: case {10 * k + 2}: case {10 * k + 3}: "
              f"case {10 * k + 4}: case {10 * k + 5}: {{ {was_set} break; }}"
              for k, (passed, was_set) in enumerate(USES.values())]  # fmt: skip
    source = MASKS.replace("SWITCH", "switch (which) {\n" + "\n".join(bodies) + "\n}")
    integer = {"float16": "int16_t", "float32": "int32_t"}[dtype]
    return ascendc_kernels.kernel(source.replace("TYPE", C_TYPES[dtype]).replace("INTEGER", integer), "masks")  # fmt: skip


def use(name, way, a, b, z, low=0, high=0, length=0):
    out = asnumpy.array(z)
    masked(a.dtype.name)(asnumpy.array(a), asnumpy.array(b), out, a.size, 10 * list(USES).index(name) + way,
                         low, high, length, blocks=1)  # fmt: skip
    return out.to_numpy()


def floats(dtype, n):
    return (rng.standard_normal(n) * 4).astype(dtype)


def ones(count):
    """The first so many bits, as two words."""
    return (1 << count) - 1 & (1 << 64) - 1, (1 << count) - 1 >> 64


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", USES)
def test_a_mask_that_was_set_is_the_one_that_is_passed(name, dtype):
    per = 256 // np.dtype(dtype).itemsize
    a, b, z = (floats(dtype, 5 * per) for _ in range(3))
    low, high = int(rng.integers(1, 1 << 62)), int(rng.integers(1, 1 << 62)) * (per > 64)
    np.testing.assert_array_equal(
        use(name, 1, a, b, z, low, high), use(name, 0, a, b, z, low, high)
    )
    for length in (1, 37, 63, 64, per - 1, per):
        expected = use(name, 0, a, b, z, *ones(length))
        np.testing.assert_array_equal(use(name, 2, a, b, z, length=length), expected)
    np.testing.assert_array_equal(use(name, 5, a, b, z), use(name, 0, a, b, z, *ones(per)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_mask_that_counts_all_elements(dtype):
    """Whatever number of iterations the call says; the last one is short."""
    per = 256 // np.dtype(dtype).itemsize
    a, b, z = (floats(dtype, 5 * per) for _ in range(3))
    for length in (1, per - 1, per, per + 1, 3 * per, 5 * per - 1, 5 * per):
        taken = np.arange(5 * per) < length
        for way in (3, 4):
            got = use("add", way, a, b, z, length=length)
            np.testing.assert_array_equal(got, np.where(taken, a + b, z))
        got = use("sums", 3, a, b, z, length=length)
        rows = -(-length // per)
        of_row = np.where(taken, a, 0).reshape(5, per).astype("f8").sum(1)
        np.testing.assert_allclose(got[:rows], of_row[:rows], rtol=2e-2 if dtype == "float16" else 1e-5, atol=1e-1)  # fmt: skip
        np.testing.assert_array_equal(got[rows:], z[rows:])


# ---- copies that add

ATOMIC = """
using namespace AscendC;
extern "C" __global__ __aicore__ void gather(GM_ADDR x, GM_ADDR z, uint32_t n, int which, uint32_t width) {
    TPipe pipe;
    TBuf<> buffer;
    GlobalTensor<TYPE> in, out;
    pipe.InitBuffer(buffer, (n * sizeof(TYPE) + 31) / 32 * 32);
    LocalTensor<TYPE> t = buffer.Get<TYPE>();
    in.SetGlobalBuffer((TYPE *)x + GetBlockIdx() * n, n);
    out.SetGlobalBuffer((TYPE *)z, n);
    DataCopyPad(t, in, {1, (uint32_t)(n * sizeof(TYPE)), 0, 0, 0}, {false, 0, 0, (TYPE)0});
    if (which == 0) SetAtomicAdd<TYPE>();
    if (which == 1) SetAtomicMax<TYPE>();
    if (which == 2) { SetAtomicMin<float>(); SetAtomicType<TYPE>(); }
    if (which == 3) { SetAtomicAdd<TYPE>(); SetAtomicNone(); }
    if (width == 0) DataCopyPad(out, t, {1, (uint32_t)(n * sizeof(TYPE)), 0, 0, 0});
    else if (width == 1) DataCopy(out, t, n);
    else DataCopy(out, t, {(uint16_t)(n * sizeof(TYPE) / 64), 2, 0, 0});
}
"""


@functools.cache
def gathers(dtype):
    return ascendc_kernels.kernel(ATOMIC.replace("TYPE", C_TYPES[dtype]), "gather")


@pytest.mark.parametrize("dtype", C_TYPES)
def test_blocks_add_to_one_place(dtype):
    """Sums that are exact whatever their order; integers wrap around. What was there counts, too."""
    blocks = 40
    for width, n in ((0, 37), (1, 256), (2, 256), (0, 3000)):
        x = rng.integers(-20, 20, (blocks, n)).astype(dtype)
        start = rng.integers(-20, 20, n).astype(dtype)
        for which, expected in (
            (0, (x.astype("f8" if dtype in FLOATS else "i8").sum(0) + start).astype(dtype)),
            (1, np.maximum(x.max(0), start)),
            (2, np.minimum(x.min(0), start)),
        ):
            z = asnumpy.array(start)
            gathers(dtype)(asnumpy.array(x), z, n, which, width, blocks=blocks)
            np.testing.assert_array_equal(z.to_numpy(), expected)
        z = asnumpy.array(start)
        gathers(dtype)(asnumpy.array(x), z, n, 3, width, blocks=1)
        np.testing.assert_array_equal(z.to_numpy(), x[0])


PRODUCT = """
#include "lib/matmul_intf.h"
using namespace AscendC;
using In = MatmulType<TPosition::GM, CubeFormat::ND, float>;
extern "C" __global__ __aicore__ void product(GM_ADDR a, GM_ADDR b, GM_ADDR c, int m, int n, int k, int each, int atomic) {
    Matmul<In, In, In> product;
    TPipe pipe;
    GlobalTensor<float> A, B, C;
    A.SetGlobalBuffer((float *)a, m * k);
    B.SetGlobalBuffer((float *)b, k * n);
    C.SetGlobalBuffer((float *)c, m * n);
    TCubeTiling t;
    t.M = t.singleCoreM = m;
    t.N = t.singleCoreN = n;
    t.Ka = t.Kb = k;
    t.singleCoreK = each;
    t.baseM = t.baseN = 16;
    t.baseK = each;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), product, &t);
    product.SetTensorA(A[GetBlockIdx() * each]);
    product.SetTensorB(B[GetBlockIdx() * each * n]);
    if (atomic > 3) SetAtomicAdd<float>();
    product.IterateAll(C, atomic > 3 ? atomic - 4 : atomic);
    product.End();
}
"""


def test_products_of_parts_of_the_sums_are_added():
    """A split along K, as tutorials write it; by the call's enAtomic and by SetAtomicAdd."""
    m, n, k, blocks = 20, 36, 64, 8
    a, b = rng.integers(-4, 5, (m, k)).astype("f4"), rng.integers(-4, 5, (k, n)).astype("f4")
    kernel = ascendc_kernels.kernel(PRODUCT, "product")
    for atomic, expected in ((1, 1 + a @ b), (4, 1 + a @ b),
                             (2, np.maximum(1, np.einsum("mbk,bkn->bmn", a.reshape(m, blocks, -1), b.reshape(blocks, -1, n)).max(0)))):  # fmt: skip
        c = asnumpy.ones((m, n), "f4")
        kernel(asnumpy.array(a), asnumpy.array(b), c, m, n, k, k // blocks, atomic, blocks=blocks)
        np.testing.assert_array_equal(c.to_numpy(), expected)
    with pytest.raises(RuntimeError, match="GetTensorC: enAtomic is 5; it may be 0 to 3"):
        kernel(asnumpy.array(a), asnumpy.array(b), c, m, n, k, k // blocks, 9, blocks=1)
        asnumpy.synchronize()


# ---- elementary functions

erf, erfc = (np.vectorize(f, otypes=["f8"]) for f in (math.erf, math.erfc))
ELEMENTARY = {
    "Sin": np.sin, "Cos": np.cos, "Tan": np.tan, "Asin": np.arcsin, "Acos": np.arccos, "Atan": np.arctan,
    "Sinh": np.sinh, "Cosh": np.cosh, "Tanh": np.tanh, "Asinh": np.arcsinh, "Acosh": np.arccosh, "Atanh": np.arctanh,
    "Log": np.log, "Log2": np.log2, "Log10": np.log10, "Erf": erf, "Erfc": erfc, "Floor": np.floor, "Ceil": np.ceil,
    "Trunc": np.trunc, "Frac": lambda x: x - np.trunc(x), "Sign": np.sign, "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}  # fmt: skip
OTHERS = {
    "Silu(Z, A, count);": lambda a, b: a / (1 + np.exp(-a)),
    "Swish(Z, A, count, (TYPE)1.5);": lambda a, b: a / (1 + np.exp(-1.5 * a)),
    "Power(Z, A, B, count);": lambda a, b: a**b,
    "Power(Z, A, (TYPE)1.5, count);": lambda a, b: a**1.5,
    "Power(Z, (TYPE)1.5, B, count);": lambda a, b: 1.5**b,
}
FUNCTIONS = """
using namespace AscendC;
extern "C" __global__ __aicore__ void functions(GM_ADDR a, GM_ADDR b, GM_ADDR z, uint32_t n, int which, uint32_t count) {
    TPipe pipe;
    TBuf<> bufA, bufB, bufZ, bufW;
    GlobalTensor<TYPE> gm;
    pipe.InitBuffer(bufA, n * sizeof(TYPE));
    pipe.InitBuffer(bufB, n * sizeof(TYPE));
    pipe.InitBuffer(bufZ, n * sizeof(TYPE));
    pipe.InitBuffer(bufW, 256);
    LocalTensor<TYPE> A = bufA.Get<TYPE>(), B = bufB.Get<TYPE>(), Z = bufZ.Get<TYPE>();
    LocalTensor<uint8_t> W = bufW.Get<uint8_t>();
    gm.SetGlobalBuffer((TYPE *)a, n);
    DataCopy(A, gm, n);
    gm.SetGlobalBuffer((TYPE *)b, n);
    DataCopy(B, gm, n);
    gm.SetGlobalBuffer((TYPE *)z, n);
    DataCopy(Z, gm, n);
    SWITCH
    DataCopy(gm, Z, n);
}
"""


@functools.cache
def functions(dtype):
    bodies = [f"{name}{form}" for name in ELEMENTARY
              for form in ("(Z, A);", "(Z, A, W);", "(Z, A, count);", "(Z, A, W, count);")]  # fmt: skip
    source = FUNCTIONS.replace("SWITCH", ascendc_kernels.switch([*bodies, *OTHERS]))
    return ascendc_kernels.kernel(source.replace("TYPE", C_TYPES[dtype]), "functions")


def call(which, a, b, z, count):
    out = asnumpy.array(z)
    functions(a.dtype.name)(asnumpy.array(a), asnumpy.array(b), out, a.size, which, count, blocks=1)
    return out.to_numpy()


def near(got, expected, dtype):
    """In the type's precision; a half is rounded once."""
    few = 4e-7 if dtype == "float32" else 1e-3
    with np.errstate(over="ignore"):
        expected = expected.astype(dtype)
    np.testing.assert_allclose(got, expected, rtol=few, atol=few * 1e-2)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ELEMENTARY)
def test_elementary_functions(name, dtype):
    n, count, first = 96, 77, 4 * list(ELEMENTARY).index(name)
    a = floats(dtype, n) / 8 if name in ("Asin", "Acos", "Atanh") else floats(dtype, n)
    a = np.clip(a, -1, 1) if name in ("Asin", "Acos") else a
    a[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0]
    z = floats(dtype, n)
    with np.errstate(all="ignore"):
        expected = ELEMENTARY[name](a.astype("f8"))
    for way in range(4):
        got = call(first + way, a, z, z, count)
        some = n if way < 2 else count
        near(got[:some], expected[:some], dtype)
        np.testing.assert_array_equal(got[some:], z[some:])


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_two_and_of_a_number(dtype):
    n, count = 96, 50
    a, b = np.abs(floats(dtype, n)) + np.dtype(dtype).type(0.1), floats(dtype, n)
    for k, function in enumerate(OTHERS.values()):
        got = call(4 * len(ELEMENTARY) + k, a, b, b, count)
        near(got[:count], function(a.astype("f8"), b.astype("f8"))[:count], dtype)
        np.testing.assert_array_equal(got[count:], b[count:])
        np.testing.assert_array_equal(call(4 * len(ELEMENTARY) + k, a, b, b, 0), b)
