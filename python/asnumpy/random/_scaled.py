"""What Generator and RandomState share: standard draws moved and stretched."""

import numpy as np


def _drawn_size(size, a, b):
    """`size`, or what the parameters broadcast to; None for two numbers."""
    if size is None and (np.ndim(a) or np.ndim(b)):
        return np.broadcast(a, b).shape
    return size


def scaled_uniform(draw, low, high, size, message):
    """Uniform floats in [low, high) from `draw(size)` in [0, 1)."""
    span = np.subtract(high, low)
    if not np.all(np.isfinite(span)):
        raise OverflowError(message)
    return low + span * draw(_drawn_size(size, low, high))


def scaled_normal(draw, loc, scale, size):
    """Normal floats of mean loc and deviation scale from the standard `draw(size)`."""
    if np.any(np.signbit(np.asarray(scale, dtype=float))):
        raise ValueError("scale < 0")
    return loc + scale * draw(_drawn_size(size, loc, scale))
