"""Making arrays: ranges, identity and triangular matrices, grids, and conversions."""

import math
import operator
import warnings

import numpy as _np
from numpy import _NoValue  # noqa: F401

from . import _core
from ._core import arange, asanyarray, asarray, empty, ones, zeros


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


def diag(v, k=0):
    """The k-th diagonal of a matrix, or the matrix with a vector on its k-th diagonal.

    Parameters
    ----------
    v : array_like
        A matrix, (m, n), or a vector, (n,).
    k : int
        The diagonal: 0 the main one, positive above it, negative below.

    Returns
    -------
    ndarray
        Of a matrix a read-only view of its diagonal; of a vector a new matrix of n + abs(k) rows and
        columns, with 0 elsewhere.

    Raises
    ------
    ValueError
        v has neither one nor two dimensions.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.diag([1, 2], k=1)
    array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]])
    >>> np.diag(np.arange(9).reshape(3, 3))
    array([0, 4, 8])
    """
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
    """The matrix with the flattened elements on its k-th diagonal.

    Parameters
    ----------
    v : array_like
        Of any shape; its elements are taken in row-major order.
    k : int
        The diagonal: 0 the main one, positive above it, negative below.

    Returns
    -------
    ndarray, of v's dtype
        Of v.size + abs(k) rows and columns, 0 elsewhere.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.diagflat([[1, 2], [3, 4]]).shape
    (4, 4)
    >>> np.diagflat([7], k=-1)
    array([[0, 0],
           [7, 0]])
    """
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
    """A matrix of ones at and below a diagonal, zeros above it.

    Parameters
    ----------
    N : int
        Rows.
    M : int, optional
        Columns; by default N.
    k : int
        The diagonal up to which there are ones: 0 the main one, positive above it, negative below.
    dtype : dtype
        Of the result; by default float64.
    like : array_like, optional
        An object whose __array_function__ makes the array.

    Returns
    -------
    ndarray, shape (N, M)

    Examples
    --------
    >>> import asnumpy as np
    >>> np.tri(3, 4, 1, dtype=int)
    array([[1, 1, 0, 0],
           [1, 1, 1, 0],
           [1, 1, 1, 1]])
    """
    if M is None:
        M = N
    _warn_of_no_integer(N, M, k)
    return (arange(N)[:, None] >= arange(-k, M - k)).astype(dtype)


def tril(m, k=0):
    """The lower triangle: a copy whose elements above a diagonal are 0.

    Parameters
    ----------
    m : array_like, shape (..., M, N)
        A matrix, or a stack of them.
    k : int
        The diagonal above which there are zeros: 0 the main one, positive above it, negative below.

    Returns
    -------
    ndarray, of m's shape and dtype

    Examples
    --------
    >>> import asnumpy as np
    >>> np.tril(np.arange(1, 10).reshape(3, 3))
    array([[1, 0, 0],
           [4, 5, 0],
           [7, 8, 9]])
    """
    m = asanyarray(m)
    return _core.where(tri(*m.shape[-2:], k=k, dtype=bool), m, zeros(1, m.dtype))


def triu(m, k=0):
    """The upper triangle: a copy whose elements below a diagonal are 0.

    Parameters
    ----------
    m : array_like, shape (..., M, N)
        A matrix, or a stack of them.
    k : int
        The diagonal below which there are zeros: 0 the main one, positive above it, negative below.

    Returns
    -------
    ndarray, of m's shape and dtype

    Examples
    --------
    >>> import asnumpy as np
    >>> np.triu(np.arange(1, 10).reshape(3, 3), k=1)
    array([[0, 2, 3],
           [0, 0, 6],
           [0, 0, 0]])
    """
    m = asanyarray(m)
    return _core.where(tri(*m.shape[-2:], k=k - 1, dtype=bool), zeros(1, m.dtype), m)


def tril_indices(n, k=0, m=None):
    """Indices of the lower triangle of a matrix.

    Parameters
    ----------
    n : int
        Rows.
    k : int
        The diagonal up to which elements belong to it: 0 the main one, positive above, negative below.
    m : int, optional
        Columns; by default n.

    Returns
    -------
    tuple of two arrays of int64
        Row and column numbers, in row-major order.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.arange(9).reshape(3, 3)
    >>> a[np.tril_indices(3)]
    array([0, 3, 4, 6, 7, 8])
    """
    return tri(n, m, k=k, dtype=bool).nonzero()


