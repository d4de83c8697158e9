"""reduce, accumulate, reduceat, outer, at of operators of asnumpy/op.h, against NumPy's."""

import asnumpy
import numpy as np
import pytest
from test_load_library import SOURCE, compiled


@pytest.fixture(scope="module")
def lib(tmp_path_factory):
    policy = asnumpy.set_fallback("silent")
    yield asnumpy.load_library(
        compiled(tmp_path_factory.mktemp("ops"), SOURCE.replace("lib_", "met_"))
    )
    asnumpy.set_fallback(policy)


DIRECTED = r"""
#include "asnumpy/op.h"
static void directed(char **restrict a, const int64_t *n, const int64_t *s, void *data) {
    (void)data;
    for (int64_t i = 0; i < *n; i++)
        *(double *)(a[2] + i * s[2]) = *(double *)(a[0] + i * s[0]) / 2 - *(double *)(a[1] + i * s[1]);
}
static void doubled(char **a, const int64_t *n, const int64_t *s, void *data) {
    (void)data;
    for (int64_t i = 0; i < *n; i++) *(double *)(a[1] + i * s[1]) = 2 * *(double *)(a[0] + i * s[0]);
}
static const asnp_op_loop loops[] = {{directed, {ASNP_FLOAT64, ASNP_FLOAT64, ASNP_FLOAT64}, 0}};
static const asnp_op_loop doubles[] = {{doubled, {ASNP_FLOAT64, ASNP_FLOAT64}, 0}};
static const asnp_op all[] = {{"met_directed", 0, 2, 1, 0, 1, loops}, {"met_doubled", 0, 1, 1, 0, 1, doubles}};
ASNP_OPS(all)
"""
directed_oracle = np.frompyfunc(lambda x, y: x / 2 - y, 2, 1)


@pytest.fixture(scope="module")
def directed(tmp_path_factory):
    return asnumpy.load_library(compiled(tmp_path_factory.mktemp("directed"), DIRECTED, "directed"))


CUTS = [lambda v: v, lambda v: v.T, lambda v: v[::-1, ::2], lambda v: v[:1], lambda v: v[:, :, :0]]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_accumulate(lib, directed, cut, axis, rng):
    a = rng.integers(-9, 9, (5, 40, 7))
    x = cut(asnumpy.array(a))
    got = lib.met_plus.accumulate(x, axis)
    np.testing.assert_array_equal(np.asarray(got), np.add.accumulate(cut(a), axis))
    got = directed.met_directed.accumulate(x * 1.0, axis)
    want = directed_oracle.accumulate(cut(a).astype(object) * 1.0, axis).astype(float)
    np.testing.assert_array_equal(np.asarray(got), want)
    assert directed.met_directed.accumulate(x, axis).dtype == np.float64


def test_accumulate_options(lib, rng):
    a = rng.standard_normal(200_000)
    x = asnumpy.array(a)
    np.testing.assert_array_equal(np.asarray(lib.met_plus.accumulate(x * 1)), np.add.accumulate(a))
    out = asnumpy.empty(200_000)
    assert lib.met_least.accumulate(x, out=out) is out
    np.testing.assert_array_equal(np.asarray(out), np.minimum.accumulate(a))
    assert lib.met_plus.accumulate(x, out=x) is x
    np.testing.assert_array_equal(np.asarray(x), np.add.accumulate(a))
    assert lib.met_plus.accumulate([1, 2], dtype=float).tolist() == [1.0, 3.0]
    with pytest.raises(TypeError, match="cannot accumulate on a scalar"):
        lib.met_plus.accumulate(3)
    with pytest.raises(ValueError, match="accumulate is of operators with two inputs"):
        lib.met_relu.accumulate(x)


@pytest.mark.parametrize("cut", CUTS[:3])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("indices", [[0, 2, 1, 3], [3], [0, 0, 1, 2, 3], [], [1, 3, 2, 2]])
def test_reduceat(lib, directed, cut, axis, indices, rng):
    a = rng.integers(-9, 9, (8, 40, 9))
    x = cut(asnumpy.array(a))
    got = lib.met_plus.reduceat(x, indices, axis)
    np.testing.assert_array_equal(
        np.asarray(got), np.add.reduceat(cut(a), np.array(indices, int), axis)
    )
    if indices:
        got = directed.met_directed.reduceat(x * 1.0, asnumpy.array(indices), axis=axis)
        want = directed_oracle.reduceat(cut(a).astype(object) * 1.0, indices, axis).astype(float)
        np.testing.assert_array_equal(np.asarray(got), want)


