"""The registry of operators: the table's own, and those that programs add.

An operator has implementations: for everything, for a device, for a dtype, or for a dtype on a device. A call takes
the most specific one that fits its arrays, and among those the one of the highest priority:

    @asnumpy.ops.register("relu")
    def relu(x):
        return asnumpy.maximum(x, 0)

    @asnumpy.ops.register("relu", dtype="float32", device="cpu")
    def relu_float32(x): ...

    asnumpy.ops.relu(x)

Names may have a namespace (npu::custom_matmul_v2), and ATen's are answered (aten::mm): getattr and dispatch_operator call
those. Any thread may register, remove and call. `aclnn` calls CANN's own two-phase operators and those of custom packages.
"""

import sys
from builtins import list as _list

from ._custom import _registry
from ._custom._acl_tensor import AclTensor
from ._custom._cann import aclnn
from ._custom._registry import Operator
from ._custom._safe import safe

__all__ = [
    "AclTensor",
    "Operator",
    "aclnn",
    "dispatch_operator",
    "find",
    "list",
    "register",
    "register_aten_op",
    "safe",
    "share",
    "unregister",
]


def _place(frame):
    """Who registers, and where: (module, file, line) of a frame."""
    return frame.f_globals.get("__name__", "?"), frame.f_code.co_filename, frame.f_lineno


def register(name, function=None, *, device=None, dtype=None, priority=0, replace=False):
    """Adds an implementation of an operator.

    Parameters
    ----------
    name : str
        An identifier: the operator is then asnumpy.ops.NAME. Or one behind a namespace (npu::NAME),
        which dispatch_operator and getattr call.
    function : callable, optional
        Without it a decorator is returned.
    device : str, optional
        "cpu" or "ascend", perhaps with a number: only for arrays there.
    dtype : dtype, optional
        Only where the promoted dtype of the arrays is this one.
    priority : int
        Among equally specific implementations the highest is called.
    replace : bool
        Whether it takes the ufunc's place, too: in its calls and operators (np.add(a, b), a + b,
        a += b), for arrays for which it is registered.

    Returns
    -------
    callable
        The function.

    Raises
    ------
    RuntimeError
        The operator has an implementation of the same device, dtype and priority.
    ValueError
        A name that is no identifier, or a name of this module's; an unknown device; replace with a
        name that is no ufunc's, or a generalised one's, or with a priority for everything that
        is not above the built-in's, 0.

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
    place = _place(sys._getframe(1))
    key = _registry.key_of(name, device, dtype, priority)

    def add(implementation):
        _registry.add(name, implementation, key, *place, replace)
        return implementation

    return add if function is None else add(function)


def register_aten_op(name, impl=None, priority=1, *, dtype=None, device=None, replace=False):
    """Adds an implementation of an operator of ATen's, by default for everything.

    Parameters
    ----------
    name : str
        "aten::mm" or "mm".
    impl : callable, optional
        Without it a decorator is returned.
    priority : int
        0 is the priority of what is built in.
    dtype, device
        As in register.
    replace : bool
        Whether it takes the ufunc's place, too: in its calls and operators (np.add(a, b), a + b,
        a += b), for arrays for which it is registered.

    Returns
    -------
    callable
        The function.

    Raises
    ------
    RuntimeError
        The name has an implementation of that priority.
    ValueError
        A name that is no identifier; an unknown device; replace as in register.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.ops.dispatch_operator("aten::sub", (np.array([3, 4]), 1))
    array([2, 3])
    >>> _ = np.ops.register_aten_op("sub", lambda a, b: "mine", priority=10)
    >>> np.ops.dispatch_operator("aten::sub", (np.array([3, 4]), 1))
    'mine'
    >>> _ = np.ops.unregister("aten::sub", priority=10)
    >>> _ = np.ops.register_aten_op("aten::add", lambda a, b: a - b, dtype="float32", replace=True)
    >>> np.ones(2, "float32") + 1, np.ones(2) + 1
    (array([0., 0.], dtype=float32), array([2., 2.]))
    >>> _ = np.ops.unregister("aten::add", dtype="float32", priority=1)
    """
    place = _place(sys._getframe(1))
    full = f"aten::{name}" if isinstance(name, str) and "::" not in name else name
    key = _registry.key_of(full, device, dtype, priority)

    def add(implementation):
        _registry.add(full, implementation, key, *place, replace)
        return implementation

    return add if impl is None else add(impl)


def dispatch_operator(name, args=(), context=None):
    """Calls an operator by its name.

    Parameters
    ----------
    name : str
        "add", "npu::custom_matmul_v2", "aten::mm", ...
    args : tuple or list
        The implementation is called as function(*args).
    context : dict, optional
        "device" and "dtype" choose the implementation instead of the arrays; "stream" is the stream on
        which it works; "kwargs" are further arguments by name. Any may be left out.

    Returns
    -------
    object
        What the implementation returns.

    Raises
    ------
    LookupError
        No operator has the name, or none of its implementations fits.
    TypeError
        args is neither a tuple nor a list.
    ValueError
        The context has another key.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.ops.dispatch_operator("aten::mm", (np.eye(2), np.eye(2)))
    array([[1., 0.],
           [0., 1.]])
    >>> np.ops.dispatch_operator("hypot", (np.array([3.0]), 4), {"dtype": "float64"})
    array([5.])
    """
    if context or args.__class__ not in (tuple, _list):
        return _registry.dispatch(name, args, context or {})
    call = _registry.call_of(name)
    if call is None:
        raise LookupError(f"no operator {name!r} is registered")
    return call(*args)


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
    return _registry.remove(name, _registry.key_of(name, device, dtype, priority))


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
    _registry.share(library)


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
    return _registry.best(name, device, dtype)


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
    names = _registry.names() if name is None else [name]
    return [
        entry
        for each in names
        for entry in sorted(_registry.entries_of(each), key=_registry.rank, reverse=True)
    ]


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(f"module 'asnumpy.ops' has no attribute {name!r}")
    call = _registry.call_of(name)
    if call is None:
        raise AttributeError(
            f"asnumpy.ops has no operator {name!r}: register it, or load its library"
        )
    return call


def __dir__():
    return sorted({*__all__, *(name for name in _registry.names() if "::" not in name)})


_registry.RESERVED.update(name for name in globals() if not name.startswith("_"))
_registry.MODULE = globals()
