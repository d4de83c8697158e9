"""Functions in a ufunc's place (asnp_replace): which calls they get, with what, and that all else stays the built-in's."""

import ctypes
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from face import DTYPES, LIBRARY, NONE, Array, Failure, Operand, array, c, number
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import numpy_arrays, same
from test_registry import F32, F64, I64, OPERATOR, Registration

calls = []  # (dtypes, shapes) of the operands of each call of a function below


def seen(num_in, given):
    arrays = [ctypes.c_void_p(given[i]) for i in range(num_in)]
    calls.append([(LIBRARY.asnp_dtype_of(a), LIBRARY.asnp_ndim(a)) for a in arrays])
    return arrays


@OPERATOR
def built_in(num_in, given, num_out, out, context):
    """The ufunc's own: "add", by its name, in its function."""
    arrays = seen(num_in, given)
    handle = ctypes.c_void_p()
    status = LIBRARY.asnp_binary(b"add", *arrays, ctypes.byref(handle))
    if status == 0:
        out[0] = handle.value
    return status


@OPERATOR
def first_again(num_in, given, num_out, out, context):
    """A share of the first operand: memory that a result must not have."""
    handle = ctypes.c_void_p()
    status = LIBRARY.asnp_share(seen(num_in, given)[0], ctypes.byref(handle))
    out[0] = handle.value
    return status


@OPERATOR
def nothing(num_in, given, num_out, out, context):
    seen(num_in, given)
    return 0


@OPERATOR
def fails(num_in, given, num_out, out, context):
    return LIBRARY.asnp_fail(4, b"index 7 of 3")


@contextmanager
def replaced(function, name=b"add", device=None, dtype=NONE, priority=1):
    r = Registration(name, device, dtype, priority, ctypes.cast(function, ctypes.c_void_p), None, None, b"tests",
                     b"test_replaced.py", 1)  # fmt: skip
    c.register(ctypes.byref(r))
    try:
        c.replace(name, device, dtype, priority, 1)
        del calls[:]
        yield
    finally:
        c.unregister(name, device, dtype, priority)


def operand(x):
    return Operand(x.handle, number(0)) if isinstance(x, Array) else Operand(None, number(x))


def ufunc(name, *given):
    out = (ctypes.c_void_p * 1)()
    c.called.add("asnp_ufunc")
    status = LIBRARY.asnp_ufunc(
        name, len(given), (Operand * len(given))(*map(operand, given)), 1, out
    )
    if status:
        assert not out[0]
        raise Failure(status, LIBRARY.asnp_message().decode())
    return Array(out[0])


NUMERIC = ("int8", "int32", "uint16", "int64", "float16", "float32", "float64", "complex128")


@given(numpy_arrays(dtypes=NUMERIC, least=1, most=3), st.sampled_from(NUMERIC), st.booleans())
@settings(deadline=None)
def test_operands_come_in_the_loops_dtypes(x, dtype, broadcast):
    y = np.ones(x.shape[-1:] if broadcast else x.shape, dtype)
    want = x + y
    with replaced(built_in):
        same(c.add(array(x), array(y)), want, rtol=0)
    loop = DTYPES[want.dtype.name]
    assert calls == [[(loop, x.ndim), (loop, y.ndim)]]


def test_each_function_of_c_asks():
    a = array(np.arange(6, dtype=np.float32).reshape(2, 3))
    want = np.arange(6, dtype=np.float32).reshape(2, 3)
    with replaced(built_in):
        same(c.add(a, a), want + want)
        same(c.binary(b"add", a, a), want + want)
        same(c.binary_number(b"add", a, number(2)), want + 2)
        same(c.number_binary(b"add", number(2.5), a), want + np.float32(2.5))
        same(ufunc(b"add", a, a), want + want)
        assert len(calls) == 5 and calls[2] == [(F32, 2), (F32, 0)]
        # asnp_call takes the registration as ever, and its function reaches the built-in, too
        given, out = (ctypes.c_void_p * 2)(a.handle, a.handle), (ctypes.c_void_p * 1)()
        assert LIBRARY.asnp_call(b"add", 2, given, 1, out) == 0
        same(Array(out[0]), want + want)
        assert len(calls) == 6
        same(c.subtract(a, a), want - want)
        assert len(calls) == 6
    same(c.add(a, a), want + want)
    assert len(calls) == 6


def into(out, *given, where=None):
    c.called.add("asnp_ufunc_into")
    outs = (ctypes.c_void_p * 1)(out.handle)
    status = LIBRARY.asnp_ufunc_into(b"add", 2, (Operand * 2)(*map(operand, given)), 1, outs,
                                     None if where is None else where.handle)  # fmt: skip
    if status:
        raise Failure(status, LIBRARY.asnp_message().decode())


