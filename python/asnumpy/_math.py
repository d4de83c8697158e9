"""Comparisons with tolerance, differences, products, interpolation, special functions."""

import functools
import math
import operator

import numpy as _np
from numpy import _NoValue

from . import _core
from ._core import asanyarray, asarray, where
from ._joining import _normalize


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether elements are equal within atol + rtol * |b|."""
    # Python numbers stay weak: 0.1 is close to float32(0.1) in float32.
    numbers = (bool, int, float, complex)
    x = a if type(a) in numbers and type(b) not in numbers else asanyarray(a)
    y = b if type(b) in numbers and type(a) not in numbers else asanyarray(b)
    if type(y) in (bool, int):
        y = float(y)
    elif type(y) not in numbers and y.dtype.kind not in "fc":
        y = y.astype(_core.result_type(y, 1.0))
    with _errstate()(invalid="ignore"):
        close = (_core.less_equal(_core.absolute(x - y), atol + rtol * _core.absolute(y))
                 & _core.isfinite(y)) | (x == y)  # fmt: skip
        if equal_nan:
            close = close | (_core.isnan(x) & _core.isnan(y))
    return close


def _errstate():
    from ._errstate import errstate

    return errstate


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are equal within a tolerance."""
    return bool(_core.all(isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)))


def array_equal(a1, a2, equal_nan=False):
    """Whether two arrays have the same shape and elements."""
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
    """Whether two arrays broadcast and are then equal."""
    try:
        a1, a2 = asarray(a1), asarray(a2)
        _np.broadcast_shapes(a1.shape, a2.shape)
    except Exception:
        return False
    return bool(asarray(a1 == a2).all())


# ---- kinds of numbers


def iscomplexobj(x):
    """Whether an object's dtype is complex."""
    try:
        kind = x.dtype.type
    except AttributeError:
        kind = asarray(x).dtype.type
    return issubclass(kind, _np.complexfloating)


def isrealobj(x):
    """Whether an object's dtype is not complex."""
    return not iscomplexobj(x)


def iscomplex(x):
    """Where the imaginary part is not zero."""
    x = asanyarray(x)
    if x.dtype.kind == "c":
        return x.imag != 0
    return _core.zeros(x.shape, bool)[()]


def isreal(x):
    """Where the imaginary part is zero."""
    return asanyarray(x).imag == 0


def _real_only(x, name):
    x = asanyarray(x)
    if x.dtype.kind == "c":
        raise TypeError(
            f"This operation is not supported for {x.dtype} values because it would be ambiguous."
        )
    return x


def isposinf(x, out=None):
    """Where x is +infinity."""
    x = _real_only(x, "isposinf")
    return _core.logical_and(_core.isinf(x), ~_signbit(x), out)


def isneginf(x, out=None):
    """Where x is -infinity."""
    x = _real_only(x, "isneginf")
    return _core.logical_and(_core.isinf(x), _signbit(x), out)


def _signbit(x):
    return asarray(_core.signbit(x) if x.dtype.kind == "f" else x < 0)


def real_if_close(a, tol=100):
    """The real part if every imaginary part is within tol machine epsilons of zero."""
    a = asanyarray(a)
    if a.dtype.kind != "c":
        return a
    if tol > 1:
        tol = _np.finfo(a.dtype.type).eps * tol
    return a.real if bool(_core.all(_core.absolute(a.imag) < tol)) else a


def common_type(*arrays):
    """The scalar type of the floats that arrays promote to."""
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


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """NaN and infinities replaced by numbers."""
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
    """The angle of complex numbers."""
    z = asanyarray(z)
    imag, real = (z.imag, z.real) if z.dtype.kind == "c" else (0, z)
    a = _core.arctan2(imag, real)
    return a * (180 / math.pi) if deg else a


def fix(x, out=None):
    """Rounded towards zero."""
    return _core.trunc(asanyarray(x), out=out)


