"""Comparisons with tolerance, kinds of numbers, special functions."""

import math
import warnings

import numpy as _np

from . import _core
from ._array_methods import number
from ._core import asanyarray, asarray, where
from ._errstate import errstate


def _finite(*numbers):
    return all(map(math.isfinite, numbers))


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Where elements of two arrays are equal within a tolerance.

    Parameters
    ----------
    a, b : array_like
        The arrays, which broadcast.
    rtol, atol : array_like
        Elements are close where abs(a - b) <= atol + rtol * abs(b): b is the one to compare with.
    equal_nan : bool
        Whether NaN is close to NaN.

    Returns
    -------
    ndarray of bool, or bool
        Infinities are close where they are equal.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.isclose([1.0, 2.0, np.inf], [1.0 + 1e-9, 2.1, np.inf])
    array([ True, False,  True])
    """
    # Python numbers stay weak: 0.1 is close to float32(0.1) in float32.
    numbers = (bool, int, float, complex)
    x = a if type(a) in numbers and type(b) not in numbers else asanyarray(a)
    y = b if type(b) in numbers and type(a) not in numbers else asanyarray(b)
    if type(y) in (bool, int):
        y = float(y)
    elif type(y) not in numbers and y.dtype.kind not in "fc":
        y = y.astype(_core.result_type(y, 1.0))
    if not {type(atol), type(rtol)} <= {bool, int, float} or not _finite(atol, rtol):
        atol, rtol = (t if type(t) in numbers else asanyarray(t) for t in (atol, rtol))
        if not (_core.all(_core.isfinite(atol)) and _core.all(_core.isfinite(rtol))):
            warnings.warn(
                f"One of rtol or atol is not valid, atol: {atol}, rtol: {rtol}",
                RuntimeWarning, stacklevel=2,
            )  # fmt: skip
    with errstate(invalid="ignore"):
        close = (_core.less_equal(_core.absolute(x - y), atol + rtol * abs(y))
                 & _core.isfinite(y)) | (x == y)  # fmt: skip
        if equal_nan:
            close = close | (_core.isnan(x) & _core.isnan(y))
    return close


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements of two arrays are equal within a tolerance.

    Parameters
    ----------
    a, b : array_like
        The arrays, which broadcast.
    rtol, atol : array_like
        Elements are close where abs(a - b) <= atol + rtol * abs(b): b is the one to compare with.
    equal_nan : bool
        Whether NaN is close to NaN.

    Returns
    -------
    bool

    Examples
    --------
    >>> import asnumpy as np
    >>> np.allclose([1e10, 1e-8], [1.00001e10, 1e-9])
    True
    >>> np.allclose([1.0, np.nan], [1.0, np.nan])
    False
    """
    return bool(_core.all(isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)))


def array_equal(a1, a2, equal_nan=False):
    """Whether two arrays have the same shape and the same elements.

    Parameters
    ----------
    a1, a2 : array_like
        The arrays.
    equal_nan : bool
        Whether NaN equals NaN.

    Returns
    -------
    bool

    Examples
    --------
    >>> import asnumpy as np
    >>> np.array_equal([1, 2], [1, 2]), np.array_equal([1, 2], [[1, 2]])
    (True, False)
    """
    try:
        a1, a2 = asarray(a1), asarray(a2)
    except Exception:
        return False
    if a1.shape != a2.shape:
        return False
    same = a1 == a2
    if equal_nan and a1.dtype.kind in "fc" and a2.dtype.kind in "fc":
        same = same | (_core.isnan(a1) & _core.isnan(a2))
    return bool(asarray(same).all())


def array_equiv(a1, a2):
    """Whether two arrays have the same elements once one is stretched to the other's shape.

    Parameters
    ----------
    a1, a2 : array_like
        The arrays.

    Returns
    -------
    bool
        False where the shapes do not broadcast.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.array_equiv([1, 2], [[1, 2], [1, 2]])
    True
    """
    try:
        a1, a2 = asarray(a1), asarray(a2)
        _np.broadcast_shapes(a1.shape, a2.shape)
    except Exception:
        return False
    return bool(asarray(a1 == a2).all())


