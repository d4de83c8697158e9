"""asnumpy.profile: what ran, when, for which line, and how close to what the machine can do.

The recorder is in the core (src/runtime/profile.h). A session reads the recorder's totals when it begins and when it
ends; their difference is exact however long it was. The events themselves are the latest 262,144.
"""

import os
import time
from typing import NamedTuple

import numpy as _np

from . import _core

KINDS = ("program", "operator", "small", "to device", "to host", "allocate", "release",
         "synchronize", "plan", "range")  # fmt: skip
PROGRAM, OPERATOR, SMALL, TO_DEVICE, TO_HOST, ALLOCATE, RELEASE, SYNCHRONIZE, PLAN = range(9)
COMPUTES = (PROGRAM, OPERATOR, SMALL)
_LAYOUT = _np.dtype(
    [("begin", "u8"), ("length", "u8"), ("bytes", "i8"), ("work", "i8"), ("name", "u8"),
     ("line", "u4"), ("thread", "u4"), ("calls", "u4"), ("detail", "u4"), ("kind", "u2"),
     ("dtype", "u2"), ("stream", "u4")]
)  # fmt: skip


class Event(NamedTuple):
    """One thing that happened. Times in seconds, `start` from the beginning of the session.

    `bytes` are read and written, copied, or allocated; `flops` floating-point operations; `in_use` (of memory alone) the
    bytes in use afterwards. `line` is "file:line" of the program, `program` the operations of a fused program. A small
    operation stands for `calls` of them. `stream` is the number of the stream an operation was put on, 0 the default one.
    """

    kind: str
    name: str
    start: float
    seconds: float
    bytes: int
    flops: int
    calls: int
    line: str
    function: str
    thread: int
    in_use: int
    program: dict | None
    stream: int


class Row(NamedTuple):
    """One line of a summary. `share` is of the session's time, `of_limit` of what the machine was measured to do (the
    larger of its shares of bandwidth and of floating-point operations); rates are 0 where there is nothing to rate."""

    name: str
    kind: str
    calls: int
    seconds: float
    mean: float
    share: float
    bytes: int
    gbytes_per_second: float
    gflops: float
    of_limit: float


def program_name(program):
    """ "multiply + add + sqrt", the longest part of a fused program's operations that reads well."""
    steps = [s["name"] + (".reduce" if s["reduces"] else "") for s in program["steps"]]
    if len(steps) == 1:
        return steps[0]
    shown = " + ".join(steps[:4])
    return shown if len(steps) <= 4 else f"{shown} + ... ({len(steps)} operations)"


class _Lookup:
    """Lines and programs by number, asked for once."""

    def __init__(self):
        self.lines = _core._profile_lines()
        self.programs = {}

    def place(self, number):
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ("", 0, "")

    def line(self, number):
        file, line, _ = self.place(number)
        return f"{file}:{line}" if file else ""

    def program(self, number):
        if number not in self.programs:
            program = _core._profile_program(number) if number else None
            if program is not None:
                for step in program["steps"]:
                    step["line"] = self.line(step["line"])
            self.programs[number] = program
        return self.programs[number]

    def name(self, kind, name, detail):
        program = self.program(detail) if kind == PROGRAM else None
        return program_name(program) if program else name


def totals():
    """{(kind, name, line, detail): (calls, nanoseconds, bytes, work)} since the process began."""
    sums = {}
    for kind, name, line, detail, *values in _core._profile_totals():
        key = kind, name, line, detail
        before = sums.get(key)
        sums[key] = tuple(map(sum, zip(before, values, strict=True))) if before else tuple(values)
    return sums


def limits():
    """(bytes per second, floating-point operations per second) that this machine was measured to reach: the best of a
    few copies of 64 MiB and of products of float32 matrices. Measured once in a process, in a quarter of a second."""
    if not _measured:
        import asnumpy as np

        a = np.zeros(1 << 23)
        b = np.ones(1 << 23)
        m = np.ones((1024, 1024), np.float32)

        def best(action, budget):
            action()
            np.synchronize()
            fastest, end = float("inf"), time.perf_counter() + budget
            while time.perf_counter() < end:
                begin = time.perf_counter()
                action()
                np.synchronize()
                fastest = min(fastest, time.perf_counter() - begin)
            return fastest

        def copy():
            a[...] = b

        _measured[:] = 2 * a.nbytes / best(copy, 0.1), 2 * 1024**3 / best(lambda: m @ m, 0.1)
    return tuple(_measured)


_measured = []


