"""nn.KVCache: random sequences of updates against plain concatenation in NumPy, attention against a NumPy reference and
PyTorch's, errors, growth, blocks, int8's bound, what is held."""

import gc
import itertools

import asnumpy as np
import numpy
import pytest
from conftest import NPU
from hypothesis import given
from hypothesis import strategies as st
from oracle import to_host
from processes import fresh

LAYERS, KV_HEADS, SIZE = 2, 2, 8
EPS = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-23, "float64": 2**-52}
WAYS = {
    "rows": {},
    "rows, composed": {"composed": True},
    "blocks": {"block_size": 4, "blocks": 64},
    "blocks, composed": {"block_size": 4, "blocks": 64, "composed": True},
}
ways = pytest.mark.parametrize("way", WAYS)


def reference(q, k, v, window=None, scale=None):
    """Attention of the last tokens of one sequence, in float64: q (heads, t, size), k and v (kv_heads, keys, size)."""
    q, k, v = (x.astype(numpy.float64) for x in (q, k, v))
    group, t, keys = q.shape[0] // k.shape[0], q.shape[1], k.shape[1]
    k, v = numpy.repeat(k, group, 0), numpy.repeat(v, group, 0)
    scores = q @ k.transpose(0, 2, 1) * (1 / numpy.sqrt(q.shape[2]) if scale is None else scale)
    i = numpy.arange(keys - t, keys)[:, None]
    j = numpy.arange(keys)
    hidden = (j > i) | (j <= i - window) if window else j > i
    scores = numpy.where(hidden, -numpy.inf, scores)
    e = numpy.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def close(got, expected, keys, eps):
    """Elements are in [-1, 1): a score's products and a row's sum round once an addition, the result once more."""
    error = numpy.abs(to_host(got).astype(numpy.float64) - expected).max(initial=0)
    assert error <= 4 * (EPS["float32"] if eps > EPS["float32"] else eps) * (SIZE + keys) + eps


def tokens(rng, n, t, heads=KV_HEADS, dtype="float32", size=SIZE):
    return (rng.random((n, heads, t, size)) * 2 - 1).astype(dtype)


def of(dtype):
    return np.bfloat16 if dtype == "bfloat16" else numpy.dtype(dtype)


# ---- against concatenation

STEPS = st.lists(
    st.tuples(
        st.sampled_from("uuuuutaaf"), st.integers(0, 2**31), st.sampled_from([1, 1, 1, 2, 5, 9])
    ),
    min_size=1,
    max_size=12,
)


class Model:
    """What a cache should hold: whole sequences, of which a window hides what it likes."""

    def __init__(self, sequences):
        self.k = {s: [numpy.zeros((KV_HEADS, 0, SIZE))] * LAYERS for s in range(sequences)}
        self.v = {s: list(x) for s, x in self.k.items()}

    def put(self, of_all, layer, s, new):
        of_all[s][layer] = numpy.concatenate([of_all[s][layer], new], 1)

    def length(self, layer, s):
        return self.k[s][layer].shape[1]


def step_update(cache, model, rng, t, dtype):
    chosen = sorted(rng.permutation(list(model.k))[: rng.integers(1, len(model.k) + 1)].tolist())
    for layer in range(LAYERS):
        k, v = (tokens(rng, len(chosen), t).astype(of(dtype)) for _ in "kv")
        at = [model.length(layer, s) for s in chosen]
        cache.update(layer, k, v, at, chosen)
        for i, s in enumerate(chosen):
            model.put(model.k, layer, s, k[i])
            model.put(model.v, layer, s, v[i])


def step_truncate(cache, model, rng, window):
    s = rng.choice(list(model.k))
    length = max(model.length(layer, s) for layer in range(LAYERS))
    position = int(rng.integers(0, length + 1))
    first = max(cache.tokens(layer, s).start for layer in range(LAYERS))
    if window and first > max(0, position - window + 1) and position < length:
        with pytest.raises(ValueError, match="given up"):
            cache.truncate(position, s)
        return
    cache.truncate(position, s)
    for layer in range(LAYERS):
        model.k[s][layer] = model.k[s][layer][:, :position]
        model.v[s][layer] = model.v[s][layer][:, :position]


