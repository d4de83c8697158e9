"""Arrays cut into views of their parts."""

import operator

import numpy as _np

from ._core import asanyarray


def array_split(ary, indices_or_sections, axis=0):
    """An array split into parts along an axis, of lengths that need not be equal.

    Parameters
    ----------
    ary : array_like
        The array.
    indices_or_sections : int or sequence of ints
        The number of parts (the first ones are longer by one where they cannot be equal), or the
        positions before which to cut.
    axis : int
        Along which it is cut.

    Returns
    -------
    list of ndarrays
        Views of ary.

    Raises
    ------
    ValueError
        The number of parts is not positive.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.array_split(np.arange(5), 2)
    [array([0, 1, 2]), array([3, 4])]
    """
    ary = asanyarray(ary)
    total = ary.shape[axis]
    try:
        len(indices_or_sections)
        bounds = [0, *(operator.index(i) for i in indices_or_sections), total]
    except TypeError:
        if hasattr(indices_or_sections, "__len__") and _np.ndim(indices_or_sections):
            raise
        n = int(indices_or_sections)
        if n <= 0:
            raise ValueError("number sections must be larger than 0.") from None
        each, extras = divmod(total, n)
        sizes = [each + 1] * extras + [each] * (n - extras)
        bounds = [0]
        for size in sizes:
            bounds.append(bounds[-1] + size)
    where = (slice(None),) * (axis % ary.ndim)
    return [ary[(*where, slice(a, b))] for a, b in zip(bounds, bounds[1:], strict=False)]


def split(ary, indices_or_sections, axis=0):
    """An array split into parts along an axis, which are equal where their number is given.

    Parameters
    ----------
    ary : array_like
        The array.
    indices_or_sections : int or sequence of ints
        The number of parts, or the positions before which to cut.
    axis : int
        Along which it is cut.

    Returns
    -------
    list of ndarrays
        Views of ary.

    Raises
    ------
    ValueError
        So many equal parts are not possible.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.split(np.arange(6), 3)
    [array([0, 1]), array([2, 3]), array([4, 5])]
    >>> np.split(np.arange(6), [1, 4])
    [array([0]), array([1, 2, 3]), array([4, 5])]
    """
    ary = asanyarray(ary)
    if not hasattr(indices_or_sections, "__len__") and ary.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


def hsplit(ary, indices_or_sections):
    """An array split along its second axis; a vector along its only one.

    Parameters
    ----------
    ary : array_like
        The array, of one dimension at least.
    indices_or_sections : int or sequence of ints
        The number of equal parts, or the positions before which to cut.

    Returns
    -------
    list of ndarrays
        Views of ary.

    Raises
    ------
    ValueError
        ary has no dimension, or so many equal parts are not possible.

    Examples
    --------
    >>> import asnumpy as np
    >>> left, right = np.hsplit(np.arange(8).reshape(2, 4), 2)
    >>> right
    array([[2, 3],
           [6, 7]])
    """
    ary = asanyarray(ary)
    if ary.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


def vsplit(ary, indices_or_sections):
    """An array split along its first axis.

    Parameters
    ----------
    ary : array_like
        The array, of two dimensions at least.
    indices_or_sections : int or sequence of ints
        The number of equal parts, or the positions before which to cut.

    Returns
    -------
    list of ndarrays
        Views of ary.

    Raises
    ------
    ValueError
        ary has fewer dimensions, or so many equal parts are not possible.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.vsplit(np.arange(4).reshape(2, 2), 2)
    [array([[0, 1]]), array([[2, 3]])]
    """
    if asanyarray(ary).ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


def dsplit(ary, indices_or_sections):
    """An array split along its third axis.

    Parameters
    ----------
    ary : array_like
        The array, of three dimensions at least.
    indices_or_sections : int or sequence of ints
        The number of equal parts, or the positions before which to cut.

    Returns
    -------
    list of ndarrays
        Views of ary.

    Raises
    ------
    ValueError
        ary has fewer dimensions, or so many equal parts are not possible.

    Examples
    --------
    >>> import asnumpy as np
    >>> [part.shape for part in np.dsplit(np.zeros((2, 3, 4)), [1])]
    [(2, 3, 1), (2, 3, 3)]
    """
    if asanyarray(ary).ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


def unstack(x, /, *, axis=0):
    """The sub-arrays along an axis; the reverse of stack.

    Parameters
    ----------
    x : array_like
        The array.
    axis : int
        The axis that goes away.

    Returns
    -------
    tuple of ndarrays
        Views of x, x.shape[axis] of them.

    Raises
    ------
    ValueError
        x has no dimension.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.unstack(np.array([[1, 2], [3, 4]]), axis=1)
    (array([1, 3]), array([2, 4]))
    """
    x = asanyarray(x)
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    from ._core import moveaxis

    return tuple(moveaxis(x, axis, 0))
