"""Making arrays: grids, from functions, files, texts and iterators, and as they are required."""

import numpy as _np
from numpy import _NoValue  # noqa: F401

from . import _core
from ._core import arange, asanyarray, asarray, empty


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
