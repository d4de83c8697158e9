"""What answers ATen's names (aten::mm) in asnumpy.ops.

Names of elementwise operations follow from the operation table (src/ops/aten.c); what is no ufunc here is listed below.
"""

import functools

from .. import _core


def _operator_of(name):
    """ "add" of "aten::add.Tensor"; "" of what is no name of ATen's, or one in place, which nothing answers."""
    namespace, _, rest = name.partition("::")
    rest = rest.partition(".")[0]
    return "" if namespace != "aten" or rest.endswith("_") else rest


def aten_ufunc(name):
    """The name of the ufunc that answers, or None."""
    row = _core._aten_row(_operator_of(name))
    return row if row in _core.ufuncs else None


def aten_function(name):
    """The function that answers where no ufunc does, or None."""
    operator = _operator_of(name)
    row = _core._aten_row(operator)
    return _functions().get(operator if row is None else row)


def _of_row(name):
    """A function of one array that is a row of the operation table, and no ufunc of NumPy's."""

    def function(x):
        return _core._unary_row(name, _core.asarray(x))

    function.__name__ = function.__qualname__ = name
    return function


def _of_dimensions(name, function, *ndims):
    """The function, of arrays of these numbers of dimensions alone, as ATen has it."""

    def checked(*args):
        for k, (x, ndim) in enumerate(zip(args, ndims, strict=False), 1):
            if _core.asarray(x).ndim != ndim:
                raise ValueError(
                    f"aten::{name}: argument {k} has {_core.asarray(x).ndim} dimensions; it must have {ndim}"
                )
        return function(*args)

    checked.__name__ = checked.__qualname__ = name
    return checked


@functools.cache
def _functions():
    """{ATen's name, or the table's: a function}; sums and their kin are of all elements."""
    import asnumpy as np

    return {
        "mm": _of_dimensions("mm", np.matmul, 2, 2),
        "bmm": _of_dimensions("bmm", np.matmul, 3, 3),
        "mv": _of_dimensions("mv", np.matmul, 2, 1),
        "matmul": np.matmul,
        "dot": _of_dimensions("dot", np.dot, 1, 1),
        "outer": _of_dimensions("outer", np.outer, 1, 1),
        "sum": np.sum,
        "prod": np.prod,
        "mean": np.mean,
        "amax": np.max,
        "amin": np.min,
        "where": np.where,
        "erf": _of_row("erf"),
        "erfc": _of_row("erfc"),
        "frac": _of_row("frac"),
        "isposinf": np.isposinf,
        "isneginf": np.isneginf,
        "relu": lambda x: np.maximum(x, 0),
        "rsqrt": lambda x: np.reciprocal(np.sqrt(x)),
        "sigmoid": lambda x: np.reciprocal(1 + np.exp(-x)),
    }
