"""On a device that runs behind its launches: results, and how often the host waits for it.

Our libraries stand in CANN's place, in its documented dtypes (so that each operation is a launch), and
ASNUMPY_CPU_LAUNCH_DELAY_US delays every launch. What makes the host wait is reading a value, and an operation
that the CPU computes in the device's place; a number among the operands does not.
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from asnumpy import acl

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"

# Program -> synchronisations of one run of its small size, at most (a wait for memory may or may not be
# needed). Fewer is better: lower the number then.
WAITS = {
    "heat": 2, "nbody": 29, "kmeans": 62, "black_scholes": 6, "mandelbrot": 77, "conjugate_gradient": 143,
    "shallow_water": 5, "filters": 13, "mlp": 61, "kalman": 294, "pca": 13, "game_of_life": 8,
    "reaction_diffusion": 21, "lu": 97, "convolution_network": 1,
}  # fmt: skip

COUNT = """
import json, sys
sys.path.insert(0, sys.argv[1])
import asnumpy as np, programs
counts = {}
for name in programs.ALL:
    call = programs.call(name, "asnumpy", small=True)
    np.synchronize()
    before = np.engine_stats()["synchronizations"]
    call()
    counts[name] = np.engine_stats()["synchronizations"] - before
print(json.dumps(counts))
"""

CHAIN = """
import asnumpy as np, numpy
x = np.arange(1000.0) * 0.5
np.synchronize()
before = np.engine_stats()["synchronizations"]
y = x
for _ in range(50):
    y = np.sin(y) * 0.5 + x
assert np.engine_stats()["synchronizations"] == before  # launched, nothing waited for
total = float(y.sum())
assert np.engine_stats()["synchronizations"] == before + 1
expected = z = numpy.arange(1000.0) * 0.5
for _ in range(50):
    z = numpy.sin(z) * 0.5 + expected
assert abs(total - z.sum()) < 1e-9 * abs(z.sum())
a = np.zeros((40, 50))
for k in range(20):  # memory goes back and forth while launches are queued
    b = np.full((40, 50), float(k))
    a[k] = (b * 2)[k]
    a += b - b
    del b
assert a[:20].sum() == sum(2 * k * 50 for k in range(20))
print("same")
"""

# The device whose memory the host shares, behind its launches as well: what the host writes next is written after
# what was launched before, and conditions are told by the call that meets them.
SHARED = """
import asnumpy as np, numpy
raw = numpy.random.default_rng(0).random(200_000)
q = np.array(numpy.random.default_rng(1).integers(0, len(raw), len(raw)))
def operations(a):
    g = a.reshape(400, 500)
    yield from (np.sort(a), np.argsort(a), np.cumsum(a), g @ g.T, a[q], a + a, np.fft.rfft(a), np.where(a > 0.5, a, 0))
    yield from (a.copy(), a[a > 0.5], np.repeat(a, 2), np.roll(a, 5), np.concatenate((a, a)), g.sum(axis=0), g.max(1))
    yield from (np.linalg.inv(g[:300, :300]), np.unique(a), np.interp(a, [0.0, 1.0], [1.0, 3.0]), np.convolve(a, a[:9]))
for k, want in enumerate(operations(np.array(raw))):
    host = raw.copy()
    some = operations(np.asarray(host))
    for _ in range(k + 1):
        got = next(some)
    host[:] = 0
    assert numpy.array_equal(numpy.asarray(got), numpy.asarray(want)), k
replayed, keep = np.jit(lambda a: np.sqrt(a * 2 + 1) - a), raw.copy()
for _ in range(3):
    raw[:] = keep
    got = replayed(np.asarray(raw))
    raw[:] = 0
    assert numpy.allclose(numpy.asarray(got), numpy.sqrt(keep * 2 + 1) - keep)
one, none = np.ones(3000), np.zeros(3000)
try:
    with np.errstate(all="raise"):
        one / none
        assert False, "the call did not raise"
except FloatingPointError:
    pass
assert np.geterr() == numpy.geterr() == {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
print("same")
"""

STRICT = {"ASCEND_HOME_PATH": str(acl.home()), "ASNUMPY_DEVICE": "ascend", "ASNUMPY_CANN_STRICT": "1", "ASNUMPY_FALLBACK": "silent"}  # fmt: skip


def run(program, *arguments, **more):
    environment = {**os.environ, **STRICT, **more}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_waits_of_the_programs():
    counts = json.loads(run(COUNT, str(EXAMPLES)))
    assert counts.keys() == WAITS.keys()
    assert {k: n for k, n in counts.items() if n > WAITS[k]} == {}


@pytest.mark.parametrize("delay", ["1", "300"])
def test_launches_go_ahead(delay):
    assert run(CHAIN, ASNUMPY_CPU_LAUNCH_DELAY_US=delay) == "same\n"


@pytest.mark.parametrize("delay", ["1", "300"])
def test_the_host_shares_memory_with_what_was_launched(delay):
    plain = {k: v for k, v in os.environ.items() if k not in STRICT and k != "ASNUMPY_FUSE"}
    done = subprocess.run([sys.executable, "-c", SHARED], capture_output=True, text=True,
                          env={**plain, "ASNUMPY_CPU_LAUNCH_DELAY_US": delay})  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "same\n"), done.stderr
