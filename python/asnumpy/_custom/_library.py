"""Operators compiled against asnumpy/op.h, loaded from a shared library."""

import ctypes
import pathlib
import threading

import numpy as np

from . import _registry
from ._two_phase import DTYPES, Number, two_phase_operators
from ._ufunc import LoopUfunc

_VERSION, _MAX_ARGS = 1, 8


class _Loop(ctypes.Structure):
    _fields_ = [
        ("function", ctypes.c_void_p),
        ("dtypes", ctypes.c_int32 * _MAX_ARGS),
        ("data", ctypes.c_void_p),
    ]


class _Op(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("doc", ctypes.c_char_p), ("num_in", ctypes.c_int32),
                ("num_out", ctypes.c_int32), ("identity", ctypes.POINTER(Number)), ("num_loops", ctypes.c_int32),
                ("loops", ctypes.POINTER(_Loop))]  # fmt: skip


class _Table(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_int32),
        ("num_ops", ctypes.c_int32),
        ("ops", ctypes.POINTER(_Op)),
    ]


class Library:
    """The operators of a library, as attributes.

    Attributes
    ----------
    path : str
    names : tuple of str
    """

    def __init__(self, path, functions):
        self.path, self.names = path, tuple(functions)
        self.__dict__.update(functions)

    def __repr__(self):
        return f"<asnumpy library {self.path!r}: {', '.join(self.names)}>"


def _ufunc(op, where, library):
    """The ufunc of an entry of the table, which is checked."""
    name = (op.name or b"").decode()
    if not name.isidentifier():
        raise ValueError(f"{where}: {name!r} is no name for an operator")
    if not (op.num_in >= 1 and op.num_out >= 1 and op.num_in + op.num_out <= _MAX_ARGS):
        raise ValueError(
            f"{where}: {name} has {op.num_in} inputs and {op.num_out} outputs; there may be {_MAX_ARGS} in all"
        )
    loops = []
    for loop in op.loops[: op.num_loops]:
        codes = loop.dtypes[: op.num_in + op.num_out]
        unknown = next((c for c in codes if c not in DTYPES), None)
        if unknown is not None or not loop.function:
            raise ValueError(
                f"{where}: a loop of {name} has no function, or dtype {unknown}, which loops do not have"
            )
        loops.append((tuple(np.dtype(DTYPES[c]) for c in codes), loop.function, loop.data or 0))
    if not loops:
        raise ValueError(f"{where}: {name} has no loop")
    identity = op.identity.contents.python() if op.identity else None
    return LoopUfunc(
        name, (op.doc or b"").decode(), op.num_in, op.num_out, loops, identity, library
    )


def _loop_operators(library, where):
    """The ufuncs of a library's table of loops, if it has one."""
    try:
        table = _Table.in_dll(library, "asnumpy_ops")
    except ValueError:
        return []
    if table.version != _VERSION:
        raise ValueError(
            f"{where} has version {table.version} of asnumpy/op.h; this is version {_VERSION}"
        )
    return [_ufunc(op, where, library) for op in table.ops[: table.num_ops]]


_lock = threading.Lock()
_loaded = {}


def load_library(path):
    """Loads operators compiled against asnumpy/op.h, and registers them in asnumpy.ops.

    Parameters
    ----------
    path : str or path
        A shared library that exports a table of operators (ASNP_OPS, ASNP_TWO_PHASE). The same library
        again gives the same operators.

    Returns
    -------
    Library
        Its operators as attributes: functions like ufuncs, with broadcasting, out, where, dtype,
        casting and, where they take two arguments, reduce and its relatives; and two-phase operators.

    Raises
    ------
    OSError
        The file is no library that loads.
    ValueError
        It has no table, or a wrong one.
    RuntimeError
        An operator of the name is registered already.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.load_library("no_such_library.so")
    Traceback (most recent call last):
        ...
    OSError: ...
    """
    where = str(pathlib.Path(path).resolve())
    with _lock:
        if where in _loaded:
            return _loaded[where]
        library = ctypes.CDLL(where)
        functions = {f.__name__: f for f in _loop_operators(library, where)}
        functions.update((f.__name__, f) for f in two_phase_operators(library, where))
        if not functions:
            raise ValueError(
                f"{where} exports no asnumpy_ops: it must say ASNP_OPS(...) or ASNP_TWO_PHASE(...), see asnumpy/op.h"
            )
        done = []
        try:
            for name, function in functions.items():
                _registry.add(name, function, (None, None, 0), "load_library", where, 0)
                done.append(name)
        except Exception:
            for name in done:
                _registry.remove(name, (None, None, 0))
            raise
        _loaded[where] = Library(where, functions)
        return _loaded[where]
