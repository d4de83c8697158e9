"""Parameters of distributions as their checks need them, and sizes."""

import operator

import numpy as np


def operand(parameter):
    """A parameter to compare: Python's numbers as they are, all else as an array."""
    return parameter if parameter.__class__ in (float, int) else np.asarray(parameter)


def any_of(found):
    """np.any, which a bool need not go through."""
    return found if found.__class__ is bool else np.any(found)


def whole(parameter):
    """A parameter of whole numbers as an array; a single one by its own __int__."""
    if parameter.__class__ is int:
        return parameter
    array = np.asarray(parameter)
    return array if array.ndim or array.dtype.kind == "f" else np.asarray(int(parameter))


def rows_of(size):
    """`size` as a tuple; None is ()."""
    if size is None:
        return ()
    if size.__class__ is int:
        return (size,)
    extents = np.atleast_1d(size).tolist() if np.ndim(size) else (size,)
    return tuple(map(operator.index, extents))
