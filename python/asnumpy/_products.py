"""Products of vectors and tensors, correlation."""

import math
import warnings

import numpy as _np

from . import _core
from ._core import asanyarray, asarray, moveaxis, stack
from ._joining import _normalize


def inner(a, b, /):
    """The sum of products over the last axes."""
    a, b = asanyarray(a), asanyarray(b)
    if a.ndim == b.ndim == 1:
        return _core.dot(a, b)
    if a.ndim == 0 or b.ndim == 0:
        return _core.multiply(a, b)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(
            f"shapes {a.shape} and {b.shape} not aligned: {a.shape[-1]} (dim {a.ndim - 1}) != "
            f"{b.shape[-1]} (dim {b.ndim - 1})".replace(", ", ",")
        )
    return _core.dot(a, b if b.ndim == 1 else moveaxis(b, -1, -2))


def outer(a, b, out=None):
    """The products of all pairs of two flattened arrays."""
    a, b = asarray(a).ravel(), asarray(b).ravel()
    return _core.multiply(a[:, None], b[None, :], out)


def vdot(a, b, /):
    """The dot product of two flattened arrays, the first conjugated."""
    a, b = asarray(a), asarray(b)
    a, b = a if a.ndim == 1 else a.ravel(), b if b.ndim == 1 else b.ravel()
    return _core.dot(a.conj() if a.dtype.kind == "c" else a, b)


def tensordot(a, b, axes=2):
    """The sum of products over given axes."""
    a, b = asarray(a), asarray(b)
    if type(axes) is int and 0 <= axes <= min(a.ndim, b.ndim):  # nothing changes places
        rows, columns = a.shape[: a.ndim - axes], b.shape[axes:]
        if a.shape[a.ndim - axes :] != b.shape[:axes]:
            raise ValueError("shape-mismatch for sum")
        n = math.prod(b.shape[:axes])
        product = _core.dot(a.reshape(math.prod(rows), n), b.reshape(n, math.prod(columns)))
        return product.reshape(rows + columns)
    try:
        left, right = axes
        left = list(left) if hasattr(left, "__iter__") else [left]
        right = list(right) if hasattr(right, "__iter__") else [right]
    except TypeError:
        left, right = list(range(-axes, 0)), list(range(axes))
    last, first = left, right  # a bool is no axis to transpose()
    left = [_normalize(x, a.ndim) for x in left]
    right = [_normalize(x, b.ndim) for x in right]
    if len(left) != len(right) or any(
        a.shape[i] != b.shape[j] for i, j in zip(left, right, strict=True)
    ):
        raise ValueError("shape-mismatch for sum")
    keep_a = [d for d in range(a.ndim) if d not in left]
    keep_b = [d for d in range(b.ndim) if d not in right]
    n = math.prod(a.shape[d] for d in left)
    rows = a.transpose(keep_a + last).reshape(math.prod(a.shape[d] for d in keep_a), n)
    columns = b.transpose(first + keep_b).reshape(n, math.prod(b.shape[d] for d in keep_b))
    return _core.dot(rows, columns).reshape(
        [a.shape[d] for d in keep_a] + [b.shape[d] for d in keep_b]
    )


def kron(a, b):
    """The Kronecker product."""
    b = asanyarray(b)
    a = _core.array(a, copy=None, subok=True, ndmin=b.ndim)
    if a.ndim == 0 or b.ndim == 0:
        return _core.multiply(a, b)
    n = max(a.ndim, b.ndim)
    sa = (1,) * (n - a.ndim) + a.shape
    sb = (1,) * (n - b.ndim) + b.shape
    wide = a.reshape([x for s in sa for x in (s, 1)])
    tall = b.reshape([x for s in sb for x in (1, s)])
    return (wide * tall).reshape([x * y for x, y in zip(sa, sb, strict=True)])


