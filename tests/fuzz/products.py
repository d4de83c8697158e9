"""The fuzzer of products: matrices of random shapes, dtypes and layouts, against sums in float64.

    python tests/fuzz/products.py [--seconds N] [--seed N]

Shapes are drawn around the sizes at which the engines take turns (a vector, a few, small ones, panels), so that each
of them meets the others' operands: plain products, results that are given, batches, halves by float32, weights of
int8 and int4 with scales, sparse matrices in any order of their elements, products that autocast narrows, attention over a cache, and convolutions. Each
element may be off by so many roundings of its row's and column's absolute values; where these are infinite or NaN it is
what IEEE says.
A failure is printed with its seed, and `--replay SEED` shows it. tests/python/test_fuzz_products.py runs some for ever.
"""

import argparse
import os
import random
import sys
import time

import asnumpy
import ml_dtypes
import numpy as np

EXTENTS = [
    1,
    1,
    2,
    3,
    4,
    5,
    8,
    9,
    16,
    17,
    31,
    32,
    33,
    63,
    64,
    65,
    96,
    130,
    257,
    513,
    1030,
    3000,
    9001,
    70001,
]
MOST_ELEMENTS, MOST_WORK = 1 << 20, 1 << 26
BF16 = np.dtype(ml_dtypes.bfloat16)
HALVES = [np.dtype(np.float16), BF16]
FLOATS = [np.dtype(t) for t in ("f4", "f8", "c8", "c16")]
# Half a unit in the last place of 1.
ROUNDING = {"e": 2.0**-11, "E": 2.0**-8, "f": 2.0**-24, "F": 2.0**-24, "d": 2.0**-53, "D": 2.0**-53}
# Whether sparse products are one operation of the device; else gathers take an index of -1 for the last row.
ONE_OPERATION = (
    os.environ.get("ASNUMPY_FUSE") != "0" and os.environ.get("ASNUMPY_DEVICE") != "ascend"
)
LAYOUTS = ["C", "C", "F", "F", "reversed", "gaps", "rows apart"]


def shape_of(rng):
    """Rows, terms and columns."""
    while True:
        m, k, n = (rng.choice(EXTENTS) for _ in range(3))
        if max(m * k, k * n, m * n) <= MOST_ELEMENTS and m * k * n <= MOST_WORK:
            return m, k, n


def laid(x, layout):
    """A copy in a layout, of its last two dimensions."""
    if layout == "F":
        return np.swapaxes(np.ascontiguousarray(np.swapaxes(x, -1, -2)), -1, -2)
    if layout == "reversed":
        return np.ascontiguousarray(x[..., ::-1, :])[..., ::-1, :]
    if layout in ("gaps", "rows apart"):
        step = np.s_[..., ::2] if layout == "gaps" else np.s_[..., ::2, :]
        wide = [*x.shape]
        wide[-1 if layout == "gaps" else -2] *= 2
        room = np.zeros(wide, x.dtype)
        room[step] = x
        return room[step]
    return np.ascontiguousarray(x)


