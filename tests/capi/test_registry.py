"""The registry of operators: levels, priorities, who registered, calls, the table's ufuncs."""

import ctypes

import numpy as np
import pytest
from face import LIBRARY, NONE, Array, Failure, c, number

F32, F64, I64 = 0, 11, 9
OPERATOR = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int32,
                            ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)  # fmt: skip
RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
released = []


class Registration(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("device", ctypes.c_char_p), ("dtype", ctypes.c_int32),
                ("priority", ctypes.c_int32), ("function", ctypes.c_void_p), ("context", ctypes.c_void_p),
                ("release", ctypes.c_void_p), ("owner", ctypes.c_char_p), ("file", ctypes.c_char_p),
                ("line", ctypes.c_int32)]  # fmt: skip


@OPERATOR
def double(num_in, given, num_out, out, context):
    """context times the first argument, by the face itself."""
    handle = ctypes.c_void_p()
    status = LIBRARY.asnp_binary_number(
        b"multiply", ctypes.c_void_p(given[0]), number(context or 0), ctypes.byref(handle)
    )
    if status == 0:
        out[0] = handle.value
    return status


@OPERATOR
def failing(num_in, given, num_out, out, context):
    c.called.add("asnp_fail")
    return LIBRARY.asnp_fail(4, b"index 7 of 3")


@RELEASE
def release(context):
    released.append(context)


def add(name, context, device=None, dtype=NONE, priority=0):
    r = Registration(name, device, dtype, priority, ctypes.cast(double, ctypes.c_void_p), context,
                     ctypes.cast(release, ctypes.c_void_p), b"test_registry", b"test_registry.py", 42)  # fmt: skip
    c.register(ctypes.byref(r))


def call(name, a, count=1):
    given = (ctypes.c_void_p * 1)(a.handle)
    out = (ctypes.c_void_p * count)()
    c.called.add("asnp_call")
    status = LIBRARY.asnp_call(name, 1, given, count, out)
    if status:
        assert not any(out)
        raise Failure(status, LIBRARY.asnp_message().decode())
    return [Array(h) for h in out] if count > 1 else Array(out[0])


@pytest.fixture
def arrays():
    shape = (ctypes.c_int64 * 1)(3)
    return c.ones(F32, 1, shape), c.ones(F64, 1, shape)


def test_most_specific_then_highest_priority(arrays):
    single, double_ = arrays
    del released[:]
    keys = []

    def put(context, *key):
        add(b"spam", context, *key)
        keys.append(key)

    def both():
        return call(b"spam", single).numpy()[0], call(b"spam", double_).numpy()[0]

    put(2)
    assert both() == (2, 2)
    put(3, None, NONE, 5)
    assert both() == (3, 3)
    put(4, b"cpu", NONE, -7)
    put(9, b"ascend", NONE, 100)
    assert both() == (4, 4)
    put(5, b"cpu:0", NONE, -8)
    assert both() == (5, 5)
    put(6, None, F32, -9)
    assert both() == (6, 5)
    put(7, b"cpu", F32, -10)
    assert both() == (7, 5)
    found = Registration()
    c.find(b"spam", b"ascend:3", F32, ctypes.byref(found))
    assert (found.context, found.owner, found.line) == (6, b"test_registry", 42)
    c.find(b"spam", None, NONE, ctypes.byref(found))
    assert found.context == 5
    seen = Registration()
    c.registered(0, ctypes.byref(seen))
    assert seen.name == b"spam" and seen.context == 2
    with pytest.raises(Failure, match="registration 7 of 7"):
        c.registered(7, ctypes.byref(seen))
    with pytest.raises(
        Failure,
        match="'spam' is already registered with priority 5 by test_registry at test_registry.py:42",
    ) as error:
        add(b"spam", 1, None, NONE, 5)
    assert error.value.kind == "RuntimeError"
    for key in keys:
        c.unregister(b"spam", *(key or (None, NONE, 0)))
    assert released == [2, 3, 4, 9, 5, 6, 7]
    with pytest.raises(Failure, match="'spam' is not registered so with priority 0"):
        c.unregister(b"spam", None, NONE, 0)
    with pytest.raises(Failure, match="no operator 'spam' is registered"):
        call(b"spam", single)


def test_the_tables_ufuncs(arrays):
    single, double_ = arrays
    assert call(b"negative", single).numpy().tolist() == [-1, -1, -1]
    fraction, whole = call(b"modf", double_, 2)
    assert fraction.numpy().tolist() == [0, 0, 0] and whole.numpy().tolist() == [1, 1, 1]
    with pytest.raises(
        Failure, match="'negative' is already registered with priority 0 by asnumpy"
    ):
        add(b"negative", 8)
    with pytest.raises(Failure, match="built in"):
        c.unregister(b"negative", None, NONE, 0)
    add(b"negative", 8, None, F32)
    add(b"negative", 9, None, NONE, -1)  # below the table's own
    assert call(b"negative", single).numpy()[0] == 8 and call(b"negative", double_).numpy()[0] == -1
    c.unregister(b"negative", None, F32, 0)
    c.unregister(b"negative", None, NONE, -1)
    with pytest.raises(Failure, match="takes 2 arguments"):
        call(b"add", single)
    with pytest.raises(Failure, match="the device is 'gpu'; it may be cpu, ascend"):
        add(b"spam", 1, b"gpu")
    with pytest.raises(Failure, match="dtype"):
        add(b"spam", 1, None, 99)
    assert np.all(call(b"sqrt", double_).numpy() == 1)


