"""What a running profile costs: whole programs with the recorder off and on, in pairs of short samples.

usage: profiler.py [--pairs N] [program ...]

A machine that does other work is never the same for a second, so one sample with the recorder off and one with it on,
of some 5 ms each and in turns first, are a pair, and a pair counts by its own ratio. A pair is kept if the process had
its core throughout: by the clock it took hardly longer than in processor time; the table says how many were. The figure
is the median of the ratios by the clock; beside it is what the median of so many scattered values is good to. The
library and NumPy's have one thread each.
"""

import argparse
import gc
import os
import statistics
import time

if __name__ == "__main__":
    os.environ["ASNUMPY_NUM_THREADS"] = "1"
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's threads spin beside the samples

import asnumpy
import groups  # noqa: F401  (the path of the programs)
import numpy
import programs
from asnumpy import _core

# The ten programs, and one that loops over rows and columns; sizes of which a run takes some 5 ms.
SIZES = {
    "heat": (256, 40), "nbody": (300, 6), "kmeans": (5000, 8, 16, 6), "black_scholes": 200_000, "mandelbrot": (160, 30),
    "conjugate_gradient": (64, 100, 200), "shallow_water": (128, 12), "filters": 256, "mlp": (1024, 64, 128, 10, 1, 128),
    "kalman": (400, 250, 15), "lu": (120,),
}  # fmt: skip
AWAY = 0.01  # of a sample: what another process may have taken


def program(name):
    """A callable that runs one program on seeded inputs, everything it computes included."""
    module = programs.load(name)
    made = module.make(numpy.random.default_rng(11), SIZES[name])
    inputs = {key: asnumpy.array(value) for key, value in made.items()}

    def run():
        result = module.run(asnumpy, SIZES[name], **inputs)
        asnumpy.synchronize()
        return result

    return run


def sample(run, on):
    """(seconds of one run, of these without the core); the session begins before and ends behind it."""
    if on:
        _core._profile_start(0)
    begin, used = time.perf_counter(), time.thread_time()
    run()
    used, end = time.thread_time() - used, time.perf_counter()
    if on:
        _core._profile_stop()
    return end - begin, end - begin - used


def measure(run, pairs):
    """[(seconds off, seconds on), ...] of the pairs that are kept."""
    for on in (False, True, False, True):
        sample(run, on)
    kept = []
    gc.collect()
    gc.disable()
    try:
        for k in range(pairs):
            taken = {on: sample(run, on) for on in (k % 2 == 0, k % 2 == 1)}
            if all(away < AWAY * seconds for seconds, away in taken.values()):
                kept.append((taken[False][0], taken[True][0]))
    finally:
        gc.enable()
    return kept


def figure(pairs):
    """The median of on / off - 1, and the half width of its notch (1.57 quartile ranges by the root of their number)."""
    ratios = [on / off - 1 for off, on in pairs]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return middle, 1.57 * (high - low) / len(ratios) ** 0.5


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="program", help=", ".join(SIZES))
    parser.add_argument("--pairs", type=int, default=300, help="of samples, at least 8 (300)")
    options = parser.parse_args()
    unknown = set(options.names) - set(SIZES)
    if unknown or options.pairs < 8:
        parser.error(
            f"no program {', '.join(sorted(unknown))}" if unknown else "--pairs is at least 8"
        )
    print(f"{'program':20s} {'off':>9s} {'on':>16s} {'kept':>10s}")
    for name in options.names or SIZES:
        kept = measure(program(name), options.pairs)
        if len(kept) < 8:
            print(f"{name:20s} {'':9s} {'too disturbed':>16s} {len(kept):5d}/{options.pairs}")
            continue
        middle, notch = figure(kept)
        off = statistics.median(off for off, _ in kept)
        print(f"{name:20s} {off * 1e3:6.2f} ms {100 * middle:+7.1f} +- {100 * notch:.1f}% {len(kept):5d}/{options.pairs}",
              flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
