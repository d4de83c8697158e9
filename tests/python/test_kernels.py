"""Kernels from C source text against NumPy: broadcasting, strides, casts, out=, reductions, errors, the cache."""

import os
import pathlib
import subprocess
import sys
import threading

import asnumpy
import ml_dtypes
import numpy as np
import pytest

SQUARED = asnumpy.ElementwiseKernel(
    "T x, T y", "T z", "z = (x - y) * (x - y)", "squared_difference"
)
SUM = asnumpy.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "sum_of")
NORM = asnumpy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm_of")
LARGEST = asnumpy.ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", None, "largest")


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory):
    before = os.environ.get("ASNUMPY_CACHE_DIR")
    os.environ["ASNUMPY_CACHE_DIR"] = str(tmp_path_factory.mktemp("kernels"))
    policy = asnumpy.set_fallback("silent")
    yield
    asnumpy.set_fallback(policy)
    if before is None:
        del os.environ["ASNUMPY_CACHE_DIR"]
    else:
        os.environ["ASNUMPY_CACHE_DIR"] = before


LAYOUTS = [
    lambda a: a, lambda a: a[::2], lambda a: a[::-1], lambda a: a.T, lambda a: a[:, ::-3], lambda a: a[:0],
    lambda a: a[3:4], lambda a: a[5, 2],
]  # fmt: skip
DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
          "float64", "complex64", "complex128"]  # fmt: skip


@pytest.mark.parametrize("layout", range(len(LAYOUTS)))
def test_elementwise_layouts(layout, rng):
    a, b = rng.random((40, 40)), rng.random((40, 40))
    cut = LAYOUTS[layout]
    got = SQUARED(cut(asnumpy.array(a)), cut(asnumpy.array(b)))
    np.testing.assert_array_equal(np.asarray(got), (cut(a) - cut(b)) ** 2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype, rng):
    a, b = (rng.integers(0, 2 if dtype == "bool" else 11, (7, 30)).astype(dtype) for _ in range(2))
    kernel = asnumpy.ElementwiseKernel(
        "T x, T y", "T z, bool same", "z = x + y; same = x == y", "plus"
    )
    total, same = kernel(asnumpy.array(a), asnumpy.array(b))
    assert total.dtype == dtype and same.dtype == bool
    np.testing.assert_array_equal(np.asarray(total), a + b)
    np.testing.assert_array_equal(np.asarray(same), a == b)
    got = SUM(asnumpy.array(a), axis=1)
    np.testing.assert_array_equal(np.asarray(got), a.sum(axis=1, dtype=dtype))


def test_promotion_and_broadcasting(rng):
    a, b = rng.random((3, 1, 5), dtype=np.float32), rng.integers(0, 9, (4, 1), dtype=np.int16)
    got = SQUARED(asnumpy.array(a), asnumpy.array(b))
    assert got.dtype == np.float32 and got.shape == (3, 4, 5)
    np.testing.assert_array_equal(np.asarray(got), (a - b) * (a - b))
    assert SQUARED(asnumpy.array(a), 2).dtype == np.float32  # Python's numbers give way
    assert SQUARED(asnumpy.array(b), 2.5).dtype == np.float64
    assert SQUARED(asnumpy.array(b), np.float32(2)).dtype == np.float32
    assert SQUARED([1, 2], 5).dtype == np.int64
    typed = asnumpy.ElementwiseKernel("float32 x", "float32 y", "y = x / 2", "typed")
    assert typed(asnumpy.arange(3)[:, None] * np.float16(1)).dtype == np.float32
    with pytest.raises(TypeError, match="typed: x: Cannot cast from"):
        typed(asnumpy.array([1j]))
    with pytest.raises(OverflowError, match="300 out of bounds for int8"):
        SQUARED(asnumpy.array([1], dtype="int8"), 300)


