"""What Generator and RandomState share: standard draws moved and stretched."""

import numpy as np

from .._core import _is_array, _is_tracing, _require, ndarray, signbit


def drawn_size(size, *parameters):
    """`size`, or what the parameters broadcast to; None for numbers alone."""
    inputs = np.broadcast_shapes(*map(np.shape, parameters))
    if size is None:
        return inputs or None
    if inputs:
        shape = tuple(np.atleast_1d(size).tolist())
        fits = len(inputs) <= len(shape) and all(
            n in (1, m) for n, m in zip(inputs[::-1], shape[::-1], strict=False)
        )
        if not fits:
            raise ValueError(
                f"Output size {shape} is not compatible with broadcast dimensions of inputs {inputs}."
            )
    return size


def _number(result, size):
    return float(result) if size is None else result


def _double(parameter):
    """A number as float64, lest a narrower one make the product narrow; an array of real numbers.

    As NumPy converts them: text is no number even where it reads like one, a list is converted,
    an array must be safe to cast.
    """
    if type(parameter) in (float, int):
        return float(parameter)
    if _is_array(parameter) and parameter.ndim and parameter.dtype.kind in "biuf":
        return parameter
    if isinstance(parameter, ndarray | np.ndarray):
        host = np.asarray(parameter).astype(np.float64, casting="safe", copy=False)
        return host if host.ndim else float(host)
    host = np.asarray(parameter, dtype=np.float64)
    if host.ndim == 0 and not hasattr(parameter, "__float__"):
        raise TypeError(f"must be real number, not {type(parameter).__name__}")
    return host if host.ndim else float(parameter)


def scaled_uniform(draw, low, high, size, message, downwards=False):
    """Uniform floats in [low, high) from `draw(size)` in [0, 1); downwards: high may be below low."""
    low, high = map(_double, (low, high))
    span = np.subtract(high, low, dtype=np.float64)
    if not np.all(np.isfinite(span)):
        raise OverflowError(message)
    if not downwards and np.any(np.signbit(span)):
        raise ValueError("high < low")
    size = drawn_size(size, low, high)
    return _number(low + span * draw(size), size)


def scaled_normal(draw, loc, scale, size):
    """Normal floats of mean loc and deviation scale from the standard `draw(size)`."""
    loc, scale = map(_double, (loc, scale))
    if _is_array(scale) and _is_tracing():
        _require(signbit(scale).any() == False, "scale < 0")  # noqa: E712
    elif np.any(np.signbit(np.asarray(scale, dtype=float))):
        raise ValueError("scale < 0")
    size = drawn_size(size, loc, scale)
    return _number(loc + scale * draw(size), size)
