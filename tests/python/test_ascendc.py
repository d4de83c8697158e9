"""Kernels in Ascend C: the examples against NumPy, RawKernel's arguments, bodies of a thread, profiles, ctypes."""

import pathlib
import subprocess
import sys

import ascendc_kernels
import asnumpy
import numpy as np
import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "ascendc"
sys.path.insert(0, str(EXAMPLES))
import run as examples  # noqa: E402

sys.path.remove(str(EXAMPLES))
rng = np.random.default_rng(7)


def launches(test):
    for mark in ascendc_kernels.needs_kernels:
        test = mark(test)
    return test


def normal(*shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


@launches
@pytest.mark.parametrize("n", [0, 1, 7, 2048, 2049, 50000])
def test_add_and_relu(n):
    x, y = normal(n), normal(n)
    add, relu = examples.kernel("add"), examples.kernel("relu")
    for blocks in (1, 3, 40):
        got = examples.add(add, asnumpy.array(x), asnumpy.array(y), blocks)
        np.testing.assert_array_equal(got.to_numpy(), x + y)
        h = x.astype(np.float16)
        got = examples.relu(relu, asnumpy.array(h), blocks)
        np.testing.assert_array_equal(got.to_numpy(), np.maximum(h, 0))


@launches
@pytest.mark.parametrize("shape", [(1, 1), (3, 8), (5, 63), (2, 6000), (17, 1000), (0, 5), (5, 0)])
def test_rows(shape):
    x = normal(*shape) * 10
    h, gamma, beta = x.astype(np.float16), normal(shape[1]), normal(shape[1])
    softmax, norm = examples.kernel("softmax"), examples.kernel("layer_norm")
    for blocks in (1, 4):
        got = examples.softmax(softmax, asnumpy.array(x), blocks).to_numpy()
        if x.size:
            np.testing.assert_allclose(got, examples.expected_softmax(x), rtol=1e-5, atol=1e-7)
        arrays = [asnumpy.array(a) for a in (h, gamma, beta)]
        got = examples.layer_norm(norm, *arrays, blocks=blocks).to_numpy()
        if x.size:
            np.testing.assert_allclose(
                got, examples.expected_layer_norm(h, gamma, beta), rtol=2e-3, atol=4e-3
            )


@launches
@pytest.mark.parametrize("shape", [(1, 1), (16, 16), (15, 33), (100, 7), (0, 3), (64, 64)])
def test_transpose(shape):
    x = normal(*shape, dtype=np.float16)
    got = examples.transpose(examples.kernel("transpose"), asnumpy.array(x))
    np.testing.assert_array_equal(got.to_numpy(), x.T)


@launches
@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (64, 64, 64), (130, 70, 90), (5, 200, 3)])
def test_matmul(m, k, n):
    a, b, bias = normal(m, k, dtype=np.float16), normal(k, n, dtype=np.float16), normal(n)
    for blocks in (1, 3, 8):
        got = examples.matmul(
            examples.kernel("matmul"), *map(asnumpy.array, (a, b, bias)), blocks=blocks
        )
        wanted = a.astype(np.float64) @ b.astype(np.float64) + bias
        np.testing.assert_allclose(got.to_numpy(), wanted, rtol=1e-5, atol=1e-4)


MATMUL = """
#include "lib/matmul_intf.h"
using namespace AscendC;
template <typename T, typename S> void product(GM_ADDR a, GM_ADDR b, GM_ADDR c, int way, int m, int n, int k) {
    TCubeTiling t;
    t.M = t.singleCoreM = m; t.N = t.singleCoreN = n; t.Ka = t.Kb = t.singleCoreK = k;
    t.baseM = 3; t.baseN = 5;
    TPipe pipe;
    GlobalTensor<T> aGm, bGm;
    GlobalTensor<S> cGm;
    aGm.SetGlobalBuffer((T *)a, m * k);
    bGm.SetGlobalBuffer((T *)b, k * n);
    cGm.SetGlobalBuffer((S *)c, m * n);
    Matmul<MatmulType<TPosition::GM, CubeFormat::ND, T>, MatmulType<TPosition::GM, CubeFormat::ND, T>,
           MatmulType<TPosition::GM, CubeFormat::ND, S>> mm;
    if (way == 9) mm.IterateAll(cGm);
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
    if (way == 8) mm.IterateAll(cGm);
    mm.SetTensorA(aGm, way & 1);
    mm.SetTensorB(bGm, way >> 1 & 1);
    if (way == 4) mm.SetTail(m + 1);
    while (mm.Iterate()) mm.GetTensorC(cGm);
    mm.End();
}
extern "C" __global__ __aicore__ void floats(GM_ADDR a, GM_ADDR b, GM_ADDR c, int way, int m, int n, int k) {
    product<float, float>(a, b, c, way, m, n, k);
}
extern "C" __global__ __aicore__ void bytes(GM_ADDR a, GM_ADDR b, GM_ADDR c, int way, int m, int n, int k) {
    product<int8_t, int32_t>(a, b, c, way, m, n, k);
}
"""


