"""A family of polynomials, given by its recurrence: everything that can be done with series of it.

A family P_0 = 1, P_1, ... satisfies
    x P_n = up(n) P_(n+1) + mid(n) P_n + down(n) P_(n-1),
and its integrals are
    I(P_n) = rise(n) P_(n+1) + level(n) P_n + fall(n) P_(n-1) + constant.
From these follow evaluation (Clenshaw, "A note on the summation of Chebyshev series", 1955), products,
conversions, integrals, derivatives (the integrals' bands solved from the top), companion matrices (of
the multiplication by x, scaled to be symmetric) and fits. Series are 1-d arrays of coefficients, lowest
degree first; functions of arrays of series take the degree along the first axis.
"""

import functools
import operator
import warnings

import numpy as _np

from .. import _core
from .._core import stack
from .._polynomials import points_to_fit
from .._support import hosted
from ._texts import text_of
from .polyutils import as_series, trimseq


def _host(c):
    """Coefficients as a list of Python numbers."""
    return _np.asarray(c).tolist()


def _order(value, word):
    try:
        value = operator.index(value)
    except TypeError as error:
        raise TypeError(f"the order of {word} must be an integer, received {value}") from error
    if value < 0:
        raise ValueError(f"The order of {word} must be non-negative")
    return value


def _axis(value, ndim):
    try:
        value = operator.index(value)
    except TypeError as error:
        raise TypeError(f"the axis must be an integer, received {value}") from error
    return _np.lib.array_utils.normalize_axis_index(value, ndim)


def _floating(c):
    c = _core.array(c, ndmin=1, copy=True)
    return c.astype(_np.double) if c.dtype.kind in "?bBhHiIlLqQ" else c


def _number(c):
    """What n is in the functions of a family: a float, and a Fraction beside objects, which stay exact."""
    if _np.asarray(c).dtype.kind != "O":
        return float
    from fractions import Fraction  # 2 ms, which few need

    return Fraction


def _times(a, factor):
    """a * factor; a Fraction by whole numbers, since not every number (Decimal) knows fractions."""
    if isinstance(factor, float):
        return factor * a
    a = factor.numerator * a
    return a if factor.denominator == 1 else a / factor.denominator


