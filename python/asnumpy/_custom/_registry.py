"""The registry behind asnumpy.ops: the table of implementations, how one is found, and the calls.

A call of an operator looks its implementation up once for each kind of arguments (the arrays' dtypes, the first one's
device) and keeps the answer. Whatever is registered or removed gives every operator an empty store: a call that looked
in the table before puts its answer into the store of before, which nobody reads any more. So calls take no lock.

ATen's names of what the library has answer with what is registered for the name itself, for it without the kinds of
operands (aten::add of aten::add.Tensor), and for the ufunc or function that it stands for.
"""

import builtins
import functools
import re
import threading

import numpy as np

from .. import _core
from .._devices import plain_name
from ._aten import aten_function, aten_ufunc

LOCK = threading.RLock()
NAME = re.compile(r"[^\W\d]\w*(::[^\W\d]\w*(\.[^\W\d]\w*)?)?")
RESERVED = set()  # of names without a namespace: those of the module, which it adds
_table = {}  # name -> {(device, dtype, priority): Operator}
_face = None  # of libasnumpy, once it is shared
_calls = {}  # name -> what calls the operator
# The module asnumpy.ops, where Python finds a call by itself from the second time on; not one of a built-in's name, which
# the module's own code may mean.
MODULE = {}


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
    replace : bool
        Whether it takes the place of the ufunc of the name, too.

    Notes
    -----
    The parameters are attributes too.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.ops.find("add").owner
    'asnumpy'
    """

    __module__ = "asnumpy.ops"
    __slots__ = (
        "device", "dtype", "file", "function", "line", "name", "owner", "priority", "replace"
    )  # fmt: skip

    def __init__(self, name, function, device, dtype, priority, owner, file, line, replace=False):
        self.replace = replace
        self.name, self.function, self.priority = name, function, priority
        self.device, self.dtype = device, dtype
        self.owner, self.file, self.line = owner, file, line

    def __repr__(self):
        return f"<operator {self.name!r} {level_text(self.device, self.dtype, self.priority)} by {self.place}>"

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


def built_in_ufuncs():
    """Puts the operation table's ufuncs into the registry, once."""
    with LOCK:
        _built_in()


@functools.cache
def _built_in():
    for name, function in _core.ufuncs.items():
        entry = Operator(name, function, None, None, 0, "asnumpy", "built in", 0)
        _table.setdefault(name, {})[None, None, 0] = entry


