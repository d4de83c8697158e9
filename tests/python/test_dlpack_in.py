"""What another library hands over by DLPack: every field of a tensor that may be wrong, in capsules written by hand.

A refused tensor is given back (its deleter called once), and a deleter that is not there is not called."""

import ctypes as c
import gc

import asnumpy
import numpy as np
import pytest
from conftest import NPU

CPU, CUDA = 1, 2
INT, UINT, FLOAT, OPAQUE, BFLOAT, COMPLEX, BOOL = range(7)


class Tensor(c.Structure):
    _fields_ = [
        ("data", c.c_void_p), ("device", c.c_int32), ("id", c.c_int32), ("ndim", c.c_int32), ("code", c.c_uint8), ("bits", c.c_uint8),
        ("lanes", c.c_uint16), ("shape", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64),
    ]  # fmt: skip


DELETER = c.CFUNCTYPE(None, c.c_void_p)


class Managed(c.Structure):
    _fields_ = [("tensor", Tensor), ("context", c.c_void_p), ("deleter", DELETER)]


class Versioned(c.Structure):
    _fields_ = [
        ("major", c.c_uint32), ("minor", c.c_uint32), ("context", c.c_void_p), ("deleter", DELETER), ("flags", c.c_uint64),
        ("tensor", Tensor),
    ]  # fmt: skip


new_capsule = c.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = c.py_object, [c.c_void_p, c.c_char_p, c.c_void_p]


class Exporter:
    """A tensor of float64 0 to 11 in three rows, with fields replaced."""

    def __init__(self, versioned, deleter=True, major=1, **fields):
        self.calls = 0
        self.data = np.arange(16.0)
        self.made = (Versioned if versioned else Managed)()
        self.extents = (c.c_int64 * 70)(*fields.pop("extents", (3, 4)), *[1] * 68)
        self.steps = (c.c_int64 * 70)(*fields.pop("steps", (4, 1)), *[1] * 68)
        self.name = b"dltensor_versioned" if versioned else b"dltensor"
        if versioned:
            self.made.major = major
        if deleter:
            self.keep = DELETER(self.delete)
            self.made.deleter = self.keep
        t = self.made.tensor
        t.data, t.device, t.ndim, t.code, t.bits, t.lanes = (
            self.data.ctypes.data,
            CPU,
            2,
            FLOAT,
            64,
            1,
        )
        t.shape, t.strides = self.extents, self.steps
        for name, value in fields.items():
            setattr(t, name, value)

    def delete(self, _):
        self.calls += 1

    def __dlpack__(self, **keywords):
        return new_capsule(c.addressof(self.made), self.name, None)

    def __dlpack_device__(self):
        return (CPU, 0)


NULL = c.POINTER(c.c_int64)()
MALFORMED = [
    ({"ndim": -1}, ValueError), ({"ndim": -(2**31)}, ValueError), ({"ndim": 65}, BufferError), ({"ndim": 2**31 - 1}, BufferError),
    ({"bits": 63}, BufferError), ({"bits": 0}, BufferError), ({"bits": 128}, BufferError), ({"bits": 8}, BufferError),
    ({"lanes": 4}, BufferError), ({"lanes": 0}, BufferError), ({"code": 9}, BufferError), ({"code": OPAQUE}, BufferError),
    ({"code": 255}, BufferError), ({"code": BOOL}, BufferError), ({"code": BFLOAT}, BufferError), ({"code": COMPLEX, "bits": 32}, BufferError),
    ({"device": CUDA}, BufferError), ({"device": 0}, BufferError), ({"device": -1}, BufferError), ({"device": 2**31 - 1}, BufferError),
    ({"shape": NULL}, ValueError), ({"extents": (-3, 4)}, ValueError), ({"extents": (2**62, 2**62)}, ValueError),
    ({"extents": (2**61, 4)}, ValueError), ({"extents": (2**61, 4), "strides": NULL}, ValueError), ({"steps": (2**61, 1)}, ValueError),
    ({"steps": (-(2**63), 1)}, ValueError), ({"steps": (2**59, 2**59)}, ValueError), ({"extents": (2**59, 1), "steps": (2**3, 1)}, ValueError),
    ({"data": None}, ValueError), ({"byte_offset": 2**63}, ValueError), ({"byte_offset": 2**64 - 8}, ValueError), ({"byte_offset": 3}, ValueError),
]  # fmt: skip


