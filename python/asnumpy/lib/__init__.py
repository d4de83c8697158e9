"""Helpers that NumPy keeps under numpy.lib."""

from numpy.lib import (  # noqa: F401
    Arrayterator,
    NumpyVersion,
    add_docstring,
    add_newdoc,
    format,
    introspect,
    tracemalloc_domain,
)

from . import array_utils, mixins, npyio, scimath, stride_tricks  # noqa: F401

__all__ = [
    "Arrayterator",
    "NumpyVersion",
    "add_docstring",
    "add_newdoc",
    "array_utils",
    "format",
    "introspect",
    "mixins",
    "npyio",
    "scimath",
    "stride_tricks",
    "tracemalloc_domain",
]


def __dir__():
    return __all__