class Family:
    """The recurrence and integrals of a family, as functions of n, and what follows from them.

    n is a float, an array of them, or a Fraction (then so is the value); rise, level and fall get no arrays.
    """

    def __init__(self, name, *, up, mid=None, down=None, rise, level=None, fall=None, product=None, maxpower=16,
                 real_roots=False):  # fmt: skip
        zero = lambda n: 0 * n  # noqa: E731
        self.name = name
        self.up, self.mid, self.down = up, mid or zero, down or zero
        self.rise, self.level, self.fall = rise, level or zero, fall or zero
        self.banded = level is not None or fall is not None
        self.product = (
            product  # of two vectors, where there is a shorter way than by the recurrence
        )
        self.maxpower = maxpower
        self.real_roots = real_roots  # NumPy 2.5 too shows real roots as real numbers

    # ---- arithmetic

    def line(self, off, scl):
        """The series of off + scl x."""
        if scl == 0:
            return _core.array([off])
        mid, up = self.mid(0), self.up(0)  # whole numbers, or one half
        slope = scl * int(up) if up == int(up) else scl / int(1 / up)
        return _core.array([off + int(mid) * scl if mid else off, slope])

    def _sum(self, c1, c2, sign):
        c1, c2 = as_series([c1, c2])
        if len(c1) >= len(c2):
            c1[: len(c2)] += sign * c2
            return trimseq(c1)
        c2 = sign * c2
        c2[: len(c1)] += c1
        return trimseq(c2)

    def add(self, c1, c2):
        """The sum of two series."""
        return self._sum(c1, c2, 1)

    def sub(self, c1, c2):
        """The difference of two series."""
        return self._sum(c1, c2, -1)

    def mulx(self, c):
        """A series times x."""
        (c,) = as_series([c])
        if len(c) == 1 and c[0] == 0:
            return c
        if c.dtype.kind == "O":
            up, mid, down = (self._scaled(c, f) for f in (self.up, self.mid, self.down))
        else:
            n = _np.arange(float(len(c)))
            up, mid, down = (c * f(n) for f in (self.up, self.mid, self.down))
        product = _core.zeros(len(c) + 1, dtype=c.dtype)
        product[1:] = up
        product[:-1] += mid
        product[:-2] += down[1:]
        return product

    def _clenshaw(self, c, times_x, number):
        """sum c[k] P_k of coefficients c (along the first axis), x being what times_x multiplies by."""
        first = second = 0  # y_(k+1), y_(k+2)
        for k in range(len(c) - 1, -1, -1):
            value = c[k]
            if k < len(c) - 1:
                mid, up = self.mid(number(k)), self.up(number(k))
                step = times_x(first)
                if mid:
                    step = self._plus(step, first, -mid)
                value = self._plus(value, step, 1 / up)
            if k < len(c) - 2:
                after = number(k + 1)
                value = self._plus(value, second, -self.down(after) / self.up(after))
            first, second = value, first
        return first

    @staticmethod
    def _plus(a, b, factor):
        """a + factor b, of arrays that broadcast or of series of unequal length."""
        if factor == 0:
            return a
        if isinstance(a, Series) and isinstance(b, Series):
            long, short = a.c, _times(b.c, factor)
            if len(long) < len(short):
                long, short = short, long
            long = long.copy()
            long[: len(short)] += short
            return Series(long)
        return a + (b if factor == 1 else _times(b, factor))

    def mul(self, c1, c2):
        """The product of two series."""
        c1, c2 = as_series([c1, c2])
        if self.product:
            return trimseq(self.product(c1, c2))
        if len(c1) < len(c2):
            c1, c2 = c2, c1
        terms = [Series(c * c1) for c in _np.asarray(c2)]
        return trimseq(self._clenshaw(terms, lambda s: Series(self.mulx(s.c)), _number(c1)).c)

    def div(self, c1, c2):
        """(quotient, remainder) of two series."""
        c1, c2 = as_series([c1, c2])
        if c2[-1] == 0:
            raise ZeroDivisionError
        n, m = len(c1), len(c2)
        if n < m:
            return c1[:1] * 0, c1
        if m == 1:
            return c1 / c2[-1], c1[:1] * 0
        quotient, rest = _core.zeros(n - m + 1, dtype=c1.dtype), c1
        for i in range(n - m, -1, -1):
            p = self.mul([0] * i + [1], c2)
            q = rest[i + m - 1] / p[-1]
            rest = rest[: i + m - 1] - q * p[:-1]
            quotient[i] = q
        return quotient, trimseq(rest)

    def pow(self, c, pow, maxpower):
        """A series to a whole power of at most maxpower (None: any)."""
        (c,) = as_series([c])
        power = int(pow)
        if power != pow or power < 0:
            raise ValueError("Power must be a non-negative integer.")
        if maxpower is not None and power > maxpower:
            raise ValueError("Power is too large")
        if power == 0:
            return _core.array([1], dtype=c.dtype)
        return functools.reduce(lambda product, _: self.mul(product, c), range(power - 1), c)

    # ---- values

    def val(self, x, c, tensor=True):
        """The values of the series at x.

        c: the degree along its first axis; with tensor each column is a series that is evaluated at every
        x, without it x broadcasts over the columns.
        """
        c = _floating(c)
        number = _number(c)
        if isinstance(x, (tuple, list)):
            x = _core.asarray(x)
        if tensor and hasattr(x, "shape") and not isinstance(x, _np.generic):
            x = _core.asanyarray(x)
            c = c.reshape(c.shape + (1,) * x.ndim)
        if c.ndim == 1:
            c = list(_np.asarray(c))  # numbers, with the strength of their dtype
        value = self._clenshaw(c, lambda y: x * y, number)
        return value if len(c) > 1 else value + x * 0

    def nd_val(self, c, *args):
        """Values at points whose coordinates are args, of one shape."""
        args = [_core.asanyarray(a) for a in args]
        if any(a.shape != args[0].shape for a in args):
            names = {2: "x, y", 3: "x, y, z"}.get(len(args), "ordinates")
            raise ValueError(f"{names} are incompatible")
        c = self.val(args[0], c)
        for a in args[1:]:
            c = self.val(a, c, tensor=False)
        return c

    def grid(self, c, *args):
        """Values on the grid of all args."""
        for a in args:
            c = self.val(a, c)
        return c

    def vander(self, x, deg):
        """The values of P_0 ... P_deg at x, along a new last axis."""
        deg = operator.index(deg) if not isinstance(deg, float) else _not_an_integer(deg)
        if deg < 0:
            raise ValueError("deg must be non-negative")
        x = _core.array(x, copy=None, ndmin=1) + 0.0
        columns = [x * 0 + 1]
        for n in range(deg):
            value = x * columns[n]
            if self.mid(float(n)):
                value = value - self.mid(float(n)) * columns[n]
            if n and self.down(float(n)):
                value = value - self.down(float(n)) * columns[n - 1]
            up = self.up(float(n))
            columns.append(value if up == 1 else value / up)
        return stack(columns, axis=-1)

    def nd_vander(self, points, degrees):
        """Products of the families' values at points, with the degrees of the last axis first."""
        if len(degrees) != len(points):
            raise ValueError(f"Expected {len(points)} dimensions of degrees, got {len(degrees)}")
        points = [p + 0.0 for p in _core.asarray(stack([_core.asanyarray(p) for p in points]))]
        result = self.vander(points[0], degrees[0])
        for x, deg in zip(points[1:], degrees[1:], strict=True):
            column = self.vander(x, deg)
            middle = (1,) * (result.ndim - x.ndim)
            result = result[..., None] * column.reshape(*x.shape, *middle, column.shape[-1])
        return result.reshape(points[0].shape + (-1,))

    # ---- calculus

    def der(self, c, m=1, scl=1, axis=0):
        """The m-th derivative along an axis; each turn is multiplied by scl."""
        from .. import moveaxis

        c = _floating(c)
        m = _order(m, "derivation")
        axis = _axis(axis, c.ndim)
        c = moveaxis(c, axis, 0)
        if m >= len(c):
            return moveaxis(c[:1] * 0, 0, axis) if m else moveaxis(c, 0, axis)
        for _ in range(m):
            c = self._derivative(c * scl)
        return moveaxis(c, 0, axis)

    def _derivative(self, c):
        n, number = len(c) - 1, _number(c)
        if not self.banded:
            if number is not float:
                return self._scaled(c[1:], lambda j: 1 / self.rise(j))
            return c[1:] / self._column(self.rise, n, c)
        rows, found = [c[i] for i in range(n + 1)], [None] * n
        for j in range(n - 1, -1, -1):
            k = number(j)
            rise, level, fall = self.rise(k), self.level(k), self.fall(k)
            found[j] = _times(rows[j + 1], 1 / rise) if number is not float else rows[j + 1] / rise
            if level:
                rows[j] = rows[j] - _times(found[j], level)
            if j and fall:
                rows[j - 1] = rows[j - 1] - _times(found[j], fall)
        return _np.array(found, dtype=object) if number is not float else stack(found)

    def _scaled(self, c, function):
        """c[k] * function(k), k along the first axis."""
        number = _number(c)
        if number is float:
            return c * self._column(function, len(c), c)
        rows = c.copy()
        for k in range(len(c)):
            rows[k] = _times(c[k], function(number(k)))
        return rows

    @staticmethod
    def _column(function, n, c):
        values = _core.array([function(float(j)) for j in range(n)], dtype=c.dtype)
        return values.reshape((n,) + (1,) * (c.ndim - 1))

    def int(self, c, m=1, k=[], lbnd=0, scl=1, axis=0):  # noqa: B006 - NumPy's signature
        """The m-th integral along an axis with constants k; each turn is multiplied by scl.

        The integral of turn i has the value k[i] at lbnd.
        """
        from .. import iterable, moveaxis

        c = _floating(c)
        k = list(k) if iterable(k) else [k]
        m = _order(m, "integration")
        if len(k) > m:
            raise ValueError("Too many integration constants")
        if _np.ndim(lbnd) != 0:
            raise ValueError("lbnd must be a scalar.")
        if _np.ndim(scl) != 0:
            raise ValueError("scl must be a scalar.")
        axis = _axis(axis, c.ndim)
        c = moveaxis(c, axis, 0)
        for i in range(m):
            c = c * scl
            constant = k[i] if i < len(k) else 0
            if len(c) == 1 and not c.any():
                c[0] += constant
                continue
            c = self._integral(c)
            c[0] += constant - self.val(lbnd, c)
        return moveaxis(c, 0, axis)

    def _integral(self, c):
        n = len(c)
        result = _core.zeros((n + 1, *c.shape[1:]), dtype=c.dtype)
        result[1:] = self._scaled(c, self.rise)
        if self.banded:
            result[:n] += self._scaled(c, self.level)
            result[: n - 1] += self._scaled(c, self.fall)[1:]
        return result

    # ---- conversions and roots

    def to_power(self, c):
        """The series as coefficients of powers of x."""
        (c,) = as_series([c])
        terms = [Series(c[k : k + 1]) for k in range(len(c))]
        return self._clenshaw(terms, lambda s: Series(_shifted(s.c)), _number(c)).c

    def from_power(self, pol):
        """Coefficients of powers of x as the series."""
        (pol,) = as_series([pol])
        result = pol[:1] * 0
        for i in range(len(pol) - 1, -1, -1):
            result = self.add(self.mulx(result), pol[i])
        return result

    def fromroots(self, roots):
        """The series of the product of (x - root), leading power with coefficient 1."""
        if len(roots) == 0:
            return _core.ones(1)
        (roots,) = as_series([roots], trim=False)
        factors = [self.line(-r, 1) for r in sorted(_host(roots), key=lambda r: (r.real, r.imag))]
        while len(factors) > 1:
            half, odd = divmod(len(factors), 2)
            paired = [self.mul(factors[i], factors[i + half]) for i in range(half)]
            if odd:
                paired[0] = self.mul(paired[0], factors[-1])
            factors = paired
        return factors[0]

    def companion(self, c):
        """The companion matrix, scaled to be symmetric where c is a basis polynomial."""
        from .. import diag

        (c,) = as_series([c])
        if len(c) < 2:
            raise ValueError("Series must have maximum degree of at least 1.")
        n = len(c) - 1
        if n == 1:
            return _core.array([[self.mid(0.0) - self.up(0.0) * c[0] / c[1]]])
        k = _np.arange(float(n))
        up, down = _np.broadcast_to(self.up(k), n)[:-1], _np.broadcast_to(self.down(k), n)[1:]
        if down.any():
            scale = _np.multiply.accumulate(_np.concatenate(([1.0], _np.sqrt(down / up))))
            below = above = _np.sign(up) * _np.sqrt(up * down)
        else:
            scale, below, above = _np.ones(n), up, down
        matrix = diag(_core.array(below), -1) + diag(_core.array(above), 1)
        matrix = (matrix + diag(_core.array(_np.broadcast_to(self.mid(k), n)))).astype(c.dtype)
        matrix[:, -1] -= c[:-1] / c[-1] * _core.array(scale / scale[-1]) * self.up(n - 1.0)
        return matrix

    def roots(self, c):
        """The roots of a series, sorted."""
        (c,) = as_series([c])
        if len(c) < 2:
            return _core.array([], dtype=c.dtype)
        if len(c) == 2:
            return self.companion(c)[0]
        matrix = self.companion(c)
        real = self.real_roots or not _core._NUMPY_2_5
        if _np.any(self.down(_np.arange(3.0))):  # turned it loses less; that of powers loses more
            matrix = matrix[::-1, ::-1]
        return _core.sort(_core._linalg_eig(matrix, False, real))

    def fit(self, x, y, deg, rcond=None, full=False, w=None):
        """The least-squares series of degree deg (or of the degrees in deg) through points.

        x: (m,); y: (m,) or (m, k), k fits at once; w: weights of y. With full also [residuals, rank,
        singular values, rcond].
        """
        from ..linalg import lstsq

        deg = _np.asarray(deg)
        if deg.ndim > 1 or deg.dtype.kind not in "iu" or deg.size == 0:
            raise TypeError("deg must be an int or non-empty 1-D array of int")
        if deg.min() < 0:
            raise ValueError("expected deg >= 0")
        x, y = points_to_fit(x, y)
        terms = _np.arange(int(deg) + 1) if deg.ndim == 0 else _np.sort(deg)
        top = int(terms[-1])
        columns = self.vander(x, top)
        if deg.ndim:
            columns = columns[:, _core.array(terms)]
        left, right = columns, y
        if w is not None:
            w = _core.asarray(w) + 0.0
            if w.ndim != 1:
                raise TypeError("expected 1D vector for w")
            if len(x) != len(w):
                raise TypeError("expected x and w to have same length")
            left = left * w[:, None]
            right = right * (w[:, None] if y.ndim == 2 else w)
        if rcond is None:
            rcond = len(x) * float(_np.finfo(x.dtype).eps)
        norms = _core.sqrt((_core.absolute(left) ** 2).sum(axis=0))
        norms = _core.where(norms == 0, 1, norms)
        c, residuals, rank, s = lstsq(left / norms, right, rcond)
        c = (c.T / norms).T
        if deg.ndim:
            whole = _core.zeros((top + 1, *c.shape[1:]), dtype=c.dtype)
            whole[_core.array(terms)] = c
            c = whole
        if rank != len(terms) and not full:
            warnings.warn(
                "The fit may be poorly conditioned", _np.exceptions.RankWarning, stacklevel=3
            )
        return (c, [residuals, rank, s, rcond]) if full else c

    def gauss(self, deg, total):
        """Nodes and weights of the Gauss quadrature with deg nodes, the weights of sum `total`.

        The nodes are the companion's eigenvalues after one Newton step; the weights are 1 / (p_(n-1) p_n')
        of the orthonormal polynomials, up to a factor (Golub and Welsch, 1969).
        """
        from ..linalg import eigvalsh

        degree = quadrature_degree(deg)
        x = eigvalsh(self.companion([0.0] * degree + [1.0]))
        value, slope, _ = self._orthonormal(x, degree)
        x = x - value / slope
        _, slope, below = self._orthonormal(x, degree)
        w = 1 / (below / _core.absolute(below).max() * (slope / _core.absolute(slope).max()))
        if not self.mid(1.0):  # symmetric
            x, w = (x - x[::-1]) / 2, (w + w[::-1]) / 2
        return x, w * (total / w.sum())

    def _orthonormal(self, x, degree):
        """(p_n, p_n', p_(n-1)) at x, n = degree, up to one factor."""
        below = below_slope = slope = x * 0
        value, width = below + 1, 0.0
        for n in range(degree):
            next_width = abs(self.up(float(n)) * self.down(n + 1.0)) ** 0.5
            away = x - self.mid(float(n))
            next_slope = (value + away * slope - width * below_slope) / next_width
            value, below = (away * value - width * below) / next_width, value
            slope, below_slope, width = next_slope, slope, next_width
        return value, slope, below


