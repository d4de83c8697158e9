"""Elementary functions of data with gaps (NaN, infinities): what stands between the gaps is what stands there in data
without them, bit for bit, and exceptions are those of the elements alone (src/device/cpu/math/vmath.inc)."""

import asnumpy as np
import numpy
import pytest
from conftest import SINGLE_OPERATORS

UNARY = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arctanh",
    "cbrt",
    "sqrt",
]
BINARY = [
    "power",
    "hypot",
    "arctan2",
    "logaddexp",
    "logaddexp2",
    "floor_divide",
    "remainder",
    "fmod",
]
# Blocks are of 1024 or 2048 elements; calls of fewer than 256 remember nothing.
GAPS = {
    "first": lambda n: [0],
    "first block": lambda n: range(0, min(n, 900), 7),
    "some": lambda n: range(3, n, 31),
    "last": lambda n: [n - 1],
    "none": lambda n: [],
}


def values(n, dtype):
    return numpy.random.default_rng(n).uniform(0.1, 0.9, n).astype(dtype)


@pytest.mark.parametrize("gap", [numpy.nan, numpy.inf])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", UNARY + BINARY)
def test_between_the_gaps(name, dtype, gap):
    function, theirs = getattr(np, name), getattr(numpy, name)
    for n in (100, 300, 5000, 40_001):
        x = values(n, dtype)
        more = (np.asarray(values(n + 1, dtype)[1:]),) if name in BINARY else ()
        whole = numpy.asarray(function(np.asarray(x), *more))
        for where in GAPS.values():  # each after what the one before left
            at = list(where(n))
            holed = x.copy()
            holed[at] = gap
            with numpy.errstate(all="ignore"), np.errstate(all="ignore"):
                expected = theirs(holed, *map(numpy.asarray, more))
                result = numpy.asarray(function(np.asarray(holed), *more))
            kept = numpy.ones(n, bool)
            kept[at] = False
            assert result[kept].tobytes() == whole[kept].tobytes()
            numpy.testing.assert_allclose(result[at], expected[at], rtol=1e-5)


@pytest.mark.skipif(SINGLE_OPERATORS, reason="single operators report no exceptions")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_exceptions_are_of_the_elements(dtype):
    holed, whole, wrong = (values(5000, dtype) for _ in range(3))
    holed[::31], wrong[4500] = numpy.nan, 0
    with np.errstate(all="raise"):
        for _ in range(3):
            for x in (holed, whole, holed):
                numpy.asarray(np.log(np.asarray(x)))
            with pytest.raises(FloatingPointError, match="divide by zero"):
                numpy.asarray(np.log(np.asarray(wrong)))
