"""What the device lacks runs on the CPU, is told, counted, or refused; what CANN documents; the doctor."""

import json
import os
import subprocess
import sys

import asnumpy as np
import numpy
import pytest
from asnumpy import acl, doctor
from conftest import ROOT

STRICT = {"ASNUMPY_DEVICE": "ascend", "ASNUMPY_CANN_STRICT": "1"}


def run(program, **more):
    """What a program prints with our libraries in CANN's place, documented dtypes only."""
    environment = {k: v for k, v in os.environ.items() if k != "ASNUMPY_FALLBACK"}
    environment |= {"ASCEND_HOME_PATH": str(acl.home()), **STRICT, **more}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


POLICIES = """
import warnings, numpy, asnumpy as np
x = np.array([3.0, 1.0, 2.0])
assert np.sin(x).sum() > 0 and np.engine_stats()["fallbacks"] == 0
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert np.sort(x).tolist() == [1, 2, 3]
assert "sort ran on the CPU" in str(caught[0].message) and caught[0].category is RuntimeWarning
assert np.engine_stats()["fallbacks"] == 1
assert np.set_fallback("silent") == "warn"
with warnings.catch_warnings():
    warnings.simplefilter("error")
    assert np.sort(x).tolist() == [1, 2, 3]
    # Strided operands and results, results over operands, several of them.
    a = np.arange(60.0).reshape(6, 10)
    a[::2, 1::3] = np.logaddexp(a[::2, 1::3], a[1::2, ::4][:, :3])
    b = numpy.arange(60.0).reshape(6, 10)
    b[::2, 1::3] = numpy.logaddexp(b[::2, 1::3], b[1::2, ::4][:, :3])
    assert numpy.allclose(a.to_numpy(), b, rtol=1e-15)
    a[1:] -= np.hypot(a[:-1], a[1:])
    b[1:] -= numpy.hypot(b[:-1], b[1:])
    assert numpy.allclose(a.to_numpy(), b)
    assert numpy.allclose(np.linalg.inv(np.eye(3) * 2).to_numpy(), numpy.eye(3) / 2)
    assert numpy.allclose(np.fft.ifft(np.fft.fft(x)).real.to_numpy(), [3, 1, 2])
    m = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert (m @ m).tolist() == [[7, 10], [15, 22]]
    assert np.array([250, 10], "u1").__add__(np.array([10, 10], "u1")).tolist() == [4, 20]
assert np.set_fallback("error") == "silent"
for call in (lambda: np.sort(x), lambda: np.fft.fft(x), lambda: np.linalg.inv(m), lambda: m @ m, lambda: np.expm1(x) + 1):
    try:
        print(call())
    except NotImplementedError as e:
        assert "no operator" in str(e), e
    else:
        raise AssertionError("not refused")
try:
    np.set_fallback("maybe")
except ValueError as e:
    assert "'maybe'" in str(e)
print("done")
"""


def test_policies():
    assert run(POLICIES) == "done\n"
    assert (
        run("import asnumpy as np; print(np.set_fallback('warn'))", ASNUMPY_FALLBACK="error")
        == "error\n"
    )


def test_indices_out_of_bounds():
    """The host's complaint is NumPy's error too."""
    program = """
import asnumpy as np
np.set_fallback("silent")
a, i = np.arange(5, dtype="c8"), np.array([1, 9])
try:
    a[i].tolist()
except IndexError as e:
    print(e)
"""
    assert "index 9 is out of bounds for axis 0 with size 5" in run(program)


@pytest.mark.parametrize(
    ("name", "dtype", "expected"),
    [("add", "f4", True), ("sin", "f8", True), ("sin", "i2", True), ("sort", "f8", False), ("sort", "f4", True),
     ("absolute", "i1", True), ("abs", "i1", True), ("add", "u2", True), ("nextafter", "f4", True), ("left_shift", "u8", False),
     ("linalg.solve", "f8", False), ("fft.fft", "f4", False), ("matmul", "f4", True), ("matmul", "f8", False)],
)  # fmt: skip
def test_supports(name, dtype, expected):
    assert np.supports(name, dtype, device="ascend") is expected
    assert np.supports(name, dtype, device="cpu") is True


