"""Evenly spaced values: by number, by powers, by ratio."""

import operator

import numpy as _np

from . import _core
from ._core import arange, asanyarray, asarray, zeros


def _is_real(x):
    """A Python number that NumPy has as a float64 or an int64."""
    return type(x) is float or (type(x) is int and -(2**63) <= x < 2**63)


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    """Evenly spaced values from start to stop.

    Parameters
    ----------
    start, stop : array_like
        The first value and the last one; they broadcast.
    num : int
        How many values, by default 50.
    endpoint : bool
        Whether stop is the last value; without it the spacing is (stop - start) / num.
    retstep : bool
        Gives the spacing as well.
    dtype : dtype, optional
        Of the result; by default a floating one, an integer one rounds down.
    axis : int
        The axis of the result along which the values lie, where start or stop is an array.
    device : str, optional
        The device in use, as ndarray.device names it, or None.

    Returns
    -------
    ndarray, or (ndarray, step)
        Of num values along axis.

    Raises
    ------
    ValueError
        num is negative.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.linspace(0, 1, 5)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    >>> np.linspace(0, 1, 4, endpoint=False)
    array([0.  , 0.25, 0.5 , 0.75])
    """
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    div = num - 1 if endpoint else num
    if (_is_real(start) and _is_real(stop) and endpoint and num > 1 and axis == 0
            and (dtype is None or dtype is float) and device is None):  # fmt: skip
        start, stop = float(start), float(stop)
        step = (stop - start) / div
        if step != 0:  # one pass; a step that underflows to 0 takes the way below
            y = _core._line(start, stop, num)
            return (y, _np.float64(step)) if retstep else y
    given = [x if type(x) in (int, float, complex) else asanyarray(x) for x in (start, stop)]
    common = _core.result_type(*given, 1.0)
    start = asanyarray(start) * 1.0
    stop = asanyarray(stop) * 1.0
    integer = False
    if dtype is None:
        dtype = common
    else:
        integer = _np.issubdtype(dtype, _np.integer)
    delta = asanyarray(_core.subtract(stop, start, dtype=common))
    y = arange(0, num, dtype=common, device=device).reshape((-1,) + (1,) * delta.ndim)
    if div > 0:
        step = delta / div
        # A step that underflows to 0 would lose delta altogether.
        lost = _core.any(asarray(step) == 0)
        if _core._is_tracing():
            y = _core.where(lost, y / div * delta, y * step)
        else:
            y = y / div * delta if bool(lost) else y * step
    else:
        step = _np.nan
        y = y * delta
    y += start
    if endpoint and num > 1:
        y[-1, ...] = stop
    if axis != 0:
        from ._core import moveaxis

        y = moveaxis(y, 0, axis)
    if integer:
        _core.floor(y, out=y)
    y = y.astype(dtype, copy=False)
    return (y, step) if retstep else y


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """Values evenly spaced in the exponent: base ** linspace(start, stop, num).

    Parameters
    ----------
    start, stop : array_like
        The first exponent and the last one; they broadcast.
    num : int
        How many values, by default 50.
    endpoint : bool
        Whether base ** stop is the last value.
    base : array_like
        What is raised to the exponents, by default 10.
    dtype : dtype, optional
        Of the result; by default a floating one.
    axis : int
        The axis of the result along which the values lie, where an argument is an array.

    Returns
    -------
    ndarray
        Of num values along axis.

    Raises
    ------
    ValueError
        num is negative.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.logspace(0, 3, 4)
    array([   1.,   10.,  100., 1000.])
    >>> np.logspace(0, 3, 4, base=2, dtype=int)
    array([1, 2, 4, 8])
    """
    if not _np.isscalar(base) and asarray(base).ndim:
        from ._joining import broadcast_arrays

        start, stop, base = broadcast_arrays(start, stop, base)
        base = _core.expand_dims(base, axis)
    y = linspace(start, stop, num=num, endpoint=endpoint, axis=axis)
    power = _core.power(base, y)
    return power if dtype is None else power.astype(dtype, copy=False)


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """Values in geometric progression: each is the one before times the same factor.

    Parameters
    ----------
    start, stop : array_like
        The first value and the last one; neither is 0. They broadcast.
    num : int
        How many values, by default 50.
    endpoint : bool
        Whether stop is one of the values.
    dtype : dtype, optional
        Of the result; by default a floating one that start and stop promote to.
    axis : int
        The axis of the result along which the values lie, where start or stop is an array.

    Returns
    -------
    ndarray
        Of num values along axis. Complex start and stop give a logarithmic spiral.

    Raises
    ------
    ValueError
        start or stop is 0, or num is negative.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.geomspace(1, 1000, 4)
    array([   1.,   10.,  100., 1000.])
    """
    start, stop = asanyarray(start), asanyarray(stop)
    if bool(_core.any(start == 0)) or bool(_core.any(stop == 0)):
        raise ValueError("Geometric sequence cannot include zero")
    common = _core.result_type(start, stop, float(num), zeros((), dtype))
    wanted = common if dtype is None else _np.dtype(dtype)
    start = start.astype(common, copy=True)
    stop = stop.astype(common, copy=True)
    if common.kind == "c":
        out_sign = _core.sign(start)
        start = start / out_sign
        stop = stop / out_sign
    else:
        out_sign = _core.sign(start)
        start, stop = _core.absolute(start), stop * out_sign
    result = asarray(
        logspace(_core.log10(start), _core.log10(stop), num=num, endpoint=endpoint, base=10.0)
    )
    if num > 0:
        result[0] = start
        if num > 1 and endpoint:
            result[-1] = stop
    result = result * out_sign
    if axis != 0:
        from ._core import moveaxis

        result = moveaxis(result, 0, axis)
    return result.astype(wanted, copy=False)
