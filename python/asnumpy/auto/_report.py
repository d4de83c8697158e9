"""What ran where, at the end of a program: `python -m asnumpy --report`.

What AsNumpy ran is a profile's (`asnumpy.profile`): each operation, with the line that asked for it,
exact counts and seconds. What fell back to NumPy is counted where AsNumpy hands calls to it
(`asnumpy._support`), with the line, the function and the reason, and at functions that are NumPy's own
(`_names`). What covered code does with NumPy's arrays alone (operators on text, on dates) passes
neither place and is not seen.

NumPy's time is an estimate, made after the program: each kind of operation (function, dtypes, number
of elements within a power of two) is timed with NumPy on ones of that size, and multiplied by how
often it ran. Only elementwise functions, their sums and extremes, products of matrices and sorts are
estimated; the report says what part of AsNumpy's time they are.
"""

import collections
import functools
import sys
import time
import types

import numpy

from asnumpy import _profile, _support

from . import _names

__all__ = ["Report"]

_TOP = 30  # lines of a table


def _line():
    """ "file:line" of the nearest frame outside of the packages."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.partition(".")[0] not in ("asnumpy", "numpy", "functools"):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def _reason(args, kwargs, error=None):
    """Why a call went to NumPy: what it was refused with, or what of its arguments a device cannot hold."""
    if error is not None:
        return f"{type(error).__name__}: {error}".partition("\n")[0]
    for x in (*args, *kwargs.values()):
        items = x if isinstance(x, (list, tuple)) else (x,)
        for y in items:
            if isinstance(y, str) or y is str:
                return "text"
            dtype = y if isinstance(y, numpy.dtype) else getattr(y, "dtype", None)
            if isinstance(dtype, numpy.dtype) and not (
                _support._core_dtype(dtype) and dtype.isnative
            ):
                return f"dtype {dtype} lives on the host"
            if isinstance(y, numpy.ndarray) and type(y) is not numpy.ndarray:
                return f"{type(y).__name__} is a class of NumPy's"
    return "a dtype, or arguments, that devices do not have"


class Report:
    """Counts while a program runs; tells it at the end, on stderr or in a file."""

    def __init__(self, file=""):
        self._file = file
        self._fallen = collections.defaultdict(lambda: [0, 0.0])

    def __enter__(self):
        self._kept = _support.on_host, _support.ufunc_on_host
        _support.on_host = self._watched(
            _support.on_host, lambda f, *given: (_support_name(f), _reason(*given))
        )
        _support.ufunc_on_host = self._watched(
            _support.ufunc_on_host,
            lambda a, kwargs: (f"{a[0].__name__}.{a[1]}", _reason(a, kwargs)),
        )
        _names.watch = self._watch
        self._profile = _profile.profile(every=1).start()
        return self

    def __exit__(self, *exception):
        self._profile.stop()
        _support.on_host, _support.ufunc_on_host = self._kept
        _names.watch = None
        text = self._text()
        if self._file:
            with open(self._file, "w") as out:
                out.write(text)
        else:
            print(text, end="", file=sys.stderr)

    def _watched(self, function, told):
        """The function; told(its arguments) gives the name and the reason that are counted."""

        @functools.wraps(function)
        def call(*args):
            began = time.perf_counter()
            result = function(*args)
            if result is not NotImplemented:
                self._count(*told(*args), time.perf_counter() - began)
            return result

        return call

    def _watch(self, name, function):
        """A function of NumPy's own, which AsNumpy lacks, counted."""
        if not isinstance(function, (types.FunctionType, type(numpy.sum), type(numpy.dot))):
            return function

        @functools.wraps(function)
        def call(*args, **kwargs):
            began = time.perf_counter()
            result = function(*args, **kwargs)
            self._count(name, "AsNumpy has no such function", time.perf_counter() - began)
            return result

        return call

    def _count(self, name, reason, seconds):
        row = self._fallen[_line(), name, reason]
        row[0] += 1
        row[1] += seconds

    # ---- what is told

    def _text(self):
        ran, shapes = self._ran()
        lines = ["", f"asnumpy: {self._profile.seconds:.3f} s, of which in AsNumpy "
                     f"{sum(r[1] for r in ran.values()):.3f} s; fell back to NumPy "
                     f"{sum(r[0] for r in self._fallen.values())} times, "
                     f"{sum(r[1] for r in self._fallen.values()):.3f} s"]  # fmt: skip
        lines += self._estimated(ran, shapes)
        rows = [(f"{calls}", f"{s * 1e3:.3f}", name, where)
                for (where, name), (calls, s) in sorted(ran.items(), key=lambda r: -r[1][1])]  # fmt: skip
        lines += _table("In AsNumpy", ("calls", "ms", "operation", "line"), rows)
        rows = [(f"{calls}", f"{s * 1e3:.3f}", name, where, why)
                for (where, name, why), (calls, s) in sorted(
                    self._fallen.items(), key=lambda r: -r[1][1])]  # fmt: skip
        lines += _table("Fell back to NumPy", ("calls", "ms", "function", "line", "why"), rows)
        return "\n".join(lines) + "\n"

    def _ran(self):
        """{(line, operation): (calls, seconds)}, and for an estimate {(function, dtype, reduces, elements):
        (times, AsNumpy's seconds)}."""
        ran = {}
        for (kind, name, line), (calls, seconds, *_) in self._profile.totals().items():
            if kind in ("program", "operator", "small"):
                old = ran.get((line, name), (0, 0.0))
                ran[line, name] = old[0] + calls, old[1] + seconds
        shapes = collections.defaultdict(lambda: [0, 0.0])
        for e in self._profile.events:
            if e.kind == "program" and e.program:
                size = int(numpy.prod(e.program["shape"], dtype=float))
                steps = e.program["steps"]
                for s in steps:
                    row = shapes[s["name"], s["dtype"], s["reduces"], _rounded(size)]
                    row[0] += e.calls
                    row[1] += e.seconds * e.calls / len(steps)
            elif e.kind in ("operator", "small"):
                row = shapes[e.name, "", e.flops, _rounded(e.bytes)]
                row[0] += e.calls
                row[1] += e.seconds * e.calls
        return ran, shapes

    def _estimated(self, ran, shapes):
        theirs = ours = 0.0
        for (name, dtype, extra, size), (times, seconds) in shapes.items():
            each = _numpys_seconds(name, dtype, extra, size)
            if each is not None:
                theirs += times * each
                ours += seconds
        whole = sum(r[1] for r in ran.values())
        if not ours or not whole:
            return ["NumPy's time: no operation of a kind that is estimated"]
        return [
            f"NumPy's time for {min(ours / whole, 1):.0%} of that: about {theirs:.3f} s, against "
            f"{ours:.3f} s here (an estimate: NumPy timed after the program on ones of the same sizes)"
        ]


