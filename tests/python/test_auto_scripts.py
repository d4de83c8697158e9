"""Sixty programs as their users wrote them, over NumPy and under `python -m asnumpy`: what they print,
what they warn of, and how they end is the same.

tests/auto/scripts has them; those whose names begin with "held" were written before the mode had run any
of them.
"""

import ast
import importlib.util
import os
import pathlib
import subprocess
import sys

import asnumpy
import numpy
import pytest
from conftest import SINGLE_OPERATORS

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "auto" / "scripts"
SCRIPTS = sorted(p.stem for p in FOLDER.glob("*.py"))
ENVIRONMENT = {
    **os.environ, "PYTHONHASHSEED": "0", "ASNUMPY_FALLBACK": "silent", "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}  # fmt: skip


# Whether NumPy's arrays (of text, dates, ...) are instances of our class, as these programs expect.
INSTANCES = isinstance(numpy.array("text"), asnumpy.ndarray)
ASK_CLASSES = {"dates", "frames", "masked", "text", "typing_and_checks"}


def lacks(script):
    """Packages that a script imports and that are not here."""
    tree = ast.parse((FOLDER / f"{script}.py").read_text())
    names = [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    names += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    return {n for n in names if importlib.util.find_spec(n.partition(".")[0]) is None}


def outcome(*command):
    done = subprocess.run(
        [sys.executable, *command], cwd=FOLDER, env=ENVIRONMENT, capture_output=True, text=True
    )
    return done.stdout, done.stderr, done.returncode


def test_there_are_sixty():
    assert len(SCRIPTS) == 60
    assert sum(s.startswith("held_") for s in SCRIPTS) == 20


@pytest.mark.parametrize("script", SCRIPTS)
def test_same(script):
    if missing := lacks(script):
        pytest.skip(f"{script} needs {', '.join(sorted(missing))}")
    if script in ASK_CLASSES and not INSTANCES:
        pytest.xfail("NumPy's arrays are no instances of asnumpy.ndarray")
    if script in ("self_check", "warnings_shown") and SINGLE_OPERATORS:
        pytest.skip("single operators report no floating-point exceptions")
    arguments = (f"{script}.py", "one", "--two")
    expected, got = outcome(*arguments), outcome("-m", "asnumpy", *arguments)
    for what, a, b in zip(("stdout", "stderr", "status"), got, expected, strict=True):
        assert a == b, what
