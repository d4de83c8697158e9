"""The registry of operators: the table's own, and those that programs add.

An operator has implementations: for everything, for a device, for a dtype, or for a dtype on a device. A call takes
the most specific one that fits its arrays, and among those the one of the highest priority:

    @asnumpy.ops.register("relu")
    def relu(x):
        return asnumpy.maximum(x, 0)

    @asnumpy.ops.register("relu", dtype="float32", device="cpu")
    def relu_float32(x): ...

    asnumpy.ops.relu(x)

Any thread may register, remove and call. `aclnn` calls CANN's own two-phase operators and those of custom packages.
"""

import builtins
import functools
import sys
import threading

import numpy as _np

from . import _core
from ._custom._cann import aclnn

__all__ = ["Operator", "aclnn", "find", "list", "register", "unregister"]


class Operator:
    """An implementation of an operator.

    Attributes
    ----------
    name : str
    function : callable
    device : str or None
        "cpu" or "ascend", perhaps with a number ("ascend:1"); None: any.
    dtype : dtype or None
        None: any.
    priority : int
    owner : str
        The module that registered it.
    file : str
    line : int
        Where; line 0: the file is "built in", or a library.
    """

    __slots__ = ("device", "dtype", "file", "function", "line", "name", "owner", "priority")

    def __init__(self, name, function, device, dtype, priority, owner, file, line):
        self.name, self.function, self.priority = name, function, priority
        self.device, self.dtype = device, dtype
        self.owner, self.file, self.line = owner, file, line

    def __repr__(self):
        return f"<operator {self.name!r} {_level_text(self.device, self.dtype, self.priority)} by {self.place}>"

    @property
    def level(self):
        """ "global", "device" or "dtype"."""
        return (
            "dtype" if self.dtype is not None else "device" if self.device is not None else "global"
        )

    @property
    def place(self):
        """Who registered it, and where."""
        return (
            f"{self.owner} at {self.file}:{self.line}"
            if self.line
            else f"{self.owner} ({self.file})"
        )


_lock = threading.RLock()
_table = {}  # name -> {(device, dtype, priority): Operator}


@functools.cache
def _built_in():
    """Puts the operation table's ufuncs into the registry, once."""
    for name, function in _core.ufuncs.items():
        entry = Operator(name, function, None, None, 0, "asnumpy", "built in", 0)
        _table.setdefault(name, {})[None, None, 0] = entry


def _key(name, device, dtype, priority):
    if (
        not (isinstance(name, str) and name.isidentifier())
        or name in globals()
        or name.startswith("_")
    ):
        raise ValueError(
            f"{name!r} is no name for an operator: it must be an identifier, not one of {__all__}"
        )
    if device is not None:
        kind, _, number = device.partition(":")
        if kind not in ("cpu", "ascend") or (":" in device and not number.isdigit()):
            raise ValueError(
                f"operator {name!r}: device is {device!r}; it may be 'cpu', 'ascend' or 'ascend:1'"
            )
    if not isinstance(priority, int):
        raise TypeError(
            f"operator {name!r}: priority is a {type(priority).__name__}; it must be an int"
        )
    return device, None if dtype is None else _np.dtype(dtype), priority


def _level_text(device, dtype, priority):
    told = [f"dtype {dtype}"] if dtype is not None else []
    told += [f"device {device}"] if device is not None else []
    return f"for {' on '.join(told) if told else 'everything'} with priority {priority}"


def _add(name, function, key, owner, file, line):
    """Registers; RuntimeError when the key is taken."""
    key = _key(name, *key)
    if not callable(function):
        raise TypeError(f"operator {name!r}: a {type(function).__name__} cannot be called")
    entry = Operator(name, function, *key, owner, file, line)
    with _lock:
        _built_in()
        known = _table.setdefault(name, {}).setdefault(key, entry)
    if known is not entry:
        raise RuntimeError(
            f"operator {name!r} is already registered {_level_text(*key)} by {known.place}"
        )


