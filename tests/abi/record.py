"""Writes down the calls that the tests make, so that programs.py can repeat them in C and in C++.

With ASNUMPY_RECORD=FOLDER every call of aclnn.run is seen: its arguments, the memory of its tensors before and after it
(whole, with the gaps between elements), its code. Per operator a few cases that differ in dtypes, layouts, lists or code
stay, the smallest of each kind. The tests compare the same results with NumPy or PyTorch, so that a program which finds the
recorded bytes has the oracle's values. Of test_fuzz, which has no oracle, only failing calls are taken.

At the end FOLDER/cases.json lists the cases, and FOLDER/cases.bin holds the memory that they name by position.
"""

import atexit
import ctypes
import json
import os
import pathlib

import numpy as np

FOLDER = os.environ.get("ASNUMPY_RECORD")
KEPT_BYTES = 1 << 16  # a case with larger tensors only stays where an operator has no other
SUCCESSES, FAILURES = 8, 2  # cases per operator

_cases = {}  # operator -> {what is special about the call: (bytes, case)}


def _leaves(args):
    """The arrays of the tensors' memory."""
    from aclnn import TENSORS, described

    for a in args:
        for t in a if isinstance(a, list) else [a]:
            if isinstance(t, TENSORS):
                yield described(t)[0]


def _extent(a):
    """The bytes that the view can touch: (low, high)."""
    first = a.ctypes.data
    if a.size == 0:
        return first, first
    steps = [(n - 1) * s for n, s in zip(a.shape, a.strides, strict=True)]
    low = first + sum(s for s in steps if s < 0)
    return low, first + sum(s for s in steps if s > 0) + a.itemsize


def _blocks(arrays):
    """The extents, those that overlap as one, in the order of the arguments."""
    extents, merged = [_extent(a) for a in arrays if a.size], []
    for low, high in sorted(set(extents)):
        if merged and low < merged[-1][1]:
            merged[-1][1] = max(high, merged[-1][1])
        else:
            merged.append([low, high])
    firsts = [
        next(i for i, (at, _) in enumerate(extents) if low <= at < high) for low, high in merged
    ]
    return [extent for _, extent in sorted(zip(firsts, merged, strict=True))]


def _layout(a):
    if a.size == 0:
        return "empty"
    return "packed" if a.flags.c_contiguous else "reversed" if min(a.strides) < 0 else "strided"


class Call:
    """One call under way: what is known before it, then its code and the memory after it."""

    def __init__(self, operator, args):
        self.operator = operator
        self.arrays = list(_leaves(args))
        self.extents = _blocks(self.arrays)
        self.size = sum(high - low for low, high in self.extents)
        self.args = args
        self.before = None
        known = _cases.get(operator, {})
        if self.size <= KEPT_BYTES or not any(key[1] == 0 for key in known):
            self.before = self._memory()

    def _memory(self):
        return [ctypes.string_at(low, high - low) for low, high in self.extents]

    def end(self, phase, code):
        """`phase`: 1 and 2, or 3 for the synchronisation."""
        fuzzed = "test_fuzz" in os.environ.get("PYTEST_CURRENT_TEST", "")
        if self.before is None or (fuzzed and code == 0):
            return
        kinds = tuple((str(a.dtype), a.ndim if code == 0 else 0, _layout(a)) for a in self.arrays)
        key = (fuzzed, code, kinds if code == 0 else len(kinds))
        known = _cases.setdefault(self.operator, {})
        if key in known and known[key][0] <= self.size:
            return
        known[key] = (self.size, self)
        self.code, self.phase, self.after = code, phase, self._memory()
        self.args = [_argument(a, self.extents) for a in self.args]


def begin(operator, args):
    """The call, to be ended; None when nothing is recorded."""
    return Call(operator, args) if FOLDER else None


# ---- writing


def _choose(known):
    """Successes that bring a dtype or a layout first, then some failures."""
    chosen, seen = [], set()
    rows = sorted(((known[k], k) for k in known if k[1] == 0), key=lambda row: row[0][0])
    rows = [row for row in rows if row[0][0] <= KEPT_BYTES] or rows[:1]
    while rows and len(chosen) < SUCCESSES:
        fresh = [len({(n, t) for n, t in enumerate(k[2])} - seen) for _, k in rows]
        (_, call), key = rows.pop(fresh.index(max(fresh)))
        seen |= set(enumerate(key[2]))
        chosen.append(call)
    failing = [k for k in known if k[1] != 0 and known[k][0] <= KEPT_BYTES]
    failing.sort(key=lambda k: (k[0], known[k][0]))
    return chosen + [known[k][1] for k in failing[:FAILURES]]


class Writer:
    """cases.bin. Where a piece lies depends on the sizes before it alone, so that a further run gives the same programs."""

    def __init__(self):
        self.data = bytearray()

    def put(self, piece):
        self.data += bytes(-len(self.data) % 16)
        self.data += piece
        return len(self.data) - len(piece)


def _tensor(a, extents):
    from aclnn import Int4, described

    memory, code, shape, strides = described(a)
    first = memory.ctypes.data
    block = next((i for i, (low, high) in enumerate(extents) if low <= first < high), None)
    if memory.size == 0:
        block = None
    return {
        "block": block, "at": 0 if block is None else first - extents[block][0],
        "dtype": code, "shape": list(shape), "strides": list(strides),
        "item": 0.5 if isinstance(a, Int4) else memory.itemsize,
    }  # fmt: skip


def _argument(a, extents):
    from aclnn import ACL, TENSORS

    if a is None:
        return None
    if isinstance(a, TENSORS) and not isinstance(a, np.ndarray):
        return {"tensor": _tensor(a, extents), "scalar": None}
    if isinstance(a, np.ndarray):
        bits = {"dtype": ACL.get(a.dtype.name, 27), "bytes": a.tobytes().hex()}
        return {"tensor": _tensor(a, extents), "scalar": bits if a.size == 1 else None}
    if isinstance(a, (str, type, np.dtype)):
        return {"text": a if isinstance(a, str) else np.dtype(a).name}
    if isinstance(a, (list, tuple)):
        if any(isinstance(t, TENSORS) for t in a):
            return {"list": [t if t is None else _tensor(t, extents) for t in a]}
        numbers = [np.asarray(0 if t is None else t) for t in a]
        return {
            "list": [t if t is None else n.item() for t, n in zip(a, numbers, strict=True) if n.dtype.kind != "c"],
            "scalars": [{"dtype": ACL[n.dtype.name], "bytes": n.tobytes().hex()} for n in numbers],
        }  # fmt: skip
    b = np.asarray(a)
    return {
        "number": b.item() if b.dtype.kind != "c" else 0,
        "scalar": {"dtype": ACL[b.dtype.name], "bytes": b.tobytes().hex()},
    }


def write():
    """The chosen cases, into FOLDER."""
    folder, writer, out = pathlib.Path(FOLDER), Writer(), {}
    for operator in sorted(_cases):
        out[operator] = []
        for call in _choose(_cases[operator]):
            memory = zip(call.before, call.after, strict=True)
            out[operator].append({
                "code": call.code, "phase": call.phase, "args": call.args,
                "blocks": [{"size": len(b), "before": writer.put(b), "after": writer.put(a)} for b, a in memory],
            })  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cases.bin").write_bytes(writer.data)
    (folder / "cases.json").write_text(json.dumps(out))


if FOLDER:
    atexit.register(write)
