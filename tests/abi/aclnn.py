"""Calls two-phase operators through ctypes, on NumPy arrays in place: `run("Add", a, b, 1, out)`.

Arguments follow tools/cann/operators.json; an ndarray becomes an aclTensor with its own strides, a
Python or NumPy scalar an aclScalar where the operator wants one, a list a list or an int array. The
libraries are found in $ASNUMPY_LIB, else in build/lib.
"""

import ctypes
import json
import os
import pathlib
import re

import numpy as np
import record

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = json.loads((ROOT / "tools" / "cann" / "operators.json").read_text())
LIB = pathlib.Path(os.environ.get("ASNUMPY_LIB", ROOT / "build" / "lib"))

ACL = {
    "float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int16": 6, "uint16": 7,
    "uint32": 8, "int64": 9, "uint64": 10, "float64": 11, "bool": 12, "complex64": 16,
    "complex128": 17,
}  # fmt: skip


class AclError(Exception):
    """A failing call: its code and message."""

    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code, self.message = code, message


lib = ctypes.CDLL(str(LIB / "libopapi.so"))
for _name in ("aclCreateTensor", "aclCreateScalar", "aclCreateIntArray", "aclCreateTensorList", "aclCreateScalarList",
              "aclCreateBoolArray", "aclCreateFloatArray"):  # fmt: skip
    getattr(lib, _name).restype = ctypes.c_void_p
lib.aclGetRecentErrMsg.restype = ctypes.c_char_p


def check(code):
    """Raises AclError unless the code is 0."""
    if code != 0:
        message = lib.aclGetRecentErrMsg()
        raise AclError(code, message.decode() if message else "")


check(lib.aclrtSetDevice(0))


def _int64s(values):
    return (ctypes.c_int64 * max(len(values), 1))(*values)


class Int4:
    """A tensor of int4, two to a byte, the first in the low bits; `order`: its dimensions in memory."""

    def __init__(self, values, order=None):
        values = np.asarray(values)
        order = list(order or range(values.ndim))
        flat = values.transpose(order).ravel().astype(np.int64) & 15
        flat = np.append(flat, np.zeros(len(flat) % 2, np.int64))
        self.bytes = (flat[::2] | flat[1::2] << 4).astype(np.uint8)
        self.shape, self.strides, step = values.shape, [0] * values.ndim, 1
        for d in reversed(order):
            self.strides[d] = step
            step *= values.shape[d]

    def values(self):
        """As int8."""
        bits = np.stack([self.bytes & 15, self.bytes >> 4], -1).ravel().astype(np.int8)
        bits = np.where(bits >= 8, bits - 16, bits).astype(np.int8)
        return np.lib.stride_tricks.as_strided(bits, self.shape, self.strides).copy()


class Words:
    """An array whose tensor says another dtype, of elements as large."""

    def __init__(self, array, acl):
        self.array, self.acl = array, acl


TENSORS = (np.ndarray, Int4, Words)


def described(a):
    """Of one of TENSORS: the array of its memory, the dtype's number, shape, strides in elements."""
    if isinstance(a, Int4):
        return a.bytes, 29, a.shape, a.strides
    memory = a.array if isinstance(a, Words) else a
    code = a.acl if isinstance(a, Words) else ACL.get(a.dtype.name, 27)
    return memory, code, memory.shape, [s // memory.itemsize for s in memory.strides]


def tensor(a):
    """An aclTensor over the array's memory."""
    memory, code, shape, strides = described(a)
    n = ctypes.c_uint64(len(shape))
    return ctypes.c_void_p(lib.aclCreateTensor(
        _int64s(shape), n, code, _int64s(strides), ctypes.c_int64(0), 2, _int64s(shape), n,
        ctypes.c_void_p(memory.ctypes.data)))  # fmt: skip


def scalar(x):
    """An aclScalar: Python numbers are int64, float64, complex128, bool."""
    a = np.asarray(x)
    return ctypes.c_void_p(lib.aclCreateScalar(ctypes.c_void_p(a.ctypes.data), ACL[a.dtype.name]))


def _pack(ctype, x, made):
    """The ctypes argument for one parameter; remembers what must be destroyed."""
    plain = ctype.replace("const ", "").replace(" ", "")
    if plain.endswith("*") and x is None:
        return None
    if plain == "aclTensor*":
        made.append(("Tensor", tensor(x)))
    elif plain == "aclScalar*":
        made.append(("Scalar", scalar(x)))
    elif plain == "aclIntArray*":
        made.append(
            (
                "IntArray",
                ctypes.c_void_p(lib.aclCreateIntArray(_int64s(x), ctypes.c_uint64(len(x)))),
            )
        )
    elif plain == "aclBoolArray*":
        values = (ctypes.c_bool * max(len(x), 1))(*x)
        made.append(
            ("BoolArray", ctypes.c_void_p(lib.aclCreateBoolArray(values, ctypes.c_uint64(len(x)))))
        )
    elif plain == "aclScalarList*":
        members = (ctypes.c_void_p * max(len(x), 1))(*[scalar(s).value for s in x])
        made.append(
            (
                "ScalarList",
                ctypes.c_void_p(lib.aclCreateScalarList(members, ctypes.c_uint64(len(x)))),
            )
        )
    elif plain == "aclTensorList*":
        members = (ctypes.c_void_p * max(len(x), 1))(
            *[None if t is None else tensor(t).value for t in x]
        )
        made.append(
            (
                "TensorList",
                ctypes.c_void_p(lib.aclCreateTensorList(members, ctypes.c_uint64(len(x)))),
            )
        )
    elif plain == "char*":
        return ctypes.c_char_p(x.encode())
    elif plain in ("double", "float"):
        return (ctypes.c_double if plain == "double" else ctypes.c_float)(x)
    elif plain == "aclDataType":
        return ctypes.c_int(x if isinstance(x, int) else ACL.get(np.dtype(x).name, 27))
    else:
        types = {"int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "bool": ctypes.c_bool,
                 "int8_t": ctypes.c_int8, "int": ctypes.c_int, "int32_t": ctypes.c_int32}  # fmt: skip
        return types[plain](x)
    return made[-1][1]


def run(name, *args):
    """Both phases on the default stream, and a synchronisation; returns the last array."""
    symbol = name if name in DATA else "aclnn" + name
    params = DATA[symbol]["params"]
    assert len(params) == len(args), f"{name}{params}"
    made, size, executor = [], ctypes.c_uint64(99), ctypes.c_void_p()
    call, phase, code = record.begin(symbol, args), 1, 0
    packed = [
        _pack(re.match(r"(.*?)\w+$", p)[1].strip(), a, made)
        for p, a in zip(params, args, strict=False)
    ]
    try:
        code = getattr(lib, symbol + "GetWorkspaceSize")(
            *packed, ctypes.byref(size), ctypes.byref(executor)
        )
        if code == 0:
            workspace = np.empty(size.value, np.uint8)  # of nothing but in a strict run
            at = ctypes.c_void_p(workspace.ctypes.data if size.value else None)
            phase, code = 2, getattr(lib, symbol)(at, size, executor, None)
        if code == 0:
            phase, code = 3, lib.aclrtSynchronizeStream(None)
        check(code)
    finally:
        if call:
            call.end(phase, code)
        for kind, handle in made:
            getattr(lib, "aclDestroy" + kind)(handle)
    return next((a for a in reversed(args) if isinstance(a, (np.ndarray, list))), None)
