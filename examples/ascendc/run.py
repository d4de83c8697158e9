"""Six kernels in Ascend C on the CPU device, each compared with NumPy.

python examples/ascendc/run.py            compiles them (the first time), runs them, says how they compare

The sources beside this file are written for an NPU: tiles, double-buffered queues, tails. On an Ascend server CANN's
compiler builds the same files.
"""

import pathlib

import asnumpy as np
import numpy

FOLDER = pathlib.Path(__file__).resolve().parent


def kernel(name):
    """The kernel NAME_custom of the file NAME.cpp."""
    source = (FOLDER / f"{name}.cpp").read_text()
    return np.RawKernel(source, f"{name}_custom", language="ascendc")


def add(k, x, y, blocks=8):
    z = np.empty_like(x)
    k(x, y, z, x.size, blocks=blocks)
    return z


def relu(k, x, blocks=8):
    y = np.empty_like(x)
    k(x, y, x.size, blocks=blocks)
    return y


def softmax(k, x, blocks=8):
    y = np.empty_like(x)
    k(x, y, *x.shape, blocks=blocks)
    return y


def layer_norm(k, x, gamma, beta, epsilon=1e-5, blocks=8):
    y = np.empty_like(x)
    k(x, gamma, beta, y, *x.shape, epsilon, blocks=blocks)
    return y


def transpose(k, x, blocks=8):
    y = np.empty(x.shape[::-1], x.dtype)
    k(x, y, *x.shape, blocks=blocks)
    return y


def tiling(m, n, k, blocks):
    """TCubeTiling for m x k by k x n: rows are split over the blocks."""
    single = -(-m // blocks)
    return np.array([blocks, m, n, k, k, single, n, k, 64, 64, 64, 1], np.int32)


def matmul(k, a, b, bias, blocks=8):
    (m, inner), n = a.shape, b.shape[1]
    c = np.empty((m, n), np.float32)
    workspace = np.zeros(0, np.uint8)
    k(a, b, bias, c, workspace, tiling(m, n, inner, blocks), blocks=blocks)
    return c


def expected_softmax(x):
    e = numpy.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def expected_layer_norm(x, gamma, beta, epsilon=1e-5):
    x = x.astype(numpy.float64)
    mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    return (x - mean) / numpy.sqrt(variance + epsilon) * gamma + beta


def main():
    rng = numpy.random.default_rng(0)

    def normal(*shape, dtype=numpy.float32):
        return rng.standard_normal(shape).astype(dtype)

    x, y, h = normal(10007), normal(10007), normal(300, 200, dtype=numpy.float16)
    rows, gamma, beta = normal(100, 777), normal(200), normal(200)
    a, b, bias = (
        normal(130, 70, dtype=numpy.float16),
        normal(70, 90, dtype=numpy.float16),
        normal(90),
    )
    product = a.astype(numpy.float64) @ b.astype(numpy.float64) + bias
    cases = [
        ("add", add, (x, y), x + y, 0),
        ("relu", relu, (h,), numpy.maximum(h, 0), 0),
        ("softmax", softmax, (rows,), expected_softmax(rows), 1e-6),
        ("layer_norm", layer_norm, (h, gamma, beta), expected_layer_norm(h, gamma, beta), 1e-2),
        ("transpose", transpose, (h,), h.T, 0),
        ("matmul", matmul, (a, b, bias), product, 1e-4),
    ]
    for name, call, inputs, wanted, tolerance in cases:
        got = call(kernel(name), *map(np.array, inputs)).to_numpy()
        error = float(numpy.abs(got.astype(numpy.float64) - wanted).max())
        assert error <= tolerance, f"{name}: off by {error}"
        print(f"{name:10}  largest difference from NumPy {error:.2g}")


if __name__ == "__main__":
    main()
