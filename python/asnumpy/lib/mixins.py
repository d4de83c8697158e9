"""Operators of classes that bring an `__array_ufunc__`."""

from numpy.lib import mixins as _numpys

from .. import _core

__all__ = ["NDArrayOperatorsMixin"]


def __dir__():
    return __all__


# The ufuncs of operators, by the bare names of Python's methods.
_UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}
_COMPARISONS = {"lt": "less", "le": "less_equal", "eq": "equal", "ne": "not_equal", "gt": "greater",
                "ge": "greater_equal"}  # fmt: skip
_BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "matmul": "matmul", "truediv": "divide",
    "floordiv": "floor_divide", "mod": "remainder", "divmod": "divmod", "pow": "power",
    "lshift": "left_shift", "rshift": "right_shift", "and": "bitwise_and", "xor": "bitwise_xor",
    "or": "bitwise_or",
}  # fmt: skip


def _leaves_to(other):
    """Whether the other operand's class says that ufuncs are not for it."""
    return getattr(other, "__array_ufunc__", other) is None


def _methods(bare, ufunc):
    """(name, method) of a binary operator: forward, reflected, in place."""

    def forward(self, other):
        return NotImplemented if _leaves_to(other) else ufunc(self, other)

    def reflected(self, other):
        return NotImplemented if _leaves_to(other) else ufunc(other, self)

    def in_place(self, other):
        return ufunc(self, other, out=(self,))

    yield f"__{bare}__", forward
    if bare not in _COMPARISONS:
        yield f"__r{bare}__", reflected
        if bare != "divmod":
            yield f"__i{bare}__", in_place


def _unary(ufunc):
    return lambda self: ufunc(self)


def _all_methods():
    for bare, name in (_COMPARISONS | _BINARY).items():
        yield from _methods(bare, getattr(_core, name))
    for bare, name in _UNARY.items():
        yield f"__{bare}__", _unary(getattr(_core, name))


class NDArrayOperatorsMixin(_numpys.NDArrayOperatorsMixin):
    """Gives a class with an `__array_ufunc__` all of Python's operators.

    NumPy's mixin, whose operators call our ufuncs: an `__array_ufunc__` that asks ``ufunc is
    np.add`` is asked about the `np.add` that the program knows.

    Examples
    --------
    >>> import asnumpy as np
    >>> class Told(np.lib.mixins.NDArrayOperatorsMixin):
    ...     def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
    ...         return ufunc.__name__
    >>> Told() + 1
    'add'
    """

    __slots__ = ()


for _name, _method in _all_methods():
    _method.__name__ = _name
    _method.__qualname__ = f"NDArrayOperatorsMixin.{_name}"
    setattr(NDArrayOperatorsMixin, _name, _method)
NDArrayOperatorsMixin.__hash__ = None  # as every class with an __eq__
