"""What the device lacks runs on the CPU, is told, counted, or refused; what CANN documents; the doctor."""

import os
import subprocess
import sys

import asnumpy as np
import numpy
import pytest
from asnumpy import acl, doctor

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
    a[::2, 1::3] = np.nextafter(a[::2, 1::3], a[1::2, ::4][:, :3])
    b = numpy.arange(60.0).reshape(6, 10)
    b[::2, 1::3] = numpy.nextafter(b[::2, 1::3], b[1::2, ::4][:, :3])
    assert a.tolist() == b.tolist()
    a[1:] -= np.hypot(a[:-1], a[1:])
    b[1:] -= numpy.hypot(b[:-1], b[1:])
    assert numpy.allclose(a.to_numpy(), b)
    assert numpy.allclose(np.linalg.inv(np.eye(3) * 2).to_numpy(), numpy.eye(3) / 2)
    assert numpy.allclose(np.fft.ifft(np.fft.fft(x)).real.to_numpy(), [3, 1, 2])
    m = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert (m @ m).tolist() == [[7, 10], [15, 22]]
    assert np.array([250, 10], "u1").__add__(np.array([10, 10], "u1")).tolist() == [4, 20]
assert np.set_fallback("error") == "silent"
for call in (lambda: np.sort(x), lambda: np.fft.fft(x), lambda: np.linalg.inv(m), lambda: m @ m, lambda: np.spacing(x) + 1):
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
     ("absolute", "i1", True), ("abs", "i1", True), ("add", "u2", True), ("nextafter", "f4", False),
     ("linalg.solve", "f8", False), ("fft.fft", "f4", False), ("matmul", "f4", True), ("matmul", "f8", False)],
)  # fmt: skip
def test_supports(name, dtype, expected):
    assert np.supports(name, dtype, device="ascend") is expected
    assert np.supports(name, dtype, device="cpu") is True


def test_supports_refuses():
    with pytest.raises(ValueError, match="no 'nope'"):
        np.supports("nope", "f4")
    with pytest.raises(ValueError, match="composed"):
        np.supports("median", "f4", device="ascend")
    with pytest.raises(ValueError, match="'cpu' or 'ascend'"):
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
    text = "\n".join(doctor.report())
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
assert [n for n in ("square", "hypot", "cbrt", "fmax", "spacing") if not np.supports(n, "float32", device="ascend")] == ["spacing"]
print("done")
"""


def test_compositions():
    """Rows that CANN has no operator for are other rows there, without the host."""
    assert run(COMPOSED) == "done\n"
