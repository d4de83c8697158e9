"""What stands for all elements at once in a function that `vectorize` traces (`asnumpy._traced`).

A tracer holds the elements as one array and knows of which class each is in the loop, because that
decides what an operation on it does:

====  ================  =================================================================
kind  in the loop       so
====  ================  =================================================================
b     Python's bool     an int in arithmetic
i     Python's int      no bounds, division by zero raises
f     Python's float    division by zero raises, nothing else is told
B     numpy.bool        what ufuncs, comparisons and `where` give; no arithmetic of two
I     numpy.int64       likewise; division by zero gives 0 and warns
F     numpy.float64     likewise; infinities and NaN from finite numbers warn
====  ================  =================================================================

An operation on two kinds gives one of NumPy's as soon as one operand is. Integers know between
which two numbers all elements lie: where int64 might not hold a result, or a float not all of an
int, the trace is given up.
"""

import operator

import numpy as _np

from . import _core

_WHOLE = 2**53  # floats hold every integer up to here
_LOW, _HIGH = -(2**63), 2**63 - 1  # int64
# ufuncs that give infinity at a pole; the others overflow.
_POLES = frozenset(["arctanh", "log", "log10", "log1p", "log2", "reciprocal"])


class NotTraceable(Exception):
    """The loop has to run."""


def is_number(value):
    """Whether a value is one of Python's numbers, and none of NumPy's."""
    return isinstance(value, (bool, int, float)) and not isinstance(value, _np.generic)


def ufunc_name(value):
    """The name of an elementwise ufunc of one result, or None."""
    name = getattr(value, "__name__", None)
    ours = _core.ufuncs.get(name) if isinstance(name, str) else None
    known = isinstance(value, _np.ufunc) or value is ours
    return (
        name if known and ours is not None and ours.nout == 1 and ours.signature is None else None
    )


class _Number:
    """A number of Python's beside tracers."""

    __slots__ = ("high", "kind", "low", "value")

    def __init__(self, value):
        self.value, self.low, self.high = value, None, None
        self.kind = "b" if type(value) is bool else "i" if isinstance(value, int) else "f"
        if self.kind != "f":
            self.low = self.high = int(value)
            if not _LOW <= value <= _HIGH:
                raise NotTraceable


def _is_float(*operands):
    return any(x.kind in "fF" for x in operands)


def _is_numpys(*operands):
    return any(x.kind in "BIF" for x in operands)


def _is_bool(x):
    return x.kind in "bB"


def _need_whole(*operands):
    """Floats hold the integers among the operands exactly."""
    for x in operands:
        if x.kind in "iI" and not (x.low >= -_WHOLE and x.high <= _WHOLE):
            raise NotTraceable


def _corners(f, x, y):
    """The least and the greatest of a function that is monotonic in each of two bounded integers."""
    values = [f(a, b) for a in (x.low, x.high) for b in (y.low, y.high)]
    return min(values), max(values)


def _bits(x, y):
    """Bounds of bitwise operations: what has as many bits."""
    bits = max(abs(v).bit_length() for v in (x.low, x.high, y.low, y.high))
    return (0 if min(x.low, y.low) >= 0 else -(2**bits)), 2**bits


def _quotients(x, y):
    if y.low > 0 or y.high < 0:
        return _corners(operator.floordiv, x, y)
    most = max(abs(x.low), abs(x.high))
    return -most, most


# Bounds of integer operations, by their ufuncs.
_BOUNDS = {
    "add": lambda x, y: (x.low + y.low, x.high + y.high),
    "subtract": lambda x, y: (x.low - y.high, x.high - y.low),
    "multiply": lambda x, y: _corners(operator.mul, x, y),
    "floor_divide": _quotients,
    "remainder": lambda _, y: (min(0, y.low + 1), max(0, y.high - 1)),
    "maximum": lambda x, y: (max(x.low, y.low), max(x.high, y.high)),
    "minimum": lambda x, y: (min(x.low, y.low), min(x.high, y.high)),
    "bitwise_and": _bits,
    "bitwise_or": _bits,
    "bitwise_xor": _bits,
    "negative": lambda x: (-x.high, -x.low),
    "positive": lambda x: (x.low, x.high),
    "invert": lambda x: (~x.high, ~x.low),
    "absolute": lambda x: (
        0 if x.low <= 0 <= x.high else min(abs(x.low), abs(x.high)), max(abs(x.low), abs(x.high)),
    ),
    "sign": lambda _: (-1, 1),
    "square": lambda x: (0, max(x.low**2, x.high**2)),
}  # fmt: skip
_BOUNDS["fmax"], _BOUNDS["fmin"] = _BOUNDS["maximum"], _BOUNDS["minimum"]


