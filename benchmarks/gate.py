"""The gate: whether the machine runs at full speed now, and what it can do at most.

limits.c is compiled once for this machine with the system's compiler ($CC, cc) and called through
ctypes. A sample counts when the loop before it and the loop after it ran near the best time seen in
this run, and when the scheduler did not take the CPU away in between: neighbours on a shared machine
slow it down for seconds at a time, and a median over such samples says nothing.
"""

import ctypes
import hashlib
import os
import pathlib
import resource
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parent / "build" / "bench"
FLAGS = ["-std=c11", "-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC",
         "-fvisibility=hidden", "-pthread"]  # fmt: skip

GATE_SECONDS = 30e-6
READ_BYTES = 4 << 20
SLACK = 1.12  # of the gate loop's best time
READ_SLACK = 1.4  # of the read's: caches shared with neighbours vary more than clocks
SWITCHES_PER_SECOND = (
    30  # involuntary ones that a long sample may see: kernel threads run now and then
)
WORKING_SETS = [1 << i for i in range(14, 29)]
STREAM_FROM = 24 << 20  # working sets from here on are stored past the caches


def library(build=BUILD):
    """limits.c, compiled if that has not been done; the path of the shared library."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise SystemExit("the bench needs a C compiler for its gate loop: set CC or install gcc")
    source = HERE / "limits.c"
    key = hashlib.sha256(source.read_bytes() + " ".join([compiler, *FLAGS]).encode()).hexdigest()
    path = build / f"liblimits-{key[:12]}.so"
    if not path.exists():
        build.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        subprocess.run([compiler, *FLAGS, "-o", str(part), str(source)], check=True)
        part.rename(path)
    return path


class Gate:
    """quiet() before and after a sample; limits() for the machine's peaks. One per process."""

    def __init__(self, threads):
        self.native = ctypes.CDLL(str(library()))
        for name, arguments in {"limits_gate": [ctypes.c_long], "limits_read": [ctypes.c_size_t],
                                "limits_fma": [ctypes.c_int, ctypes.c_long],
                                "limits_triad": [ctypes.c_size_t, ctypes.c_long, ctypes.c_int],
                                }.items():  # fmt: skip
            getattr(self.native, name).restype = ctypes.c_double
            getattr(self.native, name).argtypes = arguments
        self.threads = threads
        if self.native.limits_start(threads):
            raise SystemExit(f"the gate cannot start {threads} threads")
        once = min(self.native.limits_gate(10_000) for _ in range(50))
        self.repeats = max(1, int(10_000 * GATE_SECONDS / once))
        self.best = min(self.native.limits_gate(self.repeats) for _ in range(200))
        self.best_read = min(self.native.limits_read(READ_BYTES) for _ in range(50))
        self.switches = self._switches()

    @staticmethod
    def _switches():
        return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw

    def quiet(self, memory):
        """Whether the loop, and with `memory` the read, ran at full speed just now."""
        seconds = self.native.limits_gate(self.repeats)
        self.best = min(self.best, seconds)
        good = seconds < SLACK * self.best
        if memory:
            self.native.limits_read(
                READ_BYTES
            )  # the sample itself has put the block out of the caches
            seconds = self.native.limits_read(READ_BYTES)
            self.best_read = min(self.best_read, seconds)
            good = good and seconds < READ_SLACK * self.best_read
        return good

    def open(self, memory):
        """Call before a sample; True when the machine is quiet."""
        good = self.quiet(memory)
        self.switches = self._switches()
        return good

    def close(self, memory, elapsed):
        """Call after a sample of `elapsed` seconds; True when nothing disturbed it."""
        switches = self._switches() - self.switches
        return switches <= elapsed * SWITCHES_PER_SECOND and self.quiet(memory)

    def limits(self):
        """{"f64": flop/s, "f32": flop/s, "triad": [[working set in bytes, bytes/s], ...]}."""
        peak = {
            name: max(self.native.limits_fma(single, self.repeats * 10) for _ in range(30))
            for name, single in (("f64", 0), ("f32", 1))
        }
        curve = []
        for size in WORKING_SETS:
            repeats = max(1, (1 << 23) // size)
            tries = 30 if size < STREAM_FROM else 12  # the best of them: a limit
            speed = max(
                self.native.limits_triad(size, repeats, size >= STREAM_FROM) for _ in range(tries)
            )
            curve.append([size, speed])
        return {**peak, "triad": curve, "threads": self.threads, "platform": sys.platform}


def bandwidth(limits, size):
    """Bytes a second that the machine reached on a working set of `size` bytes."""
    curve = limits["triad"]
    return next((speed for held, speed in curve if held >= size), curve[-1][1])


def limit_seconds(limits, moved, flops, single):
    """The least time for moving `moved` bytes and doing `flops` operations; None when neither is known."""
    times = []
    if moved:
        times.append(moved / bandwidth(limits, moved))
    if flops:
        times.append(flops / limits["f32" if single else "f64"])
    return max(times, default=None)
