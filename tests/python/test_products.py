"""Matrix products that have kernels or ways of their own: one- and two-byte elements, sliding ones, stacks, vectors, a
matrix by its own transpose."""

import os
import subprocess
import sys

import asnumpy
import ml_dtypes
import numpy as np
import pytest
from conftest import NPU
from hypothesis import example, given, settings
from hypothesis import strategies as st

EXTENTS = st.sampled_from([1, 2, 5, 6, 7, 31, 64, 65, 130, 200])


@given(st.sampled_from(["int8", "uint8"]), EXTENTS, EXTENTS, EXTENTS, st.integers(0, 5))
def test_bytes_wrap(dtype, m, k, n, layout):
    r = np.random.default_rng(m * 7 + k * 3 + n)
    info = np.iinfo(dtype)
    x = r.integers(info.min, info.max + 1, (m, k)).astype(dtype)
    y = r.integers(info.min, info.max + 1, (k, n)).astype(dtype)
    a, b = asnumpy.array(x), asnumpy.array(y)
    if layout == 1:
        b = asnumpy.array(y.T.copy()).T
    elif layout == 2:
        a = asnumpy.array(x.T.copy()).T
    elif layout == 3:
        a, x, b, y = a[::-1], x[::-1], b[:, ::-1], y[:, ::-1]
    elif layout == 4:
        a, x, b, y = a[None].repeat(3, 0), x[None].repeat(3, 0), b[None], y[None]
    np.testing.assert_array_equal((a @ b).to_numpy(), x @ y)


@given(
    st.sampled_from(["float64", "float32", "float16", "complex64", "int32", "int8"]),
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
    st.sampled_from([1, 2, 7, 33]),
    st.sampled_from([1, 3, 17, 40]),
    st.sampled_from([1, 4, 9, 50]),
    st.integers(0, 6),
)
def test_one_matrix_for_a_stack(dtype, batch, m, k, n, layout):
    """Rows of a stack that follow each other are rows of one product; others are not."""
    r = np.random.default_rng(m * 7 + k * 3 + n)
    x = r.integers(-9, 10, (*batch, m, k)).astype(dtype)
    y = r.integers(-9, 10, (k, n)).astype(dtype)
    a, b = asnumpy.array(x), asnumpy.array(y)
    if layout == 1:
        a, x = a[..., ::-1, :], x[..., ::-1, :]
    elif layout == 2:
        a, x = a.swapaxes(0, -2), x.swapaxes(0, -2)
    elif layout == 3:
        a, x = a[::-1], x[::-1]
    elif layout == 4:
        b, y = asnumpy.array(y.T.copy()).T, y.T.copy().T
    elif layout == 5:
        a, x = a[..., :1, :], x[..., :1, :]
    elif layout == 6:
        a, x = asnumpy.broadcast_to(a[:1], a.shape), np.broadcast_to(x[:1], x.shape)
    np.testing.assert_array_equal((a @ b).to_numpy(), x @ y)
    out = asnumpy.zeros((*a.shape[:-1], 2 * n), dtype)
    asnumpy.matmul(a, b, out=out[..., ::2])
    np.testing.assert_array_equal(out.to_numpy()[..., ::2], x @ y)
    assert not out.to_numpy()[..., 1::2].any()


def test_long_sums_of_bytes():
    """A k beyond one packed panel is added up in pieces."""
    r = np.random.default_rng(1)
    x = r.integers(-128, 128, (9, 9001)).astype("int8")
    y = r.integers(-128, 128, (9001, 70)).astype("int8")
    np.testing.assert_array_equal((asnumpy.array(x) @ asnumpy.array(y)).to_numpy(), x @ y)


