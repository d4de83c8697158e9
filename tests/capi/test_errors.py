"""What the face refuses, with the kind and the sentence; NULL for every pointer; what was called."""

import ctypes

import numpy as np
import pytest
from face import (
    DTYPES,
    FLATTENED,
    LIBRARY,
    NONE,
    Failure,
    Index,
    Number,
    adopt,
    array,
    axes,
    c,
    extents,
    handles,
    indices,
    many,
    number,
    operand,
    operands,
    ufunc,
)  # fmt: skip

I32, F64, U8, BOOL = (DTYPES[d] for d in ("int32", "float64", "uint8", "bool"))


def refusals():
    a, b = array(np.zeros((2, 3))), array(np.zeros(4))
    readonly = c.broadcast_to(b, 2, extents(2, 4))
    whole = array(np.arange(3))
    z = array(np.zeros(2, complex))
    mask = array(np.zeros(3, bool))
    return [
        ("TypeError", "99 is no dtype", lambda: c.zeros(99, 0, None)),
        ("ValueError", "ndim is -1; it may be 0 to 64", lambda: c.zeros(F64, -1, None)),
        ("ValueError", "negative", lambda: c.zeros(F64, 1, extents(-3))),
        ("ValueError", "negative", lambda: c.adopt(F64, 1, extents(-3), extents(8), 8, None, None)),
        ("ValueError", "negative", lambda: c.from_host(F64, 2, extents(3, -3), extents(8, 8), 8)),
        ("OverflowError", None, lambda: c.full(U8, 0, None, number(300))),
        ("ValueError", "a number's kind is 0", lambda: c.full(U8, 0, None, Number())),
        ("ValueError", "step is 0", lambda: c.arange(number(0), number(1), number(0), NONE)),
        ("TypeError", "not complex", lambda: c.arange(number(0), number(1j), number(1), NONE)),
        ("TypeError", "arange of bool", lambda: c.arange(number(0), number(2), number(1), BOOL)),
        ("ValueError", "too many|Maximum", lambda: c.arange(number(0.0), number(1e30), number(1.0), NONE)),
        ("ValueError", "num is -1", lambda: c.linspace(0.0, 1.0, -1)),
        ("ValueError", "48 bytes, the target 8", lambda: c.to_host(a, None, 8)),
        ("ValueError", "not aligned", lambda: adopt(np.zeros(9, np.uint8)[1:].view(np.float64))),
        ("ValueError", "neither 0 nor 1", lambda: adopt(np.full(3, 7, np.uint8).view(bool))),
        ("ValueError", "there is no dtype 'real'", lambda: c.dtype_from_name("real", ctypes.byref(ctypes.c_int32()))),
        ("AxisError", "axis 2 is out of bounds", lambda: c.slice(a, 2, 0, 1, 1)),
        ("ValueError", "step cannot be zero", lambda: c.slice(a, 0, 0, 1, 0)),
        ("IndexError", "index 3 is out of bounds for axis 1 with size 3", lambda: c.pick(a, 1, 3)),
        ("ValueError", "axis 0 is listed twice", lambda: c.transpose(a, axes(0, 0))),
        ("ValueError", "listed twice", lambda: c.flip(a, 2, axes(1, -1))),
        ("ValueError", "num_axes is -2", lambda: c.flip(a, -2, axes(1))),
        ("ValueError", "squeeze", lambda: c.squeeze(a, 1, axes(0))),
        ("ValueError", None, lambda: c.diagonal(a, 0, 1, -1)),
        ("TypeError", "float64 are no complex numbers", lambda: c.real(a)),
        ("ValueError", None, lambda: c.broadcast_to(a, 1, extents(5))),
        ("ValueError", "cannot reshape", lambda: c.reshape(a, 1, extents(5))),
        ("ValueError", "at least one array", lambda: c.concatenate(0, handles([]), 0)),
        ("ValueError", "same number of dimensions", lambda: c.concatenate(2, handles([a, b]), 0)),
        ("ValueError", "must have the same shape", lambda: c.stack(2, handles([a, b]), 0)),
        ("ValueError", "count is -1", lambda: c.repeat(a, -1, 0)),
        ("IndexError", "index -3 is out of bounds for axis 0 with size 2", lambda: c.set(a, extents(-3, 0), number(1))),
        ("ValueError", "read-only", lambda: c.set(readonly, extents(0, 0), number(1))),
        ("OverflowError", None, lambda: c.set(array(np.zeros(1, np.uint8)), extents(0), number(-1))),
        ("TypeError", "is no double", lambda: c.get_double(z, extents(0), ctypes.byref(ctypes.c_double()))),
        ("TypeError", "is no integer", lambda: c.get_int64(z, extents(0), ctypes.byref(ctypes.c_int64()))),
        ("ValueError", "read-only", lambda: c.assign(readonly, operand(1))),
        ("ValueError", "broadcast", lambda: c.assign(b, operand(a))),
        ("TypeError", "mask is an array of float64", lambda: c.assign_where(b, operand(1), b)),
        ("IndexError", "type, not float64", lambda: c.index_get(a, 1, indices(b))),
        ("IndexError", "too many indices", lambda: c.index_get(a, 3, indices(0, 0, 0))),
        ("IndexError", "single ellipsis", lambda: c.index_get(a, 2, indices(..., ...))),
        ("IndexError", "there may be 0 to 128", lambda: c.index_get(a, 200, indices(*[None] * 200))),
        ("ValueError", "index's kind is 7", lambda: c.index_get(a, 1, (Index * 1)(Index(7, 0, 0, 1, None)))),
        ("IndexError", "boolean", lambda: c.mask_get(a, mask)),
        ("TypeError", "must be of bool", lambda: c.mask_get(a, b)),
        ("ValueError", "read-only", lambda: c.index_set(readonly, 1, indices(0), operand(1))),
        ("TypeError", "indices are of float64", lambda: c.take(a, b, 0, 0)),
        ("IndexError", "out of bounds", lambda: c.take(a, whole, 0, 0)),
        ("ValueError", "mode is 9", lambda: c.take(a, whole, 0, 9)),
        ("ValueError", "dimensions, not 1 and 2", lambda: c.take_along_axis(a, whole, 0)),
        ("ValueError", "0d", lambda: many("nonzero", c.zeros(F64, 0, None), count=0)),
        ("ValueError", "no operation 'plus'", lambda: c.unary("plus", a)),
        ("TypeError", "add takes 2 arguments but 1", lambda: c.unary("add", a)),
        ("TypeError", "add has 1 results; 2", lambda: ufunc("add", a, a, outs=2)),
        ("TypeError", "no argument is an array", lambda: ufunc("add", 1, 2)),
        ("TypeError", "condition must be an array of bool", lambda: ufunc("where", a, a, a)),
        ("ValueError", "broadcast", lambda: c.add(a, b)),
        ("UFuncTypeError", None, lambda: c.binary("left_shift", a, a)),
        ("UFuncTypeError", None, lambda: c.ufunc_into("add", 2, operands(a, 1.5), 1, handles([array(np.zeros((2, 3), int))]), None)),
        ("ValueError", "read-only", lambda: c.ufunc_into("sqrt", 1, operands(b), 1, handles([readonly]), None)),
        ("TypeError", "this needs one of two", lambda: c.reduce("sqrt", a, None)),
        ("ValueError", "no identity", lambda: c.max(array(np.zeros(0)), 0, None, 0)),
        ("AxisError", None, lambda: c.sum(a, 1, axes(5), 0)),
        ("ValueError", "empty", lambda: c.argmax(array(np.zeros(0)), FLATTENED, 0)),
        ("AxisError", None, lambda: c.cumsum(a, 3)),
        ("ValueError", "it must be one", lambda: c.sort_in_place(a, FLATTENED)),
        ("ValueError", r"kth\(=9\) out of bounds", lambda: c.partition(b, 0, 1, extents(9))),
        ("ValueError", "num_kth is 0", lambda: c.partition(b, 0, 0, extents())),
        ("ValueError", "object too deep", lambda: c.searchsorted(a, b, 0)),
        ("TypeError", r"from dtype\('float64'\)", lambda: c.bincount(b, None, 0)),
        ("ValueError", "'minlength' must not be negative, but is -1", lambda: c.bincount(whole, None, -1)),
        ("ValueError", "same length", lambda: c.bincount(whole, b, 0)),
    ]  # fmt: skip