# ---- kinds of numbers


def iscomplexobj(x):
    """Whether the dtype of an object is complex, whatever the elements are.

    Parameters
    ----------
    x : object
        An array, a number, or what becomes one.

    Returns
    -------
    bool

    Examples
    --------
    >>> import asnumpy as np
    >>> np.iscomplexobj(np.array([1 + 0j])), np.iscomplexobj([1.0])
    (True, False)
    """
    try:
        kind = x.dtype.type
    except AttributeError:
        kind = asarray(x).dtype.type
    return issubclass(kind, _np.complexfloating)


def isrealobj(x):
    """Whether the dtype of an object is not complex, whatever the elements are.

    Parameters
    ----------
    x : object
        An array, a number, or what becomes one.

    Returns
    -------
    bool

    Examples
    --------
    >>> import asnumpy as np
    >>> np.isrealobj([1.0, 2.0]), np.isrealobj(np.array([1 + 0j]))
    (True, False)
    """
    return not iscomplexobj(x)


def iscomplex(x):
    """Where the imaginary part is not zero.

    Parameters
    ----------
    x : array_like
        Numbers.

    Returns
    -------
    ndarray of bool, or bool

    Examples
    --------
    >>> import asnumpy as np
    >>> np.iscomplex([1 + 1j, 2 + 0j])
    array([ True, False])
    """
    x = asanyarray(x)
    if x.dtype.kind == "c":
        return x.imag != 0
    return number(_core.zeros(x.shape, bool))


def _real_only(x, name):
    x = asanyarray(x)
    if x.dtype.kind == "c":
        raise TypeError(
            f"This operation is not supported for {x.dtype} values because it would be ambiguous."
        )
    return x


def isposinf(x, out=None):
    """Where elements are plus infinity.

    Parameters
    ----------
    x : array_like
        Real numbers.
    out : ndarray, optional
        Receives the result.

    Returns
    -------
    ndarray of bool, or bool

    Raises
    ------
    TypeError
        x is complex.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.isposinf([-np.inf, 0.0, np.inf])
    array([False, False,  True])
    """
    x = _real_only(x, "isposinf")
    return _core.logical_and(_core.isinf(x), ~_signbit(x), out)


def isneginf(x, out=None):
    """Where elements are minus infinity.

    Parameters
    ----------
    x : array_like
        Real numbers.
    out : ndarray, optional
        Receives the result.

    Returns
    -------
    ndarray of bool, or bool

    Raises
    ------
    TypeError
        x is complex.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.isneginf([-np.inf, 0.0, np.inf])
    array([ True, False, False])
    """
    x = _real_only(x, "isneginf")
    return _core.logical_and(_core.isinf(x), _signbit(x), out)


def _signbit(x):
    return asarray(_core.signbit(x) if x.dtype.kind == "f" else x < 0)


def real_if_close(a, tol=100):
    """The real parts, if all imaginary parts are nearly zero; else the array.

    Parameters
    ----------
    a : array_like
        Numbers.
    tol : float
        How near: above 1 in machine epsilons of the dtype, else as it is.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> import asnumpy as np
    >>> np.real_if_close([1 + 1e-15j, 2])
    array([1., 2.])
    >>> np.real_if_close([1 + 1e-3j, 2])
    array([1.+0.001j, 2.+0.j   ])
    """
    a = asanyarray(a)
    if a.dtype.kind != "c":
        return a
    if tol > 1:
        tol = _np.finfo(a.dtype.type).eps * tol
    return a.real if bool(_core.all(_core.absolute(a.imag) < tol)) else a