def test_supports_is_what_cann_documents():
    """Every operator with every dtype, by the table that the operators are made from."""
    names = {"f2": "FLOAT16", "f4": "FLOAT", "f8": "DOUBLE", "i1": "INT8", "i2": "INT16", "i4": "INT32",
             "i8": "INT64", "u1": "UINT8", "?": "BOOL", "c8": "COMPLEX64", "c16": "COMPLEX128"}  # fmt: skip
    table = json.loads((ROOT / "tools" / "cann" / "operators.json").read_text())
    operators = {"argmax": "ArgMax", "sort": "Sort", "bincount": "Bincount", "take": "Index", "std": "Std",
                 "searchsorted": "SearchSorted", "max": "Amax", "matmul": "Matmul", "all": "All"}  # fmt: skip
    for name, operator in operators.items():
        documented = next(iter(table[f"aclnn{operator}"]["dtypes"].values())).split()
        for dtype, word in names.items():
            expected = word in documented
            assert np.supports(name, dtype, device="ascend") is expected, (name, dtype)


def test_supports_refuses():
    with pytest.raises(ValueError, match="no 'nope'"):
        np.supports("nope", "f4")
    with pytest.raises(ValueError, match="composed"):
        np.supports("median", "f4", device="ascend")
    with pytest.raises(ValueError, match="'cpu', 'ascend' or 'npu'"):
        np.supports("add", "f4", device="cuda")
    with pytest.raises(TypeError):
        np.supports("add", "M8[s]")
    with pytest.raises(TypeError):
        np.supports("gcd", "f4", device="ascend")


def test_supports_is_what_happens():
    """Float32 ufuncs of one array: those that are not supported fall back, the others do not."""
    program = """
import warnings, numpy, asnumpy as np
from asnumpy import _core
warnings.simplefilter("ignore")
for name in _core._cann_rows():
    f = getattr(np, name, None)
    if not isinstance(f, np.ufunc) or f.nin != 1 or f.nout != 1:
        continue
    x = np.array([0.25, 0.5], "f4")
    before = np.engine_stats()["fallbacks"]
    try:
        numpy.asarray(f(x))
        told = np.supports(name, "f4", device="ascend")
    except TypeError:
        continue
    print(name, told, np.engine_stats()["fallbacks"] == before)
"""
    rows = [line.split() for line in run(program, ASNUMPY_FALLBACK="silent").splitlines()]
    assert len(rows) > 30
    assert [r for r in rows if r[1] != r[2]] == []


def test_doctor():
    text = "\n".join(doctor.report(npu=True))
    for part in ("device:", "NumPy:", numpy.__version__, "CANN:", "to do:", "float16:"):
        assert part in text
    environment = {**os.environ, "ASCEND_HOME_PATH": str(acl.home())}
    out = subprocess.run(
        [sys.executable, "-m", "asnumpy.doctor"], capture_output=True, text=True, env=environment
    )
    assert out.returncode == 0 and "libopapi.so:" in out.stdout and "opens" in out.stdout
    environment = {**os.environ, "ASCEND_HOME_PATH": "/nonexistent"}
    out = subprocess.run(
        [sys.executable, "-m", "asnumpy.doctor"], capture_output=True, text=True, env=environment
    )
    assert out.returncode == 0 and "does not open" in out.stdout


BROKEN = """
import asnumpy as np
try:
    np.zeros(3) + 1
except RuntimeError as e:
    print(e)
"""


def test_library_that_does_not_open(tmp_path):
    lib = tmp_path / "lib64"
    lib.mkdir()
    (lib / "libascendcl.so").symlink_to(acl.home() / "lib64" / "libascendcl.so")
    text = run(BROKEN, ASCEND_HOME_PATH=str(tmp_path))
    assert "ascend device's library libnnopbase.so cannot be opened: libnnopbase.so: " in text
    (lib / "libnnopbase.so").write_text("this is no library")
    text = run(BROKEN, ASCEND_HOME_PATH=str(tmp_path))
    assert f"libnnopbase.so cannot be opened: {lib}/libnnopbase.so: " in text


