"""Loops of the host's over arrays: operands, results, threads, and devices that the host does not reach."""

import math
import os

import numpy as np

from .. import _core

# A thread more for each so many bytes of operands: some 50 us of work against 10 to 20 us for the thread.
BYTES_A_THREAD = 1 << 19


def threads():
    """How many threads loops may use: ``$ASNUMPY_NUM_THREADS``, or the processors of the process."""
    wish = os.environ.get("ASNUMPY_NUM_THREADS", "")
    return int(wish) if wish.isdigit() and int(wish) > 0 else len(os.sched_getaffinity(0))


def is_number(x):
    """Whether x is a Python number, which gives way to the arrays' dtypes."""
    return type(x) in (bool, int, float, complex)


def as_array(x):
    """An array of ours of any array-like."""
    return x if type(x) is _core.ndarray else _core.asarray(x)


def call_arguments(name, nin, nout, args, out):
    """A call's inputs as arrays and numbers, and its outputs, None where they are to be made. Outputs come behind
    the inputs or as ``out=``."""
    outputs = [None] * nout
    if len(args) == nin + nout:
        args, outputs = args[:nin], list(args[nin:])
    elif len(args) != nin:
        raise TypeError(f"{name}: takes {nin} or {nin + nout} arguments, got {len(args)}")
    if out is not None:
        given = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(given) != nout or any(x is not None for x in outputs):
            raise TypeError(f"{name}: out= takes the {nout} outputs, once; got {len(given)}")
        outputs = given
    return [x if is_number(x) else as_array(x) for x in args], outputs


def cast_inputs(kernel, inputs, dtypes):
    """The inputs as arrays of the dtypes that the kernel reads."""
    return [
        x if type(x) is _core.ndarray and x.dtype is d else cast(x, d, f"{kernel.name}: {p.name}")
        for p, x, d in zip(kernel.in_params, inputs, dtypes, strict=True)
    ]


def promoted(values):
    """NumPy's dtype for arrays, dtypes and Python numbers together."""
    return np.result_type(
        *(x if is_number(x) or isinstance(x, np.dtype) else x.dtype for x in values)
    )


def types_of(inputs, outputs):
    """What the dtypes of a call follow from: those of arrays, the types of Python numbers."""
    key = tuple(type(x) if is_number(x) else x.dtype for x in inputs)
    return key, tuple(None if x is None else getattr(x, "dtype", None) for x in outputs)


def check_castable(source, target, casting, where):
    """TypeError as a ufunc's, where a dtype does not go into another."""
    if source != target and not np.can_cast(source, target, casting):
        raise TypeError(
            f"{where}: Cannot cast from {np.dtype(source)!r} to {np.dtype(target)!r} with casting rule {casting!r}"
        )


def cast(x, dtype, where, casting="same_kind"):
    """The argument as an array of a dtype; Python numbers by their kind alone."""
    dtype = np.dtype(dtype)
    check_input(x, dtype, where, casting)
    if is_number(x):
        if dtype.kind in "iu" and not np.iinfo(dtype).min <= x <= np.iinfo(dtype).max:
            raise OverflowError(f"{where}: Python integer {x} out of bounds for {dtype}")
        return _core.asarray(x, dtype=dtype)
    return x if x.dtype == dtype else x.astype(dtype)


def check_input(x, dtype, where, casting="same_kind"):
    """TypeError where an argument does not go into a loop's dtype."""
    source = np.result_type(x, dtype) if is_number(x) else x.dtype
    check_castable(source, dtype, casting, where)


def _meets(output, inputs):
    """Whether writing an output could change an input before it is read: they share memory, and are not
    element for element the same."""
    for x in inputs:
        same = x.shape == output.shape and x.strides == output.strides and x.dtype == output.dtype
        if _core.may_share_memory(x, output) and not (same and _first(x) == _first(output)):
            return True
    return False


def _first(array):
    return _core._host_address(array) if _core._host_access() else id(array)


def make_outputs(outputs, shape, dtypes, name, casting="same_kind"):
    """Arrays for the results: given ones are checked.

    Returns
    -------
    list of (ndarray given or None, ndarray that the loop may write)
    """
    return [
        make_output(given, shape, dtype, name, k, casting)
        for k, (given, dtype) in enumerate(zip(outputs, dtypes, strict=True))
    ]


def make_output(given, shape, dtype, name, k, casting="same_kind"):
    """One of these."""
    if given is None:
        return None, _core.empty(shape, dtype)
    if not _core._is_array(given):
        raise TypeError(
            f"{name}: output {k} is a {type(given).__name__}; it must be an asnumpy array"
        )
    if given.shape != tuple(shape):
        raise ValueError(
            f"{name}: output {k} has shape {given.shape}; the operands make {tuple(shape)}"
        )
    if not given.flags.writeable:
        raise ValueError(f"{name}: output {k} is read-only")
    check_castable(dtype, given.dtype, casting, f"{name}: output {k}")
    return given, given


def separate(pairs, inputs, dtypes):
    """The same pairs, with memory of its own for what has another dtype or overlaps the inputs."""
    kept = []
    for k, ((given, array), dtype) in enumerate(zip(pairs, dtypes, strict=True)):
        others = [a for i, (_, a) in enumerate(pairs) if i != k]
        if given is not None and (
            given.dtype != dtype or _meets(given, inputs) or _meets(given, others)
        ):
            array = given.astype(dtype)
        kept.append((given, array))
    return kept


def finish(pairs):
    """What the loop wrote, in the arrays that the caller gave."""
    results = []
    for given, array in pairs:
        if given is not None and given is not array:
            _core.copyto(given, array, casting="unsafe")
        results.append(array if given is None else given)
    return results


class Host:
    """Arrays where the host computes on them: themselves where it reaches them, else copies, of which the
    written ones go back at the end."""

    def __init__(self, name):
        self.reached = _core._host_access()
        self.copies = []
        if not self.reached:
            _core._begin_fallback(name)

    def read(self, array):
        return array if self.reached else array.to_numpy()

    def write(self, array):
        if self.reached:
            return array
        copy = array.to_numpy()
        self.copies.append((array, copy))
        return copy

    def done(self):
        for array, copy in self.copies:
            _core.copyto(array, _core.from_numpy(copy), casting="unsafe")


def address(array):
    """Of the elements of an array of `Host`."""
    return _core._host_address(array)


def steps(shape):
    """Row-major strides, in elements."""
    found, step = [], 1
    for extent in reversed(shape):
        found.insert(0, step)
        step *= extent
    return tuple(found)


def run(loop, data, inputs, outputs, shape, index=None, ordered=0):
    """The loop at an address over arrays of `Host`, stretched to a shape.

    index: (first, strides): an input before the others without memory, whose address is the element's number.
    ordered: so many first axes go in order, one step after the other.
    """
    operands = (*inputs, *outputs)
    size = sum(a.itemsize for a in operands) or 8
    least = BYTES_A_THREAD // size
    wanted = threads() if math.prod(shape) >= 2 * least else 1
    _core._run_loop(loop, data, operands, len(inputs), tuple(shape), index, wanted, least, ordered)
