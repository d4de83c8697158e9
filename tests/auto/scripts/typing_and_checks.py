"""isinstance, dtypes, singledispatch, annotations."""

from __future__ import annotations

from functools import singledispatch
from typing import Union

import numpy as np
import numpy.typing as npt

Number = Union[int, float, np.ndarray]


def norm(x: npt.NDArray[np.float64], p: Number = 2) -> float:
    if not isinstance(x, np.ndarray):
        raise TypeError("an array is needed")
    return float((np.abs(x) ** p).sum() ** (1 / p))


@singledispatch
def describe(x):
    return f"something: {x}"


@describe.register
def _(x: int):
    return f"int {x}"


@describe.register(np.ndarray)
def _(x):
    return f"array {x.dtype} {x.shape}"


print(norm(np.array([3.0, 4.0])), describe(1), describe("a"), describe(np.zeros((2, 3))))
print(describe(np.array(["text"])), describe(np.array([1], dtype=object)))
print(
    isinstance(np.float64(1), float),
    isinstance(np.int64(1), np.integer),
    isinstance(np.add, np.ufunc),
)
for dtype in (np.int8, np.float16, "f4", complex, bool, "U3", "M8[s]", object):
    a = np.zeros(2, dtype)
    print(
        a.dtype,
        a.dtype.kind,
        a.itemsize,
        isinstance(a, np.ndarray),
        np.issubdtype(a.dtype, np.number),
    )
print(np.result_type(np.int8, np.float32), np.promote_types("i4", "u4"), np.can_cast("f8", "f4"))
print(np.iinfo(np.int16).max, np.finfo(np.float32).eps, np.isscalar(3.0), np.ndim([[1]]))
print(hasattr(np, "float"), hasattr(np, "jit"), callable(np.vectorize), np.pi, np.e)
try:
    np.no_such_name
except AttributeError as error:
    print(error)
