"""The C binding by ctypes: signatures read from the headers, arrays as Python objects, every call recorded.

    c.sum(a, 1, axes(0), 0)          asnp_sum(a, 1, axes, 0, &out): the new array
    c.eigh(a, 0)                     two results: a list of them

A failure raises Failure with the status and the message. ASNUMPY_LIB is the folder of libasnumpy.so.
"""

import ctypes
import os
import pathlib
import re

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = ctypes.CDLL(os.path.join(os.environ["ASNUMPY_LIB"], "libasnumpy.so"))
DTYPES = {
    "float32": 0, "float16": 1, "int8": 2, "int32": 3, "uint8": 4, "int16": 6, "uint16": 7, "uint32": 8,
    "int64": 9, "uint64": 10, "float64": 11, "bool": 12, "complex64": 16, "complex128": 17,
}  # fmt: skip
NAMES = {v: k for k, v in DTYPES.items()}
NONE = -1
FLATTENED = -(2**31)
END = 2**63 - 1


class Number(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("integer", ctypes.c_int64),
                ("real", ctypes.c_double), ("imag", ctypes.c_double)]  # fmt: skip


class Operand(ctypes.Structure):
    _fields_ = [("array", ctypes.c_void_p), ("number", Number)]


class Index(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("start", ctypes.c_int64), ("stop", ctypes.c_int64),
                ("step", ctypes.c_int64), ("array", ctypes.c_void_p)]  # fmt: skip


class ReduceOptions(ctypes.Structure):
    _fields_ = [("num_axes", ctypes.c_int32), ("axes", ctypes.c_void_p), ("keepdims", ctypes.c_int32),
                ("dtype", ctypes.c_int32), ("where", ctypes.c_void_p), ("initial", ctypes.c_void_p)]  # fmt: skip


def number(x):
    """A Python number as asnp_number."""
    if isinstance(x, (bool, np.bool_)):
        return Number(ord("b"), int(x), 0, 0)
    if isinstance(x, (int, np.integer)):
        x = int(x)
        return Number(ord("u" if x >= 2**63 else "i"), x - 2**64 if x >= 2**63 else x, 0, 0)
    if isinstance(x, complex):
        return Number(ord("c"), 0, x.real, x.imag)
    return Number(ord("f"), 0, float(x), 0)


def python(n):
    """asnp_number as a Python number."""
    kind = chr(n.kind)
    if kind == "u":
        return n.integer % 2**64
    return {"b": bool(n.integer), "i": n.integer, "f": n.real, "c": complex(n.real, n.imag)}[kind]


SCALARS = {
    "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "double": ctypes.c_double,
    "size_t": ctypes.c_size_t, "asnp_status": ctypes.c_int32, "asnp_dtype": ctypes.c_int32,
    "asnp_mode": ctypes.c_int32, "asnp_format": ctypes.c_int32, "asnp_fallback": ctypes.c_int32, "asnp_number": Number,
    "asnp_operand": Operand, "asnp_mm_hook": ctypes.c_void_p, "asnp_job": ctypes.c_void_p, "asnp_operator": ctypes.c_void_p,
    "void": None,
}  # fmt: skip
DECLARATION = re.compile(r"ASNUMPY_API\s+(.*?)(asnp_\w+)\(((?:[^()]|\([^()]*\))*)\);", re.S)


def split_parameters(text):
    """The parameters of a declaration; a function pointer has commas of its own."""
    depth, parts, start = 0, [], 0
    for i, ch in enumerate(text):
        depth += (ch == "(") - (ch == ")")
        if ch == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [" ".join(p.split()) for p in [*parts, text[start:]] if p.strip() not in ("", "void")]


def ctype(text, result=False):
    if "(*" in text or "*" in text:
        return ctypes.c_char_p if result and "char" in text else ctypes.c_void_p
    return SCALARS[text.replace("const ", "").split()[0]]


def declarations():
    """{name: (result, parameters)} of all headers, as C text."""
    found = {}
    for header in sorted((ROOT / "include" / "asnumpy").glob("*.h")):
        for result, name, parameters in DECLARATION.findall(header.read_text()):
            found[name] = (" ".join(result.split()), split_parameters(parameters))
    return found


