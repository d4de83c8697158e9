"""Results do not depend on the number of threads nor on the instruction set; elementary functions are the same
wherever there is a fused multiply-add, and the C library's elsewhere (docs/design/0004-elementary-functions.md)."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import hashlib, numpy, asnumpy as np
r, h = numpy.random.default_rng(0), hashlib.sha256()
def add(x): h.update(numpy.ascontiguousarray(numpy.asarray(x)).tobytes())
for n in (1000, 100_000, 600_001):
    for dtype in ("f8", "f4", "c16"):
        x = np.array(r.standard_normal(n).astype(dtype))
        for y in (x.sum(), x.mean(), x.var(), (x * x).sum(), x.cumsum(), np.sort(x), x.max(), abs(x), x[x.real > 0], np.vdot(x, x[::-1]), np.vdot(x, x[::-1].copy())):
            add(y)
g = np.array(r.standard_normal((700, 500)))
for y in (g.sum(0), g.sum(1), g.T.copy(), g.mean(), g.prod(0), (g * 2 + g / 3)[::2, 5:], np.argsort(g, axis=0), np.sort(g, axis=0)):
    add(y)
for x in (r.standard_normal(300_000), r.integers(0, 9, 300_000), r.integers(-2**31, 2**31, 70_000, dtype="i4")):
    x = np.array(x)
    for y in (np.argsort(x), np.partition(x, [5, 30_000]), np.argpartition(x, 30_000), np.unique(x), np.median(x), np.partition(x, 20_000), np.percentile(x, [3, 97])):
        add(y)
short = np.array(r.standard_normal((3000, 20)))
for y in (np.sort(short), np.argsort(short), np.sort(short, axis=0), short.argmax(1), short.sum(1), short.max(1)):
    add(y)
for n, dtype in ((17, "i8"), (40, "f4"), (63, "f8"), (100, "u4"), (128, "f8"), (900, "f4"), (1500, "f8")):
    x = (r.standard_normal((67, n)) * 999).astype(dtype)
    if dtype[0] == "f":
        x[::5, ::7] = r.choice([0.0, -0.0, numpy.nan, numpy.inf], x[::5, ::7].shape)
    x = np.array(x)
    for y in (np.sort(x), np.sort(x, axis=0), np.argsort(x), np.argsort(x, axis=0), np.argpartition(x, n // 3), np.partition(x, n // 2)):
        add(y)
for n, dtype in ((9, "f8"), (16, "f4"), (33, "f8"), (255, "f4")):
    x = np.array(r.standard_normal((301, n)).astype(dtype))
    for y in (x.sum(1), x.min(1), x.argmin(1), ((x[:, None] - x[:7]) ** 2).sum(2), np.roll(x, 1, 0) * x + np.roll(x, -2, 1)):
        add(y)
z = np.array((r.standard_normal((9000, 2)) * 2.0 ** r.integers(-560, 560, (9000, 2))).view("c16")[:, 0])
runs, w = np.array(numpy.repeat(r.random(90) < 0.6, 100)), np.zeros(9000, "c16")
w[runs] = z[runs] + 1
for y in (abs(z), abs(z.astype("c8")), w, z[runs].real, z.real.astype("f4")[runs]):
    add(y)
for n in (3, 16, 70, 1500):  # enough rows for threads
    x = r.integers(0, 9, (400_000 // n, n)) / 4
    x[::7, n // 2] = numpy.nan
    for y in (np.array(x).argmin(1), np.array(x.astype("f4")).argmax(1), np.array(numpy.nan_to_num(x).astype("i8")).argmin(1)):
        add(y)
for dtype in ("f8", "f4", "i8"):  # rows onto a row of accumulators
    x = r.standard_normal((203, 1031)) * 9
    x[::5, ::7] = 0 if dtype == "i8" else r.choice([0.0, -0.0, numpy.nan, numpy.inf], x[::5, ::7].shape)
    x = np.array(x.astype(dtype))
    for y in (x.sum(0), x.max(0), x.min(0), x.prod(0), x[:, :9].sum(0), x[:, :9].max(0), x.astype("f4"), x[1:].astype("f8")):
        y = numpy.array(y)
        y[y != y] = 9  # of two NaN the processor takes the first, and compilers exchange factors
        add(y)
wide = np.array(r.integers(-2**63, 2**63, 9001) >> r.integers(0, 63, 9001))
for y in (wide * 1.5 + wide, wide.astype("f8"), wide.view("u8").astype("f8"), wide.astype("f4"), wide.astype("i4"), (wide / 3.0).astype("i8")):
    add(y)
i = np.array(r.integers(1, 99, (2, 9001)))
for y in (i[0] // i[1], i[0] % i[1], np.fmod(i[0], 7), np.clip(i, 3, 50) * 0.5):
    add(y)
for dtype in ("f8", "f4", "i8", "i2"):
    x, v = (np.array((r.standard_normal(n) * 99).astype(dtype)) for n in (5003, 131))
    for y in (np.convolve(x, v), np.correlate(x, v), np.correlate(v, x, "same"), np.convolve(x[:7], v, "full")):
        add(y)
for n in (3, 8, 9, 31, 64, 65, 1025, 2300, 50_003):  # sums that stay in registers, and what is left over
    for dtype in ("f8", "f4"):
        a, b = (np.array(r.standard_normal(n).astype(dtype)) for _ in range(2))
        t = a * b
        for y in (((a - b) ** 2).sum(), (a * b + a - 2.0).mean(), (a * a - b).sum(dtype="f8"), t.sum(), t):
            add(np.asarray(y))
for shape in ((37, 700), (5, 3000), (1000, 300)):  # rows onto rows, several at a time
    a, b = (np.array(r.standard_normal(shape)) for _ in range(2))
    for y in (((a - b) ** 2).sum(axis=0), (a * b[:, :1]).max(axis=0), (a * 2).T @ a[:, 0], np.std(a, axis=0), np.abs(b).min(axis=0)):
        add(np.asarray(y))
p = np.random.Generator(np.random.Philox4x32(9))
for y in (p.random(200_001), p.random(99), np.random.default_rng(1).standard_normal(1001), p.integers(0, 99, 1000)):
    add(y)
print(h.hexdigest())
"""
NORMALS = """
import hashlib, numpy, asnumpy as np
g = np.random.Generator(np.random.Philox4x32(9))
print(hashlib.sha256(numpy.asarray(g.standard_normal(200_001)).tobytes()).hexdigest())
"""

