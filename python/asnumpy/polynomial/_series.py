"""ABCPolyBase: series of a family over a domain, as objects with arithmetic, calculus and printing."""

import numbers as _numbers
import operator as _operator

import numpy as _np

from .. import _core
from . import polyutils as pu

__all__ = ["ABCPolyBase"]


class ABCPolyBase:
    """A series in a basis: coefficients, the domain of x, the window that the domain is mapped to, a symbol.

    Subclasses set `_family` and the class attributes domain and window. Series of one class with equal
    domain, window and symbol can be added, multiplied, divided (//, %, divmod) and raised to whole powers,
    with sequences and numbers as well. Calling one evaluates it.
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
        """Whether the coefficients are the same."""
        return self.coef.shape == other.coef.shape and bool((self.coef == other.coef).all())

    def has_samedomain(self, other):
        """Whether the domains are the same."""
        return bool((self.domain == other.domain).all())

    def has_samewindow(self, other):
        """Whether the windows are the same."""
        return bool((self.window == other.window).all())

    def has_sametype(self, other):
        """Whether other is of this class."""
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
        """(x, y) at n points spread over the domain."""
        from .. import linspace

        domain = self.domain if domain is None else domain
        x = linspace(domain[0], domain[1], n)
        return x, self(x)

    def mapparms(self):
        """(offset, scale) of the line from the domain to the window."""
        return pu.mapparms(self.domain, self.window)

    # ---- coefficients

    def copy(self):
        """A copy."""
        return self._made(self.coef)

    def degree(self):
        """The number of coefficients less one."""
        return len(self) - 1

    def cutdeg(self, deg):
        """The series up to degree deg."""
        return self.truncate(deg + 1)

    def trim(self, tol=0):
        """The series without its trailing coefficients of absolute value tol and below."""
        return self._made(pu.trimcoef(self.coef, tol))

    def truncate(self, size):
        """The first `size` coefficients."""
        count = int(size)
        if count != size or count < 1:
            raise ValueError("size must be a positive integer")
        return self._made(self.coef[:count])

    def convert(self, domain=None, kind=None, window=None):
        """The same polynomial over another domain or window, or as another class."""
        kind = self.__class__ if kind is None else kind
        domain = kind.domain if domain is None else domain
        window = kind.window if window is None else window
        return self(kind.identity(domain, window=window, symbol=self.symbol))

    # ---- calculus

    def integ(self, m=1, k=[], lbnd=None):  # noqa: B006 - NumPy's signature
        """The m-th integral, with constants k and the lower bound lbnd."""
        off, scl = self.mapparms()
        lbnd = 0 if lbnd is None else off + scl * lbnd
        return self._made(self._family.int(self.coef, m, k, lbnd, 1.0 / scl))

    def deriv(self, m=1):
        """The m-th derivative."""
        _, scl = self.mapparms()
        return self._made(self._family.der(self.coef, m, scl))

    def roots(self):
        """The roots, mapped to the domain."""
        return pu.mapdomain(self._family.roots(self.coef), self.window, self.domain)

    # ---- makers

    @classmethod
    def fit(cls, x, y, deg, domain=None, rcond=None, full=False, w=None, window=None, symbol="x"):
        """The least-squares series of degree deg through the points (x, y), with weights w of y.

        domain: None for the smallest that holds x, [] for the class's. With full also [residuals, rank,
        singular values, rcond].
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
        """The series of the product of (x - root)."""
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
        """The series of x."""
        domain = cls.domain if domain is None else domain
        window = cls.window if window is None else window
        off, scl = pu.mapparms(window, domain)
        return cls(cls._family.line(off, scl), domain, window, symbol)

    @classmethod
    def basis(cls, deg, domain=None, window=None, symbol="x"):
        """The basis polynomial of degree deg."""
        domain = cls.domain if domain is None else domain
        window = cls.window if window is None else window
        degree = _operator.index(deg)
        if degree != deg or degree < 0:
            raise ValueError("deg must be non-negative integer")
        return cls([0] * degree + [1], domain, window, symbol)

    @classmethod
    def cast(cls, series, domain=None, window=None):
        """A series of another class as one of this."""
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
