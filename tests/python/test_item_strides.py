"""Arrays whose strides are no multiple of their items, which no tensor of CANN's can have."""

import asnumpy
import numpy as np
import pytest
from conftest import NPU

# array -> the array whose memory it shares
VIEWS = {
    "c8": lambda m: m.array(np.arange(30, dtype="f4").reshape(10, 3)),
    "c16": lambda m: m.array(np.arange(30, dtype="f8").reshape(10, 3)),
    "f4": lambda m: m.array(np.arange(60, dtype="i2").reshape(10, 6)),
    "i2": lambda m: m.array(np.arange(40, dtype="u1").reshape(10, 4) + 1),
}
CUTS = {"c8": slice(0, 2), "c16": slice(0, 2), "f4": slice(1, 5), "i2": slice(1, 3)}
READS = """
m.repeat(a, 2, 0)
a.argmax(0)
m.take(a, [1, 2], 0)
a[[1, 2]]
a[m.array([True, False] * 5)]
m.searchsorted(a.real.ravel(), a.real.ravel())
a + a
a.sum()
a.sum(axis=0)
a.max(0)
m.sort(a, axis=0)
m.argsort(a, axis=0)
m.cumsum(a, 0)
a.astype("c16")
m.where(a.real > 5, a, 0)
m.unique(a)
m.nonzero(a)[0]
a.T @ a
m.concatenate([a, a])
m.roll(a, 1, 0)
a.std()
a[::-1] * 2
m.take(a, [1, 2], 0, out=m.empty_like(a)[:2])
m.isin(a, a[:3])
m.interp(a.real.ravel(), [1.0, 2.0], [3.0, 4.0])
m.diff(a, axis=0)
a.tolist()
""".strip().splitlines()
WRITES = """
a[...] = 3
a[1:3] = 4
a[[1, 2]] = 5
a[m.array([True, False] * 5)] = 7
a[m.array([True, False] * 5)] = m.arange(5 * a[0].size).reshape(a[::2].shape)
a += 1
m.add(a, 1, out=a)
m.add.at(a, [1, 1], 2)
m.multiply(a, a, out=a)
a.fill(3)
m.put(a, [1], [9])
m.cumsum(a, axis=0, out=a)
a.sort(axis=0)
m.copyto(a, 4, where=a.real > 3)
m.max(a, axis=0, keepdims=True, out=a[:1])
m.sum(a, axis=0, keepdims=True, out=a[1:2], dtype=a.dtype)
m.clip(a.real, 2, 5, out=a.real)
m.random.default_rng(0).shuffle(a)
""".strip().splitlines()


def views(dtype):
    for m in (asnumpy, np):
        whole = VIEWS[dtype](m)
        yield m, whole, whole[:, CUTS[dtype]].view(dtype)


@pytest.mark.parametrize("code", READS)
@pytest.mark.parametrize("dtype", VIEWS)
def test_read(dtype, code):
    ours, theirs = (eval(code, {"m": m, "a": a[:, 0]}) for m, _, a in views(dtype))
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-5)
    assert np.asarray(ours).dtype == np.asarray(theirs).dtype


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code", WRITES)
@pytest.mark.parametrize("dtype", VIEWS)
def test_write(dtype, code):
    results = []
    for m, whole, a in views(dtype):
        a = a[:, 0]
        exec(code, {"m": m, "a": a})
        results.append(np.asarray(whole))
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("dtype", VIEWS)
def test_replays(dtype):
    if NPU and dtype in ("c8", "c16"):
        pytest.skip("what CANN has no complex operators for cannot be replayed")

    def f(m, whole, a):
        b = m.take(a, [3, 1], 0)
        a[[0, 2]] = b
        a[4:] += 1
        return a.sum(axis=0), a[::-1] * 2

    traced = asnumpy.jit(lambda whole, a: f(asnumpy, whole, a))
    for _ in range(3):
        (_, whole, a), (_, host, h) = views(dtype)
        ours, theirs = traced(whole, a), f(np, host, h)
        for x, y in zip([*ours, whole], [*theirs, host], strict=True):
            np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


def test_overlapping_windows():
    """Items of 8 bytes every 4, read and written."""
    x = np.arange(9, dtype="i4")
    y = asnumpy.array(x)
    windows = [
        m.lib.stride_tricks.as_strided(a.view("u1")[:32].view("i8"), (4,), (4,))
        for m, a in ((np, x), (asnumpy, y))
    ]
    np.testing.assert_array_equal(
        np.asarray(asnumpy.repeat(windows[1], 2)), np.repeat(windows[0], 2)
    )
    np.testing.assert_array_equal(np.asarray(windows[1][[2, 0]]), windows[0][[2, 0]])
