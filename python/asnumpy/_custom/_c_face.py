"""The registry of the C binding (asnumpy/registry.h), for a process that holds both faces.

Each face has a library, and so arrays, of its own: what crosses is copied. Python's implementations are registered in C
with a function that calls Python; C's are asked for when Python looks, so nothing is kept twice.
"""

import ctypes
import os

import numpy as np

from .. import _core, acl
from ._registry import callable_of
from ._two_phase import DTYPES

_CODES = {name: code for code, name in DTYPES.items()}
_NONE = -1
_OPERATOR = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int32,
    ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)  # fmt: skip
# asnp_status of an exception's class, the first that fits
_STATUS = (
    (MemoryError, 1),
    (IndexError, 4),
    (OverflowError, 6),
    (ZeroDivisionError, 7),
    (TypeError, 3),
    (ValueError, 2),
)
_CLASSES = {1: MemoryError, 2: ValueError, 3: TypeError, 4: IndexError, 5: IndexError, 6: OverflowError,
            7: ZeroDivisionError, 8: FloatingPointError, 9: TypeError, 10: TypeError, 11: BufferError}  # fmt: skip


class _Registration(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("device", ctypes.c_char_p), ("dtype", ctypes.c_int32),
                ("priority", ctypes.c_int32), ("function", ctypes.c_void_p), ("context", ctypes.c_void_p),
                ("release", ctypes.c_void_p), ("owner", ctypes.c_char_p), ("file", ctypes.c_char_p),
                ("line", ctypes.c_int32)]  # fmt: skip


def _key_of(r):
    return r.name, r.device, r.dtype, r.priority


def _find_library(library):
    if isinstance(library, ctypes.CDLL):
        return library
    if library is not None:
        return ctypes.CDLL(os.fspath(library))
    try:
        return ctypes.CDLL("libasnumpy.so", mode=os.RTLD_NOLOAD)
    except OSError:
        return ctypes.CDLL(str(acl.home() / "lib64" / "libasnumpy.so"))


