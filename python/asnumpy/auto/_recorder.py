"""What one process of a program counts for `--report` (_report.py).

What AsNumpy ran is a profile's (`asnumpy.profile`): each operation, with the line that asked for it,
exact counts and seconds. What fell back to NumPy is counted where AsNumpy hands calls to it
(`asnumpy._support`), with the line, the function and the reason, and at functions that are NumPy's own
(`_names`). What covered code does with NumPy's arrays alone (operators on text, on dates) passes
neither place and is not seen.

A process leaves its counts in the folder that the first one made, when it ends: where `with` ends, where
multiprocessing ends it, or by SIGTERM, which ends the workers of a pool.
"""

import collections
import functools
import multiprocessing.util
import os
import pickle
import signal
import sys
import threading
import time
import types
import uuid

import numpy

from asnumpy import _profile, _support

from . import _names
from ._estimate import rounded
from ._workers import REPORT

__all__ = ["Counts", "Recorder", "all_in", "begin"]


class Counts:
    """What was counted, in dictionaries of [how often, seconds].

    `ran`: by line and operation; `shapes`: by function, dtype, whether it reduces, and elements, which
    is what an estimate needs; `fallen`: by line, function and reason.
    """

    def __init__(self):
        self.ran, self.shapes, self.fallen = (collections.defaultdict(_none_yet) for _ in range(3))

    def add(self, other):
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            for key, (times, seconds) in theirs.items():
                mine[key][0] += times
                mine[key][1] += seconds

    def add_profile(self, profile):
        """What a profile recorded."""
        for (kind, name, line), (calls, seconds, *_) in profile.totals().items():
            if kind in ("program", "operator", "small"):
                _count(self.ran[line, name], calls, seconds)
        for e in profile.events:
            if e.kind == "program" and e.program:
                size = rounded(int(numpy.prod(e.program["shape"], dtype=float)))
                steps = e.program["steps"]
                for s in steps:
                    row = self.shapes[s["name"], s["dtype"], s["reduces"], size]
                    _count(row, e.calls, e.seconds * e.calls / len(steps))
            elif e.kind in ("operator", "small"):
                row = self.shapes[e.name, "", e.flops, rounded(e.bytes)]
                _count(row, e.calls, e.seconds * e.calls)


def _none_yet():
    return [0, 0.0]


def _count(row, times, seconds):
    row[0] += times
    row[1] += seconds


class Recorder:
    """Counts while this process runs, and leaves the counts in a folder."""

    def __init__(self, folder):
        self._folder = folder

    def __enter__(self):
        global _recorder
        _recorder = self
        self._kept = _support.on_host, _support.ufunc_on_host
        _support.on_host = self._watched(
            _support.on_host, lambda f, *given: (_support_name(f), _reason(*given))
        )
        _support.ufunc_on_host = self._watched(
            _support.ufunc_on_host,
            lambda a, kwargs: (f"{a[0].__name__}.{a[1]}", _reason(a, kwargs)),
        )
        _names.watch = self._watch
        self.restart()
        multiprocessing.util.register_after_fork(self, Recorder.leave_at_end)
        return self

    def __exit__(self, *exception):
        global _recorder
        _recorder = None
        self.leave()
        _support.on_host, _support.ufunc_on_host = self._kept
        _names.watch = None

    def restart(self):
        """Counts from nothing, in a process that is new."""
        self._counts = Counts()
        self._name = os.path.join(self._folder, uuid.uuid4().hex)
        with open(self._name + ".begun", "wb"):
            self._left = False
        self._profile = _profile.profile(every=1).start()

    def leave(self):
        """Leaves the counts; once. A pool terminates its workers, which may be ending by themselves."""
        if not self._left:
            if signal.getsignal(signal.SIGTERM) is _terminated:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            self._left = True
            self._profile.stop()
            self._counts.add_profile(self._profile)
            with open(self._name + ".part", "wb") as file:
                pickle.dump(self._counts, file)
            os.rename(self._name + ".part", self._name + ".counts")

    def leave_at_end(self):
        """In a process that multiprocessing started, which ends without unwinding."""
        multiprocessing.util.Finalize(self, self.leave, exitpriority=0)
        _leave_at_sigterm()

    def _watched(self, function, told):
        """The function; told(its arguments) gives the name and the reason that are counted."""

        @functools.wraps(function)
        def call(*args):
            began = time.perf_counter()
            result = function(*args)
            if result is not NotImplemented:
                self._fell(*told(*args), time.perf_counter() - began)
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
            self._fell(name, "AsNumpy has no such function", time.perf_counter() - began)
            return result

        return call

    def _fell(self, name, reason, seconds):
        _count(self._counts.fallen[_line(), name, reason], 1, seconds)


_recorder = None  # of this process, while it counts


def _in_child():
    """After a fork: what the parent counted is not this process's."""
    if _recorder is not None:
        _recorder.restart()
        if threading.current_thread() is threading.main_thread():
            _leave_at_sigterm()


os.register_at_fork(after_in_child=_in_child)


def _leave_at_sigterm():
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminated)


def _terminated(number, frame):
    if _recorder is not None:
        _recorder.leave()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def begin():
    """The recorder of this process, begun; None where it has one."""
    return Recorder(os.environ[REPORT]).__enter__() if _recorder is None else None


def all_in(folder):
    """(the sum of the counts, how many processes there were, how many of them left none) of a folder."""
    names = os.listdir(folder)
    counts, left = Counts(), [n for n in names if n.endswith(".counts")]
    for name in left:
        with open(os.path.join(folder, name), "rb") as file:
            counts.add(pickle.load(file))
    begun = sum(n.endswith(".begun") for n in names)
    return counts, begun, begun - len(left)


# ---- lines and reasons


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


def _support_name(callable):
    return callable if isinstance(callable, str) else getattr(callable, "__name__", str(callable))
