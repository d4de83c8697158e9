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


@pytest.mark.parametrize("name", FUNCTIONS)
def test_classes_bind_functions_as_numpys(name):
    """A function that is an attribute of a class gets the instance, where NumPy's does (zeros does not)."""

    def bound(function):
        made = type("Holder", (), {"function": function})()
        return made.function is not function

    assert bound(getattr(asnumpy, name)) == bound(getattr(np, name))


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
    private = ("_set_dtype", "_set_shape")  # NumPy's own modules use them, from 2.5 on
    missing = [n for n in dir(np.ndarray) if not hasattr(asnumpy.ndarray, n) and n not in private]
    assert missing == []


# ---- every module and class, __text_signature__ too

MODULES = [
    "", "linalg", "fft", "random", "polynomial", "polynomial.polynomial", "polynomial.chebyshev",
    "polynomial.legendre", "polynomial.hermite", "polynomial.hermite_e", "polynomial.laguerre",
    "polynomial.polyutils", "lib", "lib.stride_tricks", "lib.array_utils", "lib.scimath", "emath", "testing",
]  # fmt: skip
# Where NumPy has none, or one that is a matter of how its class is made:
# errstate's shows the address of a private object; fromstring, normalize_axis_index, Generator's and
# SeedSequence's pickling have none; ufunc is shown as if it could be called.
ELSEWHERE = {
    ".errstate", ".fromstring", ".ufunc", "lib.array_utils.normalize_axis_index",
    "random.SeedSequence.__reduce__", "random.Generator.__getstate__",
}  # fmt: skip
SKIPPED = {"__class__", "__init_subclass__", "__subclasshook__", "__new__", "__init__"}


def member(root, path):
    for part in filter(None, path.split(".")):
        root = getattr(root, part)
    return root


def pairs(path):
    """(name, ours, NumPy's) of the callables of a module and of its classes."""
    ours, theirs = member(asnumpy, path), member(np, path)
    for name in dir(theirs):
        own, his = getattr(ours, name, None), getattr(theirs, name)
        if name.startswith("_") or own is None or own is his or not callable(his):
            continue
        yield f"{path}.{name}", own, his
        if isinstance(own, type) and isinstance(his, type):
            for method in dir(his):
                public = not method.startswith("_") or method.endswith("__")
                same = getattr(own, method, None) is getattr(his, method, None)
                both = hasattr(own, method) and callable(getattr(his, method, None))
                if public and both and not same and method not in SKIPPED:
                    yield f"{path}.{name}.{method}", getattr(own, method), getattr(his, method)


def signature(x):
    try:
        return str(inspect.signature(x))
    except (ValueError, TypeError):
        return None


@pytest.mark.parametrize("path", MODULES)
def test_everything_in(path):
    count = 0
    for where, ours, theirs in pairs(path):
        if where in ELSEWHERE or where.endswith("cython__"):
            continue
        count += 1
        expected = signature(theirs)
        if expected is not None:
            assert signature(ours) == expected, where
        text = getattr(theirs, "__text_signature__", None)
        # Classes and functions written in Python have none of their own.
        in_python = type(ours) is type(signature) or hasattr(ours, "__wrapped__")
        if text is not None and not in_python and not isinstance(ours, type):
            assert ours.__text_signature__ == " ".join(text.split()).replace(",)", ")").replace(
                "( ", "("
            ).replace(", )", ")"), where
    assert count or path == "lib"


def test_bound_methods_of_ufuncs():
    for name in ("add", "sin", "matmul", "divmod"):
        for method in (m for m in dir(np.ufunc) if not m.startswith("_")):
            theirs = getattr(getattr(np, name), method)
            if callable(theirs):
                ours = getattr(getattr(asnumpy, name), method)
                assert signature(ours) == signature(theirs)
                assert ours.__text_signature__ == theirs.__text_signature__


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
