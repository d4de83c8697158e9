"""The guide's pages: their Python blocks run one after the other, as a reader would."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide"
SAYS = {
    "memory.md": [
        r"in use by arrays +\d",
        r"400000 \d+ step\n400000 \d+ step\n400000 \d+ step",
        r"\[\(1280000, \d+\)\]",
        r"Unable to allocate 800\d+ bytes on the device; .* the limit is 268435456",
        r"float32 \(49152, 4, 768, 12\)",
        r"\(256, 1024\)",
    ],
}


@pytest.mark.parametrize("page", SAYS)
def test_blocks_run(page, tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (FOLDER / page).read_text(), re.S)
    (tmp_path / "guide.py").write_text("\n".join(blocks))
    environment = {**os.environ, "ASNUMPY_FALLBACK": "silent"}
    done = subprocess.run(
        [sys.executable, "guide.py"], cwd=tmp_path, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    for pattern in SAYS[page]:
        assert re.search(pattern, done.stdout), f"{pattern} is not in\n{done.stdout}"