def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """The cross product of vectors of three components (or two, as z = 0)."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = asarray(a), asarray(b)
    if a.ndim < 1 or b.ndim < 1:
        raise ValueError("At least one array has zero dimension")
    axisa, axisb = _normalize(axisa, a.ndim, "axisa"), _normalize(axisb, b.ndim, "axisb")
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{a.shape[-1]} and {b.shape[-1]} dimensional instead."
        )
    if a.shape[-1] == 2 or b.shape[-1] == 2:
        warnings.warn(
            "Arrays of 2-dimensional vectors are deprecated. Use arrays of 3-dimensional vectors "
            "instead. (deprecated in NumPy 2.0)",
            DeprecationWarning,
            stacklevel=3,
        )
    a0, a1, b0, b1 = a[..., 0], a[..., 1], b[..., 0], b[..., 1]
    z = a0 * b1 - a1 * b0
    if a.shape[-1] == 2 and b.shape[-1] == 2:
        return z
    a2 = a[..., 2] if a.shape[-1] == 3 else _core.zeros_like(a0)
    b2 = b[..., 2] if b.shape[-1] == 3 else _core.zeros_like(b0)
    return moveaxis(stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, z], axis=-1), -1, axisc)


def correlate(a, v, mode="valid"):
    """The cross-correlation of two sequences."""
    v = asarray(v)
    return _slide(asarray(a), v.conj() if v.dtype.kind == "c" else v, mode)


def convolve(a, v, mode="full"):
    """The convolution of two sequences."""
    if type(a) is not _core.ndarray or a.ndim != 1:
        a = _core.array(a, copy=None, ndmin=1)
    if type(v) is not _core.ndarray or v.ndim != 1:
        v = _core.array(v, copy=None, ndmin=1)
    if len(a) == 0:
        raise ValueError("a cannot be empty")
    if len(v) == 0:
        raise ValueError("v cannot be empty")
    if len(v) > len(a):
        a, v = v, a
    return _slide(a, v[::-1], mode)


_MODES = {0: "valid", 1: "same", 2: "full", "valid": "valid", "same": "same", "full": "full"}


def _slide(a, v, mode):
    """out[k] = sum_n a[n + k] v[n] by one pass of the device."""
    if mode is None:
        raise TypeError("integer argument expected, got None")
    if mode not in _MODES:
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    mode = _MODES[mode]
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError("object too deep for desired array" if max(a.ndim, v.ndim) > 1 else
                         "object of too small depth for desired array")  # fmt: skip
    n, m = len(a), len(v)
    if n == 0 or m == 0:
        raise ValueError("first array argument cannot be empty" if n == 0 else
                         "second array argument cannot be empty")  # fmt: skip
    swapped = n < m
    if swapped:  # correlation reverses when the operands change places
        a, v, n, m = v, a, m, n
    first = {"full": 1 - m, "same": -(m // 2), "valid": 0}[mode]
    count = {"full": n + m - 1, "same": n, "valid": n - m + 1}[mode]
    result = _sliding(a, v, first, count)
    return result[::-1].copy() if swapped else result


def _sliding(a, v, first, count):
    """out[i] = sum_j a[first + i + j] v[j], i of count, over the j for which a has that element."""
    dtype = a.dtype if a.dtype == v.dtype else _core.result_type(a, v)
    if dtype.kind == "c":
        (a, b), (v, w) = (
            (x.real.copy(), x.imag.copy()) for x in (a.astype(dtype), v.astype(dtype))
        )
        result = _core.empty(count, dtype)
        result.real = _sliding(a, v, first, count) - _sliding(b, w, first, count)
        result.imag = _sliding(a, w, first, count) + _sliding(b, v, first, count)
        return result
    wide = dtype  # what a dot product adds up in
    if dtype.kind == "b":
        wide = _np.dtype("i4")
    elif dtype.itemsize == 2 and dtype.kind not in "iu":
        wide = _np.dtype("f4")
    if not a.dtype == v.dtype == wide:
        a, v = a.astype(wide, copy=False), v.astype(wide, copy=False)
    result = _core.correlate_lines(a, v, first, count)
    if result is NotImplemented:
        result = _core.zeros(count, wide)
        for j in range(len(v)):
            low, high = max(0, -first - j), min(count, len(a) - first - j)
            result[low:high] += a[first + low + j : first + high + j] * v[j]
    return result if wide is dtype else result.astype(dtype)
