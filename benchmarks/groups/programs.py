"""The ten programs of benchmarks/programs, whole. The geometric mean is the group's figure: at least four times."""

import functools

import programs
from rows import Row


def build(name, library):
    run = programs.call(name, library)
    got = programs.checksum(run())
    if library == "asnumpy":
        expected = programs.checksum(programs.call(name, "numpy")())
        if not programs.same(got, expected):
            raise ValueError(f"{name}: checksum {got}, NumPy's {expected}")
    return run


def rows():
    # No single program may be slower than NumPy; the mean has its own bar (report.py).
    return [Row("programs", name, build=functools.partial(build, name), bar=(1, 1), quick=True)
            for name in programs.NAMES]  # fmt: skip
