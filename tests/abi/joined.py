"""Products joined with communication: every operator on one rank of a group, against NumPy on the operands of all ranks.

usage: joined.py ROOT_FILE SIZE RANK [WHAT]     one rank of test_joined.py's groups

Values are small integers, so that sums are exact in every dtype and in any order. WHAT "leave": the last rank ends before a
call that the others wait in; "devices": all ranks are threads of this process.
"""

import pathlib
import sys
import time

import group
import ml_dtypes
import numpy as np
from aclnn import AclError, run

BF16 = np.dtype(ml_dtypes.bfloat16)
same = np.testing.assert_array_equal
M, K, N, EXPERTS = 8, 6, 12, 3


def ints(rng, *shape, dtype=np.float32, top=4):
    return rng.integers(-top, top, shape).astype(dtype)


def strided(a):
    """The same values with gaps between rows."""
    room = np.zeros((*a.shape[:-1], a.shape[-1] + 3), a.dtype)
    room[..., : a.shape[-1]] = a
    return room[..., : a.shape[-1]]


def wide(a):
    return a.astype(np.float64)


def check_reduce(name, size, rank, dtype):
    rng = np.random.default_rng(5)
    xs = [ints(rng, M, K, dtype=dtype) for _ in range(size)]
    ws = [ints(rng, K, N, dtype=dtype) for _ in range(size)]
    bias, x3 = ints(rng, N, dtype=dtype), ints(rng, M, N, dtype=dtype)
    products = [wide(x) @ wide(w) for x, w in zip(xs, ws, strict=True)]
    x, w, tail = xs[rank], ws[rank], (name, "sum", 0, 1)
    plain, total = sum(products), sum(p + wide(bias) + wide(x3) for p in products)
    out = np.zeros((M, N), dtype)
    same(wide(run("MatmulAllReduce", x, w, None, *tail, out)), plain)
    out = np.zeros((N, M), dtype).T  # strided everywhere
    same(wide(run("MatmulAllReduce", strided(x), np.asfortranarray(w), bias, *tail, out)), plain + size * wide(bias))  # fmt: skip
    same(wide(run("MatmulAllReduceV2", x, w, bias, x3, *tail, np.zeros((M, N), dtype))), total)
    same(wide(run("MatmulAllReduceV3", x, w, bias, x3, name, "sum", "aiv", 0, 1, np.zeros((M, N), dtype))), total)  # fmt: skip
    cube = [a.reshape(2, M // 2, -1) for a in (x, x3)]
    out = np.zeros((2, M // 2, N), dtype)
    same(wide(run("MatmulAllReduceV2", cube[0], w, bias, cube[1], *tail, out)), total.reshape(out.shape))  # fmt: skip
    rows = slice(rank * M // size, (rank + 1) * M // size)
    for out in (np.zeros((M // size, N), dtype), strided(np.zeros((M // size, N), dtype))):
        same(wide(run("MatmulReduceScatter", x, w, None, *tail, out)), plain[rows])
    scatter = (None, None, None, 0, name, "sum", 0, 1, 0, "aiv")
    run("MatmulReduceScatterV2", x, w, bias, *scatter, out, None)
    same(wide(out), (plain + size * wide(bias))[rows])


def check_gather(name, size, rank, dtype):
    rng = np.random.default_rng(6)
    xs = [ints(rng, M, K, dtype=dtype) for _ in range(size)]
    w, bias = ints(rng, K, N, dtype=dtype), ints(rng, N, dtype=dtype)
    everything = np.concatenate(xs)
    want = wide(everything) @ wide(w)
    for lay in (np.ascontiguousarray, strided):
        out = lay(np.zeros((M * size, N), dtype))
        kept = lay(np.zeros((M * size, K), dtype))
        run("AllGatherMatmul", lay(xs[rank]), np.asfortranarray(w), None, name, 0, 0, 1, out, kept)
        same(wide(out), want)
        same(wide(kept), wide(everything))
    for none in (None, np.zeros(0, dtype)):
        run("AllGatherMatmul", xs[rank], w, bias, name, 0, 0, 1, out, none)
        same(wide(out), want + wide(bias))
    tail = (None, None, None, 0, name, 0, 0, 1, 0, "ai_cpu", out)
    run("AllGatherMatmulV2", xs[rank], w, bias, *tail, kept, None)
    same(wide(out), want + wide(bias))


def check_exchange(name, size, rank, dtype):
    rng = np.random.default_rng(7)
    xs = [ints(rng, M, K, dtype=dtype) for _ in range(size)]
    few = M // size
    left = np.concatenate([x[rank * few : (rank + 1) * few] for x in xs], 1)
    w, bias = ints(rng, K * size, N, dtype=dtype), ints(rng, N, dtype=np.float32)
    want = wide(left) @ wide(w)
    out, kept = np.zeros((few, N), dtype), strided(np.zeros((few, K * size), dtype))
    run("AlltoAllMatmul", xs[rank], w, None, None, name, False, False, out, None)
    same(wide(out), want)
    turned = np.ascontiguousarray(w.T)
    run("AlltoAllMatmulV2", xs[rank], turned, bias, [-2, -1], name, "aiv", False, True, out, kept)
    same(wide(out), want + bias)
    same(wide(kept), wide(left))
    ws = [ints(rng, K, N, dtype=dtype) for _ in range(size)]
    part = slice(rank * N // size, (rank + 1) * N // size)
    want = np.concatenate([wide(x) @ wide(v) for x, v in zip(xs, ws, strict=True)])[:, part]
    for out in (np.zeros(want.shape, dtype), strided(np.zeros(want.shape, dtype))):
        run("MatmulAlltoAll", xs[rank], ws[rank], None, None, name, False, False, out)
        same(wide(out), want)
    turned = np.ascontiguousarray(ws[rank].T)
    run("MatmulAlltoAllV2", xs[rank], turned, bias, [-1, -2], name, "aiv", False, True, out)
    same(wide(out), want + bias[part])


def check_barrier(name, size, rank, dtype):
    """Nobody is behind it before the last has come."""
    x = np.arange(6).astype(dtype)
    run("DistributeBarrier", x, name, size)
    start = time.monotonic()
    if rank == size - 1:
        time.sleep(0.2)
    run("DistributeBarrierV2", strided(x[None]), None, None, name, size)
    assert time.monotonic() - start > (0.1 if size > 1 else 0)
    same(wide(x), np.arange(6))


def check_quantised(name, size, rank, dtype):
    rng = np.random.default_rng(8)
    xs = [ints(rng, M, K, dtype=np.int8, top=100) for _ in range(size)]
    ws = [ints(rng, K, N, dtype=np.int8, top=100) for _ in range(size)]
    bias = ints(rng, N, dtype=np.int32, top=900)
    x3 = ints(rng, M, N, dtype=dtype)
    scale, rows = (2.0 ** rng.integers(-14, -11, n).astype(np.float32) for n in (N, M * size))
    mine = rows[rank * M : (rank + 1) * M]
    exact = [x.astype(int) @ w.astype(int) for x, w in zip(xs, ws, strict=True)]
    x, w, tail = xs[rank], ws[rank], (name, "sum", 0, 1)

    def half(a):
        return wide(a.astype(np.float32).astype(dtype))

    def total(products):  # as the group adds: two in the dtype, more in float32
        return half(sum(half(p) for p in products))

    out = np.zeros((M, N), dtype)
    run("QuantMatmulAllReduce", x, w, bias, x3, scale, *tail, out)
    steps = [half(half((p + bias) * scale) + wide(x3)) for p in exact]
    same(wide(out), total(steps))
    # Each rank has scales of rows of its own.
    of = [rows[r * M : (r + 1) * M, None] * np.float32(2**11) for r in range(size)]
    run("QuantMatmulAllReduceV2", x, w, bias, None, scale, of[rank].ravel(), *tail, out)
    same(wide(out), total([(p + bias) * scale * of[r] for r, p in enumerate(exact)]))
    words = run("TransQuantParamV2", scale, None, np.zeros(N, np.int64))
    if dtype == np.float16:
        run("QuantMatmulAllReduce", x.reshape(2, M // 2, K), w, None, None, words, *tail, out.reshape(2, M // 2, N))  # fmt: skip
        same(wide(out), total([p * scale for p in exact]))
    check_bytes(name, size, rank, dtype, exact, xs, ws, scale)
    # Gathered, scattered.
    one = ws[0]
    all_x = np.concatenate(xs).astype(int)
    tall, kept = np.zeros((M * size, N), dtype), np.zeros((M * size, K), np.int8)
    gather = (None, 0, name, 0, 0, 1, 0, "aiv")
    run("AllGatherMatmulV2", x, one, None, mine[:, None], scale[None], *gather, tall, kept, None)
    same(wide(tall), half((all_x @ one.astype(int)) * scale * rows[:, None]))
    same(kept, all_x)
    short, part = np.zeros((M // size, N), dtype), slice(rank * M // size, (rank + 1) * M // size)
    scatter = (None, 0, name, "sum", 0, 1, 0, "aiv")
    run("MatmulReduceScatterV2", x, w, None, of[rank], scale[None], *scatter, short, None)
    same(wide(short), total([p * scale * of[r] for r, p in enumerate(exact)])[part])
    # Columns exchanged.
    part = slice(rank * N // size, (rank + 1) * N // size)
    given, modes = (None, None, None), (3, 2, 0, -1, 0, False)
    moved = np.zeros((M * size, N // size), dtype)
    run("QuantMatmulAlltoAll", x, one, None, of[rank].ravel(), scale, *given, None, name, *modes, False, moved)  # fmt: skip
    y = np.concatenate(
        [v.astype(int) @ one.astype(int) * scale * f for v, f in zip(xs, of, strict=True)]
    )[:, part]
    same(wide(moved), half(y))
    add = (x3[0] / 4).astype(dtype if dtype == np.float16 else np.float32)
    turned = np.ascontiguousarray(one.T)
    run("QuantMatmulAlltoAllV2", x, turned, add, of[rank].ravel(), scale, *given, [-1, -2], name, "aiv", *modes, True, moved)  # fmt: skip
    same(wide(moved), half(y + wide(add)[part]))
    # Weights of int8.
    real = [ints(np.random.default_rng(r), M, K, dtype=dtype) for r in range(size)]
    anti = np.full(N, 0.5, dtype)
    shift = ints(rng, N, dtype=dtype)
    products = [wide(v) @ ((w_ + wide(shift)) * 0.5) for v, w_ in zip(real, ws, strict=True)]
    run("WeightQuantMatmulAllReduce", real[rank], w, None, anti, shift, None, *tail, 0, out)
    same(wide(out), total(products))
    add = x3[0]
    run("WeightQuantMatmulAllReduceV2", real[rank], w, add, anti, shift, x3, name, "sum", "aiv", 0, 1, 0, out)  # fmt: skip
    same(wide(out), total([half(half(p + wide(add)) + wide(x3)) for p in products]))


def check_bytes(name, size, rank, dtype, exact, xs, ws, scale):
    """The all-reduce that exchanges bytes."""
    comm = [(2.0 ** np.arange(-5, N - 5) / d).astype(dtype) for d in (2**6, 2**7)]
    y = [wide((p * scale).astype(np.float32).astype(dtype)) for p in exact]
    first, second = (a.astype(np.float32) for a in comm)
    q = [np.rint(v.astype(np.float32) / first).clip(-128, 127) for v in y]
    want = np.rint(sum(q) * (first / second)).clip(-128, 127) * second
    out, tail = np.zeros((M, N), dtype), (name, "sum", 0, 1)
    for rows in (M, M - 3):
        short = out[:rows]
        run("QuantMatmulAllReduceV3", xs[rank][:rows], ws[rank], None, None, scale, None, *comm, *tail, short)  # fmt: skip
        same(wide(short), wide(want[:rows].astype(dtype)))
    wide_comm = [a[None] for a in comm]
    run("QuantMatmulAllReduceV4", xs[rank], ws[rank], None, None, None, scale, *wide_comm, *tail, 0, 0, out)  # fmt: skip
    same(wide(out), wide(want.astype(dtype)))


def check_experts(name, size, rank, dtype):
    rng = np.random.default_rng(9)
    counts = rng.integers(0, 5, (size, size, EXPERTS))  # tokens from, to, expert
    tokens = [ints(rng, counts[r].sum(), K, dtype=dtype) for r in range(size)]
    weights = [ints(rng, EXPERTS, K, N, dtype=dtype) for _ in range(size)]
    parts = {}
    for r in range(size):
        at = 0
        for to in range(size):
            for j in range(EXPERTS):
                parts[r, to, j] = tokens[r][at : at + counts[r, to, j]]
                at += counts[r, to, j]
    mine = [parts[r, rank, j] for j in range(EXPERTS) for r in range(size)]
    sorted_ = np.concatenate(mine)
    w = weights[rank]
    want = np.concatenate([
        wide(parts[r, rank, j]) @ wide(w[j]) for j in range(EXPERTS) for r in range(size)
    ])  # fmt: skip
    sends, receives = counts[rank].ravel().tolist(), counts[:, rank].ravel().tolist()
    y, permuted = np.zeros(want.shape, dtype), np.zeros(sorted_.shape, dtype)
    shared = [ints(rng, 5, 4, dtype=dtype), ints(rng, 4, 7, dtype=dtype), np.zeros((5, 7), dtype)]
    for turned in (False, True):
        given = np.ascontiguousarray(w.swapaxes(1, 2)) if turned else w
        run("AlltoAllvGroupedMatMul", tokens[rank], given, None, None, None, None, name, size, sends, receives,
            turned, False, False, y, None, None)  # fmt: skip
        same(wide(y), want)
    turned = np.ascontiguousarray(shared[1].T)
    run("AlltoAllvGroupedMatMulV2", strided(tokens[rank]), w, None, None, shared[0], turned, name, "aiv", size, sends,
        receives, False, True, True, y, shared[2], permuted)  # fmt: skip
    same(wide(y), want)
    same(wide(permuted), wide(sorted_))
    same(wide(shared[2]), wide(shared[0]) @ wide(shared[1]))
    # The way back: the tokens of all ranks come home, multiplied by their experts.
    home = [wide(parts[rank, to, j]) @ wide(weights[to][j]) for to in range(size) for j in range(EXPERTS)]  # fmt: skip
    back = strided(np.zeros((len(tokens[rank]), N), dtype))
    run("GroupedMatMulAlltoAllv", sorted_, w, None, None, None, None, name, size, receives, sends, False, False, back, None)  # fmt: skip
    same(wide(back), np.concatenate(home))
    back[...] = 0
    run("GroupedMatMulAlltoAllvV2", sorted_, np.ascontiguousarray(w.swapaxes(1, 2)), None, None, shared[0], shared[1],
        name, "aiv", size, receives, sends, True, False, back, shared[2])  # fmt: skip
    same(wide(back), np.concatenate(home))


def check_dispatch(name, size, rank, dtype):
    rng = np.random.default_rng(10)
    local, k, tokens = EXPERTS, 2, [5 + r for r in range(size)]
    xs = [ints(rng, n, K, dtype=dtype) for n in tokens]
    ids = [
        np.stack([rng.permutation(local * size)[:k] for _ in range(n)]).astype(np.int32)
        for n in tokens
    ]
    weights = [ints(rng, n, k, top=3) for n in tokens]
    x, n, experts = xs[rank], tokens[rank], local * size
    room = sum(tokens) * min(local, k) + 3

    # What comes: by this rank's experts, then by the rank and the token it came from.
    comes = [(r, t, j) for e in range(rank * local, (rank + 1) * local) for r in range(size)
             for t in range(tokens[r]) for j in range(k) if ids[r][t, j] == e]  # fmt: skip
    sizes = [
        sum(ids[r][t, j] == e for r, t, j in comes) for e in range(rank * local, (rank + 1) * local)
    ]
    group_ = (name, size, rank, experts, "", 0, 0, 0, 1, 0)

    def outputs(out):
        return [out, np.zeros(room, np.float32), np.zeros(n * k, np.int32), np.zeros(local, np.int64),
                np.zeros(experts, np.int32), np.zeros(0, np.int32), np.zeros(room, np.float32)]  # fmt: skip

    full = max(tokens) * size

    def dispatch(version, given, scales, mode, kind, out):
        lead, tail = ([None], [0, 0, 0]) if version == "V3" else ([], [])
        if version:
            tail = ["", *tail]
        run("MoeDistributeDispatch" + version, strided(x), ids[rank], given, None, scales, *lead, *group_, mode, full, kind,
            *tail, *out)  # fmt: skip

    def combine(version, made, got, out):
        none = [None] * {"": 6, "V2": 7, "V3": 12}[version]
        tail = {"": [], "V2": [""], "V3": ["", 0, 0, 0]}[version]
        run("MoeDistributeCombine" + version, made, ids[rank], got[2], got[4], weights[rank], *none, *group_, full, 0, 0, 0,
            *tail, out)  # fmt: skip

    for version in ("", "V2", "V3"):
        got = outputs(np.zeros((room, K), dtype))
        dispatch(version, None, weights[rank], 0, 1, got)
        same(
            wide(got[0][: len(comes)]),
            np.array([wide(xs[r][t]) for r, t, _ in comes]).reshape(-1, K),
        )
        same(got[3], sizes)
        same(got[6][: len(comes)], [weights[r][t, j] for r, t, j in comes])
        # Experts multiply by their number; combine sums what comes back.
        factor = np.repeat(np.arange(rank * local, (rank + 1) * local), sizes)
        made = got[0].copy()
        made[: len(comes)] = (wide(made[: len(comes)]) * (1 + factor[:, None])).astype(dtype)
        back = strided(np.zeros((n, K), dtype))
        combine(version, made, got, back)
        want = sum(
            weights[rank][:, [j]] * wide((wide(x) * (1 + ids[rank][:, [j]])).astype(dtype))
            for j in range(k)
        )
        same(wide(back), wide(want.astype(np.float32).astype(dtype)))
    # Quantised on the way, by each expert's scales.
    scales = 1 + rng.integers(0, 3, (experts, K)).astype(np.float32)
    for given in (None, scales):
        got = outputs(np.zeros((room, K), np.int8))
        dispatch("", given, None, 2, 0, got)
        rows = [wide(xs[r][t]) * (1 if given is None else given[ids[r][t, j]]) for r, t, j in comes]
        rows = np.array(rows, np.float32).reshape(-1, K)
        scale = np.abs(rows).max(1) / np.float32(127) if len(rows) else np.zeros(0)
        np.testing.assert_allclose(got[1][: len(comes)], scale, rtol=1e-6)
        again = got[0][: len(comes)] * scale[:, None]
        assert (np.abs(again - rows) <= scale[:, None] * 0.501).all()
        same(got[3], np.cumsum(sizes))


CHECKS = (
    check_reduce,
    check_gather,
    check_exchange,
    check_experts,
    check_dispatch,
    check_barrier,
    check_quantised,
)


def check_all(name, size, rank):
    for check in CHECKS:
        for dtype in (np.dtype(np.float16), BF16):
            check(name, size, rank, dtype)
    for check in CHECKS[:-1]:  # products of int8 have no float32 output in CANN
        check(name, size, rank, np.dtype(np.float32))


def leave(name, size, rank):
    """The others' call fails with a sentence, and so does every later one."""
    x, w, out = (np.ones(s, np.float16) for s in ((M, K), (K, N), (M, N)))
    if rank == size - 1:
        time.sleep(0.3)
        return
    for sentence in ("ended|gone|left|closed|lost", "failed before"):
        try:
            run("MatmulAllReduce", x, w, None, name, "sum", 0, 1, out)
        except AclError as e:
            print(f"rank {rank}: {e}")
            assert e.code == 500003 and "aclnnMatmulAllReduce" in e.message, e
        else:
            raise AssertionError(f"no error: {sentence}")


def devices(size):
    """The ranks as threads of one process, each with a device of its own; their communicators share a name."""
    import ctypes
    import threading

    from aclnn import lib

    comms, failed = (ctypes.c_void_p * size)(), []
    group.check(group.hccl().HcclCommInitAll(size, (ctypes.c_int32 * size)(*range(size)), comms))
    name = ctypes.create_string_buffer(128)
    group.check(group.hccl().HcclGetCommName(ctypes.c_void_p(comms[0]), name))

    def one(rank):
        try:
            group.check(lib.aclrtSetDevice(rank))
            check_reduce(name.value.decode(), size, rank, np.dtype(np.float32))
            check_experts(name.value.decode(), size, rank, np.dtype(np.float16))
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=one, args=(r,)) for r in range(size)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failed:
        raise failed[0]


def main(file, size, rank, what="all"):
    size, rank, path = int(size), int(rank), pathlib.Path(file)
    if what == "devices":
        devices(size)
        return
    if rank == 0:
        path.with_suffix(".part").write_bytes(group.root_info())
        path.with_suffix(".part").rename(path)
    while not path.exists():
        time.sleep(0.01)
    group.join(path.read_bytes(), size, rank, "several")
    {"all": check_all, "leave": leave}[what]("several", size, rank)
    print(f"rank {rank} done", flush=True)
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