ELEMENTARY = """
import hashlib, numpy, asnumpy as np
r, h = numpy.random.default_rng(0), hashlib.sha256()
names = "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh cbrt"
for dtype in ("f8", "f4", "f2"):
    x = np.array((r.standard_normal(50_001) * 10.0 ** r.uniform(-4, 1, 50_001)).astype(dtype))
    y = np.array(r.uniform(0.1, 9, 50_001).astype(dtype))
    with np.errstate(all="ignore"):
        results = [getattr(np, n)(x) for n in names.split()]
        for n in ("power", "arctan2", "hypot", "logaddexp", "logaddexp2", "fmod", "remainder", "floor_divide"):
            results += [getattr(np, n)(y, x), np.sin(getattr(np, n)(x, y)) * 2]
    for z in results:
        z = numpy.asarray(z)
        h.update(numpy.where(numpy.isnan(z), 0, z).tobytes())
print(h.hexdigest())
"""

SOLVERS = """
import hashlib, numpy, asnumpy as np
r, h = numpy.random.default_rng(0), hashlib.sha256()
def add(x): h.update(numpy.ascontiguousarray(numpy.asarray(x)).tobytes())
for n in (3, 13, 34, 64, 100, 101, 1000, 1009, 4096, 65536):
    z = r.standard_normal(n) + 1j * r.standard_normal(n)
    for dtype in ("c16", "c8"):
        v = np.array(z.astype(dtype))
        for y in (np.fft.fft(v), np.fft.ifft(v), np.fft.rfft(v.real), np.fft.irfft(v)):
            add(y)
for shape in ((37, 64), (9, 300), (1000, 1024)):
    g = np.array(r.standard_normal(shape))
    for y in (np.fft.rfft(g), np.fft.fft2(g), np.fft.fft(g, axis=0)):
        add(y)
for n in (1, 2, 3, 8, 16, 20):
    for dtype in ("f8", "f4"):
        a = r.standard_normal((53, n, n)).astype(dtype)
        s = np.array(a @ a.swapaxes(1, 2) + numpy.eye(n, dtype=dtype))
        a = np.array(a)
        for y in (np.linalg.inv(a), np.linalg.det(a), np.linalg.cholesky(s), np.linalg.solve(a, s), *np.linalg.eigh(s)):
            add(y)
print(h.hexdigest())
"""