def quadrature_degree(deg):
    """deg as a positive int."""
    try:
        degree = operator.index(deg)
    except TypeError as error:
        raise TypeError(f"deg must be an integer, received {deg}") from error
    if degree <= 0:
        raise ValueError("deg must be a positive integer")
    return degree


def whole_degree(deg):
    """deg as an int of at least 0."""
    deg = _np.asarray(deg)
    if deg.ndim > 0 or deg.dtype.kind not in "iu":
        raise TypeError("deg must be an int")
    if deg < 0:
        raise ValueError("expected deg >= 0")
    return int(deg)


def _not_an_integer(deg):
    raise TypeError(f"deg must be an integer, received {deg}")


def _shifted(c):
    """Coefficients of powers of x times x."""
    result = _core.zeros(len(c) + 1, dtype=c.dtype)
    result[1:] = c
    return result


class Series:
    """Coefficients in a Clenshaw sum over series."""

    def __init__(self, c):
        self.c = c


# The public functions: names after the prefix, which the family's methods have.
_FUNCTIONS = [
    "line", "add", "sub", "mulx", "mul", "div", "val", "der", "int", "fromroots", "vander", "fit", "roots",
    "companion",
]  # fmt: skip


def functions(family, prefix, module):
    """The module-level functions of a family, by name: chebadd, chebval2d, ..."""
    made = {}

    def define(name, function):
        call = hosted(function)
        call.__name__ = call.__qualname__ = prefix + name
        call.__module__ = module
        call.__doc__ = text_of(name, prefix, module, family.name)
        made[prefix + name] = call

    for name in _FUNCTIONS:
        define(name, getattr(family, name))

    def pow(c, pow, maxpower=family.maxpower):
        return family.pow(c, pow, maxpower)

    def val2d(x, y, c):
        return family.nd_val(c, x, y)

    def val3d(x, y, z, c):
        return family.nd_val(c, x, y, z)

    def valnd(pts, c):
        return family.nd_val(c, *pts)

    def grid2d(x, y, c):
        return family.grid(c, x, y)

    def grid3d(x, y, z, c):
        return family.grid(c, x, y, z)

    def vander2d(x, y, deg):
        return family.nd_vander((x, y), deg)

    def vander3d(x, y, z, deg):
        return family.nd_vander((x, y, z), deg)

    for function in (pow, val2d, val3d, valnd, grid2d, grid3d, vander2d, vander3d):
        define(function.__name__, function)
    return made
