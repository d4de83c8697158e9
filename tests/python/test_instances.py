"""isinstance(x, asnumpy.ndarray): our arrays and NumPy's; what asks it, and what must not."""

import abc
import collections.abc
import copy
import functools
import pickle
import subprocess
import sys
import threading
import typing
import unittest.mock

import asnumpy as np
import numpy
import pytest
from asnumpy import _core

HOST = [
    numpy.ones(2), numpy.array(["a"]), numpy.array([None]), numpy.array(["2020-01-01"], "M8[D]"), numpy.zeros(2, "i4,f8"),
    numpy.ma.array([1, 2], mask=[0, 1]), numpy.ones(1).view(numpy.recarray), numpy.zeros(2, numpy.longdouble), numpy.rec.array([(1, 2.0)]),
    np.array(["a", "b"]), np.asarray([None]), np.array([1.5]).astype(str), np.to_numpy(np.ones(2)), np.ones(2).to_numpy(),
]  # fmt: skip
OTHERS = [
    1,
    1.5,
    [1.0],
    (1,),
    "a",
    None,
    numpy.float64(1),
    np.float32,
    memoryview(b"a"),
    np.add,
    np.ndarray,
    numpy.ndarray,
]


class Sub(np.ndarray):
    """A class of arrays of ours."""


class HostSub(numpy.ndarray):
    """A class of arrays of NumPy's."""


def kind_of(x):
    match x:
        case np.ndarray():
            return "array"
        case list():
            return "list"
        case _:
            return "other"


@functools.singledispatch
def told(x):
    return "other"


@told.register
def _(x: np.ndarray):
    return "array"


@told.register
def _(x: Sub):
    return "sub"


def test_instances():
    ours = [np.ones(2), np.ones(2).view(Sub), np.arange(3)[1:]]
    for x in [*ours, *HOST, numpy.ones(2).view(HostSub)]:
        assert (
            isinstance(x, np.ndarray)
            and isinstance(x, (int, np.ndarray))
            and isinstance(x, int | np.ndarray)
        )
        assert issubclass(type(x), np.ndarray)
        assert kind_of(x) == "array"
        assert told(x) == ("sub" if type(x) is Sub else "array")
        assert _core._is_array(x) is (type(x) in (np.ndarray, Sub))
    for x in OTHERS:
        assert not isinstance(x, np.ndarray) and not issubclass(type(x), np.ndarray)
        assert kind_of(x) == ("list" if type(x) is list else "other")
        assert told(x) == "other" and not _core._is_array(x)
    for x in ours:
        assert not isinstance(x, numpy.ndarray) and not issubclass(type(x), numpy.ndarray)


def test_subclasses_mean_themselves():
    a = np.ones(2)
    assert isinstance(a.view(Sub), Sub) and issubclass(Sub, Sub)
    for x in [a, numpy.ones(2), numpy.ones(2).view(HostSub)]:
        assert not isinstance(x, Sub) and not issubclass(type(x), Sub)
    assert not issubclass(np.ndarray, Sub)


def test_a_registered_numpy_class_comes_first():
    both = functools.singledispatch(lambda x: "other")
    both.register(np.ndarray, lambda x: "ours")
    both.register(numpy.ma.MaskedArray, lambda x: "masked")
    assert [both(x) for x in (np.ones(1), numpy.ones(1), numpy.ma.ones(1), 1)] == [
        "ours",
        "ours",
        "masked",
        "other",
    ]
    both.register(numpy.ndarray, lambda x: "NumPy's")
    assert [both(x) for x in (np.ones(1), numpy.ones(1), numpy.ones(1).view(HostSub))] == [
        "ours",
        "NumPy's",
        "NumPy's",
    ]


