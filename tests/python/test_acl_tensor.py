"""`a.acl_tensor()`: CANN's operators called through ctypes on arrays' memory, with NumPy as the oracle.

What the library recorded before comes before the foreign call, what it does later comes after it, on the same stream
and on others, in the host's process and in CANN's place.
"""

import ctypes
import functools
import gc
import threading
import weakref

import asnumpy
import numpy as np
import pytest

RNG = np.random.default_rng(5)
DTYPES = ["float32", "float64", "int32", "int64", "int8", "uint8", "float16", "complex64"]


@functools.cache
def library(name):
    asnumpy.ones(3).sum()  # the device's libraries are loaded, and found by name
    return ctypes.CDLL(f"lib{name}.so")


def phases(name):
    """A two-phase operator's functions."""
    plan, run = (getattr(library("opapi"), f"aclnn{name}{end}") for end in ("GetWorkspaceSize", ""))
    run.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p]
    return plan, run


def planned(name, *arguments):
    """The first phase: bytes of workspace, and the executor."""
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    assert phases(name)[0](*arguments, ctypes.byref(size), ctypes.byref(executor)) == 0
    return size, executor


def foreign(name, *arguments):
    """Calls an operator as a program of CANN's does, on the current stream."""
    size, executor = planned(name, *arguments)
    run = phases(name)[1]
    workspace = asnumpy.empty(max(size.value, 1), "uint8")
    with workspace.acl_tensor() as w:
        place = w.storage if size.value else None
        assert run(place, size.value, executor, asnumpy.current_stream().handle) == 0


class Scalar:
    """An aclScalar of 1 (float32)."""

    def __enter__(self):
        nnopbase = library("nnopbase")
        nnopbase.aclCreateScalar.restype = ctypes.c_void_p
        self.one = ctypes.c_float(1)
        self.handle = nnopbase.aclCreateScalar(ctypes.byref(self.one), 0)
        return ctypes.c_void_p(self.handle)

    def __exit__(self, *_):
        assert library("nnopbase").aclDestroyScalar(ctypes.c_void_p(self.handle)) == 0


def add(a, b, out):
    """aclnnAdd through ctypes."""
    with a.acl_tensor() as x, b.acl_tensor() as y, out.acl_tensor() as z, Scalar() as one:
        foreign("Add", x, y, one, z)


def values(shape, dtype):
    made = RNG.normal(size=shape) * 20
    return (np.abs(made) if dtype == "uint8" else made).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (2, 3, 4), (300, 200)])
def test_add(dtype, shape):
    a, b = values(shape, dtype), values(shape, dtype)
    out = asnumpy.zeros(shape, dtype)
    add(asnumpy.array(a), asnumpy.array(b), out)
    np.testing.assert_array_equal(np.array(out.to_numpy()), a + b)