def register(name, function=None, *, device=None, dtype=None, priority=0):
    """Adds an implementation of an operator.

    Parameters
    ----------
    name : str
        An identifier: the operator is then ``asnumpy.ops.NAME``.
    function : callable, optional
        Without it a decorator is returned.
    device : str, optional
        "cpu" or "ascend", perhaps with a number: only for arrays there.
    dtype : dtype, optional
        Only where the promoted dtype of the arrays is this one.
    priority : int, optional
        Among equally specific implementations the highest is called.

    Returns
    -------
    callable
        The function.

    Raises
    ------
    RuntimeError
        The operator has an implementation of the same device, dtype and priority.
    ValueError
        A name that is no identifier, or a name of this module's; an unknown device.
    """
    frame = sys._getframe(1)
    owner, file, line = (
        frame.f_globals.get("__name__", "?"),
        frame.f_code.co_filename,
        frame.f_lineno,
    )
    key = _key(name, device, dtype, priority)

    def add(implementation):
        _add(name, implementation, key, owner, file, line)
        return implementation

    return add if function is None else add(function)


def unregister(name, *, device=None, dtype=None, priority=0):
    """Removes an implementation, the one that `register` added with the same arguments.

    Returns
    -------
    callable
        The function.

    Raises
    ------
    LookupError
        There is none.
    ValueError
        It is built in.
    """
    key = _key(name, device, dtype, priority)
    with _lock:
        _built_in()
        entry = _table.get(name, {}).get(key)
        if entry is None:
            raise LookupError(f"operator {name!r} is not registered {_level_text(*key)}")
        if entry.file == "built in":
            raise ValueError(
                f"operator {name!r} is built in; register another of a higher priority instead"
            )
        del _table[name][key]
        if not _table[name]:
            del _table[name]
    return entry.function


def _fits(entry, device, dtype):
    here = (
        entry.device is None or device == entry.device or device.partition(":")[0] == entry.device
    )
    return here and (entry.dtype is None or entry.dtype == dtype)


def _rank(entry):
    specific = 0 if entry.device is None else 2 if ":" in entry.device else 1
    return entry.dtype is not None, specific, entry.priority


def find(name, *, device=None, dtype=None):
    """The implementation that a call would take.

    Parameters
    ----------
    name : str
    device : str, optional
        By default the device in use.
    dtype : dtype, optional
        By default none: what is registered for a dtype does not count.

    Returns
    -------
    Operator

    Raises
    ------
    LookupError
        No operator has the name, or none of its implementations fits.
    """
    device = _core.empty(0).device if device is None else device
    dtype = None if dtype is None else _np.dtype(dtype)
    with _lock:
        _built_in()
        entries = builtins.list(_table.get(name, {}).values())
    fitting = [entry for entry in entries if _fits(entry, device, dtype)]
    if fitting:
        return max(fitting, key=_rank)
    if not entries:
        raise LookupError(f"no operator {name!r} is registered")
    levels = "; ".join(_level_text(e.device, e.dtype, e.priority) for e in entries)
    raise LookupError(
        f"operator {name!r} has no implementation for {dtype} on {device}; it has: {levels}"
    )


def list(name=None):  # noqa: A001 - its name
    """All implementations, or those of one operator, in the order in which calls prefer them.

    Returns
    -------
    list of Operator
    """
    with _lock:
        _built_in()
        names = sorted(_table) if name is None else [name] if name in _table else []
        return [e for n in names for e in sorted(_table[n].values(), key=_rank, reverse=True)]


def _arrays(args):
    for x in args:
        if isinstance(x, (_core.ndarray, _np.ndarray, _np.generic)):
            yield x
        elif type(x) in (tuple, builtins.list):
            yield from _arrays(x)


def _call(name, args, kwargs):
    arrays = builtins.list(_arrays(args))
    dtypes = {a.dtype for a in arrays}
    dtype = _np.result_type(*dtypes) if dtypes else None
    device = next((a.device for a in arrays if isinstance(a, _core.ndarray)), None)
    return find(name, device=device, dtype=dtype).function(*args, **kwargs)


def __getattr__(name):
    with _lock:
        _built_in()
        known = name in _table
    if not known:
        raise AttributeError(
            f"asnumpy.ops has no operator {name!r}: register it, or load its library"
        )

    def operator(*args, **kwargs):
        return _call(name, args, kwargs)

    operator.__name__ = operator.__qualname__ = name
    operator.__doc__ = (
        f"The registered operator {name}: calls the implementation that fits the arrays best."
    )
    return operator


def __dir__():
    with _lock:
        _built_in()
        return sorted({*__all__, *_table})
