"""CANN's custom operator packages: finding their libraries, calling their two-phase operators.

Where packages lie is public: `<package>/op_api/lib/libcust_opapi.so`, a package being an entry of
``$ASCEND_CUSTOM_OPP_PATH`` (or the folder of a dynamic library), or a folder of ``opp/vendors`` of the
toolkit, whose ``config.ini`` may order them (``load_priority=a,b``).
"""

import contextlib
import ctypes
import os
import pathlib
import threading

import numpy as np

from .. import _core

_NAME = "libcust_opapi.so"


def _vendors(folder):
    """The packages of a folder `vendors`, the ones that its config.ini names first."""
    if not folder.is_dir():
        return []
    found = sorted(p.name for p in folder.iterdir() if p.is_dir())
    order = []
    with contextlib.suppress(OSError):
        for line in (folder / "config.ini").read_text().splitlines():
            key, _, value = line.partition("=")
            if key.strip() == "load_priority":
                order = [v.strip() for v in value.split(",") if v.strip()]
    return [
        folder / v
        for v in [*(v for v in order if v in found), *(v for v in found if v not in order)]
    ]


def libraries():
    """The libraries of custom operators on this machine, in the order in which they are looked through.

    Returns
    -------
    list of pathlib.Path
    """
    entries = [
        pathlib.Path(p) for p in os.environ.get("ASCEND_CUSTOM_OPP_PATH", "").split(":") if p
    ]
    found = [p / _NAME for p in entries if p.parts[-2:] == ("op_api", "lib")]
    packages = [p for p in entries if p.parts[-2:] != ("op_api", "lib")]
    roots = [os.environ.get("ASCEND_OPP_PATH")]
    roots += [
        home + "/opp"
        for home in (os.environ.get("ASCEND_HOME_PATH"), os.environ.get("ASCEND_TOOLKIT_HOME"))
        if home
    ]
    for root in dict.fromkeys(r for r in roots if r):
        packages += _vendors(pathlib.Path(root) / "vendors")
    found += [p / "op_api" / "lib" / _NAME for p in packages]
    return [p for p in dict.fromkeys(found) if p.exists()]


_lock = threading.Lock()
_opened = {}
_found = {}
# A first phase at an address. One class for all calls: making one takes longer than a call.
_Phase = ctypes.PYFUNCTYPE(ctypes.c_int32)


def _open(path):
    with _lock:
        if path not in _opened:
            # PyDLL: a call keeps Python's lock, which serialises the library's own calls of the device.
            _opened[path] = ctypes.PyDLL(str(path))
        return _opened[path]


def _address(library, symbol):
    function = getattr(library, symbol, None)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


def _find(name):
    """The addresses of an operator's two phases: custom packages, then CANN's own.

    An operator that was found is looked up once for each setting of the environment's variables: the
    folders and config.ini are read again for another setting, or for an operator that was not found.
    """
    key = (name, _core._acl_environment())
    phases = _found.get(key)
    if phases is None:
        phases = _found[key] = _look(name)
    return phases


def _look(name):
    """What `_find` keeps; LookupError where no library has both phases."""
    _core.init()  # the device's libraries, which the packages are linked to
    looked = libraries()
    for path in looked:
        library = _open(path)
        phases = (
            _address(library, f"aclnn{name}GetWorkspaceSize"),
            _address(library, f"aclnn{name}"),
        )
        if all(phases):
            return phases
    phases = _core._acl_find(name)
    if phases is None:
        told = (
            ", ".join(map(str, looked))
            or f"no {_NAME} ($ASCEND_CUSTOM_OPP_PATH, $ASCEND_HOME_PATH/opp/vendors)"
        )
        raise LookupError(f"there is no operator aclnn{name}: looked in {told}, and in CANN's own")
    return phases


