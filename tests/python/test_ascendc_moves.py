"""Comparisons, selections, reductions, copies and moves of Ascend C against NumPy."""

import functools

import ascendc_kernels
import asnumpy
import numpy as np
import pytest

pytestmark = ascendc_kernels.needs_kernels
rng = np.random.default_rng(6)

# One kernel: x is copied into A (and y into B), a case computes Z or the bytes of M, which is copied out.
SOURCE = """
using namespace AscendC;
extern "C" __global__ __aicore__ void moves(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t nx, uint32_t nz, int which, int k) {
    TPipe pipe;
    TBuf<> bufA, bufB, bufZ, bufM, bufW;
    GlobalTensor<TYPE> gm;
    pipe.InitBuffer(bufA, nx * sizeof(TYPE));
    pipe.InitBuffer(bufB, nx * sizeof(TYPE));
    pipe.InitBuffer(bufZ, nz * sizeof(TYPE));
    pipe.InitBuffer(bufM, 4096);
    pipe.InitBuffer(bufW, 4096);
    LocalTensor<TYPE> A = bufA.Get<TYPE>(), B = bufB.Get<TYPE>(), Z = bufZ.Get<TYPE>(), W = bufW.Get<TYPE>();
    LocalTensor<uint8_t> M = bufM.Get<uint8_t>();
    gm.SetGlobalBuffer((TYPE *)x, nx);
    DataCopyPad(A, gm, {1, (uint32_t)(nx * sizeof(TYPE)), 0, 0, 0}, {false, 0, 0, 0});
    gm.SetGlobalBuffer((TYPE *)y, nx);
    DataCopyPad(B, gm, {1, (uint32_t)(nx * sizeof(TYPE)), 0, 0, 0}, {false, 0, 0, 0});
    gm.SetGlobalBuffer((TYPE *)z, nz);
    DataCopyPad(Z, gm, {1, (uint32_t)(nz * sizeof(TYPE)), 0, 0, 0}, {false, 0, 0, 0});
    const int PER = 256 / sizeof(TYPE), BLOCK = 32 / sizeof(TYPE);
    (void)PER, (void)BLOCK;
    SWITCH
    DataCopyPad(gm, Z, {1, (uint32_t)(nz * sizeof(TYPE)), 0, 0, 0});
}
"""
CASES = {
    "compare": "Compare(M, A, B, (CMPMODE)k, nx); Select(Z, M, A, B, SELMODE::VSEL_TENSOR_TENSOR_MODE, nx);",
    "compare_scalar": "CompareScalar(M, A, (TYPE)1, (CMPMODE)k, nx);"
                      "Select(Z, M, A, (TYPE)-1, SELMODE::VSEL_TENSOR_SCALAR_MODE, nx);",
    "select_again": "Compare(M, A, B, CMPMODE::LT, nx); Select(Z, M, A, B, SELMODE::VSEL_CMPMASK_SPR, nx);",
    "sum": "ReduceSum(Z, A, W, nx);",
    "max": "ReduceMax(Z, A, W, nx, true);",
    "min": "ReduceMin(Z, A, W, nx, true);",
    "sum_repeated": "ReduceSum(Z, A, W, 10, (int)nx / PER, 8);",
    "whole_sum": "WholeReduceSum(Z, A, k, (int)nx / PER, 1, 1, 8);",
    "whole_max": "WholeReduceMax(Z, A, k, (int)nx / PER, 1, 1, 8);",
    "whole_min": "WholeReduceMin(Z, A, k, (int)nx / PER, 1, 1, 8, ReduceOrder::ORDER_INDEX_VALUE);",
    "whole_max_value": "WholeReduceMax(Z, A, k, (int)nx / PER, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);",
    "whole_max_index": "WholeReduceMax(Z, A, k, (int)nx / PER, 1, 1, 8, ReduceOrder::ORDER_ONLY_INDEX);",
    "whole_sum_bits": "uint64_t m[2] = {0x8000000000000005ull, 1}; WholeReduceSum(Z, A, m, (int)nx / PER, 1, 1, 8);",
    "block_sum": "BlockReduceSum(Z, A, (int)nx / PER, PER, 1, 1, 8);",
    "block_max": "BlockReduceMax(Z, A, (int)nx / PER, PER, 1, 1, 8);",
    "block_min": "BlockReduceMin(Z, A, (int)nx / PER, BLOCK + 1, 1, 1, 8);",
    "brcb": "Brcb(Z, A, (int)nx / 8, {1, 8});",
    "duplicate": "Duplicate(Z, (TYPE)7, nz);",
    "duplicate_repeated": "Duplicate(Z, (TYPE)7, 3, 2, 1, 8);",
    "duplicate_bits": "uint64_t m[2] = {10, 0}; Duplicate(Z, (TYPE)7, m, 2, 1, 8);",
    "axpy": "Axpy(Z, A, (TYPE)3, nx);",
    "axpy_repeated": "Axpy(Z, A, (TYPE)3, (uint64_t)k, 1, {1, 1, 8, 8});",
    "axpy_bits": "uint64_t m[2] = {5, 0}; Axpy(Z, A, (TYPE)3, m, 1, {1, 1, 8, 8});",
    "cast_repeated": "Z.SetSize(nz); Cast(W.ReinterpretCast<int32_t>(), A, RoundMode::CAST_TRUNC, (uint64_t)k, 2, {1, 1, 8, 2 * sizeof(TYPE)});"
                     "for (int i = 0; i < 64; i++) Z.SetValue(i, (float)W.ReinterpretCast<int32_t>().GetValue(i));",
    "cast_bits": "uint64_t m[2] = {5, 0}; Duplicate(W.ReinterpretCast<int32_t>(), 9, 64);"
                 "Cast(W.ReinterpretCast<int32_t>(), A, RoundMode::CAST_TRUNC, m, 1, {1, 1, 8, 4});"
                 "for (int i = 0; i < 64; i++) Z.SetValue(i, (float)W.ReinterpretCast<int32_t>().GetValue(i));",
    "rows": "uint32_t d[2] = {nz / nx, nx}, s[2] = {1, nx}; Broadcast<TYPE, 2, 0>(Z, A, d, s);",
    "columns": "uint32_t d[2] = {nx, nz / nx}, s[2] = {nx, 1}; Broadcast<TYPE, 2, 1>(Z, A, d, s);",
    "spread": "uint32_t d[1] = {nz}, s[1] = {1}; Broadcast<TYPE, 1, 0>(Z, A, d, s);",
    "expression": "A.SetSize(nz); B.SetSize(nz); Z.SetSize(nz); Z = A + B; Z = Z * A; Z = Z - B; Z = Z / B;",
    "scalars": "for (uint32_t i = 0; i < nz; i++) Z.SetValue(i, A.GetValue(nx - 1 - i) + B(i));",
    "local_copy": "DataCopy(Z, A, nz);",
    "local_pieces": "DataCopy(Z, A, {2, 1, 1, 2});",
}  # fmt: skip
HALF_ONLY = {"transpose": "Transpose(Z, A);"}
DTYPES = {"float16": "half", "float32": "float"}