def triu_indices(n, k=0, m=None):
    """Indices of the upper triangle of a matrix.

    Parameters
    ----------
    n : int
        Rows.
    k : int
        The diagonal from which elements belong to it: 0 the main one, positive above, negative below.
    m : int, optional
        Columns; by default n.

    Returns
    -------
    tuple of two arrays of int64
        Row and column numbers, in row-major order.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.arange(9).reshape(3, 3)
    >>> a[np.triu_indices(3)]
    array([0, 1, 2, 4, 5, 8])
    """
    return (~tri(n, m, k=k - 1, dtype=bool)).nonzero()


def _square_of(arr):
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return arr.shape


def tril_indices_from(arr, k=0):
    """Indices of the lower triangle of a matrix that is given.

    Parameters
    ----------
    arr : array_like, shape (M, N)
        The matrix that the indices are for.
    k : int
        The diagonal up to which elements belong to it: 0 the main one, positive above, negative below.

    Returns
    -------
    tuple of two arrays of int64
        Row and column numbers, in row-major order.

    Raises
    ------
    ValueError
        arr is no matrix.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.arange(4).reshape(2, 2)
    >>> a[np.tril_indices_from(a)]
    array([0, 2, 3])
    """
    n, m = _square_of(arr)
    return tril_indices(n, k=k, m=m)


def triu_indices_from(arr, k=0):
    """Indices of the upper triangle of a matrix that is given.

    Parameters
    ----------
    arr : array_like, shape (M, N)
        The matrix that the indices are for.
    k : int
        The diagonal from which elements belong to it: 0 the main one, positive above, negative below.

    Returns
    -------
    tuple of two arrays of int64
        Row and column numbers, in row-major order.

    Raises
    ------
    ValueError
        arr is no matrix.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.arange(4).reshape(2, 2)
    >>> a[np.triu_indices_from(a)]
    array([0, 1, 3])
    """
    n, m = _square_of(arr)
    return triu_indices(n, k=k, m=m)


def mask_indices(n, mask_func, k=0):
    """Indices of the elements that a masking function keeps in a square matrix.

    Parameters
    ----------
    n : int
        The number of rows and of columns.
    mask_func : callable
        Called as mask_func(a, k) of a matrix of ones; what it leaves nonzero is kept (triu, tril).
    k : scalar
        Passed to mask_func: of triu and tril the diagonal.

    Returns
    -------
    tuple of two arrays of int64
        Row and column numbers, in row-major order.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.arange(9).reshape(3, 3)
    >>> a[np.mask_indices(3, np.triu, 1)]
    array([1, 2, 5])
    """
    return asarray(mask_func(ones((n, n), int), k) != 0).nonzero()


def diag_indices(n, ndim=2):
    """Indices of the main diagonal of an array whose dimensions are equal.

    Parameters
    ----------
    n : int
        The length of each dimension.
    ndim : int
        How many dimensions there are.

    Returns
    -------
    tuple of ndim arrays of int64, shape (n,)
        a[diag_indices(n)] are the elements whose indices are equal.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.zeros((2, 2), int)
    >>> a[np.diag_indices(2)] = [5, 6]
    >>> a
    array([[5, 0],
           [0, 6]])
    """
    return (arange(n),) * ndim