def device(x):
    """The same array with the same strides on the device."""
    base = x
    while isinstance(base.base, np.ndarray):
        base = base.base
    if not x.size or not base.flags.c_contiguous:
        return asnumpy.array(x)
    offset = x.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    flat = asnumpy.array(base.reshape(-1))[offset // x.itemsize :]
    return asnumpy.lib.stride_tricks.as_strided(flat, x.shape, x.strides)


class Case:
    """What a seed draws."""

    def __init__(self, seed):
        self.rng, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.m, self.k, self.n = shape_of(self.rng)
        self.words = [f"{self.m} x {self.k} x {self.n}"]

    def matrix(self, *shape, dtype, specials=True):
        """Numbers around 1; once in a while one of them infinite or NaN, or a denormal."""
        x = self.numbers.standard_normal(shape)
        if dtype.kind == "c":
            x = x + 1j * self.numbers.standard_normal(shape)
        x = x.astype(dtype)
        if specials and self.rng.random() < 0.1 and dtype.kind != "c":
            x.reshape(-1)[self.rng.randrange(x.size)] = self.rng.choice([np.inf, -np.inf, np.nan])
        layout = self.rng.choice(LAYOUTS)
        self.words.append(f"{dtype} {shape} {layout}")
        return laid(x, layout)


def off(got, a, b, share, dtype, least=0.0):
    """What is wrong with got as a @ b in `dtype`, each element of which may be off by `share` of |a| @ |b| + least."""
    wide = np.complex128 if np.result_type(a, b).kind == "c" else np.float64
    with np.errstate(all="ignore"):
        a, b = a.astype(wide), b.astype(wide)
        want = a @ b
        sums = np.abs(a) @ np.abs(b)
        if got.shape != want.shape or got.dtype != dtype:
            return f"got {got.dtype} {got.shape}, want {dtype} {want.shape}"
        got = got.astype(wide)
        finite = np.isfinite(want)
        char = "E" if dtype == BF16 else dtype.char
        allowed = share * sums + 2 * ROUNDING[char] * np.abs(want) + least
        allowed += 2.0**-24 if char in "eE" else 1e-37  # denormals
        most = ml_dtypes.finfo(dtype).max if dtype in HALVES else np.finfo(dtype).max
        right = np.where(
            finite, np.abs(got - want) <= allowed, (got == want) | (np.isnan(got) & np.isnan(want))
        )
        right |= finite & (np.abs(want) > 0.99 * float(most))
    if right.all():
        return None
    at = tuple(np.argwhere(~right)[0])
    return f"at {at} of {np.count_nonzero(~right)} got {got[at]}, want {want[at]} +- {allowed[at]}"


def terms(k, char):
    """The share of the sums that k terms in a dtype of this character may be off by: blocks, then their sums."""
    return (8 + k**0.5) * ROUNDING[char]


def plain(c):
    """Of equal dtypes, in batches or not, by an operator or a function, a result given or not."""
    dtype = c.rng.choice(FLOATS + HALVES)
    batch = c.rng.choice([(), (), (), (2,), (3, 1)]) if c.m * c.k * c.n < 1 << 22 else ()
    a = c.matrix(*batch, c.m, c.k, dtype=dtype)
    b = c.matrix(*c.rng.choice([(), batch]), c.k, c.n, dtype=dtype)
    x, y = device(a), device(b)
    how = c.rng.choice(["@", "matmul", "out", "dot", "einsum", "turned", "lines"])
    c.words.append(how)
    share = terms(c.k, "f" if dtype in HALVES else dtype.char)
    if how == "out":
        room = asnumpy.zeros(
            (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), c.m, 2 * c.n), x.dtype
        )
        got = room[..., :: c.rng.choice([1, 2])][..., : c.n]
        asnumpy.matmul(x, y, out=got)
    elif how == "dot" and a.ndim == b.ndim == 2:
        got = x.dot(y)
    elif how == "einsum" and a.ndim == b.ndim == 2:
        got = asnumpy.einsum("ij,jk->ik", x, y)
    elif how == "turned":
        got = asnumpy.swapaxes(asnumpy.swapaxes(y, -1, -2) @ asnumpy.swapaxes(x, -1, -2), -1, -2)
    elif (
        how == "lines" and a.ndim == b.ndim == 2
    ):  # a part of the rows: the same engine, or another one
        first = c.rng.randrange(c.m)
        return off((x[first:] @ y).to_numpy(), a[first:], b, share, dtype)
    else:
        got = x @ y if how == "@" else asnumpy.matmul(x, y)
    return off(got.to_numpy(), a, b, share, dtype)


def mixed(c):
    """Halves by float32, which are float32."""
    half = c.rng.choice(HALVES)
    pair = [np.dtype("f4"), half]
    c.rng.shuffle(pair)
    a, b = c.matrix(c.m, c.k, dtype=pair[0]), c.matrix(c.k, c.n, dtype=pair[1])
    return off((device(a) @ device(b)).to_numpy(), a, b, terms(c.k, "f"), np.dtype("f4"))


def vectors(c):
    """A matrix and a vector, on either side."""
    dtype = c.rng.choice(FLOATS + HALVES)
    a, v = c.matrix(c.m, c.k, dtype=dtype), c.matrix(c.k, 1, dtype=dtype)
    x, y = device(a), device(v)[:, 0]
    got = c.rng.choice(
        [lambda: x @ y, lambda: asnumpy.matvec(x, y), lambda: y @ x.T, lambda: asnumpy.inner(x, y)]
    )()
    return off(
        got.to_numpy()[:, None], a, v, terms(c.k, "f" if dtype in HALVES else dtype.char), dtype
    )