def check_all(cache, model, rng, window, dtype):
    for layer, s in itertools.product(range(LAYERS), model.k):
        there = cache.tokens(layer, s)
        assert there.stop == model.length(layer, s)
        if window is None:
            assert there.start == 0
        elif there.stop:
            assert there.start <= max(0, there.stop - window + 1)
        k, v = cache.read(layer, s)
        assert k.dtype == of(dtype) and k.shape == (KV_HEADS, len(there), SIZE)
        # what was stored is what was given, to the bit
        for got, all_of in ((k, model.k), (v, model.v)):
            expected = all_of[s][layer][:, there.start :].astype(numpy.float64)
            assert (to_host(got).astype(numpy.float64) == expected).all()
    layer = int(rng.integers(LAYERS))
    there = {s: cache.tokens(layer, s) for s in model.k}
    some = [s for s in model.k if there[s].stop > 0]
    # truncated to where the next token sees its whole window, which the last one may not
    ready = [s for s in some if not window or there[s].start <= max(0, there[s].stop - window)]
    for s in set(some) - set(ready):
        with pytest.raises(ValueError, match=f"they need .* from token {there[s].stop - window}"):
            cache.attention(layer, tokens(rng, 1, 1, KV_HEADS).astype(of(dtype)), [s])
    if not ready:
        return
    q = tokens(rng, len(ready), 1, 3 * KV_HEADS).astype(of(dtype))
    got = cache.attention(layer, q, ready)
    assert got.dtype == of(dtype) and got.shape == q.shape
    for i, s in enumerate(ready):
        expected = reference(q[i], model.k[s][layer], model.v[s][layer], window)
        close(got[i], expected, model.length(layer, s), EPS[dtype])


@ways
@pytest.mark.parametrize("window", [None, 1, 6])
@given(steps=STEPS, seed=st.integers(0, 2**31), dtype=st.sampled_from(sorted(EPS)))
def test_sequences_of_updates(way, window, steps, seed, dtype):
    cache = np.nn.KVCache(LAYERS, KV_HEADS, SIZE, dtype=of(dtype), sequences=2, window=window, **WAYS[way])  # fmt: skip
    model, rng = Model(2), numpy.random.default_rng(seed)
    for what, number, t in steps:
        rng = numpy.random.default_rng([seed, number])
        if what == "u":
            step_update(cache, model, rng, t, dtype)
        elif what == "t":
            step_truncate(cache, model, rng, window)
        elif what == "a" and len(model.k) < 5:
            s = cache.add_sequence()
            assert s == min(set(range(9)) - set(model.k))
            model.k[s] = [numpy.zeros((KV_HEADS, 0, SIZE))] * LAYERS
            model.v[s] = list(model.k[s])
        elif what == "f" and len(model.k) > 1:
            s = rng.choice(list(model.k))
            cache.free_sequence(s)
            del model.k[s], model.v[s]
        assert cache.sequences == tuple(sorted(model.k))
        check_all(cache, model, rng, window, dtype)
    if "block_size" in WAYS[way]:
        taken = [b for s in model.k for b in cache.block_table(s)[0]]
        assert len(set(taken)) == len(taken) == 64 - cache.stats()["free_blocks"]


# ---- attention

SHAPES = [(1, 1), (7, 7), (1, 40), (5, 40), (16, 16), (33, 34)]


