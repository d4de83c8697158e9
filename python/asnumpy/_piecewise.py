"""Piecewise functions, functions along axes, vectorised Python functions, bits."""

import operator

import numpy as _np

from . import _core, _traced
from ._core import asanyarray, asarray, moveaxis, where
from ._joining import _normalize, broadcast_arrays
from ._support import as_class, places


def select(condlist, choicelist, default=0):
    """Elements from the first of several arrays whose condition holds.

    Parameters
    ----------
    condlist : list of arrays of bool
        The conditions.
    choicelist : list of array_like
        The arrays, one for each condition; all broadcast.
    default : scalar or array_like
        Where no condition holds.

    Returns
    -------
    ndarray
        Of the broadcast shape and the dtype that arrays and default promote to.

    Raises
    ------
    ValueError
        The lists are empty or of different lengths.
    TypeError
        A condition is not of bool.

    Examples
    --------
    >>> import asnumpy as np
    >>> x = np.arange(5)
    >>> np.select([x < 2, x > 3], [x, x * 10], default=-1)
    array([ 0,  1, -1, -1, 40])
    """
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    for i, cond in enumerate(condlist):
        if asarray(cond).dtype != bool:
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
    weak = [x if type(x) in (int, float, complex) else asarray(x) for x in [*choicelist, default]]
    dtype = _core.result_type(*weak)
    conditions = broadcast_arrays(*[asarray(c) for c in condlist])
    choices = broadcast_arrays(*[asarray(x).astype(dtype, copy=False) for x in weak])
    shape = _np.broadcast_shapes(conditions[0].shape, choices[0].shape)
    result = _core.broadcast_to(choices[-1], shape)
    for cond, choice in zip(conditions[::-1], choices[-2::-1], strict=True):
        result = where(cond, choice, result)
    return asarray(result, order="C")  # as NumPy's, whatever the choices' order


def piecewise(x, condlist, funclist, *args, **kw):
    """A function that is defined by pieces: conditions, and what holds under each.

    Parameters
    ----------
    x : array_like
        Where it is evaluated.
    condlist : sequence of arrays of bool
        The conditions, of x's shape; the last one that holds counts.
    funclist : sequence of callables and scalars
        Called of the elements where its condition holds; one more than conditions: for all others.
    *args, **kw
        Passed to the functions.

    Returns
    -------
    ndarray, of x's shape and dtype
        0 where nothing holds.

    Raises
    ------
    ValueError
        The numbers of conditions and functions do not fit.

    Examples
    --------
    >>> import asnumpy as np
    >>> x = np.array([-2.0, 0.0, 3.0])
    >>> np.piecewise(x, [x < 0, x > 0], [lambda v: -v, lambda v: 10 * v])
    array([ 2.,  0., 30.])
    """
    x = asanyarray(x)
    if not hasattr(condlist, "__len__"):
        conditions = [_core.full(x.shape, bool(condlist))]
    elif isinstance(condlist, _core.ndarray | _np.ndarray):
        condlist = asarray(condlist).astype(bool)
        conditions = [condlist] if condlist.ndim == x.ndim else list(condlist)
    elif (
        len(condlist)
        and not isinstance(condlist[0], list | _np.ndarray | _core.ndarray)
        and x.ndim != 0
    ):
        conditions = [asarray(condlist)]
    else:
        conditions = [asarray(c).astype(bool) for c in condlist]
    n, n2 = len(conditions), len(funclist)
    if n == n2 - 1:
        rest = conditions[0]
        for c in conditions[1:]:
            rest = rest | c
        conditions.append(~rest)
        n += 1
    elif n != n2:
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    y = _core.zeros_like(x)
    for cond, func in zip(conditions, funclist, strict=True):
        if not callable(func):
            y[cond] = func
        else:
            values = x[cond]
            if values.size > 0:
                y[cond] = func(values, *args, **kw)
    return y


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """A function applied to every one-dimensional slice along an axis.

    Parameters
    ----------
    func1d : callable
        Called as func1d(slice, *args, **kwargs), once for each slice, by Python.
    axis : int
        The axis that the slices lie along.
    arr : array_like
        The array.
    *args, **kwargs
        Passed to func1d.

    Returns
    -------
    ndarray
        In the place of axis the axes of what func1d returns, none for numbers.

    Raises
    ------
    ValueError
        arr has no slices.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.apply_along_axis(lambda row: row[-1] - row[0], 1, [[1, 5], [2, 9]])
    array([4, 7])
    """
    arr = asanyarray(arr)
    axis = _normalize(axis, arr.ndim)
    view = moveaxis(arr, axis, -1)
    outer_shape = view.shape[:-1]
    if 0 in outer_shape:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    result = None
    for index in _np.ndindex(outer_shape):
        value = asanyarray(func1d(view[index], *args, **kwargs))
        if result is None:
            result, parent = _core.zeros(outer_shape + value.shape, value.dtype), value
        result[index] = value
    last = list(range(len(outer_shape), result.ndim))
    result = moveaxis(result, last, list(range(axis, axis + len(last))))
    return as_class(as_class(result, parent), arr)


