"""flags and setflags, and arrays whose elements are not aligned, against NumPy."""

import asnumpy
import numpy as np
import pytest
from conftest import NPU
from oracle import same

FLAGS = ["c_contiguous", "f_contiguous", "contiguous", "fortran", "owndata", "writeable", "aligned",
         "behaved", "carray", "farray", "fnc", "forc", "num", "writebackifcopy"]  # fmt: skip

# Arrays whose flags differ. On an NPU memory of the host is copied, into aligned memory.
MADE = {
    "a": lambda m: m.arange(4.0),
    "a[::2]": lambda m: m.arange(4.0)[::2],
    "a.T": lambda m: m.ones((2, 3)).T,
    "number": lambda m: m.array(1.0),
    "empty": lambda m: m.zeros((0, 3)),
    "stretched": lambda m: m.broadcast_to(m.arange(3.0), (2, 3)),
    "view": lambda m: m.zeros(33, m.uint8)[1:].view("f8"),
    "view of halves": lambda m: m.zeros(7, m.uint8)[1:].view("f2").reshape(3),
}
if not NPU:
    MADE |= {
        "bytes": lambda m: m.frombuffer(bytes(32), "f8"),
        "offset": lambda m: m.frombuffer(bytearray(33), "f8", offset=1),
        "planes": lambda m: m.frombuffer(bytearray(35), "f8", offset=3).reshape(2, 2).T,
        "one": lambda m: m.frombuffer(bytearray(9), "c8", count=1, offset=1),
    }

SETTINGS = """
b.setflags() | b.setflags(align=False) | b.setflags(align=True) | b.setflags(write=False)
b.setflags(write=True) | b.setflags(uic=True) | b.setflags(write=False, align=False)
b.setflags(write=False, uic=True) | b.setflags(False, True) | b.setflags(None, False)
b.setflags(write="") | b.setflags(align=0, write=1) | b.setflags(foo=1) | b.setflags(1, 1, 0, 1)
b.flags.aligned = False | b.flags.aligned = True | b.flags.writeable = False
b.flags.writeable = True | b.flags["W"] = False | b.flags["WRITEABLE"] = True
b.flags["A"] = False | b.flags["ALIGNED"] = True | b.flags["X"] = True | b.flags["X"] = False
b.flags["WRITEBACKIFCOPY"] = True | b.flags.writebackifcopy = True | b.flags["C"] = True
b.flags.writebackifcopy = False | b.flags.owndata = True | b.flags["Q"] = 1 | b.flags.foo = 1
del b.flags.aligned | del b.flags.writeable | del b.flags.writebackifcopy
"""
SETTINGS = [s.strip() for line in SETTINGS.strip().splitlines() for s in line.split("|")]


@pytest.mark.parametrize("made", MADE)
def test_flags(made):
    def shown(m):
        b = MADE[made](m)
        return [repr(x.flags) for x in (b, b.copy(), b.reshape(b.shape), b + 1)], [
            getattr(b.flags, name) for name in FLAGS
        ]

    assert shown(asnumpy) == shown(np)


@pytest.mark.parametrize("setting", SETTINGS)
def test_setting_flags(setting):
    """What is refused changes nothing."""
    for made, make in MADE.items():
        seen = []
        for m in (np, asnumpy):
            b = make(m)
            try:
                exec(setting, {"b": b})
                error = None
            except Exception as e:
                error = type(e)
            seen.append((error, repr(b.flags)))
        assert seen[0] == seen[1], made


def test_elements_count_as_aligned_again():
    a = asnumpy.arange(3.0)
    a.setflags(align=False)
    assert not a.flags.aligned and (a + 1).flags.aligned and a.tolist() == [0, 1, 2]
    a.setflags(align=True)
    assert a.flags.aligned


@pytest.mark.parametrize("offset", [1, 3, 4])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i8", "c8", "c16"])
def test_a_buffer_is_shared_at_any_offset(dtype, offset):
    for count in (1, 40, 3000):
        memory = bytearray(offset + count * np.dtype(dtype).itemsize)
        a = asnumpy.frombuffer(memory, dtype, offset=offset)
        b = np.frombuffer(memory, dtype, offset=offset)
        a[...] = np.arange(count) % 100
        a += 1
        asnumpy.synchronize()
        assert (b == np.arange(count) % 100 + 1).all() and not memory[:offset].strip(b"\0")
        b[0] = 7
        assert a[0] == 7 and np.shares_memory(np.asarray(a), b)


def test_fields_of_packed_records_are_shared():
    records = np.zeros(50, "u1,f8,i2")
    values, counts = (asnumpy.asarray(records[name]) for name in ("f1", "f2"))
    values[...] = np.arange(50)
    counts[::2] = -1
    assert np.add(values, counts, out=values) is values
    asnumpy.synchronize()
    assert (records["f1"] == np.arange(50) + records["f2"]).all() and records["f2"].sum() == -25


def test_outputs_in_records():
    """out= of NumPy's arrays whose elements are not aligned."""
    for m in (np, asnumpy):
        records = np.zeros(50, "u1,f8")
        out = records["f1"]
        assert m.add(m.arange(50.0), 1, out=out) is out
        assert m.cumsum(m.ones((50, 1)), axis=0, out=out[:, None]) is not None
        assert (records["f1"] == np.arange(50) + 1).all()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i2", "i4", "i8", "c16"])
@pytest.mark.parametrize("size", [5, 700, 9000])
def test_functions_of_elements_that_are_not_aligned(dtype, size, rng):
    values = (rng.standard_normal(size) * 50).astype(dtype)

    def run(m, a):
        memory = m.zeros(a.nbytes + 3, m.uint8)
        b = memory[3:].view(a.dtype)
        b[...] = a
        out = m.zeros(a.nbytes + 1, m.uint8)[1:].view(a.dtype)
        m.add(b, b[::-1], out=out)
        result = [m.sort(b), m.argsort(b, kind="stable"), b[::3].copy(), b.max(), m.unique(b), out]
        result += [m.where(b != 0, b, -b), b[m.array([0, 2, 1])], m.concatenate([b, b]), b == out]
        result += [m.multiply(b, 2), b.astype("c16"), m.flip(b) - 1, b.tolist(), b[1:] * 1]
        return result

    same(run, values)