COMPOSED = """
import numpy, asnumpy as np
np.set_fallback("error")
r = numpy.random.default_rng(3)
special = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1.0, -1.0, 3e-39, 1e-38, 3e38, -2.5]
x = numpy.concatenate([r.standard_normal(500) * 10.0 ** r.uniform(-30, 30, 500), numpy.repeat(special, len(special))]).astype("f4")
y = numpy.concatenate([r.standard_normal(500) * 10.0 ** r.uniform(-30, 30, 500), special * len(special)]).astype("f4")
np.seterr(all="ignore"), numpy.seterr(all="ignore")
for name in "positive fabs square cbrt hypot conjugate degrees radians copysign isnan fmax fmin modf".split():
    for dtype in ("f4", "f2"):
        args = [v.astype(dtype) for v in ((x, y) if getattr(numpy, name).nin == 2 else (x,))]
        wanted = getattr(numpy, name)(*args)
        before = [np.array(v) for v in args]
        got = getattr(np, name)(*before)
        if name == "modf":
            wanted, got = wanted[0], got[0]
        got = got.to_numpy()
        assert got.dtype == wanted.dtype, (name, dtype)
        if got.dtype != bool:
            signed = ~numpy.isnan(wanted) & ((wanted != 0) | (name not in ("fmax", "fmin")))
            assert (numpy.signbit(got) == numpy.signbit(wanted))[signed].all(), (name, dtype)
            one = numpy.spacing(numpy.abs(wanted)).astype("f8")
            far = numpy.abs(got.astype("f8") - wanted.astype("f8")) / one
            far[(got == wanted) | (numpy.isnan(got) & numpy.isnan(wanted))] = 0
            assert far.max() <= (2 if name in ("cbrt", "hypot", "degrees", "radians") else 1), (name, dtype, far.max(), args[0][far.argmax()])
        else:
            assert (got == wanted).all(), (name, dtype)
assert np.engine_stats()["fallbacks"] == 0
assert all(np.supports(n, "float32", device="ascend") for n in ("square", "hypot", "cbrt", "fmax", "spacing"))
print("done")
"""


def test_compositions():
    """Rows that CANN has no operator for are other rows there, without the host."""
    assert run(COMPOSED) == "done\n"


# NumPy's bits: every float16, random bits, both sides of every power of two, and subnormals.
EXACT_FLOATS = """
import numpy, asnumpy as np
np.set_fallback("error")
np.seterr(all="ignore"), numpy.seterr(all="ignore")
r = numpy.random.default_rng(4)
def same(got, wanted, *args):
    assert got.dtype == wanted.dtype and got.shape == wanted.shape, args[0]
    bits = f"u{got.itemsize}"
    nan = numpy.isnan(wanted)
    bad = (got.view(bits) != wanted.view(bits)) & ~(nan & numpy.isnan(got))
    assert not bad.any(), (args[0], got[bad][:5], wanted[bad][:5], [a[bad][:5] for a in args[1:]])
for dtype, bits in (("f2", "u2"), ("f4", "u4"), ("f8", "u8")):
    info = numpy.finfo(dtype)
    special = numpy.array([0.0, -0.0, 1, -1, 3, -3, info.max, -info.max, info.tiny, -info.tiny, numpy.inf, -numpy.inf, numpy.nan, info.smallest_subnormal], dtype)
    if dtype == "f2":
        x = numpy.arange(65536, dtype="u2").view("f2")
    else:
        powers = numpy.ldexp(numpy.ones(1, dtype), numpy.arange(-1074 if dtype == "f8" else -149, info.maxexp))
        near = numpy.concatenate([powers, numpy.nextafter(powers, 0 * powers), numpy.nextafter(powers, powers * 2)])
        low = r.integers(0, 1 << info.nmant + 2, 3000).astype(bits).view(dtype)
        x = numpy.concatenate([near, -near, low, -low, r.integers(0, 1 << 8 * info.dtype.itemsize, 20000, dtype=bits).view(dtype), special])
    x = numpy.concatenate([x, numpy.repeat(special, len(special))])
    y = numpy.concatenate([r.choice(x, len(x) - len(special) ** 2), numpy.tile(special, len(special))])
    y[::7] = x[::7]
    X, Y = np.array(x), np.array(y)
    for direction in (y, numpy.zeros_like(y), x * 2, numpy.full_like(x, numpy.inf), -numpy.full_like(x, numpy.inf)):
        wanted = numpy.nextafter(x, direction)
        if dtype == "f2":  # NumPy before 2.5 gives the first of two zeros here alone, not the second as C has it
            wanted = numpy.where(x == direction, direction, wanted)
        same(np.nextafter(X, np.array(direction)).to_numpy(), wanted, "nextafter", x, direction)
    same(np.spacing(X).to_numpy(), numpy.spacing(x), "spacing", x)
    fraction, exponent = np.frexp(X)
    wanted, counts = numpy.frexp(x)
    same(fraction.to_numpy(), wanted, "frexp", x)
    counts[~numpy.isfinite(x)] = 0  # what they are is left to the C library
    assert exponent.dtype == "i4" and (exponent.to_numpy() == counts).all(), dtype
    for by in (r.integers(-60, 60, len(x)), r.integers(-2300, 2300, len(x)), r.integers(-330, 330, len(x)), r.choice([2**31 - 1, -2**31, 0], len(x))):
        by = by.astype("i4")
        same(np.ldexp(X, np.array(by)).to_numpy(), numpy.ldexp(x, by), "ldexp", x, by)
b = numpy.arange(65536, dtype="i4")  # bfloat16, on its bits: magnitudes are ordered as they are
t = r.permutation(b)
t[::5] = b[::5]
size, to = b & 0x7fff, t & 0x7fff
away = ((b ^ t) < 0x8000) & (to > size)
wanted = numpy.where(size == 0, t & 0x8000 | 1, numpy.where(away, b + 1, b - 1))
wanted = numpy.where((b == t) | (size + to == 0), t, wanted)
X, Y = (np.array((v << 16).astype("u4").view("f4")).astype(np.bfloat16) for v in (b, t))
wanted = (wanted << 16).astype("u4").view("f4")
got = np.nextafter(X, Y).astype("f4").to_numpy()
wanted[(size > 0x7f80) | (to > 0x7f80)] = numpy.nan
same(got, wanted, "nextafter of bfloat16")
up = ((b + 1) << 16).astype("u4").view("f4").astype("f8") - (b << 16).astype("u4").view("f4").astype("f8")
up[size >= 0x7f80] = numpy.nan
up[size == 0] = 2.0 ** -133  # of -0 too
same(np.spacing(X).astype("f4").to_numpy(), up.astype("f4"), "spacing of bfloat16")
x = numpy.array([0.5, -0.5, -0.0, 2.5, -2.5, 1e300, numpy.inf, -numpy.inf, numpy.nan])
same(np.trunc(np.array(x)).to_numpy(), numpy.trunc(x), "trunc", x)
same(np.heaviside(np.array(x), np.array(x[::-1].copy())).to_numpy(), numpy.heaviside(x, x[::-1]), "heaviside", x)
assert np.engine_stats()["fallbacks"] == 0
print("done")
"""


