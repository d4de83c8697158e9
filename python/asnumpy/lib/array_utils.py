"""Axis numbers and memory bounds."""

from numpy.lib import array_utils as _host

from .. import _core

__all__ = ["byte_bounds", "normalize_axis_index", "normalize_axis_tuple"]


def byte_bounds(a):
    """The first and one past the last address of the elements."""
    return _host.byte_bounds(a)


def normalize_axis_index(axis, ndim, msg_prefix=None):
    """An axis number in [0, ndim)."""
    return _host.normalize_axis_index(axis, ndim, msg_prefix)


def normalize_axis_tuple(axis, ndim, argname=None, allow_duplicate=False):
    """Axis numbers in [0, ndim) as a tuple."""
    return _host.normalize_axis_tuple(axis, ndim, argname, allow_duplicate)


del _core
