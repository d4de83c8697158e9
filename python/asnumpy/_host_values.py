"""Values for code that takes NumPy's arrays alone: ours are NumPy's over the same memory, in lists, tuples
and dicts, too.

One walk for all who hand values on: NumPy's own functions (`_support`, `_io`, `testing`), libraries that
are adapted (`_adapters`), and calls of programs that were not changed (`auto`), each with what it makes of
a single value. What holds nothing to convert stays itself, so that who is given it knows it again.
"""

from types import FunctionType

import numpy as _np

from . import _core

__all__ = ["converted", "host", "host_array", "host_copy"]

# Types of what is never converted, neither itself nor by what it holds.
PLAIN = frozenset([int, float, complex, bool, str, bytes, slice, type(None), FunctionType, _np.ndarray,
                   _np.float64, _np.int64])  # fmt: skip


def host_array(array):
    """NumPy's array over one of ours; from an NPU a read-only copy, since nobody would see what is written
    to it."""
    made = _np.asarray(array)
    if made.flags.writeable and not array.device.startswith("cpu"):
        made.flags.writeable = False
    return made


def converted(x, one, inside=()):
    """x with what `one` makes of each value that is no list, tuple or dict; `inside`: the lists and
    dicts around it, which are not entered again."""
    cls = type(x)
    if cls in PLAIN:
        return x
    if cls is not list and cls is not tuple and cls is not dict:
        return one(x)
    items = x.values() if cls is dict else x
    if PLAIN.issuperset(map(type, items)) or (inside and any(x is y for y in inside)):
        return x
    inside = (*inside, x)
    made = [converted(y, one, inside) for y in items]
    if all(a is b for a, b in zip(made, items, strict=True)):
        return x
    return dict(zip(x, made, strict=True)) if cls is dict else cls(made)


def _read_only(x):
    return host_array(x) if _core._is_array(x) else x


def _copied(x):
    return _np.asarray(x) if _core._is_array(x) else x


def host(x):
    """x for a library: from an NPU copies that cannot be written to."""
    return converted(x, _read_only)


def host_copy(x):
    """x for a function of NumPy's whose writes the caller brings back to an NPU."""
    return converted(x, _copied)
