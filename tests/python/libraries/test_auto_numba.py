"""Numba under `python -m asnumpy`: its functions see NumPy, and give AsNumpy's arrays."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("numba")

PROGRAM = """
import asnumpy, numpy as np
from numba import njit

@njit
def total(a):
    s = np.zeros(2)
    for i in range(a.size):
        s[0] += np.sqrt(a[i])
    return s

x = total(np.arange(4.0) ** 2)
assert type(x) is asnumpy.ndarray and x[0] == 6
mean = njit(lambda a: a.mean())
assert mean(np.arange(3.0)) == 1
print("fine")
"""


def test_functions(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "ASNUMPY_FALLBACK": "silent"}
    done = subprocess.run(
        [sys.executable, "-m", "asnumpy", "program.py"],
        cwd=tmp_path, capture_output=True, text=True, env=environment,
    )  # fmt: skip
    assert done.stdout == "fine\n", done.stderr
