"""Random expression programs: lazy == eager == NumPy, views and in-place writes included."""

import re

import asnumpy
import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from conftest import SINGLE_OPERATORS
from oracle import assert_same, to_host

# Exactly rounded operations: every mode must agree with NumPy bit for bit.
BINARY = ["add", "subtract", "multiply", "maximum", "minimum", "copysign"]
UNARY = ["negative", "absolute", "square", "floor", "rint", "positive"]
REDUCE = ["max", "min", "any", "all"]


@st.composite
def programs(draw):
    """A list of steps over a growing list of arrays of shape (n, m)."""
    n, m = draw(st.sampled_from([(1, 1), (3, 4), (5, 1), (7, 13), (40, 60)]))
    steps, count = [], 2
    for _ in range(draw(st.integers(1, 14))):
        pick = st.integers(0, count - 1)
        kind = draw(st.sampled_from(["binary", "unary", "scalar", "inplace", "view_write", "where",
                                     "transpose", "reduce", "copy", "slice_op", "drop", "compare",
                                     "peek"]))  # fmt: skip
        step = (kind, draw(st.sampled_from(BINARY)), draw(st.sampled_from(UNARY)), draw(pick),
                draw(pick), draw(pick), draw(st.sampled_from([0.5, -2.0, 3.0, 1.0])),
                draw(st.sampled_from(REDUCE)), draw(st.integers(0, 5)))  # fmt: skip
        steps.append(step)
        if kind not in ("inplace", "view_write", "drop", "peek", "slice_op"):
            count += 1
    return (
        n,
        m,
        draw(st.sampled_from(["float64", "float32", "int64"])),
        steps,
        draw(st.integers(0, 2**31)),
    )


def run(np_, program):
    n, m, dtype, steps, seed = program
    rng = np.random.default_rng(seed)
    arrays = [np_.array((rng.random((n, m)) * 8 - 4).astype(dtype)) for _ in range(2)]
    peeks = []
    for kind, binary, unary, i, j, k, scalar, reduce, offset in steps:
        x, y, z = arrays[i], arrays[j], arrays[k]
        if binary == "copysign" and np.dtype(dtype).kind == "i":
            binary = "add"
        if unary in ("rint", "floor") and np.dtype(dtype).kind == "i":
            unary = "negative"
        op = getattr(np_, binary)
        if kind == "binary":
            arrays.append(op(x, y))
        elif kind == "unary":
            arrays.append(getattr(np_, unary)(x))
        elif kind == "scalar":
            arrays.append(op(x, int(scalar) if x.dtype.kind == "i" else scalar))
        elif kind == "inplace":
            op(x, y, out=x)
        elif kind == "view_write":
            x[offset % n :: 2, ::-1] = y[offset % n :: 2] + 1
        elif kind == "slice_op":
            x[1:] += x[:-1]
        elif kind == "where":
            arrays.append(np_.where(x > y, y, z))
        elif kind == "transpose":
            arrays.append(x.T.copy().T if offset % 2 else np_.ascontiguousarray(x.T).T)
        elif kind == "reduce":
            column = getattr(x, reduce)(axis=1, keepdims=True)
            arrays.append((column + y * 0).astype(dtype))
        elif kind == "compare":
            arrays.append((x <= y).astype(dtype) * z)
        elif kind == "copy":
            arrays.append(x.copy())
        elif kind == "peek":
            peeks.append(float(x[offset % n, 0]))
        else:
            arrays[i] = arrays[j]
    return arrays, peeks


@hypothesis.given(programs())
@hypothesis.settings(max_examples=max(150, hypothesis.settings().max_examples))
def test_lazy_equals_eager_equals_numpy(program):
    with np.errstate(all="ignore"), asnumpy.errstate(all="ignore"):
        expected, peeks = run(np, program)
        for lazy in (True, False):
            before = asnumpy.lazy(lazy)
            try:
                got, got_peeks = run(asnumpy, program)
                for i, (g, e) in enumerate(zip(got, expected, strict=True)):
                    assert_same(to_host(g), e, 0, f"array {i}, lazy={lazy}", signed_zeros=False)
            finally:
                asnumpy.lazy(before)
            assert got_peeks == peeks


def test_large_fused_expression(rng):
    """Past the sizes that run at once: one fused pass, threads included."""
    host = [rng.random(1_000_003) for _ in range(4)]
    a, b, c, d = map(asnumpy.array, host)
    x, y, z, w = host
    got = asnumpy.sqrt(a * a + b * b) * (c + 1) + asnumpy.where(d > 0.5, a, b)
    expected = np.sqrt(x * x + y * y) * (z + 1) + np.where(w > 0.5, x, y)
    assert_same(to_host(got), expected)
    assert float((a - b).max()) == (x - y).max()


