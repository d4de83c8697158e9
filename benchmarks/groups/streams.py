"""Independent jobs on several streams: asnumpy.batch beside the same jobs one after the other (in place of NumPy).

With two threads the jobs one after the other have both cores for each operation that is worth it, and a batch has a job
on each core. Jobs of 10,000 elements have no bar: threads of Python that take turns cost more than such jobs. The launches are those of a device that works behind the program (ASNUMPY_CPU_LAUNCH_DELAY_US), in a
process of its own.
"""

import functools
import os
import subprocess
import sys
import time

import numpy
from rows import Row

JOBS = 8

LAUNCHES = """
import sys, time
import asnumpy as np
streams = [np.Stream() for _ in range(int(sys.argv[1]))]
chains = [np.arange(3000.0) for _ in range(4)]
np.synchronize()
def step():
    done = []
    for k, x in enumerate(chains):
        with np.stream(streams[k % len(streams)]):
            for _ in range(8):
                x = np.sin(np.cumsum(x) * 1e-4)
        done.append(x)
    np.synchronize()
step()
start = time.perf_counter()
for _ in range(5):
    step()
print((time.perf_counter() - start) / 5)
"""


def elementwise(np, x):
    """A chain of fused programs, each ended by a value that the host reads."""
    for _ in range(4):
        x = np.sqrt(x * x + 1) - np.exp(-x)
        x = x / float(x.max())
    return x


def ordered(np, x):
    return np.sort(x)


def transformed(np, x):
    return np.fft.irfft(np.fft.rfft(x) * 0.5, len(x))


def solved(np, x):
    n = int(len(x) ** 0.5)
    a = x[: n * n].reshape(n, n)
    return a @ a + a.T @ a


def batch(job, size, library):
    """Seconds of the jobs: in a batch for "asnumpy", one after the other else."""
    import asnumpy

    xs = [asnumpy.array(numpy.random.default_rng(k).random(size)) for k in range(JOBS)]

    def one_after_the_other():
        start = time.perf_counter()
        results = [job(asnumpy, x) for x in xs]
        asnumpy.synchronize()
        del results
        return time.perf_counter() - start

    def together():
        start = time.perf_counter()
        asnumpy.batch([(job, (asnumpy, x)) for x in xs], streams=2)
        return time.perf_counter() - start

    run = together if library == "asnumpy" else one_after_the_other
    run()
    return run


def launches(library):
    """Seconds of four chains of launches that start 200 us late: on four streams, or on one."""

    def run():
        done = subprocess.run([sys.executable, "-c", LAUNCHES, "4" if library == "asnumpy" else "1"], check=True,
                              capture_output=True, text=True, env={**os.environ, "ASNUMPY_CPU_LAUNCH_DELAY_US": "200"})  # fmt: skip
        return float(done.stdout)

    return run


def switching(library):
    """Seconds of entering and leaving a stream, beside a context that does nothing."""
    import contextlib

    import asnumpy

    context = asnumpy.stream(asnumpy.Stream()) if library == "asnumpy" else contextlib.nullcontext()

    def run():
        start = time.perf_counter()
        for _ in range(1000):
            with context:
                pass
        return (time.perf_counter() - start) / 1000

    return run


def crossing(library):
    """Seconds of a small addition on one stream after another, which waits by an event; or on one stream."""
    import asnumpy

    streams = [asnumpy.Stream(), asnumpy.Stream()]
    contexts = [asnumpy.stream(streams[k if library == "asnumpy" else 0]) for k in range(2)]
    x = asnumpy.ones(5000)
    asnumpy.synchronize()

    def run():
        y = x
        start = time.perf_counter()
        for _ in range(100):
            for context in contexts:
                with context:
                    y = y + 1.0
        asnumpy.synchronize()
        return (time.perf_counter() - start) / 200

    return run


def rows():
    jobs = [(elementwise, "exp, sqrt, maximum", 10_000), (elementwise, "exp, sqrt, maximum", 100_000), (elementwise, "exp, sqrt, maximum", 1_000_000),
            (ordered, "sort", 10_000), (ordered, "sort", 300_000), (transformed, "rfft, irfft", 300_000), (solved, "two products", 100_000)]  # fmt: skip
    found = [
        Row("streams", f"{JOBS} jobs: {what}, {size}", build=functools.partial(batch, job, size), timed=True,
            bar=(None, None) if size < 100_000 else (1, 1), quick=size == 300_000)
        for job, what, size in jobs
    ]  # fmt: skip
    found.append(
        Row("streams", "four chains of late launches", build=launches, timed=True, bar=(2, 2))
    )
    found.append(Row("streams", "entering and leaving a stream", build=switching, timed=True))
    found.append(Row("streams", "an addition after another stream's", build=crossing, timed=True))
    return found
