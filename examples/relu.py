"""ReLU in every way that an operator of one's own can be written: equal results, and a table of speeds.

usage: relu.py [--size N] [--quick]

Kernels from C text, a registered Python function, a C operator over asnumpy/op.h, a library that takes raw
addresses, CANN's own operator and one of a custom package. Needs a C compiler.
"""

import argparse
import ctypes
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import asnumpy as np
import numpy
from asnumpy import acl

RAW = """
void relu(const float *x, float *y, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) y[i] = x[i] > 0 ? x[i] : 0;
}
"""
OP = """
#include <asnumpy/op.h>
static void relu(char **args, const int64_t *n, const int64_t *steps, void *data) {
    (void)data;
    if (steps[0] == sizeof(float) && steps[1] == sizeof(float)) { /* for the compiler's vectors */
        const float *x = (const float *)args[0];
        float *y = (float *)args[1];
        for (int64_t i = 0; i < *n; i++) y[i] = x[i] > 0 ? x[i] : 0;
        return;
    }
    for (int64_t i = 0; i < *n; i++) {
        float x = *(const float *)(args[0] + i * steps[0]);
        *(float *)(args[1] + i * steps[1]) = x > 0 ? x : 0;
    }
}
static const asnp_op_loop loops[] = {{relu, {ASNP_FLOAT32, ASNP_FLOAT32}, NULL}};
static const asnp_op ops[] = {{"relu_op", "max(x, 0)", 1, 1, NULL, 1, loops}};
ASNP_OPS(ops)
"""
ADDRESS = "void relu(const float *x, float *y, long n) { for (long i = 0; i < n; i++) y[i] = x[i] > 0 ? x[i] : 0; }"
PACKAGE = """
#include <aclnnop/aclnn_relu.h>
aclnnStatus aclnnMyReluGetWorkspaceSize(const aclTensor *x, aclTensor *out, uint64_t *size, aclOpExecutor **executor) {
    return aclnnReluGetWorkspaceSize(x, out, size, executor);
}
aclnnStatus aclnnMyRelu(void *workspace, uint64_t size, aclOpExecutor *executor, aclrtStream stream) {
    return aclnnRelu(workspace, size, executor, stream);
}
"""


def build(folder, name, source, flags=()):
    """A shared library of C text."""
    folder.mkdir(parents=True, exist_ok=True)
    text, library = folder / f"{name}.c", folder / f"lib{name}.so"
    text.write_text(source)
    compiler = os.environ.get("CC", "cc").split()
    command = [
        *compiler,
        "-O3",
        "-march=native",
        "-shared",
        "-fPIC",
        str(text),
        "-o",
        str(library),
        *flags,
    ]
    subprocess.run(command, check=True)
    return library


def ways(folder, x, y):
    """name -> a function that writes relu(x) to y."""
    kernel = np.ElementwiseKernel("T x", "T y", "y = x > 0 ? x : 0", "relu")
    raw = np.RawKernel(RAW, "relu")
    library = np.load_library(build(folder, "op", OP, acl.flags()))
    os.environ["ASCEND_CUSTOM_OPP_PATH"] = str(folder / "vendors" / "me")
    build(folder / "vendors" / "me" / "op_api" / "lib", "cust_opapi", PACKAGE, acl.flags())
    np.ops.register("relu_of_rows", lambda x, out: np.maximum(x, 0, out=out))
    found = {
        "np.maximum": lambda: np.maximum(x, 0, out=y),
        "registered function": lambda: np.ops.relu_of_rows(x, out=y),
        "ElementwiseKernel": lambda: kernel(x, y),
        "RawKernel, range split": lambda: raw((x, y), range=x.size),
        "asnumpy/op.h": lambda: library.relu_op(x, out=y),
        "CANN's aclnnRelu": lambda: np.ops.aclnn("Relu", x, outputs=y),
        "custom package": lambda: np.ops.aclnn("MyRelu", x, outputs=y),
    }
    if hasattr(x, "__array_interface__") and x.device.startswith("cpu"):
        function = ctypes.CDLL(str(build(folder, "address", ADDRESS))).relu

        def address():
            pointers = (ctypes.c_void_p(a.__array_interface__["data"][0]) for a in (x, y))
            function(*pointers, ctypes.c_long(x.size))

        found["ctypes, addresses"] = (
            address  # last: from here on the host may look at x and y at any time
        )
    return found


def median(function, repeats):
    """Microseconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        np.synchronize()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=int, default=4_000_000)
    parser.add_argument("--quick", action="store_true", help="small arrays, few repeats")
    options = parser.parse_args()
    size, repeats = (10_000, 5) if options.quick else (options.size, 30)
    host = numpy.random.default_rng(0).standard_normal(size, dtype=numpy.float32)
    expected, out = numpy.maximum(host, 0), numpy.empty_like(host)
    x, y = np.from_numpy(host), np.empty(size, "float32")
    with tempfile.TemporaryDirectory() as folder:
        print(f"ReLU of {size} float32, microseconds")
        print(f"  {'NumPy':24}{median(lambda: numpy.maximum(host, 0, out=out), repeats):10.0f}")
        for name, function in ways(pathlib.Path(folder), x, y).items():
            y[:] = -1
            function()
            assert numpy.array_equal(y.to_numpy(), expected), name
            print(f"  {name:24}{median(function, repeats):10.0f}")
    print("all results equal")


if __name__ == "__main__":
    main()
