"""docs/guide/profiling.md: its Python blocks run one after the other, as a reader would; its commands are the package's."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide" / "profiling.md"
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.S)


def lacks(block):
    """The libraries that a block says it needs and that are not here."""
    needs = re.search(r"^# needs: (.*)$", block, re.M)
    return [n for n in needs[1].split() if importlib.util.find_spec(n) is None] if needs else []


def test_the_blocks_run(tmp_path):
    run = [b for b in BLOCKS if not lacks(b)]
    assert len(run) >= len(BLOCKS) - 1
    (tmp_path / "guide.py").write_text("\n".join(run))
    env = {**os.environ, "ASNUMPY_FALLBACK": "silent"}
    done = subprocess.run(
        [sys.executable, "guide.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "synchronisations:" in done.stdout and "operations agree with numpy" in done.stdout
    assert "synchronisation: the value of an element is read (if a[0] < 0.01:" in done.stdout
    assert (tmp_path / "trace.json").exists() and (tmp_path / "profile.html").exists()


@pytest.mark.skipif(any(map(lacks, BLOCKS)), reason="needs prometheus-client")
def test_all_blocks_were_among_them():
    assert len(BLOCKS) >= 6


def test_the_command_has_the_options_of_the_guide():
    (command,) = re.findall(r"python -m asnumpy\.profile (.*)", GUIDE.read_text())
    done = subprocess.run(
        [sys.executable, "-m", "asnumpy.profile", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    for option in re.findall(r"--\w+", command):
        assert option in done.stdout


def test_its_files_are_there():
    for target in re.findall(r"\]\(([^)#]+)\)", GUIDE.read_text()):
        assert (GUIDE.parent / target).exists(), target