def test_an_operator_fails(arrays):
    r = Registration(
        b"fails", None, NONE, 0, ctypes.cast(failing, ctypes.c_void_p), None, None, None, None, 0
    )
    c.register(ctypes.byref(r))
    with pytest.raises(Failure, match="index 7 of 3") as error:
        call(b"fails", arrays[0])
    assert error.value.kind == "IndexError"
    c.unregister(b"fails", None, NONE, 0)
    with pytest.raises(Failure, match="asnp_fail: status 0 of 'fine' is no failure"):
        c.fail(0, b"fine")


def call_as(name, arrays, device=None, dtype=NONE):
    given = (ctypes.c_void_p * (len(arrays) + 1))(*(a.handle for a in arrays))
    out = (ctypes.c_void_p * 1)()
    c.called.add("asnp_call_as")
    status = LIBRARY.asnp_call_as(name, device, dtype, len(arrays), given, 1, out)
    if status:
        assert not any(out)
        raise Failure(status, LIBRARY.asnp_message().decode())
    return Array(out[0]).numpy()


def test_many_names_and_namespaces(arrays):
    """More names than the table of names begins with; each is found, before and after others go."""
    names = [f"npu::many{k}".encode() for k in range(100)]
    version = c.registry_version()
    for k, name in enumerate(names):
        add(name, k + 1)
        add(name, k + 1000, b"cpu:0", NONE, k - 50)
    assert c.registry_version() == version + 200
    for k, name in enumerate(names):
        assert call(name, arrays[0]).numpy()[0] == k + 1000
        c.unregister(name, b"cpu:0", NONE, k - 50)
    for k, name in enumerate(names):
        assert call(name, arrays[0]).numpy()[0] == k + 1
    for name in names[::2]:
        c.unregister(name, None, NONE, 0)
    for k, name in enumerate(names[1::2]):
        assert call(name, arrays[0]).numpy()[0] == 2 * k + 2
        c.unregister(name, None, NONE, 0)
    for device in (b"cpu:", b"cpu:1x", b"cpus", b":1", b"ascend:1234567890"):
        with pytest.raises(Failure, match="it may be cpu, ascend"):
            add(b"spam", 1, device)


def test_what_the_call_says(arrays):
    add(b"spam", 2)
    add(b"spam", 3, None, F64)
    add(b"spam", 4, b"ascend:7")
    try:
        single = arrays[0]
        assert call_as(b"spam", [single])[0] == 2
        assert call_as(b"spam", [single], None, F64)[0] == 3
        assert call_as(b"spam", [single], b"ascend:7")[0] == 4
        assert call_as(b"spam", [single], b"ascend:7", F64)[0] == 3
        with pytest.raises(Failure, match="no operator 'eggs' .* on gpu"):
            call_as(b"eggs", [single], b"gpu")
    finally:
        c.unregister(b"spam", None, NONE, 0)
        c.unregister(b"spam", None, F64, 0)
        c.unregister(b"spam", b"ascend:7", NONE, 0)


def test_aten_names(arrays):
    """Every elementwise operation answers under its own name and under CANN's, which is ATen's."""
    single, double_ = arrays
    found = Registration()
    for name, stands_for in (("sub", "subtract"), ("eq.Tensor", "equal"), ("bitwise_not", "invert"),
                             ("isinf", "isinf"), ("clamp", "clip"), ("relu", "relu"), ("asin", "arcsin"),
                             ("logaddexp", "logaddexp"), ("pow.Tensor_Tensor", "power"), ("abs", "absolute"),
                             ("round", "rint"), ("where.self", "where"), ("neg", "negative")):  # fmt: skip
        c.find(f"aten::{name}", None, NONE, ctypes.byref(found))
        assert (found.name.decode(), found.file, found.function) == (stands_for, b"built in", None)
    c.find(b"aten::mm", None, NONE, ctypes.byref(found))
    assert found.function and found.owner == b"asnumpy"
    for name in ("aten::add_", "aten::", "aten::nothing", "add::aten", "aten::" + 40 * "x"):
        with pytest.raises(Failure, match="no operator"):
            c.find(name.encode(), None, NONE, ctypes.byref(found))
    assert call(b"aten::neg", single).numpy().tolist() == [-1, -1, -1]
    double_function = ctypes.cast(double, ctypes.c_void_p)
    c.register_aten_op(b"neg", double_function, 5, 1)
    c.register_aten_op(b"npu::neg", double_function, 6, 0)
    try:
        assert call(b"aten::neg.out", single).numpy()[0] == 5
        assert call(b"npu::neg", single).numpy()[0] == 6
        assert call(b"negative", single).numpy()[0] == -1
        add(b"negative", 7, None, F64)
        assert call(b"aten::neg", double_).numpy()[0] == 7
        with pytest.raises(
            Failure, match="'aten::neg' is already registered with priority 0 by asnumpy"
        ):
            c.register_aten_op(b"aten::neg", double_function, None, 0)
        with pytest.raises(Failure, match="name has 206 characters; at most 127"):
            c.register_aten_op(200 * b"x", double_function, None, 1)
        with pytest.raises(Failure, match="'aten::mm' of priority 0 is built in"):
            c.unregister(b"aten::mm", None, NONE, 0)
    finally:
        c.unregister(b"aten::neg", None, NONE, 1)
        c.unregister(b"npu::neg", None, NONE, 0)
        c.unregister(b"negative", None, F64, 0)