def common_type(*arrays):
    """The floating scalar type that holds the elements of all arrays.

    Parameters
    ----------
    *arrays : ndarray
        Of numbers.

    Returns
    -------
    type
        A NumPy scalar type: complex where an array is, float64 where one is of integers.

    Raises
    ------
    TypeError
        An array is not of numbers.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.common_type(np.arange(2, dtype=np.float32), np.arange(2)) is np.float64
    True
    """
    complex_, best = False, 0
    sizes = [_np.float16, _np.float32, _np.float64]
    for a in arrays:
        dtype = asanyarray(a).dtype
        complex_ |= dtype.kind == "c"
        if dtype.kind == "b":
            raise TypeError("can't get common type for non-numeric array")
        one = {"e": 0, "f": 1, "F": 1}.get(dtype.char, 2)
        best = max(best, one)
    if not complex_:
        return sizes[best]
    return _np.complex64 if best <= 1 else _np.complex128


def min_scalar_type(a, /):
    """The dtype of the smallest size that holds a number; of an array with axes its own.

    Parameters
    ----------
    a : scalar or array_like
        The number.

    Returns
    -------
    dtype
        Integers are not made floats; of a positive one the dtype is unsigned.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.min_scalar_type(300), np.min_scalar_type(-1), np.min_scalar_type(1e50)
    (dtype('uint16'), dtype('int8'), dtype('float64'))
    """
    return _np.min_scalar_type(_np.asarray(a) if _core._is_array(a) else a)


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """NaN and infinities replaced by numbers.

    Parameters
    ----------
    x : array_like
        Numbers.
    copy : bool
        False: in place, where x is an array.
    nan : scalar or array_like
        In the place of NaN; by default 0.
    posinf, neginf : scalar or array_like, optional
        In the place of the infinities; by default the largest and the smallest number of the dtype.

    Returns
    -------
    ndarray or scalar
        Of x's dtype.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.nan_to_num([np.nan, 1.0, np.inf], posinf=99)
    array([ 0.,  1., 99.])
    """
    x = _core.array(x, subok=True, copy=True if copy else None)
    scalar = x.ndim == 0
    if x.dtype.kind not in "fc":
        return x[()] if scalar else x
    info = _np.finfo(x.dtype.type)
    high = info.max if posinf is None else posinf
    low = info.min if neginf is None else neginf
    for part in (x.real, x.imag) if x.dtype.kind == "c" else (x,):
        isnan, positive, negative = _core.isnan(part), part == math.inf, part == -math.inf
        _core.copyto(part, nan, where=isnan)
        _core.copyto(part, high, where=positive)
        _core.copyto(part, low, where=negative)
    return x[()] if scalar else x


def angle(z, deg=False):
    """The angle of complex numbers in the plane, from the positive real axis.

    Parameters
    ----------
    z : array_like
        Numbers, complex or real.
    deg : bool
        Degrees in place of radians.

    Returns
    -------
    ndarray or scalar
        In (-pi, pi].

    Examples
    --------
    >>> import asnumpy as np
    >>> np.angle([1, 1j, -1], deg=True)
    array([  0.,  90., 180.])
    """
    z = asanyarray(z)
    imag, real = (z.imag, z.real) if z.dtype.kind == "c" else (0, z)
    a = _core.arctan2(imag, real)
    return a * (180 / math.pi) if deg else a


def fix(x, out=None):
    """Rounds towards zero.

    Parameters
    ----------
    x : array_like
        Real numbers.
    out : ndarray, optional
        Receives the result.

    Returns
    -------
    ndarray or scalar
        Of x's dtype.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.fix([1.7, -1.7])
    array([ 1., -1.])
    """
    if _core._NUMPY_2_5:
        warnings.warn(
            "numpy.fix is deprecated. Use numpy.trunc instead, which is faster and follows the Array "
            "API standard.",
            DeprecationWarning,
            stacklevel=3,
        )
    return _core.trunc(x, out=out)


