"""Random numbers are numpy.random's; files are NumPy's; the engine's switches and statistics."""

import ctypes
import io
import zipfile
import zlib

import numpy as np
import pytest
from face import DTYPES, Failure, adopt, array, c, extents, handles, number, operand
from hypothesis import given
from hypothesis import strategies as st
from strategies import numpy_arrays, same

GENERATORS = ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"]
seeds = st.one_of(st.integers(0, 2**32), st.integers(2**32, 2**64 - 1))


def both(name, seed):
    return c.rng_new(name, seed), np.random.Generator(getattr(np.random, name)(seed))


@given(st.sampled_from(GENERATORS), seeds, st.lists(st.integers(0, 5), max_size=3))
def test_floats(name, seed, shape):
    g, theirs = both(name, seed)
    at = (len(shape), extents(*shape))
    for dtype in ("float64", "float32"):
        same(c.rng_random(g, DTYPES[dtype], *at), np.asarray(theirs.random(shape, dtype)), 0)
        same(
            c.rng_standard_normal(g, DTYPES[dtype], *at),
            np.asarray(theirs.standard_normal(shape, dtype)),
            0,
        )
    same(c.rng_uniform(g, -2.0, 3.5, *at), np.asarray(theirs.uniform(-2, 3.5, shape)), 0)
    same(c.rng_normal(g, 10.0, 0.5, *at), np.asarray(theirs.normal(10, 0.5, shape)), 0)


@given(st.sampled_from(GENERATORS), seeds, st.sampled_from(["int8", "uint16", "int32", "uint32", "int64", "bool"]),
       st.booleans(), st.data())  # fmt: skip
def test_integers(name, seed, dtype, endpoint, data):
    g, theirs = both(name, seed)
    limits = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    low = data.draw(st.integers(*limits))
    high = data.draw(st.integers(low, limits[1]))
    if not endpoint and high == low:
        return
    got = c.rng_integers(g, low, high, endpoint, DTYPES[dtype], 1, extents(50))
    same(got, theirs.integers(low, high, 50, dtype=dtype, endpoint=endpoint), 0)


LAWS = {
    "standard_exponential": (), "standard_cauchy": (), "exponential": (2.5,), "standard_gamma": (0.7,), "gamma": (3.5, 2.0),
    "beta": (0.5, 0.8), "chisquare": (3.0,), "noncentral_chisquare": (3.0, 1.5), "f": (4.0, 7.0), "noncentral_f": (4.0, 7.0, 1.0),
    "standard_t": (5.0,), "vonmises": (0.3, 4.0), "pareto": (3.0,), "weibull": (1.5,), "power": (0.6,), "laplace": (1.0, 2.0),
    "gumbel": (1.0, 2.0), "logistic": (1.0, 2.0), "lognormal": (0.2, 0.7), "rayleigh": (3.0,), "wald": (2.0, 0.5),
    "triangular": (-1.0, 0.5, 4.0), "binomial": (40, 0.3), "negative_binomial": (6.5, 0.4), "poisson": (22.5,), "zipf": (2.5,),
    "geometric": (0.2,), "hypergeometric": (15, 20, 12), "logseries": (0.6,),
}  # fmt: skip


def law(g, name, parameters, *shape):
    values = (ctypes.c_double * max(len(parameters), 1))(*parameters)
    try:
        return c.rng_distribution(g, name, len(parameters), values, len(shape), extents(*shape))
    except Failure as e:
        if "built without NumPy" not in str(e):
            raise
        pytest.skip("the library was built without NumPy's distributions")


@given(st.sampled_from(GENERATORS), seeds, st.sampled_from(sorted(LAWS)))
def test_distributions(name, seed, which):
    g, theirs = both(name, seed)
    same(law(g, which, LAWS[which], 3, 40), getattr(theirs, which)(*LAWS[which], (3, 40)), 0)
    same(law(g, which, LAWS[which], 7), getattr(theirs, which)(*LAWS[which], 7), 0)