@functools.cache
def compiled(dtype):
    cases = CASES | (HALF_ONLY if dtype == "float16" else {})
    body = ascendc_kernels.switch(cases.values())
    return ascendc_kernels.kernel(
        SOURCE.replace("SWITCH", body).replace("TYPE", DTYPES[dtype]), "moves"
    ), list(cases)


def run(case, x, y=None, z=None, size=None, k=0):
    kernel, names = compiled(x.dtype.name)
    out = asnumpy.array(np.zeros(size or x.size, x.dtype) if z is None else z)
    kernel(
        asnumpy.array(x),
        asnumpy.array(x if y is None else y),
        out,
        x.size,
        out.size,
        names.index(case),
        k,
        blocks=1,
    )
    return out.to_numpy()


@pytest.fixture(params=DTYPES)
def dtype(request):
    return np.dtype(request.param)


def small(dtype, n):
    """Sums of these are exact."""
    return rng.integers(-4, 5, n).astype(dtype)


def index_of(stored):
    return stored.view(np.uint16 if stored.itemsize == 2 else np.uint32)


def test_comparisons_and_selections(dtype):
    n = 512
    x, y = small(dtype, n), small(dtype, n)
    for k, compare in enumerate(
        (np.less, np.greater, np.equal, np.less_equal, np.greater_equal, np.not_equal)
    ):
        np.testing.assert_array_equal(run("compare", x, y, k=k), np.where(compare(x, y), x, y))
        np.testing.assert_array_equal(run("compare_scalar", x, k=k), np.where(compare(x, 1), x, -1))
    per = 256 // dtype.itemsize
    first = np.tile((x < y)[:per], n // per)
    np.testing.assert_array_equal(run("select_again", x, y), np.where(first, x, y))


def test_reductions(dtype):
    for n in (1, 7, 64, 1000, 5000):
        x = small(dtype, n)
        assert run("sum", x, size=8)[0] == x.astype(np.float64).sum()
        x = rng.standard_normal(n).astype(dtype)
        np.testing.assert_allclose(run("sum", x, size=8)[0], x.astype(np.float64).sum(),
                                   atol=n * np.finfo(dtype).eps)  # fmt: skip
        for case, best in (("max", np.argmax), ("min", np.argmin)):
            value, index = run(case, x, size=2)
            assert index_of(index) == best(x) and value == x[best(x)]


def test_reductions_of_nan(dtype):
    x = np.array([3, np.nan, 5, np.nan], dtype)
    for case in ("max", "min"):
        value, index = run(case, x, size=2)
        assert np.isnan(value) and index_of(index) == 1


def test_reductions_of_iterations(dtype):
    per, repeats = 256 // dtype.itemsize, 3
    x = small(dtype, per * repeats)
    rows = x.reshape(repeats, per)
    assert run("sum_repeated", x, size=8)[0] == rows[:, :10].sum()
    for k in (1, 33, per):
        some = rows[:, :k]
        np.testing.assert_array_equal(run("whole_sum", x, size=repeats, k=k), some.sum(axis=1))
        pairs = run("whole_max", x, size=2 * repeats, k=k).reshape(-1, 2)
        np.testing.assert_array_equal(pairs[:, 0], some.max(axis=1))
        np.testing.assert_array_equal(index_of(pairs[:, 1].copy()), some.argmax(axis=1))
        pairs = run("whole_min", x, size=2 * repeats, k=k).reshape(-1, 2)
        np.testing.assert_array_equal(pairs[:, 1], some.min(axis=1))
        np.testing.assert_array_equal(index_of(pairs[:, 0].copy()), some.argmin(axis=1))
        np.testing.assert_array_equal(
            run("whole_max_value", x, size=repeats, k=k), some.max(axis=1)
        )
        index = run("whole_max_index", x, size=repeats, k=k)
        np.testing.assert_array_equal(index_of(index), some.argmax(axis=1))
    lanes = [0, 2, 63] + ([64] if per > 64 else [])
    np.testing.assert_array_equal(
        run("whole_sum_bits", x, size=repeats), rows[:, lanes].sum(axis=1)
    )


def test_reductions_of_blocks(dtype):
    per, repeats = 256 // dtype.itemsize, 3
    x = small(dtype, per * repeats)
    blocks = x.reshape(repeats * 8, -1)
    np.testing.assert_array_equal(run("block_sum", x, size=8 * repeats), blocks.sum(axis=1))
    np.testing.assert_array_equal(run("block_max", x, size=8 * repeats), blocks.max(axis=1))
    # One block and one element of the next; the others stay.
    z = np.full(8 * repeats, 99, dtype)
    expected = z.reshape(repeats, 8)
    expected[:, 0], expected[:, 1] = blocks[::8].min(axis=1), blocks[1::8, 0]
    np.testing.assert_array_equal(run("block_min", x, z=z), expected.ravel())


def test_moves(dtype):
    block = 32 // dtype.itemsize
    x, y = small(dtype, 64), rng.integers(1, 5, 64).astype(dtype)
    np.testing.assert_array_equal(run("brcb", x, size=64 * block), np.repeat(x, block))
    np.testing.assert_array_equal(run("duplicate", x, size=77), np.full(77, 7))
    per = 8 * block
    lanes = np.arange(2 * per) % per
    np.testing.assert_array_equal(
        run("duplicate_repeated", x, size=2 * per), np.where(lanes < 3, 7, 0)
    )
    np.testing.assert_array_equal(
        run("duplicate_bits", x, size=2 * per), np.where(np.isin(lanes, [1, 3]), 7, 0)
    )
    np.testing.assert_array_equal(run("axpy", x, z=y), 3 * x + y)
    np.testing.assert_array_equal(
        run("axpy_repeated", x, z=y, k=5), np.where(np.arange(64) < 5, 3 * x + y, y)
    )
    np.testing.assert_array_equal(run("rows", x, size=640), np.tile(x, 10))
    np.testing.assert_array_equal(run("columns", x, size=640), np.repeat(x, 10))
    np.testing.assert_array_equal(run("spread", x[:1], size=100), np.full(100, x[0]))
    np.testing.assert_array_equal(run("expression", x, y, size=60), (((x + y) * x - y) / y)[:60])
    np.testing.assert_array_equal(run("scalars", x, y), x[::-1] + y)
    np.testing.assert_array_equal(run("local_copy", x, size=2 * block), x[: 2 * block])
    # Two pieces of a block: from blocks 0 and 2 to blocks 0 and 3.
    expected = np.zeros(4 * block, dtype)
    expected[:block], expected[3 * block :] = x[:block], x[2 * block : 3 * block]
    np.testing.assert_array_equal(run("local_pieces", x, size=4 * block), expected)


def test_masks_of_bits(dtype):
    x, y = rng.standard_normal(128).astype(dtype), small(dtype, 64)
    lanes = np.isin(np.arange(64), [0, 2])
    np.testing.assert_array_equal(run("axpy_bits", y, z=y), np.where(lanes, 4 * y, y))
    np.testing.assert_array_equal(run("cast_bits", x[:64]), np.where(lanes, np.trunc(x[:64]), 9))


def test_casts_in_iterations(dtype):
    """Of 64 elements, since an int32_t takes 4 bytes; of half those are four blocks."""
    x = (rng.standard_normal(128) * 9).astype(dtype)
    got = run("cast_repeated", x, size=64, k=5)
    np.testing.assert_array_equal(got[:5], np.trunc(x[:5]))
    assert (got[5:] == -1).all()


def test_transpose():
    x = small(np.float16, 256)
    np.testing.assert_array_equal(run("transpose", x), x.reshape(16, 16).T.ravel())


PAD = """
using namespace AscendC;
extern "C" __global__ __aicore__ void pads(GM_ADDR x, GM_ADDR y, int which) {
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> queue;
    pipe.InitBuffer(queue, 1, 1024);
    GlobalTensor<half> in, out;
    in.SetGlobalBuffer((__gm__ half *)x);
    out.SetGlobalBuffer((__gm__ half *)y);
    LocalTensor<half> t = queue.AllocTensor<half>();
    if (which == 0) { DataCopyPad(t, in, {3, 10, 4, 1, 0}, {true, 2, 3, (half)9}); DataCopy(out, t, 96); }
    if (which == 1) { DataCopyPad(t, in, {2, 6, 0, 0}, {true, 1, 0, 0x3c00}); DataCopy(out, t, 32); }
    if (which == 2) { DataCopy(t, in, 48); DataCopyPad(out, t, {3, 6, 0, 2, 0}); }
    if (which == 3) { DataCopy(t, in, {2, 1, 1, 0}); DataCopy(out, t, {2, 1, 0, 1}); }
    queue.FreeTensor(t);
}
"""


def test_pads():
    kernel = ascendc_kernels.kernel(PAD, "pads")
    x = np.arange(1, 65, dtype=np.float16)

    def pads(which, size):
        y = asnumpy.zeros(size, np.float16)
        kernel(asnumpy.array(x), y, which, blocks=1)
        return y.to_numpy()

    # Pieces of 5 elements, 7 apart, each in two blocks with one between; NaN where nothing was written.
    got = pads(0, 96).reshape(3, 32)
    for i in range(3):
        assert got[i, :10].tolist() == [9, 9, *x[7 * i : 7 * i + 5], 9, 9, 9]
    assert np.isnan(got[:, 10:]).all()
    got = pads(1, 32).reshape(2, 16)
    assert got[:, :4].tolist() == [[1, 1, 2, 3], [1, 4, 5, 6]] and np.isnan(got[:, 4:]).all()
    expected = np.zeros(12, np.float16)
    for i in range(3):
        expected[4 * i : 4 * i + 3] = x[16 * i : 16 * i + 3]
    np.testing.assert_array_equal(pads(2, 12), expected)
    got = pads(3, 48)
    np.testing.assert_array_equal(got, [*x[:16], *np.zeros(16), *x[32:48]])
