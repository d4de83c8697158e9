"""The package's type stubs: complete, equal to the package, and what type checkers make of programs."""

import os
import pathlib
import re
import subprocess
import sys

import asnumpy
import pytest

version = pytest.importorskip("mypy.version", reason="needs mypy").__version__
STUB = pathlib.Path(asnumpy.__file__).with_suffix(".pyi")
PROGRAMS = pathlib.Path(__file__).resolve().parents[1] / "typing"
pytestmark = pytest.mark.skipif(
    not STUB.exists(), reason="stubs are made when the package is installed, not in a build tree"
)
# What stubtest says of facts that the stubs do not tell: functions are objects of types of ours, arrays are typed as
# NumPy's, whose class has no `to_numpy` and no `acl_tensor`, and `arange` takes its dtype in the fourth place, too, as
# NumPy's does.
KNOWN = re.compile(
    r"is not a function|disjoint base|cannot be subclassed at runtime|metaclass differs"
    r"|asnumpy\.NPU?Array\.(__array_ufunc__|acl_tensor|from_numpy|to_numpy) |asnumpy\.arange .*keyword-only"
    r"|^asnumpy\.(core|matlib)\."  # which lack names in NumPy's stubs
)


def mypy(*arguments):
    """The lines mypy prints, with no configuration and a cache of its own."""
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--no-incremental",
        *arguments,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=PROGRAMS)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(
    int(version.partition(".")[0]) < 2, reason="before 2.0 stubtest takes our ufuncs for NumPy's"
)
def test_stubs_are_the_package(tmp_path):
    for stub in STUB.parent.rglob("*.pyi"):  # alone: stubtest would read the private modules too
        copy = tmp_path / "asnumpy" / stub.relative_to(STUB.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(stub.read_text())
    command = [sys.executable, "-m", "mypy.stubtest", "asnumpy", "--concise"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path,
                          env={**os.environ, "MYPYPATH": str(tmp_path)})  # fmt: skip
    left = [line for line in done.stdout.splitlines() if not KNOWN.search(line)]
    assert left == [] and "Traceback" not in done.stderr, done.stderr[-500:]


def test_accepted():
    lines = [line for line in mypy("passing.py") if "error" in line]
    assert lines == []


def test_refused():
    marked = [
        n
        for n, line in enumerate((PROGRAMS / "failing.py").read_text().splitlines(), 1)
        if line.endswith("# E")
    ]
    found = {int(line.split(":")[1]) for line in mypy("failing.py") if ": error:" in line}
    assert sorted(found) == marked


def test_marker():
    assert STUB.with_name("py.typed").exists()
    for name in ("fft", "linalg", "random", "polynomial", "testing", "lib"):
        assert STUB.parent.joinpath(name, "__init__.pyi").exists()


def test_numpys_own_rewritten():
    """The way into NumPy's typing tests; the tests are `make numpy-typing`."""
    sys.path.insert(0, str(PROGRAMS))
    import numpy_suite

    text = "import numpy as np\nimport numpy.typing as npt\nfrom numpy.lib import x\nfrom numpy._typing import y\nimport numpyro\n"
    assert numpy_suite.rewritten(text).split("\n")[:5] == [
        "import asnumpy as np", "import asnumpy.typing as npt", "from asnumpy.lib import x", "from numpy._typing import y",
        "import numpyro",
    ]  # fmt: skip
    assert numpy_suite.misses_of("misc/extended_precision.pyi", {}, {}) == (7, [])
    count, missed = numpy_suite.misses_of("misc/extended_precision.pyi", {}, {1: ["bad import"]})
    assert len(missed) == 1 and count in (7, 8)
    files = {str(p.relative_to(numpy_suite.DATA)) for p in numpy_suite.DATA.rglob("*.py*")}
    assert set(numpy_suite.known_misses()) <= files