def test_out(rng):
    a = rng.random((6, 8))
    x = asnumpy.array(a)
    out = asnumpy.zeros((6, 16))[:, ::2]
    assert SQUARED(x, 1, out) is out and SQUARED(x, 1, out=out) is out
    np.testing.assert_array_equal(np.asarray(out), (a - 1) ** 2)
    single = asnumpy.zeros((6, 8), "float32")  # computed in float64 and cast
    kernel = asnumpy.ElementwiseKernel("T x", "float64 z", "z = x * x", "square")
    kernel(x, single)
    np.testing.assert_array_equal(np.asarray(single), (a * a).astype("float32"))
    SQUARED(x, 1, x)  # in place
    np.testing.assert_array_equal(np.asarray(x), (a - 1) ** 2)
    line = asnumpy.arange(10.0)
    SQUARED(line[:-1], 0, line[1:])  # the operands before anything is written
    np.testing.assert_array_equal(np.asarray(line), [0, *np.arange(9.0) ** 2])
    line = asnumpy.arange(10.0)
    SQUARED(line[::-1], 0, line)
    np.testing.assert_array_equal(np.asarray(line), np.arange(9.0, -1, -1) ** 2)
    partly = asnumpy.ElementwiseKernel("T x", "T y", "if (x > 5) y = x", "partly")
    kept = asnumpy.full(10, -1.0)
    partly(asnumpy.arange(10.0), kept)
    np.testing.assert_array_equal(np.asarray(kept), [-1] * 6 + [6, 7, 8, 9])
    early = asnumpy.ElementwiseKernel("T x", "T y", "y = 0; if (x < 5) return; y = 1", "early")
    np.testing.assert_array_equal(np.asarray(early(asnumpy.arange(8))), [0] * 5 + [1] * 3)
    read_only = asnumpy.broadcast_to(asnumpy.zeros(8), (6, 8))
    with pytest.raises(ValueError, match="read-only"):
        SQUARED(x, 1, read_only)
    with pytest.raises(ValueError, match=r"output 0 has shape \(3,\); the operands make \(6, 8\)"):
        SQUARED(x, 1, asnumpy.zeros(3))


def test_operations_before_and_after_stay_recorded():
    x = asnumpy.arange(1000.0) * 2 + 1  # recorded, not run
    z = SQUARED(x, 1)
    y = x + z  # x and z were not handed to the host for good
    assert "add" in asnumpy.explain(y) or os.environ.get("ASNUMPY_FUSE") == "0" or y[1] == 7
    np.testing.assert_array_equal(
        np.asarray(y), np.arange(1000.0) * 2 + 1 + (np.arange(1000.0) * 2) ** 2
    )


