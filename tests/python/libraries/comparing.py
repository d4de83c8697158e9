"""A program with a library, once with NumPy's arrays and once with ours: the same results.

A case is a function of the module (numpy or asnumpy). What it returns is compared by value: our
arrays and NumPy's are the same thing here, since the library decides which of them it returns.
"""

import dataclasses

import asnumpy
import numpy


def _is_array(value):
    return isinstance(value, numpy.ndarray | numpy.generic) or type(value) is asnumpy.ndarray


def check_equal(got, expected, rtol):
    """Fails where two results differ, whatever they are made of."""
    if _is_array(got) or _is_array(expected):
        got, expected = numpy.asarray(got), numpy.asarray(expected)
        assert got.dtype == expected.dtype and got.shape == expected.shape
        if got.dtype.kind in "fc":
            numpy.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol)
        else:
            numpy.testing.assert_array_equal(got, expected)
        return
    if isinstance(expected, list | tuple):
        assert type(got) is type(expected) and len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            check_equal(one, other, rtol)
        return
    if isinstance(expected, dict):
        assert got.keys() == expected.keys()
        for key in expected:
            check_equal(got[key], expected[key], rtol)
        return
    if dataclasses.is_dataclass(expected):
        check_equal(dataclasses.astuple(got), dataclasses.astuple(expected), rtol)
        return
    assert type(got) is type(expected), (type(got), type(expected))
    if hasattr(expected, "equals"):  # of pandas, polars, pyarrow
        assert got.equals(expected), f"{got}\n{expected}"
    elif isinstance(expected, float):
        numpy.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol)
    else:
        assert got == expected


def same(case, rtol=1e-12):
    """Runs the case with both modules and compares; returns what ours gave."""
    got = case(asnumpy)
    check_equal(got, case(numpy), rtol)
    return got
