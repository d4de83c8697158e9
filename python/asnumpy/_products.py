"""Products of vectors and tensors, correlation."""

import warnings

from . import _core
from ._core import asanyarray, asarray, moveaxis, stack
from ._joining import _normalize


def kron(a, b):
    """The Kronecker product: each element of one array times the whole other array.

    Parameters
    ----------
    a, b : array_like
        The arrays; the one of fewer dimensions gets axes in front.

    Returns
    -------
    ndarray
        Each axis is as long as those of a and b multiplied.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.kron([1, 10], [[1, 2], [3, 4]])
    array([[ 1,  2, 10, 20],
           [ 3,  4, 30, 40]])
    """
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
    """The cross product of vectors with three components.

    Parameters
    ----------
    a, b : array_like
        Vectors along an axis, which broadcast in the others. Two components (deprecated) mean a third
        that is 0.
    axisa, axisb, axisc : int
        The axes of the components in a, in b and in the result.
    axis : int, optional
        In place of all three.

    Returns
    -------
    ndarray
        Vectors; of two components each the third component alone.

    Raises
    ------
    ValueError
        An axis is not of two or three components.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.cross([1, 0, 0], [0, 1, 0])
    array([0, 0, 1])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = asarray(a), asarray(b)
    if a.ndim < 1 or b.ndim < 1:
        raise ValueError("At least one array has zero dimension")
    axisa, axisb = _normalize(axisa, a.ndim, "axisa"), _normalize(axisb, b.ndim, "axisb")
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    allowed = (3,) if _core._NUMPY_2_5 else (2, 3)
    if a.shape[-1] not in allowed or b.shape[-1] not in allowed:
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