def test_raw_arguments_and_indices(rng):
    table, at = rng.random((5, 4)), rng.integers(0, 20, (3, 6))
    gather = asnumpy.ElementwiseKernel("raw T t, int64 j", "T z", "z = t[j] + i + t_size", "gather")
    for t in (table, table.T):
        got = gather(asnumpy.array(t), asnumpy.array(at))
        np.testing.assert_array_equal(
            np.asarray(got), t.ravel()[at] + np.arange(18).reshape(3, 6) + 20
        )
    got = gather(
        asnumpy.array(table), asnumpy.array(at).T
    )  # i counts the operands' shape, row by row
    np.testing.assert_array_equal(
        np.asarray(got), table.ravel()[at.T] + np.arange(18).reshape(6, 3) + 20
    )
    flip = asnumpy.ElementwiseKernel("raw T x", "raw T y", "y[n - 1 - i] = x[i]", "flip")
    y = asnumpy.zeros((4, 10))[:, ::2]
    flip(asnumpy.array(table), y.reshape(5, 4), size=20)
    out = asnumpy.zeros((4, 5), order="F")
    flip(asnumpy.array(table), out, size=20)
    np.testing.assert_array_equal(np.asarray(out), table.ravel()[::-1].reshape(4, 5))
    with pytest.raises(ValueError, match="every array is raw"):
        flip(asnumpy.array(table), out)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads(threads, monkeypatch, rng):
    monkeypatch.setenv("ASNUMPY_NUM_THREADS", str(threads))
    a = rng.random((701, 503))
    x = asnumpy.array(a)
    index = asnumpy.ElementwiseKernel("T x", "int64 z", "z = i", "index")
    for cut in (lambda v: v, lambda v: v.T, lambda v: v[::-2, ::3]):
        np.testing.assert_array_equal(np.asarray(index(cut(x))).ravel(), np.arange(cut(a).size))
        np.testing.assert_array_equal(np.asarray(SQUARED(cut(x), 0.5)), (cut(a) - 0.5) ** 2)
        for axis in (None, 0, 1, (0, 1), -1):
            np.testing.assert_allclose(
                np.asarray(NORM(cut(x), axis=axis)), np.sqrt((cut(a) ** 2).sum(axis)), rtol=1e-13
            )
            np.testing.assert_array_equal(np.asarray(LARGEST(cut(x), axis=axis)), cut(a).max(axis))
    first = asnumpy.ReductionKernel(
        "T x", "int64 y", "x > 0.999 ? i : size", "min(a, b)", "y = a", "INT64_MAX", "first"
    )
    assert int(first(x)) == np.flatnonzero(a.ravel() > 0.999)[0]
    assert int(first(x.T)) == np.flatnonzero(a.T.ravel() > 0.999)[0]


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 2), (1, 2), (0, 1, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reduction_axes(axis, keepdims, rng):
    a = rng.integers(-50, 50, (5, 37, 18))
    x = asnumpy.array(a)
    for cut in (lambda v: v, lambda v: v.T, lambda v: v[::-1, ::2, ::-1]):
        got = SUM(cut(x), axis=axis, keepdims=keepdims)
        np.testing.assert_array_equal(np.asarray(got), cut(a).sum(axis=axis, keepdims=keepdims))
        got = LARGEST(cut(x), axis=axis, keepdims=keepdims)
        np.testing.assert_array_equal(np.asarray(got), cut(a).max(axis=axis, keepdims=keepdims))


def test_reduction_of_several_and_of_nothing(rng):
    a, b = rng.random((4, 1, 30)), rng.random((6, 30))
    dot = asnumpy.ReductionKernel(
        "T x, T y", "T z, T root", "x * y", "a + b", "z = a; root = sqrt(a)", 0, "dot"
    )
    z, root = dot(asnumpy.array(a), asnumpy.array(b), axis=-1)
    np.testing.assert_allclose(np.asarray(z), (a * b).sum(-1), rtol=1e-13)
    np.testing.assert_array_equal(np.asarray(root), np.sqrt(np.asarray(z)))
    out = asnumpy.empty((4, 6), "float32"), asnumpy.empty((4, 6))
    assert dot(asnumpy.array(a), asnumpy.array(b), axis=2, out=out)[0] is out[0]
    np.testing.assert_allclose(np.asarray(out[0]), (a * b).sum(-1), rtol=1e-6)
    assert SUM(asnumpy.zeros((0, 3)), axis=0).tolist() == [0, 0, 0]
    assert LARGEST(asnumpy.zeros((0, 3)), axis=1).shape == (0,)
    with pytest.raises(ValueError, match="no identity"):
        LARGEST(asnumpy.zeros((0, 3)), axis=0)
    with pytest.raises(np.exceptions.AxisError):
        SUM(asnumpy.zeros((2, 3)), axis=2)
    with pytest.raises(ValueError, match="duplicate"):
        SUM(asnumpy.zeros((2, 3)), axis=(0, -2))
    wide = asnumpy.ReductionKernel(
        "T x", "T y", "x", "a + b", "y = a / 2", 0, "wide", reduce_type="float64"
    )
    assert wide(asnumpy.full(10**5, 0.1, "float32")).item() == pytest.approx(5000, rel=1e-6)


AXPY = """
void axpy(const double *x, double *y, double a, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) y[i] += a * x[i];
}
void fill(float *out, int32_t rows, bool up) {
    for (int r = 0; r < rows; r++) out[r] = up ? r : -r;
}
"""


def test_raw_kernel(rng):
    a, b = rng.random(100_003), rng.random(100_003)
    x, y = asnumpy.array(a), asnumpy.array(b)
    kernel = asnumpy.RawKernel(AXPY, "axpy")
    kernel((x, y, 2.0), range=a.size)
    np.testing.assert_array_equal(np.asarray(y), b + 2 * a)
    kernel((x, y, 1), range=(5, 5))
    kernel(args=(x, y, -2.0), range=a.size)
    np.testing.assert_array_equal(np.asarray(y), b + 2 * a - 2 * a)
    for wrong in ({"args": x}, {"args": 3}):
        with pytest.raises(TypeError, match=r"axpy: args is a \w+; it must be a tuple"):
            kernel(**wrong)
    with pytest.raises(TypeError, match="axpy: args= is all arguments; 1 are given beside it"):
        kernel(5, args=(x, y, 2.0))
    with pytest.raises(TypeError, match="args is a ndarray"):
        kernel(x)
    fill = asnumpy.RawKernel(AXPY, "fill")
    out = asnumpy.empty(4, "float32")
    fill((out, np.int32(4), False))
    assert out.tolist() == [0, -1, -2, -3]
    with pytest.raises(ValueError, match="argument 0 has strides"):
        fill((asnumpy.empty(8, "float32")[::2], np.int32(4), True))
    with pytest.raises(TypeError, match="argument 1 is a str"):
        fill((out, "4", True))
    with pytest.raises(asnumpy.CompileError, match="no function missing"):
        asnumpy.RawKernel(AXPY, "missing").compile()


def test_compile_errors(monkeypatch):
    bad = asnumpy.ElementwiseKernel("T x", "T z", "T q = 1;\nz = x + nowhere * q", "bad")
    with pytest.raises(asnumpy.CompileError) as error:
        bad(asnumpy.arange(3.0))
    assert isinstance(error.value, RuntimeError)
    assert "kernel 'bad' does not compile" in str(error.value) and "nowhere" in error.value.log
    assert "2 | z = x + nowhere * q" in str(error.value)
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(asnumpy.CompileError, match="no-such-compiler"):
        asnumpy.ElementwiseKernel("T x", "T z", "z = x + 12345", "fresh")(1.0)


@pytest.mark.parametrize(
    ("ins", "outs", "says"),
    [
        ("T", "T z", "is not '\\[raw\\] TYPE NAME'"), ("T i", "T z", "the kernel's: 'i'"), ("T x, T x", "T z", "two parameters"),
        ("float31 x", "T z", "no type of kernels"), ("T x", "", "at least one output"), ("T x-y", "T z", "no name for"),
    ],
)  # fmt: skip
def test_parameter_errors(ins, outs, says):
    with pytest.raises(ValueError, match=says):
        asnumpy.ElementwiseKernel(ins, outs, "z = x", "k")


def test_argument_errors():
    with pytest.raises(TypeError, match="takes 2 or 3 arguments, got 1"):
        SQUARED(1)
    with pytest.raises(ValueError, match=r"shape|broadcast"):
        SQUARED(asnumpy.zeros(3), asnumpy.zeros(4))
    with pytest.raises(TypeError, match="nothing tells the type U"):
        asnumpy.ElementwiseKernel("T x", "U z", "z = x", "k")(1.0)
    with pytest.raises(TypeError, match="output 0 is a ndarray; it must be an asnumpy array"):
        SQUARED(1, 2, np.zeros(()))


def test_threads_compile_once_each():
    kernel = asnumpy.ElementwiseKernel("T x", "T z", "z = 3 * x + 1", "shared")
    results = []
    workers = [
        threading.Thread(
            target=lambda d=d: results.append(kernel(asnumpy.arange(100, dtype=d)).tolist())
        )
        for d in ("float32", "int64", "float64", "int64")
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 4 and all(r == [3 * k + 1 for k in range(100)] for r in results)


PROGRAM = """
import asnumpy
asnumpy.set_fallback("silent")
k = asnumpy.ElementwiseKernel("T x", "T z", "z = x * 7", "seven", options=("-O1",))
assert k(asnumpy.arange(5)).tolist() == [0, 7, 14, 21, 28]
"""


def test_cache_is_shared_by_processes(tmp_path):
    environment = {**os.environ, "ASNUMPY_CACHE_DIR": str(tmp_path / "cache")}
    run = lambda: subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment)  # noqa: E731
    processes = [run() for _ in range(3)]
    assert [p.wait() for p in processes] == [0, 0, 0]
    files = list((tmp_path / "cache").iterdir())
    assert len(files) == 1 and files[0].name.startswith("seven-") and files[0].suffix == ".so"
    before = files[0].stat().st_mtime_ns
    environment["CC"] = ""
    assert run().wait() == 0 and files[0].stat().st_mtime_ns == before
    del environment["ASNUMPY_CACHE_DIR"]
    environment["XDG_CACHE_HOME"] = str(tmp_path / "xdg")
    assert run().wait() == 0 and len(list(pathlib.Path(tmp_path, "xdg", "asnumpy").iterdir())) == 1


def run_program(folder):
    environment = {**os.environ, "ASNUMPY_CACHE_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True
    )


def test_cut_off_and_changed_files_are_built_again(tmp_path):
    assert run_program(tmp_path).returncode == 0
    (file,) = tmp_path.glob("*.so")
    whole = file.read_bytes()
    for content in (b"", whole[: len(whole) // 2], whole[:-1], b"\0" + whole[1:], whole + b"x"):
        file.write_bytes(content)
        done = run_program(tmp_path)
        assert done.returncode == 0, done.stderr
        assert len(file.read_bytes()) == len(whole)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722, 0o1777])
def test_folders_that_others_may_write_are_refused(tmp_path, mode):
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(mode)
    done = run_program(folder)
    assert (
        done.returncode
        and "PermissionError" in done.stderr
        and "may be written by others" in done.stderr
    )
    assert not list(folder.iterdir())
    folder.chmod(0o755)
    assert run_program(folder).returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_folders_of_other_users_are_refused(tmp_path):
    os.chown(tmp_path, 12345, -1)
    done = run_program(tmp_path)
    assert done.returncode and "belongs to the user 12345" in done.stderr


def test_fallback_policy():
    out = asnumpy.empty(5, int)  # a given output: the host computes
    if asnumpy._core._host_access():
        before = asnumpy.engine_stats()["fallbacks"]
        SQUARED(asnumpy.arange(5), 1, out)
        assert asnumpy.engine_stats()["fallbacks"] == before
        return
    policy = asnumpy.set_fallback("error")
    with pytest.raises(NotImplementedError, match="squared_difference"):
        SQUARED(asnumpy.arange(5), 1, out)
    asnumpy.set_fallback(policy)
    before = asnumpy.engine_stats()["fallbacks"]
    SQUARED(asnumpy.arange(5), 1, out)
    assert asnumpy.engine_stats()["fallbacks"] > before


def test_outputs_are_given_once():
    """Behind the inputs or as out=, of both kinds of kernels."""
    x, y = asnumpy.ones(3), asnumpy.empty(3)
    square = asnumpy.ElementwiseKernel("T x", "T y", "y = x * x", "square")
    total = asnumpy.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    z = asnumpy.empty(())
    for kernel, given in ((square, y), (total, z)):
        with pytest.raises(TypeError, match="out= takes the 1 outputs, once; got 1"):
            kernel(x, given, out=given)
        with pytest.raises(TypeError, match="out= takes the 1 outputs, once; got 2"):
            kernel(x, out=(given, given))
        with pytest.raises(TypeError, match="takes 1 or 2 arguments, got 3"):
            kernel(x, given, given)
        assert kernel(x, given) is given
        assert kernel(x, out=given) is given


def test_in_fused_programs(rng):
    """A kernel that asks for no element number, array or given output is an operation among others."""
    a = rng.standard_normal((300, 40))
    x = asnumpy.array(a)
    swish = asnumpy.ElementwiseKernel("T x, T k", "T y", "y = x / (1 + exp(-k * x))", "swish")
    got = asnumpy.sqrt(abs(swish(x * 2, 3))) + x[:, :1]
    if (
        os.environ.get("ASNUMPY_FUSE") != "0"
        and asnumpy._core._host_access()
        and "swish" in asnumpy.explain(got)
    ):
        assert asnumpy.explain(got).count("program ") == 1
    want = np.sqrt(abs(a * 2 / (1 + np.exp(-3 * (a * 2))))) + a[:, :1]
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-13)
    both = asnumpy.ElementwiseKernel(
        "float32 x", "float32 y, bool z", "y = x * x; z = x > 0", "both"
    )
    y, z = both(x.astype("float32"))
    np.testing.assert_array_equal(
        np.asarray(y + z), a.astype("float32") ** 2 + (a.astype("float32") > 0)
    )
    with pytest.raises(TypeError, match="Cannot cast"):
        both(x.astype("complex64"))
    numbered = asnumpy.ElementwiseKernel("float64 x", "float64 y", "y = x + i", "numbered")
    np.testing.assert_array_equal(
        np.asarray(numbered(x * 1)), a + np.arange(a.size).reshape(a.shape)
    )


