"""Custom operators: kernels from C source text, compiled operators, CANN's custom packages."""

from ._compiler import CompileError
from ._elementwise import ElementwiseKernel
from ._library import load_library
from ._raw import RawKernel
from ._reduction import ReductionKernel

__all__ = ["CompileError", "ElementwiseKernel", "RawKernel", "ReductionKernel", "load_library"]