def _rounded(n):
    """n, or the power of two below it where it is large: what is timed together."""
    return n if n < 16 else 1 << (int(n).bit_length() - 1)


def _support_name(callable):
    return callable if isinstance(callable, str) else getattr(callable, "__name__", str(callable))


def _timed(call):
    """Seconds of a call: the least of a few, within a hundredth of a second."""
    best, end = float("inf"), time.perf_counter() + 0.01
    while True:
        began = time.perf_counter()
        call()
        now = time.perf_counter()
        best = min(best, now - began)
        if now > end:
            return best


@functools.cache
def _numpys_seconds(name, dtype, extra, size):
    """NumPy's seconds for an operation, or None: of a kind that is not estimated.

    With a dtype a step of a program over `size` elements, `extra`: it reduces. Without one an operator of
    `size` bytes and `extra` floating-point operations.
    """
    ufunc = getattr(numpy, name, None)
    if dtype:
        try:
            elements = max(min(size, 1 << 24), 1)
            scale = size / elements
            operand = numpy.ones(elements, dtype)
        except TypeError:  # bfloat16
            return None
        if not isinstance(ufunc, numpy.ufunc):
            return None
        with numpy.errstate(all="ignore"):
            try:
                if extra:
                    return scale * _timed(lambda: ufunc.reduce(operand))
                arguments = [operand] * ufunc.nin
                return scale * _timed(lambda: ufunc(*arguments))
            except TypeError:  # a dtype that the function lacks
                return None
    if name == "matmul" and extra:
        n = max(round((extra / 2) ** (1 / 3)), 1)
        square = numpy.ones((min(n, 1024),) * 2)
        return (n / len(square)) ** 3 * _timed(lambda: square @ square)
    if name == "sort":
        values = numpy.random.default_rng(0).random(max(min(size // 16, 1 << 22), 1))
        return size / 16 / values.size * _timed(lambda: numpy.sort(values))
    if isinstance(ufunc, numpy.ufunc) and ufunc.signature is None:
        values = numpy.ones(max(size // (8 * (ufunc.nin + ufunc.nout)), 1))
        with numpy.errstate(all="ignore"):
            try:
                arguments = [values] * ufunc.nin
                return _timed(lambda: ufunc(*arguments))
            except TypeError:
                return None
    return None


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
