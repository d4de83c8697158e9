"""Making arrays: ranges, identity and triangular matrices, grids, and conversions."""

import math
import operator
import warnings

import numpy as _np
from numpy import _NoValue  # noqa: F401

from . import _core
from ._core import arange, asanyarray, asarray, empty, ones, zeros


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    """`num` evenly spaced values from start to stop."""
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    div = num - 1 if endpoint else num
    if (type(start) is float and type(stop) is float and endpoint and num > 1 and axis == 0
            and (dtype is None or dtype is float) and device is None):  # fmt: skip
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
    """Values evenly spaced in the exponent: base ** linspace(start, stop)."""
    if not _np.isscalar(base) and asarray(base).ndim:
        from ._joining import broadcast_arrays

        start, stop, base = broadcast_arrays(start, stop, base)
        base = _core.expand_dims(base, axis)
    y = linspace(start, stop, num=num, endpoint=endpoint, axis=axis)
    power = _core.power(base, y)
    return power if dtype is None else power.astype(dtype, copy=False)


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """Values in geometric progression from start to stop."""
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


def diag(v, k=0):
    """The k-th diagonal of a matrix, or the matrix with v on its k-th diagonal."""
    v = asanyarray(v)
    if v.ndim == 1:
        n = v.shape[0] + abs(k)
        result = zeros((n, n), v.dtype)
        i = k if k >= 0 else -k * n
        result[: max(n - k, 0)].reshape(-1)[i :: n + 1] = v
        return result
    if v.ndim == 2:
        return v.diagonal(k)
    raise ValueError("Input must be 1- or 2-d.")


def diagflat(v, k=0):
    """The matrix with the flattened v on its k-th diagonal."""
    return diag(asarray(v).ravel(), k)


def _warn_of_no_integer(*numbers):
    """NumPy 2.5's warning of the first number that operator.index does not take."""
    if _core._NUMPY_2_5 and not all(type(n) is int for n in numbers):
        for n in numbers:
            try:
                operator.index(n)
            except TypeError:
                warnings.warn(
                    f"Cannot convert {type(n).__name__} safely to an integer. This will raise an error "
                    "in future versions (Deprecated NumPy 2.5)",
                    DeprecationWarning,
                    stacklevel=4,
                )
                return


def tri(N, M=None, k=0, dtype=float, *, like=None):
    """Ones at and below the k-th diagonal."""
    if M is None:
        M = N
    _warn_of_no_integer(N, M, k)
    return (arange(N)[:, None] >= arange(-k, M - k)).astype(dtype)


def tril(m, k=0):
    """A copy with the elements above the k-th diagonal zeroed."""
    m = asanyarray(m)
    return _core.where(tri(*m.shape[-2:], k=k, dtype=bool), m, zeros(1, m.dtype))


def triu(m, k=0):
    """A copy with the elements below the k-th diagonal zeroed."""
    m = asanyarray(m)
    return _core.where(tri(*m.shape[-2:], k=k - 1, dtype=bool), zeros(1, m.dtype), m)


def tril_indices(n, k=0, m=None):
    """Indices of the lower triangle of an (n, m) matrix."""
    return tri(n, m, k=k, dtype=bool).nonzero()


def triu_indices(n, k=0, m=None):
    """Indices of the upper triangle of an (n, m) matrix."""
    return (~tri(n, m, k=k - 1, dtype=bool)).nonzero()


def _square_of(arr):
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return arr.shape


def tril_indices_from(arr, k=0):
    """Indices of the lower triangle of arr."""
    n, m = _square_of(arr)
    return tril_indices(n, k=k, m=m)


def triu_indices_from(arr, k=0):
    """Indices of the upper triangle of arr."""
    n, m = _square_of(arr)
    return triu_indices(n, k=k, m=m)


def mask_indices(n, mask_func, k=0):
    """Indices of the elements that a masking function keeps in an (n, n) matrix."""
    return asarray(mask_func(ones((n, n), int), k) != 0).nonzero()


def diag_indices(n, ndim=2):
    """Indices of the main diagonal of an array of extents n."""
    return (arange(n),) * ndim


