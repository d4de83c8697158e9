"""Operators of asnumpy/op.h inside fused programs: as each alone."""

import ctypes

import asnumpy
import numpy as np
import pytest
from test_load_library import SOURCE, compiled


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    policy = asnumpy.set_fallback("silent")
    yield asnumpy.load_library(
        compiled(tmp_path_factory.mktemp("ops"), SOURCE.replace("lib_", "fus_"))
    )
    asnumpy.set_fallback(policy)


COUNTED = r"""
#include "asnumpy/op.h"
#include <math.h>

static int64_t calls;
__attribute__((visibility("default"))) int64_t calls_since(void) {
    return __atomic_exchange_n(&calls, 0, __ATOMIC_RELAXED);
}
static void split(char **a, const int64_t *n, const int64_t *s, void *data) {
    (void)data;
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    for (int64_t i = 0; i < *n; i++) {
        double x = *(double *)(a[0] + i * s[0]), whole = floor(x);
        *(int32_t *)(a[1] + i * s[1]) = (int32_t)whole;
        *(double *)(a[2] + i * s[2]) = x - whole;
        *(float *)(a[3] + i * s[3]) = (float)(x * x);
    }
}
static void mix(char **a, const int64_t *n, const int64_t *s, void *data) {
    (void)data;
    for (int64_t i = 0; i < *n; i++) {
        float x = *(float *)(a[0] + i * s[0]), z = *(float *)(a[2] + i * s[2]);
        *(float *)(a[3] + i * s[3]) = *(_Bool *)(a[1] + i * s[1]) ? x : z;
    }
}
static void sum4(char **a, const int64_t *n, const int64_t *s, void *data) {
    (void)data;
    for (int64_t i = 0; i < *n; i++)
        *(double *)(a[4] + i * s[4]) = *(double *)(a[0] + i * s[0]) + *(double *)(a[1] + i * s[1]) +
                                       *(double *)(a[2] + i * s[2]) + *(double *)(a[3] + i * s[3]);
}
static void zero_by_zero(char **a, const int64_t *n, const int64_t *s, void *data) {
    volatile double zero = 0;
    (void)data;
    for (int64_t i = 0; i < *n; i++)
        *(double *)(a[1] + i * s[1]) = *(double *)(a[0] + i * s[0]) + (zero / zero > 0);
}
static const asnp_op_loop splits[] = {{split, {ASNP_FLOAT64, ASNP_INT32, ASNP_FLOAT64, ASNP_FLOAT32}, 0}};
static const asnp_op_loop mixes[] = {{mix, {ASNP_FLOAT32, ASNP_BOOL, ASNP_FLOAT32, ASNP_FLOAT32}, 0}};
static const asnp_op_loop sums[] = {
    {sum4, {ASNP_FLOAT64, ASNP_FLOAT64, ASNP_FLOAT64, ASNP_FLOAT64, ASNP_FLOAT64}, 0}};
static const asnp_op_loop zeros[] = {{zero_by_zero, {ASNP_FLOAT64, ASNP_FLOAT64}, 0}};
static const asnp_op all[] = {{"fuse_split", 0, 1, 3, 0, 1, splits},
                              {"fuse_mix", 0, 3, 1, 0, 1, mixes},
                              {"fuse_sum4", 0, 4, 1, 0, 1, sums},
                              {"fuse_zero", 0, 1, 1, 0, 1, zeros}};
ASNP_OPS(all)
"""


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    policy = asnumpy.set_fallback("silent")
    yield asnumpy.load_library(compiled(tmp_path_factory.mktemp("fused"), COUNTED, "fused"))
    asnumpy.set_fallback(policy)


def calls_since(library):
    function = ctypes.CDLL(library.path).calls_since
    function.restype = ctypes.c_int64
    return function()


def split_oracle(a):
    a = np.asarray(a, float)
    return np.floor(a).astype("int32"), a - np.floor(a), (a * a).astype("float32")


def programs(array):
    return asnumpy.explain(array).count("program ")


@pytest.mark.skipif(not asnumpy._core._host_access(), reason="a device without fused programs")
def test_one_program(lib, counted, rng):
    a, b = rng.standard_normal(50000), rng.standard_normal(50000)
    x, y = asnumpy.array(a), asnumpy.array(b)
    got = asnumpy.sqrt(lib.fus_relu(x) + abs(y))
    if programs(got) != 1 or "fus_relu" not in asnumpy.explain(got):
        pytest.skip("each operation runs alone")
    np.testing.assert_array_equal(np.asarray(got), np.sqrt(np.maximum(a, 0) + abs(b)))
    whole, rest, square = counted.fuse_split(x * 3)
    got = whole + rest * square
    assert programs(got) == 1
    calls_since(counted)
    want = [np.asarray(got), np.asarray(whole), np.asarray(rest)]
    fused = calls_since(counted)
    w, r, s = split_oracle(a * 3)
    np.testing.assert_array_equal(want[0], w + r * s)
    np.testing.assert_array_equal(want[1], w)
    np.testing.assert_array_equal(want[2], r)
    # one call for each block and all outputs: blocks have at least 32 elements
    assert 0 < fused <= len(a) // 32