VIEWS = {
    "columns": lambda x: x[:, 2:5],
    "steps": lambda x: x[::2, ::3],
    "transposed": lambda x: x.T,
    "row": lambda x: x[3],
    "element": lambda x: x[3, 4],
    "new axis": lambda x: x[1:, None, 1:4],
    "reshaped": lambda x: x.reshape(2, 4, 9),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", ["float32", "int16", "complex64"])
def test_views_are_read_and_written(view, dtype):
    a, b = values((8, 9), dtype), values((8, 9), dtype)
    x, y, out = asnumpy.array(a), asnumpy.array(b), asnumpy.zeros((8, 9), dtype)
    expected, of = np.zeros((8, 9), dtype), VIEWS[view]
    if view == "element":
        of = lambda x: x[3:4, 4:5].reshape(())  # noqa: E731 - x[3, 4] is a number
    of(expected)[...] = of(a) + of(b)
    add(of(x), of(y), of(out))
    np.testing.assert_array_equal(out.to_numpy(), expected)


def test_parts_of_complex_numbers_and_other_dtypes_of_the_memory():
    """Views whose elements begin between those of the array that has the memory."""
    a = values((6,), "complex64")
    x, out = asnumpy.array(a), asnumpy.zeros(6, "complex64")
    add(x.imag, x.real, out.imag)
    np.testing.assert_array_equal(out.to_numpy(), 1j * (a.imag + a.real))
    halves = asnumpy.arange(9, dtype="float32")[1:9].view("complex64")
    with halves.acl_tensor() as t:
        assert (t.offset, t.strides, t.storage_size) == (0, (1,), 4)
    out = asnumpy.zeros(4, "complex64")
    add(halves, halves, out)
    np.testing.assert_array_equal(out.to_numpy(), 2 * np.arange(1, 9).astype("f4").view("c8"))


def test_repeated_elements_are_inputs():
    a, b = values((1, 4), "float32"), values((3, 1), "float32")
    out = asnumpy.zeros((3, 4), "float32")
    x = asnumpy.broadcast_to(asnumpy.array(a), (3, 4))
    with x.acl_tensor() as t:
        assert t.strides == (0, 1) and not t.writeable
    add(x, asnumpy.array(b), out)
    np.testing.assert_array_equal(out.to_numpy(), a + b)


def test_no_elements():
    for shape in [(0,), (3, 0), (0, 4)]:
        a, out = asnumpy.ones(shape, "float32"), asnumpy.ones(shape, "float32")
        add(a, a, out)
        with a.acl_tensor() as t:
            assert t.shape == shape and t.storage_size == 0 and int(t)
    assert out.shape == (0, 4)


def seen_by_cann(t):
    """What CANN's own getters say of a tensor: shape, strides, offset, dtype."""
    nnopbase = library("nnopbase")

    def dims(name):
        found, n = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_uint64()
        assert getattr(nnopbase, name)(t, ctypes.byref(found), ctypes.byref(n)) == 0
        return tuple(found[: n.value])

    offset, dtype = ctypes.c_int64(), ctypes.c_int32()
    assert nnopbase.aclGetViewOffset(t, ctypes.byref(offset)) == 0
    assert nnopbase.aclGetDataType(t, ctypes.byref(dtype)) == 0
    return (dims("aclGetViewShape"), dims("aclGetViewStrides"), offset.value, dtype.value,
            dims("aclGetStorageShape"))  # fmt: skip


def test_cann_is_told_what_the_object_says():
    a = asnumpy.arange(60, dtype="float32").reshape(5, 12)
    for view in (a, a[1:, 3:9:2], a.T[2:], a[2, 5:]):
        with view.acl_tensor() as t:
            assert seen_by_cann(t) == (t.shape, t.strides, t.offset, 0, (t.storage_size,))
            steps = tuple(s // 4 for s in view.strides)
            assert (t.shape, t.strides) == (view.shape, steps)
            assert t.storage_size >= 60 and t.dtype == np.dtype("float32") and t.writeable
    assert a[1:, 3:9:2].acl_tensor().offset == 15


REFUSED = {
    "negative": (lambda: asnumpy.arange(6.0)[::-1], "axis 0 has stride -8 bytes"),
    "negative inner": (lambda: asnumpy.ones((3, 4))[:, ::-2], "axis 1 has stride -16 bytes"),
    "dimensions": (lambda: asnumpy.ones((1,) * 9), "9 dimensions; CANN's tensors have at most 8"),
    "broken": (
        lambda: asnumpy.lib.stride_tricks.as_strided(asnumpy.arange(6.0), (2, 2), (12, 8)),
        "stride 12 bytes, no multiple of the 8 of float64",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cann_has_no_tensor_of(case):
    make, message = REFUSED[case]
    a = make()
    before = asnumpy._core._stream_stats()
    with pytest.raises(ValueError, match="acl_tensor: .*") as caught:
        a.acl_tensor()
    assert message in str(caught.value)
    assert asnumpy._core._stream_stats() == before
    (a + 1).sum()  # and the array goes on
    one = a[:1][::-1]  # no step is made along an axis of one
    if a.ndim == 1:
        with one.acl_tensor() as t:
            assert t.shape == (1,)


def test_unaligned_elements():
    if not asnumpy._core._host_access():
        pytest.skip("arrays are copied to a device of its own, and aligned there")
    raw = np.zeros(33, "uint8")
    a = asnumpy.asarray(raw[1:].view("float64"))
    with pytest.raises(ValueError, match="float64 elements are not aligned"):
        a.acl_tensor()


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = asnumpy.arange(5).astype(ml_dtypes.bfloat16)
    out = asnumpy.zeros_like(a)
    add(a, a, out)
    assert out.astype("float32").tolist() == [0, 2, 4, 6, 8]


# ---- order


@pytest.mark.parametrize("n", [10, 5000, 300_000])
def test_between_recorded_operations(n):
    a = values((n,), "float32")
    x, out = asnumpy.array(a), asnumpy.zeros(n, "float32")
    x *= 2  # recorded, before
    y = asnumpy.sqrt(abs(x))
    out += 5
    out[1:] += out[:-1]
    old = out * 3  # reads what the call writes
    add(x, y, out)
    out *= 10  # after
    x -= 1
    expected = (2 * a + np.sqrt(abs(2 * a))) * np.float32(10)
    np.testing.assert_allclose(out.to_numpy(), expected, rtol=1e-6)
    np.testing.assert_array_equal(x.to_numpy(), 2 * a - 1)
    assert old.to_numpy()[:2].tolist() == [15, 30]


def test_writes_are_seen_while_the_tensor_lasts():
    a = asnumpy.array(values((50_000,), "float32"))
    out, n = asnumpy.zeros(50_000, "float32"), 4
    with a.acl_tensor() as x, out.acl_tensor() as z, Scalar() as one:
        for _ in range(n):
            foreign("Add", z, x, one, z)
            out += 1  # the library's, between the foreign ones
    expected = np.zeros(50_000, "float32")
    for _ in range(n):
        expected = expected + a.to_numpy()
        expected += 1
    np.testing.assert_array_equal(out.to_numpy(), expected)


def test_a_handle_asked_for_once():
    """Work put on a stream behind the library's back is waited for once the tensor is released."""
    a, out = asnumpy.ones(2_000_000, "float32"), asnumpy.zeros(2_000_000, "float32")
    stream = asnumpy.Stream(name="foreign")
    run, address = phases("Add")[1], stream.handle
    for turn in range(1, 4):
        with a.acl_tensor() as x, out.acl_tensor() as z, Scalar() as one:
            stream.synchronize()  # the library takes it for idle
            size, executor = planned("Add", z, x, one, z)
            room = asnumpy.empty(max(size.value, 1), "uint8")
            with room.acl_tensor() as w:
                assert run(w.storage, size.value, executor, address) == 0
        assert out.min() == out.max() == turn


def test_on_other_streams():
    n, x = 400_000, values((400_000,), "float32")
    one, two = asnumpy.Stream(), asnumpy.Stream()
    with asnumpy.stream(one):
        a = asnumpy.array(x) * 2
    with asnumpy.stream(two):
        out = asnumpy.empty(n, "float32")
        add(a, a, out)  # waits for the other stream's work
    with asnumpy.stream(one):
        out -= 1  # and this for the foreign call
    np.testing.assert_array_equal(out.to_numpy(), 4 * x - 1)


def test_memory_that_is_given_back_is_not_taken_at_once():
    """The array and the tensor are gone before the foreign work begins: what comes next gets other memory."""
    n = 500_000
    one, two = asnumpy.Stream(), asnumpy.Stream()
    begin = asnumpy.Event(two)
    a, out = asnumpy.full(n, 3, "float32"), asnumpy.zeros(n, "float32")
    x, z = a.acl_tensor(), out.acl_tensor()
    with Scalar() as factor:
        size, executor = planned("Add", x, x, factor, z)
    workspace = asnumpy.empty(max(size.value, 1), "uint8")
    with workspace.acl_tensor() as w:
        place = w.storage
    one.wait_event(begin)
    assert phases("Add")[1](place, size.value, executor, one.handle) == 0
    x.release()
    z.release()
    del a, x
    with asnumpy.stream(two):
        b = asnumpy.full(n, -1, "float32")
        b += 1
        begin.record()  # now the other stream goes on
    assert out.min() == out.max() == 6
    assert b.max() == 0


def test_threads():
    failures = []

    def work(seed):
        try:
            rng = np.random.default_rng(seed)
            with asnumpy.stream(asnumpy.Stream()):
                for _ in range(20):
                    a, b = rng.normal(size=(2, 3000)).astype("float32")
                    x, y = asnumpy.array(a) * 2, asnumpy.array(b) + 1
                    out = asnumpy.zeros(3000, "float32")
                    add(x, y, out)
                    out += 1
                    np.testing.assert_array_equal(out.to_numpy(), (2 * a + (b + 1)) + 1)
        except BaseException as error:  # noqa: BLE001 - raised below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


# ---- owning


def test_the_object():
    a = asnumpy.arange(6.0).reshape(2, 3)
    t = a.acl_tensor()
    assert type(t) is asnumpy.ops.AclTensor and int(t) == t.handle == t.__index__()
    assert hex(t.handle) in repr(t) and "shape (2, 3), strides (3, 1), float64" in repr(t)
    t.release()
    t.release()
    assert t.released and "released" in repr(t) and t.shape == (2, 3)
    for use in (int, lambda t: t.handle, lambda t: t.__enter__(), lambda t: t._as_parameter_):
        with pytest.raises(ValueError, match="has been released"):
            use(t)
    with pytest.raises(TypeError, match="got a ndarray; it is made of an asnumpy array"):
        asnumpy.ops.AclTensor(np.ones(3))
    with pytest.raises(TypeError):
        a.acl_tensor(1)


def test_the_memory_stays_and_goes():
    """The tensor outlives the array, and its end gives the memory back."""
    gc.collect()
    asnumpy.synchronize()
    before = asnumpy.memory_stats()["bytes_in_use"]
    a = asnumpy.full(1_000_000, 3, "float32")
    t, out = a.acl_tensor(), asnumpy.zeros(1_000_000, "float32")
    watched = weakref.ref(t)
    del a
    asnumpy.full(1_000_000, 9, "float32").sum()  # would take the memory
    with out.acl_tensor() as z, Scalar() as one:
        foreign("Add", t, t, one, z)
    assert out.min() == out.max() == 6
    del t
    assert watched() is None
    del out
    asnumpy.synchronize()
    assert asnumpy.memory_stats()["bytes_in_use"] == before


def test_recording_goes_on_after_the_release():
    a = asnumpy.zeros(100_000)
    with a.acl_tensor():
        a += 1
        assert "add" not in str(asnumpy.explain(a))  # it ran at once
    a += 1
    if asnumpy.engine_stats()["programs"] and asnumpy.lazy(True):
        assert "add" in str(asnumpy.explain(a))
    assert a.min() == a.max() == 2


def test_adopted_memory():
    host = np.arange(5000.0)
    a = asnumpy.asarray(host)
    t = a.acl_tensor()
    del a
    out = asnumpy.zeros(5000)
    with out.acl_tensor() as z, Scalar() as one:
        foreign("Add", t, t, one, z)
    np.testing.assert_array_equal(out.to_numpy(), 2 * host)
    gone = weakref.ref(host)
    t.release()
    del host
    asnumpy.synchronize()
    gc.collect()
    assert gone() is None


def test_not_while_a_call_is_traced():
    @asnumpy.jit
    def f(x):
        y = x + 1
        y.acl_tensor()
        return y

    with pytest.raises(Exception, match="another library reaches for the array's memory"):
        f(asnumpy.arange(2000.0))


def test_many_leave_nothing():
    a = asnumpy.ones((30, 40), "float32")
    for _ in range(20_000):
        a.acl_tensor()
    with a.acl_tensor() as t:
        assert seen_by_cann(t)[0] == (30, 40)