def filled(way, t, keys, window, dtype, n=3, heads=KV_HEADS, size=SIZE, seed=0):
    """A cache of n sequences whose last t tokens came together, and the keys and values."""
    rng = numpy.random.default_rng(seed)
    k, v = (tokens(rng, n, keys, heads, of(dtype), size) for _ in "kv")
    cache = np.nn.KVCache(1, heads, size, dtype=of(dtype), sequences=n, window=window, **WAYS[way])
    if keys > t:
        cache.update(0, k[:, :, :-t], v[:, :, :-t], 0)
    cache.update(0, k[:, :, -t:], v[:, :, -t:], keys - t)
    return cache, tokens(rng, n, t, 4 * heads, of(dtype), size), k, v


@ways
@pytest.mark.parametrize("dtype", sorted(EPS))
@pytest.mark.parametrize("window", [None, 1, 5, 100])
@pytest.mark.parametrize(("t", "keys"), SHAPES)
def test_attention(way, dtype, window, t, keys):
    cache, q, k, v = filled(way, t, keys, window, dtype)
    got = cache.attention(0, q)
    assert got.shape == q.shape and got.dtype == of(dtype)
    expected = numpy.stack([reference(*x, window) for x in zip(q, k, v, strict=True)])
    close(got, expected, keys, EPS[dtype])
    got = cache.attention(0, q[1:], [1, 2], scale=0.25)
    expected = numpy.stack([reference(*x, window, 0.25) for x in zip(q, k, v, strict=True)])[1:]
    close(got, expected, keys, EPS[dtype])
    got = cache.attention(0, q[::-1], [2, 1, 0], scale=0.0)
    expected = numpy.stack([reference(*x, window, 0.0) for x in zip(q, k, v, strict=True)])[::-1]
    close(got, expected, keys, EPS[dtype])


@ways
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(("t", "keys"), SHAPES)
def test_attention_as_pytorchs(way, dtype, t, keys):
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    cache, q, k, v = filled(way, t, keys, None, dtype, heads=2, size=64)
    kind = getattr(torch, dtype)
    # bfloat16 crosses by way of float32
    tq, tk, tv = (torch.from_numpy(x.astype("float32")).to(kind) for x in (q, k, v))
    mask = torch.ones(t, keys, dtype=torch.bool).tril(keys - t)
    expected = torch.nn.functional.scaled_dot_product_attention(
        tq, tk, tv, attn_mask=mask, enable_gqa=True
    )
    got = to_host(cache.attention(0, q)).astype("float32")
    # both round weights or results in their dtype: two roundings apart
    eps = EPS[dtype]
    assert numpy.abs(got - expected.float().numpy()).max() <= 2 * eps + 8 * EPS["float32"] * (64 + keys)  # fmt: skip


@ways
def test_queries_of_another_dtype(way):
    cache, q, k, v = filled(way, 3, 20, None, "bfloat16")
    wide = q.astype("float32")
    got = cache.attention(0, wide)
    assert got.dtype == numpy.float32
    expected = numpy.stack([reference(*x) for x in zip(wide, k, v, strict=True)])
    close(got, expected, 20, EPS["float32"])


def test_nothing_to_do():
    cache = np.nn.KVCache(1, 2, 4)
    none = numpy.zeros((1, 2, 0, 4), "f4")
    cache.update(0, none, none, 0)
    assert cache.tokens(0) == range(0) and cache.attention(0, none).shape == (1, 2, 0, 4)
    assert cache.read(0)[0].shape == (2, 0, 4) and cache.stats()["nbytes"] == 0
    cache.update(0, none[:0], none[:0], [], [])
    assert cache.attention(0, none[:0], []).shape == (0, 2, 0, 4)


# ---- int8