@pytest.mark.parametrize("deleter", [True, False])
@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("fields, error", MALFORMED)
def test_malformed(fields, error, versioned, deleter):
    e = Exporter(versioned, deleter, **fields)
    with pytest.raises(error):
        asnumpy.from_dlpack(e)
    assert e.calls == deleter


@pytest.mark.parametrize("deleter", [True, False])
@pytest.mark.parametrize("versioned", [True, False])
def test_well_formed(versioned, deleter):
    rows = np.arange(12.0).reshape(3, 4)
    for fields, expected in [
        ({}, rows), ({"strides": NULL}, rows), ({"ndim": 0, "shape": NULL, "strides": NULL}, np.array(0.0)), ({"byte_offset": 8}, rows + 1),
        ({"extents": (4, 3), "steps": (1, 4)}, rows.T), ({"byte_offset": 64, "steps": (-4, 1)}, rows[::-1]),
        ({"extents": (0, 4), "data": None}, rows[:0]), ({"steps": (0, 1)}, rows[[0, 0, 0]]), ({"code": INT}, rows.view("i8")),
        ({"code": UINT, "bits": 8, "extents": (3, 8), "steps": (32, 1)}, rows.view("u1")[:, :8]), ({"extents": (0, 2**40), "data": None}, np.empty((0, 2**40))),
    ]:  # fmt: skip
        e = Exporter(versioned, deleter, **fields)
        a = asnumpy.from_dlpack(e)
        assert a.dtype == expected.dtype and a.shape == expected.shape
        assert a.flags.writeable == versioned or asnumpy.get_device() != "cpu"
        assert np.array_equal(a.to_numpy(), expected[: len(expected)] if a.ndim else expected)
        del a
        gc.collect()
        assert e.calls == deleter


def test_versions():
    e = Exporter(True, major=2)
    with pytest.raises(BufferError, match="major version"):
        asnumpy.from_dlpack(e)
    assert e.calls == 0  # the capsule is still the exporter's
    for capsule in (5, None, new_capsule(c.addressof(e.made), b"used_dltensor", None)):
        with pytest.raises((TypeError, ValueError)):
            asnumpy.from_dlpack(
                type("Wrong", (), {"__dlpack__": lambda self, made=capsule, **k: made})()
            )


@pytest.mark.parametrize("keywords", [
    {"max_version": "x"}, {"max_version": (1,)}, {"max_version": (1, 2, 3)}, {"max_version": ("a", 0)}, {"max_version": [1, 0]}, {"max_version": 5},
    {"max_version": (2**70, 0)}, {"max_version": (1.0, 0)}, {"max_version": (-1, 0)}, {"dl_device": "x"}, {"dl_device": (1,)}, {"dl_device": (1, 0, 0)},
    {"dl_device": [1, 0]}, {"dl_device": 5}, {"dl_device": ("a", 0)}, {"dl_device": (2, 0)}, {"dl_device": (2**70, 0)}, {"copy": "x"}, {"stream": 1},
])  # fmt: skip
def test_arguments(keywords):
    outcomes = []
    for m in (np, asnumpy):
        try:
            m.zeros(3).__dlpack__(**keywords)
            outcomes.append(None)
        except Exception as e:
            outcomes.append(type(e))
    assert outcomes[0] == outcomes[1]
    if "copy" in keywords:
        with pytest.raises(ValueError, match="strings are not allowed"):
            asnumpy.from_dlpack(np.zeros(3), **keywords)


def test_of_our_own():
    """An array over an array's memory, the host's or an NPU's."""
    a = asnumpy.arange(6.0) * 2
    b = asnumpy.from_dlpack(a)
    a[0] = 5
    assert b.tolist() == [5, 2, 4, 6, 8, 10]
    assert b.__dlpack_device__() == a.__dlpack_device__() == ((12, 0) if NPU else (1, 0))
    assert asnumpy.from_dlpack(a[4:0:-2]).tolist() == [8, 4]
    wrong = (1, 0) if NPU else (12, 0)
    with pytest.raises(BufferError, match="unsupported device requested"):
        a.__dlpack__(dl_device=wrong)