def test_long_loop_keeps_memory_flat():
    a = asnumpy.ones(100_000)
    for _ in range(20):
        a = a * 1.0001 + 0.5
    float(a[0])
    before = asnumpy.memory_stats()["bytes_in_use"]
    for _ in range(500):
        a = a * 0.999 + 0.5
    float(a[0])
    assert asnumpy.memory_stats()["bytes_in_use"] <= before + 10 * a.nbytes


def test_engine_functions():
    assert asnumpy.get_device_count() >= 1 and asnumpy.get_device() == 0
    assert asnumpy.set_device(0) == 0
    assert asnumpy.lazy(True) in (True, False)
    a = asnumpy.ones(50_000) * 2 + 1
    assert isinstance(asnumpy.explain(a), str) and isinstance(asnumpy.explain(), str)
    asnumpy.synchronize()
    assert set(asnumpy.engine_stats()) >= {"recorded", "programs", "plan_hits", "fallbacks"}
    asnumpy.empty_cache()
    with pytest.raises(TypeError):
        asnumpy.explain(3)


@pytest.mark.skipif(SINGLE_OPERATORS, reason="every operation is a program of its own")
def test_differences_are_computed_where_they_are_read():
    """x is read three times and nothing of its size stored but the result."""
    h = np.random.default_rng(0).random((200, 300))
    x = asnumpy.array(h)
    asnumpy.synchronize()
    got = (x - x.mean(0)) / x.std(0)
    large = re.findall(r"over \(200,300\), (\d) loads, (\d) stores", asnumpy.explain(got))
    assert large == [("1", "2"), ("2", "1"), ("3", "1")]  # sums; squares of differences; result
    np.testing.assert_allclose(got.to_numpy(), (h - h.mean(0)) / h.std(0), rtol=1e-12)


def test_import_opens_no_device():
    """How long it takes is measured by the benchmarks' group "import"."""
    import subprocess
    import sys

    code = (
        "import threading, asnumpy; assert threading.active_count() == 1; "
        "import sys; known = '_adapters _core _errstate _openblas _submodules'.split(); "
        "assert all(m.split('.')[1] in known for m in sys.modules if m.startswith('asnumpy.'))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_idle_blocks_serve_smaller_arrays():
    """Arrays that shrink from step to step take idle memory of up to four times their size, not fresh memory."""
    asnumpy.synchronize()
    asnumpy.empty_cache()
    a = asnumpy.ones(1_000_000)
    assert float(a.sum()) == 1e6  # small blocks have their slab
    del a
    before = asnumpy.memory_stats()["device_allocations"]
    for n in range(900_000, 300_000, -50_000):
        b = asnumpy.full(n, 2.0)
        asnumpy.synchronize()
        assert float(b.sum()) == 2.0 * n
        del b
    assert asnumpy.memory_stats()["device_allocations"] == before


def test_idle_memory_stays_below_what_is_in_use():
    """Arrays that grow give up the blocks that are too small for them."""
    asnumpy.synchronize()
    asnumpy.empty_cache()
    kept = asnumpy.ones(100_000)
    for n in range(100_000, 2_000_000, 100_000):
        b = asnumpy.ones(n)
        asnumpy.synchronize()
        largest = b.nbytes
        del b
    stats = asnumpy.memory_stats()
    assert stats["bytes_cached"] <= 3 * (largest + kept.nbytes)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "f4", "f8", "?", "c8"])
@pytest.mark.parametrize("live", [3, 6, 9, 13, 20])
def test_operations_of_many_live_values(dtype, live):
    """Among more values than there are registers, of lanes of several widths, each operation reads its own."""
    r = np.random.default_rng(live)
    wide = [r.standard_normal(1000) for _ in range(live)]
    narrow = [r.integers(0, 2 if dtype == "?" else 5, 1000).astype(dtype) for _ in range(live)]

    def turns(m, x, y):
        s = [a * 1.5 + k for k, a in enumerate(x)]
        t = [b ^ (k % 2 == 0) if dtype == "?" else b + b.dtype.type(k % 3) for k, b in enumerate(y)]
        total, order = s[0] * 0, range(live)
        for k in order:  # all are needed until the second round
            u, v = t[k], t[(k + 1) % live]
            less = (u == v) if dtype == "c8" else (u < v)
            total = total + m.where(less, s[k], s[(k + 2) % live])
        for k in order:
            u, v = t[(7 * k) % live], t[(k + 3) % live]
            total = total - m.where(u != v, s[(k + 1) % live], s[k]) * 0.5
        return total

    want = turns(np, wide, narrow)
    x, y = [[asnumpy.array(a) for a in arrays] for arrays in (wide, narrow)]
    for _ in range(4):
        np.testing.assert_allclose(turns(asnumpy, x, y).to_numpy(), want, rtol=1e-12)