@ways
@pytest.mark.parametrize("window", [None, 6])
def test_int8_is_off_by_half_a_scale(way, window):
    rng = numpy.random.default_rng(3)
    cache = np.nn.KVCache(1, 2, 8, dtype=np.int8, window=window, **WAYS[way])
    # numbers of all sizes, and tokens of zeros
    k, v = (
        (rng.standard_normal((1, 2, 30, 8)) * 10.0 ** rng.integers(-6, 6, (1, 2, 30, 1)))
        .astype("f4")
        for _ in "kv"
    )  # fmt: skip
    k[:, :, 4] = 0
    for i in range(30):
        cache.update(0, k[:, :, i : i + 1], v[:, :, i : i + 1], i)
    first = cache.tokens(0).start
    stored = []
    for got, x in zip(cache.read(0), (k, v), strict=True):
        x = x[0, :, first:]
        bound = numpy.abs(x).max(-1, keepdims=True) / 254
        got = to_host(got)
        stored.append(got)
        assert got.dtype == numpy.float32
        assert (numpy.abs(got - x) <= bound * (1 + 2**-20)).all()
    q = tokens(rng, 1, 1, 4)
    close(
        cache.attention(0, q)[0] / numpy.abs(stored[1]).max(),
        reference(q[0], stored[0], stored[1], window) / numpy.abs(stored[1]).max(),
        30
        * 1000,  # keys of a thousand make scores of a thousand, whose rounding an exponential multiplies
        EPS["float32"],
    )


def test_int8_takes_a_quarter():
    sizes = {}
    for dtype in (np.float32, np.int8):
        cache = np.nn.KVCache(1, 8, 128, dtype=dtype, capacity=100)
        cache.update(0, *numpy.zeros((2, 1, 8, 100, 128), "f4"), 0)
        sizes[dtype] = cache.stats()["nbytes"]
    assert sizes[np.float32] == 2 * 8 * 100 * 128 * 4
    assert sizes[np.int8] == 2 * 8 * 100 * (128 + 4)


# ---- growth


def test_growth_to_twice_the_position():
    cache = np.nn.KVCache(1, 2, 4, capacity=8)
    one = numpy.ones((1, 2, 1, 4), "f4")
    seen = []
    for i in range(100):
        cache.update(0, one * i, one, i)
        seen.append(cache.stats()["capacity"])
    assert sorted(set(seen)) == [8, 18, 38, 78, 158]
    assert cache.stats()["moved"] == 8 + 18 + 38 + 78
    assert (to_host(cache.read(0)[0])[0, :, 0] == numpy.arange(100)).all()


# In a process of its own, whose arrays are all its own.
GROWING = """
import asnumpy as np
import numpy


def in_use():
    np.synchronize()
    return np.memory_stats()["bytes_in_use"]


heads, size = 8, 128
token = 2 * heads * size * 4
before = in_use()
cache = np.nn.KVCache(2, heads, size, capacity=64)
assert in_use() == before  # taken at the first update
x = numpy.zeros((1, heads, 64, size), "f4")
for layer in range(2):
    cache.update(layer, x, x, 0)
# memory is given out in sizes a quarter apart at most
assert 128 * token <= in_use() - before <= 128 * token * 1.25
assert cache.stats()["nbytes"] == 128 * token
for layer in range(2):
    cache.update(layer, x[:, :, :1], x[:, :, :1], 64)
# the arrays before are given back
assert 260 * token <= in_use() - before <= 260 * token * 1.25
del cache
assert in_use() == before
"""


def test_memory_while_growing():
    fresh(GROWING)


def test_windows_do_not_grow():
    cache = np.nn.KVCache(1, 2, 4, window=16)
    one = numpy.ones((1, 2, 1, 4), "f4")
    for i in range(500):
        cache.update(0, one, one, i)
    stats = cache.stats()
    assert stats["capacity"] <= 2 * 16
    assert stats["moved"] <= 500 + 2 * 16  # a token is copied once, and growth before
    assert len(cache.tokens(0)) >= 15


@ways
@pytest.mark.parametrize("dtype", ["float32", "int8", "bfloat16"])
def test_nothing_waits(way, dtype):
    cache = np.nn.KVCache(1, 8, 64, dtype=of(dtype), capacity=4, window=9, **WAYS[way])
    k = np.array(numpy.ones((1, 8, 1, 64), "f4"))
    q = np.array(numpy.ones((1, 32, 1, 64), "f4"))
    before = np.debug.on_sync("error")
    try:
        for i in range(20):
            cache.update(0, k, k, i)
            out = cache.attention(0, q)
    finally:
        np.debug.on_sync(before)
    assert abs(to_host(out) - 1).max() <= 2**-20


