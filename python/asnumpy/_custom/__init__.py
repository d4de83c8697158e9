"""Custom operators: kernels from C source text, compiled operators, CANN's custom packages."""

from .compiler import CompileError
from .elementwise import ElementwiseKernel
from .library import load_library
from .raw import RawKernel
from .reduction import ReductionKernel

__all__ = ["CompileError", "ElementwiseKernel", "RawKernel", "ReductionKernel", "load_library"]
