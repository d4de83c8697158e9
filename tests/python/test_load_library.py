"""Operators compiled against asnumpy/op.h; libraries that take addresses through ctypes."""

import ctypes
import pathlib
import shutil
import subprocess

import asnumpy
import numpy as np
import pytest

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
SOURCE = r"""
#include "asnumpy/op.h"
#include <math.h>

#define UNARY(name, type, expression)                                                                \
    static void name(char **a, const int64_t *n, const int64_t *s, void *data) {                     \
        (void)data;                                                                                  \
        for (int64_t i = 0; i < *n; i++) {                                                           \
            type x = *(const type *)(a[0] + i * s[0]);                                               \
            *(type *)(a[1] + i * s[1]) = (expression);                                               \
        }                                                                                            \
    }
#define BINARY(name, type, expression)                                                               \
    static void name(char **a, const int64_t *n, const int64_t *s, void *data) {                     \
        for (int64_t i = 0; i < *n; i++) {                                                           \
            type x = *(const type *)(a[0] + i * s[0]), y = *(const type *)(a[1] + i * s[1]);         \
            *(type *)(a[2] + i * s[2]) = (expression);                                               \
        }                                                                                            \
        if (data) (*(int64_t *)data)++;                                                              \
    }
UNARY(relu_f, float, x > 0 ? x : 0)
UNARY(relu_d, double, x > 0 ? x : 0)
BINARY(plus_l, int64_t, x + y)
BINARY(plus_d, double, x + y)
BINARY(least_d, double, x < y ? x : y)

static void polar(char **a, const int64_t *n, const int64_t *s, void *data) {
    (void)data;
    for (int64_t i = 0; i < *n; i++) {
        double x = *(double *)(a[0] + i * s[0]), y = *(double *)(a[1] + i * s[1]);
        *(double *)(a[2] + i * s[2]) = sqrt(x * x + y * y);
        *(float *)(a[3] + i * s[3]) = (float)atan2(y, x);
    }
}

static const asnp_op_loop relu[] = {{relu_f, {ASNP_FLOAT32, ASNP_FLOAT32}, 0}, {relu_d, {ASNP_FLOAT64, ASNP_FLOAT64}, 0}};
static const asnp_op_loop plus[] = {{plus_l, {ASNP_INT64, ASNP_INT64, ASNP_INT64}, 0},
                                    {plus_d, {ASNP_FLOAT64, ASNP_FLOAT64, ASNP_FLOAT64}, 0}};
static const asnp_op_loop least[] = {{least_d, {ASNP_FLOAT64, ASNP_FLOAT64, ASNP_FLOAT64}, 0}};
static const asnp_op_loop polars[] = {{polar, {ASNP_FLOAT64, ASNP_FLOAT64, ASNP_FLOAT64, ASNP_FLOAT32}, 0}};
static const asnp_number zero = {'i', 0, 0, 0};
static const asnp_op all[] = {
    {"lib_relu", "max(x, 0)", 1, 1, 0, 2, relu},
    {"lib_plus", 0, 2, 1, &zero, 2, plus},
    {"lib_least", 0, 2, 1, 0, 1, least},
    {"lib_polar", 0, 2, 2, 0, 1, polars},
};
ASNP_OPS(all)
"""


def compiled(folder, source, name="ops", suffix=".c", flags=()):
    text, library = folder / (name + suffix), folder / f"lib{name}.so"
    text.write_text(source)
    command = {".c": ["cc", "-std=c11"], ".cpp": ["c++", "-std=c++11"]}[suffix]
    subprocess.run([*command, "-O2", "-Wall", "-Werror", "-shared", "-fPIC", f"-I{INCLUDE}", *flags, str(text), "-o",
                    str(library), "-lm"], check=True)  # fmt: skip
    return library


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    policy = asnumpy.set_fallback("silent")
    yield asnumpy.load_library(compiled(tmp_path_factory.mktemp("ops"), SOURCE))
    asnumpy.set_fallback(policy)