def test_exact_compositions_of_floats():
    assert run(EXACT_FLOATS) == "done\n"


EXACT_INTEGERS = """
import numpy, asnumpy as np
np.set_fallback("error")
np.seterr(all="ignore"), numpy.seterr(all="ignore")
r = numpy.random.default_rng(5)
for dtype in "i1 i2 i4 i8 u1 u2 u4".split():
    info = numpy.iinfo(dtype)
    special = numpy.array([0, 1, 2, 3, info.max, info.min, info.max - 1, info.min + 1, info.max // 2], dtype)
    x = numpy.concatenate([r.integers(info.min, info.max, 4000, dtype=dtype, endpoint=True), r.integers(0, 100, 1000).astype(dtype), special.repeat(9)])
    y = numpy.concatenate([r.choice(x, 5000), numpy.tile(special, 9)])
    by = numpy.concatenate([r.integers(0, info.bits, 2500), r.integers(0, 100, 2500), numpy.tile(special, 9)]).astype(dtype)
    X, Y, B = np.array(x), np.array(y), np.array(by)
    for name, a, b in (("left_shift", (x, by), (X, B)), ("right_shift", (x, by), (X, B)), ("lcm", (x, y), (X, Y)),
                       ("bitwise_count", (x,), (X,)), ("trunc", (x,), (X,)), ("ceil", (x,), (X,)), ("floor", (x,), (X,)),
                       ("isnan", (x,), (X,)), ("isfinite", (x,), (X,))):
        got, wanted = getattr(np, name)(*b).to_numpy(), getattr(numpy, name)(*a)
        assert got.dtype == wanted.dtype and (got == wanted).all(), (name, dtype, [v[got != wanted][:5] for v in (*a, got, wanted)])
        assert np.supports(name, dtype, device="ascend"), (name, dtype)
    # In place, strided, and a count that is a number.
    a, b = np.array(x)[::2], x[::2].copy()
    a <<= 3
    b <<= 3
    a[1:] >>= a[:-1] & 7
    b[1:] >>= (b[:-1] & 7).copy()
    assert (a.to_numpy() == b).all(), dtype
assert np.engine_stats()["fallbacks"] == 0
print("done")
"""


def test_exact_compositions_of_integers():
    assert run(EXACT_INTEGERS) == "done\n"
