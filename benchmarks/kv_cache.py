"""nn.KVCache for a layer of the size of a 7B model's (32 heads, 8 of keys, 128): updates, attention, decoding steps.

python benchmarks/kv_cache.py [--tokens 128 512 ...] [--repeats N] [--dtype float32|bfloat16]

Figures are medians of interleaved repeats, in microseconds, each until the result is there:

- update: one token's keys and values appended, against np.concatenate of NumPy's arrays (the same bytes);
- attention: one query of each head over all tokens: in rows, in blocks of 16, composed, int8, and PyTorch's
  scaled_dot_product_attention with enable_gqa on as many threads, where PyTorch is installed;
- step: update and attention with the cache, against attention of all tokens made again, as without a cache (PyTorch's,
  and ours: a fresh cache that is given all tokens).
"""

import argparse
import statistics
import sys
import time

import asnumpy as np
import numpy

HEADS, KV_HEADS, SIZE = 32, 8, 128


def measure(ways, repeats):
    """The median of each way in microseconds; they take turns."""
    times = {name: [] for name in ways}
    for _ in range(repeats + 1):
        for name, call in ways.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: 1e6 * statistics.median(t[1:]) for name, t in times.items()}


def filled(tokens, k, v, **options):
    """A cache with room for more than it holds."""
    if "blocks" not in options:
        options["capacity"] = tokens + 64
    cache = np.nn.KVCache(1, KV_HEADS, SIZE, **options)
    cache.update(0, k, v, 0)
    return cache


class Steps:
    """One token after the other; the oldest of many are taken back so that the length stays."""

    def __init__(self, cache, k, v, q=None):
        self.cache, self.k, self.v, self.q = cache, k, v, q
        self.tokens = cache.tokens(0).stop

    def __call__(self):
        if self.cache.tokens(0).stop >= self.tokens + 32:
            self.cache.truncate(self.tokens)
        self.cache.update(0, self.k, self.v, self.cache.tokens(0).stop)
        if self.q is not None:
            self.cache.attention(0, self.q)
        np.synchronize()


def torch_ways(q, k, v):
    """(attention of one query, of all tokens) by PyTorch; None where it is not installed."""
    try:
        import torch
    except ImportError:
        return None, None
    attend = torch.nn.functional.scaled_dot_product_attention

    def of(x):
        return torch.from_numpy(x.astype("float32")).to(getattr(torch, x.dtype.name))

    one, tk, tv = of(q[:, :, -1:]), of(k), of(v)
    many = of(q)
    return (
        lambda: attend(one, tk, tv, enable_gqa=True),
        lambda: attend(many, tk, tv, is_causal=True, enable_gqa=True),
    )


def row(tokens, repeats, dtype):
    rng = numpy.random.default_rng(tokens)
    kind = np.bfloat16 if dtype == "bfloat16" else numpy.dtype(dtype)
    k, v = (rng.standard_normal((1, KV_HEADS, tokens, SIZE)).astype(kind) for _ in "kv")
    q = rng.standard_normal((1, HEADS, tokens, SIZE)).astype(kind)
    ours_k, ours_v, ours_q, one = map(np.array, (k, v, q, q[:, :, -1:]))
    k1, v1 = ours_k[:, :, -1:].copy(), ours_v[:, :, -1:].copy()
    stored = {"dtype": kind}
    paged = {"block_size": 16, "blocks": tokens // 16 + 8}
    caches = {
        "rows": filled(tokens, ours_k, ours_v, **stored),
        "blocks": filled(tokens, ours_k, ours_v, **stored, **paged),
        "composed": filled(tokens, ours_k, ours_v, composed=True, **stored),
        "int8": filled(tokens, ours_k, ours_v, dtype=np.int8),
    }
    torch_one, torch_all = torch_ways(q, k, v)

    def attention(cache):
        return lambda: (cache.attention(0, one), np.synchronize())

    def anew():
        filled(tokens, ours_k, ours_v, **stored).attention(0, ours_q)
        np.synchronize()

    new = k[:, :, -1:], v[:, :, -1:]
    ways = {
        "update": Steps(filled(tokens, ours_k, ours_v, **stored), k1, v1),
        "update, blocks": Steps(filled(tokens, ours_k, ours_v, **stored, **paged), k1, v1),
        "concatenate": lambda: [numpy.concatenate(x, 2) for x in zip((k, v), new, strict=True)],
        **{f"attention, {name}": attention(cache) for name, cache in caches.items()},
        "step": Steps(filled(tokens, ours_k, ours_v, **stored), k1, v1, one),
    }
    if torch_one:
        ways["attention, PyTorch"] = torch_one
    found = measure(ways, repeats)
    # Without a cache: seldom, for they are long.
    without = {"all anew": anew, **({"all anew, PyTorch": torch_all} if torch_all else {})}
    return {**found, **measure(without, max(3, repeats // 10))}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, nargs="+", default=[128, 512, 1024, 2048, 4096])
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    given = parser.parse_args(arguments)
    rows = {n: row(n, given.repeats, given.dtype) for n in given.tokens}
    names = list(rows[given.tokens[0]])
    print(f"us, {given.dtype}, {HEADS} heads, {KV_HEADS} of keys, {SIZE}")
    print("tokens".ljust(20) + "".join(f"{n:>12}" for n in rows))
    for name in names:
        print(name.ljust(20) + "".join(f"{found[name]:12.1f}" for found in rows.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