def test_facts(lib):
    assert lib.names == ("lib_relu", "lib_plus", "lib_least", "lib_polar")
    assert lib.lib_relu.types == ["f->f", "d->d"] and lib.lib_relu.__doc__ == "max(x, 0)"
    assert (
        lib.lib_polar.nin,
        lib.lib_polar.nout,
        lib.lib_plus.identity,
        lib.lib_least.identity,
    ) == (2, 2, 0, None)
    assert asnumpy.load_library(lib.path) is lib
    assert asnumpy.ops.find("lib_relu").function is lib.lib_relu
    assert asnumpy.ops.lib_relu(asnumpy.array([-1.0, 2])).tolist() == [0, 2]
    with pytest.raises(
        RuntimeError, match=r"'lib_plus' is already registered .* by load_library \(.*libops.so\)"
    ):
        asnumpy.ops.register("lib_plus", max)


@pytest.mark.parametrize(
    "cut", [lambda a: a, lambda a: a[::-2], lambda a: a.T, lambda a: a[:, 3], lambda a: a[:0]]
)
def test_calls(lib, cut, rng):
    a, b = rng.standard_normal((30, 40)), rng.standard_normal((30, 40))
    x, y = asnumpy.array(a), asnumpy.array(b)
    np.testing.assert_array_equal(np.asarray(lib.lib_relu(cut(x))), np.maximum(cut(a), 0))
    np.testing.assert_array_equal(np.asarray(lib.lib_plus(cut(x), cut(y))), cut(a) + cut(b))
    r, phi = lib.lib_polar(cut(x), cut(y))
    assert phi.dtype == np.float32
    np.testing.assert_allclose(np.asarray(r), np.hypot(cut(a), cut(b)), rtol=1e-14)
    np.testing.assert_allclose(np.asarray(phi), np.arctan2(cut(b), cut(a)), rtol=1e-6)


def test_casting(lib):
    relu, plus = lib.lib_relu, lib.lib_plus
    assert (
        relu(asnumpy.ones(2, "float16")).dtype == relu(asnumpy.ones(2, "int16")).dtype == np.float32
    )
    assert relu(asnumpy.ones(2, "int64")).dtype == np.float64 and relu(-3).item() == 0
    assert (
        plus(asnumpy.ones(2, "int8"), 3).dtype == np.int64
        and plus(asnumpy.ones(2, "int8"), 3.5).dtype == np.float64
    )
    assert relu(asnumpy.ones(2), dtype="float32").dtype == np.float32
    with pytest.raises(
        TypeError,
        match=r"Cannot cast from dtype\('float64'\) to dtype\('float32'\) with casting rule 'safe'",
    ):
        relu(asnumpy.ones(2), dtype="float32", casting="safe")
    with pytest.raises(TypeError, match=r"no loop takes complex128 safely; there are f->f, d->d"):
        relu(asnumpy.ones(2, complex))
    with pytest.raises(TypeError, match="no loop makes int32"):
        relu(asnumpy.ones(2), dtype="int32")
    with pytest.raises(TypeError, match="takes 1 or 2 arguments, got 3"):
        relu(1, 2, 3)


def test_out_and_where(lib, rng):
    a = rng.standard_normal((6, 7))
    x, out = asnumpy.array(a), asnumpy.full((6, 14), 9.0)[:, ::2]
    mask = a[0] > 0
    assert lib.lib_relu(x, out=out, where=asnumpy.array(mask)) is out
    np.testing.assert_array_equal(np.asarray(out), np.where(mask, np.maximum(a, 0), 9))
    assert lib.lib_relu(x, x) is x
    np.testing.assert_array_equal(np.asarray(x), np.maximum(a, 0))
    line = asnumpy.arange(10)
    lib.lib_plus(line[:-1], line[1:], line[1:])
    np.testing.assert_array_equal(np.asarray(line), [0, *(np.arange(9) + np.arange(1, 10))])
    single = asnumpy.empty(3, "float32")
    lib.lib_plus(asnumpy.arange(3.0), 0.5, out=(single,))
    assert single.tolist() == [0.5, 1.5, 2.5]
    with pytest.raises(TypeError, match="output 0: Cannot cast"):
        lib.lib_plus(asnumpy.arange(3.0), 0.5, out=asnumpy.empty(3, int))