@pytest.mark.parametrize(
    ("which", "parameters", "message"),
    [("gauss", (), "no distribution 'gauss'"), ("gamma", (1.0,), "takes 2 parameters, got 1"), ("gamma", (-1.0, 1.0), "shape < 0, got -1"),
     ("binomial", (2.5, 0.5), "n is 2.5; it must be a whole number"), ("binomial", (2, 1.5), "p < 0, p > 1 or p is NaN"),
     ("triangular", (1, 0, 2), "they must ascend"), ("triangular", (1, 1, 1), "they must ascend"),
     ("hypergeometric", (3, 4, 8), "nsample is 8"), ("hypergeometric", (2e9, 4, 8), "less than"),
     ("negative_binomial", (1e18, 1e-3), "too large"), ("poisson", (1e19,), "too large")],
)  # fmt: skip
def test_distributions_refuse(which, parameters, message):
    with pytest.raises(Failure, match=message):
        law(c.rng_new("PCG64", 1), which, parameters, 3)


@given(st.sampled_from(GENERATORS), seeds, st.integers(0, 300))
def test_orders(name, seed, n):
    g, theirs = both(name, seed)
    same(c.rng_permutation(g, n), theirs.permutation(n), 0)
    x = np.arange(4 * n).reshape(4, n)
    for axis in (0, -1):
        a = array(x)
        c.rng_shuffle(g, a, axis)
        y = x.copy()
        theirs.shuffle(y, axis)
        same(a, y, 0)
    if n:
        same(c.rng_choice(g, n, 20, 1), theirs.choice(n, 20), 0)
        same(c.rng_choice(g, n, n // 2, 0), theirs.choice(n, n // 2, replace=False), 0)


def test_choice_of_many():
    g, theirs = both("PCG64", 7)
    for count in (100, 1500, 20_000):
        same(c.rng_choice(g, 20_000, count, 0), theirs.choice(20_000, count, replace=False), 0)


def test_random_refusals():
    g = c.rng_new("PCG64", 0)
    f64, i8 = DTYPES["float64"], DTYPES["int8"]
    for call, message in (
        (lambda: c.rng_new("MRG32", 0), "there is no bit generator 'MRG32'"),
        (lambda: c.rng_random(g, i8, 0, None), "random numbers of int8"),
        (lambda: c.rng_random(g, f64, 1, extents(-1)), "negative"),
        (lambda: c.rng_uniform(g, 1.0, 0.0, 0, None), "below low"),
        (lambda: c.rng_uniform(g, -1e308, 1e308, 0, None), "exceeds"),
        (lambda: c.rng_normal(g, 0.0, -1.0, 0, None), "scale is -1"),
        (lambda: c.rng_integers(g, 0, 300, 0, i8, 0, None), "0 to 299 are out of bounds for int8"),
        (lambda: c.rng_integers(g, 3, 3, 0, i8, 0, None), "low \\(3\\) >= high \\(3\\)"),
        (lambda: c.rng_integers(g, 0, 3, 0, f64, 0, None), "integers of float64"),
        (lambda: c.rng_permutation(g, -1), "may not be negative"),
        (lambda: c.rng_shuffle(g, array(np.array(1.0)), 0), "0-d"),
        (lambda: c.rng_choice(g, 3, 4, 0), "4 of 3 without replacement"),
        (lambda: c.rng_choice(g, 0, 1, 1), "1 of 0"),
    ):
        with pytest.raises(Failure, match=message):
            call()


# ---- files


@given(numpy_arrays())
def test_npy(tmp_path_factory, x):
    """What we write NumPy reads, byte for byte what it writes; what it writes we read."""
    path = tmp_path_factory.mktemp("npy") / "x.npy"
    c.save(str(path), array(x))
    back = np.load(path)
    assert back.dtype == x.dtype
    np.testing.assert_array_equal(back, x)
    for y in (np.ascontiguousarray(x), np.asfortranarray(x), x):
        np.save(path, y)
        same(c.load(str(path)), y, 0)
        c.save(str(path), c.load(str(path)))
        ours, theirs = path.read_bytes(), io.BytesIO()
        np.save(
            theirs, y if y.flags.c_contiguous or y.flags.f_contiguous else np.ascontiguousarray(y)
        )
        assert ours == theirs.getvalue()


@given(
    numpy_arrays(dtypes=["int16", "int64", "float32", "complex64", "bool", "float16"]),
    st.sampled_from([(1, 0), (2, 0), (3, 0)]),
)
def test_npy_versions(tmp_path_factory, x, version):
    path = tmp_path_factory.mktemp("npy") / "x.npy"
    with open(path, "wb") as file:
        np.lib.format.write_array(file, x.astype(x.dtype.newbyteorder(">")), version)
    same(c.load(str(path)), x, 0)


def test_npy_refusals(tmp_path):
    path = tmp_path / "x.npy"
    good = io.BytesIO()
    np.save(good, np.arange(6.0).reshape(2, 3))
    good = good.getvalue()

    def written(data):
        path.write_bytes(data)
        return str(path)

    def header(text, version=1):
        text = text.encode() + b"\n"
        return (
            b"\x93NUMPY"
            + bytes([version, 0])
            + len(text).to_bytes(2 if version == 1 else 4, "little")
            + text
        )

    shape = "'fortran_order': False, 'shape': (2,)"
    for data, message in (
        (b"", "no .npy file"),
        (b"PK\x03\x04 and so on, as an archive", "no .npy file"),
        (good[:20], "cut short"),
        (good[:-1], "47 bytes of elements; the array needs 48"),
        (good.replace(b"\x01\x00", b"\x07\x00", 1), "version 7.0"),
        (header("[]"), "no dictionary"),
        (header("{'descr': '<f8', 'shape': (2,)}"), "lacks one of"),
        (header("{'descr': '<f8', " + shape + ", 'more': 1}"), "cannot be read"),
        (header("{'descr': '<f8', " + shape + "} x"), "something follows"),
        (header("{'descr': '<f8', 'fortran_order': False, 'shape': (2)}"), "cannot be read"),
        (header("{'descr': '<f8', 'fortran_order': False, 'shape': (-2,)}"), "cannot be read"),
        (header("{'descr': '<f8', 'fortran_order': 0, 'shape': (2,)}"), "cannot be read"),
        (
            header("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}"),
            "cannot be read",
        ),
        (
            header("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4)}"),
            "too (large|big)|exceeds|address",
        ),
        (header("{'descr': '<f\x07', " + shape + "}"), "cannot be read"),
        (header("{'descr': '|O', " + shape + "}"), "dtype '|O'"),
        (header("{'descr': '<U3', " + shape + "}"), "dtype '<U3'"),
        (header("{'descr': '<f16', " + shape + "}"), "dtype '<f16'"),
        (header("{'descr': [('a', '<f8')], " + shape + "}"), "records"),
    ):
        with pytest.raises(Failure, match=message):
            c.load(written(data))
    with pytest.raises(Failure, match="cannot be opened: No such file"):
        c.load(str(tmp_path / "none.npy"))
    with pytest.raises(Failure, match="cannot be opened"):
        c.save(str(tmp_path / "none" / "x.npy"), array(np.arange(3)))
    a = c.zeros(27, 1, extents(2))
    with pytest.raises(Failure, match="no bfloat16"):
        c.save(str(path), a)


@given(st.binary(max_size=200), st.integers(0, 127))
def test_npy_fuzz(tmp_path_factory, noise, at):
    """Bytes changed anywhere give an array or a sentence."""
    path = tmp_path_factory.mktemp("npy") / "x.npy"
    good = io.BytesIO()
    np.save(good, np.arange(6.0).reshape(2, 3))
    data = bytearray(good.getvalue())
    data[at : at + len(noise)] = noise
    path.write_bytes(bytes(data))
    try:
        c.load(str(path)).numpy()
    except Failure as failure:
        assert str(failure)


def text_of(name, *args):
    text = ctypes.c_void_p()
    getattr(c, name)(*args, ctypes.byref(text))
    found = ctypes.string_at(text).decode("utf-8", "replace")
    c.free_text(text)
    return found


SAVERS = [("savez", np.savez), ("savez_compressed", np.savez_compressed)]


def savez(path, named, saver="savez"):
    names = (ctypes.c_char_p * max(len(named), 1))(*[n.encode() for n in named])
    ours = handles(list(named.values()))
    getattr(c, saver)(str(path), len(named), names, ours)


@given(numpy_arrays(), numpy_arrays(), st.sampled_from(SAVERS))
def test_archives(tmp_path_factory, x, y, savers):
    """NumPy reads ours, we read NumPy's."""
    path = tmp_path_factory.mktemp("npz") / "xy.npz"
    saver, theirs = savers
    savez(path, {"x": array(x), "a longer name": array(y)}, saver)
    with np.load(path) as back:
        assert back.files == ["x", "a longer name"]
        np.testing.assert_array_equal(back["x"], x)
        assert back["x"].dtype == x.dtype
        np.testing.assert_array_equal(back["a longer name"], y)
    assert text_of("npz_names", str(path)) == "x\na longer name\n"
    same(c.loadz(str(path), "a longer name"), y, 0)
    theirs(path, y=y, x=np.copy(x, order="F"), swapped=x.astype(x.dtype.newbyteorder(">")))
    same(c.loadz(str(path), "x"), x, 0)
    same(c.loadz(str(path), "y"), y, 0)
    same(c.loadz(str(path), "swapped"), x, 0)
    assert text_of("npz_names", str(path)) == "y\nx\nswapped\n"


@pytest.mark.parametrize("dtype", DTYPES)
def test_long_members(tmp_path, dtype):
    """Many of the reader's and writer's pieces; of zeros, which deflate expands as far as it can, and of noise,
    which it does not shorten."""
    rng = np.random.default_rng(5)
    noise = np.frombuffer(rng.bytes(1 << 19), np.uint8)
    noise = noise % 2 == 1 if dtype == "bool" else noise.view(dtype)
    noise = np.nan_to_num(noise).reshape(2, -1).T
    zeros = np.zeros(1 << 22, np.uint8).view(dtype)
    path = tmp_path / "x.npz"
    for saver, theirs in SAVERS:
        savez(path, {"noise": adopt(noise), "zeros": array(zeros), "end": array(noise[7])}, saver)
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            methods = {info.compress_type for info in archive.infolist()}
            assert methods == {8 if saver == "savez_compressed" else 0}
        with np.load(path) as back:
            for name, x in (("noise", noise), ("zeros", zeros), ("end", noise[7])):
                np.testing.assert_array_equal(back[name], x)
            assert back["noise"].flags.f_contiguous
        theirs(path, noise=noise, zeros=zeros)
        same(c.loadz(str(path), "noise"), noise, 0)
        same(c.loadz(str(path), "zeros"), zeros, 0)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        data = io.BytesIO()
        np.save(data, zeros)
        archive.writestr("zeros.npy", data.getvalue())
        archive.write(__file__, "notes.txt")
    same(c.loadz(str(path), "zeros"), zeros, 0)
    with pytest.raises(Failure, match="no .npy file"):
        c.loadz(str(path), "notes.txt")


def archive_of(data, packed, method=8, size=None):
    """An archive of one member x.npy, whose bytes are `packed`; records say it has `size`."""
    size = len(data) if size is None else size
    common = b"".join(
        n.to_bytes(k, "little")
        for n, k in ((20, 2), (0, 2), (method, 2), (0, 4), (zlib.crc32(data), 4), (len(packed), 4), (size, 4), (5, 2), (0, 2))
    )  # fmt: skip
    local = b"PK\x03\x04" + common + b"x.npy" + packed
    record = b"PK\x01\x02" + b"\x14\0" + common + bytes(14) + b"x.npy"
    ends = len(record).to_bytes(4, "little") + len(local).to_bytes(4, "little")
    return local + record + b"PK\x05\x06" + b"\0\0\0\0\1\0\1\0" + ends + b"\0\0"


def deflated(data):
    z = zlib.compressobj(9, wbits=-15)
    return z.compress(data) + z.flush()


def test_deflated_refusals(tmp_path):
    file = io.BytesIO()
    np.save(file, np.arange(9000.0) % 7)
    npy = file.getvalue()
    packed = deflated(npy)
    middle = len(packed) // 2
    path = tmp_path / "x.npz"

    def load(data):
        path.write_bytes(data)
        return c.loadz(str(path), "x")

    same(load(archive_of(npy, packed)), np.arange(9000.0) % 7, 0)
    bomb = deflated(bytes(1 << 24))
    for data, message in (
        (archive_of(npy, packed[:-1]), "compressed bytes are not those of 72128"),
        (archive_of(npy, packed[:middle]), "not those of"),
        (archive_of(npy, packed[:middle] + b"\xff" * 9 + packed[middle + 9 :]), "is damaged"),
        (archive_of(npy, packed + b"\0"), "not those of"),
        (archive_of(npy, b"\7" + packed), "not those of"),
        (archive_of(npy, b"\6"), "1 compressed bytes cannot hold 72128"),
        (archive_of(npy, b""), "0 compressed bytes cannot hold"),
        (archive_of(npy, zlib.compress(npy)), "not those of"),
        (archive_of(npy, packed, size=len(npy) + 1), "not those of 72129"),
        (archive_of(npy, packed, size=len(npy) - 1), "not those of 72127"),
        (archive_of(npy, packed, size=0), "is damaged"),
        (archive_of(npy, packed, size=2**32 - 2), "cannot hold 4294967294"),
        (archive_of(npy, packed, size=2**32 - 1), "4 GiB or more"),
        (archive_of(npy, npy, method=0, size=len(npy) - 1), "is damaged"),
        (archive_of(npy[:-1], packed, size=len(npy)), "is damaged"),
        (archive_of(npy[:100], bomb), "not those of 100"),
        (archive_of(npy[:100], bomb, size=1032 * len(bomb)), "not those of"),
        (archive_of(bytes(1 << 24), bomb), "no .npy file"),
        (
            archive_of(npy[:-8], deflated(npy[:-8])),
            "71992 bytes of elements; the array needs 72000",
        ),
        (archive_of(npy, packed, method=12), "method 12"),
        (archive_of(npy, packed)[len(packed) - 50 :], "is damaged"),
    ):
        with pytest.raises(Failure, match=message) as refusal:
            load(data)
        unsupported = "method" in message or "GiB" in message
        assert refusal.value.kind == ("NotImplementedError" if unsupported else "ValueError")


def test_archive_refusals(tmp_path):
    path, a = tmp_path / "x.npz", array(np.arange(3.0))
    for saver, _ in SAVERS:
        savez(path, {}, saver)
        assert text_of("npz_names", str(path)) == ""
        for named, message in (
            ({"": a}, "name 0 has 0 bytes"),
            ({"x" * 256: a}, "name 0 has 256 bytes"),
            ({"x": c.zeros(27, 0, None)}, "no bfloat16"),
        ):
            with pytest.raises(Failure, match=message):
                savez(path, named, saver)
        with pytest.raises(Failure, match="cannot be opened"):
            savez(tmp_path / "no" / "x.npz", {"x": a}, saver)
        with pytest.raises(Failure, match="cannot be written: No space left"):
            savez("/dev/full", {"x": array(np.arange(20000))}, saver)
        twice = (ctypes.c_char_p * 2)(b"x", b"x")
        with pytest.raises(Failure, match="'x' comes twice"):
            getattr(c, saver)(str(path), 2, twice, handles([a, a]))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("x.npy", b"some bytes")
    with pytest.raises(Failure, match="by zip's method 14; .* stored .0. or deflated .8."):
        c.loadz(str(path), "x")
    savez(path, {"x": a})
    good = path.read_bytes()
    assert zipfile.ZipFile(path).testzip() is None

    def written(data):
        path.write_bytes(data)
        return str(path)

    flipped = bytearray(good)
    flipped[good.index(np.float64(2.0).tobytes())] ^= 1
    for call, message in (
        (lambda: c.loadz(written(good), "y"), "has no array 'y'"),
        (lambda: c.loadz(written(bytes(flipped)), "x"), "damaged"),
        (lambda: c.loadz(written(good[:-30]), "x"), "damaged"),
        (lambda: c.loadz(written(b""), "x"), "damaged"),
        (lambda: c.loadz(str(tmp_path / "none.npz"), "x"), "cannot be opened: No such file"),
    ):
        with pytest.raises(Failure, match=message):
            call()


@given(st.binary(min_size=1, max_size=40), st.integers(0, 400), st.sampled_from(SAVERS))
def test_archive_fuzz(tmp_path_factory, noise, at, savers):
    """Bytes changed anywhere give an array or a sentence."""
    path = tmp_path_factory.mktemp("npz") / "x.npz"
    savers[1](path, x=np.arange(6.0).reshape(2, 3))
    data = bytearray(path.read_bytes())
    data[at % len(data) : at % len(data) + len(noise)] = noise
    path.write_bytes(bytes(data))
    for call in (lambda: c.loadz(str(path), "x").numpy(), lambda: text_of("npz_names", str(path))):
        try:
            call()
        except Failure as failure:
            assert str(failure)


@given(numpy_arrays(dtypes=["float32", "int8", "complex128"]), st.integers(0, 3))
def test_raw_files(tmp_path_factory, x, skip):
    path = tmp_path_factory.mktemp("raw") / "x.bin"
    c.to_file(str(path), array(x))
    assert path.read_bytes() == x.tobytes()
    code, size = DTYPES[x.dtype.name], x.dtype.itemsize
    same(c.from_file(str(path), code, -1, 0), x.ravel(), 0)
    if x.size > skip:
        same(c.from_file(str(path), code, 1, skip * size), x.ravel()[skip : skip + 1], 0)
    with pytest.raises(Failure, match="cut short"):
        c.from_file(str(path), code, x.size + 1, 0)


def test_raw_refusals(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(b"12345")
    with pytest.raises(Failure, match="no whole number of int16"):
        c.from_file(str(path), DTYPES["int16"], -1, 0)
    with pytest.raises(Failure, match="count is -2"):
        c.from_file(str(path), DTYPES["int16"], -2, 0)


# ---- the engine


class Memory(ctypes.Structure):
    _fields_ = [
        (n, ctypes.c_uint64)
        for n in (
            "device_allocations",
            "pool_hits",
            "bytes_in_use",
            "bytes_cached",
            "peak_bytes",
            "peak_reserved",
            "magazine_hits",
            "bin_hits",
            "segment_hits",
            "bytes_allocated",
            "bytes_reused",
            "device_frees",
            "segments",
        )
    ]


class Engine(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint64) for n in ("recorded", "eager", "programs", "single_ops", "plan_hits", "plan_misses",
                                               "fallbacks", "synchronizations")]  # fmt: skip


def memory():
    m = Memory()
    c.memory_stats(ctypes.byref(m))
    return m


def test_memory():
    before = memory().bytes_in_use
    a = c.ones(DTYPES["float64"], 1, extents(1 << 20))
    c.synchronize()
    assert memory().bytes_in_use >= before + (8 << 20) <= memory().peak_bytes
    assert memory().device_allocations > 0
    del a
    assert memory().bytes_in_use == before
    assert memory().bytes_cached >= 8 << 20
    c.empty_cache()
    assert memory().bytes_cached < 8 << 20
    assert memory().pool_hits >= 0


def test_recording():
    stats, before = Engine(), ctypes.c_int32()
    a = c.ones(DTYPES["float64"], 1, extents(1 << 16))
    c.set_lazy(1, ctypes.byref(before))
    assert before.value == 1
    c.engine_stats(ctypes.byref(stats))
    recorded = stats.recorded
    b = c.binary_number("add", a, number(1))
    text = ctypes.c_void_p()
    c.explain(b, ctypes.byref(text))
    assert b"add" in ctypes.string_at(text)
    c.free_text(text)
    c.engine_stats(ctypes.byref(stats))
    assert stats.recorded > recorded
    assert b.numpy().sum() == 2 << 16
    c.set_lazy(0, None)
    c.explain(None, ctypes.byref(text))
    assert b"add" not in ctypes.string_at(text)
    c.free_text(text)
    c.set_lazy(1, ctypes.byref(before))
    assert before.value == 0


def test_device():
    kind, n, before = ctypes.c_char_p(), ctypes.c_int32(), ctypes.c_int32()
    c.device_kind(ctypes.byref(kind))
    assert kind.value == b"cpu"
    c.device_count(ctypes.byref(n))
    assert n.value >= 1
    c.set_device(0)
    c.get_device(ctypes.byref(n))
    assert n.value == 0
    with pytest.raises(Failure, match="device 99 does not exist"):
        c.set_device(99)
    c.set_fallback(0, ctypes.byref(before))
    assert before.value == 1
    c.set_fallback(1, ctypes.byref(before))
    assert before.value == 0
    with pytest.raises(Failure, match="policy is 5"):
        c.set_fallback(5, None)
    stream = ctypes.c_void_p()
    c.stream(ctypes.byref(stream))
    assert stream.value
    assert c.version().count(b".") == 2
    a = c.zeros(DTYPES["int8"], 0, None)
    c.assign(a, operand(1))
    with pytest.raises(Failure, match="arrays still hold"):
        c.finalize()
