"""Our arrays for Numba: arguments, and globals, which are constants as NumPy's are.

A compiled function is handed NumPy's array over the same memory. The type of an argument is not
quite NumPy's, since functions that were compiled for that, perhaps in a cache on disk, do not ask
for a host array; inside a function it behaves and converts as one.
"""

import numpy
from llvmlite import ir
from numba.core import cgutils
from numba.core.datamodel.models import ArrayModel
from numba.core.imputils import lower_cast, lower_constant
from numba.core.pythonapi import NativeValue, _unboxers, unbox
from numba.core.types import Array, Module
from numba.core.typing.templates import builtin_registry
from numba.extending import register_model, typeof_impl

import asnumpy
from asnumpy._host_values import host


class HostedArray(Array):
    """An argument that is an array of ours."""

    def __init__(self, dtype, ndim, layout, readonly=False, name=None, aligned=True):
        name = name or f"asnumpy({dtype}, {ndim}d, {layout}, {not readonly}, {aligned})"
        super().__init__(dtype, ndim, layout, readonly, name, aligned)

    def copy(self, dtype=None, ndim=None, layout=None, readonly=None):
        """A type like it: NumPy's for what is made of it; a global, made read-only, stays ours."""
        if readonly and dtype is None and ndim is None and layout is None:
            return HostedArray(self.dtype, self.ndim, self.layout, True, None, self.aligned)
        return super().copy(dtype, ndim, layout, readonly)


register_model(HostedArray)(ArrayModel)


@typeof_impl.register(asnumpy.ndarray)
def _typeof(value, context):
    made = typeof_impl(host(value), context)
    return HostedArray(made.dtype, made.ndim, made.layout, not made.mutable, None, made.aligned)


@lower_constant(HostedArray)
def _constant(context, builder, kind, value):
    return context.make_constant_array(builder, kind, host(value))


@unbox(HostedArray)
def _unbox(kind, value, c):
    to_host = c.pyapi.unserialize(c.pyapi.serialize_object(host))
    array = c.pyapi.call_function_objargs(to_host, (value,))
    c.pyapi.decref(to_host)
    failed = cgutils.is_null(c.builder, array)  # what the array waits for raised
    result = cgutils.alloca_once_value(c.builder, ir.Constant(c.context.get_value_type(kind), None))
    is_error = cgutils.alloca_once_value(c.builder, failed)
    with cgutils.if_likely(c.builder, c.builder.not_(failed)):
        native = _unboxers.functions[Array](kind, array, c)  # keeps the array alive
        c.builder.store(native.value, result)
        c.builder.store(native.is_error, is_error)
        c.pyapi.decref(array)
    return NativeValue(c.builder.load(result), is_error=c.builder.load(is_error))


@lower_cast(HostedArray, Array)
def _as_numpys(context, builder, from_type, to_type, value):
    return value


# In a compiled function the module is NumPy: its functions are those that Numba compiles.
builtin_registry.register_global(asnumpy, Module(numpy))
