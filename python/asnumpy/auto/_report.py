"""What ran where, at the end of a program: `python -m asnumpy --report`.

The first process makes a folder, which others of the program find in their environment: children of
multiprocessing, forks, workers of pytest, `python -m asnumpy` that the program starts. Each counts for
itself (`_recorder`) and leaves its counts there; the first process adds them up, and says how many ended
without (by `os._exit`, or a signal). NumPy's time is an estimate (`_estimate`); the report says what part
of AsNumpy's time the estimated operations are.
"""

import os
import shutil
import sys
import tempfile
import time

from ._estimate import estimated
from ._recorder import Recorder, all_in
from ._workers import REPORT

__all__ = ["Report"]

_TOP = 30  # lines of a table


class Report:
    """The first process's: counts while the program runs, and tells what all counted on stderr or in a
    file."""

    def __init__(self, file=""):
        self._file = file

    def __enter__(self):
        self._process = os.getpid()
        self._outer = os.environ.get(REPORT)
        self._folder = os.environ[REPORT] = tempfile.mkdtemp(prefix="asnumpy-report-")
        self._began = time.perf_counter()
        self._recorder = Recorder(self._folder).__enter__()
        return self

    def __exit__(self, *exception):
        seconds = time.perf_counter() - self._began
        self._recorder.__exit__(*exception)
        if os.getpid() != self._process:  # a fork that unwinds what it was made in
            return
        counts, processes, missing = all_in(self._folder)
        if self._outer is None:
            del os.environ[REPORT]
        else:  # a program that another one started, which counts these, too
            os.environ[REPORT] = self._outer
            shutil.copytree(self._folder, self._outer, dirs_exist_ok=True)
        shutil.rmtree(self._folder, ignore_errors=True)
        text = _text(counts, seconds, processes, missing)
        if self._file:
            with open(self._file, "w") as out:
                out.write(text)
        else:
            if sys.stdout is not None and not sys.stdout.closed:
                sys.stdout.flush()  # what the program printed comes first, also where both go to one file
            print(text, end="", file=sys.stderr)


# ---- what is told


def _text(counts, seconds, processes, missing):
    ran, fallen = counts.ran, counts.fallen
    many = f" in {processes} processes" if processes > 1 else ""
    lines = ["", f"asnumpy: {seconds:.3f} s{many}, of which in AsNumpy "
                 f"{sum(r[1] for r in ran.values()):.3f} s; fell back to NumPy "
                 f"{sum(r[0] for r in fallen.values())} times, "
                 f"{sum(r[1] for r in fallen.values()):.3f} s"]  # fmt: skip
    if missing:
        lines.append(f"{missing} of the processes ended without leaving what they counted")
    lines += _estimate(counts)
    rows = [(f"{calls}", f"{s * 1e3:.3f}", name, where)
            for (where, name), (calls, s) in sorted(ran.items(), key=_longest)]  # fmt: skip
    lines += _table("In AsNumpy", ("calls", "ms", "operation", "line"), rows)
    rows = [(f"{calls}", f"{s * 1e3:.3f}", name, where, why)
            for (where, name, why), (calls, s) in sorted(fallen.items(), key=_longest)]  # fmt: skip
    lines += _table("Fell back to NumPy", ("calls", "ms", "function", "line", "why"), rows)
    return "\n".join(lines) + "\n"


def _longest(row):
    return -row[1][1]


def _estimate(counts):
    theirs, ours = estimated(counts.shapes)
    whole = sum(r[1] for r in counts.ran.values())
    if not ours or not whole:
        return ["NumPy's time: no operation of a kind that is estimated"]
    return [
        f"NumPy's time for {min(ours / whole, 1):.0%} of that: about {theirs:.3f} s, against "
        f"{ours:.3f} s here (an estimate: NumPy timed after the program on ones of the same sizes)"
    ]


def _table(title, heads, rows):
    """Lines of a table: numbers to the right, words to the left."""
    if not rows:
        return ["", f"{title}: nothing"]
    more, rows = rows[_TOP:], rows[:_TOP]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = ["", title]
    for row in (heads, *rows):
        cells = [c.rjust(w) if i < 2 else c.ljust(w)
                 for i, (c, w) in enumerate(zip(row, widths, strict=True))]  # fmt: skip
        lines.append("  ".join(cells).rstrip())
    return lines + ([f"... and {len(more)} more"] if more else [])
