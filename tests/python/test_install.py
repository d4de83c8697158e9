"""The package as pip installs it: its name, what it needs, what importing loads; and that no page fetches another's."""

import importlib.metadata
import re
import subprocess
import sys

import asnumpy
import check_text
import pytest


def test_distribution():
    assert importlib.metadata.version("asnumpy-ascend") == asnumpy.__version__
    needs = [
        re.match(r"[\w-]+", r)[0] for r in importlib.metadata.requires("asnumpy-ascend")
        if "extra" not in r
    ]  # fmt: skip
    assert sorted(needs) == ["ml_dtypes", "numpy"]


def test_importing_loads_no_more_than_numpy_and_the_extension():
    program = "import sys, numpy; before = set(sys.modules); import asnumpy; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    added = done.stdout.split()
    assert [n for n in added if not n.startswith("asnumpy")] == []
    modules = "_adapters _adapters._after_import _core _errstate _openblas _submodules"
    assert added == ["asnumpy", *(f"asnumpy.{name}" for name in modules.split())]


def test_a_first_script_loads_little_and_starts_no_thread():
    """A short script costs about what it costs with NumPy: what it does not use is not imported, opened or started."""
    program = """
import os, sys, numpy
before, threads = set(sys.modules), len(os.listdir("/proc/self/task"))
import asnumpy as np
sieve = np.ones(1001, bool)
for i in range(2, 32):
    if sieve[i]:
        sieve[i * i :: i] = False
print(np.linspace(0, 1, 5), len(np.nonzero(sieve)[0]), np.random.default_rng().random(3).shape)
print(len(os.listdir("/proc/self/task")) - threads, file=sys.stderr)
print(*{n.partition(".")[0] for n in set(sys.modules) - before}, file=sys.stderr)
print("cann/lib64/libscipy_openblas" in open("/proc/self/maps").read(), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    started, modules, blas = done.stderr.splitlines()
    assert started == "0" and blas == "False"
    assert {"decimal", "fractions", "secrets", "ml_dtypes", "scipy"} & set(modules.split()) == set()


@pytest.mark.parametrize(("line", "fetches"), [
    ("pip install asnumpy", True), ('pip install "asnumpy[monitor]"', True), ("uv add asnumpy", True),
    ("python -m pip install -U asnumpy-ascend", True), ("  - run: pip install asnumpy # x", True),
    ("pip install .", False), ("pip install ./asnumpy", False), ('pip install ".[monitor]"', False),
    ("pip install dist/asnumpy_ascend-0.1.0-cp311-cp311-linux_x86_64.whl", False),
    ("pip install numpy; python -m asnumpy.doctor", False),
])  # fmt: skip
def test_lint_finds_what_would_fetch_another_package(line, fetches):
    assert bool(list(check_text.installed_by_name(f"first\n{line}\n"))) == fetches