def test_reduceat_options(lib, rng):
    a = rng.standard_normal(3000)
    indices = np.arange(0, 3000, 3)
    got = lib.met_least.reduceat(asnumpy.array(a), indices)
    np.testing.assert_array_equal(np.asarray(got), np.minimum.reduceat(a, indices))
    out = asnumpy.empty(2, "float32")
    assert lib.met_plus.reduceat(asnumpy.arange(4.0), [0, 2], out=out) is out and out.tolist() == [
        1,
        5,
    ]
    with pytest.raises(IndexError, match=r"index 4 out-of-bounds in met_plus.reduceat \[0, 4\)"):
        lib.met_plus.reduceat(asnumpy.arange(4.0), [0, 4])
    with pytest.raises(ValueError, match="indices of one axis"):
        lib.met_plus.reduceat(asnumpy.arange(4.0), [[0]])


def test_outer(lib, directed, rng):
    a, b = rng.standard_normal((3, 4)), rng.standard_normal(5)
    x, y = asnumpy.array(a), asnumpy.array(b)
    np.testing.assert_array_equal(
        np.asarray(directed.met_directed.outer(x, y)), np.subtract.outer(a / 2, b)
    )
    out = asnumpy.empty((3, 4, 5))
    assert lib.met_plus.outer(x, y, out=out) is out
    np.testing.assert_array_equal(np.asarray(out), np.add.outer(a, b))
    assert [r.shape for r in lib.met_polar.outer(x, 1.0)] == [(3, 4), (3, 4)]
    with pytest.raises(ValueError, match="outer is of operators with two inputs"):
        lib.met_relu.outer(x, y)


def test_at(lib, directed, rng):
    for cut in (lambda v: v, lambda v: v.T, lambda v: v[::2, ::-1]):
        a = rng.integers(-9, 9, (12, 9)).astype(float)
        x = cut(asnumpy.array(a))
        want = cut(a).copy()
        rows, columns = rng.integers(-4, 4, 200), rng.integers(0, 4, 200)
        b = rng.integers(-9, 9, 200).astype(float)
        for i, j, v in zip(rows, columns, b, strict=True):
            want[i, j] = want[i, j] / 2 - v
        assert directed.met_directed.at(x, (asnumpy.array(rows), columns), asnumpy.array(b)) is None
        np.testing.assert_array_equal(np.asarray(x), want)
        lib.met_plus.at(x, (slice(None), 1), 3)
        directed.met_doubled.at(x, ([0, 0, 1], [2, 2, 0]))
        want[:, 1] += 3
        want[0, 2] *= 4
        want[1, 0] *= 2
        np.testing.assert_array_equal(np.asarray(x), want)
        mask = want > 0
        lib.met_plus.at(x, asnumpy.array(mask), 1.5)
        np.testing.assert_array_equal(np.asarray(x), want + 1.5 * mask)
    many, counts = rng.integers(0, 10, 50_000), asnumpy.zeros(10, int)
    lib.met_plus.at(counts, many, 1)
    np.testing.assert_array_equal(np.asarray(counts), np.bincount(many, minlength=10))
    small = asnumpy.zeros(3, "float32")  # through float64, and back each time
    lib.met_plus.at(small, [0, 1, 0, 0], 0.1)
    want = np.zeros(3, "float32")
    np.add.at(want, [0, 1, 0, 0], np.float64(0.1))
    np.testing.assert_array_equal(np.asarray(small), want)


def test_at_errors(lib):
    x = asnumpy.zeros(3)
    with pytest.raises(IndexError):
        lib.met_plus.at(x, [3], 1)
    with pytest.raises(ValueError, match="takes a second operand"):
        lib.met_plus.at(x, [0])
    with pytest.raises(ValueError, match="takes a second operand"):
        lib.met_relu.at(x, [0], 1)
    with pytest.raises(TypeError, match="updates an asnumpy array, not a list"):
        lib.met_plus.at([1, 2], [0], 1)
    with pytest.raises(ValueError, match="one or two inputs and one output"):
        lib.met_polar.at(x, [0], 1)
    with pytest.raises(TypeError, match="output 0: Cannot cast"):
        lib.met_plus.at(asnumpy.zeros(3, int), [0], 1.5)
    frozen = asnumpy.zeros(3)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        lib.met_plus.at(frozen, [0], 1)


def test_reduce_where(lib, rng):
    a = rng.integers(-9, 9, (5, 6, 7))
    mask = rng.random((5, 1, 7)) > 0.4
    x = asnumpy.array(a)
    for axis in (0, -1, (0, 2), None):
        got = lib.met_plus.reduce(x, axis=axis, where=asnumpy.array(mask), keepdims=True)
        np.testing.assert_array_equal(
            np.asarray(got), np.add.reduce(a, axis=axis, where=mask, keepdims=True)
        )
        got = lib.met_least.reduce(x, axis=axis, where=mask, initial=5)
        np.testing.assert_array_equal(
            np.asarray(got), np.minimum.reduce(a, axis=axis, where=mask, initial=5)
        )
    with pytest.raises(
        ValueError, match="does not have an identity, so to use a where mask one has to specify"
    ):
        lib.met_least.reduce(x, where=mask)
