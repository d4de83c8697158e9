"""Polynomials by their coefficients, highest power first."""

import functools
import warnings

import numpy as _np

from . import _core
from ._core import asarray, hstack
from ._joining import atleast_1d


def _coefficients(p):
    return p.coeffs if isinstance(p, poly1d) else atleast_1d(asarray(p))


def _like(result, *sources):
    return poly1d(result) if any(isinstance(s, poly1d) for s in sources) else result


def poly(seq_of_zeros):
    """The coefficients of the polynomial that has given roots, or of a matrix's characteristic one.

    Parameters
    ----------
    seq_of_zeros : array_like, shape (n,) or (n, n)
        The roots, or a matrix, whose eigenvalues are the roots.

    Returns
    -------
    ndarray, shape (n + 1,)
        Highest power first, the first is 1; real where roots come in conjugate pairs.

    Raises
    ------
    ValueError
        A matrix that is not square, or more dimensions.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.poly([2, 3])
    array([ 1., -5.,  6.])
    """
    zeros = atleast_1d(asarray(seq_of_zeros))
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] and zeros.shape[0]:
        from .linalg import eigvals

        zeros = eigvals(zeros)
    elif zeros.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if len(zeros) == 0:
        return 1.0
    dtype = zeros.dtype if zeros.dtype.char in "fdFD" else _np.dtype(float)
    zeros = zeros.astype(dtype, copy=False)
    a = _core.ones((1,), dtype=dtype)
    from ._core import convolve

    for zero in zeros:
        a = convolve(a, _core.array([1, -zero], dtype=dtype), mode="full")
    if a.dtype.kind == "c":
        host = _np.asarray(zeros)
        if _np.all(_np.sort(host) == _np.sort(host.conjugate())):
            a = a.real.copy()
    return a


def roots(p):
    """The roots of a polynomial: the eigenvalues of its companion matrix.

    Parameters
    ----------
    p : array_like, shape (n + 1,)
        The coefficients, highest power first.

    Returns
    -------
    ndarray
        complex128 where one is not real.

    Raises
    ------
    ValueError
        p has not one dimension.
    LinAlgError
        A coefficient is not finite.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.sort(np.roots([1, -5, 6])).round(6)
    array([2., 3.])
    """
    p = atleast_1d(asarray(p))
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    where = p.nonzero()[0]
    if len(where) == 0:
        return _core.array([])
    trailing = len(p) - int(where[-1]) - 1
    p = p[int(where[0]) : int(where[-1]) + 1]
    if p.dtype.kind not in "fc":
        p = p.astype(float)
    n = len(p)
    if n > 1:
        from ._triangles import diag

        a = diag(_core.ones((n - 2,), p.dtype), -1)
        a[0, :] = -p[1:] / p[0]
        found = _core._linalg_eig(a, False, True)
    else:
        found = _core.array([])
    return hstack((found, _core.zeros(trailing, found.dtype)))


def polyval(p, x):
    """The value of a polynomial, by Horner's rule.

    Parameters
    ----------
    p : array_like or poly1d
        The coefficients, highest power first.
    x : array_like or poly1d
        Where; a polynomial is put in the place of the variable.

    Returns
    -------
    ndarray, scalar or poly1d
        Of x's shape.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polyval([3, 2, 5], [0, 1, 2])
    array([ 5, 10, 21])
    """
    p = _coefficients(p)
    if isinstance(x, poly1d):
        y = poly1d(0)
    else:
        x = _core.asanyarray(x)
        y = _core.zeros_like(x)
    for c in p:
        y = y * x + c
    return y


def _aligned(a1, a2):
    a1, a2 = _coefficients(a1), _coefficients(a2)
    width = max(len(a1), len(a2))

    def grow(a):
        return hstack((_core.zeros(width - len(a), a.dtype), a)) if len(a) < width else a

    return grow(a1), grow(a2)


