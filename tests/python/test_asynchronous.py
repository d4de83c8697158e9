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
    "heat": 2, "nbody": 29, "kmeans": 62, "black_scholes": 6, "mandelbrot": 83, "conjugate_gradient": 143,
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


def run(program, *arguments, **more):
    environment = {**os.environ, "ASCEND_HOME_PATH": str(acl.home()), "ASNUMPY_DEVICE": "ascend", "ASNUMPY_CANN_STRICT": "1",
                   "ASNUMPY_FALLBACK": "silent", **more}  # fmt: skip
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
