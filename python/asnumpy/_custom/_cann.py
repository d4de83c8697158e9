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


def aclnn(name, *args, outputs=()):
    """Calls one of CANN's two-phase operators: of a custom package, or CANN's own.

    Parameters
    ----------
    name : str
        Without "aclnn": aclnnFooGetWorkspaceSize and aclnnFoo are called.
    *args
        The first phase's parameters in its order: arrays (aclTensor), NumPy scalars (aclScalar), int
        (int64_t), float (double), bool, str (char *), None (a null pointer), tuples of ints
        (aclIntArray) and of arrays (aclTensorList), ``...`` for the next output, where others follow
        it. Nothing checks them against the operator: a wrong type is a wrong call. At most 8 floats,
        and 62 other parameters with the outputs.
    outputs : ndarray or tuple of ndarray
        What the operator writes: the parameters for which args have ``...``, the others behind args, in
        order. Arrays of args are only read then. Where there are none, each array of args that may be
        written counts as written.

    Returns
    -------
    ndarray, or a tuple of them
        The outputs. The operator is queued: reading them waits.

    Raises
    ------
    LookupError
        No library has the operator.
    TypeError
        An argument that none of these stands for; an output that is no asnumpy array, or read-only.
    OverflowError
        An int beyond int64_t.
    ValueError
        More parameters than that; more than 64 ints or arrays in a tuple; more ``...`` than outputs.
    RuntimeError
        The operator refused or failed: its code and CANN's message.

    Examples
    --------
    >>> import asnumpy as np
    >>> x = np.array([-2.0, 3.0], dtype=np.float32)
    >>> np.ops.aclnn("LeakyRelu", x, np.float32(0.5), outputs=np.empty_like(x))
    array([-1.,  3.], dtype=float32)
    >>> eye, out = np.eye(2, dtype=np.float32), np.empty((2, 2), np.float32)
    >>> np.ops.aclnn("Matmul", eye, eye, ..., 0, outputs=out)
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    >>> np.ops.aclnn("InplaceMuls", ..., np.float32(2), outputs=x)
    array([-4.,  6.], dtype=float32)
    """
    alone = _core._is_array(outputs)
    outputs = (outputs,) if alone else tuple(outputs)
    _core._acl_call(f"aclnn{name}", _find(name), args, outputs)
    return outputs[0] if alone else outputs
