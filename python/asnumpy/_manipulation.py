"""Reordering elements and axes: flip, roll, rot90, moveaxis, ..."""

import numpy as _np

from . import _core
from ._core import asanyarray, asarray, stack


def astype(x, dtype, /, *, copy=True, device=None):
    """A copy of an array in another dtype.

    Parameters
    ----------
    x : ndarray
        The array.
    dtype : dtype
        Of the result.
    copy : bool
        False: x itself where it has the dtype already.
    device : str, optional
        The device in use, or None.

    Returns
    -------
    ndarray, of x's shape
        Floats are cut towards zero to integers.

    Raises
    ------
    TypeError
        x is no array.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.astype(np.array([1.5, -2.5]), np.int32)
    array([ 1, -2], dtype=int32)
    """
    if isinstance(x, _np.generic):
        return asarray(x, device=device).astype(dtype)[()]
    if isinstance(x, _np.ndarray):
        x = asarray(x)
    if not _core._is_array(x):
        raise (
            TypeError(f"Input should be a NumPy array or scalar. It is a {type(x)} instead.")
            if not isinstance(x, _np.ndarray | _np.generic)
            else TypeError("pass an asnumpy array")
        )
    if device is not None:
        x.to_device(device)  # which refuses another
    return x.astype(dtype, copy=copy)


def real(val):
    """The real parts of the elements.

    Parameters
    ----------
    val : array_like
        Numbers.

    Returns
    -------
    ndarray or scalar
        Of an array a view that may be written.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.real([1 + 2j, 3])
    array([1., 3.])
    """
    return val.real if hasattr(val, "real") else asanyarray(val).real


def imag(val):
    """The imaginary parts of the elements.

    Parameters
    ----------
    val : array_like
        Numbers.

    Returns
    -------
    ndarray or scalar
        Of a complex array a view that may be written; of real numbers zeros.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.imag([1 + 2j, 3])
    array([2., 0.])
    """
    return val.imag if hasattr(val, "imag") else asanyarray(val).imag


def diagonal(a, offset=0, axis1=0, axis2=1):
    """A diagonal of a matrix, or of the matrices along two axes.

    Parameters
    ----------
    a : array_like
        Of two dimensions or more.
    offset : int
        Which: 0 the main one, positive above it, negative below.
    axis1, axis2 : int
        The axes of rows and of columns.

    Returns
    -------
    ndarray
        A read-only view, whose last axis is the diagonal; axis1 and axis2 are gone.

    Raises
    ------
    ValueError
        a has fewer than two dimensions.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.diagonal(np.arange(6).reshape(2, 3), offset=1)
    array([1, 5])
    """
    return asanyarray(a).diagonal(offset=offset, axis1=axis1, axis2=axis2)


def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """The sum along a diagonal of a matrix, or of the matrices along two axes.

    Parameters
    ----------
    a : array_like
        Of two dimensions or more.
    offset : int
        The diagonal: 0 the main one, positive above it, negative below.
    axis1, axis2 : int
        The axes of rows and of columns.
    dtype : dtype, optional
        In which is added; by default as sum has it.
    out : ndarray, optional
        Receives the result.

    Returns
    -------
    ndarray or NumPy scalar
        A scalar of a matrix; else without axis1 and axis2.

    Raises
    ------
    ValueError
        a has fewer than two dimensions.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.trace([[1, 2], [3, 4]])
    np.int64(5)
    """
    return asanyarray(a).trace(offset=offset, axis1=axis1, axis2=axis2, dtype=dtype, out=out)


def iterable(y):
    """Whether an object can be iterated over.

    Parameters
    ----------
    y : object
        Anything.

    Returns
    -------
    bool
        A 0-d array cannot.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.iterable([1, 2]), np.iterable(3)
    (True, False)
    """
    try:
        iter(y)
    except TypeError:
        return False
    return True


def isfortran(a):
    """Whether an array lies in memory column by column, and not row by row.

    Parameters
    ----------
    a : ndarray
        The array.

    Returns
    -------
    bool
        False where both hold (one dimension).

    Examples
    --------
    >>> import asnumpy as np
    >>> np.isfortran(np.zeros((2, 3))), np.isfortran(np.zeros((2, 3)).T)
    (False, True)
    """
    return a.flags.fnc


def sort_complex(a):
    """A sorted copy as complex numbers: by real parts, equal ones by imaginary parts.

    Parameters
    ----------
    a : array_like
        Sorted along its last axis.

    Returns
    -------
    ndarray
        complex64 for dtypes that it holds exactly, else complex128.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.sort_complex([2 + 1j, 1 + 2j, 1 - 1j])
    array([1.-1.j, 1.+2.j, 2.+1.j])
    """
    b = asarray(a).copy()
    b.sort()
    if b.dtype.kind == "c":
        return b
    return b.astype(_np.complex64 if b.dtype.char in "bhBH" else _np.complex128)


def argwhere(a):
    """The indices of the elements that are not zero, one row for each.

    Parameters
    ----------
    a : array_like
        The array.

    Returns
    -------
    ndarray of int64, shape (n, a.ndim)
        In row-major order; to index with, nonzero has the form that fits.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.argwhere(np.array([[0, 3], [5, 0]]))
    array([[0, 1],
           [1, 0]])
    """
    a = asanyarray(a)
    if a.ndim == 0:
        return _core.empty((int(bool(a)), 0), dtype=_np.int64)
    found = a.nonzero()
    return found[0].reshape(-1, 1) if a.ndim == 1 else stack(found).T  # laid out as NumPy's