@launches
def test_matmul_transposed_and_of_bytes():
    m, n, k = 7, 11, 4
    for name, dtype, result in (("floats", np.float32, np.float32), ("bytes", np.int8, np.int32)):
        kernel = ascendc_kernels.kernel(MATMUL, name)
        a, b = (rng.integers(-100, 100, s).astype(dtype) for s in ((m, k), (k, n)))
        for way in range(4):
            c = asnumpy.zeros((m, n), result)
            left, right = (a.T.copy() if way & 1 else a), (b.T.copy() if way & 2 else b)
            kernel(asnumpy.array(left), asnumpy.array(right), c, way, m, n, k, blocks=1)
            np.testing.assert_array_equal(c.to_numpy(), a.astype(result) @ b.astype(result))
        for way, message in (
            (9, "has no tiling"),
            (8, "SetTensorA and SetTensorB come first"),
            (4, "Matmul: A"),
        ):
            with pytest.raises(RuntimeError, match=message):
                kernel(asnumpy.array(a), asnumpy.array(b), c, way, m, n, k, blocks=1)
        with pytest.raises(RuntimeError, match="an extent of 0 in the tiling"):
            kernel(asnumpy.array(a), asnumpy.array(b), c, 0, 0, n, k, blocks=1)


@launches
def test_runner():
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "run.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "add", "relu", "softmax", "layer_norm", "transpose", "matmul"]  # fmt: skip


THREADS = """
__global__ void axpy(const float *x, float *y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int step = gridDim.x * blockDim.x;
    for (; i < n; i += step) y[i] += a * x[i];
}
"""


@launches
def test_bodies_of_a_thread():
    axpy = ascendc_kernels.kernel(THREADS, "axpy")
    x, y = asnumpy.arange(1000, dtype=asnumpy.float32), asnumpy.ones(1000, asnumpy.float32)
    axpy(x, y, 2.0, 1000, blocks=3, threads=100)
    np.testing.assert_array_equal(y.to_numpy(), 1 + 2 * np.arange(1000, dtype=np.float32))
    with pytest.raises(TypeError, match="axpy: threads= is needed, 1 to 1024"):
        axpy(x, y, 2.0, 1000, blocks=3)
    with pytest.raises(ValueError, match="threads is 1025; it may be 1 to 1024"):
        axpy(x, y, 2.0, 1000, blocks=3, threads=1025)


SUM = """
using namespace AscendC;
struct Pair { int a, b; };
extern "C" __global__ __aicore__ void sum(GM_ADDR out, half h, float f, double d, int8_t i, uint64_t u, bool b) {
    GlobalTensor<double> g;
    g.SetGlobalBuffer((double *)out, GetBlockNum());
    g.SetValue(GetBlockIdx(), (float)h + f + d + i + (double)u + b);
}
extern "C" __global__ __aicore__ void plain(Pair p) { (void)p; }
"""