@pytest.mark.parametrize("seed", range(12))
def test_fused_expressions(lib, counted, seed):
    """Operators between others, on casts, strides, broadcasts: as each alone."""
    rng = np.random.default_rng(seed)
    shape = [(70, 60), (1, 5000), (3, 40, 50)][seed % 3]
    cuts = [lambda v: v, lambda v: v[..., ::-1], lambda v: v[..., :1], lambda v: v[:1]]
    values = []
    for dtype in ("float64", "float32", "int16", "float64"):
        value = (rng.standard_normal(shape) * 5).astype(dtype)
        values.append(cuts[rng.integers(4)](value))
    a, b, c, d = values
    x, y, z, w = map(asnumpy.array, values)
    relu, plus, polar = lib.fus_relu, lib.fus_plus, lib.fus_polar
    for _ in range(2):  # the second time the plan is known
        r, phi = polar(x * 2, plus(z, w))
        got = relu(r - 1) + asnumpy.exp(-abs(phi)) * y
        s = np.add(c.astype(float), d)
        rr, pp = np.sqrt((a * 2) ** 2 + s * s), np.arctan2(s, a * 2).astype("float32")
        np.testing.assert_allclose(
            np.asarray(got), np.maximum(rr - 1, 0) + np.exp(-abs(pp)) * b, rtol=1e-5, atol=1e-6
        )
        np.testing.assert_allclose(
            np.asarray(relu(x + y).sum(axis=-1)), np.maximum(a + b, 0).sum(axis=-1), rtol=1e-4
        )
        choice = counted.fuse_mix(y + 1, x > w, 7)
        np.testing.assert_array_equal(
            np.asarray(choice), np.where(a > d, b + np.float32(1), np.float32(7))
        )


def test_fused_in_place(lib, counted, rng):
    a = rng.standard_normal(6000) * 4
    x = asnumpy.array(a)
    x *= 2
    lib.fus_plus(x, 1.0, out=x)
    lib.fus_plus(x[1:], x[:-1], out=x[1:])
    a = a * 2 + 1.0
    a[1:] = a[1:] + a[:-1]
    np.testing.assert_array_equal(np.asarray(x), a)
    # outputs over the input and over each other's neighbour
    whole, square = asnumpy.zeros(6000, "int32"), asnumpy.zeros(6000)
    counted.fuse_split(x + 0, out=(whole, x, square))
    w, r, s = split_oracle(a)
    for got, want in ((whole, w), (x, r), (square, s.astype(float))):
        np.testing.assert_array_equal(np.asarray(got), want)
    mask = rng.random(6000) > 0.5
    out = asnumpy.full(6000, 9.0)
    got = counted.fuse_split(x * 5, out=(None, out, None), where=asnumpy.array(mask))
    assert got[1] is out
    np.testing.assert_array_equal(np.asarray(out), np.where(mask, split_oracle(r * 5)[1], 9.0))
    np.testing.assert_array_equal(np.asarray(got[0])[mask], split_oracle(r * 5)[0][mask])


def test_fused_errors(lib, counted):
    with pytest.raises(ValueError, match="broadcast"):
        lib.fus_plus(asnumpy.ones(3), asnumpy.ones(4))
    frozen = asnumpy.ones(3)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        lib.fus_plus(asnumpy.ones(3), 1.0, out=frozen)
    with np.errstate(all="raise"), asnumpy.errstate(all="raise"):
        x = asnumpy.ones(5000) + 1
        assert np.asarray(counted.fuse_zero(x) * 2).sum() == 20000  # what a loop raises is its own
    with pytest.raises(OverflowError):
        lib.fus_plus(asnumpy.ones(3, "int64"), 2**70)
    assert lib.fus_plus(asnumpy.ones(3, "int64"), True).tolist() == [2, 2, 2]


def test_more_inputs_than_programs_take(counted, rng):
    a = rng.standard_normal((4, 3000))
    x = asnumpy.array(a) * 1
    got = counted.fuse_sum4(*x) + 1
    np.testing.assert_allclose(np.asarray(got), a.sum(axis=0) + 1, rtol=1e-12)
