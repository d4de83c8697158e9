"""ElementwiseKernel: a statement in C for each element, with NumPy's broadcasting around it."""

import ctypes
import re
import threading

from .. import _core
from . import _loops as loops
from ._compiler import compile_source
from ._parameters import (
    NARROW,
    NARROW_PROLOGUE,
    PROLOGUE,
    Raw,
    c_type,
    check_names,
    dtype_of,
    parse,
    part,
    resolve,
    typedefs,
)


class ElementwiseKernel:
    """A function of arrays from a statement in C that computes one element.

    Parameters
    ----------
    in_params, out_params : str
        "T x, float32 y, raw T table". A type is a dtype's name, or one letter that stands for the
        promoted dtype of its arguments. raw: the statement indexes the array itself (table[i],
        row-major; table_size elements) and it takes no part in broadcasting.
    operation : str
        Statements in C that set the outputs: "z = (x - y) * (x - y)". i is the element's row-major
        index, n or size their number; C's mathematics fits each type (sqrt, exp), and there are min,
        max and abs. An output keeps its element where it is not set.
    name : str
        For messages and the file of the compiled kernel.
    preamble : str
        C before the kernel: helpers, includes.
    no_return : bool
        The call returns None.
    return_tuple : bool
        The call returns a tuple for one output too.
    options : sequence of str
        Further flags of the compiler.

    Raises
    ------
    ValueError
        A parameter list cannot be read.

    Notes
    -----
    The kernel is compiled at the first call with each combination of dtypes and kept on disk (in
    $ASNUMPY_CACHE_DIR, $XDG_CACHE_HOME/asnumpy or ~/.cache/asnumpy). It runs on the host, over the
    processors; arrays on a device that the host does not reach are copied there and back, under the
    policy of set_fallback. Any thread may call.

    Examples
    --------
    >>> import asnumpy as np
    >>> distance = np.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "distance")
    >>> distance(np.array([1.0, 5.0]), np.array([3.0, 2.0]))
    array([4., 9.])
    """

    __module__ = "asnumpy"

    def __init__(self, in_params, out_params, operation, name="kernel", preamble="", *, no_return=False,
                 return_tuple=False, options=()):  # fmt: skip
        self.name, self.operation, self.preamble = name, operation, preamble
        self.in_params, self.out_params = (
            parse(in_params, name, True),
            parse(out_params, name, True),
        )
        check_names([*self.in_params, *self.out_params], name)
        if not self.out_params:
            raise ValueError(f"{name}: a kernel has at least one output parameter")
        self.nin, self.nout = len(self.in_params), len(self.out_params)
        self.nargs = self.nin + self.nout
        self.no_return, self.return_tuple, self.options = no_return, return_tuple, tuple(options)
        self._raw = Raw([*self.in_params, *self.out_params])
        numbered = re.search(r"\b(i|n|size)\b", f"{operation} {preamble}")
        called_for_effect = no_return or numbered or self._raw.parameters
        self._fuses = not called_for_effect and 1 <= self.nin <= 3 and self.nargs <= 8
        self._compiled, self._plans, self._lock = {}, {}, threading.Lock()

    def __repr__(self):
        return f"<asnumpy.ElementwiseKernel {self.name!r}>"

    def source(self, letters):
        """The C source for dtypes.

        Parameters
        ----------
        letters : dict
            letter -> dtype, of the parameters' types that are letters.

        Returns
        -------
        str

        Examples
        --------
        >>> import asnumpy as np
        >>> twice = np.ElementwiseKernel("T x", "T y", "y = 2 * x", "twice")
        >>> "y = 2 * x" in twice.source({"T": np.dtype("float32")})
        True
        """
        ins = [p for p in self.in_params if not p.raw]
        outs = [p for p in self.out_params if not p.raw]
        formal = "".join(f", const {c_type(p)} {p.name}" for p in ins)
        formal += "".join(f", {c_type(p)} *_out_{p.name}" for p in outs)
        formal += self._raw.formal(self.out_params)
        define = "".join(f"#define {p.name} (*_out_{p.name})\n" for p in outs)
        undefine = "".join(f"#undef {p.name}\n" for p in outs)
        actual = "".join(f", _v_{p.name}" for p in ins) + "".join(f", &_v_{p.name}" for p in outs)
        actual += self._raw.actual()

        def body(contiguous):
            text = ""
            for k, p in enumerate([*ins, *outs], 1):
                narrow = dtype_of(p, letters).name in NARROW
                held = "uint16_t" if narrow else c_type(p)
                step = f"(int64_t)sizeof({held})" if contiguous else f"_s[{k}]"
                value = f"_load_bfloat16(*_p_{p.name})" if narrow else f"*_p_{p.name}"
                text += f"            {held} *_p_{p.name} = ({held} *)(_a[{k}] + _j * {step});"
                text += f" {c_type(p)} _v_{p.name} = {value};\n"
            stores = ""
            for p in outs:
                value = f"_v_{p.name}"
                value = (
                    f"_store_bfloat16({value})" if dtype_of(p, letters).name in NARROW else value
                )
                stores += f"*_p_{p.name} = {value}; "
            return (
                f"{text}            _element(_i + _j * _s[0], n{actual});\n            {stores}\n"
            )

        packed = " && ".join(
            f"_s[{k}] == {dtype_of(p, letters).itemsize}" for k, p in enumerate([*ins, *outs], 1)
        )
        return (
            PROLOGUE + NARROW_PROLOGUE + typedefs(letters) + part(f"{self.name}: preamble", self.preamble)
            + "static inline __attribute__((always_inline)) void _element(const int64_t i, const int64_t n"
            + formal + ") {\n    const int64_t size = n; (void)i; (void)size;\n" + define
            + part(self.name, self.operation) + ";\n" + undefine + "}\n"
            + "void kernel(char **_a, const int64_t *_n, const int64_t *_s, void *_data) {\n"
            + self._raw.declarations(self.out_params)
            + "    const int64_t _i = (intptr_t)_a[0], _count = _n[0];\n"
            + f"    if ({packed or '0'}) {{\n#pragma GCC ivdep\n"
            + "        for (int64_t _j = 0; _j < _count; _j++) {\n" + body(True) + "        }\n    } else {\n"
            + "        for (int64_t _j = 0; _j < _count; _j++) {\n" + body(False) + "        }\n    }\n}\n"
            + self._in_programs()
        )  # fmt: skip

    def _in_programs(self):
        """The kernel as a loop of fused programs, where an element has no number."""
        if not self._fuses:
            return ""
        return (
            "void kernel_in_programs(char **_a, const int64_t *_n, const int64_t *_s, void *_data) {\n"
            f"    int64_t _none = 0, _steps[{self.nargs + 1}] = {{0}}; char *_args[{self.nargs + 1}] = {{0}};\n"
            f"    for (int _k = 0; _k < {self.nargs}; _k++) {{ _args[_k + 1] = _a[_k]; _steps[_k + 1] = _s[_k]; }}\n"
            "    (void)_data; kernel(_args, _n, _steps, &_none);\n}\n"
        )

    def _plan(self, inputs, outputs):
        """The loop for arguments, the dtypes of its inputs and of its outputs; looked up by the arguments' types."""
        key = loops.types_of(inputs, outputs)
        plan = self._plans.get(key)
        if plan is None:
            letters = resolve(
                self.in_params, self.out_params, inputs, outputs, self.name, narrow=True
            )
            reads = [dtype_of(p, letters) for p in self.in_params]
            writes = [dtype_of(p, letters) for p in self.out_params]
            kernel, in_programs = self._kernel(letters)
            opcode = None
            if in_programs:
                opcode = _core._own_loop(self.name, in_programs, 0, (*reads, *writes), self.nin)
            plan = kernel, opcode, reads, writes
            self._plans[key] = plan
        return plan

    def _kernel(self, letters):
        key = tuple(sorted((x, d.num) for x, d in letters.items()))
        with self._lock:
            if key not in self._compiled:
                texts = {self.name: self.operation, f"{self.name}: preamble": self.preamble}
                library = compile_source(self.source(letters), self.name, self.options, texts)
                functions = library.kernel, library.kernel_in_programs if self._fuses else None
                self._compiled[key] = tuple(
                    ctypes.cast(f, ctypes.c_void_p).value if f else None for f in functions
                )
            return self._compiled[key]

    def _shape(self, inputs, outputs, size):
        shapes = [
            () if loops.is_number(x) else x.shape
            for p, x in zip(self.in_params, inputs, strict=True)
            if not p.raw
        ]
        given = [
            x.shape
            for p, x in zip(self.out_params, outputs, strict=True)
            if not p.raw and x is not None
        ]
        if size is not None:
            if shapes and any(s != () for s in shapes):
                raise ValueError(f"{self.name}: size= is for kernels whose arrays are all raw")
            return (int(size),)
        if not shapes and not given:
            raise ValueError(f"{self.name}: every array is raw: give size=, the number of elements")
        return broadcast_shape(shapes) if shapes else given[0]

    def __call__(self, *args, size=None, out=None):
        """The kernel on arrays.

        Parameters
        ----------
        *args : array_like
            The inputs, and perhaps the outputs, which are then written.
        size : int, optional
            The number of elements, where every array is raw.
        out : ndarray or tuple of ndarray, optional
            The outputs, of the operands' common shape.

        Returns
        -------
        ndarray, or a tuple of them

        Raises
        ------
        CompileError
            The source does not compile.
        TypeError, ValueError
            The arguments' number, dtypes or shapes.
        """
        inputs, outputs = loops.call_arguments(self.name, self.nin, self.nout, args, out)
        kernel, opcode, reads, dtypes = self._plan(inputs, outputs)
        if opcode is not None and size is None and all(x is None for x in outputs):
            return self._record(opcode, inputs, reads)
        shape = self._shape(inputs, outputs, size)
        arrays = loops.cast_inputs(self, inputs, reads)
        shapes = [
            x.shape if p.raw and _core._is_array(x) else shape
            for p, x in zip(self.out_params, outputs, strict=True)
        ]
        pairs = [
            loops.make_output(x, s, d, self.name, k)
            for k, (x, s, d) in enumerate(zip(outputs, shapes, dtypes, strict=True))
        ]
        pairs = loops.separate(pairs, arrays, dtypes)
        self._run(kernel, arrays, pairs, shape)
        results = loops.finish(pairs)
        if self.no_return:
            return None
        return results[0] if self.nout == 1 and not self.return_tuple else tuple(results)

    def _record(self, opcode, inputs, reads):
        """A call as an operation among others."""
        for p, x, d in zip(self.in_params, inputs, reads, strict=True):
            if type(x) is not _core.ndarray or x.dtype is not d:
                loops.check_input(x, d, f"{self.name}: {p.name}")
        nothing = (None,) * self.nout
        results = _core._call_own_loop(opcode, tuple(inputs), nothing, None, "same_kind")
        if self.no_return:
            return None
        return results[0] if self.nout == 1 and not self.return_tuple else results

    def _run(self, kernel, arrays, pairs, shape):
        host = loops.Host(self.name)
        reads, writes, raw = [], [], []
        for p, a in zip(self.in_params, arrays, strict=True):
            if p.raw:
                raw.append(host.read(a if a.flags.c_contiguous else a.copy()))
            else:
                reads.append(host.read(a))
        for k, p in enumerate(self.out_params):
            given, array = pairs[k]
            if p.raw and not array.flags.c_contiguous:
                array = array.copy()
                pairs[k] = (given, array)
            (raw if p.raw else writes).append(host.write(array))
        count = 1
        for extent in shape:
            count *= extent
        words = [count] + [w for a in raw for w in (loops.address(a), a.size)]
        data = (ctypes.c_int64 * len(words))(*words)
        loops.run(
            kernel, ctypes.addressof(data), reads, writes, shape, index=(0, loops.steps(shape))
        )
        host.done()


def broadcast_shape(shapes):
    """The common shape, mostly without a call."""
    from .._joining import broadcast_shapes

    return broadcast_shapes(*shapes) if len(set(shapes)) > 1 else shapes[0]
