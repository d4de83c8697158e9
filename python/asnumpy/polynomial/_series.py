"""ABCPolyBase: series of a family over a domain, as objects with arithmetic, calculus and printing."""

import numbers as _numbers

import numpy as _np

from .. import _core
from . import polyutils as pu

__all__ = ["ABCPolyBase"]


class ABCPolyBase:
    """The base of the classes of series: coefficients in a basis, over a domain.

    Series of one class with equal domain, window and symbol can be added, multiplied, divided (//, %,
    divmod) and raised to whole powers, with sequences and numbers as well. Calling one evaluates it.

    Parameters
    ----------
    coef : array_like
        The coefficients, lowest degree first.
    domain, window : pair of scalars, optional
        The domain is mapped to the window linearly; by default the class's.
    symbol : str
        The name of the variable in text.

    Notes
    -----
    Class attributes: domain, window, maxpower (the largest power that ** takes), basis_name (the letter
    of the basis in text).

    Examples
    --------
    >>> import asnumpy as np
    >>> isinstance(np.polynomial.Legendre([1, 2]), np.polynomial.ABCPolyBase)
    True
    """

    __hash__ = None
    __array_ufunc__ = None
    maxpower = 100
    basis_name = None
    domain = None
    window = None
    _use_unicode = True

    def __init__(self, coef, domain=None, window=None, symbol="x"):
        (self.coef,) = pu.as_series([coef], trim=False)
        for name, value in (("domain", domain), ("window", window)):
            if value is not None:
                (value,) = pu.as_series([value], trim=False)
                if len(value) != 2:
                    raise ValueError(f"{name.capitalize()} has wrong number of elements.")
                setattr(self, name, value)
        if not isinstance(symbol, str):
            raise TypeError("Symbol must be a string")
        if not symbol.isidentifier():
            raise ValueError("Symbol string must be a valid Python identifier")
        self._symbol = symbol

    @property
    def symbol(self):
        """The name of the variable in text."""
        return self._symbol

    def _made(self, coef, **changed):
        parts = {"domain": self.domain, "window": self.window, "symbol": self.symbol, **changed}
        return self.__class__(coef, **parts)

    # ---- comparison

    def has_samecoef(self, other):
        """Whether the coefficients of another series are the same.

        Parameters
        ----------
        other : series
            The other one.

        Returns
        -------
        bool

        Examples
        --------
        >>> import asnumpy as np
        >>> p = np.polynomial.Polynomial([1, 2, 3])
        >>> p.has_samecoef(p.copy())
        True
        """
        return self.coef.shape == other.coef.shape and bool((self.coef == other.coef).all())

    def has_samedomain(self, other):
        """Whether the domain of another series is the same.

        Parameters
        ----------
        other : series
            The other one.

        Returns
        -------
        bool

        Examples
        --------
        >>> import asnumpy as np
        >>> p = np.polynomial.Polynomial([1, 2, 3])
        >>> p.has_samedomain(np.polynomial.Polynomial([1], domain=[0, 1]))
        False
        """
        return bool((self.domain == other.domain).all())

    def has_samewindow(self, other):
        """Whether the window of another series is the same.

        Parameters
        ----------
        other : series
            The other one.

        Returns
        -------
        bool

        Examples
        --------
        >>> import asnumpy as np
        >>> p = np.polynomial.Polynomial([1, 2, 3])
        >>> p.has_samewindow(p.copy())
        True
        """
        return bool((self.window == other.window).all())

    def has_sametype(self, other):
        """Whether another object is a series of this class.

        Parameters
        ----------
        other : object
            The other one.

        Returns
        -------
        bool

        Examples
        --------
        >>> import asnumpy as np
        >>> p = np.polynomial.Polynomial([1, 2, 3])
        >>> p.has_sametype(np.polynomial.Legendre([1]))
        False
        """
        return isinstance(other, self.__class__)

    def __eq__(self, other):
        return (
            isinstance(other, self.__class__)
            and self.has_samedomain(other)
            and self.has_samewindow(other)
            and self.has_samecoef(other)
            and self.symbol == other.symbol
        )

    def __ne__(self, other):
        return not self.__eq__(other)

    # ---- arithmetic

    def _operand(self, other):
        """The coefficients of a compatible series, or other itself."""
        if not isinstance(other, ABCPolyBase):
            return other
        if not isinstance(other, self.__class__):
            raise TypeError("Polynomial types differ")
        if not self.has_samedomain(other):
            raise TypeError("Domains differ")
        if not self.has_samewindow(other):
            raise TypeError("Windows differ")
        if self.symbol != other.symbol:
            raise ValueError("Polynomial symbols differ")
        return other.coef

    def _combined(self, other, function, swapped=False):
        """function of both, or NotImplemented for what is no series; division by zero passes."""
        coef = self._operand(other)
        try:
            result = function(coef, self.coef) if swapped else function(self.coef, coef)
        except ZeroDivisionError:
            raise
        except Exception:
            return NotImplemented
        if isinstance(result, tuple):
            return tuple(self._made(c) for c in result)
        return self._made(result)

    def __neg__(self):
        return self._made(-self.coef)

    def __pos__(self):
        return self

    def __add__(self, other):
        return self._combined(other, self._family.add)

    def __radd__(self, other):
        return self._combined(other, self._family.add, swapped=True)

    def __sub__(self, other):
        return self._combined(other, self._family.sub)

    def __rsub__(self, other):
        return self._combined(other, self._family.sub, swapped=True)

    def __mul__(self, other):
        return self._combined(other, self._family.mul)

    def __rmul__(self, other):
        return self._combined(other, self._family.mul, swapped=True)

    def __truediv__(self, other):
        if not isinstance(other, _numbers.Number) or isinstance(other, bool):
            raise TypeError(f"unsupported types for true division: '{type(self)}', '{type(other)}'")
        return self.__floordiv__(other)

    def __rtruediv__(self, other):
        return NotImplemented

    def __divmod__(self, other):
        return self._combined(other, self._family.div)

    def __rdivmod__(self, other):
        return self._combined(other, self._family.div, swapped=True)

    def __floordiv__(self, other):
        both = self.__divmod__(other)
        return both if both is NotImplemented else both[0]

    def __rfloordiv__(self, other):
        both = self.__rdivmod__(other)
        return both if both is NotImplemented else both[0]

    def __mod__(self, other):
        both = self.__divmod__(other)
        return both if both is NotImplemented else both[1]

    def __rmod__(self, other):
        both = self.__rdivmod__(other)
        return both if both is NotImplemented else both[1]

    def __pow__(self, other):
        return self._made(self._family.pow(self.coef, other, maxpower=self.maxpower))

    # ---- values

    def __call__(self, arg):
        return self._family.val(pu.mapdomain(arg, self.domain, self.window), self.coef)

    def __iter__(self):
        return iter(self.coef)

    def __len__(self):
        return len(self.coef)

    def linspace(self, n=100, domain=None):
        """Evenly spaced points of the domain, and the values there.

        Parameters
        ----------
        n : int
            How many.
        domain : pair of scalars, optional
            In place of the series' own.

        Returns
        -------
        x, y : ndarray, shape (n,)

        Examples
        --------
        >>> import asnumpy as np
        >>> p = np.polynomial.Polynomial([1, 2, 3])
        >>> x, y = p.linspace(3)
        >>> x, y
        (array([-1.,  0.,  1.]), array([2., 1., 6.]))
        """
        from .. import linspace

        domain = self.domain if domain is None else domain
        x = linspace(domain[0], domain[1], n)
        return x, self(x)

    def mapparms(self):
        """The line from the domain to the window.

        Returns
        -------
        off, scl : scalar
            x goes to off + scl * x.

        Examples
        --------
        >>> import asnumpy as np
        >>> off, scl = np.polynomial.Polynomial([1, 2], domain=[0, 4]).mapparms()
        >>> float(off), float(scl)
        (-1.0, 0.5)
        """
        return pu.mapparms(self.domain, self.window)

    # ---- coefficients

    def copy(self):
        """A copy of the series.

        Returns
        -------
        series

        Examples
        --------
        >>> import asnumpy as np
        >>> p = np.polynomial.Polynomial([1, 2, 3])
        >>> p.copy() == p, p.copy() is p
        (True, False)
        """
        return self._made(self.coef)

    def degree(self):
        """The degree: the number of coefficients less one.

        Returns
        -------
        int
            A last coefficient of 0 counts.

        Examples
        --------
        >>> import asnumpy as np
        >>> p = np.polynomial.Polynomial([1, 2, 3])
        >>> p.degree()
        2
        """
        return len(self) - 1

    def cutdeg(self, deg):
        """The series without the terms above a degree.

        Parameters
        ----------
        deg : int
            The degree, not negative.

        Returns
        -------
        series

        Raises
        ------
        ValueError
            deg is negative or no integer.

        Examples
        --------
        >>> import asnumpy as np
        >>> p = np.polynomial.Polynomial([1, 2, 3])
        >>> p.cutdeg(1).coef
        array([1., 2.])
        """
        return self.truncate(deg + 1)

    def trim(self, tol=0):
        """The series without its trailing coefficients that are nearly 0.

        Parameters
        ----------
        tol : float
            Absolute values up to this count as 0.

        Returns
        -------
        series

        Raises
        ------
        ValueError
            tol is negative.

        Examples
        --------
        >>> import asnumpy as np
        >>> np.polynomial.Polynomial([1, 2, 1e-9]).trim(1e-6).coef
        array([1., 2.])
        """
        return self._made(pu.trimcoef(self.coef, tol))

    def truncate(self, size):
        """The series of the first coefficients.

        Parameters
        ----------
        size : int
            How many, 1 at least.

        Returns
        -------
        series

        Raises
        ------
        ValueError
            size is not positive or no integer.

        Examples
        --------
        >>> import asnumpy as np
        >>> p = np.polynomial.Polynomial([1, 2, 3])
        >>> p.truncate(2).coef
        array([1., 2.])
        """
        count = int(size)
        if count != size or count < 1:
            raise ValueError("size must be a positive integer")
        return self._made(self.coef[:count])

    def convert(self, domain=None, kind=None, window=None):
        """The same polynomial over another domain or window, or as a series of another class.

        Parameters
        ----------
        domain : pair of scalars, optional
            By default that of kind.
        kind : class, optional
            By default that of the series.
        window : pair of scalars, optional
            By default that of kind.

        Returns
        -------
        series of class kind

        Examples
        --------
        >>> import asnumpy as np
        >>> p = np.polynomial.Polynomial([1, 2, 3])
        >>> p.convert(kind=np.polynomial.Chebyshev).coef
        array([2.5, 2. , 1.5])
        """
        kind = self.__class__ if kind is None else kind
        domain = kind.domain if domain is None else domain
        window = kind.window if window is None else window
        return self(kind.identity(domain, window=window, symbol=self.symbol))

    # ---- calculus

    def integ(self, m=1, k=[], lbnd=None):  # noqa: B006 - NumPy's signature
        """The m-th integral.

        Parameters
        ----------
        m : int
            How often it is integrated.
        k : scalar or list of m scalars
            The integrals' values at lbnd, in turn; those that are missing are 0.
        lbnd : scalar, optional
            Where they have them, by default 0 of the window.

        Returns
        -------
        series

        Raises
        ------
        ValueError
            m is negative, or there are more than m constants.

        Examples
        --------
        >>> import asnumpy as np
        >>> p = np.polynomial.Polynomial([1, 2, 3])
        >>> p.integ(k=5).coef
        array([5., 1., 1., 1.])
        """
        off, scl = self.mapparms()
        lbnd = 0 if lbnd is None else off + scl * lbnd
        return self._made(self._family.int(self.coef, m, k, lbnd, 1.0 / scl))

    def deriv(self, m=1):
        """The m-th derivative.

        Parameters
        ----------
        m : int
            How often it is derived.

        Returns
        -------
        series

        Raises
        ------
        ValueError
            m is negative.

        Examples
        --------
        >>> import asnumpy as np
        >>> p = np.polynomial.Polynomial([1, 2, 3])
        >>> p.deriv().coef
        array([2., 6.])
        """
        _, scl = self.mapparms()
        return self._made(self._family.der(self.coef, m, scl))

    def roots(self):
        """The roots, in the domain's scale.

        Returns
        -------
        ndarray
            Less exact the farther they are from the domain.

        Examples
        --------
        >>> import asnumpy as np
        >>> np.allclose(np.polynomial.Polynomial([6, -5, 1]).roots(), [2, 3])
        True
        """
        return pu.mapdomain(self._family.roots(self.coef), self.window, self.domain)

    # ---- makers

    @classmethod
    def fit(cls, x, y, deg, domain=None, rcond=None, full=False, w=None, window=None, symbol="x"):
        """The series that fits points best, by least squares.

        Parameters
        ----------
        x : array_like, shape (m,)
            Where the points are.
        y : array_like, shape (m,)
            Their values.
        deg : int or sequence of ints
            The degree, or the degrees that are used.
        domain : pair of scalars, optional
            By default the smallest that holds x; []: the class's.
        rcond : float, optional
            Singular values below rcond times the largest do not count; by default m times epsilon.
        full : bool
            Gives [residuals, rank, singular values, rcond] as well.
        w : array_like, shape (m,), optional
            Weights of the differences.
        window : pair of scalars, optional
            By default the class's.
        symbol : str
            The name of the variable in text.

        Returns
        -------
        series, or (series, list)

        Raises
        ------
        TypeError
            Arrays of other dimensions, no points, or different lengths.
        ValueError
            A degree is negative.

        Examples
        --------
        >>> import asnumpy as np
        >>> p = np.polynomial.Polynomial.fit([0, 1, 2, 3], [1, 3, 5, 7], 1)
        >>> np.allclose(p.convert().coef, [1, 2])
        True
        """
        if domain is None:
            domain = pu.getdomain(x)
            if domain[0] == domain[1]:
                domain = domain + _core.array([-1.0, 1.0])
        elif isinstance(domain, list) and len(domain) == 0:
            domain = cls.domain
        window = cls.window if window is None else window
        mapped = pu.mapdomain(_core.asarray(x), domain, window)
        result = cls._family.fit(mapped, y, deg, w=w, rcond=rcond, full=full)
        if full:
            coef, status = result
            return cls(coef, domain=domain, window=window, symbol=symbol), status
        return cls(result, domain=domain, window=window, symbol=symbol)

    @classmethod
    def fromroots(cls, roots, domain=[], window=None, symbol="x"):  # noqa: B006 - NumPy's signature
        """The series of the product of all (x - root).

        Parameters
        ----------
        roots : array_like
            The roots.
        domain : pair of scalars, optional
            []: the class's; None: the smallest that holds the roots.
        window : pair of scalars, optional
            By default the class's.
        symbol : str
            The name of the variable in text.

        Returns
        -------
        series

        Examples
        --------
        >>> import asnumpy as np
        >>> np.polynomial.Polynomial.fromroots([2, 3]).coef
        array([ 6., -5.,  1.])
        """
        (roots,) = pu.as_series([roots], trim=False)
        if domain is None:
            domain = pu.getdomain(roots)
        elif isinstance(domain, list) and len(domain) == 0:
            domain = cls.domain
        window = cls.window if window is None else window
        off, scl = pu.mapparms(domain, window)
        coef = cls._family.fromroots(off + scl * roots) / scl ** len(roots)
        return cls(coef, domain=domain, window=window, symbol=symbol)

    @classmethod
    def identity(cls, domain=None, window=None, symbol="x"):
        """The series whose value at x is x.

        Parameters
        ----------
        domain : pair of scalars, optional
            By default the class's.
        window : pair of scalars, optional
            By default the class's.
        symbol : str
            The name of the variable in text.

        Returns
        -------
        series

        Examples
        --------
        >>> import asnumpy as np
        >>> float(np.polynomial.Chebyshev.identity(domain=[0, 4])(1.5))
        1.5
        """
        domain = cls.domain if domain is None else domain
        window = cls.window if window is None else window
        off, scl = pu.mapparms(window, domain)
        return cls(cls._family.line(off, scl), domain, window, symbol)

    @classmethod
    def basis(cls, deg, domain=None, window=None, symbol="x"):
        """The polynomial of the basis of a degree, as a series.

        Parameters
        ----------
        deg : int
            The degree, not negative.
        domain : pair of scalars, optional
            By default the class's.
        window : pair of scalars, optional
            By default the class's.
        symbol : str
            The name of the variable in text.

        Returns
        -------
        series

        Raises
        ------
        ValueError
            deg is negative.

        Examples
        --------
        >>> import asnumpy as np
        >>> np.polynomial.Legendre.basis(2).coef
        array([0., 0., 1.])
        """
        domain = cls.domain if domain is None else domain
        window = cls.window if window is None else window
        degree = int(deg)
        if degree != deg or degree < 0:
            raise ValueError("deg must be non-negative integer")
        return cls([0] * degree + [1], domain, window, symbol)

    @classmethod
    def cast(cls, series, domain=None, window=None):
        """A series of another class as one of this class.

        Parameters
        ----------
        series : series
            The other one.
        domain : pair of scalars, optional
            By default the class's.
        window : pair of scalars, optional
            By default the class's.

        Returns
        -------
        series

        Examples
        --------
        >>> import asnumpy as np
        >>> np.polynomial.Chebyshev.cast(np.polynomial.Polynomial([1, 2, 3])).coef
        array([2.5, 2. , 1.5])
        """
        domain = cls.domain if domain is None else domain
        window = cls.window if window is None else window
        return series.convert(domain, cls, window)

    # ---- text: NumPy's own, of the same series on the host

    def _on_host(self):
        cls = getattr(_np.polynomial, type(self).__name__, None)
        if cls is None:  # a subclass of a user
            base = next(b for b in type(self).__mro__ if hasattr(_np.polynomial, b.__name__))
            cls = getattr(_np.polynomial, base.__name__)
        series = cls(
            _np.asarray(self.coef), _np.asarray(self.domain), _np.asarray(self.window), self.symbol
        )
        own = ("coef", "domain", "window", "_symbol")
        series.__dict__.update({k: v for k, v in self.__dict__.items() if k not in own})
        series._use_unicode = self._use_unicode
        return series

    def __repr__(self):
        return repr(self._on_host())

    def __str__(self):
        return str(self._on_host())

    def __format__(self, fmt_str):
        return format(self._on_host(), fmt_str)

    def _repr_latex_(self):
        return self._on_host()._repr_latex_()

    def __getstate__(self):
        state = self.__dict__.copy()
        for name in ("coef", "domain", "window"):
            state[name] = _np.asarray(getattr(self, name))
        return state

    def __setstate__(self, dict):
        self.__dict__.update(dict)
        for name in ("coef", "domain", "window"):
            self.__dict__[name] = _core.array(dict[name])
