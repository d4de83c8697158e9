"""A fresh interpreter's import, timed inside it so that its own start does not count."""

import subprocess
import sys

from rows import Row

TEXT = "import time; s = time.perf_counter(); import {}; print(time.perf_counter() - s)"


def build(library):
    """Seconds of one import."""
    return lambda: float(subprocess.run([sys.executable, "-c", TEXT.format(library)], check=True,
                                        capture_output=True, text=True).stdout)  # fmt: skip


def rows():
    # asnumpy's import holds NumPy's own, whose dtypes it uses.
    return [Row("importing", "import", build=build, timed=True, bar=(1 / 1.2, 1 / 1.2), quick=True)]