def sinc(x):
    """The function sin(pi x) / (pi x), which is 1 at 0.

    Parameters
    ----------
    x : array_like
        Numbers.

    Returns
    -------
    ndarray or scalar

    Examples
    --------
    >>> import asnumpy as np
    >>> np.sinc([0.0, 0.5, 1.0]).round(4)
    array([1.    , 0.6366, 0.    ])
    """
    x = asanyarray(x)
    if x.dtype.kind not in "fc":
        x = x.astype(_np.float64)
    y = math.pi * where(x == 0, asarray(1.0e-20 if x.dtype.itemsize > 2 else 1e-4, x.dtype), x)
    return number(_core.sin(y) / y)


# Coefficients of the Chebyshev expansions of exp(-x) I0(x), on [0, 8] in x/2 - 2 and on (8, inf)
# in 32/x - 2 (with a factor sqrt(x)): the Cephes mathematical library.
_I0A = [
    -4.41534164647933937950e-18, 3.33079451882223809783e-17, -2.43127984654795469359e-16,
    1.71539128555513303061e-15, -1.16853328779934516808e-14, 7.67618549860493561688e-14,
    -4.85644678311192946090e-13, 2.95505266312963983461e-12, -1.72682629144155570723e-11,
    9.67580903537323691224e-11, -5.18979560163526290666e-10, 2.65982372468238665035e-9,
    -1.30002500998624804212e-8, 6.04699502254191894932e-8, -2.67079385394061173391e-7,
    1.11738753912010371815e-6, -4.41673835845875056359e-6, 1.64484480707288970893e-5,
    -5.75419501008210370398e-5, 1.88502885095841655729e-4, -5.76375574538582365885e-4,
    1.63947561694133579842e-3, -4.32430999505057594430e-3, 1.05464603945949983183e-2,
    -2.37374148058994688156e-2, 4.93052842396707084878e-2, -9.49010970480476444210e-2,
    1.71620901522208775349e-1, -3.04682672343198398683e-1, 6.76795274409476084995e-1,
]  # fmt: skip
_I0B = [
    -7.23318048787475395456e-18, -4.83050448594418207126e-18, 4.46562142029675999901e-17,
    3.46122286769746109310e-17, -2.82762398051658348494e-16, -3.42548561967721913462e-16,
    1.77256013305652638360e-15, 3.81168066935262242075e-15, -9.55484669882830764870e-15,
    -4.15056934728722208663e-14, 1.54008621752140982691e-14, 3.85277838274214270114e-13,
    7.18012445138366623367e-13, -1.79417853150680611778e-12, -1.32158118404477131188e-11,
    -3.14991652796324136454e-11, 1.18891471078464383424e-11, 4.94060238822496958910e-10,
    3.39623202570838634515e-9, 2.26666899049817806459e-8, 2.04891858946906374183e-7,
    2.89137052083475648297e-6, 6.88975834691682398426e-5, 3.36911647825569408990e-3,
    8.04490411014108831608e-1,
]  # fmt: skip


def _chebyshev(x, coefficients):
    b0, b1, b2 = coefficients[0], 0.0, 0.0
    for c in coefficients[1:]:
        b2, b1 = b1, b0
        b0 = x * b1 - b2 + c
    return 0.5 * (b0 - b2)


def i0(x):
    """The modified Bessel function of the first kind, of order 0.

    Parameters
    ----------
    x : array_like
        Real numbers; integers become float64.

    Returns
    -------
    ndarray
        Of x's shape. Chebyshev series (Clenshaw, "Chebyshev Series for Mathematical Functions", 1962).

    Raises
    ------
    TypeError
        x is complex.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.i0([0.0, 1.0]).round(6)
    array([1.      , 1.266066])
    """
    x = asanyarray(x)
    if x.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    if x.dtype.kind != "f":
        x = x.astype(float)
    x = _core.absolute(x)
    small = _core.exp(x) * _chebyshev(x / 2.0 - 2, _I0A)
    with errstate(divide="ignore", invalid="ignore"):
        large = _core.exp(x) * _chebyshev(32.0 / x - 2.0, _I0B) / _core.sqrt(x)
    return where(x <= 8.0, small, large)
