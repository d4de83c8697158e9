"""Every ufunc in every dtype at every size, AsNumpy beside NumPy on one thread: where is it slower?

usage: sweep.py [--sizes 1,10,...] [--only NAME,...] [--dtypes CHARS] [--limit 1.03] [--all] [--json FILE]

A row is a ufunc, one of its type signatures (NumPy's characters) and a size. Both libraries run in turn, sample by
sample, in CPU time, so that a busy machine takes from both alike; a row's figure is the quotient of the medians. A row that comes
out slower than the limit is measured again, longer, twice, and stays listed only if it is slower each time. Prints
these rows and a summary; `--all` prints every row. Inputs are random values of each function's domain.
"""

import argparse
import itertools
import json
import os
import statistics
import sys
import time

for _name in ("ASNUMPY_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import asnumpy  # noqa: E402
import numpy  # noqa: E402
from groups.elementary import DOMAINS  # noqa: E402

SIZES = [1, 10, 100, 1000, 10_000, 100_000]
DTYPES = "?bBhHiIlLefdFD"
SMALL = 2048  # elements; nothing smaller is delayed
ROUNDS = [(7, 200e-6), (15, 400e-6), (31, 400e-6)]  # samples, seconds of one
clock = time.process_time_ns


def names():
    """NumPy's elementwise ufuncs that AsNumpy has, each once."""
    found = {}
    for name in sorted(dir(numpy)):
        ufunc = getattr(numpy, name)
        if isinstance(ufunc, numpy.ufunc) and ufunc.signature is None and hasattr(asnumpy, name):
            found.setdefault(ufunc.__name__, name)
    return {short: getattr(numpy, name) for short, name in found.items() if hasattr(numpy, short)}


def values(rng, name, position, char, n):
    """Random values of the function's domain: of its second argument the divisors, exponents and shifts."""
    dtype = numpy.dtype(char)
    if char == "?":
        return rng.random(n) < 0.5
    if dtype.kind in "iu":
        if name == "ldexp":
            return rng.integers(-8, 8, n).astype(dtype)
        if "shift" in name and position == 1:
            return rng.integers(0, 8, n).astype(dtype)
        if name == "power" and position == 1:
            return rng.integers(0, 5, n).astype(dtype)
        return rng.integers(1, 100, n).astype(dtype)
    low, high = DOMAINS.get(name, (None, None))
    if name == "divmod":
        low, high = 0.1, 10
    if dtype.kind == "c":
        return (rng.standard_normal(n) + 1j * rng.standard_normal(n)).astype(dtype)
    if low is None:
        return rng.standard_normal(n).astype(dtype)
    if char == "e":
        low, high = max(low, -11 if name != "exp2" else -13), min(high, 10)
    return (rng.random(n) * (high - low) + low).astype(dtype)


def loop_of(ufunc, arguments, synchronize):
    """run(count): the call, finished, count times."""
    if synchronize is None:

        def run(count):
            for _ in itertools.repeat(None, count):
                ufunc(*arguments)

    else:

        def run(count):
            for _ in itertools.repeat(None, count):
                result = ufunc(*arguments)  # unread results would never be computed
                synchronize()
                del result

    return run


def sample(run, count):
    begin = clock()
    run(count)
    return (clock() - begin) / count


def count_for(run, seconds):
    run(1)
    count = 1
    while True:
        begin = clock()
        run(count)
        spent = (clock() - begin) * 1e-9
        if spent > seconds / 4 or count > 1 << 16:
            return max(1, round(count * seconds / max(spent, 1e-9)))
        count *= 4


def measure(ours, base, samples, seconds):
    """(ours, NumPy's) in ns, medians of interleaved samples."""
    counts = [count_for(run, seconds) for run in (ours, base)]
    taken = ([], [])
    for _ in range(samples):
        for k, run in enumerate((ours, base)):
            taken[k].append(sample(run, counts[k]))
    return tuple(statistics.median(t) for t in taken)


def row(name, ufunc, signature, n, limit):
    rng = numpy.random.default_rng(7)
    chars = signature.split("->")[0]
    arguments = [values(rng, name, k, c, n) for k, c in enumerate(chars)]
    base = loop_of(ufunc, arguments, None)
    finish = asnumpy.synchronize if n > SMALL else None
    ours = loop_of(getattr(asnumpy, name), [asnumpy.array(a) for a in arguments], finish)
    best = None
    for samples, seconds in ROUNDS:
        pair = measure(ours, base, samples, seconds)
        if best is None or pair[0] / pair[1] < best[0] / best[1]:
            best = pair
        if best[0] <= limit * best[1]:
            break
    return {"name": name, "types": signature, "n": n, "ours": best[0], "numpy": best[1],
            "ratio": best[0] / best[1]}  # fmt: skip


def signatures(ufunc, dtypes):
    """Those of plain dtypes, each once (int64 has two characters)."""
    seen = set()
    for signature in ufunc.types:
        chars = signature.replace("->", "").replace("q", "l").replace("Q", "L")
        if (
            set(chars) <= set(DTYPES)
            and chars not in seen
            and set(signature.split("->")[0]) & set(dtypes)
        ):
            seen.add(chars)
            yield signature


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--only", default="", help="ufuncs, comma-separated")
    parser.add_argument("--dtypes", default=DTYPES, help="NumPy's characters")
    parser.add_argument("--limit", type=float, default=1.03)
    parser.add_argument("--all", action="store_true", help="print every row")
    parser.add_argument("--json", default="")
    args = parser.parse_args()
    args.sizes = [int(float(s)) for s in args.sizes.split(",")]
    return args


def main():
    args = arguments_of()
    numpy.seterr(all="ignore")
    asnumpy.seterr(all="ignore")
    done = []
    for name, ufunc in names().items():
        if args.only and name not in args.only.split(","):
            continue
        for signature, n in itertools.product(signatures(ufunc, args.dtypes), args.sizes):
            made = row(name, ufunc, signature, n, args.limit)
            done.append(made)
            if args.all or made["ratio"] > args.limit:
                print(f"{made['ratio']:6.2f}  {name:18s} {signature:10s} {n:8d} {made['ours']:12.1f} "
                      f"{made['numpy']:12.1f} ns", flush=True)  # fmt: skip
    slower = [r for r in done if r["ratio"] > args.limit]
    print(f"{len(done)} rows, {len(slower)} slower than {args.limit} x NumPy")
    if args.json:
        with open(args.json, "w") as file:
            json.dump(done, file)


if __name__ == "__main__":
    sys.exit(main())
