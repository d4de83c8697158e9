"""Types for annotations: `NDArray` is an array of ours; what becomes one is said by NumPy's types."""

from typing import Any, TypeVar

import numpy as _np
from numpy.typing import ArrayLike, DTypeLike

from .._core import ndarray

__all__ = ["ArrayLike", "DTypeLike", "NBitBase", "NDArray"]


def __dir__():
    return __all__


_ScalarT = TypeVar("_ScalarT", bound=_np.generic)
NDArray = ndarray[tuple[Any, ...], _np.dtype[_ScalarT]]


def __getattr__(name):
    if name == "NBitBase":  # NumPy warns that it will go
        return getattr(_np.typing, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
