"""Random programs over several streams, which must compute what NumPy computes in program order.

Run as a program (test_streams.py does, in several environments): python stream_programs.py EXAMPLES.
"""

import gc
import sys

import asnumpy as np
import numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SIZES = (7, 3000, 60_000)
FIRST = 5  # arrays to begin with


def elementwise(m, a, b, k):
    return a * 0.5 + b if k % 2 else m.sqrt(m.abs(a)) - b * 0.25


def fresh(m, a, b, k):
    return m.sin(a) + k


def in_place(m, a, b, k):
    a += b * 0.5


def in_place_part(m, a, b, k):
    a[1 + k % 3 :] = b[: b.size - 1 - k % 3] * 0.5


def reversed_update(m, a, b, k):
    a[::2] -= b[::-1][::2] * 0.125


def running(m, a, b, k):
    return m.cumsum(a) * 1e-3


def ordered(m, a, b, k):
    return m.sort(a)[::-1] + b


def transformed(m, a, b, k):
    return m.fft.irfft(m.fft.rfft(a), a.size) * 0.5


def gathered(m, a, b, k):
    return a[m.arange(a.size) % (1 + k)] + b


def masked(m, a, b, k):
    a[b > 0.25] = 0.125 * k


def product(m, a, b, k):
    n = min(int(a.size**0.5), 60)
    r = a[: n * n].reshape(n, n) @ b[: n * n].reshape(n, n)
    return m.resize(r.reshape(-1) * 0.01, a.size) * 1.0


def single(m, a, b, k):
    a[k % a.size] = float(b[k % b.size]) * 0.5


def total(m, a, b, k):
    return b * 0.5 + float(a.sum()) * 1e-4


COMPUTE = [elementwise, fresh, in_place, in_place_part, reversed_update, running, ordered, transformed, gathered, masked,
           product, single, total, elementwise, in_place]  # fmt: skip


class Machine:
    """Does a step on both sides; a step is four small numbers."""

    def __init__(self, streams):
        self.streams = [np.default_stream()] + [np.Stream() for _ in range(streams)]
        self.events = [np.Event(timing=bool(k % 2)) for k in range(3)]
        self.size = SIZES[1]
        self.ours, self.theirs = [], []

    def fill(self, size):
        rng = numpy.random.default_rng(3)
        self.size = size
        self.theirs = [rng.random(size) for _ in range(FIRST)]
        self.ours = [np.array(x) for x in self.theirs]

    def compute(self, kind, s, i, j, k):
        function = COMPUTE[kind % len(COMPUTE)]
        i, j = i % len(self.ours), j % len(self.ours)
        with np.stream(self.streams[s % len(self.streams)]):
            got = function(np, self.ours[i], self.ours[j], k)
        want = function(numpy, self.theirs[i], self.theirs[j], k)
        if want is not None:
            self.ours.append(got)
            self.theirs.append(want)
        if len(self.ours) > 9:  # memory goes back while streams use it
            at = k % len(self.ours)
            del self.ours[at], self.theirs[at]

    def order(self, kind, s, i, j, k):
        stream, other = (self.streams[x % len(self.streams)] for x in (s, i))
        event = self.events[j % len(self.events)]
        [lambda: event.record(stream), lambda: stream.wait_event(event), lambda: stream.wait_stream(other),
         stream.synchronize, stream.query, event.query, event.synchronize, np.synchronize, np.empty_cache,
         lambda: np.lazy(bool(k % 2))][kind % 10]()  # fmt: skip

    def check(self):
        for got, want in zip(self.ours, self.theirs, strict=True):
            numpy.testing.assert_allclose(got.to_numpy(), want, rtol=1e-9, atol=1e-9)


step = st.tuples(
    st.integers(0, 3),
    st.integers(0, 14),
    st.integers(0, 4),
    st.integers(0, 8),
    st.integers(0, 8),
    st.integers(0, 20),
)


def run(streams, size, steps):
    machine = Machine(streams)
    machine.fill(size)
    try:
        for kind, *rest in steps:
            (machine.compute if kind else machine.order)(*rest)
        machine.check()
    finally:
        np.lazy(True)
        machine.streams.clear()  # a failure keeps the frame


def examples(n):
    @settings(
        max_examples=n,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(st.integers(1, 4), st.sampled_from(SIZES), st.lists(step, min_size=4, max_size=40))
    def program(streams, size, steps):
        run(streams, size, steps)

    program()


if __name__ == "__main__":
    examples(int(sys.argv[1]))
    gc.collect()
    np.synchronize()
    streams, held, waiting = np._core._stream_stats()
    assert held == 0 and waiting == 0, (held, waiting)
    print("same,", streams, "streams")
