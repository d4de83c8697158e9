"""Operators in a ufunc's place (`ops.register(..., replace=True)`): each way to call the ufunc, and only those."""

import contextlib
import gc
import operator
import sys
import threading

import asnumpy as np
import numpy
import pytest
from asnumpy import ops
from conftest import SINGLE_OPERATORS


@contextlib.contextmanager
def instead(name, function, dtype="float32", register=None, **key):
    (register or ops.register)(name, function, dtype=dtype, replace=True, **key)
    try:
        yield
    finally:
        key.setdefault("priority", 1 if register else 0)
        ops.unregister(name, dtype=dtype, **key)


def plus_100(a, b):
    return np.add(a, b) + np.float32(100)


def built_in_plus_100(a, b):
    """As above, by operations that nothing replaces here."""
    return np.subtract(np.subtract(a, np.negative(b)), np.float32(-100))


A = numpy.arange(6, dtype="f4").reshape(2, 3)
B = numpy.array([10, 20, 30], "f4")
WAYS = {
    "call": lambda a, b: np.add(a, b),
    "operator": lambda a, b: a + b,
    "keywords": lambda a, b: np.add(a, b, dtype="f4", casting="no"),
    "number": lambda a, b: a + 10 - 10 + b - 100,
    "beside NumPy's": lambda a, b: np.add(a, b.to_numpy()),
    "method": lambda a, b: a.__add__(b),
    "reflected": lambda a, b: b.__radd__(a),
    "method of operator": lambda a, b: operator.add(a, b),
    "views": lambda a, b: (a.T + b[:, None]).T,
    "0-d": lambda a, b: np.stack(
        [np.stack([a[i, j, ...] + b[j, ...] for j in range(3)]) for i in range(2)]
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_call_it(way):
    a, b = np.array(A), np.array(B)
    call = WAYS[way]
    expected = A + B
    numpy.testing.assert_array_equal(call(a, b), expected - 100 * (way == "number"))
    with instead("add", built_in_plus_100):
        got = call(a, b)
        assert got.dtype == numpy.float32
        numpy.testing.assert_array_equal(got, expected + 100 * (1 + (way == "number")) - 100 * (way == "number"))  # fmt: skip
    numpy.testing.assert_array_equal(call(a, b), expected - 100 * (way == "number"))


def test_it_writes_where_the_call_says():
    a, b = np.array(A), np.array(B)
    with instead("add", plus_100):
        c = a + 0  # another
        c -= 100
        c += b
        numpy.testing.assert_array_equal(c, A + B + 100)
        out = np.zeros((2, 3), "f8")
        assert np.add(a, b, out=out) is out
        numpy.testing.assert_array_equal(out, A + B + 100)
        theirs = numpy.zeros((2, 3), "f4")
        assert np.add(a, b, out=theirs) is theirs
        numpy.testing.assert_array_equal(theirs, A + B + 100)
        mask = numpy.array([[True, False, True], [False, True, False]])
        out = np.full((2, 3), -1, "f4")
        np.add(a, b, out=out, where=np.array(mask))
        numpy.testing.assert_array_equal(out, numpy.where(mask, A + B + 100, -1))
        with pytest.warns(UserWarning, match="without 'out'"):
            got = np.add(a, b, where=np.array(mask)).to_numpy()
        numpy.testing.assert_array_equal(got[mask], (A + B + 100)[mask])
        assert np.add(a, b, order="F").flags.f_contiguous
        np.add(a[:, :2], 1, out=a[:, 1:])  # over itself
        numpy.testing.assert_array_equal(a[:, 1:], A[:, :2] + 101)
        with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output"):
            np.add(b, b, out=np.zeros(3, "i4"))
        with pytest.raises(ValueError, match="broadcast"):
            np.add(b, b, out=np.zeros(2, "f4"))
        with pytest.raises(ValueError, match="read-only"):
            fixed = np.zeros(3, "f4")
            fixed.flags.writeable = False
            np.add(b, b, out=fixed)


def test_only_for_its_dtype():
    """The loop's, after promotion."""
    seen = []

    def spy(a, b):
        seen.append((a.dtype.name, b.dtype.name, a.shape, b.shape))
        return np.add(a, b)

    f4, f8, i1 = np.ones(3, "f4"), np.ones((2, 1)), np.ones(3, "i1")
    with instead("add", spy):
        f4 + 1, f4 + i1, np.add(f8, f8, dtype="f4"), 2.5 + f4, f4 + True, [1, 2, 3] + f4[0]
        assert [s[:2] for s in seen] == [("float32", "float32")] * 5
        assert [s[2:] for s in seen] == [
            ((3,), ()), ((3,), (3,)), ((2, 1), (2, 1)), ((), (3,)), ((3,), ()),
        ]  # fmt: skip
        seen.clear()
        f4 + f8, i1 + i1, f4 + numpy.float64(1), np.add(f4, f4, dtype="f8"), f4 - f4, f4 * 2
        numpy.float32(1) + numpy.float32(2), np.add(1.5, 2.5)
        assert not seen
    with instead("add", spy, dtype=None, priority=1):
        i1 + i1, f8 + f8
        assert [s[:2] for s in seen] == [("int8", "int8"), ("float64", "float64")]


def test_reductions_and_other_methods_stay():
    a = np.array(A)
    with instead("add", lambda a, b: built_in_plus_100(a, b)):
        assert a.sum() == A.sum() == np.add.reduce(a, axis=None) == np.sum(a)
        numpy.testing.assert_array_equal(np.add.accumulate(a, axis=1), A.cumsum(1))
        numpy.testing.assert_array_equal(np.add.reduceat(a, [0, 1], axis=0), A)
        b = np.array(A)
        np.add.at(b, 0, 1)
        numpy.testing.assert_array_equal(b[0], A[0] + 1)
        outer = np.add.outer(a[0], a[1])  # is a call
        numpy.testing.assert_array_equal(outer, numpy.add.outer(A[0], A[1]) + 100)
        assert a.mean() == A.mean() and (a @ a.T)[0, 0] == (A @ A.T)[0, 0]


def test_it_reaches_the_built_in_and_others_reach_it():
    calls = []

    def add(a, b):
        calls.append("add")
        return a + b

    def multiply(a, b):
        calls.append("multiply")
        return a * b + 1  # the other's replacement

    x = np.ones(4, "f4")
    with instead("add", add), instead("multiply", multiply):
        assert (x * x).tolist() == [2, 2, 2, 2]
        assert calls == ["multiply", "add"]
        assert (x + x).tolist() == [2, 2, 2, 2]


UNARY = {
    "negative": (operator.neg, lambda a: np.subtract(5, a)),
    "absolute": (abs, lambda a: np.subtract(5, a)),
    "sqrt": (np.sqrt, lambda a: np.subtract(5, a)),
    "exp": (lambda a: np.exp(a, out=np.zeros_like(a)), lambda a: np.subtract(5, a)),
}


@pytest.mark.parametrize("name", UNARY)
def test_of_one_operand(name):
    call, function = UNARY[name]
    a = np.array(A)
    plain = call(a).to_numpy()
    with instead(name, function):
        numpy.testing.assert_array_equal(call(a), 5 - A)
    numpy.testing.assert_array_equal(call(a), plain)


def test_comparisons_powers_pairs_and_three():
    a, b = np.array(A), np.array(B)
    with instead("less", lambda a, b: np.greater(a, b)):
        assert (a < b).to_numpy().tolist() == (A > B).tolist()
        assert (b > a).to_numpy().tolist() == (B > A).tolist(), "greater is another ufunc"
    with instead("power", lambda a, b: np.add(a, b)):
        for exponent in (2, 0.5, 3, -1):
            numpy.testing.assert_array_equal(a**exponent, A + numpy.float32(exponent))
        c = a.copy()
        c **= 2
        numpy.testing.assert_array_equal(c, A + 2)
        numpy.testing.assert_array_equal(np.power(a, 2), A + 2)
        assert (np.ones(3) * 3) ** 2 == pytest.approx([9, 9, 9])
    with instead("divmod", lambda a, b: (np.add(a, b), np.subtract(a, b))):
        quotient, remainder = divmod(a, b)
        numpy.testing.assert_array_equal(quotient, A + B)
        numpy.testing.assert_array_equal(remainder, A - B)
        first, second = np.zeros((2, 3), "f4"), np.zeros((2, 3), "f4")
        np.divmod(a, b, out=(first, second))
        numpy.testing.assert_array_equal(first, A + B)
        numpy.testing.assert_array_equal(second, A - B)
    with instead("clip", lambda x, low, high: np.add(np.add(x, low), high)):
        numpy.testing.assert_array_equal(np.clip(a, 1, 2), A + 3)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a, b: None, r"add: <function .*>, which replaces it, gave a NoneType; it must give an array of float32 with shape \(2, ?3\)"),
        (lambda a, b: np.zeros((2, 3)), r"gave an array of float64 with shape \(2, ?3\); it must give float32"),
        (lambda a, b: np.zeros(3, "f4"), r"gave an array of float32 with shape \(3,\); it must give float32 with shape \(2, ?3\)"),
        (lambda a, b: [1, 2], r"gave a list"),
        (lambda a, b: (a, b), r"gave a tuple"),
    ],
)  # fmt: skip
def test_results_of_another_kind_are_refused(function, message):
    a, b = np.array(A), np.array(B)
    with instead("add", function):
        with pytest.raises(TypeError, match=message):
            a + b
        c = a.copy()
        with pytest.raises(TypeError, match=message):
            c += b
        numpy.testing.assert_array_equal(c, A)
    with (
        instead("divmod", lambda a, b: (a, b, a)),
        pytest.raises(TypeError, match="divmod: .*gave a wrong tuple"),
    ):
        divmod(a, b)