def _both(method, name):
    """An operator and its reflection: ``x < y`` is also ``y > x``."""

    def forward(self, other):
        return method(self, name, self, other)

    def reflected(self, other):
        return method(self, name, other, self)

    return forward, reflected


class Tracer:
    """All elements of a number or truth value at once, in place of one.

    trace: what makes the operations' expressions; value: the expression; kind: of one element in the loop; low, high:
    bounds of integers; is_array: in the loop it is an array of no dimensions, of `where`.
    """

    __slots__ = ("high", "is_array", "kind", "low", "trace", "value")
    __hash__ = None

    def __init__(self, trace, value, kind, bounds=(0, 1), *, is_array=False):
        self.trace, self.value, self.kind, self.is_array = trace, value, kind, is_array
        self.low, self.high = bounds
        if kind in "iI" and not (self.low >= _LOW and self.high <= _HIGH):
            raise NotTraceable

    def _operands(self, *given):
        """The operands as tracers and numbers; NotTraceable: something else."""
        self.trace.count()
        operands = []
        for x in given:
            if not isinstance(x, Tracer) and not is_number(x):
                raise NotTraceable
            operands.append(x if isinstance(x, Tracer) else _Number(x))
        return operands

    def _run(self, name, *operands):
        """The ufunc of that name on the operands' values, floats as float64."""
        values = [x.value for x in operands]
        if _is_float(*operands):
            values = [float(v) if is_number(v) else v for v in values]
        return self.trace.run(_core.ufuncs[name], *values)

    def _float(self, name, *operands):
        """A result of float64 of one of NumPy's kinds: what comes of finite numbers is told."""
        result = self._run(name, *operands)
        if result.dtype != float:
            raise NotTraceable
        self.trace.tell(name, result, [x.value for x in operands], name in _POLES)
        return Tracer(self.trace, result, "F", (None, None))

    def _whole(self, name, kind, *operands):
        """A result of integers: inside what is known of the operation's."""
        bounds = _BOUNDS.get(name)
        if bounds is None:
            raise NotTraceable
        values = [
            self.trace.cast(x.value, _np.int64) if isinstance(x, Tracer) else int(x.value)
            for x in operands
        ]
        result = self.trace.run(_core.ufuncs[name], *values)
        return Tracer(self.trace, result, kind, bounds(*operands))

    def _arithmetic(self, name, a, b):
        x, y = self._operands(a, b)
        if (x.kind == "B" and _is_bool(y)) or (y.kind == "B" and _is_bool(x)):
            raise NotTraceable  # logical, or refused
        if not _is_float(x, y):
            return self._whole(name, "I" if _is_numpys(x, y) else "i", x, y)
        if _is_numpys(x, y):
            return self._float(name, x, y)
        return Tracer(self.trace, self._run(name, x, y), "f", (None, None))

    def _divide(self, name, a, b):
        x, y = self._operands(a, b)
        if x.kind == "B" and _is_bool(y) or y.kind == "B" and _is_bool(x):
            raise NotTraceable
        zero = self.trace.run(_core.equal, y.value, 0) if isinstance(y, Tracer) else y.value == 0
        if not _is_numpys(x, y):
            self.trace.forbid(zero)  # ZeroDivisionError
        whole = name != "divide" and not _is_float(x, y)
        if whole:
            if _is_numpys(x, y):
                self.trace.tell_where("divide", name, zero)
            return self._whole(name, "I" if _is_numpys(x, y) else "i", x, y)
        if _is_numpys(x, y):
            return self._float(name, x, y)
        _need_whole(x, y)  # two ints are divided exactly and rounded once
        return Tracer(self.trace, self._run(name, x, y), "f", (None, None))

    def _power(self, name, a, b):
        x, y = self._operands(a, b)
        if _is_bool(x) or _is_bool(y):
            raise NotTraceable
        if not _is_float(x, y):
            return self._whole_power(x, y)
        if _is_numpys(x, y):
            if b == 2 and not isinstance(b, Tracer):
                return self._float("multiply", x, x)
            return self._float(name, x, y)
        if not isinstance(b, Tracer) and b == 2:
            return self._arithmetic("multiply", a, a)
        result = self._run(name, x, y)
        finite = [self.trace.run(_core.isfinite, v.value) for v in (x, y)]
        lost = self.trace.run(_core.logical_not, self.trace.run(_core.isfinite, result))
        for known in finite:
            lost = self.trace.run(_core.logical_and, lost, known)
        self.trace.forbid(lost)  # OverflowError, complex, 0.0 ** -1
        return Tracer(self.trace, result, "f", (None, None))

    def _whole_power(self, x, y):
        """Of integers to a constant that is none below zero, which would give a float or be refused."""
        if isinstance(y, Tracer) or not 0 <= y.value < 64:
            raise NotTraceable
        most = max(abs(x.low), abs(x.high)) ** y.value
        least = 0 if y.value % 2 == 0 or x.low >= 0 else -most
        if most > _HIGH:
            raise NotTraceable
        result = self.trace.run(_core.power, x.value, y.value)
        return Tracer(self.trace, result, "I" if x.kind == "I" else "i", (least, max(most, 1)))

    def _compare(self, name, a, b):
        x, y = self._operands(a, b)
        if _is_float(x, y):
            _need_whole(x, y)  # Python compares an int with a float exactly
        return Tracer(self.trace, self._run(name, x, y), "B" if _is_numpys(x, y) else "b")

    def _bitwise(self, name, a, b):
        x, y = self._operands(a, b)
        if _is_float(x, y):
            raise NotTraceable  # a TypeError
        if _is_bool(x) and _is_bool(y):
            return Tracer(self.trace, self._run(name, x, y), "B" if _is_numpys(x, y) else "b")
        return self._whole(name, "I" if _is_numpys(x, y) else "i", x, y)

    def _sign(self, name):
        (x,) = self._operands(self)
        if x.kind == "B":
            raise NotTraceable  # refused, or still a truth value
        if x.kind in "bi":
            return self._whole(name, "i", x)
        if x.kind == "I":
            return self._whole(name, "I", x)
        return Tracer(self.trace, self._run(name, x), x.kind, (None, None))

    def __neg__(self):
        return self._sign("negative")

    def __pos__(self):
        return self._sign("positive")

    def __abs__(self):
        return self._sign("absolute")

    def __invert__(self):
        (x,) = self._operands(self)
        if x.kind == "B":
            return Tracer(self.trace, self._run("logical_not", x), "B")
        if x.kind not in "iI":
            raise NotTraceable  # a TypeError, or deprecated
        return self._whole("invert", x.kind, x)

    __add__, __radd__ = _both(_arithmetic, "add")
    __sub__, __rsub__ = _both(_arithmetic, "subtract")
    __mul__, __rmul__ = _both(_arithmetic, "multiply")
    __truediv__, __rtruediv__ = _both(_divide, "divide")
    __floordiv__, __rfloordiv__ = _both(_divide, "floor_divide")
    __mod__, __rmod__ = _both(_divide, "remainder")
    __pow__, __rpow__ = _both(_power, "power")
    __and__, __rand__ = _both(_bitwise, "bitwise_and")
    __or__, __ror__ = _both(_bitwise, "bitwise_or")
    __xor__, __rxor__ = _both(_bitwise, "bitwise_xor")
    __lt__, __gt__ = _both(_compare, "less")
    __le__, __ge__ = _both(_compare, "less_equal")
    __eq__, __ne__ = _both(_compare, "equal")[0], _both(_compare, "not_equal")[0]

    def _in_place(name):
        """``x += y``, which writes into an array and makes another number."""

        def method(self, other):
            if self.is_array:
                raise NotTraceable
            return getattr(self, f"__{name}__")(other)

        return method

    __iadd__, __isub__, __imul__ = _in_place("add"), _in_place("sub"), _in_place("mul")
    __itruediv__, __ifloordiv__ = _in_place("truediv"), _in_place("floordiv")
    __imod__, __ipow__ = _in_place("mod"), _in_place("pow")
    __iand__, __ior__, __ixor__ = _in_place("and"), _in_place("or"), _in_place("xor")

    def __bool__(self):
        return self.trace.ask(self._truth(self))

    def _truth(self, x):
        """The truth values of an operand: an expression, or a bool."""
        if not isinstance(x, Tracer):
            return bool(x.value)
        return x.value if _is_bool(x) else self.trace.run(_core.not_equal, x.value, 0)

    def _refuse(self, *_):
        raise NotTraceable

    __float__ = __int__ = __index__ = __complex__ = __len__ = __iter__ = __getitem__ = __array__ = (
        __round__
    ) = _refuse
    __trunc__ = __floor__ = __ceil__ = __divmod__ = __rdivmod__ = __str__ = __repr__ = (
        __format__
    ) = _refuse
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __contains__ = _refuse

    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        name = ufunc_name(ufunc)
        if name is None or method != "__call__" or keywords:
            raise NotTraceable
        operands = self._operands(*inputs)
        return self._ufunc(name, operands)

    def _ufunc(self, name, operands):
        """A ufunc on the loop's numbers, which it takes for bool, int64 and float64."""
        try:
            result = self._run(name, *operands)
        except TypeError:  # no such loop
            raise NotTraceable from None
        if result.dtype == bool:
            return Tracer(self.trace, result, "B")
        if result.dtype == float:
            return self._float(name, *operands)
        if result.dtype != _np.int64:
            raise NotTraceable
        if name in ("floor_divide", "remainder"):
            zero = self._run("equal", operands[1], _Number(0))
            self.trace.tell_where("divide", name, zero)
        return self._whole(name, "I", *operands)

    def __array_function__(self, function, types, args, kwargs):
        if kwargs or len(args) != 3 or function.__name__ not in FUNCTIONS:
            raise NotTraceable
        operands = self._operands(*args)
        if function.__name__ == "clip":
            x, low, high = operands
            return self._ufunc("minimum", [self._ufunc("maximum", [x, low]), high])
        condition, x, y = operands
        result = self.trace.run(_core.where, self._truth(condition), x.value, y.value)
        kind = "F" if _is_float(x, y) else "B" if _is_bool(x) and _is_bool(y) else "I"
        bounds = (None, None) if kind == "F" else (min(x.low, y.low), max(x.high, y.high))
        return Tracer(self.trace, result, kind, bounds, is_array=True)


