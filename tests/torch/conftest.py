"""PyTorch with torch_npu, unchanged, on the CPU device: programs in processes of their own, as users start them."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = pathlib.Path(os.environ.get("ASNUMPY_TORCH_NPU", ROOT / "build" / "torch_npu"))


def pytest_configure(config):
    config.addinivalue_line("markers", "smoke: the part that make test runs (make test-torch: all)")


def pytest_collection_modifyitems(items):
    """Skips where nobody made a torch_npu for this machine; a folder that is missing is an error."""
    if (FOLDER / "torch_npu").is_dir() or not items:
        return
    skipped = FOLDER / ".skipped"
    if not skipped.exists():
        raise pytest.UsageError(f"{FOLDER} has no torch_npu: make test-torch installs it")
    for item in items:
        item.add_marker(pytest.mark.skip(reason=skipped.read_text().strip()))


def start(*arguments, devices=None, folder=None, **variables):
    """`python -m asnumpy.acl run` in a folder: the finished process."""
    path = os.pathsep.join(p for p in (str(FOLDER), os.environ.get("PYTHONPATH")) if p)
    chosen = [] if devices is None else ["--devices", str(devices)]
    return subprocess.run(
        [sys.executable, "-m", "asnumpy.acl", "run", *chosen, *map(str, arguments)],
        capture_output=True, text=True, timeout=600, cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "TASK_QUEUE_ENABLE": "1", **variables},
    )  # fmt: skip


@pytest.fixture
def npu(tmp_path):
    """Runs the text of a program, which must end well; returns what it prints."""

    def program(text, *arguments, **options):
        file = tmp_path / "program.py"
        file.write_text("import torch, torch_npu\n" + textwrap.dedent(text))
        done = start(file, *arguments, folder=tmp_path, **options)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    return program