def polyadd(a1, a2):
    """The sum of two polynomials.

    Parameters
    ----------
    a1, a2 : array_like or poly1d
        The coefficients, highest power first.

    Returns
    -------
    ndarray or poly1d
        poly1d where one of them is.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polyadd([1, 2], [3, 4, 5])
    array([3, 5, 7])
    """
    x, y = _aligned(a1, a2)
    return _like(x + y, a1, a2)


def polysub(a1, a2):
    """The difference of two polynomials.

    Parameters
    ----------
    a1, a2 : array_like or poly1d
        The coefficients, highest power first.

    Returns
    -------
    ndarray or poly1d
        poly1d where one of them is.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polysub([1, 2], [3, 4, 5])
    array([-3, -3, -3])
    """
    x, y = _aligned(a1, a2)
    return _like(x - y, a1, a2)


def polymul(a1, a2):
    """The product of two polynomials.

    Parameters
    ----------
    a1, a2 : array_like or poly1d
        The coefficients, highest power first.

    Returns
    -------
    ndarray or poly1d
        poly1d where one of them is.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polymul([1, 2], [1, 3])
    array([1, 5, 6])
    """
    from ._core import convolve

    return _like(convolve(poly1d(a1).coeffs, poly1d(a2).coeffs), a1, a2)


def polydiv(u, v):
    """The quotient and the remainder of two polynomials.

    Parameters
    ----------
    u, v : array_like or poly1d
        Dividend and divisor: coefficients, highest power first.

    Returns
    -------
    q, r : ndarray or poly1d
        u = q v + r, r of lower degree than v.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polydiv([1, 5, 6], [1, 2])
    (array([1., 3.]), array([0.]))
    """
    wrap = isinstance(u, poly1d) or isinstance(v, poly1d)
    u, v = _coefficients(u) + 0.0, _coefficients(v) + 0.0
    w = u[0] + v[0]
    m, n = len(u) - 1, len(v) - 1
    scale = 1.0 / v[0]
    q = _core.zeros((max(m - n + 1, 1),), w.dtype)
    r = u.astype(w.dtype)
    for k in range(m - n + 1):
        d = scale * r[k]
        q[k] = d
        r[k : k + n + 1] -= d * v
    while bool(_np.allclose(float(abs(r[0])), 0, rtol=1e-14)) and r.shape[-1] > 1:
        r = r[1:]
    return (poly1d(q), poly1d(r)) if wrap else (q, r)


