"""Views with chosen strides."""

import inspect
import operator
from itertools import accumulate

from numpy.lib import stride_tricks as _host

from .. import _core
from .._support import host_all as _host_all
from .array_utils import normalize_axis_tuple

__all__ = ["as_strided", "sliding_window_view"]


def __dir__():
    return __all__


def as_strided(x, shape=None, strides=None, subok=False, writeable=True, *, check_bounds=None):
    """A view of any shape and strides over an array's memory.

    Parameters
    ----------
    x : array_like
        The array.
    shape : tuple of ints, optional
        By default that of x.
    strides : tuple of ints, optional
        Bytes from an element to the next along each axis; by default those of rows one after the other.
    subok : bool
        Lets a subclass through.
    writeable : bool
        Whether the view may be written; one write may then be seen in several elements.
    check_bounds : bool, optional
        NumPy's, from 2.5 on: the bounds of an array of AsNumpy's are checked in any case.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    ValueError
        The view would leave the memory of the array that owns it. (NumPy looks from 2.5 on,
        where check_bounds asks for it.)

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.arange(4)
    >>> np.lib.stride_tricks.as_strided(a, (3, 2), (8, 8))
    array([[0, 1],
           [1, 2],
           [2, 3]])
    """
    x = _core.array(x, copy=None, subok=subok)
    if not _core._is_array(x):  # of a dtype that the device lacks
        asked = {} if check_bounds is None else {"check_bounds": check_bounds}
        return _host.as_strided(x, shape, strides, subok, writeable, **asked)
    shape = x.shape if shape is None else tuple(shape)
    if strides is not None:
        strides = tuple(strides)
    elif x.flags.c_contiguous:  # the strides of a contiguous array of that shape
        steps = accumulate(reversed(shape[1:]), operator.mul, initial=x.itemsize)
        strides = tuple(steps)[: len(shape)][::-1]
    else:
        strides = x.strides
    view = _core._as_strided(x, shape, strides)
    if view.flags.writeable and not writeable:
        view.flags.writeable = False
    return view


if not _core._NUMPY_2_5:  # whose signature has no check_bounds=; the bounds are checked in any case
    _shown = inspect.signature(as_strided)
    as_strided.__signature__ = _shown.replace(parameters=list(_shown.parameters.values())[:-1])


def sliding_window_view(x, window_shape, axis=None, *, subok=False, writeable=False):
    """A view with all windows of a shape, one for each place where it fits.

    Parameters
    ----------
    x : array_like
        The array.
    window_shape : int or tuple of ints
        The window's length along each of the axes.
    axis : int or tuple of ints, optional
        The axes along which it moves, by default all.
    subok : bool
        Lets a subclass through.
    writeable : bool
        Whether the view may be written; one write is then seen in several windows.

    Returns
    -------
    ndarray
        A view: the places first, the window's axes last.

    Raises
    ------
    ValueError
        The window is larger than the array, negative, or not of the axes.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.lib.stride_tricks.sliding_window_view(np.arange(5), 3)
    array([[0, 1, 2],
           [1, 2, 3],
           [2, 3, 4]])
    """
    try:
        window = tuple(window_shape)
    except TypeError:
        window = (window_shape,)
    window = tuple(operator.index(w) for w in window)
    x = _core.array(x, copy=None, subok=subok)
    if any(w < 0 for w in window):
        raise ValueError("`window_shape` cannot contain negative values")
    if axis is None:
        axes = tuple(range(x.ndim))
        if len(window) != len(axes):
            raise ValueError(
                "Since axis is None, must provide window_shape for all dimensions of `x`; got "
                f"{len(window)} window_shape elements and `x.ndim` is {x.ndim}."
            )
    else:
        axes = normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
        if len(window) != len(axes):
            raise ValueError(
                "Must provide matching length window_shape and axis; got "
                f"{len(window)} window_shape elements and {len(axes)} axes elements."
            )
    shape = list(x.shape)
    for a, w in zip(axes, window, strict=True):
        if shape[a] < w:
            raise ValueError("window shape cannot be larger than input array shape")
        shape[a] -= w - 1
    strides = x.strides + tuple(x.strides[a] for a in axes)
    return as_strided(x, tuple(shape) + window, strides, subok=subok, writeable=writeable)


_host_all(globals(), __name__)