def key_of(name, device, dtype, priority):
    """What implementations of a name are told apart by; ValueError, TypeError."""
    if (
        not (isinstance(name, str) and NAME.fullmatch(name))
        or name in RESERVED
        or name.startswith("_")
    ):
        raise ValueError(
            f"{name!r} is no name for an operator: it must be an identifier, perhaps behind a namespace ('npu::name'), "
            f"not one of {sorted(RESERVED)}"
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
    return device, None if dtype is None else np.dtype(dtype), priority


def level_text(device, dtype, priority):
    """The key in words."""
    told = [f"dtype {dtype}"] if dtype is not None else []
    told += [f"device {device}"] if device is not None else []
    return f"for {' on '.join(told) if told else 'everything'} with priority {priority}"


def add(name, function, key, owner, file, line, replace=False):
    """Registers; RuntimeError when the key is taken, ValueError where no ufunc can be replaced."""
    key = key_of(name, *key)
    if not isinstance(replace, (bool, np.bool_)):
        raise TypeError(
            f"operator {name!r}: replace is a {type(replace).__name__}; it must be a bool"
        )
    if replace and ufunc_to_replace(name) and key[:2] == (None, None) and key[2] <= 0:
        raise ValueError(
            f"operator {name!r} replaces nothing: what is built in has priority 0, and comes before priority {key[2]} for everything"
        )
    if not callable(function):
        raise TypeError(f"operator {name!r}: a {type(function).__name__} cannot be called")
    entry = Operator(name, function, *key, owner, file, line, bool(replace))
    with LOCK:
        _built_in()
        _prune()
        known = _table.get(name, {}).get(key)
        if known is None and key == (None, None, 0):
            known = _built_in_aten(name)
        if known is None:
            if _face is not None:
                _face.add(entry)
            known = _table.setdefault(name, {})[key] = entry
            forget()
            if replace:
                _replace_again(name)
    if known is not entry:
        raise RuntimeError(
            f"operator {name!r} is already registered {level_text(*key)} by {known.place}"
        )


def remove(name, key):
    """Takes an implementation out; its function. LookupError, ValueError."""
    with LOCK:
        _built_in()
        _prune()
        entry = _table.get(name, {}).get(key)
        if entry is None and _face is not None:
            theirs = [e for e in _own_entries(name) if (e.device, e.dtype, e.priority) == key]
            if theirs:
                _face.unregister(theirs[0])
                return theirs[0].function
        if entry is None and key == (None, None, 0):
            entry = _built_in_aten(name)
        if entry is None:
            raise LookupError(f"operator {name!r} is not registered {level_text(*key)}")
        if entry.file == "built in":
            raise ValueError(
                f"operator {name!r} is built in; register another of a higher priority instead"
            )
        if _face is not None:
            _face.remove(entry)
        del _table[name][key]
        if not _table[name]:
            del _table[name]
        forget()
        if entry.replace:
            _replace_again(name)
    return entry.function


def share(library):
    """Makes this registry and libasnumpy's one (asnumpy.ops.share)."""
    global _face
    from ._c_face import CFace

    with LOCK:
        _built_in()
        face = CFace(library)
        if _face is not None:
            if _face.address != face.address:
                raise RuntimeError("the registry is shared with another libasnumpy already")
            return
        face.add_all([e for entries in _table.values() for e in entries.values()])
        _face = face
        forget()


def _prune():
    """Forgets what the C binding has removed."""
    for entry in () if _face is None else _face.removed():
        entries = _table.get(entry.name, {})
        entries.pop((entry.device, entry.dtype, entry.priority), None)
        if not entries:
            _table.pop(entry.name, None)
        if entry.replace:
            _replace_again(entry.name)


def _own_entries(name):
    """The implementations of just this name, those of the C binding among them."""
    _prune()
    own = list(_table.get(name, {}).values())
    return own if _face is None else own + [e for e in _face.entries() if e.name == name]


def _built_in_aten(name):
    """What answers a name of ATen's, where it is no ufunc under its own name; None: nothing."""
    ufunc = aten_ufunc(name)
    function = aten_function(name) if ufunc is None else _core.ufuncs[ufunc]
    if function is None:
        return None
    return Operator(name, function, None, None, 0, "asnumpy", "built in", 0)


def entries_of(name):
    """All implementations that a call of a name considers; of equal rank the first is taken."""
    with LOCK:
        _built_in()
        found = _own_entries(name)
        namespace, _, rest = name.partition("::")
        if namespace != "aten" or not rest:
            return found
        plain = name.partition(".")[0]
        found += _own_entries(plain) if plain != name else []
        ufunc = aten_ufunc(name)
        found += _own_entries(ufunc) if ufunc is not None else []
        built_in = _built_in_aten(name) if ufunc is None else None
        return found + ([built_in] if built_in else [])


def names():
    """Of all operators, without those of ATen's that nobody registered."""
    with LOCK:
        _built_in()
        _prune()
        theirs = () if _face is None else (e.name for e in _face.entries())
        return sorted({*_table, *theirs})


def rank(entry):
    """The higher, the more specific; then the priority."""
    specific = 0 if entry.device is None else 2 if ":" in entry.device else 1
    return entry.dtype is not None, specific, entry.priority


# ---- in a ufunc's place (src/python/ufunc/replaced.c)


def ufunc_to_replace(name):
    """The name of the ufunc that an operator of this name can replace; ValueError."""
    ufunc = name if name in _core.ufuncs else aten_ufunc(name)
    if ufunc is None:
        raise ValueError(
            f"operator {name!r} replaces nothing: replace=True is for the names of ufuncs ('add', 'aten::add')"
        )
    if _core.ufuncs[ufunc].signature is not None:
        raise ValueError(
            f"operator {name!r} replaces nothing: {ufunc} is a generalised ufunc; ufuncs of elements can be replaced"
        )
    return ufunc


def _replace_again(name):
    """Tells the ufunc what stands in its place now. The lock is held."""
    ufunc = ufunc_to_replace(name)
    mine = [
        entry
        for each, entries in _table.items()
        for entry in entries.values()
        if entry.replace and (each == ufunc or aten_ufunc(each) == ufunc)
    ]
    _core._replace_ufunc(_core.ufuncs[ufunc], _finder(mine) if mine else None)


def _finder(entries):
    """What a ufunc asks for each call: of (loop's dtype, an array or None) the function, or None."""
    entries = sorted(entries, key=rank, reverse=True)
    known = {}  # {(dtype, device): function}; entries never change

    def find(dtype, array):
        device = _core.empty(0).device if array is None else array.device
        try:
            return known[dtype, device]
        except KeyError:
            function = next((e.function for e in entries if _fits(e, device, dtype)), None)
            return known.setdefault((dtype, device), function)

    return find


def callable_of(entry):
    """What a call by the operator's name calls: an implementation reaches the built-in ufunc then, too."""
    if not entry.replace:
        return entry.function
    ufunc, function = _core.ufuncs[ufunc_to_replace(entry.name)], entry.function

    def call(*args, **kwargs):
        return _core._call_beside(ufunc, function, args, kwargs)

    return call


def _fits(entry, device, dtype):
    here = (
        entry.device is None or device == entry.device or device.partition(":")[0] == entry.device
    )
    return here and (entry.dtype is None or entry.dtype == dtype)


def best(name, device, dtype):
    """The implementation for a dtype (None: no arrays) on a device (None: the one in use); LookupError."""
    device = _core.empty(0).device if device is None else plain_name(device)
    dtype = None if dtype is None else np.dtype(dtype)
    entries = entries_of(name)
    fitting = [entry for entry in entries if _fits(entry, device, dtype)]
    if fitting:
        return max(fitting, key=rank)
    if not entries:
        raise LookupError(f"no operator {name!r} is registered")
    levels = "; ".join(level_text(e.device, e.dtype, e.priority) for e in entries)
    raise LookupError(
        f"operator {name!r} has no implementation for {dtype} on {device}; it has: {levels}"
    )


# ---- calls


def dispatch(name, args, context):
    """Calls an operator as asnumpy.ops.dispatch_operator says."""
    if not isinstance(args, (tuple, list)):
        raise TypeError(
            f"operator {name!r}: args is a {type(args).__name__}; it must be a tuple or a list"
        )
    known = ("device", "dtype", "kwargs", "stream")
    if wrong := sorted(set(context) - set(known)):
        raise ValueError(f"operator {name!r}: the context has {wrong}; it may have {list(known)}")
    device, dtype, kwargs, stream = map(context.get, known)
    here, of_arrays = _kind_of(args)
    function = callable_of(best(name, device or here, of_arrays if dtype is None else dtype))
    if stream is None:
        return function(*args, **(kwargs or {}))
    from .._streams import stream as current

    with current(stream):
        return function(*args, **(kwargs or {}))


def _arrays(args):
    for x in args:
        if isinstance(x, (_core.ndarray, np.ndarray, np.generic)):
            yield x
        elif type(x) in (tuple, list):
            yield from _arrays(x)


def _kind_of(args):
    """(device, dtype) of a call, as best takes them."""
    arrays = list(_arrays(args))
    dtypes = {a.dtype for a in arrays}
    device = next((a.device for a in arrays if _core._is_array(a)), None)
    device = _core.empty(0).device if device is None else device  # the one in use may change
    return device, np.result_type(*dtypes) if dtypes else None


def forget():
    """Every operator looks its implementations up again. The lock is held."""
    for name, call in _calls.items():
        call.store, call.shared = {}, (None, {})
        if call.known:
            call.known = False
            MODULE.pop(name, None)


# Beside arrays these do not decide which implementation is taken.
_NUMBERS = frozenset((int, float, bool, complex, str, type(None)))


# What calls an operator. (No text of the class: each object has its own.)
class Call:
    __slots__ = ("__doc__", "__name__", "__qualname__", "known", "shared", "store")

    def __init__(self, name):
        self.__name__ = self.__qualname__ = name
        self.__doc__ = (
            f"The registered operator {name}: calls the implementation that fits the arrays best."
        )
        self.store, self.shared, self.known = {}, (None, {}), False

    def __call__(self, *args, **kwargs):
        # The store is taken before the table is looked at: see above.
        store = self.store if _face is None else self._shared_store()
        array, n = _core.ndarray, len(args)
        if n == 2 and type(args[0]) is array:
            a, b = args
            kind = type(b)
            if kind is array:
                key = a.dtype, b.dtype, a.device
            elif kind in _NUMBERS:
                key = a.dtype, None, a.device
            else:
                key = _kind_of(args)
        elif n == 1 and type(args[0]) is array:
            key = args[0].dtype, None, args[0].device
        else:
            key = _kind_of(args)
        try:
            function = store[key]
        except KeyError:
            function = store[key] = callable_of(best(self.__name__, *_kind_of(args)))
        return function(*args, **kwargs)

    def __repr__(self):
        return f"<operator {self.__name__!r}>"

    def _shared_store(self):
        """The store where C registers and removes without telling: of the registry's present version.

        Both are one object, so that another thread's change never makes an old store look new.
        """
        shared, version = self.shared, _face.version()
        if shared[0] != version:
            shared = self.shared = version, {}
        return shared[1]


def call_of(name):
    """What calls an operator, the same object as long as the process lives; None where there is no operator."""
    call = _calls.get(name)
    if call is not None and call.known and _face is None:
        return call
    with LOCK:
        if not entries_of(name):
            return None
        call = _calls.setdefault(name, Call(name))
        call.known = True
        if _face is None and name.isidentifier() and not hasattr(builtins, name):
            MODULE[name] = call
        return call