@launches
def test_arguments():
    total = ascendc_kernels.kernel(SUM, "sum")
    out = asnumpy.zeros(4)
    total(out, 0.5, 1, np.float32(2.0), -3, 2**63, True, blocks=4)
    assert out.tolist() == [0.5 + 1 + 2 - 3 + 2**63 + 1] * 4
    for index, value, error, message in [
        (4, 128, OverflowError, "argument 4 is 128, out of bounds for int8"), (5, -1, OverflowError, "out of bounds"),
        (4, 1.5, TypeError, "argument 4 is 1.5; the kernel takes a int8"), (1, out, TypeError, "argument 1 is asnumpy.ndarray"),
        (0, 5, TypeError, "argument 0 is int; the kernel takes an asnumpy array"),
        (0, np.zeros(4), TypeError, "takes an asnumpy array"), (1, 1j, TypeError, "takes a float16"),
        (1, "1", TypeError, "takes a float16"), (0, asnumpy.zeros((4, 4))[:, 1], ValueError, "has strides"),
        (0, asnumpy.zeros(4, ">f8"), TypeError, "argument 0 is numpy.ndarray; the kernel takes an asnumpy array")]:  # fmt: skip
        values = [out, 0.5, 1, 2.0, -3, 2**63, True]
        values[index] = value
        with pytest.raises(error, match=message):
            total(*values, blocks=4)
    with pytest.raises(TypeError, match="sum: takes 7 arguments, got 1"):
        total(out, blocks=1)
    for blocks, error, message in [
        (None, TypeError, "blocks= is needed, 1 to 65535"), (0, ValueError, "blocks is 0; it may be 1 to 65535"),
        (65536, ValueError, "blocks is 65536"), (1.0, TypeError, "blocks is a float")]:  # fmt: skip
        with pytest.raises(error, match=message):
            total(out, 0.5, 1, 2.0, -3, 2**63, True, blocks=blocks)
    with pytest.raises(TypeError, match="threads= is for bodies of a thread"):
        total(out, blocks=1, threads=2)
    with pytest.raises(TypeError, match="sum: takes 7 arguments, got 1"):
        total(args=(out,), blocks=1)
    with pytest.raises(TypeError, match="parameter 0 is neither an address nor a number"):
        ascendc_kernels.kernel(SUM, "plain")(3, blocks=1)
    with pytest.raises(asnumpy.CompileError, match="the code has no function missing"):
        ascendc_kernels.kernel(SUM, "missing").compile()


def test_languages():
    with pytest.raises(ValueError, match="language is 'cuda'; it may be 'c' or 'ascendc'"):
        asnumpy.RawKernel("", "f", language="cuda")
    with pytest.raises(ValueError, match="'f g' is no name of a function"):
        asnumpy.RawKernel("", "f g", language="ascendc")
    assert (
        repr(asnumpy.RawKernel("", "f", language="ascendc"))
        == "<asnumpy.RawKernel 'f' in Ascend C>"
    )
    with pytest.raises(TypeError, match="f: range= is for kernels in C; Ascend C takes blocks="):
        asnumpy.RawKernel("", "f", language="ascendc")(1, range=3)
    with pytest.raises(TypeError, match="f: blocks= and threads= are for kernels in Ascend C"):
        asnumpy.RawKernel("", "f")((), blocks=3)
    with pytest.raises(TypeError, match="f: takes one tuple of the arguments, got 3"):
        asnumpy.RawKernel("", "f")(1, 2, 3)


@pytest.mark.skipif(ascendc_kernels.RUNS, reason="the device runs them")
def test_another_device_says_what_it_needs():
    with pytest.raises(
        RuntimeError, match="run on the CPU device alone; for this device CANN's own compiler"
    ):
        examples.kernel("add")(asnumpy.zeros(3), blocks=1)


@launches
def test_recorded_work_comes_first():
    """Arrays that are not computed yet are when the kernel runs, and what follows sees what it wrote."""
    add = examples.kernel("add")
    x = asnumpy.arange(100, dtype=asnumpy.float32)
    y, z = x * 2 + 1, asnumpy.zeros(100, asnumpy.float32)
    add(x + 1, y, z, 100, blocks=2)
    np.testing.assert_array_equal((z - 1).to_numpy(), 3 * np.arange(100) + 1)


@launches
def test_nothing_is_kept():
    """Failing and other calls leave no memory behind."""
    import resource

    relu = examples.kernel("relu")
    x, short = asnumpy.ones(5000, asnumpy.float16), asnumpy.ones(50, asnumpy.float16)

    def many(n):
        for _ in range(n):
            examples.relu(relu, x)
            with pytest.raises(RuntimeError):
                relu(x, short, x.size, blocks=4)

    many(100)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    many(1000)
    assert (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096
    )  # KiB; a buffer is 192