def polyder(p, m=1):
    """The m-th derivative of a polynomial.

    Parameters
    ----------
    p : array_like or poly1d
        The coefficients, highest power first.
    m : int
        How often it is derived.

    Returns
    -------
    ndarray or poly1d

    Raises
    ------
    ValueError
        m is negative.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polyder([3, 2, 5])
    array([6, 2])
    """
    m = int(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    y = _coefficients(p)
    for _ in range(m):
        n = len(y) - 1
        y = y[:-1] * _core.arange(n, 0, -1)
    return _like(y, p)


def polyint(p, m=1, k=None):
    """The m-th antiderivative of a polynomial.

    Parameters
    ----------
    p : array_like or poly1d
        The coefficients, highest power first.
    m : int
        How often it is integrated.
    k : scalar or list of m scalars, optional
        The constants, by default 0.

    Returns
    -------
    ndarray or poly1d

    Raises
    ------
    ValueError
        m is negative, or k has fewer constants.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polyint([6, 2], k=5)
    array([3., 2., 5.])
    """
    m = int(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    k = _core.zeros(m, float) if k is None else atleast_1d(asarray(k))
    if len(k) == 1 and m > 1:
        k = k[0] * _core.ones(m, float)
    if len(k) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    y = _coefficients(p)
    for i in range(m):
        y = hstack((_core.divide(y, _core.arange(len(y), 0, -1)), k[i : i + 1]))
    return _like(y, p)


def points_to_fit(x, y):
    """x (m,) and y (m,) or (m, k) as floating arrays; TypeError where they are no points."""
    x, y = asarray(x) + 0.0, asarray(y) + 0.0
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    return x, y


def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    """The polynomial of a degree that fits points best, by least squares.

    Parameters
    ----------
    x : array_like, shape (m,)
        Where the points are.
    y : array_like, shape (m,) or (m, k)
        Their values; columns are fitted one by one.
    deg : int
        The degree.
    rcond : float, optional
        Singular values below rcond times the largest do not count; by default m times epsilon.
    full : bool
        Gives residuals, rank, singular values and rcond as well.
    w : array_like, shape (m,), optional
        Weights of the differences.
    cov : bool or 'unscaled'
        Gives the covariance of the coefficients as well, scaled by the residuals unless 'unscaled'.

    Returns
    -------
    ndarray, shape (deg + 1,) or (deg + 1, k), or a tuple that begins with it
        Highest power first.

    Raises
    ------
    TypeError
        Arrays of other dimensions, no points, or different lengths.
    ValueError
        deg is negative, or there are too few points for cov.

    Notes
    -----
    A RankWarning says that the points do not determine the polynomial.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.polyfit([0, 1, 2, 3], [1, 3, 5, 7], 1).round(6)
    array([2., 1.])
    """
    from ._core import outer
    from ._creation import vander
    from .linalg import inv, lstsq

    order = int(deg) + 1
    if deg < 0:
        raise ValueError("expected deg >= 0")
    x, y = points_to_fit(x, y)
    if rcond is None:
        rcond = len(x) * _np.finfo(x.dtype).eps
    left, right = vander(x, order), y
    if w is not None:
        w = asarray(w) + 0.0
        if w.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if w.shape[0] != y.shape[0]:
            raise TypeError("expected w and y to have the same length")
        left = left * w[:, None]
        right = right * (w[:, None] if right.ndim == 2 else w)
    scale = _core.sqrt((left * left).sum(axis=0))
    left = left / scale
    c, residuals, rank, s = lstsq(left, right, rcond)
    c = (c.T / scale).T
    if rank != order and not full:
        warnings.warn("Polyfit may be poorly conditioned", _np.exceptions.RankWarning, stacklevel=2)
    if full:
        return c, residuals, rank, s, rcond
    if not cov:
        return c
    base = inv(_core.dot(left.T, left)) / outer(scale, scale)
    if cov == "unscaled":
        factor = 1
    elif len(x) <= order:
        raise ValueError(
            "the number of data points must exceed order to scale the covariance matrix"
        )
    else:
        factor = residuals / (len(x) - order)
    if y.ndim == 1:
        return c, base * factor
    return c, base[:, :, None] * factor


class poly1d:
    """A polynomial in one variable, with arithmetic.

    Parameters
    ----------
    c_or_r : array_like
        The coefficients, highest power first, or the roots.
    r : bool
        Whether they are the roots.
    variable : str, optional
        The name of the variable in text, by default x.

    Raises
    ------
    ValueError
        More than one dimension.

    Notes
    -----
    It is called to be evaluated; p[k] is the coefficient of power k. Attributes: c (coef, coeffs,
    coefficients), o (order), r (roots), variable.

    Examples
    --------
    >>> import asnumpy as np
    >>> p = np.poly1d([1, 2, 3])
    >>> p(2), p[0]
    (np.int64(11), np.int64(3))
    >>> p * p
    poly1d([ 1,  4, 10, 12,  9])
    >>> print(p)
       2
    1 x + 2 x + 3
    """

    __hash__ = None

    def __init__(self, c_or_r, r=False, variable=None):
        if isinstance(c_or_r, poly1d):
            self._coeffs = c_or_r._coeffs
            self._variable = variable or c_or_r._variable
            return
        if r:
            c_or_r = poly(c_or_r)
        c = atleast_1d(asarray(c_or_r))
        if c.ndim > 1:
            raise ValueError("Polynomial must be 1d only.")
        where = c.nonzero()[0]
        self._coeffs = c[int(where[0]) :] if len(where) else _core.zeros(1, c.dtype)
        self._variable = "x" if variable is None else variable

    @property
    def coeffs(self):
        """The coefficients, highest power first."""
        return self._coeffs

    @coeffs.setter
    def coeffs(self, value):
        if value is not self._coeffs:
            raise AttributeError("Cannot set attribute")

    c = coef = coefficients = coeffs

    @property
    def variable(self):
        """The name of the variable in text."""
        return self._variable

    @property
    def order(self):
        """The degree."""
        return len(self._coeffs) - 1

    o = order

    @property
    def roots(self):
        """The roots of the polynomial."""
        return roots(self._coeffs)

    r = roots

    def _host(self):
        return _np.poly1d(_np.asarray(self._coeffs), variable=self._variable)

    def __array__(self, t=None, copy=None):
        return _np.array(self._coeffs, dtype=t)

    def __repr__(self):
        return repr(self._host())

    def __str__(self):
        return str(self._host())

    def __len__(self):
        return self.order

    def __call__(self, val):
        return polyval(self, val)

    def __neg__(self):
        return poly1d(-self._coeffs)

    def __pos__(self):
        return self

    def _other(self, other):
        return other if isinstance(other, poly1d) else poly1d(other)

    def __mul__(self, other):
        if _np.isscalar(other):
            return poly1d(self._coeffs * other)
        return poly1d(polymul(self._coeffs, self._other(other)._coeffs))

    def __rmul__(self, other):
        return self * other

    def __add__(self, other):
        return poly1d(polyadd(self._coeffs, self._other(other)._coeffs))

    __radd__ = __add__

    def __sub__(self, other):
        return poly1d(polysub(self._coeffs, self._other(other)._coeffs))

    def __rsub__(self, other):
        return poly1d(polysub(self._other(other)._coeffs, self._coeffs))

    def __pow__(self, val):
        if not _np.isscalar(val) or int(val) != val or val < 0:
            raise ValueError("Power to non-negative integers only.")
        return functools.reduce(lambda p, _: p * self, range(int(val)), poly1d([1]))

    def __truediv__(self, other):
        if _np.isscalar(other):
            return poly1d(self._coeffs / other)
        return polydiv(self, self._other(other))

    def __rtruediv__(self, other):
        return polydiv(self._other(other), self)

    def __eq__(self, other):
        if not isinstance(other, poly1d):
            return NotImplemented
        if self._coeffs.shape != other._coeffs.shape:
            return False
        return bool((self._coeffs == other._coeffs).all())

    def __ne__(self, other):
        return NotImplemented if not isinstance(other, poly1d) else not self == other

    def __getitem__(self, val):
        k = self.order - val
        if val > self.order or val < 0:
            return self._coeffs.dtype.type(0)
        return self._coeffs[k]

    def __setitem__(self, key, val):
        if key < 0:
            raise ValueError("Does not support negative powers.")
        if key > self.order:
            self._coeffs = hstack((_core.zeros(key - self.order, self._coeffs.dtype), self._coeffs))
        self._coeffs[self.order - key] = val

    def __iter__(self):
        return iter(self._coeffs)

    def integ(self, m=1, k=0):
        """The m-th antiderivative.

        Parameters
        ----------
        m : int
            How often it is integrated.
        k : scalar or list of m scalars
            The constants.

        Returns
        -------
        poly1d

        Examples
        --------
        >>> import asnumpy as np
        >>> np.poly1d([6, 2]).integ(k=5)
        poly1d([3., 2., 5.])
        """
        return poly1d(polyint(self._coeffs, m=m, k=k))

    def deriv(self, m=1):
        """The m-th derivative.

        Parameters
        ----------
        m : int
            How often it is derived.

        Returns
        -------
        poly1d

        Examples
        --------
        >>> import asnumpy as np
        >>> np.poly1d([3, 2, 5]).deriv()
        poly1d([6, 2])
        """
        return poly1d(polyder(self._coeffs, m=m))
