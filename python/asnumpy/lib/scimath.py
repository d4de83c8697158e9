"""Functions that give complex results where the real ones are undefined."""

from .. import _core
from .._support import host_all as _host_all

__all__ = ["sqrt", "log", "log2", "logn", "log10", "power", "arccos", "arcsin", "arctanh"]


def _to_complex(x):
    x = _core.asarray(x)
    if x.dtype.kind == "c":
        return x
    return x.astype("F" if x.dtype.char in "bBhHf" else "D")


def _if_below(x, limit=0):
    x = _core.asarray(x)
    return _to_complex(x) if x.dtype.kind != "c" and bool(_core.any(x < limit)) else x


def _if_beyond_one(x):
    x = _core.asarray(x)
    return _to_complex(x) if x.dtype.kind != "c" and bool(_core.any(_core.absolute(x) > 1)) else x


def sqrt(x):
    """Square root."""
    return _core.sqrt(_if_below(x))


def log(x):
    """Natural logarithm."""
    return _core.log(_if_below(x))


def log10(x):
    """Base-10 logarithm."""
    return _core.log10(_if_below(x))


def log2(x):
    """Base-2 logarithm."""
    return _core.log2(_if_below(x))


def logn(n, x):
    """Logarithm in base n."""
    return _core.log(_if_below(x)) / _core.log(_if_below(n))


def power(x, p):
    """x ** p; a negative integer p gives floats."""
    x, p = _if_below(x), _core.asarray(p)
    if p.dtype.kind in "iu" and bool(_core.any(p < 0)):
        p = p * 1.0
    return _core.power(x, p)


def arccos(x):
    """Inverse cosine."""
    return _core.arccos(_if_beyond_one(x))


def arcsin(x):
    """Inverse sine."""
    return _core.arcsin(_if_beyond_one(x))


def arctanh(x):
    """Inverse hyperbolic tangent."""
    return _core.arctanh(_if_beyond_one(x))


_host_all(globals(), __name__)
