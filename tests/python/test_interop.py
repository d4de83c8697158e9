"""Meeting other libraries: NumPy both ways, the buffer protocol, DLPack, array protocols, files."""

import array
import hashlib
import io
import warnings
from fractions import Fraction

import asnumpy
import ml_dtypes
import numpy as np
import pytest
from oracle import DTYPES, assert_same, same, sample, to_host


@pytest.mark.parametrize("dtype", DTYPES)
def test_asarray_shares_memory(dtype, rng):
    host = sample(dtype, 2048, rng).reshape(32, 64)
    a = asnumpy.asarray(host)
    assert a.base is host and not a.flags.owndata
    a[0, 0] = 1
    assert host[0, 0] == 1
    host[1, 1] = 0
    assert a[1, 1] == 0
    back = np.asarray(a)
    back[2, 2] = 1
    assert a[2, 2] == 1 and host[2, 2] == 1
    view = asnumpy.asarray(host[::2, ::-1])
    assert view.strides == host[::2, ::-1].strides
    assert_same(to_host(view), host[::2, ::-1])


def test_copies_do_not_share(rng):
    host = rng.random(2048)
    for a in (asnumpy.array(host), asnumpy.from_numpy(host), asnumpy.ndarray.from_numpy(host)):
        a[0] = 5
        assert host[0] != 5 and a.flags.owndata
    a = asnumpy.ones(2048)
    b = a.to_numpy()
    b[0] = 7
    assert a[0] == 1
    c = np.array(a)
    c[1] = 7
    assert a[1] == 1


def test_read_only_is_respected():
    host = np.arange(2048.0)
    host.flags.writeable = False
    a = asnumpy.asarray(host)
    assert not a.flags.writeable
    with pytest.raises(ValueError):
        a[0] = 1
    b = asnumpy.arange(4.0)
    b.flags.writeable = False
    assert memoryview(b).readonly and not np.asarray(b).flags.writeable


def test_exported_memory_sees_later_operations():
    """A view handed out keeps up with recorded operations, and they with it."""
    a = asnumpy.zeros(2000)
    view = np.asarray(a)
    a += 1
    assert view[0] == 1
    b = a * 2
    view[:] = 100
    assert b[0] == 2
    a[:] = b
    assert view[5] == 2
    host = np.zeros(2000)
    c = asnumpy.asarray(host)
    c += 3
    assert host[7] == 3
    d = c + 1
    host[:] = 50
    assert d[0] == 4 and c[0] == 50


@pytest.mark.parametrize("dtype", DTYPES)
def test_buffer_protocol(dtype, rng):
    a = asnumpy.array(sample(dtype, 12, rng).reshape(3, 4))
    m = memoryview(a)
    assert m.shape == (3, 4) and m.nbytes == a.nbytes and not m.readonly
    assert bytes(a) == a.tobytes()
    assert_same(np.asarray(memoryview(a.T)), to_host(a.T))
    for x in (a, to_host(a)):
        with pytest.raises(ValueError, match="not C-contiguous"):
            array.array("B").frombytes(x[:, ::2])  # asks for one contiguous block


def test_buffers_in():
    assert asnumpy.asarray(array.array("d", [1, 2])).tolist() == [1, 2]
    assert asnumpy.frombuffer(b"\x01\x02", "u1").tolist() == [1, 2]
    assert asnumpy.asarray(memoryview(b"ab")).tolist() == [97, 98]
    big = bytearray(8192)
    a = asnumpy.frombuffer(big, "f8")
    a[0] = 1
    assert big[7] != 0