def diag_indices_from(arr):
    """Indices of the main diagonal of arr."""
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(arr.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(arr.shape[0], arr.ndim)


def vander(x, N=None, increasing=False):
    """The Vandermonde matrix of x."""
    x = asarray(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    if N is None:
        N = len(x)
    dtype = _core.promote_types(x.dtype, int)
    v = empty((len(x), N), dtype=dtype)
    powers = v if increasing else v[:, ::-1]
    if N > 0:
        powers[:, 0] = 1
    if N > 1:
        powers[:, 1:] = x[:, None].astype(dtype)
        powers[:, 1:] = _core.multiply.accumulate(powers[:, 1:].copy(), axis=1)
    return v


def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    """Coordinate arrays from coordinate vectors."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    n = len(xi)
    output = [
        asanyarray(x).reshape((1,) * i + (-1,) + (1,) * (n - 1 - i)) for i, x in enumerate(xi)
    ]
    if indexing == "xy" and n > 1:
        output[0] = output[0].reshape((1, -1) + (1,) * (n - 2))
        output[1] = output[1].reshape((-1, 1) + (1,) * (n - 2))
    if not sparse:
        from ._joining import broadcast_arrays

        output = broadcast_arrays(*output, subok=True)
    return tuple(x.copy() for x in output) if copy else tuple(output)


def indices(dimensions, dtype=int, sparse=False):
    """The index of every element of a grid, one array per dimension."""
    dimensions = tuple(dimensions)
    n = len(dimensions)
    if sparse:
        return tuple(
            arange(d, dtype=dtype).reshape((1,) * i + (d,) + (1,) * (n - 1 - i))
            for i, d in enumerate(dimensions)
        )
    result = empty((n, *dimensions), dtype=dtype)
    for i, d in enumerate(dimensions):
        along = arange(d, dtype=dtype)
        result[i] = along if i == n - 1 else along.reshape((d,) + (1,) * (n - 1 - i))
    return result


def fromfunction(function, shape, *, dtype=float, like=None, **kwargs):
    """An array made by calling function on the index arrays of a shape."""
    return function(*indices(shape, dtype=dtype), **kwargs)


def fromiter(iter, dtype, count=-1, *, like=None):
    """A one-dimensional array from an iterable."""
    return asarray(_np.fromiter(iter, dtype, count))


def fromstring(string, dtype=float, count=-1, *, sep="", like=None):
    """A one-dimensional array from text."""
    return asarray(_np.fromstring(string, dtype=dtype, count=count, sep=sep))


def fromfile(file, dtype=None, count=-1, sep="", offset=0, *, like=None):
    """A one-dimensional array from a file."""
    dtype = float if dtype is None else dtype
    return asarray(_np.fromfile(file, dtype=dtype, count=count, sep=sep, offset=offset))


def asarray_chkfinite(a, dtype=None, order=None):
    """asarray that raises ValueError for NaN and infinities."""
    a = asarray(a, dtype=dtype, order=order)
    if a.dtype.kind in "fc" and not bool(_core.isfinite(a).all()):
        raise ValueError("array must not contain infs or NaNs")
    return a


def require(a, dtype=None, requirements=None, *, like=None):
    """An array that satisfies requirements: C, F, A, W, O, E."""
    if not requirements:
        return asanyarray(a, dtype)
    names = {
        "C": "C", "C_CONTIGUOUS": "C", "CONTIGUOUS": "C", "F": "F", "F_CONTIGUOUS": "F",
        "FORTRAN": "F", "A": "A", "ALIGNED": "A", "W": "W", "WRITEABLE": "W", "O": "O",
        "OWNDATA": "O", "E": "E", "ENSUREARRAY": "E",
    }  # fmt: skip
    wanted = {names[x.upper()] for x in requirements or ()}
    if {"C", "F"} <= wanted:
        raise ValueError("Cannot specify both 'C' and 'F' order")
    order = "F" if "F" in wanted else "C" if "C" in wanted else "A"
    result = _core.array(a, dtype=dtype, order=order, copy=None, subok="E" not in wanted)
    if ("W" in wanted and not result.flags.writeable) or (
        "O" in wanted and not result.flags.owndata
    ):
        result = result.copy(order)
    return result


def _window(M, f):
    values = _np.array([0.0, M])
    M = values[1]
    if M < 1:
        return _core.array([], dtype=values.dtype)
    if M == 1:
        return ones(1, dtype=values.dtype)
    return f(M, arange(1 - M, M, 2))


def bartlett(M):
    """The Bartlett window."""
    return _window(
        M,
        lambda m, n: _core.where(_core.less_equal(n, 0), 1 + n / (m - 1), 1 - n / (m - 1)),
    )


def blackman(M):
    """The Blackman window."""
    pi = math.pi
    return _window(
        M,
        lambda m, n: (
            0.42 + 0.5 * _core.cos(pi * n / (m - 1)) + 0.08 * _core.cos(2.0 * pi * n / (m - 1))
        ),
    )


def hamming(M):
    """The Hamming window."""
    return _window(M, lambda m, n: 0.54 + 0.46 * _core.cos(math.pi * n / (m - 1)))


def hanning(M):
    """The Hann window."""
    return _window(M, lambda m, n: 0.5 + 0.5 * _core.cos(math.pi * n / (m - 1)))


def kaiser(M, beta):
    """The Kaiser window."""
    from ._math import i0

    values = _np.array([0.0, M, beta])
    M, beta = values[1], values[2]
    if M == 1:
        return ones(1, dtype=values.dtype)
    n = arange(0, M)
    alpha = (M - 1) / 2.0
    return i0(beta * _core.sqrt(1 - ((n - alpha) / alpha) ** 2.0)) / i0(beta)