def test_its_exceptions_are_the_calls():
    class Mine(Exception):
        pass

    def fails(a, b):
        raise Mine("why")

    a = np.array(A)
    with instead("add", fails):
        for call in (lambda: a + a, lambda: np.add(a, 1, out=a), lambda: 1 + a):
            with pytest.raises(Mine, match="why"):
                call()
        with pytest.raises(Mine):
            a += 1
        assert (a * 2 - a).to_numpy().tolist() == A.tolist()
        assert (np.ones(2) + 1).tolist() == [2, 2]
    assert (a + a).to_numpy().tolist() == (2 * A).tolist()
    with instead("add", lambda a, b: 1 / 0), pytest.raises(ZeroDivisionError):
        sum([a, a])


def test_results_that_are_an_operand_are_copied():
    a, b = np.array(A), np.array(B)
    with instead("add", lambda a, b: a):
        c = a + b
        c[...] = 0
        numpy.testing.assert_array_equal(a, A)
        d = a.T + np.float32(1)
        d[0, 0] = 99
        numpy.testing.assert_array_equal(a, A)
    with instead("add", lambda a, b: numpy.add(a.to_numpy(), b.to_numpy())):
        got = a + b
        assert type(got) is np.ndarray
        numpy.testing.assert_array_equal(got, A + B)


