"""The code of guide pages runs and prints what the pages say."""

import contextlib
import io
import pathlib
import re
import subprocess
import sys

import asnumpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(python|c|sh)\n(.*?)^```$", re.M | re.S)


def said(block):
    """What the comments behind a block's prints promise."""
    return re.findall(r"print\(.*\)  # (.*)$", block, re.M)


def run(page, folder):
    """Runs a page's blocks in a folder, and compares what Python prints."""
    space, compared = {"__name__": "guide"}, 0
    for kind, block in BLOCK.findall((ROOT / "docs" / "guide" / page).read_text()):
        if kind == "c":
            name = re.match(r"/\* (\S+\.c) \*/", block)[1]
            (folder / name).write_text(block)
        elif kind == "sh":
            command = block.replace(
                "$(python -m asnumpy.acl --home)/include", str(ROOT / "include")
            )
            subprocess.run(
                command.replace("python ", sys.executable + " "), shell=True, check=True, cwd=folder
            )
        else:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(block, page, "exec"), space)
            assert out.getvalue().splitlines() == said(block)
            compared += len(said(block))
    return compared


def test_custom_operators(tmp_path, monkeypatch):
    if not asnumpy._core._host_access():
        pytest.skip("one of its ways needs memory that the host shares")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASNUMPY_CACHE_DIR", str(tmp_path / "cache"))
    try:
        assert run("custom-operators.md", tmp_path) >= 14
    finally:
        for entry in asnumpy.ops.list("relu"):
            asnumpy.ops.unregister("relu", dtype=entry.dtype)


def test_relu_example(tmp_path, monkeypatch):
    monkeypatch.setenv("ASNUMPY_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("ASNUMPY_FALLBACK", "silent")
    command = [sys.executable, str(ROOT / "examples" / "relu.py"), "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "all results equal" in done.stdout and "custom package" in done.stdout
