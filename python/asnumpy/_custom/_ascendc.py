"""Kernels in Ascend C: compiled by the host's C++ compiler, launched in blocks on the CPU device.

The headers are ours (``include/kernel_operator.h`` of `asnumpy.acl.home`); they find a copy that leaves its array,
a queue that is used out of turn, a buffer that does not fit, and such a block's sentence becomes a RuntimeError.
"""

import ctypes
import functools
import hashlib
import operator
import re
import threading

import numpy as np

from .. import _core, acl
from . import _loops as loops
from ._compiler import CPP, CompileError, compile_source
from ._parameters import part

MOST_BLOCKS, MOST_THREADS = 65535, 1024
# Kinds of numbers that go into a parameter of a kind.
_TAKES = {"b": "b", "i": "biu", "u": "biu", "f": "biuf"}

# What calls the kernel, behind the user's text. RUN: how a block runs.
_LAUNCH = """
#line 1 "launch"
#include "ascendc/launch.h"
#define ASN_EXPORT extern "C" __attribute__((visibility("default")))
ASN_EXPORT const char *asnumpy_signature() {{ return AscendC::detail::Signature({name}); }}
ASN_EXPORT void *asnumpy_pack(const void *const *values, const AscendC::detail::Range *ranges, uint32_t count,
                              uint32_t threads) {{
    return AscendC::detail::Pack({name}, AscendC::detail::{run}, values, ranges, count, threads);
}}
ASN_EXPORT void *asnumpy_runner() {{ return (void *)AscendC::detail::RunnerOf({name}); }}
ASN_EXPORT void *asnumpy_dropper() {{ return (void *)AscendC::detail::DropperOf({name}); }}
"""


class _Range(ctypes.Structure):
    _fields_ = [("begin", ctypes.c_size_t), ("end", ctypes.c_size_t)]


@functools.cache
def _headers():
    """The folder of the headers, and a hash of what they say."""
    folder = acl.home() / "include"
    files = [folder / "kernel_operator.h", folder / "aclnn" / "aclnnx.h"]
    files += sorted((folder / "ascendc").iterdir())
    content = b"".join(path.read_bytes() for path in files)
    return str(folder), hashlib.sha256(content).hexdigest()


def _count(kernel, what, value, most):
    """A number of blocks or threads; TypeError and ValueError as for any argument."""
    if value is None:
        raise TypeError(f"{kernel}: {what}= is needed, 1 to {most}")
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(
            f"{kernel}: {what} is a {type(value).__name__}; it must be an integer"
        ) from None
    if not 1 <= count <= most:
        raise ValueError(f"{kernel}: {what} is {count}; it may be 1 to {most}")
    return count


def _type_name(x):
    """Of a class, with its module unless that is builtins."""
    kind = type(x)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


class AscendKernel:
    """What a RawKernel in Ascend C does: see there."""

    def __init__(self, code, name, options):
        if not (isinstance(name, str) and re.fullmatch(r"[A-Za-z_]\w*", name)):
            raise ValueError(f"RawKernel: {name!r} is no name of a function")
        self.code, self.name, self.options = code, name, options
        self._of_threads = bool(re.search(r"\bthreadIdx\b", code))
        self._library, self._lock = None, threading.Lock()

    def compile(self):
        """The library: compiled now, unless it was."""
        with self._lock:
            if self._library is None:
                self._library = self._build()
            return self._library

    def _build(self):
        folder, content = _headers()
        head = '#include "kernel_operator.h"\n'
        if self._of_threads:
            head += '#include "ascendc/threads.h"\n'
        run = "RunThreads" if self._of_threads else "RunOnce"
        source = head + part(self.name, self.code) + _LAUNCH.format(name=self.name, run=run)
        options = (f"-I{folder}", *self.options)
        try:
            library = compile_source(
                source, self.name, options, {self.name: self.code}, CPP, (content,)
            )
        except CompileError as error:
            if f"'{self.name}' was not declared" not in error.log:
                raise
            raise CompileError(
                f"kernel {self.name!r}: the code has no function {self.name}", error.log, source
            ) from None
        except OSError as error:
            if "aclnnxLaunch" not in str(error):
                raise
            raise CompileError(
                f"kernel {self.name!r} launches kernels itself; a host program does that",
                "",
                source,
            ) from error
        for function in (library.asnumpy_pack, library.asnumpy_runner, library.asnumpy_dropper):
            function.restype = ctypes.c_void_p
        library.asnumpy_signature.restype = ctypes.c_char_p
        return library

    def _value(self, k, x, letter, host, kept):
        """Argument k as the bytes of a parameter."""
        code = letter[0]
        if code == "x":
            raise TypeError(
                f"{self.name}: parameter {k} is neither an address nor a number, which are what RawKernel passes"
            )
        if (code == "p") != _core._is_array(x):
            wanted = "an asnumpy array" if code == "p" else f"a number ({np.dtype(letter)})"
            raise TypeError(
                f"{self.name}: argument {k} is {_type_name(x)}; the kernel takes {wanted}"
            )
        if code == "p":
            return self._address(k, x, host, kept)
        dtype = np.dtype(letter)
        number = np.asarray(x)
        if number.ndim or number.dtype.kind not in _TAKES[dtype.kind]:
            raise TypeError(f"{self.name}: argument {k} is {x!r}; the kernel takes a {dtype}")
        if dtype.kind in "iu" and not np.iinfo(dtype).min <= int(x) <= np.iinfo(dtype).max:
            raise OverflowError(f"{self.name}: argument {k} is {x}, out of bounds for {dtype}")
        return number.astype(dtype)

    def _address(self, k, x, host, kept):
        if not x.flags.c_contiguous:
            raise ValueError(
                f"{self.name}: argument {k} has strides {x.strides}; a raw kernel takes C-contiguous arrays"
            )
        array = host.write(x) if x.flags.writeable else host.read(x)
        address = loops.address(array)
        kept.append((array, _Range(address, address + array.nbytes)))
        return np.array(address, np.uint64)

    def __call__(self, args, blocks, threads):
        """Launches the blocks and waits for them."""
        blocks = _count(self.name, "blocks", blocks, MOST_BLOCKS)
        if self._of_threads:
            threads = _count(self.name, "threads", threads, MOST_THREADS)
        elif threads is not None:
            raise TypeError(f"{self.name}: threads= is for bodies of a thread, with threadIdx")
        if not _core._launches_kernels():
            raise RuntimeError(
                f"{self.name}: kernels in Ascend C run on the CPU device alone; for this device CANN's own "
                "compiler builds them, and asnumpy.ops.aclnn calls the operators of its packages"
            )
        library = self.compile()
        signature = library.asnumpy_signature().decode()
        letters = [signature[i : i + 2] for i in range(0, len(signature), 2)]
        if len(args) != len(letters):
            raise TypeError(f"{self.name}: takes {len(letters)} arguments, got {len(args)}")
        host, kept = loops.Host(self.name), []
        values = [
            self._value(k, x, letter, host, kept)
            for k, (x, letter) in enumerate(zip(args, letters, strict=True))
        ]
        addresses = (ctypes.c_void_p * len(values))(*(v.ctypes.data for v in values))
        ranges = (_Range * (len(kept) or 1))(*(r for _, r in kept))
        packed = library.asnumpy_pack(addresses, ranges, len(kept), threads or 1)
        if packed is None:
            raise MemoryError(f"{self.name}: no memory for the call")
        _core._launch_kernel(
            self.name, library.asnumpy_runner(), packed, library.asnumpy_dropper(), blocks
        )
        host.done()