def test_refusals():
    for kind, message, call in refusals():
        with pytest.raises(Failure, match=message) as failure:
            call()
        assert failure.value.kind == kind, (failure.value.kind, kind, str(failure.value))
        assert str(failure.value)


def test_null():
    """Every pointer NULL: a status and a sentence, never a crash."""
    may = {
        "asnp_release",
        "asnp_rng_release",
        "asnp_free_text",
        "asnp_profile_release",
        "asnp_graph_release",
        "asnp_set_lazy",
        "asnp_set_fallback",
        "asnp_ufunc_name",
        "asnp_mm_free",
        "asnp_mm_set_limit",
        "asnp_mm_set_max_split",
        "asnp_mm_set_gc_threshold",
        "asnp_mm_record_workspaces",
        "asnp_autocast_set",
        "asnp_queue_release",
        "asnp_transfer_release",
        "asnp_stream_name",
        "asnp_stream_release",
        "asnp_stream_set_current",
        "asnp_stream_synchronize",
        "asnp_stream_wait",
        "asnp_event_release",
    }
    for name, (result, parameters) in c.declared.items():
        if name in may or not any("*" in p for p in parameters):
            continue
        function = getattr(LIBRARY, name)
        plain = [
            number(1) if "asnp_number" in p else operand(1) if "asnp_operand" in p else 0
            for p in parameters
        ]
        value = function(*[None if "*" in p else x for p, x in zip(parameters, plain, strict=True)])
        if result == "asnp_status":
            assert LIBRARY.asnp_status_name(value) == b"ValueError", name
        elif name != "asnp_status_name":
            assert not value or value == -1, name
        assert LIBRARY.asnp_message(), name


def test_messages_stay():
    with pytest.raises(Failure, match="step is 0"):
        c.arange(number(0), number(1), number(0), NONE)
    c.zeros(I32, 0, None)
    assert b"step is 0" in c.message()
    assert (
        c.status_name(0) == b"" and c.status_name(1) == b"MemoryError" and c.status_name(99) == b""
    )
    assert c.status_name(15) == b"LinAlgError"


def test_every_function_was_called(request):
    """The tests above called each declared function (run all of tests/capi)."""
    if len({item.fspath for item in request.session.items}) < 5:
        pytest.skip("only some of the test files run")
    called = c.called | {"asnp_release", "asnp_rng_release"}  # by the handles of face.py
    assert sorted(set(c.declared) - called) == []
    assert len(c.declared) > 150


def test_more_index_arrays_than_dimensions_there_can_be():
    """Masks without dimensions use no axis up, so that only their number can be too large."""
    one, line = array(np.array(True)), array(np.arange(5.0))
    np.testing.assert_array_equal(
        c.index_get(line, 63, indices(*[one] * 63)).numpy(), np.arange(5.0)[None]
    )
    for items in ([one] * 65, [one] * 64 + [2], [one] * 64 + [array(np.array([1]))]):
        with pytest.raises(
            Failure, match="too many indices: 64 arrays are allowed|number of dimensions"
        ):
            c.index_get(line, len(items), indices(*items))
