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
from ._custom._acl_tensor import AclTensor
from ._custom._cann import aclnn
from ._devices import plain_name

__all__ = ["AclTensor", "Operator", "aclnn", "find", "list", "register", "share", "unregister"]


class Operator:
    """An implementation of an operator, as find and list show it.

    Parameters
    ----------
    name : str
        Of the operator.
    function : callable
        What is called.
    device : str or None
        "cpu" or "ascend", perhaps with a number ("ascend:1"); None: any.
    dtype : dtype or None
        None: any.
    priority : int
        Among equally specific ones the highest is called.
    owner : str
        The module that registered it.
    file : str
        Where.
    line : int
        Where; 0: the file is "built in", or a library.

    Notes
    -----
    The parameters are attributes too.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.ops.find("add").owner
    'asnumpy'
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
        """How specific it is: "global", "device" or "dtype"."""
        return (
            "dtype" if self.dtype is not None else "device" if self.device is not None else "global"
        )

    @property
    def place(self):
        """The module that registered it, and where."""
        return (
            f"{self.owner} at {self.file}:{self.line}"
            if self.line
            else f"{self.owner} ({self.file})"
        )


_lock = threading.RLock()
_c_face = None  # of libasnumpy, once it is shared
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
        device = plain_name(device)
        kind, _, number = device.partition(":")
        if kind not in ("cpu", "ascend") or (":" in device and not number.isdigit()):
            raise ValueError(
                f"operator {name!r}: device is {device!r}; it may be 'cpu', 'ascend' or 'ascend:1' "
                "('npu' is another word for 'ascend')"
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
        _prune()
        known = _table.get(name, {}).get(key)
        if known is None:
            if _c_face is not None:
                _c_face.add(entry)
            known = _table.setdefault(name, {})[key] = entry
    if known is not entry:
        raise RuntimeError(
            f"operator {name!r} is already registered {_level_text(*key)} by {known.place}"
        )


def register(name, function=None, *, device=None, dtype=None, priority=0):
    """Adds an implementation of an operator.

    Parameters
    ----------
    name : str
        An identifier: the operator is then asnumpy.ops.NAME.
    function : callable, optional
        Without it a decorator is returned.
    device : str, optional
        "cpu" or "ascend", perhaps with a number: only for arrays there.
    dtype : dtype, optional
        Only where the promoted dtype of the arrays is this one.
    priority : int
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

    Examples
    --------
    >>> import asnumpy as np
    >>> @np.ops.register("rectify")
    ... def rectify(x):
    ...     return np.maximum(x, 0)
    >>> np.ops.rectify(np.array([-1, 2]))
    array([0, 2])
    >>> _ = np.ops.unregister("rectify")
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
    """Removes an implementation, the one that register added with the same arguments.

    Parameters
    ----------
    name : str
        The operator.
    device, dtype, priority
        As they were given to register.

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

    Examples
    --------
    >>> import asnumpy as np
    >>> _ = np.ops.register("thrice", lambda x: 3 * x)
    >>> np.ops.unregister("thrice")(2)
    6
    """
    key = _key(name, device, dtype, priority)
    with _lock:
        _built_in()
        _prune()
        entry = _table.get(name, {}).get(key)
        if entry is None and _c_face is not None:
            theirs = [e for e in _entries(name) if (e.device, e.dtype, e.priority) == key]
            if theirs:
                _c_face.unregister(theirs[0])
                return theirs[0].function
        if entry is None:
            raise LookupError(f"operator {name!r} is not registered {_level_text(*key)}")
        if entry.file == "built in":
            raise ValueError(
                f"operator {name!r} is built in; register another of a higher priority instead"
            )
        if _c_face is not None:
            _c_face.remove(entry)
        del _table[name][key]
        if not _table[name]:
            del _table[name]
    return entry.function


def share(library=None):
    """Makes this registry and that of the C binding (asnumpy/registry.h) one, in a process that has both.

    From then on what either face registers or removes is found, called and listed by the other; arrays
    are copied between them. What is registered for bfloat16 stays with its own face.

    Parameters
    ----------
    library : str, path or ctypes.CDLL, optional
        libasnumpy; by default the one that the process has loaded, else the package's own.

    Returns
    -------
    None

    Raises
    ------
    OSError
        There is no such library.
    RuntimeError
        Both have an implementation of the same operator, device, dtype and priority; or another library
        is shared.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.ops.share("no_such_library.so")
    Traceback (most recent call last):
        ...
    OSError: ...
    """
    global _c_face
    from ._custom._c_face import CFace

    with _lock:
        _built_in()
        face = CFace(library)
        if _c_face is not None:
            if _c_face.address != face.address:
                raise RuntimeError("the registry is shared with another libasnumpy already")
            return
        face.add_all([e for entries in _table.values() for e in entries.values()])
        _c_face = face


def _entries(name):
    """All implementations of a name, those of the C binding among them."""
    _prune()
    own = builtins.list(_table.get(name, {}).values())
    return own if _c_face is None else own + [e for e in _c_face.entries() if e.name == name]


def _prune():
    """Forgets what the C binding has removed."""
    for entry in () if _c_face is None else _c_face.removed():
        entries = _table.get(entry.name, {})
        entries.pop((entry.device, entry.dtype, entry.priority), None)
        if not entries:
            _table.pop(entry.name, None)


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
        The operator.
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

    Examples
    --------
    >>> import asnumpy as np
    >>> np.ops.find("sin").level
    'global'
    """
    device = _core.empty(0).device if device is None else plain_name(device)
    dtype = None if dtype is None else _np.dtype(dtype)
    with _lock:
        _built_in()
        entries = _entries(name)
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

    Parameters
    ----------
    name : str, optional
        The operator.

    Returns
    -------
    list of Operator

    Examples
    --------
    >>> import asnumpy as np
    >>> [implementation.owner for implementation in np.ops.list("sin")]
    ['asnumpy']
    """
    with _lock:
        _built_in()
        names = _names() if name is None else [name]
        return [e for n in names for e in sorted(_entries(n), key=_rank, reverse=True)]


def _names():
    _prune()
    theirs = () if _c_face is None else (e.name for e in _c_face.entries())
    return sorted({*_table, *theirs})


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
    device = next((a.device for a in arrays if _core._is_array(a)), None)
    return find(name, device=device, dtype=dtype).function(*args, **kwargs)


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(f"module 'asnumpy.ops' has no attribute {name!r}")
    with _lock:
        _built_in()
        known = bool(_entries(name))
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
        return sorted({*__all__, *_names()})