def test_the_most_specific_and_the_newest_rule():
    a = np.ones(3, "f4")
    with instead("add", lambda a, b: np.subtract(a, b), dtype=None, priority=1):
        assert (a + a).tolist() == [0, 0, 0]
        with instead("aten::add", lambda a, b: np.multiply(a, 7), register=ops.register_aten_op):
            assert (a + a).tolist() == [7, 7, 7]
            with instead("add", lambda a, b: np.multiply(a, 9), priority=5):
                assert (a + a).tolist() == [9, 9, 9]
            assert (a + a).tolist() == [7, 7, 7]
        assert (a + a).tolist() == [0, 0, 0]
    assert (a + a).tolist() == [2, 2, 2]


def test_for_a_device():
    a = np.ones(3, "f4")
    here = a.device.partition(":")[0]
    with instead("add", lambda a, b: np.multiply(a, 7), device=here):
        assert (a + a).tolist() == [7, 7, 7]
    other = "npu" if here == "cpu" else "cpu"
    with instead("add", lambda a, b: np.multiply(a, 7), device=other):
        assert (a + a).tolist() == [2, 2, 2]


def test_what_cannot_be_replaced():
    def mine(*operands):
        return operands[0]

    with pytest.raises(ValueError, match="'matmul' replaces nothing: matmul is a generalised"):
        ops.register("matmul", mine, replace=True)
    with pytest.raises(ValueError, match="'mine' replaces nothing: replace=True is for the names"):
        ops.register("mine", mine, replace=True)
    with pytest.raises(TypeError, match="replace is a str; it must be a bool"):
        ops.register("add", mine, dtype="f4", replace="yes")
    with pytest.raises(TypeError, match="a int cannot be called"):
        ops.register("add", 3, dtype="f4", replace=True)
    assert (np.ones(2, "f4") + 1).tolist() == [2, 2]


