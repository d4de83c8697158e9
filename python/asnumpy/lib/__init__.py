"""Helpers that NumPy keeps under numpy.lib."""

from numpy.lib import (  # noqa: F401
    Arrayterator,
    NumpyVersion,
    add_docstring,
    add_newdoc,
    format,
    introspect,
    mixins,
    tracemalloc_domain,
)

from . import array_utils, npyio, scimath, stride_tricks  # noqa: F401

__all__ = ["NumpyVersion", "array_utils", "npyio", "scimath", "stride_tricks"]