def called(c, name, arrays, rest, out):
    """CANN's operator by its name, once in a while in a trace, too, whose replay must give the same bits."""

    def call(*arrays):
        return asnumpy.ops.aclnn(name, *arrays, *rest, outputs=asnumpy.empty(*out))

    got = call(*map(device, arrays)).to_numpy()
    if c.rng.random() < 0.2:
        traced = asnumpy.jit(call)
        for _ in range(2):  # each time in other memory
            again = traced(*map(device, arrays)).to_numpy()
            if again.tobytes() != got.tobytes():
                raise AssertionError("a trace gives other bits")
    return got


def packed(w):
    """Eight int4 to an int32, the first in its lowest bits."""
    nibbles = (w.astype(np.uint32) & 15).reshape(*w.shape[:-1], -1, 8)
    words = (nibbles << np.arange(0, 32, 4, dtype=np.uint32)).sum(-1, dtype=np.uint32)
    return words.view(np.int32).copy()


def weights(c):
    """aclnnWeightQuantBatchMatmulV2: int8, and int4 packed, with scales of columns or of groups, with offsets or without."""
    m, k, n = c.m, c.k, c.n
    if c.rng.random() < 0.5:  # whole blocks of terms, a few rows of which are in fixed point
        m, k = min(m, c.rng.choice([1, 2, 4, 7, 33])), -(-k // 32) * 32
        c.words.append(f"{m} rows of {k} terms")
    dtype = c.rng.choice(HALVES)
    a = c.matrix(m, k, dtype=dtype)
    if c.rng.random() < 0.3:
        a[:, c.rng.randrange(k)] *= dtype.type(1000)
    bits = 4 if n % 8 == 0 and c.rng.random() < 0.3 else 8
    w = c.numbers.integers(-(1 << bits - 1), 1 << bits - 1, (k, n)).astype(np.int8)
    layout = "C" if bits == 4 else c.rng.choice(["C", "F"])
    given = laid(w, layout) if bits == 8 else packed(w)
    group = c.rng.choice([0, 32, 64]) if k > 64 else 0
    shape = (-(-k // group), n) if group else c.rng.choice([(n,), (1,)])
    scale = ((c.numbers.random(shape) + 0.5) / 64).astype(dtype)
    shift = c.numbers.integers(-9, 9, shape).astype(dtype) if c.rng.random() < 0.5 else None
    c.words.append(
        f"int{bits} {layout}, groups of {group}, scales {shape}, {'no ' if shift is None else ''}offsets"
    )
    spread = (
        (lambda p: np.repeat(p.astype(float), group, 0)[:k])
        if group
        else (lambda p: p.astype(float))
    )
    wide = (w + (0 if shift is None else spread(shift))) * spread(scale)
    factors = [asnumpy.array(scale), None if shift is None else asnumpy.array(shift)]
    got = called(
        c, "WeightQuantBatchMatmulV2", (a, given), (*factors, *(None,) * 3, group), ((m, n), dtype)
    )  # fmt: skip
    coarse = 0.0
    if layout == "F" and k % 32 == 0 and m <= 32:  # by 2^-12 of the mean size of those around
        part = min(group or k, 256)
        starts = np.arange(0, k, part)
        means = np.add.reduceat(np.abs(a.astype(float)), starts, 1) / np.diff([*starts, k])
        coarse = 2.0**-12 * means @ np.add.reduceat(np.abs(wide), starts, 0)
    return off(got, a, wide, terms(k, "f"), dtype, coarse)


def sparse(c):
    """CSR by a dense matrix, and the optimizer's ways of the same."""
    if c.rng.random() < 0.5:  # mostly more of b than the first cache holds: blocks of its rows
        c.m, c.k = c.rng.choice([33, 130, 257]), c.rng.choice([257, 513, 1030])
        c.n = c.rng.choice([17, 33, 64, 65, 96, 130])
        c.words.append(f"{c.m} x {c.k} x {c.n}")
    dtype = c.rng.choice(FLOATS[:2])
    a = c.matrix(c.m, c.k, dtype=dtype, specials=False)
    a = np.where(
        c.numbers.random(a.shape) < c.rng.choice([0.0, 0.02, 0.1, 0.3, 0.9]), a, dtype.type(0)
    )
    b = c.matrix(c.k, c.n, dtype=dtype, specials=False)
    indptr, indices, data = parts(c, a)
    way = c.rng.choice(["@", "auto", "direct", "blocked", "dense"])
    c.words.append(f"{way}, {indices.dtype}")
    held = [asnumpy.array(x) for x in (data, indices, indptr)]
    stored, y = asnumpy.sparse.csr_array(tuple(held), shape=a.shape), device(b)
    optimizer = asnumpy.sparse.SparseMatMulOptimizer()

    def product():
        return stored @ y if way == "@" else optimizer.matmul(stored, y, strategy=way)

    said = off(product().to_numpy(), a, b, terms(c.k, dtype.char), dtype)
    if said or not data.size or way != "@" or not ONE_OPERATION:
        return said
    # Overwritten behind the matrix's back: what is outside is refused.
    at = c.rng.randrange(data.size)
    stored.indices[at] = c.rng.choice([c.k, -1, np.iinfo(np.int32).max])
    try:
        product().to_numpy()
    except (ValueError, IndexError, RuntimeError):
        return None
    return f"element {at} of {data.size} lies outside and is not refused"


def parts(c, a):
    """A matrix's indptr, indices and data: ascending or in any order, here and there an element in two terms."""
    dtype = c.rng.choice([np.int32, np.int64])
    rows, indices = np.nonzero(a)
    data = a[rows, indices]
    order = c.rng.choice(["ascending", "ascending", "shuffled", "one pair turned", "twice"])
    c.words.append(order)
    if order == "twice":
        rows, indices, data = (np.concatenate([x, x]) for x in (rows, indices, data / 2))
    if order in ("shuffled", "twice"):
        mixed = c.numbers.permutation(data.size)
        rows, indices, data = rows[mixed], indices[mixed], data[mixed]
        line = np.argsort(rows, kind="stable")
        rows, indices, data = rows[line], indices[line], data[line]
    pairs = np.flatnonzero(rows[1:] == rows[:-1]) if order == "one pair turned" else ()
    if len(pairs):
        at = int(c.rng.choice(pairs))
        indices[[at, at + 1]], data[[at, at + 1]] = indices[[at + 1, at]], data[[at + 1, at]]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(a)))])
    return indptr.astype(dtype), indices.astype(dtype), data