@pytest.mark.skipif(SINGLE_OPERATORS, reason="single operators form no programs")
def test_programs_stop_before_it_and_go_on_behind():
    a, b = np.array(numpy.full((300, 300), 2, "f4")), np.array(numpy.ones((300, 300), "f4"))
    shapes = []

    def mine(x, y):
        shapes.append(x.shape)
        return np.subtract(x, y)

    with instead("add", mine):
        got = ((a * 3 - b) + b * 2) * 2
        assert shapes == [(300, 300)]
        assert (got == 6).all()


def test_a_traced_function_has_those_of_its_time():
    traced = np.jit(lambda x: (x + x) * 2)
    x = np.ones(5, "f4")
    assert traced(x).tolist() == [4] * 5
    with instead("add", lambda a, b: np.multiply(a, 10)):
        for _ in range(3):
            assert traced(x).tolist() == [20] * 5
    assert traced(x).tolist() == [4] * 5


def test_threads_call_while_others_register():
    a = np.ones(50, "f4")
    wrong, stop = [], threading.Event()

    def calls():
        while not stop.is_set():
            got = set((a + a).tolist())
            if got not in ({2.0}, {7.0}):
                wrong.append(got)

    threads = [threading.Thread(target=calls) for _ in range(2)]
    for t in threads:
        t.start()
    for _ in range(20):
        with instead("add", lambda a, b: np.multiply(a, 7)):
            a + a
    stop.set()
    for t in threads:
        t.join()
    assert not wrong
    assert (a + a).tolist() == [2.0] * 50


def test_another_thread_is_not_inside():
    """That one thread runs the implementation does not make it the built-in for another."""
    a, results = np.ones(3, "f4"), []

    def mine(x, y):
        other = threading.Thread(target=lambda: results.append(outer(x)))
        if threading.current_thread() is threading.main_thread():
            other.start()
            other.join()
        return np.multiply(x, 7)

    def outer(x):
        return (np.array(x) + 1).tolist()

    with instead("add", mine):
        assert (a + 1).tolist() == [7, 7, 7]
    assert results == [[7, 7, 7]]


def test_nothing_is_kept():
    class Big:
        def __call__(self, a, b):
            return np.subtract(a, b)

    big = Big()
    a = np.ones(3, "f4")
    before = sys.getrefcount(big)
    for _ in range(5):
        with instead("add", big):
            a + a
            with contextlib.suppress(TypeError):
                np.add(a, "text")
    gc.collect()
    assert sys.getrefcount(big) == before