# Functions that are no ufuncs and whose work on one element each is done here.
FUNCTIONS = frozenset(["clip", "where"])


def _select(condition, x, y):
    """x where the condition holds, else y: a selection if both are numbers of one class, which all elements are then; else
    the condition is asked."""
    if not isinstance(condition, Tracer):
        return x if condition else y
    trace, truth = condition.trace, condition._truth(condition)
    known = trace.known(truth)
    if known is not None:
        return x if known else y
    a, b = condition._operands(x, y)
    if a.kind != b.kind or getattr(a, "is_array", False) or getattr(b, "is_array", False):
        return x if condition else y
    bounds = (None, None) if a.kind in "fF" else (min(a.low, b.low), max(a.high, b.high))
    return Tracer(trace, trace.run(_core.where, truth, a.value, b.value), a.kind, bounds)


def _extreme(better, plain, args, keywords):
    """max or min of numbers and tracers: the first of those than which none is better, as Python finds it."""
    if keywords or len(args) < 2:
        return plain(*args, **keywords)
    best = args[0]
    for x in args[1:]:
        best = _select(better(x, best), x, best)
    return best


def greatest(*args, **keywords):
    """Python's max in a traced function."""
    return _extreme(operator.gt, max, args, keywords)


def least(*args, **keywords):
    """Python's min."""
    return _extreme(operator.lt, min, args, keywords)