# ---- blocks


def test_blocks_are_taken_and_given_back():
    cache = np.nn.KVCache(2, 1, 2, sequences=2, block_size=4, blocks=6)
    x = numpy.ones((1, 1, 9, 2), "f4")
    for layer in range(2):
        cache.update(layer, x, x, 0, 0)
        assert cache.block_table(0) == ((0, 1, 2), 0)  # the same in all layers
        assert cache.stats()["free_blocks"] == 3
    cache.update(0, x[:, :, :4], x[:, :, :4], 0, 1)
    assert cache.block_table(1) == ((3,), 0)
    cache.truncate(4, 0)
    assert cache.block_table(0) == ((0,), 0) and cache.stats()["free_blocks"] == 4
    cache.truncate(3, 0)
    assert cache.block_table(0) == ((0,), 0)
    cache.free_sequence(0)
    assert cache.stats()["free_blocks"] == 5
    assert cache.add_sequence() == 0 and cache.tokens(0, 0) == range(0)
    assert cache.stats()["moved"] == 0


def test_the_limit_in_blocks():
    cache = np.nn.KVCache(1, 1, 2, sequences=2, block_size=4, blocks=3)
    x = numpy.ones((2, 1, 5, 2), "f4")
    with pytest.raises(MemoryError, match="4 blocks are needed, 3 of 3 are free"):
        cache.update(0, x, x, 0)
    assert cache.tokens(0, 0) == cache.tokens(0, 1) == range(0)
    assert cache.stats()["free_blocks"] == 3
    cache.update(0, x[:1], x[:1], 0, 0)
    cache.update(0, x[:1, :, :4], x[:1, :, :4], 0, 1)
    with pytest.raises(MemoryError, match="1 blocks are needed, 0 of 3"):
        cache.update(0, x[:, :, :1], x[:, :, :1], [5, 4])
    cache.free_sequence(0)
    cache.update(0, x[:1, :, :1], x[:1, :, :1], 4, 1)
    assert cache.block_table(1)[0] == (2, 0)


def test_windows_give_blocks_back():
    cache = np.nn.KVCache(1, 1, 2, window=6, block_size=4, blocks=4)
    one = numpy.ones((1, 1, 1, 2), "f4")
    for i in range(200):
        cache.update(0, one * i, one, i)
        assert 4 - cache.stats()["free_blocks"] <= 3
    blocks, first = cache.block_table()
    assert first == cache.tokens(0).start == 192 and len(blocks) == 2
    assert (to_host(cache.read(0)[0])[0, :, 0] == numpy.arange(192, 200)).all()


# ---- errors


def refuses(error, message, call, *args, **keywords):
    with pytest.raises(error, match=message):
        call(*args, **keywords)


@ways
def test_positions(way):
    cache = np.nn.KVCache(2, 1, 2, **WAYS[way])
    x = numpy.ones((1, 1, 3, 2), "f4")
    cache.update(0, x, x, 0)
    refuses(ValueError, "position 4, but layer 0 of sequence 0 is at 3: there would be a gap",
            cache.update, 0, x, x, 4)  # fmt: skip
    refuses(ValueError, r"position 2, but .* is at 3: truncate\(\) first", cache.update, 0, x, x, 2)
    refuses(ValueError, "position 3, but layer 1 .* is at 0", cache.update, 1, x, x, 3)
    refuses(ValueError, "position 4 of sequence 0, which is at 3", cache.truncate, 4)
    refuses(ValueError, "position -1 of sequence 0", cache.truncate, -1)
    cache.truncate(2)
    cache.update(0, 5 * x, x, 2)
    assert cache.tokens(0) == range(5) and cache.tokens(1) == range(0)
    assert to_host(cache.read(0)[0])[0, :, 0].tolist() == [1, 1, 5, 5, 5]