class profile:
    """Records what the library does: what ran, when, for which line, how close to what the machine can do.

    A with block is a session. Sessions may be nested, and may be read while they run.

    Parameters
    ----------
    every : int
        Small operations (up to 2048 elements, run at once) are all counted, and one in so many is timed
        and kept as an event that stands for the others.

    Raises
    ------
    ValueError
        every is no whole number from 1 on.

    Examples
    --------
    >>> import asnumpy as np
    >>> with np.profile() as p:
    ...     a = np.arange(100_000) * 2.0 + 1
    ...     _ = float(a.sum())
    >>> p.seconds > 0, len(p.rows()) > 0
    (True, True)
    """

    def __init__(self, every=32):
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise ValueError(f"profile: every is {every!r}; it is a whole number from 1 on")
        self._every = int(every)
        self._since = None
        self._ended = None

    def start(self):
        """Begins the session; a with block does it.

        Returns
        -------
        profile
            The session itself.

        Raises
        ------
        RuntimeError
            It has begun and has not ended.

        Examples
        --------
        >>> import asnumpy as np
        >>> p = np.profile().start()
        >>> p.stop()
        """
        if self._since is not None and self._ended is None:
            raise RuntimeError("profile: the session has begun and has not ended")
        self._ended = None
        self._events = None
        self._since = _core._profile_start(self._every)
        self._before = totals()
        self._in_use = _core.memory_stats()["bytes_in_use"]
        self._began = time.monotonic_ns()
        return self

    def stop(self):
        """Ends the session; everything recorded runs before.

        Returns
        -------
        None

        Raises
        ------
        RuntimeError
            None has begun.

        Examples
        --------
        >>> import asnumpy as np
        >>> p = np.profile().start()
        >>> p.stop()
        """
        if self._since is None or self._ended is not None:
            raise RuntimeError("profile: no session has begun")
        _core._profile_stop()
        ended = time.monotonic_ns()
        self._after = totals()
        self._events = self._read()
        self._ended = ended

    def __enter__(self):
        return self.start()

    def __exit__(self, *exception):
        self.stop()

    # ---- what was recorded

    @property
    def seconds(self):
        """How long the session took, or takes."""
        self._begun()
        return ((self._ended or time.monotonic_ns()) - self._began) / 1e9

    @property
    def events(self):
        """The latest events, oldest first, as a list of Event."""
        self._begun()
        raw, names, lost = self._events or self._read()
        lookup = _Lookup()
        found = []
        for e in raw.tolist():
            begin, length, nbytes, work, name, line, thread, calls, detail, kind, _, stream = e
            file, number, function = lookup.place(line)
            memory = kind in (ALLOCATE, RELEASE)
            found.append(
                Event(
                    KINDS[kind],
                    lookup.name(kind, names[name], detail),
                    (begin - self._began) / 1e9,
                    length / 1e9,
                    nbytes,
                    0 if memory or kind == PLAN else work,
                    calls,
                    f"{file}:{number}" if file else "",
                    function,
                    thread,
                    work if memory else 0,
                    lookup.program(detail) if kind == PROGRAM else None,
                    stream,
                )
            )
        return found

    @property
    def dropped(self):
        """How many events the ring no longer had; totals have them."""
        self._begun()
        return (self._events or self._read())[2]

    def totals(self):
        """The sums of the session, exact, also of what events no longer has.

        Returns
        -------
        dict
            (kind, name, line) -> (calls, seconds, bytes, flops).

        Examples
        --------
        >>> import asnumpy as np
        >>> with np.profile() as p:
        ...     _ = float((np.ones(100_000) + 1).sum())
        >>> any(calls for calls, *_ in p.totals().values())
        True
        """
        self._begun()
        after = self._after if self._ended is not None else totals()
        lookup = _Lookup()
        sums = {}
        for (kind, name, line, detail), values in after.items():
            before = self._before.get((kind, name, line, detail), (0, 0, 0, 0))
            calls, ns, nbytes, work = (b - a for a, b in zip(before, values, strict=True))
            if not calls:
                continue
            key = KINDS[kind], lookup.name(kind, name, detail), lookup.line(line)
            old = sums.get(key, (0, 0.0, 0, 0))
            flops = work if kind in COMPUTES else 0
            sums[key] = (old[0] + calls, old[1] + ns / 1e9, old[2] + nbytes, old[3] + flops)
        return sums

    def rows(self, by="name"):
        """The rows of the summary, longest first.

        Parameters
        ----------
        by : {"name", "line"}
            What a row is of: an operation, or a line of the program.

        Returns
        -------
        list of Row
            Named tuples: name, kind, calls, seconds, mean, share, bytes, gbytes_per_second, gflops and
            of_limit (of what this machine was measured to do).

        Raises
        ------
        ValueError
            by is another text.

        Examples
        --------
        >>> import asnumpy as np
        >>> with np.profile() as p:
        ...     _ = float((np.ones(100_000) + 1).sum())
        >>> rows = p.rows()
        >>> rows[0].seconds >= rows[-1].seconds
        True
        """
        if by not in ("name", "line"):
            raise ValueError(f"profile: by is {by!r}; it may be 'name' or 'line'")
        sums = {}
        for (kind, name, line), values in self.totals().items():
            if kind in ("allocate", "release"):
                continue
            if by == "line" and kind in ("synchronize", "plan"):
                continue
            key = (kind, name) if by == "name" else ("", line)
            old = sums.get(key, (0, 0.0, 0, 0))
            sums[key] = tuple(map(sum, zip(old, values, strict=True)))
        bandwidth, flops_limit = limits()
        rows = []
        for (kind, name), (calls, seconds, nbytes, flops) in sums.items():
            rate, speed = (nbytes / seconds, flops / seconds) if seconds > 0 else (0.0, 0.0)
            rows.append(
                Row(name, kind, calls, seconds, seconds / calls, seconds / self.seconds, nbytes,
                    rate / 1e9, speed / 1e9, max(rate / bandwidth, speed / flops_limit))
            )  # fmt: skip
        return sorted(rows, key=lambda r: -r.seconds)

    def summary(self, by="name", top=20):
        """A table of where the time went.

        Parameters
        ----------
        by : {"name", "line"}
            What a row is of: an operation, or a line of the program.
        top : int
            How many rows are shown.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            by is another text.

        Examples
        --------
        >>> import asnumpy as np
        >>> with np.profile() as p:
        ...     _ = float((np.ones(100_000) + 1).sum())
        >>> isinstance(p.summary(top=5), str)
        True
        """
        from ._profile_text import summary

        return summary(self, by, top)

    def export(self, path):
        """Writes the events to a file.

        Parameters
        ----------
        path : path-like
            A name that ends with .json: Chrome's trace format, which Perfetto (ui.perfetto.dev) and
            chrome://tracing open; with .csv: a line for each event, times in microseconds.

        Returns
        -------
        None

        Raises
        ------
        ValueError
            Another ending.

        Examples
        --------
        >>> import asnumpy as np, os, tempfile
        >>> with np.profile() as p:
        ...     _ = float((np.ones(100_000) + 1).sum())
        >>> path = os.path.join(tempfile.mkdtemp(), "trace.json")
        >>> p.export(path)
        >>> os.path.getsize(path) > 0
        True
        """
        from . import _profile_trace

        formats = {".json": _profile_trace.export, ".csv": _profile_trace.export_csv}
        suffix = os.path.splitext(os.fspath(path))[1].lower()
        if suffix not in formats:
            raise ValueError(
                f"profile: export to {os.fspath(path)!r}; the name may end with .json or .csv"
            )
        formats[suffix](self, path)

    def html(self, path):
        """Writes one page: timeline, memory over time, tables, graphs of fused programs.

        Parameters
        ----------
        path : path-like
            The HTML file, which needs nothing else.

        Returns
        -------
        None

        Examples
        --------
        >>> import asnumpy as np, os, tempfile
        >>> with np.profile() as p:
        ...     _ = float((np.ones(100_000) + 1).sum())
        >>> path = os.path.join(tempfile.mkdtemp(), "profile.html")
        >>> p.html(path)
        >>> os.path.getsize(path) > 0
        True
        """
        from ._profile_page import write

        write(self, path)

    def bubbles(self, least=1e-6):
        """The gaps in the streams' work, longest first: nothing of a stream ran between two of its operations.

        Parameters
        ----------
        least : float
            Seconds: shorter gaps are left out.

        Returns
        -------
        list of Bubble
            Named tuples: stream, start, seconds and waited_for (a wait of the host, a plan, work of another
            stream, or the program, which had put nothing there).

        Raises
        ------
        ValueError
            least is negative.

        Examples
        --------
        >>> import asnumpy as np, time
        >>> a = np.ones(100_000)
        >>> with np.profile() as p:
        ...     _ = float(np.sort(a)[0])
        ...     time.sleep(0.02)
        ...     _ = float(np.sort(a)[0])
        >>> 0.02 < p.bubbles()[0].seconds < 2
        True
        """
        from ._profile_bubbles import bubbles

        if not least >= 0:
            raise ValueError(f"profile: least is {least!r}; it is a number of seconds from 0 on")
        return bubbles(self, least)

    def memory(self):
        """The bytes in use over time.

        Returns
        -------
        list of (seconds, bytes)
            The beginning, then each change.

        Examples
        --------
        >>> import asnumpy as np
        >>> with np.profile() as p:
        ...     _ = float((np.ones(100_000) + 1).sum())
        >>> p.memory()[0][0]
        0.0
        """
        curve = [(0.0, self._in_use)]
        curve += [(e.start, e.in_use) for e in self.events if e.kind in ("allocate", "release")]
        return curve

    def _begun(self):
        if self._since is None:
            raise RuntimeError("profile: no session has begun")

    def _read(self):
        first, data, names = _core._profile_events(self._since)
        return _np.frombuffer(data, _LAYOUT), names, first - self._since


profile.__module__ = "asnumpy"