@pytest.mark.parametrize("columns", ["rows", "columns"])
@pytest.mark.parametrize(("m", "n"), [(70, 90), (16, 64), (33, 7), (300, 1), (1, 300)])
@pytest.mark.parametrize("k", [1, 3, 64, 515, 2080, 4099])
def test_bfloat16_accumulates_in_float32(k, m, n, columns):
    r = np.random.default_rng(k)
    x = r.standard_normal((m, k)).astype(ml_dtypes.bfloat16)
    y = r.standard_normal((k, n)).astype(ml_dtypes.bfloat16)
    b = asnumpy.array(y) if columns == "rows" else asnumpy.array(y.T.copy()).T
    ours = (asnumpy.array(x) @ b).astype(np.float32).to_numpy()
    exact = x.astype(np.float64) @ y.astype(np.float64)
    bound = np.abs(x.astype(np.float64)) @ np.abs(y.astype(np.float64))
    # one rounding to eight bits, and float32's of the sums
    assert np.all(np.abs(ours - exact) <= 2.0**-8 * np.abs(exact) + 2.0**-20 * bound)


SLIDING = [
    "float64",
    "float32",
    "float16",
    "complex128",
    "complex64",
    "int64",
    "int8",
    "uint16",
    "bool",
]


@given(
    st.sampled_from(SLIDING), st.sampled_from(SLIDING), st.integers(1, 300), st.integers(1, 90),
    st.sampled_from(["full", "same", "valid"]), st.booleans(), st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_sliding_products(left, right, n, m, mode, convolves, seed):
    r = np.random.default_rng(seed)
    x, y = ((r.standard_normal(k) * 4 + 1j * r.standard_normal(k)) for k in (n, m))
    x, y = (z.astype(d) if d[0] == "c" else z.real.astype(d) for z, d in ((x, left), (y, right)))
    x, y = x[:: r.choice([1, -1])], y[:: r.choice([1, -1])]
    name = "convolve" if convolves else "correlate"
    ours = getattr(asnumpy, name)(asnumpy.array(x), asnumpy.array(y), mode)
    theirs = getattr(np, name)(x, y, mode)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    if theirs.dtype.kind in "biu":
        np.testing.assert_array_equal(ours.to_numpy(), theirs)
    else:
        small = min(n, m) * np.finfo(theirs.dtype).eps
        scale = np.abs(x).astype(float).max() * np.abs(y).astype(float).max()
        np.testing.assert_allclose(ours.to_numpy(), theirs, rtol=1e-30, atol=small * scale * 2)


def test_sliding_products_meet_no_padding():
    """An infinity is multiplied with elements alone, not with zeros beyond the ends."""
    x, y = [1.0, 2.0, 3.0], [np.inf, 1.0]
    for mode in ("full", "same", "valid"):
        np.testing.assert_array_equal(asnumpy.convolve(x, y, mode), np.convolve(x, y, mode))
        np.testing.assert_array_equal(asnumpy.correlate(y, x, mode), np.correlate(y, x, mode))


def test_long_sliding_products_on_any_number_of_threads():
    r = np.random.default_rng(3)
    x, y = r.standard_normal(9000), r.standard_normal(700)
    found = asnumpy.convolve(asnumpy.array(x), asnumpy.array(y)).to_numpy()
    np.testing.assert_allclose(found, np.convolve(x, y), rtol=0, atol=1e-12)


@st.composite
def stacks(draw):
    """Two stacks of matrices that multiply, their axes in any order in memory."""

    def stack(batch, rows, columns):
        shape = (*batch, rows, columns)
        order = draw(st.permutations(range(len(shape))))
        a = np.arange(np.prod(shape), dtype=draw(st.sampled_from(["f8", "f4", "i4"]))).reshape(
            [shape[i] for i in order]
        )
        a = a.transpose(np.argsort(order))
        return a[::-1] if draw(st.booleans()) else a

    batch = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    other = [n if draw(st.booleans()) else 1 for n in batch[draw(st.integers(0, len(batch))) :]]
    m, k, n = (draw(st.integers(1, 3)) for _ in range(3))
    return stack(batch, m, k), stack(other, k, n)


@given(stacks())
@example(  # an axis of one element does not order the others
    (
        np.arange(4.0).reshape(2, 1, 1, 2, 1).transpose(3, 0, 1, 2, 4),
        np.arange(2.0).reshape(2, 1, 1, 1, 1),
    )
)
def test_stacks_lie_as_their_operands(operands):
    """The order of the stack follows the operands' strides; the matrices are row-major."""
    x, y = operands
    a, b = (asnumpy.array(z, order="K") for z in operands)
    x, y = np.array(x, order="K"), np.array(y, order="K")
    for name, p, q in (
        ("matmul", (x, y), (a, b)),
        ("matvec", (x, y[..., 0]), (a, b[..., 0])),
        ("vecdot", (x, x), (a, a)),
    ):
        want, got = getattr(np, name)(*p), getattr(asnumpy, name)(*q)
        np.testing.assert_array_equal(got.to_numpy(), want)
        wide = [d for d, extent in enumerate(want.shape) if extent > 1]
        assert [got.strides[d] for d in wide] == [want.strides[d] for d in wide], name


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("n", [32_767, 32_768, 100_001, 20_000_003])
def test_long_inner_products(n, dtype):
    """Summed in parts from 32768 terms on; more terms than parts can be counted have longer parts."""
    if n > 1_000_000 and dtype != "f4":
        n = 300_000
    r = np.random.default_rng(n)
    x = r.integers(-8, 9, n).astype(dtype) * (1 + 1j if dtype[0] == "c" else 1)
    y = r.integers(-8, 9, n).astype(dtype)
    x = x.astype(dtype)
    a, b = asnumpy.array(x), asnumpy.array(y)
    assert asnumpy.vdot(a, b) == np.vdot(x.astype("c16"), y.astype("c16"))
    assert asnumpy.dot(a[::-1], b) == np.dot(x[::-1].astype("c16"), y.astype("c16"))


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@given(
    n=st.sampled_from([1, 2, 3, 7, 8, 9, 31, 33, 100, 1000, 32_767, 32_768, 50_001]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=25, deadline=None)
def test_conjugated_inner_products(dtype, n, seed):
    """vdot is the dot of the conjugate, to the bit, of contiguous, strided, recorded and planar operands."""
    r = np.random.default_rng(seed)
    real, whole = "f4" if dtype == "c8" else "f8", r.random() < 0.5
    x, y = (
        (r.integers(-2, 3, 4 * n) if whole else r.standard_normal(4 * n)).astype(real).view(dtype)
        for _ in range(2)
    )
    a, b = asnumpy.array(x), asnumpy.array(y)
    for u, v in ((np.s_[:n], np.s_[n:]), (np.s_[::2], np.s_[::-2]), (np.s_[1 : n + 1], np.s_[:n])):
        got, want = asnumpy.vdot(a[u], b[v]), np.vdot(x[u], y[v])
        assert got.dtype == want.dtype == dtype
        np.testing.assert_allclose(
            got,
            want,
            rtol=1e-4 if dtype == "c8" else 1e-12,
            atol=n * 2e-6 if dtype == "c8" else n * 1e-14,
        )
        assert not whole or got == want
        assert got == asnumpy.dot(a[u].conj(), b[v])
    np.testing.assert_allclose(asnumpy.vdot(a * 2, b), np.vdot(x * 2, y), rtol=1e-3, atol=1e-3)
    assert asnumpy.vdot(a.reshape(2, n), b.reshape(n, 2)) == asnumpy.vdot(a, b)
    with pytest.raises(ValueError, match="not aligned"):
        asnumpy.vdot(a, b[1:])


@pytest.mark.parametrize("n", [2048, 2049, 10000, 32768, 32769, 70000])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c16"])
def test_products_of_vectors(n, dtype):
    """Both sides of the length up to which a product of two vectors runs at once."""
    rng = np.random.default_rng(n)
    x, y = ((rng.integers(-9, 9, 2 * n)).astype(dtype) for _ in range(2))
    a, b = asnumpy.array(x), asnumpy.array(y)
    for u, v in ((slice(0, n), slice(n, None)), (slice(None, None, 2), slice(None, None, -2))):
        got, expected = asnumpy.dot(a[u], b[v]), np.dot(x[u], y[v])
        assert got.dtype == expected.dtype and got == expected
        assert (a[u] + 0) @ b[v] == expected


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.sampled_from(["f8", "f4", "i8", "c16", "?"]), st.booleans(), st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_dot_of_any_dimensions(left, right, dtype, turned, seed):
    """The sum runs over the last axis of one and the last but one of the other, whatever their extents are."""
    r = np.random.default_rng(seed)
    inner = right[-2] if len(right) > 1 else right[0]
    x = r.integers(-5, 6, [*left[:-1], inner]).astype(dtype)
    y = r.integers(-5, 6, right).astype(dtype)
    if turned:
        x, y = np.asfortranarray(x), y[::-1]
    want = np.dot(x, y)
    a, b = asnumpy.array(x, order="K"), asnumpy.array(y, order="K")
    got = asnumpy.dot(a, b)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(np.asarray(got), want)
    out = asnumpy.empty(want.shape, want.dtype)
    assert asnumpy.dot(a, b, out=out) is out
    np.testing.assert_array_equal(out.to_numpy(), want)


SMALL = st.integers(1, 9)


@given(
    st.sampled_from(["float64", "float32"]), SMALL, SMALL, SMALL, st.integers(1, 40),
    st.integers(0, 3), st.integers(0, 3), st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_batches_of_small_products(dtype, m, k, n, batch, left, right, seed):
    """Each item has the bits of its own product, however its operands lie."""
    r = np.random.default_rng(seed)

    def operand(rows, columns, layout):
        x = r.standard_normal((batch, rows, columns)).astype(dtype)
        x[r.random(x.shape) < 0.05] = -0.0
        if layout == 1:
            return np.broadcast_to(x[0], x.shape)
        if layout == 2:
            return np.ascontiguousarray(x.transpose(0, 2, 1)).transpose(0, 2, 1)
        return np.repeat(x, 2, axis=0)[::2] if layout == 3 else x

    def place(x, layout):
        if layout == 1:
            return asnumpy.array(x[0])
        if layout == 2:
            return asnumpy.array(x.transpose(0, 2, 1)).transpose(0, 2, 1)
        return asnumpy.array(np.repeat(x, 2, axis=0))[::2] if layout == 3 else asnumpy.array(x)

    x, y = operand(m, k, left), operand(k, n, right)
    a, b = place(x, left), place(y, right)
    if a.ndim == b.ndim == 2:
        a = asnumpy.array(x)
    got = (a @ b).to_numpy()
    for i in range(batch):
        terms = x[i][:, :, None] * y[i][None]
        one = np.zeros((m, n), dtype)
        for p in range(k):
            one += terms[:, p]
        if n > 1 and m > 1:
            assert got[i].tobytes() == one.tobytes()
        np.testing.assert_allclose(got[i], one, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", range(1, 9))
def test_small_products_meet_no_conditions_of_their_neighbours(n, dtype):
    """A row of B that a register holds in part does not bring the next one's infinity along."""
    x, y = np.zeros((5, 4, 4), dtype), np.ones((5, 4, n), dtype)
    y[1:, 0, 0] = np.inf
    x[1:, :, 0] = 1
    with np.errstate(all="raise"), asnumpy.errstate(all="raise"):
        np.testing.assert_array_equal((asnumpy.array(x) @ asnumpy.array(y)).to_numpy(), x @ y)


@settings(max_examples=120)
@given(
    st.sampled_from(["float64", "float32", "complex128", "complex64"]),
    st.sampled_from([1, 95, 160, 161, 192, 193, 300, 513]),
    st.sampled_from([1, 3, 50, 400, 777]),
    st.sampled_from(["rows", "columns", "strided", "backwards"]),
    st.booleans(),
    st.sampled_from(["none", "C", "F"]),
)
def test_a_matrix_by_its_own_transpose(dtype, n, k, layout, first, out):
    """Half of the result is computed, and the other half is the same numbers."""
    r = np.random.default_rng(n * 1000 + k)
    x = r.standard_normal((n, 2 * k)).astype(dtype)
    if dtype.startswith("complex"):
        x += (1j * r.standard_normal((n, 2 * k))).astype(dtype)
    a = asnumpy.array(x)
    if layout == "columns":
        a = asnumpy.array(x, order="F")
    x, a = (v[:, ::2] if layout == "strided" else v[:, :k] for v in (x, a))
    if layout == "backwards":
        x, a = x[::-1], a[::-1]
    left, right = a, a.T
    if not first:  # the columns of the transpose
        held = asnumpy.array(x.T.copy())
        left, right = held.T, held
    target = None if out == "none" else asnumpy.full((n, n), np.nan, dtype, order=out)
    got = asnumpy.matmul(left, right, out=target).to_numpy()
    wide = x.astype(np.complex128 if dtype.startswith("complex") else np.float64)
    exact, bound = wide @ wide.T, np.abs(wide) @ np.abs(wide).T
    eps = np.finfo(dtype).eps
    assert np.all(np.abs(got - exact) <= 4 * (k + 1) ** 0.5 * eps * bound + eps * bound)
    if n >= 160 and dtype.startswith("float") and layout in ("rows", "columns"):
        np.testing.assert_array_equal(got, got.T)


@pytest.mark.skipif(NPU, reason="counts the threads of the CPU device alone")
def test_the_blas_library_brings_no_threads():
    """Threads of its own would spin beside the pool's for the first tenth of a second."""
    code = """
import os
import asnumpy as np
a = np.ones((600, 600))
affinity = os.sched_getaffinity(0)
before = len(os.listdir("/proc/self/task"))
np.asarray(a @ a).sum(), (a @ np.ones(600)).sum(), np.linalg.svd(a)[1].sum()
assert os.sched_getaffinity(0) == affinity
print(len(os.listdir("/proc/self/task")) - before)
"""
    env = {**os.environ, "ASNUMPY_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 0


@pytest.mark.parametrize(
    ("name", "shapes"),
    [("vecdot", [(2,), (3,)]), ("matvec", [(4, 2), (3,)]), ("vecmat", [(2,), (3, 4)])],
)
def test_lengths_that_differ_are_told_by_name(name, shapes):
    if not hasattr(np, name):
        pytest.skip("NumPy has it from 2.2 on")
    told = []
    for m in (asnumpy, np):
        with pytest.raises(ValueError) as error:
            getattr(m, name)(*map(m.ones, shapes))
        told.append(str(error.value))
    assert told[0] == told[1]


@given(
    st.sampled_from(["f4", "f8"]), st.integers(1, 4), st.integers(3000, 6000), st.integers(0, 10**6)
)
@settings(max_examples=60, deadline=None)
def test_points_times_a_vector(dtype, coordinates, n, seed):
    """Many rows of a few elements, whose sum has the order of rows with zeros behind them: equal bits."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n, coordinates)).astype(dtype)
    points[rng.random(points.shape) < 0.1] = -0.0
    v = rng.standard_normal(coordinates).astype(dtype)
    got = (asnumpy.array(points) @ asnumpy.array(v)).to_numpy()
    wide = np.zeros((n, 5), dtype)
    wide[:, :coordinates] = points
    v5 = np.concatenate([v, np.zeros(5 - coordinates, dtype)])
    padded = (asnumpy.array(wide) @ asnumpy.array(v5)).to_numpy()
    np.testing.assert_array_equal(got, padded)
    assert (np.signbit(got) == np.signbit(padded)).all()
    np.testing.assert_allclose(got, points @ v, rtol=1e-4, atol=1e-5)


OUTS = {
    "plain": lambda np_, shape, dtype: np_.zeros(shape, dtype),
    "column-major": lambda np_, shape, dtype: np_.zeros(shape[::-1], dtype).T,
    "rows of a larger one": lambda np_, shape, dtype: np_.zeros(
        (*shape[:-2], 2 * shape[-2], shape[-1] + 3), dtype
    )[..., ::2, 1:-2],
    "columns apart": lambda np_, shape, dtype: np_.zeros((*shape[:-1], 2 * shape[-1]), dtype)[
        ..., ::2
    ],
    "backwards": lambda np_, shape, dtype: np_.zeros(shape, dtype)[..., ::-1, ::-1],
    "complex": lambda np_, shape, dtype: np_.zeros(shape, "c16"),
    "one axis more": lambda np_, shape, dtype: np_.zeros((2, *shape), dtype),
    "recorded": lambda np_, shape, dtype: np_.zeros(shape, dtype) + np_.ones(shape, dtype),
}


@pytest.mark.parametrize("out", OUTS)
@pytest.mark.parametrize("batch", [(), (3,), (2, 1)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "c16", "?"])
def test_products_are_computed_in_out(dtype, batch, out):
    """What was recorded of out before has its old elements, what comes after the new ones."""
    rng = np.random.default_rng(3)
    for m, k, n in ((1, 1, 1), (3, 4, 5), (40, 30, 50), (2, 200, 3)):
        a = (rng.normal(size=(*batch, m, k)) * 3).astype(dtype)
        b = (rng.normal(size=(k, n)) * 3).astype(dtype)
        results = []
        for library in (np, asnumpy):
            x, y = library.array(a), library.array(b)
            o = OUTS[out](library, (*batch, m, n), dtype)
            before = o + o
            assert library.matmul(x, y, out=o) is o
            results.append([np.array(r) for r in (o, before, o + o)])
        for ours, theirs in zip(*results, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("n", [4, 60, 150])
def test_out_may_be_what_is_multiplied(n):
    texts = [
        "matmul(a, a, out=a)",
        "matmul(a, b, out=a)",
        "matmul(b, a, out=a)",
        "matmul(a.T, b, out=a)",
        "matmul(a[::-1], b, out=a)",
        "matmul(a, b, out=a.T)",
        "matmul(a, b, out=b[::-1])",
        "dot(a, b, out=a)",
        "matmul(c[0], b, out=c[1])",
        "matmul(c, b, out=c)",
        "matmul(v, b, out=a[0])",
        "matmul(a, v, out=v)",
        "vecdot(a, b, out=v)",
        "dot(a, b, out=d)",
        "matmul(a, b, out=d, axes=[(0, 1), (0, 1), (1, 0)])",
        "matmul(a, b, out=d, dtype='f8')",
    ]
    for text in texts:
        results = []
        for library in (np, asnumpy):
            rng = np.random.default_rng(5)
            shapes = {"a": (n, n), "b": (n, n), "c": (2, n, n), "d": (n, n), "v": (n,)}
            env = {name: library.array(rng.normal(size=shape)) for name, shape in shapes.items()}
            result = eval(f"library.{text}", {"library": library}, env)
            results.append([np.array(x) for x in (*env.values(), result)])
        for ours, theirs in zip(*results, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9, err_msg=text)


def test_a_product_in_out_takes_no_memory():
    a, out = asnumpy.ones((500, 400)), asnumpy.zeros((500, 500))
    asnumpy.matmul(a, a.T, out=out)
    asnumpy.synchronize()
    before = asnumpy.memory_stats()["pool_hits"], asnumpy.memory_stats()["device_allocations"]
    asnumpy.matmul(a, a.T, out=out)
    asnumpy.dot(a, a.T, out=out)
    asnumpy.synchronize()
    assert (
        asnumpy.memory_stats()["pool_hits"],
        asnumpy.memory_stats()["device_allocations"],
    ) == before


def test_a_replayed_product_in_out():
    @asnumpy.jit
    def step(a, b, out):
        asnumpy.matmul(a, b, out=out)
        return out * 2

    for k in range(4):
        a, b, out = (
            asnumpy.full(shape, value, "f4")
            for shape, value in (((30, 20), k + 1), ((20, 10), 1), ((30, 10), 0))
        )
        assert (step(a, b, out) == 40.0 * (k + 1)).all()
        assert (out == 20.0 * (k + 1)).all()