class Failure(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status
        self.kind = LIBRARY.asnp_status_name(status).decode()


class Array:
    """A handle; x.numpy() copies the elements out."""

    def __init__(self, handle, keep=None):
        self.handle = handle
        self.keep = keep

    def __del__(self):
        LIBRARY.asnp_release(self.handle)

    @property
    def shape(self):
        shape = ctypes.cast(c.shape(self), ctypes.POINTER(ctypes.c_int64))
        return tuple(shape[d] for d in range(c.ndim(self)))

    @property
    def dtype(self):
        return np.dtype(NAMES[c.dtype_of(self)])

    def numpy(self):
        out = np.empty(self.shape, self.dtype)
        c.to_host(self, out.ctypes.data, c.nbytes(self))
        return out


class Face:
    """c.name(...) calls asnp_name; parameters named as results are left out and returned."""

    RESULTS = (
        "asnp_array **",
        "asnp_rng **",
        "asnp_mm_block **",
        "asnp_mm_loan **",
        "asnp_queue **",
        "asnp_transfer **",
        "asnp_stream_handle **",
        "asnp_event **",
        "asnp_kv_cache **",
        "asnp_sparse_pattern **",
    )

    def __init__(self):
        self.called = set()
        self.declared = declarations()
        for name, (result, parameters) in self.declared.items():
            function = getattr(LIBRARY, name)
            function.restype = ctype(result, result=True)
            function.argtypes = [ctype(p) for p in parameters]

    def __getattr__(self, name):
        if not name.startswith("asnp_"):
            name = "asnp_" + name
        result, parameters = self.declared[name]
        function = getattr(LIBRARY, name)
        outs = [p.startswith(self.RESULTS) for p in parameters]

        def call(*args, want=None):
            self.called.add(name)
            left, made, passed = list(args), [], []
            for is_out in outs:
                if not is_out:
                    passed.append(unwrap(left.pop(0)))
                    continue
                wanted = want is None or want[len(made)]
                made.append(ctypes.c_void_p() if wanted else None)
                passed.append(ctypes.byref(made[-1]) if wanted else None)
            assert not left, f"{name}: too many arguments"
            value = function(*passed)
            if result != "asnp_status":
                return value
            if value:
                assert all(m is None or not m.value for m in made), f"{name} failed and wrote"
                raise Failure(value, LIBRARY.asnp_message().decode("utf-8", "replace"))
            kind = OWNERS.get(name, Array)
            arrays = [m if m is None else kind(m.value) for m in made]
            return None if not arrays else arrays[0] if len(arrays) == 1 else arrays

        return call


class Owner:
    """A handle that is no array, and what ends it."""

    def __init__(self, handle):
        self.handle = handle

    def __del__(self):
        getattr(c, self.END)(self.handle)


class Generator(Owner):
    END = "rng_release"


class Block(Owner):
    END = "mm_free"


class Loan(Owner):
    END = "mm_take_back"


class Queue(Owner):
    END = "queue_release"


class Transfer(Owner):
    END = "transfer_release"


class Stream(Owner):
    END = "stream_release"


class Event(Owner):
    END = "event_release"


class Cache(Owner):
    END = "kv_cache_release"


class Pattern(Owner):
    END = "sparse_pattern_release"


OWNERS = {
    "asnp_rng_new": Generator, "asnp_mm_alloc": Block, "asnp_mm_lend": Loan, "asnp_queue_new": Queue,
    "asnp_queue_send": Transfer, "asnp_queue_copy": Transfer, "asnp_queue_fetch": Transfer, "asnp_stream_new": Stream, "asnp_stream_get_current": Stream,
    "asnp_event_new": Event, "asnp_kv_cache_new": Cache, "asnp_sparse_pattern_mask": Pattern,
    "asnp_sparse_pattern_causal": Pattern, "asnp_sparse_pattern_banded": Pattern, "asnp_sparse_pattern_blocks": Pattern,
}  # fmt: skip


def unwrap(x):
    if isinstance(x, (Array, Owner)):
        return x.handle
    return x.encode() if isinstance(x, str) else x


c = Face()


def axes(*which):
    return (ctypes.c_int32 * max(len(which), 1))(*which)


def extents(*n):
    return (ctypes.c_int64 * max(len(n), 1))(*n)


def kept(made, *owners):
    """`made`, which has addresses of what the owners hold."""
    made.owners = owners
    return made


def handles(arrays):
    return kept((ctypes.c_void_p * max(len(arrays), 1))(*[a.handle for a in arrays]), *arrays)


def operand(x):
    if isinstance(x, Array):
        return kept(Operand(x.handle, Number(ord("i"), 0, 0, 0)), x)
    return Operand(None, number(x))


def operands(*xs):
    return kept((Operand * len(xs))(*map(operand, xs)), *xs)


def indices(*items):
    """asnp_index entries: ints, slices, None, ..., arrays of ours."""
    made = []
    for x in items:
        if isinstance(x, Array):
            made.append(Index(ord("a"), 0, 0, 1, x.handle))
        elif isinstance(x, slice):
            step = 1 if x.step is None else x.step
            first = (0 if step > 0 else END) if x.start is None else x.start
            made.append(Index(ord("s"), first, END if x.stop is None else x.stop, step, None))
        elif x is None or x is Ellipsis:
            made.append(Index(ord("n" if x is None else "."), 0, 0, 1, None))
        else:
            made.append(Index(ord("i"), x, 0, 1, None))
    return kept((Index * max(len(made), 1))(*made), *items)


def many(name, *args, count):
    """A function that fills an array of handles: its last argument."""
    out = (ctypes.c_void_p * max(count, 1))()
    c.called.add("asnp_" + name)
    status = getattr(LIBRARY, "asnp_" + name)(*[unwrap(a) for a in args], out)
    if status:
        raise Failure(status, LIBRARY.asnp_message().decode("utf-8", "replace"))
    return [Array(out[i]) for i in range(count)]


def array(x):
    """A copy on the device, of any strides."""
    x = np.asarray(x)
    return c.from_host(
        DTYPES[x.dtype.name], x.ndim, extents(*x.shape), extents(*x.strides), x.ctypes.data
    )


RELEASED = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
released = []
_release = RELEASED(lambda context: released.append(context))


def adopt(x, context=None):
    """x itself: the array has its memory and strides."""
    a = c.adopt(DTYPES[x.dtype.name], x.ndim, extents(*x.shape), extents(*x.strides), x.ctypes.data,
                ctypes.cast(_release, ctypes.c_void_p), context)  # fmt: skip
    a.keep = x
    return a


def ufunc(name, *xs, outs=1):
    found = many("ufunc", name, len(xs), operands(*xs), outs, count=outs)
    return found[0] if outs == 1 else found