def narrowed(c):
    """float32 under autocast: what rounding each operand and the result does, on top."""
    kind = c.rng.choice(["bfloat16", "float16", "int8"])
    c.words.append(f"autocast {kind}")
    a = c.matrix(c.m, c.k, dtype=np.dtype("f4"), specials=False)
    b = c.matrix(c.k, c.n, dtype=np.dtype("f4"), specials=False)
    with asnumpy.autocast(kind):
        got = (device(a) @ device(b)).to_numpy()
    share = {"bfloat16": 3.05 * 2.0**-8, "float16": 3.05 * 2.0**-11, "int8": 0.0}[kind] + terms(
        c.k, "f"
    )
    if kind != "int8":
        denormal = 2.0**-24 * (1 + np.abs(a).sum(1, keepdims=True) + np.abs(b).sum(0))
        return off(got, a, b, share, np.dtype("f4"), denormal if kind == "float16" else 0.0)
    # Rows of a and columns of b in steps of max / 127: half a step for each term.
    left = np.abs(a).max(1, keepdims=True) / 254 @ np.abs(b).sum(0, keepdims=True)
    right = np.abs(a).sum(1, keepdims=True) @ np.abs(b).max(0, keepdims=True) / 254
    both = np.abs(a).max(1, keepdims=True) @ np.abs(b).max(0, keepdims=True) / 254**2 * c.k
    error = np.abs(got.astype(float) - a.astype(float) @ b.astype(float))
    bad = error > 1.01 * (left + right + both) + 1e-6
    return (
        f"{np.count_nonzero(bad)} elements are off by up to {error[bad].max()}"
        if bad.any()
        else None
    )