PRODUCTS = """
import hashlib, numpy, asnumpy as np
r, h = numpy.random.default_rng(0), hashlib.sha256()
def add(x): h.update(numpy.ascontiguousarray(numpy.asarray(x)).tobytes())
for dtype in ("f8", "f4", "c16", "i8", "f2"):
    for m, k in ((3, 70000), (70000, 3), (300, 300), (1000, 1000), (1001, 777), (40, 20001)):
        a = np.array((r.standard_normal((m, k)) * 9).astype(dtype))
        v, w = (np.array((r.standard_normal(n) * 9).astype(dtype)) for n in (k, m))
        for y in (a @ v, w @ a, a[::-1] @ v, a.T @ w, v @ v):
            add(y)
    for n in (100, 300, 513):
        a = np.array((r.standard_normal((n, n)) * 9).astype(dtype))
        add(a @ a)
        add(a.T @ a[:, :7])
        add(a @ a.T)
print(h.hexdigest())
"""


def digest(program=PROGRAM, **settings):
    """What the program prints under these environment settings."""
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, **settings},
                          capture_output=True, text=True, check=True)  # fmt: skip
    return done.stdout


@pytest.fixture(scope="module")
def reference():
    return digest(ASNUMPY_NUM_THREADS="1")


@pytest.mark.parametrize("threads", ["2", "3"])
def test_threads(reference, threads):
    assert digest(ASNUMPY_NUM_THREADS=threads) == reference


def test_threads_of_products():
    """How a product is cut does not depend on who runs the parts."""
    one, two, three = (digest(PRODUCTS, ASNUMPY_NUM_THREADS=n) for n in "123")
    assert one == two == three


def test_threads_of_drawn_normals():
    """Box and Muller's logarithm is the instruction set's; threads change nothing."""
    one, two, three = (digest(NORMALS, ASNUMPY_NUM_THREADS=n) for n in "123")
    assert one == two == three


@pytest.mark.parametrize("isa", ["baseline", "avx2"])
def test_instruction_sets(reference, isa):
    assert digest(ASNUMPY_ISA=isa) == reference


@pytest.mark.parametrize("jit", ["0", "always"])
def test_elementary_functions(jit):
    """The interpreter and the JIT, with the widest vectors and with AVX2."""
    assert digest(ELEMENTARY, ASNUMPY_ISA="avx2", ASNUMPY_JIT=jit) == digest(
        ELEMENTARY, ASNUMPY_ISA="avx512"
    )


def test_transforms_and_small_matrices():
    """The same bits on every instruction set and number of threads."""
    settings = [("avx512", "2"), ("avx2", "1"), ("baseline", "2")]
    first, *others = (
        digest(SOLVERS, ASNUMPY_ISA=isa, ASNUMPY_NUM_THREADS=n) for isa, n in settings
    )
    assert others == [first, first]


@pytest.mark.parametrize("name", ["foo", "AVX2", "avx"])
def test_instruction_set_of_another_name(name):
    """It is refused where the device is opened, each time, and the default is none."""
    program = """
import asnumpy as np
for _ in range(2):
    try:
        np.ones(3).sum()
    except ValueError as e:
        print(e)
"""
    wrong = f"ASNUMPY_ISA is '{name}'; it may be 'baseline', 'avx2' or 'avx512'\n"
    assert digest(program, ASNUMPY_ISA=name) == wrong * 2
    assert digest(program, ASNUMPY_ISA="") == ""
