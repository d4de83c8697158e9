"""A full trace runs its older part: long recordings give NumPy's values, wherever they are cut."""

import subprocess
import sys

import asnumpy
import numpy as np
import pytest
from conftest import SINGLE_OPERATORS
from hypothesis import given, settings
from hypothesis import strategies as st

N = 2500
needs_fusion = pytest.mark.skipif(SINGLE_OPERATORS, reason="no fusion")


@given(data=st.data(), seed=st.integers(0, 99))
@settings(max_examples=40)
def test_long_recordings(data, seed):
    """Hundreds of operations on arrays, views of them and results that are dropped, in no order."""
    r = np.random.default_rng(seed)
    xs = [r.uniform(-1, 1, N) for _ in range(6)]
    ys = [asnumpy.array(x) for x in xs]
    steps = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    for _ in range(int(steps.integers(150, 700))):
        kind, i, j, k = (int(v) for v in steps.integers(0, 6, 4))
        for v in (xs, ys):
            if kind == 0:
                v[i] = 0.5 * v[j] - v[k]
            elif kind == 1:
                v[i] += 0.125 * v[j]
            elif kind == 2:
                v[i][1:] -= 0.25 * v[j][:-1]
            elif kind == 3:
                v[i] = v[j] * v[k] + 0.5
            elif kind == 4:
                t = v[j] - v[k]
                v[i] = t * 0.5
            else:
                v[i] = np.clip(v[j], -1, 1) if v is xs else asnumpy.clip(v[j], -1, 1)
    for x, y in zip(xs, ys, strict=True):
        np.testing.assert_array_equal(y.to_numpy(), x)


def test_a_long_loop_holds_its_memory():
    u = asnumpy.ones((200, 200))
    asnumpy.synchronize()

    def steps(count):
        v = u
        for _ in range(count):
            w = v * 0.5 + u
            v = asnumpy.sqrt(w) - 0.125 * asnumpy.roll(w, 1, axis=0)
        asnumpy.synchronize()

    steps(200)
    asnumpy.empty_cache()
    before = asnumpy.memory_stats()["bytes_in_use"]
    steps(1000)
    assert asnumpy.memory_stats()["bytes_in_use"] <= before


def test_a_loop_plans_once():
    """Cuts fall at one place of a loop's turns: the plans are few however long it runs."""
    u, v = asnumpy.ones((100, 100)), asnumpy.ones((100, 100))

    def run(count):
        a, b = u * 1, v * 1
        for _ in range(count):
            c = a * b - 0.5
            d = c + a * 0.25
            e = asnumpy.sqrt(asnumpy.abs(d)) + c
            a, b = e * 0.5, d - c
        return a.to_numpy()

    run(300)
    before = asnumpy.engine_stats()["plan_misses"]
    run(300)
    assert asnumpy.engine_stats()["plan_misses"] - before <= 2


@pytest.mark.skipif(SINGLE_OPERATORS, reason="single operators write fresh memory")
def test_results_take_the_memory_of_operands_that_die():
    r = np.random.default_rng(5)
    a, b = r.random(100_000), r.random(100_000)
    x, y = asnumpy.array(a), asnumpy.array(b)
    asnumpy.synchronize()
    asnumpy.empty_cache()
    before = asnumpy.memory_stats()["bytes_cached"]
    for _ in range(5):
        x = y + 0.5 * x
        asnumpy.synchronize()
    assert asnumpy.memory_stats()["bytes_cached"] == before
    for _ in range(5):
        a = b + 0.5 * a
    np.testing.assert_array_equal(x.to_numpy(), a)
    kept = x
    x = x[::-1] - x  # read in two orders, and alive
    np.testing.assert_array_equal(x.to_numpy(), a[::-1] - a)
    np.testing.assert_array_equal(kept.to_numpy(), a)
    del kept
    x = x[::-1] * 2 + x
    np.testing.assert_array_equal(x.to_numpy(), (a[::-1] - a)[::-1] * 2 + (a[::-1] - a))


@pytest.mark.parametrize("strides", [(0, 8), (8, 8), (0, 0), (16, 16), (24, 16), (16, 24), (8, 40)])
def test_outputs_that_overlap_themselves_are_read_from_memory(strides):
    """What is read after the write is what the last write left, also when both are one program."""
    from asnumpy.lib.stride_tricks import as_strided

    a = asnumpy.arange(6.0).reshape(2, 3)
    out = as_strided(asnumpy.zeros(16), (2, 3), strides)
    host = np.lib.stride_tricks.as_strided(np.zeros(16), (2, 3), strides)
    got = asnumpy.negative(a, out=out).copy()
    want = np.negative(np.asarray(a), out=host).copy()
    np.testing.assert_array_equal(np.asarray(got), want)
    got = asnumpy.negative(out, out=out).copy()
    want = np.negative(host, out=host).copy()
    np.testing.assert_array_equal(np.asarray(got), want)


READS_OF_A_WRITE = {
    "sum": lambda m, y, a: (y + 1).sum(),
    "map": lambda m, y, a: y * a - 1,
    "two sums": lambda m, y, a: (y * y).sum() - y.sum() * 3,
    "fold along an axis": lambda m, y, a: (y - a).sum(axis=0),
    "written again": lambda m, y, a: m.multiply(y, 2.0, out=y).sum(),
    "other dtype": lambda m, y, a: (y.astype("f4") + 1).sum(),
    "condition": lambda m, y, a: m.where(y > 100, y, -a).sum(),
    "extreme": lambda m, y, a: (y + a).max(),
}