def convolution(c):
    """aclnnConvolution of pictures: directly, by products of patches, a tap at a time, by dot products of halves."""
    draw = c.rng.choice
    dtype = draw([FLOATS[0], *HALVES, BF16])
    images, groups = draw([1, 1, 2]), draw([1, 1, 2, 5])
    inner, filters = draw([1, 2, 3, 8, 29, 64]), draw([1, 2, 3, 4, 5, 33, 128, 150])
    window, stride = (draw([1, 1, 2, 3, 5]), draw([1, 3, 3])), (draw([1, 1, 2, 3]), draw([1, 1, 2]))
    pad, apart = (draw([0, 1, 2]), draw([0, 1, 3])), (draw([1, 1, 2]), draw([1, 1, 3]))
    reach = [(k - 1) * d + 1 for k, d in zip(window, apart, strict=True)]
    extent = [max(draw([5, 14, 31, 56]), r) for r in reach]
    c.words = [f"stride {stride}, padding {pad}, dilation {apart}, {groups} groups"]
    x = c.matrix(images, groups * inner, *extent, dtype=dtype)
    w = c.matrix(groups * filters, inner, *window, dtype=dtype)
    sizes = [
        (n + 2 * p - r) // s + 1 for n, p, r, s in zip(extent, pad, reach, stride, strict=True)
    ]
    got = called(
        c, "Convolution", (x, w), (None, stride, pad, apart, False, (0, 0), groups, ..., 0),
        ((images, groups * filters, *sizes), dtype),
    )  # fmt: skip
    padded = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in pad)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, reach, (2, 3))
    windows = windows[:, :, :: stride[0], :: stride[1], :: apart[0], :: apart[1]]
    windows = windows.transpose(0, 1, 4, 5, 2, 3).reshape(images, groups, -1, sizes[0] * sizes[1])
    got = got.reshape(images, groups, filters, -1)
    rows = np.ascontiguousarray(w).reshape(groups, filters, -1)
    share = terms(rows.shape[-1], "f")
    return off(got, rows, windows, share, dtype)


def attention(c):
    """Of a cache's last tokens: few queries, which read keys as they lie, and more, by products; in rows or blocks."""
    dtype = c.rng.choice([*FLOATS[:2], *HALVES])
    kv, group, size = (
        c.rng.choice([1, 2, 3]),
        c.rng.choice([1, 2, 4, 9]),
        c.rng.choice([1, 8, 40, 64, 130]),
    )
    rows = c.rng.choice([1, 1, 1, 2, 3, 8, 9, 40, 130])
    keys = rows + c.rng.choice([0, 1, 15, 16, 100, 511, 1030])
    options = {"block_size": 16, "blocks": keys // 16 + 1} if c.rng.random() < 0.5 else {}
    c.words = [f"{kv} x {group} heads of {size}, {rows} of {keys} tokens, {dtype}, {options}"]
    k, v, q = (
        c.numbers.standard_normal((h, n, size)).astype(dtype)
        for h, n in ((kv, keys), (kv, keys), (kv * group, rows))
    )
    cache = asnumpy.nn.KVCache(1, kv, size, dtype=asnumpy.dtype(dtype), **options)
    cache.update(0, asnumpy.array(k)[None], asnumpy.array(v)[None], 0)
    got = cache.attention(0, asnumpy.array(q)[None]).to_numpy()[0].astype(float)
    k, v, q = (x.astype(float).repeat(r, 0) for x, r in ((k, group), (v, group), (q, 1)))
    scores = q @ k.swapaxes(1, 2) / size**0.5
    scores[:, np.arange(keys) > np.arange(keys - rows, keys)[:, None]] = -np.inf
    share = np.exp(scores - scores.max(-1, keepdims=True))
    want = share / share.sum(-1, keepdims=True) @ v
    unit = ROUNDING["E" if dtype == BF16 else dtype.char]
    # Scores of d terms move exponentials by as much; sums are of float32 at least, the result is rounded once.
    sums = (
        (16 + size**0.5)
        * ROUNDING["d" if dtype.char == "d" else "f"]
        * max(1.0, np.abs(scores[np.isfinite(scores)]).max())
    )
    error = np.abs(got - want) - unit * np.abs(want) - 4 * sums * np.abs(v).max()
    return f"off by {np.abs(got - want).max()}" if not (error <= 0).all() else None


KINDS = [
    plain,
    plain,
    plain,
    mixed,
    mixed,
    vectors,
    weights,
    sparse,
    narrowed,
    attention,
    convolution,
]


def compare(seed):
    """None, or (what was computed, what is wrong)."""
    c = Case(seed)
    kind = c.rng.choice(KINDS)
    try:
        said = kind(c)
    except Exception as e:
        said = repr(e)
    return said and (f"{kind.__name__}: {', '.join(c.words)}", said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replay", type=int)
    options = parser.parse_args()
    if options.replay is not None:
        print(compare(options.replay))
        return 0
    end, seed, failed = time.monotonic() + options.seconds, options.seed, 0
    while time.monotonic() < end:
        found = compare(seed)
        if found:
            failed += 1
            print(f"seed {seed}: {found[0]}  |  {found[1]}"[:600], flush=True)
        seed += 1
    print(f"products: {seed - options.seed - failed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
