"""Random numbers whose seed and offset are tensors: those of the same operator with integers; further distributions."""

import numpy as np
import pytest
from aclnn import AclError, run
from oracle import BF16, LAYOUTS, laid, near, normal

FLOATS = [np.dtype(t) for t in (np.float64, np.float32, np.float16, BF16)]
INTS = [np.dtype(t) for t in ("int8", "uint8", "int16", "int32", "int64")]
same = np.testing.assert_array_equal


def numbers(seed=7, offset=40):
    """The tensors of a seed and an offset."""
    return np.array([seed]), np.array([offset])


def blank(shape, dtype, layout="packed"):
    return laid(np.full(shape, 3).astype(dtype), layout)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("name", "a", "b", "dtypes"), [
    ("InplaceNormal", 1.5, 2.0, FLOATS), ("InplaceUniform", -1.0, 3.0, FLOATS), ("InplaceRandom", -5, 90, FLOATS + INTS),
])  # fmt: skip
def test_in_place(name, a, b, dtypes, layout):
    for dtype in dtypes:
        if dtype == np.uint8:
            a = 0
        for shape in ((3, 50), (17,), ()):
            want, got = blank(shape, dtype), blank(shape, dtype, layout)
            run(name, want, a, b, 7, 42)
            run(name + "Tensor", got, a, b, *numbers(), 2)
            same(got, want)
        other = blank((17,), dtype)
        run(name + "Tensor", other, a, b, *numbers(8), 2)
        run(name, again := blank((17,), dtype), a, b, 7, 42)
        assert (other != again).any()


def test_the_tensors_are_read_when_the_operator_runs():
    seed, offset = numbers()
    first, second = np.empty(9), np.empty(9)
    run("InplaceUniformTensor", first, 0.0, 1.0, seed, offset, 0)
    offset += 100
    run("InplaceUniformTensor", second, 0.0, 1.0, seed, offset, 0)
    assert (first != second).all()
    run("InplaceUniform", first, 0.0, 1.0, 7, 140)
    same(first, second)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS, np.dtype(bool)])
def test_random_without_from_to(dtype):
    top = {"bool": 1, "float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "float64": 2**53}.get(
        dtype.name
    )
    top = np.iinfo(dtype).max if top is None else top
    got, other = np.zeros(4000, dtype), np.zeros(4000, dtype)
    run("InplaceRandomWithoutFromTo", got, 7, 42)
    run("InplaceRandomWithoutFromToTensor", other, *numbers(), 2)
    same(got, other)
    x = got.astype(np.float64)
    assert (x >= 0).all()
    assert (x <= top).all()
    assert (x == np.floor(x)).all()
    assert abs(x.mean() / top - 0.5) < 0.03
    assert x.max() > 0.99 * top
    run("InplaceRandomWithoutFromTo", np.zeros((0, 3), dtype), 7, 42)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_exponential(dtype, layout):
    got, unit = blank((40, 100), dtype, layout), np.empty((40, 100))
    run("SimThreadExponential", got, 4000, 2.5, 7, 3)
    run("InplaceUniform", unit, 0.0, 1.0, 7, 3)
    near(got, -np.log1p(-unit) / 2.5, 1)
    assert abs(got.astype(float).mean() - 0.4) < 0.02


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("replacement", [False, True])
def test_multinomial(dtype, replacement):
    weights = np.abs(normal(3, 20)).astype(dtype)
    want, got = np.zeros((3, 8), np.int64), np.zeros((3, 8), np.int64)
    run("Multinomial", weights, 8, replacement, 7, 42, want)
    run("MultinomialTensor", weights, 8, replacement, *numbers(), 2, got)
    same(got, want)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, BF16])
def test_dropout(dtype):
    x = normal(20, 30, dtype=dtype)
    mask, other = np.zeros(80, np.uint8), np.ones(80, np.uint8)
    run("DropoutGenMaskV2", [20, 30], 0.3, 7, 42, np.float64, other)
    run("DropoutGenMaskV2", [20, 30], 0.3, 7, 42, dtype, mask)
    same(other, mask)
    run("DropoutGenMaskV2Tensor", [20, 30], 0.3, *numbers(), 2, dtype, other)
    same(other, mask)
    out, want = np.zeros_like(x), np.zeros_like(x)
    run("DropoutV3", x, None, 0.3, 7, 42, out, other)
    same(other, mask)
    run("DropoutDoMask", x, mask, 0.3, want)
    same(out, want)
    keep = np.unpackbits(mask, bitorder="little")[:600].reshape(20, 30).astype(bool)
    near(want, np.where(keep, x.astype(float) / 0.7, 0), 4)
    for layout in LAYOUTS:  # a mask of bools, as PyTorch's native_dropout_backward has it
        run("DropoutDoMask", laid(x, layout), laid(keep, layout), 0.3, out)
        same(out, want)


def test_errors():
    x, one = np.zeros(4), np.array([1])
    mask = np.zeros(16, np.uint8)
    run("InplaceNormalTensor", x[:0], 0.0, 1.0, one, one, 0)
    run("SimThreadExponential", x[:0], 0, 1.0, 1, 0)
    for name, args, match in [
        ("InplaceNormalTensor", (x, 0.0, 1.0, np.array([1, 2]), one, 0), "seedTensor has 2 elements"),
        ("InplaceNormalTensor", (x, 0.0, 1.0, one, np.array([1.0]), 0), "offsetTensor has 1 elements of dtype float64"),
        ("InplaceNormalTensor", (x, 0.0, -1.0, one, one, 0), "161002"),
        ("InplaceNormalTensor", (x, 0.0, 1.0, None, one, 0), "161001"),
        ("InplaceUniformTensor", (x, 2.0, 1.0, one, one, 0), "161002"),
        ("InplaceRandomTensor", (x, 0, 5, one, one.astype(np.int32), 0), "dtype int32"),
        ("InplaceRandomWithoutFromToTensor", (x.astype(complex), one, one, 0), "161002"),
        ("InplaceRandomWithoutFromTo", (x.astype(complex), 1, 0), "161002"),
        ("SimThreadExponential", (x, 4, 0.0, 1, 0), "lambda is 0"),
        ("SimThreadExponential", (x, 3, 1.0, 1, 0), "count is 3"),
        ("SimThreadExponential", (x.astype(int), 4, 1.0, 1, 0), "161002"),
        ("MultinomialTensor", (x + 1, 9, False, one, one, 0, np.zeros(9, int)), "9 samples of 4"),
        ("MultinomialTensor", (x + 1, 2, False, one, x, 0, np.zeros(2, int)), "161002"),
        ("DropoutGenMaskV2Tensor", ([4], 2.0, one, one, 0, np.float32, mask), "prob is 2"),
        ("DropoutGenMaskV2Tensor", ([4], 0.5, x, one, 0, np.float32, mask), "seedTensor has 4"),
        ("DropoutV3", (x, x, 0.5, 1, 0, x, mask), "optionalNoiseShape"),
        ("DropoutV3", (x, None, 0.5, 1, 0, x, mask[:8]), "161002"),
        ("DropoutDoMask", (x, np.zeros(3, bool), 0.5, x), "161002"),
    ]:  # fmt: skip
        with pytest.raises(AclError, match=match):
            run(name, *args)
