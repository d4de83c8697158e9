"""Updates of parts of arrays: cut at their edges and fused, they give NumPy's bits.

Random programs of assignments and updates between slices of three arrays, some results dropped, against NumPy.
"""

import asnumpy
import numpy as np
import pytest
from conftest import SINGLE_OPERATORS
from hypothesis import given, settings
from hypothesis import strategies as st

SHAPES = [(70, 60), (5000,), (20, 17, 24), (130, 33)]


@st.composite
def boxes(draw, shape):
    """A slice a little smaller than the array, as (start, extent) per axis."""
    box = []
    for n in shape:
        start, cut = draw(st.integers(0, 2)), draw(st.integers(0, 2))
        box.append((start, n - start - cut))
    return box


def slices(box, shape, offset=(0, 0, 0)):
    return tuple(
        slice(max(0, min(s + o, n - e)), max(0, min(s + o, n - e)) + e)
        for (s, e), n, o in zip(box, shape, offset, strict=False)
    )


@st.composite
def programs(draw):
    shape = draw(st.sampled_from(SHAPES))
    steps = []
    for _ in range(draw(st.integers(1, 9))):
        box = draw(boxes(shape)) if draw(st.integers(0, 3)) else [(0, n) for n in shape]
        shift = draw(st.tuples(*[st.integers(-2, 2)] * 3))
        names = draw(st.tuples(*[st.sampled_from("abc")] * 3))
        steps.append((draw(st.integers(0, 5)), box, shift, names))
    return shape, steps


def run(np_, arrays, shape, steps):
    for kind, box, shift, (x, y, z) in steps:
        to, at, near = slices(box, shape), slices(box, shape), slices(box, shape, shift)
        if kind == 0:
            arrays[x][to] -= arrays[y][near]
        elif kind == 1:
            arrays[x][to] = 0.5 * arrays[y][near] + arrays[z][at]
        elif kind == 2:
            arrays[x] = 3 * arrays[y]
            arrays[x][to] += arrays[z][near]
        elif kind == 3:
            t = arrays[y][near] - arrays[z][at]
            arrays[x][to] += t * t
        elif kind == 4:
            t = arrays[x] * 0.25
            t[to] += arrays[y][near]
            arrays[z] = t + arrays[x]
        else:
            arrays[x][to] = arrays[y].max()
    return arrays


@given(program=programs(), single=st.booleans())
@settings(max_examples=150)
def test_updates_of_slices(program, single):
    shape, steps = program
    r = np.random.default_rng(len(steps))
    start = {k: r.standard_normal(shape).astype("f4" if single else "f8") for k in "abc"}
    got = run(asnumpy, {k: asnumpy.array(v) for k, v in start.items()}, shape, steps)
    expected = run(np, {k: v.copy() for k, v in start.items()}, shape, steps)
    for k in "abc":
        np.testing.assert_array_equal(got[k].to_numpy(), expected[k])


def laplacian(u):
    r = 4 * u
    r[1:] -= u[:-1]
    r[:-1] -= u[1:]
    r[:, 1:] -= u[:, :-1]
    r[:, :-1] -= u[:, 1:]
    return r


@pytest.mark.parametrize("shape", [(200, 200), (150, 201)])
def test_a_stencil_of_updates_is_few_programs(shape):
    x = np.random.default_rng(2).standard_normal(shape)
    u = asnumpy.array(x)
    asnumpy.synchronize()
    before = asnumpy.engine_stats()
    r = laplacian(u)
    asnumpy.synchronize()
    after = asnumpy.engine_stats()
    np.testing.assert_array_equal(r.to_numpy(), laplacian(x))
    if after["single_ops"] == before["single_ops"]:  # operators run one by one without fusion
        assert after["programs"] - before["programs"] <= 4


@pytest.mark.skipif(SINGLE_OPERATORS, reason="single operators form no programs")
def test_operations_of_other_shapes_do_not_cut_a_stencil():
    x = np.random.default_rng(2).standard_normal((200, 200))
    u, v = asnumpy.array(x), asnumpy.array(x)

    def programs(others):
        asnumpy.synchronize()
        before = asnumpy.engine_stats()["programs"]
        r = 4 * u
        r[1:] -= 2 * u[:-1]
        r[:-1] -= 2 * u[1:]
        kept = [v[: 100 + n] * 3 for n in range(others)]
        asnumpy.synchronize()
        for n, one in enumerate(kept):
            np.testing.assert_array_equal(one.to_numpy(), x[: 100 + n] * 3)
        return asnumpy.engine_stats()["programs"] - before

    alone = programs(0)
    assert [programs(n) for n in (1, 3, 6, 9)] == [alone + n for n in (1, 3, 6, 9)]


@pytest.mark.parametrize("edges", [3, 7, 8, 9, 15])
def test_slices_with_more_edges_than_are_cut(edges):
    """Every update has an edge of its own along each axis."""

    def update(x, y):
        t = 2 * x
        for k in range(1, edges + 1):
            t[k * 7 :] -= y[: -k * 7] * k
            t[:, : -k * 5] += x[:, k * 5 :]
        return t

    host = np.random.default_rng(5).standard_normal((2, 160, 130))
    got = update(*map(asnumpy.array, host))
    np.testing.assert_array_equal(got.to_numpy(), update(*host))


@pytest.mark.parametrize("ndim", [4, 5, 8])
def test_slices_of_more_dimensions_than_are_cut(ndim):
    first, last = (slice(0, -1),) * ndim, (slice(1, None),) * ndim

    def update(x, y):
        x[last] -= y[first]
        x[first] -= 2 * y[last]
        t = x * 0.5
        t[last] += y[last]
        y[first] = t[first] - x[last]
        return x, y, t

    shape = (9, 7, 5) + (3,) * (ndim - 4) + (11,)
    host = np.random.default_rng(4).standard_normal((2, *shape))
    got = update(asnumpy.array(host[0]), asnumpy.array(host[1]))
    for a, b in zip(got, update(*host.copy()), strict=True):
        np.testing.assert_array_equal(a.to_numpy(), b)


def test_memory_of_slices_is_let_go():
    """A program in slices drops its operands as an uncut one does."""
    u = asnumpy.ones((300, 300))
    laplacian(u)
    asnumpy.synchronize()
    asnumpy.empty_cache()
    before = asnumpy.memory_stats()["bytes_in_use"]
    for _ in range(5):
        r = laplacian(laplacian(u))
        asnumpy.synchronize()
        del r
    assert asnumpy.memory_stats()["bytes_in_use"] <= before
