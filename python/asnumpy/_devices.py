"""What a device computes itself, the names of devices, the way to the host."""

import importlib

import numpy as _np

from . import _core

# Functions that are no rows of the operation table -> the operators of CANN's they call on the array.
_OPERATORS = {
    "arange": "Arange", "argmax": "ArgMax", "argmin": "ArgMin", "argsort": "Sort", "astype": "Cast",
    "bincount": "Bincount", "copy": "InplaceCopy", "dot": "Matmul", "linspace": "Linspace", "matmul": "Matmul",
    "nonzero": "NonzeroV2", "repeat": "RepeatInterleaveIntWithDim", "searchsorted": "SearchSorted", "sort": "Sort",
    "std": "Std", "sum": "ReduceSum", "take": "Index", "tensordot": "Matmul", "var": "VarCorrection", "max": "Amax",
    "min": "Amin", "amax": "Amax", "amin": "Amin", "all": "All", "any": "Any", "vdot": "Matmul", "inner": "Matmul",
}  # fmt: skip
_ON_THE_CPU = ("fft.", "linalg.")
_ALIASES = {
    "abs": "absolute", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atan2": "arctan2", "atanh": "arctanh", "bitwise_invert": "invert", "bitwise_left_shift": "left_shift",
    "bitwise_not": "invert", "bitwise_right_shift": "right_shift", "conj": "conjugate", "mod": "remainder",
    "pow": "power", "true_divide": "divide",
}  # fmt: skip


def _exists(name):
    module, _, function = name.rpartition(".")
    owner = importlib.import_module("asnumpy" + ("." + module if module else ""))
    return hasattr(owner, function)


def plain_name(device):
    """The name of a device with its kind as `x.device` spells it: "npu:1" is "ascend:1"."""
    kind, colon, number = device.partition(":")
    return f"{'ascend' if kind == 'npu' else kind}{colon}{number}"


def to_numpy(x, *, copy=None):
    """The NumPy array of an array, a number, or nested sequences of those, on the host.

    Parameters
    ----------
    x : array_like
        An array of this library or of NumPy, a scalar, or nested sequences of them.
    copy : bool, optional
        None: the memory is shared where it can be: with a NumPy array, and with a device array
        where the host reaches the device's memory (a CPU). True: always a copy, as of the method
        ``x.to_numpy()``. False: never one.

    Returns
    -------
    numpy.ndarray
        Of the shape and dtype of x.

    Raises
    ------
    ValueError
        copy is False, and the array cannot be had without a copy (of a list, of an NPU).

    Examples
    --------
    >>> import asnumpy as np
    >>> type(np.to_numpy(np.ones(3)))
    <class 'numpy.ndarray'>
    """
    return _np.array(x, copy=copy)


def supports(name, dtype, device=None):
    """Whether a device computes an operation itself, by its own operators.

    On the CPU everything that exists is supported. On an NPU the answer is CANN's documentation: an
    operator for the dtype, or for a wider one in which the result is the same. What is not supported
    runs on the CPU under the policy of set_fallback.

    Parameters
    ----------
    name : str
        A ufunc or function: "sin", "sort", "linalg.solve".
    dtype : dtype
        Of the operands.
    device : {"cpu", "ascend", "npu"}, optional
        By default the device in use. "npu" is another word for "ascend".

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        There is no such name or device, or nothing tells which operators the function calls (it is
        composed of others).
    TypeError
        No device has the dtype.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.supports("sin", np.float32, device="npu"), np.supports("linalg.solve", float, device="npu")
    (True, False)
    """
    name_of_device = _core.empty(0).device if device is None else plain_name(device)
    kind = name_of_device.partition(":")[0]
    if kind not in ("cpu", "ascend"):
        raise ValueError(f"supports: device is {device!r}; it may be 'cpu', 'ascend' or 'npu'")
    name = _ALIASES.get(name, name)
    if not _exists(name):
        raise ValueError(f"supports: asnumpy has no {name!r}")
    place = _core._cann_place(_OPERATORS.get(name, name), _np.dtype(dtype), name in _OPERATORS)
    if kind == "cpu":
        return True
    if name.startswith(_ON_THE_CPU):
        return False
    if place is None:
        raise ValueError(f"supports: {name!r} is composed of other operations; ask for those")
    return place != "cpu"
