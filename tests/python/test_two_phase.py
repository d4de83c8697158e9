"""Two-phase operators of a library's own (asnumpy/op.h), called as asnumpy.ops.NAME."""

import ctypes
import pathlib
import subprocess

import asnumpy
import numpy as np
import pytest
from asnumpy import acl

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
SOURCE = r"""
#include <acl/acl.h>
#include <aclnn/acl_meta.h>
#include <aclnnop/aclnn_leaky_relu.h>
#include <asnumpy/op.h>
#include <stdlib.h>

/* out[i, j] = x[i] * factor + j, by an executor and on the stream of its own. */
typedef struct {
    const double *x;
    double *out, factor;
    int64_t n, times;
} spread;
static int64_t planned, ran;
__attribute__((visibility("default"))) int64_t planned_not_run(void) { return planned - ran; }

static aclnnStatus spread_plan(const aclTensor *x, double factor, int64_t times, bool fail, aclTensor *out,
                               uint64_t *size, aclOpExecutor **executor) {
    int64_t *shape, *strides;
    uint64_t dims;
    if (fail) return 161002;
    aclGetViewShape(out, &shape, &dims);
    spread *s = malloc(sizeof *s);
    *s = (spread){.factor = factor, .n = shape[0], .times = times};
    void *data;
    int64_t offset;
    aclGetRawTensorAddr(x, &data);
    aclGetViewOffset(x, &offset);
    s->x = (const double *)data + offset;
    free(shape);
    aclGetViewStrides(x, &strides, &dims);
    if (s->n > 1 && strides[0] != 1) { free(strides); free(s); return 161002; }
    free(strides);
    aclGetRawTensorAddr(out, &data);
    aclGetViewOffset(out, &offset);
    s->out = (double *)data + offset;
    *size = 64;
    *executor = (aclOpExecutor *)s;
    planned++;
    return 0;
}
static void spread_now(void *arg) {
    spread *s = arg;
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t j = 0; j < s->times; j++) s->out[i * s->times + j] = s->x[i] * s->factor + j;
    free(s);
    ran++;
}
static aclnnStatus spread_run(void *workspace, uint64_t size, aclOpExecutor *executor, aclrtStream stream) {
    if (!workspace || size != 64) return 561000;
    return aclrtLaunchHostFunc(stream, spread_now, executor);
}
static const char *spread_infer(const asnp_op_array *in, const asnp_number *a, asnp_op_array *out) {
    if (in[0].dtype != ASNP_FLOAT64 || in[0].num_dims != 1) return "x must be one line of float64";
    if (a[1].integer < 0) return "times must not be negative";
    *out = in[0];
    out->num_dims = 2;
    out->shape[1] = a[1].integer;
    return NULL;
}

/* CANN's own operator under another name. */
static aclnnStatus leaky_plan(const aclTensor *x, const aclScalar *slope, aclTensor *out, uint64_t *size,
                              aclOpExecutor **executor) {
    return aclnnLeakyReluGetWorkspaceSize(x, slope, out, size, executor);
}

static const asnp_two_phase two[] = {
    {"own_spread", "x * factor, and its followers", "x, factor: float, times: int = 3, fail: bool = false -> y",
     (asnp_op_first_phase)spread_plan, (asnp_op_second_phase)spread_run, spread_infer},
    {"own_leaky", NULL, "x, slope: scalar = 0.5 -> y", (asnp_op_first_phase)leaky_plan,
     (asnp_op_second_phase)aclnnLeakyRelu, NULL},
};
ASNP_TWO_PHASE(two)
"""


def compiled(folder, source, name="two"):
    text, library = folder / f"{name}.c", folder / f"lib{name}.so"
    text.write_text(source)
    command = [
        "cc",
        "-O1",
        "-Wall",
        "-Werror",
        "-Wno-cast-function-type",
        "-shared",
        "-fPIC",
        f"-I{INCLUDE}",
    ]
    subprocess.run([*command, str(text), "-o", str(library), *acl.flags()], check=True)
    return library


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    return asnumpy.load_library(compiled(tmp_path_factory.mktemp("two"), SOURCE))