class CFace:
    """libasnumpy's registry."""

    def __init__(self, library):
        self.library = _find_library(library)
        self.library.asnp_message.restype = ctypes.c_char_p
        self.library.asnp_shape.restype = ctypes.POINTER(ctypes.c_int64)
        for name in ("asnp_shape", "asnp_ndim", "asnp_dtype_of", "asnp_release"):
            getattr(self.library, name).argtypes = [ctypes.c_void_p]
        self.version = self.library.asnp_registry_version
        self.version.restype = ctypes.c_uint64
        self.address = ctypes.cast(self.library.asnp_register, ctypes.c_void_p).value
        self._ours = {}  # key in C's terms -> (entry, its function of C's type)
        self._kept = []  # functions of C's type that were removed: another thread may be in a call

    def _failed(self, status):
        text = (self.library.asnp_message() or b"").decode()
        return _CLASSES.get(status, RuntimeError)(text)

    # ---- arrays

    def _handle(self, array):
        """A new handle on a copy of an array."""
        host = np.ascontiguousarray(np.asarray(array))
        if host.dtype.name not in _CODES:
            raise TypeError(f"the C binding has no arrays of {host.dtype} in operators")
        shape = (ctypes.c_int64 * max(host.ndim, 1))(*np.shape(array))
        handle = ctypes.c_void_p()
        status = self.library.asnp_from_host(
            _CODES[host.dtype.name],
            np.ndim(array),
            shape,
            None,
            ctypes.c_void_p(host.ctypes.data),
            ctypes.byref(handle),
        )
        if status:
            raise self._failed(status)
        return handle.value

    def _array(self, handle):
        """A new array of a handle's elements."""
        library = self.library
        shape = tuple(library.asnp_shape(handle)[: library.asnp_ndim(handle)])
        host = np.empty(shape, DTYPES[library.asnp_dtype_of(handle)])
        status = library.asnp_to_host(
            ctypes.c_void_p(handle), ctypes.c_void_p(host.ctypes.data), ctypes.c_size_t(host.nbytes)
        )
        if status:
            raise self._failed(status)
        return _core.from_numpy(host)

    # ---- Python's in C

    def _for_c(self, function):
        def call(num_in, given, num_out, out, context):
            try:
                results = function(*(self._array(given[k]) for k in range(num_in)))
                results = results if isinstance(results, tuple) else (results,)
                if len(results) != num_out:
                    raise ValueError(
                        f"the operator has {len(results)} results; {num_out} are asked"
                    )
                made = []
                try:
                    for x in results:
                        made.append(self._handle(x))
                except BaseException:
                    for handle in made:
                        self.library.asnp_release(handle)
                    raise
                for k, handle in enumerate(made):
                    out[k] = handle
                return 0
            except BaseException as error:  # noqa: BLE001 - C gets a status and the sentence
                status = next((s for c, s in _STATUS if isinstance(error, c)), 14)
                text = str(error) or type(error).__name__
                return self.library.asnp_fail(status, text.encode())

        return _OPERATOR(call)

    def _key(self, entry):
        device = None if entry.device is None else entry.device.encode()
        dtype = _NONE if entry.dtype is None else _CODES.get(entry.dtype.name)
        return entry.name.encode(), device, dtype, entry.priority

    def add(self, entry):
        """Registers an implementation of Python's; RuntimeError where C has one of its key."""
        key = self._key(entry)
        if entry.file == "built in" or key[2] is None:
            return
        function = self._for_c(callable_of(entry))
        address = ctypes.cast(function, ctypes.c_void_p)
        r = _Registration(
            *key, address, None, None, entry.owner.encode(), str(entry.file).encode(), entry.line
        )
        status = self.library.asnp_register(ctypes.byref(r))
        if status:
            raise self._failed(status)
        self._ours[key] = entry, function

    def add_all(self, entries):
        """All of them, or none."""
        done = []
        try:
            for entry in entries:
                self.add(entry)
                done.append(entry)
        except Exception:
            for entry in done:
                self.remove(entry)
            raise

    def remove(self, entry):
        """Takes one of Python's back."""
        if self._key(entry) in self._ours:
            self.unregister(entry)
            self._kept.append(self._ours.pop(self._key(entry))[1])

    def removed(self):
        """Those of Python's that C has removed since the last call."""
        alive = {_key_of(r) for r in self._registrations()}
        gone = [key for key in self._ours if key not in alive]
        entries = []
        for key in gone:
            entry, function = self._ours.pop(key)
            entries.append(entry)
            self._kept.append(function)
        return entries

    def _registrations(self):
        i, r = 0, _Registration()
        while self.library.asnp_registered(i, ctypes.byref(r)) == 0:
            yield r
            i += 1

    def unregister(self, entry):
        """Removes a registration of C's registry."""
        status = self.library.asnp_unregister(*self._key(entry))
        if status:
            raise self._failed(status)

    # ---- C's in Python

    def _for_python(self, name, operator, context):
        def call(*args, outputs=1):
            handles, made = [], (ctypes.c_void_p * outputs)()
            try:
                for x in args:
                    handles.append(self._handle(x))
                given = (ctypes.c_void_p * max(len(handles), 1))(*handles)
                status = operator(len(handles), given, outputs, made, context)
                if status:
                    raise self._failed(status)
                results = tuple(self._array(handle) for handle in made)
            finally:
                for handle in (*handles, *(h for h in made if h)):
                    self.library.asnp_release(handle)
            return results[0] if outputs == 1 else results

        call.__name__ = call.__qualname__ = name
        call.__doc__ = f"The operator {name} of the C binding; outputs: how many results it makes."
        return call

    def entries(self):
        """What C registered itself."""
        from ._registry import Operator

        found = []
        for r in self._registrations():
            if _key_of(r) in self._ours or (r.dtype != _NONE and r.dtype not in DTYPES):
                continue
            name = r.name.decode()
            function = self._for_python(name, _OPERATOR(r.function), r.context)
            text = [None if t is None else t.decode() for t in (r.device, r.owner, r.file)]
            dtype = None if r.dtype == _NONE else np.dtype(DTYPES[r.dtype])
            found.append(
                Operator(
                    name,
                    function,
                    text[0],
                    dtype,
                    r.priority,
                    text[1] or "?",
                    text[2] or "?",
                    r.line,
                )
            )
        return found