def apply_over_axes(func, a, axes):
    """A function applied over several axes, one after the other.

    Parameters
    ----------
    func : callable
        Called as func(a, axis); its result keeps the dimensions or has one less.
    a : array_like
        The array.
    axes : int or sequence of ints
        The axes.

    Returns
    -------
    ndarray
        Of a's dimensions.

    Raises
    ------
    ValueError
        func returns an array of other dimensions.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.apply_over_axes(np.sum, np.ones((2, 3, 4)), [0, 2])
    array([[[8.],
            [8.],
            [8.]]])
    """
    value = asarray(a)
    n = value.ndim
    for axis in (axes,) if _np.ndim(axes) == 0 else axes:
        axis = n + axis if axis < 0 else axis
        result = asarray(func(value, axis))
        if result.ndim != value.ndim:
            result = _core.expand_dims(result, axis)
            if result.ndim != value.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        value = result
    return value


class vectorize(_np.vectorize):
    """A Python function called element by element, with broadcasting; NumPy's vectorize.

    A function of floats, integers and truth values that is made of arithmetic, comparisons, branches,
    where, clip, abs, min, max and elementwise ufuncs is not called for each element: its operations run
    on the arrays, fused (asnumpy._traced says when). Its values are then those of asnumpy's operations,
    within their bounds of what Python's floats give.

    Parameters
    ----------
    pyfunc : callable, optional
        Takes elements and returns one or a tuple; without it the object is a decorator.
    otypes : str or list of dtypes, optional
        The dtypes of the results; by default those of the first element's.
    doc : str, optional
        The text of the result.
    excluded : set of str and int, optional
        Parameters, by name or position, that are passed on whole.
    cache : bool
        Keeps the call of the first element that finds out otypes.
    signature : str, optional
        The axes that pyfunc takes itself, "(n),(n)->()".

    Raises
    ------
    ValueError
        A call of no elements without otypes.

    Examples
    --------
    >>> import asnumpy as np
    >>> @np.vectorize
    ... def shrink(x, by):
    ...     return x - by if x > by else 0.0
    >>> shrink([0.5, 2.0, 3.0], 1.0)
    array([0., 1., 2.])
    """

    def __call__(self, *args, **kwargs):
        traced = self._traced(args, kwargs)
        if traced is not None:
            return traced

        def host(x):
            return _np.asarray(x) if _core._is_array(x) else x

        result = super().__call__(*map(host, args), **{k: host(v) for k, v in kwargs.items()})
        if result is self:  # used as a decorator with options
            return self
        parent = next((x for x in args if _core._is_array(x)), None)
        if isinstance(result, tuple):
            return tuple(as_class(asarray(x), parent) for x in result)
        return as_class(asarray(result), parent)

    def _traced(self, args, kwargs):
        """The results of fused operations, of the dtypes that NumPy gives; None: the loop has to run."""
        if self.excluded or self.signature is not None or not args or not callable(self.pyfunc):
            return None
        results = _traced.call(self.pyfunc, args, kwargs, self.otypes)
        if results is None:
            return None
        return results if len(results) > 1 else results[0]


def frompyfunc(func, /, nin, nout, **kwargs):
    """A Python function as a ufunc of objects.

    Parameters
    ----------
    func : callable
        Takes nin arguments and returns nout results.
    nin, nout : int
        How many inputs and outputs there are.
    **kwargs
        identity : the value of a reduction of no elements.

    Returns
    -------
    numpy.ufunc
        NumPy's: results are arrays of objects, on the host.

    Examples
    --------
    >>> import asnumpy as np
    >>> join = np.frompyfunc(lambda a, b: f"{a}-{b}", 2, 1)
    >>> join([1, 2], 3)
    array(['1-3', '2-3'], dtype=object)
    """
    return _np.frompyfunc(func, nin, nout, **kwargs)


# ---- numbers as text


def binary_repr(num, width=None):
    """An integer as text in base 2, a negative one with a minus or as two's complement.

    Parameters
    ----------
    num : int
        The number.
    width : int, optional
        The length; a negative number is then its two's complement.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        The number does not fit width.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.binary_repr(5, width=8), np.binary_repr(-3), np.binary_repr(-3, width=5)
    ('00000101', '-11', '11101')
    """
    return _np.binary_repr(operator.index(num), width)


def base_repr(number, base=2, padding=0):
    """An integer as text in a base from 2 to 36.

    Parameters
    ----------
    number : int
        The number.
    base : int
        The base.
    padding : int
        How many zeros are put in front.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        The base is below 2 or above 36.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.base_repr(255, 16), np.base_repr(-5, 2, padding=2)
    ('FF', '-00101')
    """
    return _np.base_repr(operator.index(number), base, padding)


def shares_memory(a, b, /, max_work=-1):
    """Whether an element of one array has bytes in common with an element of another.

    Parameters
    ----------
    a, b : array_like
        The arrays.
    max_work : int
        How much may be tried; -1: until it is known. may_share_memory asks the bounds alone.

    Returns
    -------
    bool

    Raises
    ------
    numpy.exceptions.TooHardError
        It was not found out within max_work.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.arange(6)
    >>> np.shares_memory(a[::2], a[::3]), np.shares_memory(a[::2], a[1::2])
    (True, False)
    """
    return _np.shares_memory(*places(a, b), max_work)