@pytest.mark.parametrize("axis", [0, 1, -1, (0, 2), None, (0, 1, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reduce(lib, axis, keepdims, rng):
    a = rng.integers(-9, 9, (5, 6, 7))
    for cut in (lambda v: v, lambda v: v.T, lambda v: v[::-1, ::2]):
        x = cut(asnumpy.array(a))
        got = lib.lib_plus.reduce(x, axis=axis, keepdims=keepdims)
        np.testing.assert_array_equal(
            np.asarray(got), np.add.reduce(cut(a), axis=axis, keepdims=keepdims)
        )
        got = lib.lib_least.reduce(x, axis=axis, keepdims=keepdims)
        np.testing.assert_array_equal(
            np.asarray(got), np.minimum.reduce(cut(a), axis=axis, keepdims=keepdims)
        )


def test_reduce_options(lib):
    x = asnumpy.arange(6).reshape(2, 3)
    assert lib.lib_plus.reduce(x, initial=10).tolist() == [13, 15, 17]
    assert lib.lib_plus.reduce(x, dtype=float).dtype == np.float64
    out = asnumpy.empty(2)
    assert lib.lib_least.reduce(x, axis=1, out=out) is out and out.tolist() == [0, 3]
    assert lib.lib_plus.reduce(asnumpy.zeros((0, 2))).tolist() == [0, 0]
    with pytest.raises(ValueError, match="lib_least which has no identity"):
        lib.lib_least.reduce(asnumpy.zeros((0, 2)))
    with pytest.raises(ValueError, match="two inputs and one output"):
        lib.lib_relu.reduce(x)


def test_wrong_libraries(tmp_path):
    with pytest.raises(OSError):
        asnumpy.load_library(tmp_path / "missing.so")
    with pytest.raises(ValueError, match="exports no asnumpy_ops"):
        asnumpy.load_library(compiled(tmp_path, "int x;", "empty"))
    old = "#include <asnumpy/op.h>\nASNUMPY_API const asnp_op_table asnumpy_ops;\nconst asnp_op_table asnumpy_ops = {99, 0, 0};"
    with pytest.raises(ValueError, match="version 99"):
        asnumpy.load_library(compiled(tmp_path, old, "old"))
    few = '#include <asnumpy/op.h>\nstatic const asnp_op a[] = {{"few", 0, 1, 1, 0, 0, 0}};\nASNP_OPS(a)'
    with pytest.raises(ValueError, match="few has no loop"):
        asnumpy.load_library(compiled(tmp_path, few, "few"))
    wide = few.replace("1, 1, 0, 0", "5, 4, 0, 0")
    with pytest.raises(ValueError, match="5 inputs and 4 outputs; there may be 8"):
        asnumpy.load_library(compiled(tmp_path, wide, "wide"))
    taken = SOURCE.replace("lib_relu", "taken_new").replace("lib_plus", "add")
    with pytest.raises(RuntimeError, match="'add' is already registered"):
        asnumpy.load_library(compiled(tmp_path, taken, "taken"))
    assert asnumpy.ops.list("taken_new") == []


@pytest.mark.skipif(not shutil.which("c++"), reason="needs a C++ compiler")
def test_cpp(tmp_path):
    source = SOURCE.replace("lib_", "cpp_")
    library = asnumpy.load_library(compiled(tmp_path, source, "cpp", ".cpp"))
    assert library.cpp_relu(asnumpy.array([-1.0, 2])).tolist() == [0, 2]


ADDRESSES = "void relu(const float *x, float *y, long n) { for (long i = 0; i < n; i++) y[i] = x[i] > 0 ? x[i] : 0; }"


def test_addresses_are_of_finished_arrays(tmp_path, rng):
    """What is recorded runs before the address is handed out, and what the library wrote is seen."""
    if not asnumpy._core._host_access():
        pytest.skip("needs memory that the host shares")
    relu = ctypes.CDLL(str(compiled(tmp_path, ADDRESSES, "addresses"))).relu
    a = rng.standard_normal(5000).astype("float32")
    x = asnumpy.array(a) * 2 + 1  # recorded
    y = asnumpy.empty(5000, "float32")
    pointers = [ctypes.c_void_p(v.__array_interface__["data"][0]) for v in (x, y)]
    relu(*pointers, ctypes.c_long(5000))
    z = y + 1
    np.testing.assert_array_equal(np.asarray(z), np.maximum(a * np.float32(2) + 1, 0) + 1)
    x *= -1  # runs at once from now on; whoever keeps the address waits for the device
    asnumpy.synchronize()
    relu(*pointers, ctypes.c_long(5000))
    np.testing.assert_array_equal(np.asarray(y), np.maximum(-(a * np.float32(2) + 1), 0))