def test_arguments():
    cache = np.nn.KVCache(2, 2, 4, sequences=2)
    x = numpy.ones((2, 2, 3, 4), "f4")
    refuses(IndexError, "layer 2 of 2", cache.update, 2, x, x, 0)
    refuses(IndexError, "layer -1 of 2", cache.attention, -1, x)
    refuses(ValueError, r"k has shape \(1,2,3,4\); it must be \(2,2,tokens,4\)",
            cache.update, 0, x[:1], x, 0)  # fmt: skip
    refuses(ValueError, "v has shape .* of as many tokens as k", cache.update, 0, x, x[:, :, 1:], 0)
    refuses(TypeError, "k has dtype int32", cache.update, 0, x.astype("i4"), x, 0)
    refuses(TypeError, "v has dtype complex64", cache.update, 0, x, x.astype("c8"), 0)
    refuses(ValueError, "sequence 5 is not in use", cache.update, 0, x, x, 0, [0, 5])
    refuses(ValueError, "sequence 1 is named twice", cache.update, 0, x, x, 0, [1, 1])
    refuses(ValueError, "1 positions of 2 sequences", cache.update, 0, x, x, [0])
    refuses(TypeError, "integer", cache.update, 0, x, x, 0.5)
    cache.update(0, x, x, 0)
    refuses(ValueError, r"q has shape \(2,3,1,4\).* a multiple of 2",
            cache.attention, 0, numpy.ones((2, 3, 1, 4)))  # fmt: skip
    refuses(TypeError, "q has dtype int64", cache.attention, 0, numpy.ones((2, 2, 1, 4), "i8"))
    refuses(ValueError, "4 queries of sequence 0", cache.attention, 0, numpy.ones((2, 2, 4, 4)))
    refuses(ValueError, "1 queries of sequence 0", cache.attention, 1, x[:, :, :1])
    refuses(ValueError, "sequence 2 is not in use", cache.free_sequence, 2)
    refuses(ValueError, "sequence 2 is not in use", cache.block_table, 2)
    refuses(ValueError, "sequence 7 is not in use", cache.read, 0, 7)
    refuses(IndexError, "layer 9 of 2", cache.tokens, 9)


def test_sequences_and_positions():
    """An integer of any kind, or a sequence of such; anything else is refused by its name."""
    cache = np.nn.KVCache(1, 2, 4, sequences=3)
    x, at = numpy.ones((3, 2, 1, 4), "f4"), 0
    for position in (int, numpy.int32, numpy.array, lambda k: [k] * 3, lambda k: iter((k, k, k)),
                     lambda k: numpy.full(3, k), lambda k: (k, numpy.int64(k), True + k - 1)):  # fmt: skip
        cache.update(0, x, np.asarray(x), position(at))
        at += 1
    for sequences in (2, numpy.int8(2), [2], range(2, 3), numpy.array([2])):
        cache.update(0, x[:1], x[:1], at, sequences)
        assert cache.attention(0, x[:1], sequences).shape == (1, 2, 1, 4)
        at += 1
    assert (cache.tokens(0, 1).stop, cache.tokens(0, 2).stop) == (at - 5, at)
    for wrong in (0.5, "at", [0, 1, 2.5], numpy.ones(3), None, numpy.array(0.5)):
        told = "position is .*; it may be an integer or a sequence of integers"
        refuses(TypeError, told, cache.update, 0, x, x, wrong)
    for wrong in (1.5, "01", [[0], [1], [2]]):
        refuses(TypeError, "sequences is .*; it may be an integer", cache.attention, 0, x, wrong)
    refuses(OverflowError, "4294967296 is beyond 32 bits", cache.attention, 0, x[:1], 2**32)
    refuses(OverflowError, "too (big|large)", cache.update, 0, x, x, 2**64)
    refuses(OverflowError, "too (big|large)", cache.update, 0, x, x, [0, 1, 2**64])
    refuses(TypeError, "'list'", cache.truncate, 0, [0])
    assert cache.tokens(0, 0).stop == at - 5