def test_calls(lib, rng):
    a = rng.standard_normal(500)
    x = asnumpy.array(a) * 1  # recorded
    want = (a * 2.5)[:, None] + np.arange(3)
    got = asnumpy.ops.own_spread(x, 2.5)
    assert (got.shape, got.dtype) == ((500, 3), np.float64)
    np.testing.assert_array_equal(np.asarray(got + 1), want + 1)
    np.testing.assert_array_equal(np.asarray(lib.own_spread(x[100:], 2.5, times=3)), want[100:])
    np.testing.assert_array_equal(np.asarray(lib.own_spread(x, 2.5, 1)), want[:, :1])
    out = asnumpy.empty((500, 3))
    assert lib.own_spread(x, 2.5, out=out) is out
    np.testing.assert_array_equal(np.asarray(out), want)
    left = ctypes.CDLL(lib.path).planned_not_run
    asnumpy.synchronize()
    assert left() == 0


def test_of_canns_own(lib, rng):
    a = rng.standard_normal((7, 9)).astype("float32")
    for cut in (lambda v: v, lambda v: v.T, lambda v: v[:, ::2]):
        np.testing.assert_array_equal(
            np.asarray(lib.own_leaky(cut(asnumpy.array(a)))),
            np.where(cut(a) > 0, cut(a), cut(a) / 2),
        )
    got = lib.own_leaky(asnumpy.array(a), slope=2)
    np.testing.assert_array_equal(np.asarray(got), np.where(a > 0, a, a * 2))


def test_errors(lib):
    x = asnumpy.ones(4)
    for arguments, text in (
        ((x,), r"own_spread: factor \(float\) is missing"),
        ((), r"own_spread: takes 1 inputs \(x, factor: float, .*got 0"),
        ((x, 1.0, 2, True, 5), "own_spread: takes 4 arguments .* got 5"),
        ((x, "2"), "own_spread: factor is a str; it must be of type float"),
        ((x, 1.0, 2.5), "own_spread: times is a float; it must be of type int"),
        ((x, 1.0, 2, 1), "own_spread: fail is a int; it must be of type bool"),
    ):
        with pytest.raises(TypeError, match=text):
            asnumpy.ops.own_spread(*arguments)
    with pytest.raises(TypeError, match="has no attribute 'slope'"):
        lib.own_spread(x, 1.0, slope=3)
    with pytest.raises(TypeError, match="factor is given twice"):
        lib.own_spread(x, 1.0, factor=3)
    with pytest.raises(ValueError, match="own_spread: x must be one line of float64"):
        lib.own_spread(x.reshape(2, 2), 1.0)
    with pytest.raises(ValueError, match="own_spread: times must not be negative"):
        lib.own_spread(x, 1.0, -1)
    with pytest.raises(ValueError, match=r"output 0 has shape \(4,\); the operands make \(4, 3\)"):
        lib.own_spread(x, 1.0, out=x)
    with pytest.raises(TypeError, match="output 0: Cannot cast"):
        lib.own_spread(x, 1.0, out=asnumpy.empty((4, 3), "float32"))
    with pytest.raises(RuntimeError, match=r"own_spread: .*161002"):
        lib.own_spread(x, 1.0, fail=True)
    with pytest.raises(RuntimeError, match="'own_leaky' is already registered .* by load_library"):
        asnumpy.ops.register("own_leaky", max)


def test_wrong_tables(tmp_path):
    for k, (parameters, text) in enumerate(
        (
            ("x y -> z", "parameter 'x y' of 'x y -> z' is neither an input nor"),
            ("x, a: long -> z", "parameter 'a: long'"),
            ("x, a: int, y -> z", "parameter 'y'"),
            ("x", "must end in '-> '"),
            ("x -> x", "each with a name of its own"),
            ("x, a: int = no -> z", "the default 'no' is no int"),
        )
    ):
        source = SOURCE.replace("x, slope: scalar = 0.5 -> y", parameters)
        source = source.replace("own_", f"wrong{k}_")
        with pytest.raises(ValueError, match=text):
            asnumpy.load_library(compiled(tmp_path, source, f"wrong{k}"))
        assert asnumpy.ops.list(f"wrong{k}_spread") == []