@pytest.mark.parametrize("shape, strides", [
    ((3000,), (0,)), ((3000,), (8,)), ((60, 50), (0, 8)), ((60, 50), (8, 0)), ((3000, 2), (8, 8)),
    ((1, 3000), (0, 0)), ((60, 60), (480, 480)), ((40, 30), (800, 800)), ((60, 50), (24, 56)),
])  # fmt: skip
@pytest.mark.parametrize("read", READS_OF_A_WRITE)
def test_one_program_does_not_read_back_what_it_wrote_twice(shape, strides, read):
    """Recorded together with the write, a read still sees what the last write left in memory."""
    sizes = [3000 * 3]
    host, seed = np.zeros(sizes), np.arange(float(np.prod(shape))).reshape(shape) % 977
    y = np.lib.stride_tricks.as_strided(host, shape, strides)
    y[...] = seed * 2
    want = READS_OF_A_WRITE[read](np, y, seed)
    memory, a = asnumpy.zeros(sizes), asnumpy.array(seed)
    asnumpy.synchronize()
    for _ in range(3):  # a program of the cache, too
        z = asnumpy.lib.stride_tricks.as_strided(memory, shape, strides)
        z[...] = a * 2
        got = READS_OF_A_WRITE[read](asnumpy, z, a)
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6)
        np.testing.assert_array_equal(memory.to_numpy(), host)


def test_overlapping_writes_keep_their_order():
    """... on any number of threads."""
    from asnumpy.lib.stride_tricks import as_strided

    a = asnumpy.arange(64 * 100000.0).reshape(64, 100000)
    out = as_strided(asnumpy.zeros(100000), (64, 100000), (0, 8))
    out[...] = a
    np.testing.assert_array_equal(np.asarray(out[0]), np.asarray(a[-1]))
    asnumpy.multiply(a, 2.0, out=out)
    np.testing.assert_array_equal(np.asarray(out[0]), 2 * np.asarray(a[-1]))


def run_fresh(code):
    """What the code prints in a process of its own, whose memory has no history."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout)


@needs_fusion
def test_a_stencil_stores_one_temporary():
    """The update's difference is stored, not the two sums that it is made of: the next step finds its block free."""
    code = """
import asnumpy as np
u = np.ones((512, 512))
np.synchronize()
for _ in range(20):
    u[1:-1, 1:-1] += 0.2 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
np.synchronize()
print(np.memory_stats()["peak_bytes"])
"""
    assert run_fresh(code) < 2.5 * 512 * 512 * 8


@needs_fusion
@pytest.mark.parametrize(
    "step", ["p = r + 0.5 * p", "p = np.where(p > r, p, r)", "p = (p - r) * (p + r)"]
)
def test_a_result_takes_the_memory_of_what_dies(step):
    """Of the old array and the new one a loop holds one: two arrays in all, not three."""
    code = f"""
import asnumpy as np
p, r = np.ones(2_000_000), np.ones(2_000_000) * 0.5
for _ in range(20):
    {step}
    np.synchronize()
print(np.memory_stats()["peak_bytes"])
"""
    assert run_fresh(code) < 2.5 * 16_000_000


@needs_fusion
def test_a_long_flush_ends_its_parts_where_little_crosses():
    """Escape times: between two turns three arrays are alive; a program that is merely full leaves seven."""
    code = """
import asnumpy as np
x, y = np.zeros((400, 400)) + 0.3, np.zeros((400, 400)) + 0.5
a, b = np.zeros_like(x), np.zeros_like(y)
count = np.zeros((400, 400), dtype=np.int32)
for _ in range(80):
    aa, bb = a * a, b * b
    inside = aa + bb <= 4
    count += inside
    a, b = np.where(inside, aa - bb + x, a), np.where(inside, 2 * a * b + y, b)
np.synchronize()
print(np.memory_stats()["peak_bytes"])
"""
    assert run_fresh(code) < 11 * 400 * 400 * 8


def test_phases_of_two_sizes():
    """The pool holds no more than was once in use; a loop of two phases asks for its memory once, not at every turn."""
    code = """
import asnumpy as np
def phase(n, num):
    arrays = [np.ones(n) for _ in range(num)]
    np.synchronize()
def held():
    stats = np.memory_stats()
    return stats["bytes_in_use"] + stats["bytes_cached"]
phase(1_000_000, 4)
phase(100_000, 30)
once = held() <= np.memory_stats()["peak_bytes"] * 1.01 + (2 << 20)  # a slab of small blocks
for _ in range(3):
    phase(1_000_000, 4)
    phase(100_000, 30)
before = np.memory_stats()["device_allocations"]
for _ in range(5):
    phase(1_000_000, 4)
    phase(100_000, 30)
print(once * 1000 + np.memory_stats()["device_allocations"] - before)
"""
    assert run_fresh(code) == 1000


def test_what_ran_is_counted():
    x = asnumpy.arange(5000.0)
    asnumpy.synchronize()
    before = asnumpy.engine_stats()
    (x * 2 + 1).to_numpy()
    ran = {k: n - before[k] for k, n in asnumpy.engine_stats().items()}
    if SINGLE_OPERATORS:
        assert ran["single_ops"] >= 2
    else:
        assert (ran["recorded"], ran["programs"], ran["single_ops"]) == (2, 1, 0)
