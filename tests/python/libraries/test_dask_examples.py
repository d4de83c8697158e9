"""The examples with Dask run, and their two libraries agree."""

import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("dask.array")

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples" / "dask"


@pytest.mark.skipif(
    os.environ.get("ASNUMPY_DEVICE") == "ascend", reason="processes that share an NPU's place"
)
def test_out_of_core():
    run = [sys.executable, str(EXAMPLES / "out_of_core.py"), "--times", "0.3", "--workers", "1"]
    done = subprocess.run(run, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "AsNumpy's chunks" in done.stdout