def flatnonzero(a):
    """The positions of the elements that are not zero in the flattened array.

    Parameters
    ----------
    a : array_like
        The array.

    Returns
    -------
    ndarray of int64, one-dimensional
        Ascending.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.flatnonzero([[0, 3], [5, 0]])
    array([1, 2])
    """
    return asanyarray(a).ravel().nonzero()[0]


def extract(condition, arr):
    """The elements where a condition holds, in row-major order.

    Parameters
    ----------
    condition : array_like
        Of as many elements as arr; what is not zero holds.
    arr : array_like
        The array.

    Returns
    -------
    ndarray, one-dimensional

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.arange(6)
    >>> np.extract(a % 2 == 1, a)
    array([1, 3, 5])
    """
    arr, condition = asanyarray(arr).ravel(), asarray(condition).ravel()
    if arr.size == condition.size:
        return arr[condition.astype(bool)]
    return arr.take(condition.nonzero()[0])


def put(a, ind, v, mode="raise"):
    """Sets elements by their positions in the flattened array, in place.

    Parameters
    ----------
    a : ndarray
        Is changed.
    ind : array_like of ints
        The positions.
    v : array_like
        The values, repeated where they are fewer.
    mode : {'raise', 'wrap', 'clip'}
        What a position outside means: an error, its remainder, the nearest one.

    Returns
    -------
    None

    Raises
    ------
    IndexError
        A position outside, under 'raise'.
    TypeError
        a is no array.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.zeros((2, 2), int)
    >>> np.put(a, [0, -1], [5, 6])
    >>> a
    array([[5, 0],
           [0, 6]])
    """
    if isinstance(a, _np.ndarray):
        return a.put(_np.asarray(ind), _np.asarray(v), mode=mode)
    if not _core._is_array(a):
        raise TypeError(f"argument 1 must be asnumpy.ndarray, not {type(a).__name__}")
    return a.put(ind, v, mode=mode)


def choose(a, choices, out=None, mode="raise"):
    """Elements picked from several arrays, for each place the number of the array.

    Parameters
    ----------
    a : array_like of ints
        The numbers.
    choices : sequence of array_like
        The arrays, which broadcast with a and with each other.
    out : ndarray, optional
        Receives the result.
    mode : {'raise', 'wrap', 'clip'}
        What a number outside choices means: an error, its remainder, the nearest one.

    Returns
    -------
    ndarray
        Of the broadcast shape.

    Raises
    ------
    ValueError
        A number outside choices, under 'raise'; shapes that do not broadcast.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.choose([0, 1, 0], [[1, 2, 3], [10, 20, 30]])
    array([ 1, 20,  3])
    """
    a = asanyarray(a)
    if out is None and mode == "raise":
        return a.choose(choices)
    return a.choose(choices, out=out, mode=mode)


def compress(condition, a, axis=None, out=None):
    """The slices along an axis where a condition holds.

    Parameters
    ----------
    condition : array_like of bool, one-dimensional
        For each slice whether it stays; what is missing at the end is False.
    a : array_like
        The array.
    axis : int, optional
        By default the array is flattened first.
    out : ndarray, optional
        Receives the result.

    Returns
    -------
    ndarray
        A copy.

    Raises
    ------
    ValueError
        condition has more than one dimension.
    IndexError
        It is true beyond the end.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.compress([False, True], [[1, 2], [3, 4]], axis=0)
    array([[3, 4]])
    """
    return asanyarray(a).compress(condition, axis=axis, out=out)


def fill_diagonal(a, val, wrap=False):
    """Sets the main diagonal of an array in place.

    Parameters
    ----------
    a : ndarray
        Of two dimensions or more; where there are more they are of one length.
    val : array_like
        A number, or values that are repeated along the diagonal.
    wrap : bool
        Goes on below a tall matrix's end with the next diagonal.

    Returns
    -------
    None

    Raises
    ------
    ValueError
        a has fewer than two dimensions, or lengths that differ.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.zeros((2, 3), int)
    >>> np.fill_diagonal(a, 7)
    >>> a
    array([[7, 0, 0],
           [0, 7, 0]])
    """
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if (
        type(a) is _core.ndarray
        and type(val) in (int, float)
        and a.ndim == 2
        and not wrap
        and a.flags.c_contiguous
    ):
        a.reshape(-1)[: a.shape[1] * a.shape[1] : a.shape[1] + 1] = val
        return
    if a.ndim == 2:
        step = a.shape[1] + 1
        end = None if wrap else a.shape[1] * a.shape[1]
    else:
        if len(set(a.shape)) != 1:
            raise ValueError("All dimensions of input must be of equal length")
        step = 1 + sum(a.shape[0] ** i for i in range(1, a.ndim))
        end = None
    a.flat[:end:step] = val


def ix_(*args):
    """Index arrays that select rows, columns, ... : every combination of the positions given.

    Parameters
    ----------
    *args : sequence of ints or of bools, one-dimensional
        The positions along each axis; bools mark them.

    Returns
    -------
    tuple of ndarrays
        Of shapes that broadcast, one long axis each.

    Raises
    ------
    ValueError
        A sequence has more than one dimension.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.arange(12).reshape(3, 4)
    >>> a[np.ix_([0, 2], [1, 3])]
    array([[ 1,  3],
           [ 9, 11]])
    """
    result = []
    for k, sequence in enumerate(args):
        a = asarray(sequence)
        if a.size == 0 and not isinstance(sequence, _core.ndarray | _np.ndarray):
            a = a.astype(_np.intp)
        if a.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if a.dtype == bool:
            a = a.nonzero()[0]
        result.append(a.reshape((1,) * k + (a.size,) + (1,) * (len(args) - k - 1)))
    return tuple(result)
