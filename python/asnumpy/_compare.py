"""debug.compare: a function's operations on the device, each beside the same one in NumPy.

The function gets arrays (`Probe`) that hand every ufunc and function on: once to asnumpy, and once to NumPy on the same
inputs, taken from the device. So each operation is judged alone: an error does not grow along the way, and the first one
beyond its bound is the culprit. What the function makes itself (np.zeros inside of it) joins where it meets a probe.
"""

import contextlib
import math
import operator
import os
import sys
from typing import NamedTuple

import numpy as _np
from numpy.lib.mixins import NDArrayOperatorsMixin

from . import _core

_ULP_NUMPY = 4.0  # what NumPy's own elementary functions may err by
_ULP_OTHER = 64.0  # of functions without a row, in units of the largest element's last place


class Departure(NamedTuple):
    """An operation beyond its bound, as compare found it.

    Parameters
    ----------
    operation, dtype : str
        What was computed, and in which dtype.
    index : tuple of ints
        The worst element.
    got, expected : scalar
        Its value, and that of the reference.
    ulp, bound : float
        How far apart they are, in ULP of the reference, and how far they may be.
    line : str
        The line of the program.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.debug.Departure._fields[:3]
    ('operation', 'dtype', 'index')
    """

    operation: str
    dtype: str
    index: tuple
    got: object
    expected: object
    ulp: float
    bound: float
    line: str


class Comparison:
    """What compare found; it is true where nothing departed.

    Attributes
    ----------
    departure : Departure or None
        The first one.
    operations : int
        How many operations were compared.
    worst : (float, str)
        The largest share of its bound that an operation had, and which it was.
    result
        What the function returned.
    reference : str
        What was compared with.

    Parameters
    ----------
    reference : {"numpy", "float64"}
        As of compare, which makes the object.

    Examples
    --------
    >>> import asnumpy as np
    >>> found = np.debug.compare(lambda x: x + 1, np.arange(3))
    >>> bool(found), found.operations
    (True, 1)
    """

    def __init__(self, reference):
        self.reference = reference
        self.departure = None
        self.operations = 0
        self.worst = (0.0, "")
        self.result = None

    def __bool__(self):
        return self.departure is None

    def __repr__(self):
        d = self.departure
        if d is None:
            share, name = self.worst
            most = f"; the largest error was {share:.0%} of its bound ({name})" if name else ""
            return f"<{self.operations} operations agree with {self.reference}{most}>"
        bound = "equal" if d.bound == 0 else f"within {d.bound:g} ULP"
        return (
            f"<operation {self.operations}, {d.operation} ({d.dtype}) at {d.line}: index {d.index} is {d.got!r} where "
            f"{self.reference} has {d.expected!r}: {d.ulp:.4g} ULP apart, should be {bound}>"
        )


class _Departed(Exception):
    pass


def _ulps(got, expected, spacing):
    """Distance in units of `spacing`; 0 where both are the same infinity or NaN, inf where only one is."""
    with _np.errstate(all="ignore"):
        wide = _np.complex128 if got.dtype.kind == "c" else _np.float64
        far = _np.abs(got.astype(wide) - expected.astype(wide)) / spacing
        same = (got == expected) | ((got != got) & (expected != expected))
    return _np.where(same, 0.0, _np.where(_np.isnan(far), _np.inf, far))


def _spacing(values, dtype):
    """The distance to the next number of the dtype at each value's magnitude."""
    real = _np.dtype(dtype).type(0).real.dtype
    with _np.errstate(all="ignore"):
        size = _np.abs(values).astype(_np.float64)
        if dtype.name == "bfloat16":
            return _np.maximum(
                2.0 ** (_np.floor(_np.log2(_np.maximum(size, 1e-38))) - 7), 2.0**-133
            )
        return _np.spacing(_np.minimum(size, _np.finfo(real).max).astype(real)).astype(_np.float64)


def _line():
    """file:line of the nearest frame that is neither the package's nor NumPy's."""
    own = tuple(os.path.dirname(m.__file__) + os.sep for m in (sys.modules["asnumpy"], _np))
    frame = sys._getframe(1)
    while frame and frame.f_code.co_filename.startswith(own):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else ""