def diag_indices_from(arr):
    """Indices of the main diagonal of an array with two or more dimensions of one length.

    Parameters
    ----------
    arr : array_like
        The array that the indices are for.

    Returns
    -------
    tuple of arrays of int64
        One for each dimension.

    Raises
    ------
    ValueError
        arr has fewer than two dimensions, or dimensions of different lengths.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.arange(4).reshape(2, 2)
    >>> a[np.diag_indices_from(a)]
    array([0, 3])
    """
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(arr.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(arr.shape[0], arr.ndim)


def vander(x, N=None, increasing=False):
    """The Vandermonde matrix: the powers of each value in a row.

    Parameters
    ----------
    x : array_like, shape (n,)
        The values.
    N : int, optional
        How many powers; by default n.
    increasing : bool
        The powers ascend from 0; by default they descend to 0.

    Returns
    -------
    ndarray, shape (n, N)

    Raises
    ------
    ValueError
        x has not one dimension.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.vander([1, 2, 3], 3)
    array([[1, 1, 1],
           [4, 2, 1],
           [9, 3, 1]])
    """
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
    """Coordinate arrays of a grid from the coordinates along each of its axes.

    Parameters
    ----------
    *xi : array_like
        The coordinates along each axis, of one dimension (or a number).
    copy : bool
        New arrays; False: views of xi, of which several elements may share their memory.
    sparse : bool
        Arrays that broadcast to the grid in place of whole ones.
    indexing : {'xy', 'ij'}
        'ij': the shape is (len(x1), len(x2), ...); 'xy': the first two axes change places.

    Returns
    -------
    tuple of ndarrays
        One for each of xi.

    Raises
    ------
    ValueError
        indexing is something else.

    Examples
    --------
    >>> import asnumpy as np
    >>> x, y = np.meshgrid([1, 2, 3], [10, 20])
    >>> x + y
    array([[11, 12, 13],
           [21, 22, 23]])
    """
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
    """The index of every element of a grid, one array for each dimension.

    Parameters
    ----------
    dimensions : sequence of ints
        The shape of the grid.
    dtype : dtype
        Of the result; by default int64.
    sparse : bool
        Gives arrays that broadcast to the grid, with one long dimension each, in place of whole ones.

    Returns
    -------
    ndarray of shape (len(dimensions), *dimensions), or tuple of ndarrays
        result[d][i, j, ...] is the d-th of the indices. sparse gives the tuple.

    Examples
    --------
    >>> import asnumpy as np
    >>> rows, columns = np.indices((2, 3))
    >>> rows
    array([[0, 0, 0],
           [1, 1, 1]])
    >>> columns
    array([[0, 1, 2],
           [0, 1, 2]])
    """
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
    """An array made by calling a function on the index arrays of a shape.

    Parameters
    ----------
    function : callable
        Takes len(shape) arrays, each of that shape: the indices along each axis. It is called once.
    shape : tuple of ints
        Of the index arrays, and as a rule of the result.
    dtype : dtype
        Of the index arrays; by default float64.
    like : array_like, optional
        An object whose __array_function__ makes the array.
    **kwargs
        Passed to function.

    Returns
    -------
    whatever function returns
        As a rule an array of the shape.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
    array([[ 0,  1,  2],
           [10, 11, 12]])
    """
    return function(*indices(shape, dtype=dtype), **kwargs)


def fromiter(iter, dtype, count=-1, *, like=None):
    """A one-dimensional array from an iterable.

    Parameters
    ----------
    iter : iterable
        Gives the elements.
    dtype : dtype
        Of the array.
    count : int
        How many elements to take; -1: all.
    like : array_like, optional
        An object whose __array_function__ makes the array.

    Returns
    -------
    ndarray, one-dimensional
        On the device.

    Raises
    ------
    ValueError
        The iterable has fewer than count elements.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.fromiter((n * n for n in range(4)), dtype=float)
    array([0., 1., 4., 9.])
    """
    return asarray(_np.fromiter(iter, dtype, count))


def fromstring(string, dtype=float, count=-1, *, sep="", like=None):
    """A one-dimensional array from text.

    Parameters
    ----------
    string : str
        The elements as text.
    dtype : dtype
        Of the elements; by default float64.
    count : int
        How many elements to read; -1: all.
    sep : str
        The text between elements. It must be given: binary data is frombuffer's.
    like : array_like, optional
        An object whose __array_function__ makes the array.

    Returns
    -------
    ndarray, one-dimensional
        On the device.

    Raises
    ------
    ValueError
        sep is ''.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.fromstring("1, 2, 3", dtype=int, sep=",")
    array([1, 2, 3])
    """
    return asarray(_np.fromstring(string, dtype=dtype, count=count, sep=sep))


def fromfile(file, dtype=None, count=-1, sep="", offset=0, *, like=None):
    """A one-dimensional array from a file.

    Parameters
    ----------
    file : file object, str or Path
        An open file, read from where it stands, or a path.
    dtype : dtype
        Of the elements; by default float64.
    count : int
        How many elements to read; -1: all.
    sep : str
        The text between elements; '': the file is binary.
    offset : int
        Bytes to skip first; of binary files alone.
    like : array_like, optional
        An object whose __array_function__ makes the array.

    Returns
    -------
    ndarray, one-dimensional
        On the device; what is read is copied.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    TypeError
        offset is given with sep.

    Examples
    --------
    >>> import asnumpy as np, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers")
    >>> np.arange(3, dtype="int16").tofile(path)
    >>> np.fromfile(path, dtype="int16")
    array([0, 1, 2], dtype=int16)
    """
    dtype = float if dtype is None else dtype
    return asarray(_np.fromfile(file, dtype=dtype, count=count, sep=sep, offset=offset))


def asarray_chkfinite(a, dtype=None, order=None):
    """An array, as asarray gives it, of which no element is NaN or infinite.

    Parameters
    ----------
    a : array_like
        What becomes an array.
    dtype : dtype, optional
        Of the result; by default that of the data.
    order : {'C', 'F', 'A', 'K'}, optional
        The memory order of a new array.

    Returns
    -------
    ndarray
        a itself where it is such an array already.

    Raises
    ------
    ValueError
        An element is NaN or infinite.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.asarray_chkfinite([1, 2.5])
    array([1. , 2.5])
    >>> np.asarray_chkfinite([1, np.nan])
    Traceback (most recent call last):
        ...
    ValueError: array must not contain infs or NaNs
    """
    a = asarray(a, dtype=dtype, order=order)
    if a.dtype.kind in "fc" and not bool(_core.isfinite(a).all()):
        raise ValueError("array must not contain infs or NaNs")
    return a


def require(a, dtype=None, requirements=None, *, like=None):
    """An array with the dtype and the properties that are asked for, copied only where it must be.

    Parameters
    ----------
    a : array_like
        What is to be such an array.
    dtype : dtype, optional
        Of the result.
    requirements : str or sequence of str, optional
        'C' (row-major), 'F' (column-major), 'A' (aligned), 'W' (may be written), 'O' (owns its memory),
        'E' (no subclass), or their long names.
    like : array_like, optional
        An object whose __array_function__ makes the array.

    Returns
    -------
    ndarray
        a itself where it has them all.

    Raises
    ------
    ValueError
        Both 'C' and 'F' are asked for.
    KeyError
        An unknown property.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.require(np.arange(6).reshape(2, 3), dtype=np.float32, requirements=["F", "W"])
    >>> a.flags.f_contiguous, a.dtype
    (True, dtype('float32'))
    """
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
    """The Bartlett window: a triangle that is 0 at both ends.

    Parameters
    ----------
    M : int
        The number of points; below 1 the result is empty.

    Returns
    -------
    ndarray of float64, shape (M,)
        Symmetric, with its maximum 1 in the middle where M is odd.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.bartlett(5)
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    return _window(
        M,
        lambda m, n: _core.where(_core.less_equal(n, 0), 1 + n / (m - 1), 1 - n / (m - 1)),
    )


def blackman(M):
    """The Blackman window: three terms of a cosine series, 0 at both ends.

    Parameters
    ----------
    M : int
        The number of points; below 1 the result is empty.

    Returns
    -------
    ndarray of float64, shape (M,)
        0.42 - 0.5 cos(2 pi n / (M - 1)) + 0.08 cos(4 pi n / (M - 1)) of n = 0, ..., M - 1.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.blackman(5).round(2)
    array([-0.  ,  0.34,  1.  ,  0.34, -0.  ])
    """
    pi = math.pi
    return _window(
        M,
        lambda m, n: (
            0.42 + 0.5 * _core.cos(pi * n / (m - 1)) + 0.08 * _core.cos(2.0 * pi * n / (m - 1))
        ),
    )


def hamming(M):
    """The Hamming window: a raised cosine that is 0.08 at both ends.

    Parameters
    ----------
    M : int
        The number of points; below 1 the result is empty.

    Returns
    -------
    ndarray of float64, shape (M,)
        0.54 - 0.46 cos(2 pi n / (M - 1)) of n = 0, ..., M - 1.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.hamming(5).round(2)
    array([0.08, 0.54, 1.  , 0.54, 0.08])
    """
    return _window(M, lambda m, n: 0.54 + 0.46 * _core.cos(math.pi * n / (m - 1)))


def hanning(M):
    """The Hann window: a raised cosine that is 0 at both ends.

    Parameters
    ----------
    M : int
        The number of points; below 1 the result is empty.

    Returns
    -------
    ndarray of float64, shape (M,)
        0.5 - 0.5 cos(2 pi n / (M - 1)) of n = 0, ..., M - 1.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.hanning(5).round(2)
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    return _window(M, lambda m, n: 0.5 + 0.5 * _core.cos(math.pi * n / (m - 1)))


def kaiser(M, beta):
    """The Kaiser window, made of the Bessel function I0.

    Parameters
    ----------
    M : int
        The number of points; below 1 the result is empty.
    beta : float
        The shape: 0 is a rectangle, a larger beta a narrower window with lower side lobes.

    Returns
    -------
    ndarray of float64, shape (M,)
        I0(beta sqrt(1 - x^2)) / I0(beta) of x from -1 to 1.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.kaiser(5, 0)
    array([1., 1., 1., 1., 1.])
    >>> np.kaiser(5, 5).round(2)
    array([0.04, 0.55, 1.  , 0.55, 0.04])
    """
    from ._math import i0

    values = _np.array([0.0, M, beta])
    M, beta = values[1], values[2]
    if M == 1:
        return ones(1, dtype=values.dtype)
    n = arange(0, M)
    alpha = (M - 1) / 2.0
    return i0(beta * _core.sqrt(1 - ((n - alpha) / alpha) ** 2.0)) / i0(beta)
