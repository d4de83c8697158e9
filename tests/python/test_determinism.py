"""Results do not depend on the number of threads, nor (elementary functions aside) on the instruction set."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import hashlib, numpy, asnumpy as np
r, h = numpy.random.default_rng(0), hashlib.sha256()
def add(x): h.update(numpy.ascontiguousarray(numpy.asarray(x)).tobytes())
for n in (1000, 100_000, 600_001):
    for dtype in ("f8", "f4", "c16"):
        x = np.array(r.standard_normal(n).astype(dtype))
        for y in (x.sum(), x.mean(), x.var(), (x * x).sum(), x.cumsum(), np.sort(x), x.max(), abs(x), x[x.real > 0]):
            add(y)
g = np.array(r.standard_normal((700, 500)))
for y in (g.sum(0), g.sum(1), g.T.copy(), g.mean(), g.prod(0), (g * 2 + g / 3)[::2, 5:], np.argsort(g, axis=0)):
    add(y)
print(h.hexdigest())
"""


def digest(**settings):
    """What PROGRAM prints under these environment settings."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, **settings},
                          capture_output=True, text=True, check=True)  # fmt: skip
    return done.stdout


@pytest.fixture(scope="module")
def reference():
    return digest(ASNUMPY_NUM_THREADS="1")


@pytest.mark.parametrize("threads", ["2", "3"])
def test_threads(reference, threads):
    assert digest(ASNUMPY_NUM_THREADS=threads) == reference


@pytest.mark.parametrize("isa", ["baseline", "avx2"])
def test_instruction_sets(reference, isa):
    assert digest(ASNUMPY_ISA=isa) == reference
