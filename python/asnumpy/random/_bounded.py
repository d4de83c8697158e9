"""What Generator.integers and RandomState.randint share: bounds to draws."""

import math
import warnings

import numpy as np

from .._core import empty
from ._parameters import rows_of

_DTYPES = {np.dtype(t) for t in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")}


def draw_integers(engine, low, high, size, dtype, endpoint, masked):
    """Integers in [low, high) or [low, high] as NumPy draws them; high None means [0, low)."""
    wanted = dtype
    if dtype is bool:
        dtype = np.bool_
    dtype = np.dtype(dtype)
    if not dtype.isnative:
        dtype = _native(dtype, masked)
    if dtype not in _DTYPES:
        raise TypeError(f"Unsupported dtype {dtype!r} for integers")
    if size is not None and math.prod(rows_of(size)) == 0:
        return empty(size, dtype)
    single = high is None
    if single:
        low, high = 0, low
    if np.ndim(low) or np.ndim(high):
        return _draw_each(engine, low, high, size, dtype, endpoint, masked, single)
    first, last = int(low), int(high) - (not endpoint)
    lowest, highest = _limits(dtype)
    if first < lowest:
        raise ValueError(f"low is out of bounds for {dtype}")
    if last > highest:
        raise ValueError(f"high is out of bounds for {dtype}")
    if first > last:
        raise ValueError(_order(endpoint, single))
    result = engine.bounded(size, dtype, first % 2**64, last - first, masked)
    if size is None and wanted in (int, bool):
        return wanted(result)
    return result


def _limits(dtype):
    return (0, 1) if dtype == np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)


def _native(dtype, legacy):
    """dtype in this machine's byte order: RandomState warns where Generator refuses."""
    message = (
        f"Providing a dtype with a non-native byteorder is not supported, got {dtype!r}. Call byteswap "
        "on the result where a byte order is needed."
    )
    if not legacy:
        raise ValueError(message)
    warnings.warn(message, DeprecationWarning, stacklevel=4)
    return dtype.newbyteorder("=")


def _order(endpoint, single):
    """What is wrong with the bounds; `single`: the one given is the upper one."""
    if single:
        return "high < 0" if endpoint else "high <= 0"
    return "low > high" if endpoint else "low >= high"


def _whole(bound):
    """A bound as integers: floats and objects through Python's."""
    bound = np.asarray(bound)
    if bound.dtype.kind == "b":
        return bound.astype(np.int8)
    if bound.dtype.kind in "iu":
        return bound
    return np.array([int(x) for x in bound.ravel().tolist()], dtype=object).reshape(bound.shape)


def _modular(bound):
    """Integers modulo 2**64, as uint64."""
    if bound.dtype == object:
        flat = [x % 2**64 for x in bound.ravel().tolist()]
        return np.array(flat, dtype=np.uint64).reshape(bound.shape)
    return bound.astype(np.int64 if bound.dtype.kind == "i" else np.uint64).view(np.uint64)


def _draw_each(engine, low, high, size, dtype, endpoint, masked, single):
    lows, highs = np.broadcast_arrays(_whole(low), _whole(high))
    if size is not None:
        lows, highs = np.broadcast_to(lows, size), np.broadcast_to(highs, size)
    lowest, highest = _limits(dtype)
    if np.any(lows < lowest):
        raise ValueError(f"low is out of bounds for {dtype}")
    if np.any(highs > highest + (not endpoint)):
        raise ValueError(f"high is out of bounds for {dtype}")
    if np.any(lows > highs if endpoint else lows >= highs):
        raise ValueError(_order(endpoint, single))
    offset = np.ascontiguousarray(_modular(lows))
    last = _modular(highs) - np.uint64(not endpoint)
    span = np.ascontiguousarray(last - offset)
    return engine.bounded_each(dtype, lows.shape, offset, span, masked)
