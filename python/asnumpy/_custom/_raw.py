"""RawKernel: a function written in C, called on the addresses of arrays, or a kernel in Ascend C."""

import ctypes
import threading

import numpy as np

from .. import _core
from . import _loops as loops
from ._compiler import CompileError, compile_source
from ._parameters import PROLOGUE, part

_SCALARS = {
    "bool": ctypes.c_bool, "int8": ctypes.c_int8, "uint8": ctypes.c_uint8, "int16": ctypes.c_int16,
    "uint16": ctypes.c_uint16, "int32": ctypes.c_int32, "uint32": ctypes.c_uint32, "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64, "float32": ctypes.c_float, "float64": ctypes.c_double,
}  # fmt: skip


class RawKernel:
    """A function written in C, called on the addresses of arrays, or a kernel in Ascend C.

    Parameters
    ----------
    code : str
        C with a function void name(...) that is not static. The integers of stdint.h and C's
        mathematics are declared. In Ascend C: C++17 with a kernel of the name; kernel_operator.h
        is included.
    name : str
        The function.
    options : sequence of str
        Further flags of the compiler.
    language : {"c", "ascendc"}
        "ascendc": a kernel whose blocks run on the device's threads. It is called as
        ``kernel(arrays..., blocks=N)``; a body of one thread, with threadIdx, takes ``threads=``,
        too.

    Raises
    ------
    ValueError
        There is no such language.
    CompileError
        At the first call: the code does not compile, or has no such function.
    RuntimeError
        At a call in Ascend C: the device is no CPU, or a block failed, which the message names with
        the operation, what it got and what it takes.

    Notes
    -----
    A call takes a tuple of C-contiguous arrays (pointers to their elements) and numbers (int64_t,
    double, or what NumPy's scalars are), and perhaps a range that is split over threads.

    Examples
    --------
    >>> import asnumpy as np
    >>> code = "void twice(double *x, int64_t n) { for (int64_t i = 0; i < n; i++) x[i] *= 2; }"
    >>> x = np.array([1.0, 2.0])
    >>> np.RawKernel(code, "twice")((x, 2))
    >>> x
    array([2., 4.])
    """

    __module__ = "asnumpy"

    def __init__(self, code, name, options=(), language="c"):
        if language not in ("c", "ascendc"):
            raise ValueError(f"RawKernel: language is {language!r}; it may be 'c' or 'ascendc'")
        self.code, self.name, self.options = code, name, tuple(options)
        self._function, self._lock, self._ascend = None, threading.Lock(), None
        if language == "ascendc":
            from ._ascendc import AscendKernel

            self._ascend = AscendKernel(code, name, self.options)

    def __repr__(self):
        return f"<asnumpy.RawKernel {self.name!r}{' in Ascend C' if self._ascend else ''}>"

    def compile(self):
        """Compiles now, not at the first call.

        Returns
        -------
        ctypes function
            The compiled function; in Ascend C the ctypes library that launches it.

        Raises
        ------
        CompileError
            The code does not compile, or has no such function.

        Examples
        --------
        >>> import asnumpy as np
        >>> _ = np.RawKernel("void nothing(void) { }", "nothing").compile()
        """
        if self._ascend is not None:
            return self._ascend.compile()
        with self._lock:
            if self._function is None:
                source = PROLOGUE + part(self.name, self.code)
                library = compile_source(source, self.name, self.options, {self.name: self.code})
                try:
                    self._function = getattr(library, self.name)
                except AttributeError:
                    raise CompileError(
                        f"kernel {self.name!r}: the code has no function {self.name} that is not static",
                        "",
                        source,
                    ) from None
                self._function.restype = None
            return self._function

    def _argument(self, k, x, host, kept):
        if _core._is_array(x):
            if not x.flags.c_contiguous:
                raise ValueError(
                    f"{self.name}: argument {k} has strides {x.strides}; a raw kernel takes C-contiguous arrays"
                )
            kept.append(host.write(x) if x.flags.writeable else host.read(x))
            return ctypes.c_void_p(loops.address(kept[-1]))
        if loops.is_number(x) and not isinstance(x, complex):
            x = np.asarray(x)[()]
        if isinstance(x, np.generic) and x.dtype.name in _SCALARS:
            return _SCALARS[x.dtype.name](x.item())
        raise TypeError(
            f"{self.name}: argument {k} is a {type(x).__name__}; it may be an asnumpy array or a real number"
        )

    def __call__(self, *arguments, args=None, range=None, blocks=None, threads=None):  # noqa: A002 - what it is
        """The function on arrays and numbers.

        Parameters
        ----------
        *arguments
            One tuple of C-contiguous arrays, passed as pointers to their elements, and numbers: int as
            int64_t, float as double, NumPy's scalars as what they are. In Ascend C arrays and numbers
            themselves, these as what the kernel's parameters are.
        args : tuple, optional
            The same by keyword, in both languages as one tuple.
        range : int or tuple of int, optional
            ``n`` or ``(begin, end)``: the function has two further parameters, ``int64_t begin, int64_t end``, and
            is called with parts of the range on several threads. It may be the second argument.
        blocks : int
            In Ascend C: how many blocks, 1 to 65535.
        threads : int
            Of each block, 1 to 1024, where the code is the body of a thread (it has threadIdx).

        Raises
        ------
        TypeError, ValueError, OverflowError
            An argument that has no such form.
        RuntimeError
            In Ascend C: a block failed, or the device is no CPU.
        """
        if args is not None:
            self._check_tuple(args)
            if len(arguments) > 0:
                raise TypeError(
                    f"{self.name}: args= is all arguments; {len(arguments)} are given beside it"
                )
            arguments = (args,) if self._ascend is None else tuple(args)
        if self._ascend is not None:
            if range is not None:
                raise TypeError(f"{self.name}: range= is for kernels in C; Ascend C takes blocks=")
            return self._ascend(arguments, blocks, threads)
        if blocks is not None or threads is not None:
            raise TypeError(f"{self.name}: blocks= and threads= are for kernels in Ascend C")
        if len(arguments) == 2 and range is None:
            arguments, range = arguments[:1], arguments[1]  # noqa: A001
        if len(arguments) != 1:
            raise TypeError(f"{self.name}: takes one tuple of the arguments, got {len(arguments)}")
        return self._run(arguments[0], range)

    def _check_tuple(self, args):
        if not isinstance(args, (tuple, list)):
            raise TypeError(
                f"{self.name}: args is a {type(args).__name__}; it must be a tuple of the arguments"
            )

    def _run(self, args, range):  # noqa: A002
        """In C."""
        function = self.compile()
        self._check_tuple(args)
        host, kept = loops.Host(self.name), []
        values = [self._argument(k, x, host, kept) for k, x in enumerate(args)]
        if range is None:
            function(*values)
        else:
            begin, end = range if isinstance(range, tuple) else (0, range)
            self._split(function, values, int(begin), int(end))
        host.done()

    def _split(self, function, values, begin, end):
        """Parts of the range, each on a thread; ctypes lets go of Python's lock."""
        parts = max(1, min(loops.threads(), end - begin))
        bounds = [begin + (end - begin) * k // parts for k in np.arange(parts + 1).tolist()]
        threads = [
            threading.Thread(
                target=function, args=(*values, ctypes.c_int64(low), ctypes.c_int64(high))
            )
            for low, high in zip(bounds[1:-1], bounds[2:], strict=True)
        ]
        for thread in threads:
            thread.start()
        if end > begin:
            function(*values, ctypes.c_int64(begin), ctypes.c_int64(bounds[1]))
        for thread in threads:
            thread.join()
