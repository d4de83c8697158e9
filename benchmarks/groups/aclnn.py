"""Operators and launches as a C program calls them (aclnn.c), against NumPy's call that does the same into an output."""

import ctypes
import functools
import os
import subprocess
import sys
import time

import native
import numpy
from rows import Row

BOTH_PHASES, REPEATABLE, WAITED = range(3)
NUMPY = {"add": numpy.add, "product": numpy.matmul, "copy": lambda a, b, out: numpy.copyto(out, a)}

# label, function, n, how, calls of one sample, times as fast as NumPy on one thread and on two, quick
CALLS = [
    ("aclnnAdd of ten, both phases", "add", 10, BOTH_PHASES, 5000, (1 / 0.7, 1 / 0.7), True),
    ("aclnnAdd of ten, both phases, waited for", "add", 10, WAITED, 5000, (1 / 0.75, None), False),
    ("aclnnAdd of ten, repeatable", "add", 10, REPEATABLE, 5000, (1 / 0.3, 1 / 0.3), True),
    ("aclnnAdd of 1e5, both phases", "add", 100_000, BOTH_PHASES, 50, (None, None), False),
    ("aclrtMemcpyAsync of ten", "copy", 10, BOTH_PHASES, 5000, (1 / 0.6, None), True),
    ("aclnnMm of 4 x 4", "product", 4, BOTH_PHASES, 5000, (1 / 0.8, None), False),
    ("aclnnMm of 64 x 64", "product", 64, BOTH_PHASES, 200, (None, None), False),
    ("aclnnMm of 512 x 512", "product", 512, BOTH_PHASES, 2, (1 / 1.1, None), True),
]  # fmt: skip


def build(function, n, how, count, library_name):
    """Seconds of one call."""
    rng = numpy.random.default_rng(0)
    shape = (n, n) if function == "product" else (n,)
    a, b, out = (rng.random(shape, numpy.float32) for _ in range(3))
    if library_name == "numpy":
        call = NUMPY[function]

        def run_numpy():
            start = time.perf_counter()
            for _ in range(count):
                call(a, b, out=out)
            return (time.perf_counter() - start) / count

        return run_numpy
    entry = getattr(native.library("aclnn"), function)
    entry.restype = ctypes.c_double

    def run():
        address = [ctypes.c_void_p(x.ctypes.data) for x in (a, b, out)]
        seconds = entry(*address, ctypes.c_int64(n), how, ctypes.c_long(count))
        if seconds < 0:
            raise RuntimeError(f"{function}: code {-seconds:.0f}")
        return seconds

    run()
    want = numpy.empty_like(out)
    NUMPY[function](a, b, out=want)
    numpy.testing.assert_allclose(out, want, rtol=1e-4)
    return run


# A device that runs 300 us behind each launch, in an NPU's place: how long Python is held, and until all is done.
LAUNCHES, DELAY_US = 200, 300
BEHIND = f"""
import sys, time
import asnumpy as np
x = np.ones(1000, np.float32)
y = np.sin(x)
np.synchronize()
waits = np.engine_stats()["synchronizations"]
start = time.perf_counter()
for _ in range({LAUNCHES}):
    y = np.sin(y)
launched = time.perf_counter() - start
assert np.engine_stats()["synchronizations"] == waits
np.synchronize()
print(launched if sys.argv[1] == "launched" else time.perf_counter() - start)
"""


def behind(moment, library_name):
    """Seconds of all launches; NumPy's of computing."""
    if library_name == "numpy":
        return build_sines
    from asnumpy import acl

    environment = os.environ | {
        "ASNUMPY_DEVICE": "ascend", "ASCEND_HOME_PATH": str(acl.home()), "ASNUMPY_CANN_STRICT": "1",
        "ASNUMPY_CPU_LAUNCH_DELAY_US": str(DELAY_US),
    }  # fmt: skip

    def run():
        done = subprocess.run(
            [sys.executable, "-c", BEHIND, moment], env=environment, check=True, capture_output=True
        )
        return float(done.stdout)

    return run


def build_sines():
    y = numpy.ones(1000, numpy.float32)
    start = time.perf_counter()
    for _ in range(LAUNCHES):
        y = numpy.sin(y)
    return time.perf_counter() - start


def overlap_rows():
    label = f"{LAUNCHES} sines of 1000, {DELAY_US} us behind each launch: {{}}"
    return [Row("aclnn", label.format(moment), build=functools.partial(behind, moment), timed=True)
            for moment in ("launched", "done")]  # fmt: skip


def rows():
    return overlap_rows() + [Row("aclnn", label, build=functools.partial(build, function, n, how, count), timed=True, bar=bar, quick=quick)
            for label, function, n, how, count, bar, quick in CALLS]  # fmt: skip
