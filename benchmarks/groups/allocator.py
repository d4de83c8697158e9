"""Device memory: an allocation against malloc and against the device's own, and copies behind the program.

In the rows of allocations NumPy's column is C's malloc, or aclrtMalloc where the label says so; in those of copies it is
the same work with each copy waited for.
"""

import ctypes
import functools
import time

import native
import numpy
from rows import Row

# label, bytes, calls of one sample, the bar in nanoseconds
SIZES = [("512 B, a magazine", 512, 20000, 100), ("32 KiB, a slab", 32 << 10, 20000, 300),
         ("256 KiB, a bin", 256 << 10, 10000, 300), ("1 MiB, a bin", 1 << 20, 10000, 300),
         ("16 MiB, a segment", 16 << 20, 5000, None)]  # fmt: skip
BATCHES, BATCH, STEPS = 8, (512, 2048), 1


def entry(function):
    """A function of allocator.c."""
    found = getattr(native.library("allocator", "-lasnumpy"), function)
    found.restype = ctypes.c_double
    found.argtypes = [ctypes.c_long, ctypes.c_long]
    return found


def build(function, nbytes, count, library):
    """Seconds of one allocation and its freeing."""
    call = entry("pool" if library == "asnumpy" else function)

    def run():
        seconds = call(
            nbytes, count if library == "asnumpy" or function == "host" else min(count, 300)
        )
        if seconds < 0:
            raise RuntimeError("an allocation failed")
        return seconds

    run()
    return run


def overlap(library):
    """Seconds of computing with batches that come from the host and results that go back."""
    import asnumpy

    batches = [numpy.random.default_rng(k).random(BATCH) for k in range(BATCHES)]
    out = numpy.empty(BATCH)

    def step(x):
        for _ in range(STEPS):
            x = asnumpy.tanh(x * 0.9) + 0.1
        return x

    def one_after_the_other():
        start = time.perf_counter()
        for batch in batches:
            asnumpy.memory.copy_back(step(asnumpy.memory.prepare(batch)), out)
        return time.perf_counter() - start

    def behind_the_program():
        start = time.perf_counter()
        following = queue.to_device(batches[0])
        back = None
        for k in range(BATCHES):
            x = following.array()
            if k + 1 < BATCHES:
                following = queue.to_device(batches[k + 1], priority=1)
            y = step(x)
            if back is not None:
                back.wait()
            back = queue.to_host(y, out)
        back.wait()
        return time.perf_counter() - start

    queue = asnumpy.memory.CopyQueue()
    run = behind_the_program if library == "asnumpy" else one_after_the_other
    run()
    return run


def rows():
    """An allocation of each size against both; the copies."""
    found = []
    for label, nbytes, count, bar in SIZES:
        for function, peer in (("host", "malloc"), ("device", "aclrtMalloc")):
            found.append(
                Row("allocator", f"{label}, {peer}" + (f" (bar {bar} ns)" if bar else ""),
                    build=functools.partial(build, function, nbytes, count), timed=True,
                    bar=(None, None) if peer == "malloc" else (1, None), quick=nbytes == 512)
            )  # fmt: skip
    found.append(Row("allocator", "batches behind the program", build=overlap, timed=True))
    return found