def test_array_interface():
    a = asnumpy.arange(6.0).reshape(2, 3)
    interface = a.__array_interface__
    assert interface["shape"] == (2, 3) and interface["typestr"] == "<f8"

    class Holder:
        __array_interface__ = interface
        keep = a

    assert np.asarray(Holder()).tolist() == a.tolist()
    assert asnumpy.asarray(Holder()).tolist() == a.tolist()

    class HasArray:
        def __array__(self, dtype=None, copy=None):
            return np.array([1.0, 2.0], dtype=dtype)

    assert asnumpy.add(HasArray(), 1).tolist() == [2, 3]
    assert (asnumpy.ones(2) + HasArray()).tolist() == [2, 3]
    assert a.ctypes.shape[:] == [2, 3] and a.ctypes.data == interface["data"][0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack(dtype, rng):
    host = sample(dtype, 12, rng).reshape(3, 4)
    a = asnumpy.array(host)
    there = np.from_dlpack(a)
    assert_same(there, host)
    assert there.__array_interface__["data"] == a.__array_interface__["data"]
    assert_same(np.from_dlpack(a.T), host.T)
    back = asnumpy.from_dlpack(host)
    assert_same(to_host(back), host)
    host[0, 0] = 1
    assert back[0, 0] == 1
    copied = asnumpy.from_dlpack(host, copy=True)
    host[0, 1] = 1 - host[0, 1] if host.dtype.kind != "b" else ~host[0, 1]
    assert asnumpy.from_dlpack(a).tolist() == a.tolist() or host.dtype.kind in "fc"
    assert a.__dlpack_device__() == (1, 0)
    assert copied.shape == (3, 4)


def test_dlpack_lifetime_and_errors():
    a = np.from_dlpack(asnumpy.arange(5.0) * 2)
    assert a.tolist() == [0, 2, 4, 6, 8]
    capsule = asnumpy.ones(3).__dlpack__()
    del capsule  # a capsule nobody consumed frees its tensor
    read_only = asnumpy.broadcast_to(asnumpy.ones(3), (2, 3))
    assert not np.from_dlpack(read_only).flags.writeable
    with pytest.raises(BufferError):
        read_only.__dlpack__()
    with pytest.raises(ValueError):
        asnumpy.from_dlpack(np.ones(2), device="gpu")
    with pytest.raises(BufferError):
        asnumpy.ones(2).__dlpack__(dl_device=(2, 0))


def test_numpy_functions_dispatch():
    a = asnumpy.arange(6.0).reshape(2, 3)
    for f in (np.sin, np.cumsum, np.transpose, np.ravel, lambda x: np.concatenate([x, x]),
              lambda x: np.where(x > 1, x, 0), lambda x: np.stack([x, x]), np.unique, np.sort,
              lambda x: np.linalg.norm(x, axis=0) if hasattr(asnumpy, "linalg") else x,
              lambda x: np.add.accumulate(x), np.zeros_like):  # fmt: skip
        assert type(f(a)) is asnumpy.ndarray
    assert np.mean(a) == 2.5 and np.allclose(a, a) and np.shape(a) == (2, 3)
    assert type(np.array(a)) is np.ndarray


@pytest.mark.parametrize("dtype", DTYPES)
def test_files(dtype, rng, tmp_path):
    a = asnumpy.array(sample(dtype, 12, rng).reshape(3, 4))
    asnumpy.save(tmp_path / "a.npy", a)
    b = asnumpy.load(tmp_path / "a.npy")
    assert type(b) is asnumpy.ndarray
    assert_same(to_host(b), to_host(a))
    asnumpy.savez(tmp_path / "b.npz", x=a, y=a.T)
    with asnumpy.load(tmp_path / "b.npz") as z:
        assert sorted(z) == ["x", "y"]
        assert_same(to_host(z["y"]), to_host(a.T))
    a.tofile(tmp_path / "raw")
    assert_same(to_host(asnumpy.fromfile(tmp_path / "raw", dtype)), to_host(a).ravel())


def test_text_files():
    stream = io.StringIO()
    asnumpy.savetxt(stream, asnumpy.arange(6.0).reshape(2, 3))
    stream.seek(0)
    a = asnumpy.loadtxt(stream)
    assert type(a) is asnumpy.ndarray and a.tolist() == [[0, 1, 2], [3, 4, 5]]
    b = asnumpy.genfromtxt(io.StringIO("1,2\n3,"), delimiter=",")
    assert b.shape == (2, 2) and asnumpy.isnan(b[1, 1])


def test_lists_of_arrays():
    a, b = asnumpy.arange(3.0), asnumpy.ones(3)
    assert asnumpy.array([a, b]).tolist() == [[0, 1, 2], [1, 1, 1]]
    assert asnumpy.array([a[0], b[1]]).tolist() == [0, 1]
    assert np.array([a, b]).shape == (2, 3)
    assert asnumpy.sum([a, b]) == 6
    same(lambda np_: np_.array([np_.float32(1), 2]), where="scalars")


def test_byte_order_and_unsupported():
    assert asnumpy.array(np.arange(3, dtype=">i4")).tolist() == [0, 1, 2]
    assert asnumpy.asarray(np.arange(3, dtype=">f8")).dtype == np.float64


def test_data_for_the_host():
    """Text, dates, objects, records and long doubles stay NumPy's arrays, and its functions do the work."""
    a = asnumpy.arange(3.0)
    host = np.arange(3.0)
    words = asnumpy.array(["b", "a", "b"])
    assert type(words) is np.ndarray and words.dtype == "<U1"
    assert type(asnumpy.zeros(3, "U3")) is np.ndarray
    assert type(asnumpy.empty((2, 2), dtype=object)) is np.ndarray
    assert type(asnumpy.array([None, 1])) is np.ndarray
    assert asnumpy.array(np.longdouble(1)).dtype == np.longdouble
    assert asnumpy.arange("2020-01", "2020-03", dtype="M8[M]").dtype == "M8[M]"
    names, inverse = asnumpy.unique(words, return_inverse=True)
    assert names.tolist() == ["a", "b"] and inverse.tolist() == [1, 0, 1]
    assert asnumpy.sort(words).tolist() == ["a", "b", "b"]
    assert asnumpy.concatenate([words, ["xy"]]).dtype == "<U2"
    assert asnumpy.where(a > 1, "x", "y").tolist() == ["y", "y", "x"]
    assert type(asnumpy.isin(words, ["a"])) is asnumpy.ndarray
    assert a.astype(str).tolist() == host.astype(str).tolist()
    assert a.astype(object).dtype == object
    assert (asnumpy.array(["2020-01-01"], dtype="M8[D]") + asnumpy.arange(3)).shape == (3,)
    swapped = asnumpy.array([1, 2, 3], dtype=">f8")
    assert swapped.dtype == ">f8" and type(a + swapped) is asnumpy.ndarray
    assert (a + np.array([1, 2, 3], dtype=object)).dtype == object
    assert (a == words).tolist() == [False] * 3 and (a != words).tolist() == [True] * 3
    for call in (
        lambda m, x: m.add(x, "a"), lambda m, x: x + "a", lambda m, x: x + np.array([1, None, 2]),
        lambda m, x: m.sin(m.array(["a"])), lambda m, x: x < words,
    ):  # fmt: skip
        for module, x in ((np, host), (asnumpy, a)):
            with pytest.raises(TypeError):
                call(module, x)
    with pytest.raises(TypeError, match="did not contain a loop"):  # NumPy's answer
        asnumpy.add(a, words, out=a)
    for name in (
        "ma",
        "char",
        "rec",
        "strings",
        "matrix",
        "datetime64",
        "longdouble",
        "busday_count",
    ):
        assert getattr(asnumpy, name) is getattr(np, name)


def test_bfloat16():
    assert asnumpy.bfloat16 is ml_dtypes.bfloat16
    host = np.arange(-4, 4, 0.37, dtype=np.float32).astype(ml_dtypes.bfloat16)
    a = asnumpy.array(host)
    assert a.dtype == ml_dtypes.bfloat16 and asnumpy.zeros(2, "bfloat16").dtype == a.dtype
    assert a.tolist() == host.tolist() and type(a[1]) is ml_dtypes.bfloat16
    for f in (lambda x: x + x, lambda x: x * 2, lambda x: x.astype(np.float32) / 3, np.negative):
        assert to_host(f(a)).astype(np.float64).tolist() == f(host).astype(np.float64).tolist()
    assert (a + a.astype(np.float32)).dtype == np.float32
    assert repr(a) == repr(host)


def test_device_names():
    """Arrays tell their device; creation takes its name, in full or as a kind."""
    assert asnumpy.zeros(2).device == "cpu"
    assert asnumpy.zeros(2, device="cpu").device == asnumpy.zeros(2, device="cpu:0").device == "cpu"
    info = asnumpy.__array_namespace_info__()
    assert info.default_device() in info.devices()
    for call in (lambda: asnumpy.zeros(2, device="cuda:0"), lambda: info.dtypes(device="gpu")):
        with pytest.raises(ValueError, match="Device not understood"):
            call()


def test_numpys_subclasses_keep_their_rules():
    masked = np.ma.masked_array([1.0, 100.0, 3.0], [0, 1, 0])
    a = asnumpy.arange(3.0)
    for made in (a + masked, masked + a, asnumpy.add(a, masked), masked * a, a == masked):
        assert isinstance(made, np.ma.MaskedArray) and made.mask.tolist() == [False, True, False]
    assert asnumpy.mean(masked) == asnumpy.median(masked[[0, 2]]) == 2
    assert isinstance(asnumpy.gradient(masked), np.ma.MaskedArray)
    assert type(asnumpy.asarray(masked)) is asnumpy.ndarray
    a[:] = masked  # the elements
    assert a.tolist() == [1, 100, 3]
    matrix = np.matrix([[1, 2], [3, 4]])
    for made in (matrix * asnumpy.eye(2), asnumpy.eye(2) * matrix, asnumpy.eye(2) @ matrix):
        assert isinstance(made, np.matrix) and (made == matrix).all()


def test_objects_with_array_function_are_asked():
    class Asked:
        def __array_function__(self, function, types, args, kwargs):
            return function.__name__

    assert asnumpy.histogram2d(Asked(), [1]) == "histogram2d"
    assert asnumpy.polynomial.polynomial.polyval2d(Asked(), Asked(), Asked()) == "polyval2d"


def test_numbers_and_dtypes_for_the_host():
    half = Fraction(1, 2)
    assert asnumpy.quantile([1, 2], Fraction(1)) == 2
    assert isinstance(asnumpy.percentile([half, 2 * half], Fraction(50)), Fraction)
    series = asnumpy.polynomial.Polynomial([half, 2 * half])
    assert str(series) == str(np.polynomial.Polynomial([half, 2 * half]))
    swapped = asnumpy.arange(3.0).view(">f8")
    assert isinstance(swapped, np.ndarray) and swapped.dtype == ">f8"
    out = np.zeros(4, ">f8")
    assert asnumpy.concatenate([asnumpy.ones(2), asnumpy.zeros(2)], out=out) is out
    assert out.tolist() == [1, 1, 0, 0]
    index = asnumpy.zeros((), dtype=int)
    assert asnumpy.nanargmax(np.arange(3, dtype=np.longdouble), out=index) is index and index == 2


def test_ufuncs_of_others():
    double = np.frompyfunc(lambda x: 2 * x, 1, 1)
    assert double(asnumpy.arange(3)).tolist() == [0, 2, 4]
    out = asnumpy.zeros(3)
    ufunc = np.linalg._umath_linalg.det  # one that is none of ours
    assert ufunc(asnumpy.eye(3)) == 1
    assert ufunc(asnumpy.stack([asnumpy.eye(3)] * 3), out=out) is out and out.tolist() == [1, 1, 1]


def test_archives_are_numpys(tmp_path):
    asnumpy.savez(tmp_path / "a.npz", asnumpy.arange(3), b=asnumpy.ones(2))
    with asnumpy.load(tmp_path / "a.npz") as archive:
        assert isinstance(archive, np.lib.npyio.NpzFile)
        assert archive.f.b.tolist() == [1, 1] and type(archive["arr_0"]) is asnumpy.ndarray
        assert "with keys: b, arr_0" in repr(archive)
    records = asnumpy.loadtxt(io.StringIO("1 2\n3 4"), dtype=[("x", int), ("y", float)])
    assert records["y"].tolist() == [2.0, 4.0]


def test_hashes_of_matrices():
    a = np.arange(6).reshape(2, 3)
    assert hashlib.sha256(asnumpy.asarray(a)).digest() == hashlib.sha256(a).digest()


@pytest.mark.parametrize(
    "keywords", [{}, {"copy": True}, {"copy": None}, {"copy": False}, {"ndmin": 2}]
)
@pytest.mark.parametrize("asked", [True, False])
def test_array_of_a_method(keywords, asked):
    """What an __array__ gives that knows copy= is trusted to be a copy; without, it is copied, and said."""

    def outcome_of(module):
        held = module.arange(3)

        def give(self, dtype=None, **rest):
            assert asked or not rest
            return held

        def give_always(self, dtype=None):
            return held

        give_always.__name__ = give_always.__qualname__ = "Holder.__array__"
        holder = type("Holder", (), {"__array__": give if asked else give_always})()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                made = module.array(holder, **keywords)
            except ValueError as e:
                return str(e), [w.category for w in caught]
        made[..., 0] = 9
        return held.tolist(), made.tolist(), made is held, [w.category for w in caught]

    assert outcome_of(asnumpy) == outcome_of(np)


@pytest.mark.parametrize("value", [3, 2.5, np.float32(1), "text", b"text", [1, 2], (1,), 10**40])
def test_never_copy_of_values(value):
    for module in (asnumpy, np):
        for function in (module.array, module.asarray):
            with pytest.raises(ValueError, match="Unable to avoid copy"):
                function(value, copy=False)


def test_integers_beyond_every_dtype():
    assert asnumpy.array(10**40).dtype == object and asnumpy.array(10**40)[()] == 10**40
    assert asnumpy.array(10**40, dtype="f8") == 1e40
    with pytest.raises(OverflowError):
        asnumpy.array(10**40, dtype="i8")


HOST_DTYPES = """
a.mean(dtype=g)
a.sum(dtype=g)
a.prod(axis=0, dtype=g)
a.std(dtype=g)
a.var(0, g)
a.cumsum(dtype=g)
a.cumprod(0, g)
a.trace(dtype=g)
a[0].searchsorted(np.ones(2, g))
a.dot(np.ones(4, g))
a.sum(dtype=object)
a.sum(0, out=np.empty(4, g))
np.full(2, 10**30)
np.full_like(np.ones(2, "i1"), np.int64(1000))
"""


@pytest.mark.parametrize("text", HOST_DTYPES.strip().splitlines())
def test_methods_to_dtypes_of_the_host(text):
    """Methods that are given a dtype which the device lacks answer as NumPy's do."""
    ours, theirs = (
        eval(text, {"np": m, "g": np.longdouble, "a": m.arange(16.0).reshape(4, 4)})
        for m in (asnumpy, np)
    )
    assert type(ours) is type(theirs) or type(ours) is asnumpy.ndarray
    assert np.asarray(ours).dtype == np.asarray(theirs).dtype
    assert np.asarray(ours).tolist() == np.asarray(theirs).tolist()


@pytest.mark.parametrize("order", ["C", "F", "A", "K", None])
def test_bytes_of_every_order(order):
    x = np.arange(12, dtype="i1").reshape(3, 4)
    for a in (x, np.asfortranarray(x), x[::-1], x[:, ::2], x.T, x[0], x[:0]):
        ours = asnumpy.array(a, order="K") if a.flags.forc else asnumpy.array(x)[::-1]
        if a.flags.forc or a.strides == x[::-1].strides:
            assert ours.tobytes(order) == a.tobytes(order)
