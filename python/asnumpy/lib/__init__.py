"""Helpers that NumPy keeps under numpy.lib."""

from numpy.lib import NumpyVersion  # noqa: F401

from . import array_utils, npyio, scimath, stride_tricks  # noqa: F401

__all__ = ["NumpyVersion", "array_utils", "npyio", "scimath", "stride_tricks"]
