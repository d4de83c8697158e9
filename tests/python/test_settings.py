"""The settings of the environment: one table in the source, the same on the page, wrong values refused."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from asnumpy import _core

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALLOWED = dict(_core._settings())
RUNS = "import asnumpy\ntry:\n    asnumpy.arange(3.0)\nexcept ValueError as e:\n    print(e)"


def run(**settings):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("ASNUMPY_")}
    done = subprocess.run(
        [sys.executable, "-c", RUNS], capture_output=True, text=True, env={**kept, **settings}
    )
    assert not done.stderr
    return done.stdout.strip()


def test_the_page_lists_them_all():
    rows = re.findall(
        r"^\| `(ASNUMPY_\w+)` \| (.+?) \|", (ROOT / "docs/guide/settings.md").read_text(), re.M
    )
    assert [name for name, _ in rows] == list(ALLOWED)
    for name, values in rows:
        allowed = ALLOWED[name]
        if "'" in allowed:
            assert re.findall(r"`(\w+)`", values) == re.findall(r"'(\w+)'", allowed)
        elif " to " in allowed and re.match(r"\d+ to", values):
            assert allowed.endswith(f"from {values}")


def test_the_source_reads_no_others():
    """Whoever reads a variable of ours adds its row: nothing else asks for one by its name."""
    found = {}
    for folder, pattern in (("src", "*.[ch]"), ("python", "*.py")):
        for file in (ROOT / folder).rglob(pattern):
            text = file.read_text()
            for name in re.findall(
                r"(?:getenv\(|environ(?:\.get\(|\[))[\"'](ASNUMPY_\w+)[\"']", text
            ):
                found.setdefault(name, []).append(file)
    assert set(found) <= set(ALLOWED)
    in_c = [f for files in found.values() for f in files if f.suffix != ".py"]
    assert not in_c, "C reads settings through base/settings.h"


@pytest.mark.parametrize("name", [n for n, allowed in ALLOWED.items() if allowed])
def test_a_wrong_value_is_refused(name):
    assert run(**{name: "foo"}) == f"{name} is 'foo'; it may be {ALLOWED[name]}"


def test_right_and_empty_values_are_taken():
    assert run(ASNUMPY_JIT="always", ASNUMPY_FUSE="1", ASNUMPY_NUM_THREADS="1") == ""
    assert run(**dict.fromkeys(ALLOWED, "")) == ""


def test_a_blas_that_is_none_is_refused_where_one_is_needed():
    program = (
        "import asnumpy\na = asnumpy.ones((40, 40))\ntry:\n    print(asnumpy.linalg.svdvals(a)[0])\n"
        "except RuntimeError as e:\n    print(e)"
    )
    environment = {**os.environ, "ASNUMPY_OPENBLAS": "/nowhere/libblas.so"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    assert "(tried /nowhere/libblas.so); set ASNUMPY_OPENBLAS" in done.stdout


TELLS = """
import os, sys
from importlib.machinery import PathFinder

class Watch(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name == "numpy":
            print(os.environ.get("OPENBLAS_THREAD_TIMEOUT"), end=" ")
        return None

sys.meta_path.insert(0, Watch)
import asnumpy
print(os.environ.get("OPENBLAS_THREAD_TIMEOUT"))
"""


@pytest.mark.parametrize(
    ("before", "settings", "told"),
    [
        ("", {}, "20 None"),  # NumPy's OpenBLAS reads it as NumPy loads; no child inherits it
        ("", {"OPENBLAS_THREAD_TIMEOUT": "24"}, "24 24"),
        ("", {"GOTO_THREAD_TIMEOUT": "24"}, "None None"),
        ("import numpy", {}, "None"),
    ],
)
def test_the_threads_of_numpys_blas_sleep_soon(before, settings, told):
    kept = {k: v for k, v in os.environ.items() if not k.endswith("_THREAD_TIMEOUT")}
    done = subprocess.run(
        [sys.executable, "-c", before + TELLS],
        capture_output=True,
        text=True,
        env={**kept, **settings},
    )
    assert (done.stdout.strip(), done.stderr) == (told, "")
