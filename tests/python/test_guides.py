"""The guide's pages: their Python blocks run one after the other, as a reader would.

A block that begins with "# needs: LIBRARY" is left out where there is none; it is asked for by a test of its own.
"""

import os
import re
import subprocess
import sys

import pages
import pytest

SAYS = {
    "auto.md": [
        r"\[0\.   0\.25 0\.5  0\.75 1\.  \] numpy 1\.369",
        r"4  4\.0  16\.0 <class 'numpy\.ndarray'>",
        r"array\(\['a', 'b'\], dtype='<U1'\), array\(\[1, 2\]\)",
    ],
    "dask.md": [r"<class 'asnumpy.ndarray'> \d+\.\d+", r"\[0\.\d+ +0\.\d+ +0\.\d+\]"],
    "jit.md": [
        r"CacheInfo\(hits=99, misses=1, maxsize=64, currsize=1\)",
        r"step\(float64 \(20,\)\)\n\d+ steps?: .*\n\d+ temporar",
        r"\[0\. 1\. 2\.\]\n\[ 0\. 10\.  2\.\]",
        r"the value of an element is read while the call is traced, .*np\.where instead of if",
        r"\[0\. +0\.33333333 0\.66666667 1\. *\]",
        r"1016\.0 CacheInfo\(hits=1, misses=1",
    ],
    "memory.md": [
        r"in use by arrays +\d",
        r"True True True\n",
        r"400000 \d+ step\n400000 \d+ step\n400000 \d+ step",
        r"\[\(1280000, \d+\)\]",
        r"Unable to allocate 800\d+ bytes on the device; .* the limit is 268435456",
        r"float32 \(49152, 4, 768, 12\)",
        r"\(256, 1024\)",
    ],
    "streams.md": [
        r"\n\d+\.\d ms, reached: True\n",
        r"deadlock: right would wait for from_left \(.*guide\.py:\d+\), which left is to record; left waits for from_right \(",
        r"deadlock: right waits for l, .*\n  advice: merge right and left into one stream",
        r"6 \(200000,\)",
    ],
    "profiling.md": [
        r"name +calls +total ms",
        r"synchronisations: \d+",
        r"bubbles of stream 0: \d+, .* ms the longest\n +\d+ x ",
        r"synchronisation: the value of an element is read \(if a\[0\] < 0.01:",
        r"\d+ operations agree with numpy",
        r"1 of 1000, the worst at \(417,\): 0.2500",
    ],
}


def programs_of(page):
    """Its blocks of Python."""
    return [code for language, code, _ in pages.blocks_of(f"guide/{page}") if language == "python"]


@pytest.mark.parametrize("page", SAYS)
def test_blocks_run(page, tmp_path):
    if page == "dask.md":
        pytest.importorskip("dask.array")
    blocks = [b for b in programs_of(page) if not pages.lacks(b)]
    (tmp_path / "guide.py").write_text("\n".join(blocks))
    environment = {**os.environ, "ASNUMPY_FALLBACK": "silent"}
    done = subprocess.run(
        [sys.executable, "guide.py"], cwd=tmp_path, capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    for pattern in SAYS[page]:
        assert re.search(pattern, done.stdout), f"{pattern} is not in\n{done.stdout}"


def test_the_command_has_the_options_of_the_guide():
    page = (pages.DOCS / "guide" / "profiling.md").read_text()
    (command,) = re.findall(r"python -m asnumpy\.profile (.*)", page)
    done = subprocess.run(
        [sys.executable, "-m", "asnumpy.profile", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    for option in re.findall(r"--\w+", command):
        assert option in done.stdout