def sinc(x):
    """sin(pi x) / (pi x)."""
    x = asanyarray(x)
    if x.dtype.kind not in "fc":
        x = x.astype(_np.float64)
    y = math.pi * where(x == 0, asarray(1.0e-20 if x.dtype.itemsize > 2 else 1e-4, x.dtype), x)
    return (_core.sin(y) / y)[()]


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
    """Modified Bessel function of the first kind, order 0."""
    x = asanyarray(x)
    if x.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    if x.dtype.kind != "f":
        x = x.astype(float)
    x = _core.absolute(x)
    small = _core.exp(x) * _chebyshev(x / 2.0 - 2, _I0A)
    with _errstate()(divide="ignore", invalid="ignore"):
        large = _core.exp(x) * _chebyshev(32.0 / x - 2.0, _I0B) / _core.sqrt(x)
    return where(x <= 8.0, small, large)[()]


# ---- differences and integrals


def diff(a, n=1, axis=-1, prepend=_NoValue, append=_NoValue):
    """The n-th differences along an axis."""
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    a = asanyarray(a)
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = _normalize(axis, a.ndim)
    parts = []
    for end in (prepend, None, append):
        if end is None:
            parts.append(a)
        elif end is not _NoValue:
            end = asanyarray(end)
            if end.ndim == 0:
                shape = list(a.shape)
                shape[axis] = 1
                end = _core.broadcast_to(end, tuple(shape))
            parts.append(end)
    if len(parts) > 1:
        a = _core.concatenate(parts, axis)
    high = (slice(None),) * axis + (slice(1, None),)
    low = (slice(None),) * axis + (slice(None, -1),)
    op = _core.not_equal if a.dtype == bool else _core.subtract
    for _ in range(n):
        a = op(a[high], a[low])
    return a