def test_bfloat16(rng):
    """Arithmetic in float, memory in bfloat16; in fused programs and beside them."""
    a = np.concatenate(
        [rng.standard_normal(5000), [np.nan, np.inf, -np.inf, 0.0, -0.0, 3e38, 1e-40]]
    )
    a = a.astype(ml_dtypes.bfloat16)
    x = asnumpy.array(a)
    swish = asnumpy.ElementwiseKernel(
        "T x, float32 k", "T y, bool z", "y = x / (1 + exp(-k * x)); z = x > 0", "swish"
    )
    with np.errstate(all="ignore"):
        wide = a.astype(np.float32)
        want = (wide / (1 + np.exp(np.float32(-2) * wide))).astype(ml_dtypes.bfloat16)
    for out in (None, (asnumpy.empty(a.shape, ml_dtypes.bfloat16), asnumpy.empty(a.shape, bool))):
        y, z = swish(x, 2.0, out=out)
        assert y.dtype == ml_dtypes.bfloat16
        got = np.asarray(y.astype("float32"))
        np.testing.assert_allclose(got, want.astype(np.float32), rtol=2**-7)
        np.testing.assert_array_equal(np.asarray(z), wide > 0)
    same = asnumpy.ElementwiseKernel("bfloat16 x", "bfloat16 y", "y = x", "same")
    bits = np.arange(2**16, dtype=np.uint16)
    numbers = bits.view(ml_dtypes.bfloat16)
    got = np.asarray(same(asnumpy.array(numbers)).astype("float32"))
    np.testing.assert_array_equal(got, numbers.astype(np.float32))
    third = asnumpy.ElementwiseKernel(
        "float32 x", "bfloat16 y", "y = x", "third"
    )  # to nearest, ties to even
    values = (rng.standard_normal(20000) * 2.0 ** rng.integers(-140, 127, 20000)).astype(np.float32)
    values[:4] = np.array([0x3F808000, 0x3F818000, 0x7F7FFFFF, 0x00000001], np.uint32).view(
        np.float32
    )
    with np.errstate(all="ignore"):
        want = values.astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(np.asarray(third(asnumpy.array(values)).astype("float32")), want)
    for make in (
        lambda: asnumpy.ReductionKernel("bfloat16 x", "float32 y", "x", "a + b", "y = a", "0"),
        lambda: asnumpy.ElementwiseKernel("raw bfloat16 x", "float32 y", "y = x[i]"),
    ):
        with pytest.raises(ValueError, match="bfloat16"):
            make()
    with pytest.raises(TypeError, match="bfloat16"):
        asnumpy.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0")(x)
    with pytest.raises(TypeError, match="bfloat16"):
        asnumpy.ElementwiseKernel("raw T x", "float32 y", "y = x[i]")(x, size=3)


def test_float16(rng):
    a = rng.standard_normal(3000).astype(np.float16)
    soft = asnumpy.ElementwiseKernel("T x", "T y", "y = x > 0 ? x * x : x / 2", "soft")
    got = np.asarray(soft(asnumpy.array(a)) + 1)
    np.testing.assert_allclose(got, np.where(a > 0, a * a, a / 2) + np.float16(1), rtol=2**-10)
