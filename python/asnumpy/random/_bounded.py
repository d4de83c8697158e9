"""What Generator.integers and RandomState.randint share: bounds to draws."""

import numpy as np

_DTYPES = {np.dtype(t) for t in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")}


def draw_integers(engine, low, high, size, dtype, endpoint, masked):
    """Integers in [low, high) or [low, high] as NumPy draws them; high None means [0, low)."""
    wanted = dtype
    if dtype is bool:
        dtype = np.bool_
    dtype = np.dtype(dtype)
    if dtype not in _DTYPES or not dtype.isnative:
        raise TypeError(f"Unsupported dtype {dtype!r} for integers")
    if high is None:
        low, high = 0, low
    if np.ndim(low) or np.ndim(high):
        return _draw_each(engine, low, high, size, dtype, endpoint, masked)
    first, last = int(np.floor(low)), int(np.floor(high)) - (not endpoint)
    _check(first, last, dtype, endpoint)
    result = engine.bounded(size, dtype, first % 2**64, last - first, masked)
    if size is None and wanted in (int, bool):
        return wanted(result)
    return result


def _check(first, last, dtype, endpoint):
    lowest, highest = (0, 1) if dtype == np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if first < lowest:
        raise ValueError(f"low is out of bounds for {dtype}")
    if last > highest:
        raise ValueError(f"high is out of bounds for {dtype}")
    if first > last:
        raise ValueError("low > high" if endpoint else "low >= high")


def _draw_each(engine, low, high, size, dtype, endpoint, masked):
    from .. import array

    lows, highs = np.broadcast_arrays(np.asarray(low), np.asarray(high))
    if size is not None:
        lows, highs = np.broadcast_to(lows, size), np.broadcast_to(highs, size)
    out = np.empty(lows.shape, dtype=dtype)
    for i, (a, b) in enumerate(zip(lows.ravel().tolist(), highs.ravel().tolist(), strict=True)):
        first, last = int(a), int(b) - (not endpoint)
        _check(first, last, dtype, endpoint)
        out.ravel()[i] = engine.bounded(None, dtype, first % 2**64, last - first, masked)
    return array(out)