class _Session:
    def __init__(self, reference):
        self.found = Comparison(reference)
        self.reference = reference
        self.bounds = _core._row_bounds()

    # ---- values in and out

    def unwrap(self, x):
        return self._map(x, lambda p: p._device)

    def host(self, x):
        """The same as NumPy's, copied from the device (in float64 under that reference)."""

        def copy(value):
            if isinstance(value, Probe):
                value = value._device
            if _core._is_array(value):
                value = value.to_numpy()
            return self._widened(value)

        return self._map(x, copy, leaves=True)

    def _widened(self, value):
        if self.reference != "float64" or not isinstance(value, (_np.ndarray, _np.generic)):
            return value
        if value.dtype.kind == "c":
            return value.astype(_np.complex128)
        return (
            value.astype(_np.float64)
            if value.dtype.kind == "f" or value.dtype.name == "bfloat16"
            else value
        )

    def wrap(self, x):

        if _core._is_array(x):
            return Probe(self, x)
        if type(x) in (list, tuple):
            return type(x)(self.wrap(e) for e in x)
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return type(x)(*(self.wrap(e) for e in x))
        return x

    def _map(self, x, f, leaves=False):
        if isinstance(x, Probe):
            return f(x)
        if type(x) in (list, tuple):
            return type(x)(self._map(e, f, leaves) for e in x)
        if type(x) is dict:
            return {k: self._map(v, f, leaves) for k, v in x.items()}
        return f(x) if leaves else x

    # ---- one operation

    def run(self, name, ours, theirs, args, kwargs):
        """ours(*args) on the device, theirs(*args) on the host, compared; the device's result."""
        host_args, host_kwargs = self.host(args), self.host(kwargs)
        out = kwargs.get("out")
        if self.reference == "float64" and host_kwargs.get("dtype") is not None:
            host_kwargs["dtype"] = self._wide_dtype(host_kwargs["dtype"])
        if out is not None:
            host_kwargs.pop("out")
        got = ours(*self.unwrap(args), **self.unwrap(kwargs))
        with _np.errstate(all="ignore"):
            expected = theirs(*host_args, **host_kwargs)
        self.check(name, got, expected, host_args)
        return (
            self.wrap(got)
            if out is None
            else (out[0] if isinstance(out, tuple) and len(out) == 1 else out)
        )

    def _wide_dtype(self, dtype):
        dtype = _np.dtype(dtype)
        return {"f": _np.float64, "c": _np.complex128}.get(dtype.kind, dtype)

    def check(self, name, got, expected, args):
        if isinstance(got, (tuple, list)):
            for g, e in zip(got, expected, strict=True):
                self.check(name, g, e, args)
            return

        if _core._is_array(got):
            got = got.to_numpy()
        elif not isinstance(got, (_np.ndarray, _np.generic, int, float, complex, bool)):
            return
        got, expected = _np.asarray(got), _np.asarray(expected)
        self.found.operations += 1
        if got.dtype.kind not in "biufcV" or got.size == 0:
            return
        if got.shape != expected.shape:
            self.depart(name, got.dtype, (), got.shape, expected.shape, math.inf, 0.0)
        bound, spacing = self.bound_of(name, got, expected, args)
        far = _ulps(got, expected, spacing)
        worst = int(_np.argmax(far))
        index = tuple(int(i) for i in _np.unravel_index(worst, got.shape))
        distance = float(far.flat[worst])
        if bound and distance / bound > self.found.worst[0]:
            self.found.worst = (distance / bound, name)
        if distance > bound:
            value = expected[index]
            if got.dtype.kind != "V" and value.dtype.kind in "fc":
                value = (
                    value.astype(got.dtype)
                    if got.dtype.kind in "fc" and self.reference == "numpy"
                    else value
                )
            self.depart(name, got.dtype, index, got[index].item(), value.item(), distance, bound)

    def bound_of(self, name, got, expected, args):
        """(bound, the unit at each element): a row's; of what is no row, a share of the largest number in it."""
        if got.dtype.kind in "biu":
            return 0.0, 1.0
        if name in self.bounds:
            bound = self.bounds[name].get(got.dtype.name, 0.0)
            wider = self.reference == "float64" and got.dtype.itemsize < expected.dtype.itemsize
            if wider:
                bound = max(bound, 0.5)  # an exact operation rounds
            elif bound:
                bound += _ULP_NUMPY
            return bound, _spacing(expected, got.dtype)
        with _np.errstate(all="ignore"):
            sizes = [_np.abs(a.astype(_np.complex128)).max() for a in args
                     if isinstance(a, _np.ndarray) and a.size and a.dtype.kind in "fciub"]  # fmt: skip
            finite = _np.abs(expected[_np.isfinite(expected)]) if expected.size else expected
            largest = max(
                [float(finite.max()) if finite.size else 0.0, *([max(sizes)] if sizes else [])]
            )
        terms = max([a.size for a in args if isinstance(a, _np.ndarray)], default=1) / max(
            1, got.size
        )
        return _ULP_OTHER * max(1.0, math.sqrt(terms)), _spacing(
            _np.asarray(largest or 1e-300), got.dtype
        )

    def depart(self, name, dtype, index, got, expected, ulp, bound):
        line = _line()
        self.found.departure = Departure(name, str(dtype), index, got, expected, ulp, bound, line)
        raise _Departed


