"""inspect.signature of every public function, method and ufunc equals NumPy's."""

import inspect
import pickle

import asnumpy
import numpy as np
import pytest

# NumPy keeps __signature__ off these: they have none to compare with.
WITHOUT = {"fromstring"}
FUNCTIONS = sorted(
    n
    for n in asnumpy.__all__
    if callable(getattr(np, n, None)) and not isinstance(getattr(np, n), type | np.ufunc)
)
UFUNCS = sorted(n for n in asnumpy.__all__ if isinstance(getattr(np, n, None), np.ufunc))
METHODS = sorted(
    n
    for n in dir(np.ndarray)
    if callable(getattr(np.ndarray, n))
    and hasattr(asnumpy.ndarray, n)
    and n not in ("__class__", "__init_subclass__", "__subclasshook__", "__new__", "__init__")
)


def test_enough_names():
    assert len(FUNCTIONS) > 260 and len(UFUNCS) > 90 and len(METHODS) > 120


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name):
    ours, theirs = getattr(asnumpy, name), getattr(np, name)
    assert ours is not theirs or name in ("issubdtype", "isdtype", "min_scalar_type",
                                          "typename", "mintypecode")  # fmt: skip
    if name in WITHOUT:
        return
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert ours.__name__ == theirs.__name__
    assert ours.__doc__


@pytest.mark.parametrize("name", UFUNCS)
def test_ufunc(name):
    ours, theirs = getattr(asnumpy, name), getattr(np, name)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    for method in ("reduce", "accumulate", "reduceat", "outer", "at", "resolve_dtypes"):
        assert str(inspect.signature(getattr(ours, method))) == str(
            inspect.signature(getattr(theirs, method))
        )
    assert pickle.loads(pickle.dumps(ours)) is ours


@pytest.mark.parametrize("name", METHODS)
def test_method(name):
    ours, theirs = getattr(asnumpy.ndarray, name), getattr(np.ndarray, name)
    try:
        expected = str(inspect.signature(theirs))
    except ValueError:
        return
    assert str(inspect.signature(ours)) == expected


def test_every_ndarray_attribute_is_there():
    missing = [n for n in dir(np.ndarray) if not hasattr(asnumpy.ndarray, n)]
    assert missing == []


def test_functions_pickle_by_name():
    for f in (asnumpy.sum, asnumpy.array, asnumpy.median):
        assert pickle.loads(pickle.dumps(f)) is f


def test_python_argument_errors():
    cases = [
        (lambda m: m.sum(), TypeError),
        (lambda m: m.sum([1], foo=3), TypeError),
        (lambda m: m.sum([1], a=[2]), TypeError),
        (lambda m: m.zeros(), TypeError),
        (lambda m: m.array([1], int, True), TypeError),
        (lambda m: m.add(1), TypeError),
        (lambda m: m.add(1, 2, 3, 4), TypeError),
        (lambda m: m.add(1, 2, foo=1), TypeError),
        (lambda m: m.ones(3).sum(0, None, None, False, 0, True, 1), TypeError),
        (lambda m: m.arange(), TypeError),
    ]
    for f, error in cases:
        with pytest.raises(error):
            f(np)
        with pytest.raises(error):
            f(asnumpy)