def test_what_says_it_is_another_class():
    assert isinstance(unittest.mock.Mock(spec=np.ndarray), np.ndarray)
    assert isinstance(unittest.mock.Mock(spec=numpy.ndarray), np.ndarray)
    assert not isinstance(unittest.mock.Mock(spec=list), np.ndarray)

    class Broken:
        @property
        def __class__(self):
            raise KeyError("no class")

    with pytest.raises(KeyError, match="no class"):
        isinstance(Broken(), np.ndarray)
    with pytest.raises(TypeError, match="must be a class"):
        issubclass(3, np.ndarray)


def test_bases_with_classes_of_their_own():
    class Abstract(np.ndarray, abc.ABC):
        @abc.abstractmethod
        def unit(self): ...

    class Whole(Abstract):
        def unit(self):
            return "m"

    class Listed(np.ndarray, collections.abc.Sequence): ...

    T = typing.TypeVar("T")

    class Named(np.ndarray, typing.Generic[T]): ...

    assert np.ones(2).view(Whole).unit() == "m"
    assert Abstract.__abstractmethods__ == {"unit"}
    Abstract.register(list)
    assert isinstance([], Abstract) and issubclass(list, Abstract) and not isinstance((), Abstract)
    assert isinstance(np.ones(2).view(Listed), collections.abc.Sequence)
    assert isinstance(np.ones(2).view(Named), np.ndarray) and Named[int].__origin__ is Named


def test_the_class_is_a_class():
    assert type(np.ndarray).__mro__[1:] == (abc.ABCMeta, type, object)
    assert np.ndarray.__mro__ == (np.ndarray, object)
    assert (
        pickle.loads(pickle.dumps(np.ndarray)) is np.ndarray
        and copy.deepcopy(np.ndarray) is np.ndarray
    )
    assert repr(np.ndarray) == "<class 'asnumpy.ndarray'>"
    assert repr(np.ndarray | None) == "asnumpy.ndarray | None"
    with pytest.raises(TypeError):
        type(np.ndarray)("x", (np.ndarray, int), {})


CLASSES_END = """
import gc
import weakref
import asnumpy as np

def made():
    return weakref.ref(type("Short", (np.ndarray,), {}))

references = [made() for _ in range(3)]
for reference in references:
    cls = reference()
    if cls is not None:
        assert isinstance(np.ones(2).view(cls), cls)
del cls
gc.collect()
assert [r() for r in references] == [None] * 3
"""


def test_classes_end():
    """In a process of one thread: without a global lock, CPython 3.13 keeps all classes once it has started another."""
    subprocess.run([sys.executable, "-c", CLASSES_END], check=True)


def test_threads():
    wrong = []

    def ask():
        for _ in range(300):
            cls = type("Short", (np.ndarray,), {})
            if not (
                isinstance(HOST[1], np.ndarray)
                and not isinstance(HOST[0], cls)
                and issubclass(cls, np.ndarray)
            ):
                wrong.append(cls)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_pandas_values():
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    assert isinstance(pandas.Series(["a", "b"]).to_numpy(object), np.ndarray)
    assert isinstance(pandas.Series([1, 2]).to_numpy(), np.ndarray)


def test_ufuncs():
    """What NumPy and libraries have as ufuncs are of the class, too."""
    import numpy

    made = numpy.frompyfunc(abs, 1, 1)
    for f in (np.add, numpy.add, made, np.matmul, np.frompyfunc(abs, 1, 1)):
        assert isinstance(f, np.ufunc) and isinstance(f, (int, np.ufunc))
    for f in (abs, np.sum, numpy.sum, np.ones(1), None):
        assert not isinstance(f, np.ufunc)
    assert issubclass(np.ufunc, np.ufunc) and issubclass(numpy.ufunc, np.ufunc)
    assert not issubclass(int, np.ufunc) and not issubclass(np.ndarray, np.ufunc)
    with pytest.raises(TypeError, match="must be a class"):
        issubclass(1, np.ufunc)


def test_the_process_ends():
    script = "import asnumpy, numpy; class_ = type('S', (asnumpy.ndarray,), {}); isinstance(numpy.ones(1), class_)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