@pytest.mark.parametrize(
    ("error", "message", "keywords"),
    [
        (ValueError, "layers is 0", {"layers": 0}),
        (ValueError, "kv_heads is -1", {"kv_heads": -1}),
        (ValueError, "head_dim is 0", {"head_dim": 0}),
        (ValueError, "sequences is -1", {"sequences": -1}),
        (ValueError, "window is 0; it must be at least 1, or None", {"window": 0}),
        (ValueError, "capacity is -5", {"capacity": -5}),
        (ValueError, "4 blocks of 0 tokens", {"blocks": 4}),
        (ValueError, "0 blocks of 16 tokens", {"block_size": 16}),
        (ValueError, "blocks of 65536 tokens", {"block_size": 65536, "blocks": 65536}),
        (TypeError, "dtype is int32", {"dtype": "i4"}),
        (TypeError, "dtype is complex64", {"dtype": "c8"}),
        (OverflowError, "beyond 32 bits", {"layers": 2**40}),
    ],
)
def test_options(error, message, keywords):
    options = {"layers": 1, "kv_heads": 1, "head_dim": 2, **keywords}
    refuses(error, message, np.nn.KVCache, **options)


def test_what_a_window_has_given_up():
    cache = np.nn.KVCache(1, 1, 2, window=4)
    one = numpy.ones((1, 1, 1, 2), "f4")
    for i in range(30):
        cache.update(0, one, one, i)
    first = cache.tokens(0).start
    assert first > 10
    refuses(ValueError, f"position 5 .* before {first} are given up; .* from 2 on", cache.truncate, 5)  # fmt: skip
    refuses(ValueError, "20 queries of sequence 0", cache.attention, 0, numpy.ones((1, 1, 20, 2)))
    cache.truncate(29)
    assert cache.tokens(0) == range(first, 29)


def test_no_part_in_a_trace():
    cache = np.nn.KVCache(1, 1, 2)

    @np.jit
    def step(x):
        cache.update(0, x, x, 0)
        return x + 1

    with pytest.raises(Exception, match="a KV cache changes"):
        step(np.ones((1, 1, 1, 2), np.float32))
    assert cache.tokens(0) == range(0)


def test_repr():
    assert repr(np.nn.KVCache(1, 2, 3, dtype="f2", window=4, block_size=16, blocks=2)) == (
        "KVCache(1, 2, 3, dtype=float16, sequences=1, window=4, block_size=16, blocks=2)"
    )


# ---- what is held


def in_use():
    np.synchronize()
    gc.collect()
    return np.memory_stats()["bytes_in_use"]


@ways
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_no_leak(way, dtype):
    x = numpy.ones((2, 2, 3, 4), "f4")
    q = numpy.ones((2, 4, 1, 4), "f4")

    def life():
        cache = np.nn.KVCache(2, 2, 4, dtype=dtype, sequences=2, window=5, **WAYS[way])
        for i in range(6):
            for layer in range(2):
                cache.update(layer, x, x, 3 * i)
                cache.attention(layer, q)
        cache.free_sequence(0)
        with pytest.raises(ValueError, match="not in use"):
            cache.update(0, x, x, 18, [0, 1])
        return cache.read(0, 1)

    life()
    before = in_use()
    for _ in range(5):
        life()
    assert in_use() == before


def test_views_outlive_the_cache():
    cache = np.nn.KVCache(1, 1, 2)
    x = numpy.ones((1, 1, 1, 2), "f4")
    cache.update(0, x, 2 * x, 0)
    k, v = cache.read(0)
    assert NPU or numpy.shares_memory(numpy.asarray(k), numpy.asarray(cache.read(0)[0]))
    del cache
    assert to_host(k + v).tolist() == [[[3, 3]]]
