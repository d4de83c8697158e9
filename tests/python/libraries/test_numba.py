"""Numba's compiled functions take our arrays, also as globals, and our module in NumPy's place."""

import asnumpy
import numpy
import pytest
from libraries.comparing import same

numba = pytest.importorskip("numba")

table = asnumpy.arange(5.0)


@numba.njit
def total(x):
    result = 0.0
    for value in x:
        result += value
    return result


@numba.njit
def with_global(x):
    return x + table


@numba.njit
def with_module(n):
    x = asnumpy.zeros(n)
    for i in range(n):
        x[i] = asnumpy.sin(i)
    return x + asnumpy.linalg.norm(x)


@numba.njit
def expression(x, y):
    return (x * 2 + y).sum() + numpy.dot(x, y) + x[1:].max()


@numba.njit
def rebinds(x, n):
    for _ in range(n):
        x = x + 1
    return x


@numba.njit
def doubles(x):
    for i in range(x.size):
        x[i] *= 2


@numba.vectorize
def plus(a, b):
    return a + b


@numba.guvectorize(["(float64[:], float64[:])"], "(n)->(n)")
def twice(a, out):
    for i in range(a.shape[0]):
        out[i] = a[i] * 2


CASES = {
    "loop": lambda np: total(np.arange(5.0)),
    "a view": lambda np: total(np.arange(10.0)[::2]),
    "not computed yet": lambda np: total(np.arange(5.0) * 2 + 1),
    "global": lambda np: with_global(np.arange(5.0)),
    "expression": lambda np: expression(np.arange(5.0), np.ones(5)),
    "mixed with NumPy's": lambda np: expression(np.arange(5.0), numpy.ones(5)),
    "rebound": lambda np: rebinds(np.arange(5.0), 2),
    "two dimensions": lambda np: total(np.ones((3, 4)).ravel()),
    "vectorize": lambda np: plus(np.arange(3.0), 1.0),
    "guvectorize": lambda np: twice(np.arange(3.0)),
    "integers": lambda np: rebinds(np.arange(5), 1),
    "float32": lambda np: rebinds(np.arange(3.0).astype(np.float32), 1),
}


@pytest.mark.parametrize("case", CASES)
def test_same_as_with_numpy(case):
    same(CASES[case])


def test_the_module_is_numpy_in_a_compiled_function():
    expected = numpy.sin(numpy.arange(4.0))
    numpy.testing.assert_allclose(with_module(4), expected + numpy.linalg.norm(expected))


def test_writes_reach_the_array():
    x = asnumpy.arange(3.0)
    if not x.device.startswith("cpu"):
        with pytest.raises(
            numba.TypingError, match="readonly"
        ):  # a copy, which cannot be written to
            doubles(x)
        return
    doubles(x)
    assert (x + 1).tolist() == [1.0, 3.0, 5.0]


def test_a_function_that_was_compiled_for_numpys_arrays():
    doubles(numpy.ones(2))
    assert total(numpy.ones(3)) == total(asnumpy.ones(3)) == 3.0


def test_an_array_that_cannot_be_had_raises(monkeypatch):
    def fails(value):
        raise MemoryError("no memory for a copy")

    assert total(asnumpy.ones(3)) == 3.0  # compiled: the next call only takes its argument
    monkeypatch.setattr("asnumpy._host_values.host_array", fails)
    with pytest.raises(MemoryError, match="for a copy"):
        total(asnumpy.ones(3))
