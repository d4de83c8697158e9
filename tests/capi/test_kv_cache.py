"""include/asnumpy/kv_cache.h against NumPy: steps in rows and in blocks, several sequences, statuses, what is given back."""

import ctypes

import numpy as np
import pytest
from face import DTYPES, Failure, array, axes, c, extents
from hypothesis import given
from hypothesis import strategies as st


class Options(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int32) for n in ("layers", "kv_heads", "head_dim", "sequences", "dtype", "composed")] + [
        (n, ctypes.c_int64) for n in ("window", "capacity", "block_size", "blocks")]  # fmt: skip


class State(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int64) for n in ("nbytes", "capacity", "free_blocks", "moved")] + [
        ("sequences", ctypes.c_int32)]  # fmt: skip


def cache_of(dtype="float32", layers=1, heads=2, size=4, sequences=2, **more):
    options = Options(layers, heads, size, sequences, DTYPES.get(dtype, dtype), **more)
    return c.kv_cache_new(ctypes.byref(options))


def state(cache):
    found = State()
    c.kv_cache_get_state(cache, ctypes.byref(found))
    return found


def tokens(cache, layer, sequence):
    first, position = ctypes.c_int64(), ctypes.c_int64()
    c.kv_cache_tokens(cache, layer, sequence, ctypes.byref(first), ctypes.byref(position))
    return first.value, position.value


def table(cache, sequence):
    blocks, count, first = ctypes.c_void_p(), ctypes.c_int64(), ctypes.c_int64()
    c.kv_cache_blocks(cache, sequence, *map(ctypes.byref, (blocks, count, first)))
    found = ctypes.cast(blocks, ctypes.POINTER(ctypes.c_int32))
    return [found[i] for i in range(count.value)], first.value


def attention(q, k, v, scale):
    """(heads, t, size) over (kv_heads, keys, size)."""
    k, v = (np.repeat(x.astype("f8"), len(q) // len(x), 0) for x in (k, v))
    scores = q.astype("f8") @ k.transpose(0, 2, 1) * scale
    t, keys = scores.shape[1:]
    scores[:, ~np.tri(t, keys, keys - t, dtype=bool)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=8),
    st.sampled_from([{}, {"composed": 1}, {"block_size": 4, "blocks": 40}, {"capacity": 3}]),
    st.integers(0, 2**31),
)
def test_steps(lengths, options, seed):
    rng = np.random.default_rng(seed)
    cache = cache_of(**options)
    whole = [np.empty((2, 2, 0, 4), "f4")] * 2
    for t in lengths:
        new = [rng.random((2, 2, t, 4), "f4") for _ in "kv"]
        at = whole[0].shape[2]
        c.kv_cache_update(cache, 0, array(new[0]), array(new[1]), 2, None, extents(at, at))
        whole = [np.concatenate(pair, 2) for pair in zip(whole, new, strict=True)]
        q = rng.random((2, 4, t, 4), "f4")
        scale = ctypes.c_double(0.3)
        got = c.kv_cache_attention(cache, 0, array(q), 2, axes(1, 0), ctypes.byref(scale)).numpy()
        for i, s in enumerate((1, 0)):
            expected = attention(q[i], whole[0][s], whole[1][s], 0.3)
            assert np.abs(got[i] - expected).max() < 1e-5
        got = c.kv_cache_attention(cache, 0, array(q), 2, None, None).numpy()
        assert np.abs(got[0] - attention(q[0], whole[0][0], whole[1][0], 0.5)).max() < 1e-5
    for s in range(2):
        assert tokens(cache, 0, s) == (0, sum(lengths))
        for got, expected in zip(c.kv_cache_read(cache, 0, s), whole, strict=True):
            np.testing.assert_array_equal(got.numpy(), expected[s])


def test_sequences_and_blocks():
    cache = cache_of(sequences=0, block_size=2, blocks=3)
    number = ctypes.c_int32()
    for expected in (0, 1):
        c.kv_cache_add(cache, ctypes.byref(number))
        assert number.value == expected
    x = array(np.ones((1, 2, 3, 4), "f4"))
    c.kv_cache_update(cache, 0, x, x, 1, axes(1), extents(0))
    assert table(cache, 1) == ([0, 1], 0) and table(cache, 0) == ([], 0)
    assert state(cache).free_blocks == 1 and state(cache).sequences == 2
    with pytest.raises(Failure, match="2 blocks are needed, 1 of 3") as failed:
        c.kv_cache_update(cache, 0, x, x, 1, axes(0), extents(0))
    assert failed.value.kind == "MemoryError"
    c.kv_cache_truncate(cache, 1, 1)
    assert table(cache, 1) == ([0], 0) and tokens(cache, 0, 1) == (0, 1)
    c.kv_cache_free(cache, 1)
    assert state(cache).free_blocks == 3 and state(cache).sequences == 1
    with pytest.raises(Failure, match="sequence 1 is not in use"):
        c.kv_cache_free(cache, 1)


def test_statuses():
    cache = cache_of()
    x = array(np.ones((2, 2, 1, 4), "f4"))
    at = extents(0, 0)
    for call, kind, message in (
        (lambda: cache_of(sequences=-1), "ValueError", "sequences is -1"),
        (lambda: cache_of("int64"), "TypeError", "dtype is int64"),
        (lambda: cache_of(99), "TypeError", "99"),
        (lambda: c.kv_cache_new(None), "ValueError", "NULL"),
        (lambda: c.kv_cache_update(cache, 0, x, x, -1, None, at), "ValueError", "-1 sequences"),
        (lambda: c.kv_cache_update(cache, 1, x, x, 2, None, at), "IndexError", "layer 1 of 1"),
        (lambda: c.kv_cache_update(cache, 0, x, None, 2, None, at), "ValueError", "NULL"),
        (lambda: c.kv_cache_update(cache, 0, x, x, 2, None, extents(0, 1)), "ValueError", "a gap"),
        (lambda: c.kv_cache_attention(cache, 0, x, 2, None, None), "ValueError", "1 queries"),
        (lambda: c.kv_cache_truncate(cache, 0, 1), "ValueError", "position 1"),
        (lambda: c.kv_cache_read(cache, 0, 9), "ValueError", "sequence 9"),
    ):
        with pytest.raises(Failure, match=message) as failed:
            call()
        assert failed.value.kind == kind
    assert tokens(cache, 0, 0) == (0, 0)
    c.kv_cache_release(None)