class _Handles:
    """What the first phase takes for Python's values; everything made is dropped at the end."""

    def __init__(self, name):
        self.name, self.made, self.kept = name, [], []

    def _add(self, kind, handle):
        self.made.append((kind, handle))
        return ctypes.c_void_p(handle)

    def tensor(self, array, writes):
        self.kept.append(array)
        return self._add("tensor", _core._acl_tensor(array, writes))

    def argument(self, k, x):
        if type(x) is _core.ndarray:
            return self.tensor(x, False)
        if x is None:
            return ctypes.c_void_p(None)
        if isinstance(x, (_core.ndarray, np.ndarray)):
            return self.tensor(_core.asarray(x), False)
        if isinstance(x, np.generic):
            return self._add("scalar", _core._acl_scalar(x.tobytes(), x.dtype))
        for kind, c_type in (
            (bool, ctypes.c_bool),
            (int, ctypes.c_int64),
            (float, ctypes.c_double),
        ):
            if type(x) is kind:
                return c_type(x)
        if isinstance(x, str):
            return ctypes.c_char_p(x.encode())
        if isinstance(x, (tuple, list)) and all(type(v) is int for v in x):
            return self._add("ints", _core._acl_ints(tuple(x)))
        if isinstance(x, (tuple, list)) and all(_core._is_array(v) for v in x):
            return self.tensors(x, False)
        raise TypeError(
            f"{self.name}: argument {k} is a {type(x).__name__}; it may be an array (aclTensor), a NumPy scalar "
            "(aclScalar), int (int64_t), float (double), bool, str, None, or a tuple of ints (aclIntArray) or of "
            "arrays (aclTensorList)"
        )

    def tensors(self, arrays, writes):
        handles = tuple(self.tensor(a, writes).value for a in arrays)
        made = _core._acl_tensor_list(handles)
        del self.made[len(self.made) - len(handles) :]  # the list's now
        return self._add("list", made)

    def drop(self):
        for kind, handle in reversed(self.made):
            _core._acl_drop(kind, handle)


def aclnn(name, *args, outputs=()):
    """Calls one of CANN's two-phase operators: of a custom package, or CANN's own.

    Parameters
    ----------
    name : str
        Without "aclnn": aclnnFooGetWorkspaceSize and aclnnFoo are called.
    *args
        The first phase's parameters before the outputs, in its order: arrays (aclTensor), NumPy scalars
        (aclScalar), int (int64_t), float (double), bool, str (char *), None (a null pointer), tuples of
        ints (aclIntArray) and of arrays (aclTensorList). Nothing checks them against the operator: a
        wrong type is a wrong call.
    outputs : ndarray or tuple of ndarray
        Written by the operator; further parameters, in order. An input that is written is an output as
        well.

    Returns
    -------
    ndarray, or a tuple of them
        The outputs. The operator is queued: reading them waits.

    Raises
    ------
    LookupError
        No library has the operator.
    TypeError
        An argument that none of these stands for.
    RuntimeError
        The operator refused or failed: its code and CANN's message.

    Examples
    --------
    >>> import asnumpy as np
    >>> x = np.array([-2.0, 3.0], dtype=np.float32)
    >>> np.ops.aclnn("LeakyRelu", x, np.float32(0.5), outputs=np.empty_like(x))
    array([-1.,  3.], dtype=float32)
    """
    alone = _core._is_array(outputs)
    outputs = (outputs,) if alone else tuple(outputs)
    for k, x in enumerate(outputs):
        if not _core._is_array(x) or not x.flags.writeable:
            raise TypeError(
                f"aclnn{name}: output {k} is a {type(x).__name__}; it must be an asnumpy array to write"
            )
    call(f"aclnn{name}", _find(name), args, outputs)
    return outputs[0] if alone else outputs


def call(name, phases, args, outputs):
    """Both phases, at addresses, of an operator: values as `aclnn` takes them, then what is written."""
    first, second = phases
    plan = _Phase(first)
    handles = _Handles(name)
    workspace, executor = ctypes.c_uint64(0), ctypes.c_void_p(None)
    try:
        values = [handles.argument(k, x) for k, x in enumerate(args)]
        values += [handles.tensor(x, True) for x in outputs]
        code = plan(*values, ctypes.byref(workspace), ctypes.byref(executor))
        _core._acl_run(name, code, second, workspace.value, executor.value or 0)
    finally:
        handles.drop()