def test_into_arrays():
    """Where it may, overlapping, of another dtype; refusals are the built-in's, without a call."""
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    mask = x % 3 == 0
    with replaced(built_in, dtype=F32):
        a, out = array(x), array(np.full((3, 4), -1.0))
        into(out, a, 1, where=array(mask))
        same(out, np.where(mask, x + 1.0, np.float64(-1)).astype(np.float64))
        into(a, a, a)
        same(a, x + x)
        assert len(calls) == 2
        for wrong, what in (
            (np.zeros((2, 4), np.float32), "broadcast"),
            (np.zeros((3, 4), np.int32), "cast"),
        ):
            with pytest.raises(Failure, match=what):
                into(array(wrong), a, a)
        into(
            array(np.zeros((3, 4))), array(x.astype(np.float64)), 1
        )  # registered for float32 alone
        assert len(calls) == 2


def test_what_it_is_registered_for():
    single, double_ = array(np.ones(3, np.float32)), array(np.ones(3))
    integers = array(np.ones(3, np.int32))
    with replaced(nothing, device=b"cpu:5"), replaced(built_in, name=b"aten::add", dtype=F32):
        c.add(single, single), c.add(double_, double_), c.add(single, double_)
        assert len(calls) == 1
        c.add(integers, integers)
        c.add(integers, single)  # float64
        assert len(calls) == 1
        with replaced(first_again, device=b"cpu", dtype=F32, priority=-3):  # more specific
            same(c.add(single, array(np.full(3, 5, np.float32))), np.ones(3, np.float32))
        c.replace(b"aten::add", None, F32, 1, 0)
        del calls[:]
        c.add(single, single)
        assert not calls


def test_results_are_what_the_ufunc_makes():
    a = array(np.ones(3, np.float32))
    with replaced(first_again):
        r = c.add(a, a)
        into(r, r, 41)  # its own memory: the operand stays
        same(a, np.ones(3, np.float32))
        with pytest.raises(
            Failure,
            match=r"gave an array of float32 with shape \(3,\); it must give float32 with shape \(2,3\)",
        ) as error:
            c.add(a, array(np.ones((2, 3), np.float32)))
        assert error.value.kind == "TypeError"
    with replaced(first_again, name=b"less"), pytest.raises(Failure, match="it must give bool"):
        c.binary(b"less", a, a)
    with (
        replaced(nothing),
        pytest.raises(Failure, match="add: the function that replaces it gave no result 0"),
    ):
        c.add(a, a)
    with replaced(fails), pytest.raises(Failure, match="index 7 of 3") as error:
        c.add(a, a)
    assert error.value.kind == "IndexError"
    with replaced(built_in):
        with pytest.raises(Failure, match="broadcast"):
            c.add(a, array(np.ones(4, np.float32)))
        with pytest.raises(Failure, match="takes 2 arguments"):
            c.unary(b"add", a)
        assert not calls


def test_what_replaces_nothing():
    with pytest.raises(Failure, match="'add' is not registered so with priority 1"):
        c.replace(b"add", None, NONE, 1, 1)
    for name, priority, why in ((b"spam", 1, "replaces nothing: names of elementwise"), (b"aten::mm", 1, "elementwise"),
                                (b"where", 1, "elementwise"), (b"add", -1, "comes before priority -1 for everything")):  # fmt: skip
        with (
            pytest.raises(Failure, match=why) as error,
            replaced(built_in, name, priority=priority),
        ):
            pass
        assert error.value.kind == "ValueError"
    with replaced(built_in, dtype=I64, priority=-1):
        c.add(array(np.arange(3)), array(np.arange(3)))
        assert calls == [[(I64, 1), (I64, 1)]]
    with replaced(built_in, name=b"divmod", dtype=F64):  # one result of two
        a = array(np.ones(3))
        out = (ctypes.c_void_p * 2)()
        status = LIBRARY.asnp_ufunc(b"divmod", 2, (Operand * 2)(operand(a), operand(a)), 2, out)
        assert status and not any(out)
        assert "gave no result 1" in LIBRARY.asnp_message().decode()


def test_threads_have_their_own():
    """While one thread's function runs, another thread's call is replaced as ever."""
    a = array(np.ones(4, np.float32))
    with replaced(built_in):

        def work():
            for _ in range(50):
                same(c.add(a, a), np.full(4, 2, np.float32))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert len(calls) == 200
