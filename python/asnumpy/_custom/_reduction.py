"""ReductionKernel: map, reduce and post-map expressions in C, with NumPy's axis, keepdims and out."""

import ctypes
import math
import threading

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from . import _loops as loops
from ._compiler import compile_source
from ._elementwise import broadcast_shape
from ._parameters import (
    C_TYPES,
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

# A reduction along an axis by several accumulators, which the compiler makes a vector of: a chain of
# dependent additions takes 4 cycles each. The arguments are values, an accumulator and its flag (1: it has
# a value). VALUE(j): the mapped element j.
_LANES = """\
    if (_s[ACC] == 0) {
        enum { LANES = 16 };
        _type_reduce _r, _l[LANES];
        int64_t _j = 0;
        bool _full = _count >= LANES;
        if (_full) {
            for (int _k = 0; _k < LANES; _k++) _l[_k] = VALUE(_k);
            for (_j = LANES; _j + LANES <= _count; _j += LANES)
                for (int _k = 0; _k < LANES; _k++) _l[_k] = _reduce(_l[_k], VALUE(_j + _k));
            for (int _w = LANES / 2; _w; _w /= 2)
                for (int _k = 0; _k < _w; _k++) _l[_k] = _reduce(_l[_k], _l[_k + _w]);
            _r = _l[0];
        } else {
            _r = VALUE(0);
            _j = 1;
        }
        for (; _j < _count; _j++) _r = _reduce(_r, VALUE(_j));
        _type_reduce *_acc = (_type_reduce *)_a[ACC];
        *_acc = IS_SET((uint8_t *)_a[ACC + 1]) ? _reduce(*_acc, _r) : _r;
        *(uint8_t *)_a[ACC + 1] = 1;
    } else if (_s[ACC] == (int64_t)sizeof(_type_reduce) && _s[ACC + 1] == 1) {
        _type_reduce *_acc = (_type_reduce *)_a[ACC];
        uint8_t *_set = (uint8_t *)_a[ACC + 1];
#pragma GCC ivdep
        for (int64_t _j = 0; _j < _count; _j++) {
            _type_reduce _v = VALUE(_j);
            _acc[_j] = IS_SET(_set + _j) ? _reduce(_acc[_j], _v) : _v;
        }
        if (!IS_SET(_set)) memset(_set, 1, (size_t)_count);
    } else {
        for (int64_t _j = 0; _j < _count; _j++) {
            _type_reduce *_acc = (_type_reduce *)(_a[ACC] + _j * _s[ACC]);
            uint8_t *_set = (uint8_t *)(_a[ACC + 1] + _j * _s[ACC + 1]);
            _type_reduce _v = VALUE(_j);
            *_acc = IS_SET(_set) ? _reduce(*_acc, _v) : _v;
            *_set = 1;
        }
    }
"""


class ReductionKernel:
    """A reduction from expressions in C.

    Parameters
    ----------
    in_params, out_params : str
        As of ElementwiseKernel; the first output's type is that of the accumulator.
    map_expr : str
        Of one element of the inputs: "x * x". i is its row-major index.
    reduce_expr : str
        Of two values a and b: "a + b". It must be associative and commutative: elements are taken in
        any order.
    post_map_expr : str
        Statements that set the outputs from the reduced value a: "y = sqrt(a)".
    identity : str or number or None
        The value of a reduction of nothing, in C; None: that is a ValueError.
    name : str
        For messages and the file of the compiled kernel.
    reduce_type : str, optional
        The accumulator's type: a dtype's name or a letter.
    reduce_dims : bool
        Taken for other libraries' sake: axes that step as one are always reduced as one.
    preamble : str
        C before the kernel: helpers, includes.
    options : sequence of str
        Further flags of the compiler.

    Raises
    ------
    ValueError
        A parameter list cannot be read, or has no input or no output.

    Notes
    -----
    Compiled and run as an ElementwiseKernel; a reduction over all axes is split over the processors.
    A call takes axis, keepdims and out.

    Examples
    --------
    >>> import asnumpy as np
    >>> norm = np.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    >>> norm(np.array([[3.0, 4.0], [6.0, 8.0]]), axis=1)
    array([ 5., 10.])
    """

    __module__ = "asnumpy"

    def __init__(self, in_params, out_params, map_expr, reduce_expr, post_map_expr, identity, name="reduce_kernel",
                 reduce_type=None, reduce_dims=True, preamble="", options=()):  # fmt: skip
        self.name, self.preamble, self.options = name, preamble, tuple(options)
        self.in_params, self.out_params = parse(in_params, name), parse(out_params, name)
        check_names([*self.in_params, *self.out_params], name)
        if not self.out_params or any(p.raw for p in self.out_params):
            raise ValueError(f"{name}: a reduction has output parameters, and none is raw")
        if all(p.raw for p in self.in_params):
            raise ValueError(f"{name}: a reduction has an input parameter that is not raw")
        self.map_expr, self.reduce_expr, self.post_map_expr = map_expr, reduce_expr, post_map_expr
        self.identity = None if identity is None or identity == "" else str(identity)
        self.reduce_type = reduce_type or self.out_params[0].type
        if len(self.reduce_type) > 1 and self.reduce_type not in C_TYPES:
            raise ValueError(
                f"{name}: reduce_type is {reduce_type!r}; it is one letter, or {', '.join(C_TYPES)}"
            )
        self.nin, self.nout = len(self.in_params), len(self.out_params)
        self.nargs = self.nin + self.nout
        self._raw = Raw(self.in_params)
        self._compiled, self._plans, self._lock = {}, {}, threading.Lock()

    def __repr__(self):
        return f"<asnumpy.ReductionKernel {self.name!r}>"

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
        >>> total = np.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
        >>> "a + b" in total.source({"T": np.dtype("float32")})
        True
        """
        ins = [p for p in self.in_params if not p.raw]
        reduce_type = self.reduce_type if len(self.reduce_type) == 1 else C_TYPES[self.reduce_type]
        formal = "".join(f", const {c_type(p)} {p.name}" for p in ins) + self._raw.formal(())
        inline = "static inline __attribute__((always_inline)) "

        def value(packed):
            loads = "".join(
                f", *({c_type(p)} *)(_a[{k}] + (_x) * "
                + (f"(int64_t)sizeof({c_type(p)}))" if packed else f"_s[{k}])")
                for k, p in enumerate(ins, 1)
            )
            return f"#define VALUE(_x) _map(_i + (_x) * _s[0], n{loads}{self._raw.actual()})\n"

        packed = " && ".join(
            f"_s[{k}] == (int64_t)sizeof({c_type(p)})" for k, p in enumerate(ins, 1)
        )
        head = "(char **_a, const int64_t *_n, const int64_t *_s, void *_data) {\n"
        lanes = _LANES.replace("ACC", str(len(ins) + 1))
        outs = "".join(f", {c_type(p)} *_out_{p.name}" for p in self.out_params)
        stores = "".join(
            f", ({c_type(p)} *)(_a[{k}] + _j * _s[{k}])" for k, p in enumerate(self.out_params, 1)
        )
        return (
            PROLOGUE + typedefs(letters) + f"typedef {reduce_type} _type_reduce;\n"
            + part(f"{self.name}: preamble", self.preamble)
            + f"{inline}_type_reduce _map(const int64_t i, const int64_t n{formal}) {{\n"
            + "    const int64_t size = n; (void)i; (void)size;\n    return (_type_reduce)(\n"
            + part(f"{self.name}: map", self.map_expr) + ");\n}\n"
            + f"{inline}_type_reduce _reduce(const _type_reduce a, const _type_reduce b) {{\n    return (_type_reduce)(\n"
            + part(f"{self.name}: reduce", self.reduce_expr) + ");\n}\n"
            + f"{inline}void _post(const _type_reduce a{outs}) {{\n    (void)a;\n"
            + "".join(f"#define {p.name} (*_out_{p.name})\n" for p in self.out_params)
            + part(f"{self.name}: post", self.post_map_expr) + ";\n"
            + "".join(f"#undef {p.name}\n" for p in self.out_params) + "}\n"
            + f"#define IS_SET(_x) {'*(_x)' if self.identity is None else '1'}\n"
            + f"void start{head}    for (int64_t _j = 0; _j < _n[0]; _j++)\n"
            + "        *(_type_reduce *)(_a[0] + _j * _s[0]) = (_type_reduce)(\n"
            + part(f"{self.name}: identity", self.identity or "0") + ");\n}\n"
            + f"void kernel{head}" + self._raw.declarations(())
            + "    const int64_t _i = (intptr_t)_a[0], _count = _n[0];\n"
            + f"    if ({packed}) {{\n" + value(True) + lanes + "#undef VALUE\n    } else {\n"
            + value(False) + lanes + "#undef VALUE\n    }\n}\n"
            + f"void combine{head}    const int64_t _count = _n[0];\n"
            + "#define VALUE(_x) (*(_type_reduce *)(_a[0] + (_x) * _s[0]))\n"
            + _LANES.replace("ACC", "1") + "#undef VALUE\n}\n"
            + f"void post{head}    for (int64_t _j = 0; _j < _n[0]; _j++)\n"
            + f"        _post(*(_type_reduce *)(_a[0] + _j * _s[0]){stores});\n}}\n"
        )  # fmt: skip

    def _plan(self, inputs, outputs):
        """The loops for arguments, the dtypes of the inputs, the outputs, the accumulator."""
        key = loops.types_of(inputs, outputs)
        plan = self._plans.get(key)
        if plan is None:
            letters = resolve(
                self.in_params, self.out_params, inputs, outputs, self.name, [self.reduce_type]
            )
            reads = [dtype_of(p, letters) for p in self.in_params]
            writes = [dtype_of(p, letters) for p in self.out_params]
            accumulator = letters.get(self.reduce_type) or np.dtype(self.reduce_type)
            plan = self._plans[key] = self._kernel(letters), reads, writes, accumulator
        return plan

    def _kernel(self, letters):
        key = tuple(sorted((x, d.num) for x, d in letters.items()))
        with self._lock:
            if key not in self._compiled:
                texts = {self.name + ": " + k: v for k, v in {
                    "preamble": self.preamble, "map": self.map_expr, "reduce": self.reduce_expr,
                    "post": self.post_map_expr, "identity": self.identity or "0"}.items()}  # fmt: skip
                library = compile_source(self.source(letters), self.name, self.options, texts)
                self._compiled[key] = {
                    f: ctypes.cast(getattr(library, f), ctypes.c_void_p).value
                    for f in ("start", "kernel", "combine", "post")
                }
            return self._compiled[key]

    def __call__(self, *args, out=None, axis=None, keepdims=False):
        """The reduction of arrays.

        Parameters
        ----------
        *args : array_like
            The inputs, and perhaps the outputs.
        out : ndarray or tuple of ndarray, optional
        axis : int or tuple of int, optional
            By default all axes of the inputs' common shape.
        keepdims : bool, optional
            Reduced axes stay, with extent 1.

        Returns
        -------
        ndarray, or a tuple of them

        Raises
        ------
        CompileError
            The source does not compile.
        ValueError
            A reduction of nothing without an identity; shapes that do not fit.
        """
        inputs, outputs = loops.call_arguments(self.name, self.nin, self.nout, args, out)
        kernel, reads, dtypes, accumulator = self._plan(inputs, outputs)
        arrays = loops.cast_inputs(self, inputs, reads)
        shape = broadcast_shape(
            [a.shape for p, a in zip(self.in_params, arrays, strict=True) if not p.raw]
        )
        axes = _axes(axis, len(shape))
        kept = tuple(1 if d in axes else n for d, n in enumerate(shape))
        final = kept if keepdims else tuple(n for d, n in enumerate(shape) if d not in axes)
        if self.identity is None and 0 in shape and 0 not in final:
            raise ValueError(f"{self.name}: zero-size array to a reduction which has no identity")
        pairs = loops.separate(
            loops.make_outputs(outputs, final, dtypes, self.name), arrays, dtypes
        )
        self._run(kernel, arrays, pairs, shape, axes, kept, accumulator)
        results = loops.finish(pairs)
        return results[0] if self.nout == 1 else tuple(results)

    def _accumulators(self, kernel, shape, dtype):
        """Accumulators that hold the identity, or nothing yet, and the flags that tell."""
        values, flags = np.empty(shape, dtype), np.zeros(shape, np.uint8)
        if self.identity is not None:
            loops.run(kernel["start"], 0, [], [values], shape)
        return values, flags

    def _run(self, kernel, arrays, pairs, shape, axes, kept, accumulator):
        host = loops.Host(self.name)
        reads, raw = [], []
        for p, a in zip(self.in_params, arrays, strict=True):
            a = host.read(a if not p.raw or a.flags.c_contiguous else a.copy())
            (raw if p.raw else reads).append(a)
        words = [math.prod(shape)] + [w for a in raw for w in (loops.address(a), a.size)]
        data = (ctypes.c_int64 * len(words))(*words)
        # Where one accumulator would keep all threads but one waiting, several take parts of an axis.
        parts, axis = _parts(shape, axes, kept, sum(a.itemsize for a in reads))
        values, flags = self._accumulators(kernel, (parts, *kept), accumulator)
        address = ctypes.addressof(data)
        if parts == 1:
            loops.run(
                kernel["kernel"],
                address,
                reads,
                [values[0], flags[0]],
                shape,
                index=(0, loops.steps(shape)),
            )
        else:
            _run_parts(kernel["kernel"], address, reads, values, flags, shape, axis)
        if parts > 1:
            whole = self._accumulators(kernel, (1, *kept), accumulator)
            loops.run(kernel["combine"], 0, [values], whole, values.shape)
            values = whole[0]
        writes = [host.write(array) for _, array in pairs]
        loops.run(kernel["post"], 0, [values.reshape(writes[0].shape)], writes, writes[0].shape)
        host.done()


def _axes(axis, ndim):
    """The reduced axes as a set."""
    if axis is None:
        return set(range(ndim))
    axes = [
        normalize_axis_index(a, ndim)
        for a in (axis if isinstance(axis, (tuple, list)) else (axis,))
    ]
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return set(axes)


def _parts(shape, axes, kept, itemsize):
    """How many accumulators, and the axis that they share; 1 where threads find work without."""
    work = math.prod(shape) * itemsize // loops.BYTES_A_THREAD
    threads = loops.threads() if axes and work > 1 else 1
    if math.prod(kept) >= threads:
        return 1, 0
    axis = max(axes, key=lambda d: shape[d])
    parts = min(threads, work, shape[axis])
    return max(parts, 1), axis


def _run_parts(kernel, data, reads, values, flags, shape, axis):
    """The reduction with an accumulator for each of equal pieces of an axis; what is left over goes to the
    first."""
    parts, step = len(values), loops.steps(shape)
    chunk = shape[axis] // parts
    whole = chunk * parts

    def pieces(x):
        x = x.reshape((1,) * (len(shape) - x.ndim) + x.shape)
        if x.shape[axis] == 1:
            return x.reshape((1, *x.shape))
        x = x[(slice(None),) * axis + (slice(whole),)]
        x = x.reshape((*x.shape[:axis], parts, chunk, *x.shape[axis + 1 :]))
        return x.transpose((axis, *(d for d in range(x.ndim) if d != axis)))

    def rest(x):
        d = axis - (len(shape) - x.ndim)
        return x if d < 0 or x.shape[d] == 1 else x[(slice(None),) * d + (slice(whole, None),)]

    split = (parts, *shape[:axis], chunk, *shape[axis + 1 :])
    loops.run(
        kernel,
        data,
        list(map(pieces, reads)),
        [values, flags],
        split,
        index=(0, (chunk * step[axis], *step)),
    )
    if whole < shape[axis]:
        left = (*shape[:axis], shape[axis] - whole, *shape[axis + 1 :])
        outputs = [values[0], flags[0]]
        loops.run(
            kernel, data, list(map(rest, reads)), outputs, left, index=(whole * step[axis], step)
        )