def ediff1d(ary, to_end=None, to_begin=None):
    """Differences of the flattened array, with optional ends."""
    ary = asanyarray(ary).ravel()
    ends = []
    for name, end in (("to_begin", to_begin), ("to_end", to_end)):
        if end is not None:
            end = asanyarray(end)
            if not _core.can_cast(end, ary.dtype, casting="same_kind"):
                raise TypeError(
                    f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` "
                    "rule."
                )
            end = end.ravel().astype(ary.dtype)
        ends.append(end)
    body = ary[1:] - ary[:-1]
    return _core.concatenate([x for x in (ends[0], body, ends[1]) if x is not None])


def gradient(f, *varargs, axis=None, edge_order=1):
    """Derivatives by second-order central differences."""
    f = asanyarray(f)
    ndim = f.ndim
    axes = tuple(range(ndim)) if axis is None else tuple(
        _normalize(x, ndim) for x in (axis if isinstance(axis, tuple | list) else (axis,))
    )  # fmt: skip
    count = len(axes)
    if not varargs:
        dx = [1.0] * count
    elif len(varargs) == 1 and _np.ndim(varargs[0]) == 0:
        dx = list(varargs) * count
    elif len(varargs) == count:
        dx = [_spacing(d, f.shape[axes[i]]) for i, d in enumerate(varargs)]
    else:
        raise TypeError("invalid number of arguments")
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if f.dtype.kind not in "fc":
        f = f.astype(_np.float64)
    result = tuple(_gradient_along(f, d, h, edge_order) for d, h in zip(axes, dx, strict=True))
    return result[0] if count == 1 else result


def _spacing(d, n):
    d = asarray(d)
    if d.ndim == 0:
        return d[()]
    if d.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if len(d) != n:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    d = diff(d.astype(_np.float64) if d.dtype.kind in "iu" else d)
    return d[0] if bool((d == d[0]).all()) else d


def _gradient_along(f, axis, h, edge_order):
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1)"
            " elements are required."
        )

    def at(a, b):
        return (*(slice(None),) * axis, slice(a, b))

    out = _core.empty_like(f)
    uneven = _np.ndim(h) == 1
    inner, left, mid, right = at(1, -1), at(None, -2), at(1, -1), at(2, None)
    if not uneven:
        out[inner] = (f[right] - f[left]) / (2.0 * h)
    else:
        shape = [1] * f.ndim
        shape[axis] = n - 2
        d1, d2 = h[:-1], h[1:]
        a = (-d2 / (d1 * (d1 + d2))).reshape(shape)
        b = ((d2 - d1) / (d1 * d2)).reshape(shape)
        c = (d1 / (d2 * (d1 + d2))).reshape(shape)
        out[inner] = a * f[left] + b * f[mid] + c * f[right]
    pick = functools.partial(_pick, f, axis)
    first, last = (h[0], h[-1]) if uneven else (h, h)
    lo, hi = (slice(None),) * axis + (0,), (slice(None),) * axis + (-1,)
    if edge_order == 1:
        out[lo] = (pick(1) - pick(0)) / first
        out[hi] = (pick(-1) - pick(-2)) / last
        return out
    if not uneven:
        a, b, c = -1.5 / h, 2.0 / h, -0.5 / h
        out[lo] = a * pick(0) + b * pick(1) + c * pick(2)
        out[hi] = -c * pick(-3) - b * pick(-2) - a * pick(-1)
        return out
    d1, d2 = h[0], h[1]
    out[lo] = (-(2.0 * d1 + d2) / (d1 * (d1 + d2)) * pick(0) + (d1 + d2) / (d1 * d2) * pick(1)
               - d1 / (d2 * (d1 + d2)) * pick(2))  # fmt: skip
    d1, d2 = h[-2], h[-1]
    out[hi] = (d2 / (d1 * (d1 + d2)) * pick(-3) - (d2 + d1) / (d1 * d2) * pick(-2)
               + (2.0 * d2 + d1) / (d2 * (d1 + d2)) * pick(-1))  # fmt: skip
    return out


def _pick(f, axis, i):
    return f[(slice(None),) * axis + (i,)]


def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral along an axis by the trapezoidal rule."""
    y = asanyarray(y)
    if x is None:
        d = dx
    else:
        x = asanyarray(x)
        d = diff(x) if x.ndim == 1 else diff(x, axis=axis)
        if x.ndim == 1:
            shape = [1] * y.ndim
            shape[axis] = d.shape[0]
            d = d.reshape(shape)
    axis = _normalize(axis, y.ndim)
    high = (slice(None),) * axis + (slice(1, None),)
    low = (slice(None),) * axis + (slice(None, -1),)
    return (d * (y[high] + y[low]) / 2.0).sum(axis)


def _cumulative(x, op, axis, dtype, out, include_initial):
    x = asanyarray(x)
    if axis is None:
        if x.ndim >= 2:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is "
                             "required.")  # fmt: skip
        x, axis = x.reshape(-1), 0
    axis = _normalize(axis, x.ndim)
    if not include_initial:
        return op.accumulate(x, axis=axis, dtype=dtype, out=out)
    first = list(x.shape)
    first[axis] = 1
    body = op.accumulate(x, axis=axis, dtype=dtype)
    start = _core.full(first, op.identity, dtype=body.dtype)
    return _core.concatenate([start, body], axis, out=out)


def cumulative_sum(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
    """Running sums, optionally with the leading 0."""
    return _cumulative(x, _core.add, axis, dtype, out, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
    """Running products, optionally with the leading 1."""
    return _cumulative(x, _core.multiply, axis, dtype, out, include_initial)


def unwrap(p, discont=None, axis=-1, *, period=2 * math.pi):
    """Jumps larger than half a period taken out of a signal."""
    p = asarray(p)
    delta = diff(p, axis=axis)
    if discont is None:
        discont = period / 2
    axis = _normalize(axis, p.ndim)
    dtype = _core.result_type(delta, period)
    if dtype.kind in "iu":
        high, rest = divmod(period, 2)
        ambiguous = rest == 0
    else:
        high, ambiguous = period / 2, True
    low = -high
    wrapped = _core.remainder(delta - low, period) + low
    if ambiguous:
        wrapped = where((wrapped == low) & (delta > 0), asarray(high, wrapped.dtype), wrapped)
    correct = where(_core.absolute(delta) < discont, asarray(0, wrapped.dtype), wrapped - delta)
    result = _core.array(p, copy=True, dtype=dtype)
    tail = (slice(None),) * axis + (slice(1, None),)
    result[tail] = p[tail] + correct.cumsum(axis)
    return result


def interp(x, xp, fp, left=None, right=None, period=None):
    """Piecewise linear interpolation."""
    fp = asarray(fp)
    kind = _np.complex128 if fp.dtype.kind == "c" else _np.float64
    x = asarray(x, dtype=_np.float64)
    xp, fp = asarray(xp, dtype=_np.float64), fp.astype(kind)
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        period, left, right = abs(period), None, None
        if xp.ndim != 1 or fp.ndim != 1:
            raise ValueError("Data points must be 1-D sequences")
        if xp.shape[0] != fp.shape[0]:
            raise ValueError("fp and xp are not of the same length")
        x, xp = x % period, xp % period
        order = xp.argsort()
        xp, fp = xp[order], fp[order]
        xp = _core.concatenate((xp[-1:] - period, xp, xp[:1] + period))
        fp = _core.concatenate((fp[-1:], fp, fp[:1]))
    if xp.shape[0] == 0:
        raise ValueError("array of sample points is empty")
    if xp.shape != fp.shape or xp.ndim != 1:
        raise ValueError("fp and xp are not of the same length.")
    left = fp[0] if left is None else left
    right = fp[-1] if right is None else right
    if kind is _np.complex128:
        result = _core.empty(x.shape, kind)
        result.real = interp(x, xp, fp.real, _np.real(left), _np.real(right))
        result.imag = interp(x, xp, fp.imag, _np.imag(left), _np.imag(right))
        return result[()]
    if xp.shape[0] == 1:
        result = where(x < xp[0], left, where(x > xp[0], right, fp[0]))
        return result[()]
    direct = _core.interp_lines(x, xp, fp, float(left), float(right))
    if direct is not NotImplemented:
        return direct[()]
    j = _core.clip(asarray(xp.searchsorted(x, side="right")) - 1, 0, xp.shape[0] - 2)
    x0, x1, f0, f1 = xp[j], xp[j + 1], fp[j], fp[j + 1]
    with _errstate()(all="ignore"):
        slope = (f1 - f0) / (x1 - x0)
        value = slope * (x - x0) + f0
        again = slope * (x - x1) + f1
    value = where(_core.isnan(value), again, value)
    value = where(_core.isnan(value) & (f0 == f1), f0, value)
    value = where(x == x0, f0, value)
    value = where(x == xp[-1], fp[-1], value)
    value = where(x > xp[-1], right, where(x < xp[0], left, value))
    value = where(_core.isnan(x), x, value)
    return value.astype(kind, copy=False)[()]


# ---- products


def inner(a, b, /):
    """The sum of products over the last axes."""
    a, b = asanyarray(a), asanyarray(b)
    if a.ndim == 0 or b.ndim == 0:
        return _core.multiply(a, b)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(
            f"shapes {a.shape} and {b.shape} not aligned: {a.shape[-1]} (dim {a.ndim - 1}) != "
            f"{b.shape[-1]} (dim {b.ndim - 1})".replace(", ", ",")
        )
    from ._manipulation import moveaxis

    return _core.dot(a, b if b.ndim == 1 else moveaxis(b, -1, -2))


def outer(a, b, out=None):
    """The products of all pairs of two flattened arrays."""
    a, b = asarray(a).ravel(), asarray(b).ravel()
    return _core.multiply(a[:, None], b[None, :], out)


def vdot(a, b, /):
    """The dot product of two flattened arrays, the first conjugated."""
    return _core.dot(asarray(a).ravel().conj(), asarray(b).ravel())


def tensordot(a, b, axes=2):
    """The sum of products over given axes."""
    a, b = asarray(a), asarray(b)
    try:
        left, right = axes
        left = list(left) if hasattr(left, "__iter__") else [left]
        right = list(right) if hasattr(right, "__iter__") else [right]
    except TypeError:
        left, right = list(range(-axes, 0)), list(range(axes))
    left = [_normalize(x, a.ndim) for x in left]
    right = [_normalize(x, b.ndim) for x in right]
    if len(left) != len(right) or any(
        a.shape[i] != b.shape[j] for i, j in zip(left, right, strict=True)
    ):
        raise ValueError("shape-mismatch for sum")
    keep_a = [d for d in range(a.ndim) if d not in left]
    keep_b = [d for d in range(b.ndim) if d not in right]
    n = math.prod(a.shape[d] for d in left)
    rows = a.transpose(keep_a + left).reshape(math.prod(a.shape[d] for d in keep_a), n)
    columns = b.transpose(right + keep_b).reshape(n, math.prod(b.shape[d] for d in keep_b))
    return _core.dot(rows, columns).reshape(
        [a.shape[d] for d in keep_a] + [b.shape[d] for d in keep_b]
    )


def kron(a, b):
    """The Kronecker product."""
    b = asanyarray(b)
    a = _core.array(a, copy=None, subok=True, ndmin=b.ndim)
    if a.ndim == 0 or b.ndim == 0:
        return _core.multiply(a, b)
    n = max(a.ndim, b.ndim)
    sa = (1,) * (n - a.ndim) + a.shape
    sb = (1,) * (n - b.ndim) + b.shape
    wide = a.reshape([x for s in sa for x in (s, 1)])
    tall = b.reshape([x for s in sb for x in (1, s)])
    return (wide * tall).reshape([x * y for x, y in zip(sa, sb, strict=True)])


def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """The cross product of vectors of three components (or two, as z = 0)."""
    from ._manipulation import moveaxis

    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = asarray(a), asarray(b)
    if a.ndim < 1 or b.ndim < 1:
        raise ValueError("At least one array has zero dimension")
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{a.shape[-1]} and {b.shape[-1]} dimensional instead."
        )
    a0, a1, b0, b1 = a[..., 0], a[..., 1], b[..., 0], b[..., 1]
    z = a0 * b1 - a1 * b0
    if a.shape[-1] == 2 and b.shape[-1] == 2:
        return z
    a2 = a[..., 2] if a.shape[-1] == 3 else _core.zeros_like(a0)
    b2 = b[..., 2] if b.shape[-1] == 3 else _core.zeros_like(b0)
    from ._joining import stack

    return moveaxis(stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, z], axis=-1), -1, axisc)


def correlate(a, v, mode="valid"):
    """The cross-correlation of two sequences."""
    return _slide(asarray(a), asarray(v).conj(), mode)


def convolve(a, v, mode="full"):
    """The convolution of two sequences."""
    a = _core.array(a, copy=None, ndmin=1)
    v = _core.array(v, copy=None, ndmin=1)
    if len(a) == 0:
        raise ValueError("a cannot be empty")
    if len(v) == 0:
        raise ValueError("v cannot be empty")
    if len(v) > len(a):
        a, v = v, a
    return _slide(a, v[::-1], mode)


def _slide(a, v, mode):
    """out[k] = sum_n a[n + k] v[n]: as a sum of shifted copies, or one product of windows."""
    modes = {0: "valid", 1: "same", 2: "full", "valid": "valid", "same": "same", "full": "full"}
    if mode is None:
        raise TypeError("integer argument expected, got None")
    if mode not in modes:
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    mode = modes[mode]
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError("object too deep for desired array" if max(a.ndim, v.ndim) > 1 else
                         "object of too small depth for desired array")  # fmt: skip
    n, m = len(a), len(v)
    if n == 0 or m == 0:
        raise ValueError("first array argument cannot be empty" if n == 0 else
                         "second array argument cannot be empty")  # fmt: skip
    swapped = n < m
    if swapped:
        a, v, n, m = v, a, m, n
    dtype = _core.result_type(a, v)
    full = _core.zeros(n + 2 * (m - 1), dtype)
    full[m - 1 : m - 1 + n] = a
    count = n + m - 1
    windows = _windows(full, count, m)
    result = _core.dot(windows, v.astype(dtype))
    if mode == "valid":
        result = result[m - 1 : n]
    elif mode == "same":
        start = (m - 1) // 2 if not swapped else m // 2
        start = m - 1 - m // 2
        result = result[start : start + n]
    if swapped:
        # Correlation reverses when the operands change places.
        result = result[::-1]
    return result.copy()


def _windows(a, count, width):
    from .lib.stride_tricks import as_strided

    step = a.strides[0]
    return as_strided(a, (count, width), (step, step))


# ---- piecewise


def select(condlist, choicelist, default=0):
    """Elements from the first choice whose condition holds."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    from ._joining import broadcast_arrays

    for i, cond in enumerate(condlist):
        if asarray(cond).dtype != bool:
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
    weak = [x if type(x) in (int, float, complex) else asarray(x) for x in [*choicelist, default]]
    dtype = _core.result_type(*weak)
    conditions = broadcast_arrays(*[asarray(c) for c in condlist])
    choices = broadcast_arrays(*[asarray(x, dtype) for x in weak])
    shape = _np.broadcast_shapes(conditions[0].shape, choices[0].shape)
    result = _core.broadcast_to(choices[-1], shape)
    for cond, choice in zip(conditions[::-1], choices[-2::-1], strict=True):
        result = where(cond, choice, result)
    return result


def piecewise(x, condlist, funclist, *args, **kw):
    """A function defined by pieces."""
    x = asanyarray(x)
    if isinstance(condlist, _core.ndarray | _np.ndarray) or not hasattr(condlist, "__len__"):
        condlist = asarray(condlist)
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
    """A function applied to the 1-d slices along an axis."""
    from ._manipulation import moveaxis

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
            result = _core.zeros(outer_shape + value.shape, value.dtype)
        result[index] = value
    last = list(range(len(outer_shape), result.ndim))
    return moveaxis(result, last, list(range(axis, axis + len(last))))


def apply_over_axes(func, a, axes):
    """A function applied over several axes in turn."""
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


class vectorize:
    """A Python function called element by element, with broadcasting."""

    def __init__(
        self,
        pyfunc=_NoValue,
        otypes=None,
        doc=None,
        excluded=None,
        cache=False,
        signature=None,
    ):
        self._options = {
            "otypes": otypes, "doc": doc, "excluded": excluded, "cache": cache,
            "signature": signature,
        }  # fmt: skip
        self._vectorized = None
        if pyfunc is not _NoValue:
            self._bind(pyfunc)

    def _bind(self, pyfunc):
        self.pyfunc = pyfunc
        self._vectorized = _np.vectorize(pyfunc, **self._options)
        self.__doc__ = self._vectorized.__doc__
        self.__name__ = getattr(pyfunc, "__name__", "vectorize")

    def __call__(self, *args, **kwargs):
        if self._vectorized is None:
            self._bind(args[0])
            return self
        host = [_np.asarray(a) if isinstance(a, _core.ndarray) else a for a in args]
        named = {
            k: _np.asarray(v) if isinstance(v, _core.ndarray) else v for k, v in kwargs.items()
        }
        result = self._vectorized(*host, **named)
        if isinstance(result, tuple):
            return tuple(asarray(r) for r in result)
        return asarray(result)


def frompyfunc(func, /, nin, nout, **kwargs):
    """A Python function as a ufunc; its results are objects, so NumPy's ufunc is returned."""
    return _np.frompyfunc(func, nin, nout, **kwargs)


# ---- bits


def packbits(a, /, axis=None, bitorder="big"):
    """Booleans packed into the bits of uint8."""
    a = asanyarray(a)
    if a.dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    from ._manipulation import moveaxis

    bits = a != 0
    if axis is None:
        bits, axis = bits.ravel(), 0
    bits = moveaxis(bits, axis, -1)
    n = bits.shape[-1]
    full = _core.zeros((*bits.shape[:-1], -(-n // 8) * 8), _np.uint8)
    full[..., :n] = bits
    weights = 2 ** _core.arange(8)
    weights = weights[::-1] if bitorder == "big" else weights
    packed = (full.reshape((*full.shape[:-1], -1, 8)) * weights).sum(-1)
    return moveaxis(packed.astype(_np.uint8), -1, axis)


def unpackbits(a, /, axis=None, count=None, bitorder="big"):
    """The bits of uint8 as an array of 0 and 1."""
    a = asanyarray(a)
    if a.dtype != _np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    from ._manipulation import moveaxis

    if axis is None:
        a, axis = a.ravel(), 0
    a = moveaxis(a, axis, -1)
    shifts = _core.arange(8, dtype=_np.uint8)
    shifts = shifts[::-1] if bitorder == "big" else shifts
    bits = ((a[..., None] >> shifts) & 1).reshape((*a.shape[:-1], -1))
    n = bits.shape[-1]
    if count is not None:
        if count < 0:
            bits = bits[..., : max(n + count, 0)]
        elif count <= n:
            bits = bits[..., :count]
        else:
            wide = _core.zeros((*bits.shape[:-1], count), _np.uint8)
            wide[..., :n] = bits
            bits = wide
    return moveaxis(bits, -1, axis).copy()


def binary_repr(num, width=None):
    """An integer in base 2, two's complement when a width is given."""
    return _np.binary_repr(operator.index(num), width)


def base_repr(number, base=2, padding=0):
    """An integer in a base from 2 to 36."""
    return _np.base_repr(operator.index(number), base, padding)


def shares_memory(a, b, /, max_work=-1):
    """Whether two arrays share an element's memory, exactly."""
    if not _core.may_share_memory(a, b):
        return False
    return _np.shares_memory(_np.asarray(a), _np.asarray(b), max_work)
