"""debug.compare_results: how two results differ, in one object that a test or a person reads.

Both are looked at on the host, in a dtype in which their difference is exact or nearly so: long double for 64-bit
integers, whose differences no float64 holds, complex128 for complex numbers, float64 for the rest. Nothing raises for
what is only different: another shape, another dtype, NaN where a number was meant are findings like any other.
"""

import numpy as _np

_SHOWN = 10  # positions of each kind that are listed


class Difference:
    """How a result differs from what was expected; it is true where it is as good as equal.

    Attributes
    ----------
    shapes, dtypes : pair
        Of expected and actual. Of different shapes nothing else is compared; dtypes are no failure.
    largest, mean : float
        Absolute error; of the elements that are finite in both.
    largest_relative, mean_relative : float
        Error by the size of the expected value, which is not 0.
    index : tuple of ints or None
        Where the largest absolute error is; None: there is none.
    expected, actual : scalar or None
        The two values there.
    differing, size : int
        How many elements are beyond the tolerance, NaN and infinities among them, and of how many.
    nan, inf : list of tuples
        The first ten positions at which only one is NaN; at which an infinity faces something else.
    tolerance : (float, float)
        Absolute, relative.

    Parameters
    ----------
    shapes, dtypes, tolerance
        As the attributes; compare_results makes the object.

    Examples
    --------
    >>> import asnumpy as np
    >>> found = np.debug.compare_results([1.0, 2.0], [1.0, 2.5])
    >>> bool(found), found.index, found.largest, found.differing
    (False, (1,), 0.5, 1)
    """

    def __init__(self, shapes, dtypes, tolerance):
        self.shapes, self.dtypes, self.tolerance = shapes, dtypes, tolerance
        self.largest = self.mean = self.largest_relative = self.mean_relative = 0.0
        self.index = self.expected = self.actual = None
        self.differing = 0
        self.size = int(_np.prod(shapes[0], dtype=_np.int64))
        self.nan, self.inf = [], []

    def __bool__(self):
        return self.shapes[0] == self.shapes[1] and not self.differing

    def __repr__(self):
        return f"<{self}>"

    def __str__(self):
        if self.shapes[0] != self.shapes[1]:
            return f"shapes differ: expected {self.shapes[0]}, actual {self.shapes[1]}"
        parts = [f"{self.differing} of {self.size} elements differ"]
        if self.index is not None:
            parts.append(
                f"largest error {self.largest:.6g} at {self.index}, {self.actual!r} for {self.expected!r} "
                f"(mean {self.mean:.6g}; relative: largest {self.largest_relative:.6g}, mean "
                f"{self.mean_relative:.6g})"
            )
        for what, where in (("NaN in one alone", self.nan), ("infinity in one alone", self.inf)):
            if where:
                parts.append(f"{what} at {', '.join(map(str, where))}")
        if self.dtypes[0] != self.dtypes[1]:
            parts.append(f"dtypes: expected {self.dtypes[0]}, actual {self.dtypes[1]}")
        return "; ".join(parts)


def _tolerance(value):
    """(absolute, relative) of a number or a pair."""
    pair = value if isinstance(value, tuple) else (value, value)
    well = len(pair) == 2 and all(
        isinstance(v, (int, float, _np.integer, _np.floating))
        and not isinstance(v, bool)
        and v >= 0
        for v in pair
    )
    if not well:
        raise ValueError(
            f"compare_results: tolerance is {value!r}; it may be a number from 0 on, or two: (absolute, relative)"
        )
    return float(pair[0]), float(pair[1])


def _host(value):
    from . import _core

    return value.to_numpy() if _core._is_array(value) else _np.asarray(value)


def _working_dtype(dtypes):
    """In which two arrays are subtracted; None: they are no numbers."""
    if any(d.kind not in "biufc" and d.name != "bfloat16" for d in dtypes):
        return None
    if any(d.kind == "c" for d in dtypes):
        return _np.dtype("complex256" if any(d.itemsize > 16 for d in dtypes) else "complex128")
    wide = any(d.itemsize > 8 or (d.kind in "iu" and d.itemsize == 8) for d in dtypes)
    return _np.dtype(_np.longdouble if wide else _np.float64)


def _positions(mask):
    """The first places where a mask is true."""
    flat = _np.flatnonzero(mask)[:_SHOWN]
    return [tuple(int(i) for i in _np.unravel_index(k, mask.shape)) for k in flat]


def _fill_errors(found, expected, actual, working):
    """Compares element by element; both have one shape, and elements."""
    e, a = expected.astype(working), actual.astype(working)
    with _np.errstate(all="ignore"):
        one_nan = _np.isnan(e) != _np.isnan(a)
        same = (e == a) | (_np.isnan(e) & _np.isnan(a))
        finite = _np.isfinite(e) & _np.isfinite(a)
        infinite = ~same & ~finite & ~one_nan
        far, size = _np.abs(a - e), _np.abs(e)
        beyond = finite & (far > found.tolerance[0] + found.tolerance[1] * size)
    found.nan, found.inf = _positions(one_nan), _positions(infinite)
    found.differing = int((beyond | one_nan | infinite).sum())
    if not finite.any():
        return
    counted = _np.where(finite, far, 0)
    worst = _np.unravel_index(int(_np.argmax(counted)), counted.shape)
    found.largest, found.mean = float(counted[worst]), float(far[finite].mean())
    if found.largest > 0:
        found.index = tuple(int(i) for i in worst)
        found.expected, found.actual = expected[worst], actual[worst]
    sized = finite & (size > 0)
    if sized.any():
        relative = far[sized] / size[sized]
        found.largest_relative, found.mean_relative = float(relative.max()), float(relative.mean())


def compare_results(expected, actual, tolerance=1e-6):
    """Says how a result differs from the expected one: how much, where, and how often.

    Parameters
    ----------
    expected, actual : array_like
        What should be, and what is: arrays of this library or NumPy's, tensors, numbers, lists.
    tolerance : float or (float, float)
        Absolute and relative: an element differs where |actual - expected| is larger than
        absolute + relative * |expected|. One number is both.

    Returns
    -------
    Difference
        True where no element differs and the shapes are equal.

    Raises
    ------
    ValueError
        A tolerance that is negative, or no number.

    Notes
    -----
    NaN equals NaN, and an infinity the same infinity. What is no number (text, dates, objects) is
    compared by equality.

    Examples
    --------
    >>> import asnumpy as np
    >>> found = np.debug.compare_results(np.zeros(3), np.array([0, 0, 0.25]))
    >>> found.differing, found.index, found.largest
    (1, (2,), 0.25)
    """
    tolerance = _tolerance(tolerance)
    expected, actual = _host(expected), _host(actual)
    dtypes = expected.dtype, actual.dtype
    found = Difference((expected.shape, actual.shape), dtypes, tolerance)
    if expected.shape != actual.shape or not expected.size:
        return found
    working = _working_dtype(dtypes)
    if working is not None:
        _fill_errors(found, expected, actual, working)
        return found
    unequal = _np.broadcast_to(_np.asarray(expected != actual, bool), expected.shape)
    found.differing = int(unequal.sum())
    if found.differing:
        found.index = _positions(unequal)[0]
        found.expected, found.actual = expected[found.index], actual[found.index]
    return found