class Probe(NDArrayOperatorsMixin):
    """An array of the device whose operations are compared as they run (debug.compare)."""

    __array_priority__ = 1000

    def __init__(self, session, device):
        self._session = session
        self._device = device

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        import asnumpy

        name = ufunc.__name__
        ours = getattr(asnumpy, name, None)
        theirs = getattr(_np, name, None)
        if ours is None or theirs is None:
            return NotImplemented
        shown = name if method == "__call__" else f"{name}.{method}"
        return self._session.run(
            shown, getattr(ours, method), getattr(theirs, method), inputs, kwargs
        )

    def __array_function__(self, function, types, args, kwargs):
        import asnumpy

        module = getattr(function, "__module__", "") or ""
        name = function.__name__
        path = module.split(".")[1:] if module.startswith(("numpy", "asnumpy")) else []
        path = [p for p in path if not p.startswith("_")]
        ours, theirs = asnumpy, _np
        for part in [*path, name]:
            ours, theirs = getattr(ours, part, None), getattr(theirs, part, None)
        if ours is None or theirs is None:
            return NotImplemented
        return self._session.run(".".join([*path, name]), ours, theirs, args, kwargs)

    def _method(self, name, args, kwargs):
        def call(array, *a, **k):
            return getattr(array, name)(*a, **k)

        if name in ("sum", "prod", "max", "min", "all", "any"):
            ufunc = {"sum": "add.reduce", "prod": "multiply.reduce", "max": "maximum.reduce",
                     "min": "minimum.reduce", "all": "logical_and.reduce", "any": "logical_or.reduce"}[name]  # fmt: skip
            return self._session.run(ufunc, call, call, (self, *args), kwargs)
        return self._session.run(name, call, call, (self, *args), kwargs)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(f"debug.compare's arrays have no {name}")
        value = getattr(self._device, name)
        if callable(value):
            return lambda *args, **kwargs: self._method(name, args, kwargs)
        return self._session.wrap(value)

    def __setitem__(self, key, value):
        self._device[self._session.unwrap(key)] = self._session.unwrap(value)

    def __getitem__(self, key):
        return self._session.run("getitem", operator.getitem, operator.getitem, (self, key), {})

    def __iter__(self):
        return iter([self[i] for i in range(len(self._device))])

    def __len__(self):
        return len(self._device)

    def __bool__(self):
        return bool(self._device)

    def __int__(self):
        return int(self._device)

    def __float__(self):
        return float(self._device)

    def __complex__(self):
        return complex(self._device)

    def __index__(self):
        return self._device.__index__()

    def __repr__(self):
        return f"compared({self._device!r})"


@contextlib.contextmanager
def _listening(session):
    """asnumpy.fft and asnumpy.linalg hand on what they are called with: their functions do not ask their arguments."""
    import asnumpy

    replaced = []

    def hand_on(name, ours, theirs):
        def function(*args, **kwargs):
            met = []
            session._map((args, kwargs), met.append)
            return session.run(name, ours, theirs, args, kwargs) if met else ours(*args, **kwargs)

        return function

    for module, theirs in (asnumpy.fft, _np.fft), (asnumpy.linalg, _np.linalg):
        for name in theirs.__all__:
            ours, reference = getattr(module, name, None), getattr(theirs, name)
            if callable(ours) and not isinstance(ours, type):
                shown = f"{theirs.__name__.rpartition('.')[2]}.{name}"
                replaced.append((module, name, ours))
                setattr(module, name, hand_on(shown, ours, reference))
    try:
        yield
    finally:
        for module, name, ours in replaced:
            setattr(module, name, ours)


def compare(f, *args, reference="numpy"):
    """Runs a function operation by operation, on the device and in NumPy, up to the first that departs.

    An operation's bound is that of its row in the operation table, in ULP of the reference, and 4 more
    where NumPy's own function of the dtype is the reference and is not exact. Integers, comparisons,
    indices and moves must be equal. Functions without a row (sums, products, transforms) may err by 64
    ULP of the largest number they take or give, times the root of the number of terms where they add
    up.

    Parameters
    ----------
    f : callable
        Takes arrays and uses them as ever.
    *args
        Arrays among them (NumPy's too) are replaced by arrays that compare.
    reference : {"numpy", "float64"}
        NumPy on the same dtypes, or on float64 and complex128, which shows rounding that NumPy has too.

    Returns
    -------
    Comparison
        Its repr says what was found; it is true where nothing departed.

    Raises
    ------
    ValueError
        reference is another text.
    TypeError
        f is not callable.

    Examples
    --------
    >>> import asnumpy as np
    >>> bool(np.debug.compare(lambda x, y: np.sqrt(x) + y, np.arange(5.0), 2.0))
    True
    """
    import asnumpy

    if reference not in ("numpy", "float64"):
        raise ValueError(f"compare: reference is {reference!r}; it may be 'numpy' or 'float64'")
    if not callable(f):
        raise TypeError(f"compare takes a function, got {type(f).__name__}")
    session = _Session(reference)
    probes = [
        Probe(session, asnumpy.array(a)) if isinstance(a, (asnumpy.ndarray, _np.ndarray)) else a
        for a in args
    ]
    with _listening(session), contextlib.suppress(_Departed):
        session.found.result = session.unwrap(f(*probes))
    return session.found
