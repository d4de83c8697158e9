"""Scalar functions traced: what `vectorize` runs as fused operations instead of a Python loop.

A function of Python floats is called with tracers, which stand for all elements at once: arithmetic, comparisons and
elementwise ufuncs on them are recorded for the arrays. Where it asks for a truth value (an ``if``, ``and``, ``min``,
``max``) it is called again for the other answer, so that every path through it is known; the results of the paths are
put together by their conditions. All of it is one fused program, as far as it fits.

The loop decides what is right: Python's floats. So a trace counts only when the elements give what the loop would:

- every argument is an array of floats, or a number that is the same for all elements;
- the function's code has nothing in it that could be seen from outside or that differs for tracers: no assignments but
  to its own variables, no calls but of ufuncs, of `abs`, `min`, `max`, `pow`, and of functions of the same kind;
- no element divides by zero, leaves the real numbers or gets no finite value from a finite one by a ufunc on the path
  that it takes: the loop raises or warns there. This is found out with the results.

Otherwise the loop runs.
"""

import dis
import inspect
import types

import numpy as _np

from . import _core
from ._errstate import errstate

_PATHS = 128  # through a function
_OPERATIONS = 2000  # of all paths together
_LEAST = 256  # elements for which a trace pays

_BUILTINS = {abs, min, max, pow}
_FORBIDDEN = ("STORE_GLOBAL", "STORE_NAME", "STORE_DEREF", "STORE_ATTR", "STORE_SUBSCR", "DELETE_", "IMPORT_", "YIELD",
              "RAISE", "SETUP_", "PUSH_EXC", "BEFORE_WITH", "GET_ITER", "FOR_ITER", "MAKE_FUNCTION", "MAKE_CELL",
              "BUILD_LIST", "BUILD_MAP", "BUILD_SET", "BUILD_STRING", "FORMAT_VALUE", "FORMAT_SIMPLE", "IS_OP",
              "CONTAINS_OP", "BINARY_SUBSCR", "SEND", "AWAIT", "MATCH_", "JUMP_BACKWARD")  # fmt: skip


class NotTraceable(Exception):
    """The loop has to run."""


def _is_number(value):
    return isinstance(value, (bool, int, float)) and not isinstance(value, _np.generic)


def _is_plain(function, seen):
    """Whether the code of a Python function is one that a tracer can stand in for."""
    if not isinstance(function, types.FunctionType) or function in seen:
        return isinstance(function, types.FunctionType)
    seen.add(function)
    code = function.__code__
    if code.co_flags & (
        inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    ):
        return False
    if any(i.opname.startswith(_FORBIDDEN) for i in dis.get_instructions(code)):
        return False
    try:
        outside = inspect.getclosurevars(function)
    except (TypeError, ValueError):
        return False
    named = {**outside.nonlocals, **outside.globals, **outside.builtins}
    if not all(_is_known(value, seen) for value in named.values()):
        return False
    modules = [v for v in named.values() if isinstance(v, types.ModuleType)]
    attributes = outside.unbound
    return all(any(_is_known(getattr(m, a, None), seen) for m in modules) for a in attributes)


def _is_known(value, seen):
    if isinstance(value, types.ModuleType):
        return value.__name__ in ("numpy", "asnumpy")
    if isinstance(value, types.BuiltinFunctionType):
        return value in _BUILTINS
    return _is_number(value) or _ufunc_name(value) is not None or _is_plain(value, seen)


def _ufunc_name(value):
    """The name of an elementwise ufunc of one result."""
    name = getattr(value, "__name__", None)
    ours = _core.ufuncs.get(name) if isinstance(name, str) else None
    known = isinstance(value, _np.ufunc) or value is ours
    return (
        name if known and ours is not None and ours.nout == 1 and ours.signature is None else None
    )


class _Path:
    """One call of the function: the answers to give, and what it asked."""

    def __init__(self, trace, answers):
        self.trace, self.answers, self.asked, self.bad = trace, answers, [], None

    def ask(self, condition):
        k = len(self.asked)
        if k > 64:
            raise NotTraceable
        for asked, answer in self.asked:  # min(a, b) after max(a, b)
            if asked is condition:
                return answer
        answer = self.answers[k] if k < len(self.answers) else True
        self.asked.append((condition, answer))
        return answer

    def forbid(self, where):
        """No element that takes the path may be in `where`."""
        self.bad = where if self.bad is None else self.trace.run(_core.logical_or, self.bad, where)


class _Trace:
    """What all paths share: an operation that several of them have is done once."""

    def __init__(self):
        self.operations, self.path, self.done = 0, None, {}

    def run(self, ufunc, *operands):
        key = (ufunc, *[id(x) if isinstance(x, _core.ndarray) else repr(x) for x in operands])
        found = self.done.get(key)
        if found is None:
            # the operands live as long as their numbers are keys
            found = self.done[key] = (ufunc(*operands), operands)
        return found[0]


def _both(method, ufunc):
    """An operator and its reflection: ``x < y`` is also ``y > x``."""

    def forward(self, other):
        return method(self, ufunc, self, other)

    def reflected(self, other):
        return method(self, ufunc, other, self)

    return forward, reflected


class Tracer:
    """All elements of a float or bool at once, in place of one."""

    __slots__ = ("trace", "value")
    __hash__ = None

    def __init__(self, trace, value):
        self.trace, self.value = trace, value

    def _is_bool(self):
        return self.value.dtype == bool

    def _of(self, *others):
        """The values of operands that are tracers or numbers; NotTraceable: something else."""
        self.trace.operations += 1
        if self.trace.operations > _OPERATIONS:
            raise NotTraceable
        values = []
        for x in others:
            if isinstance(x, Tracer):
                values.append(x.value)
            elif _is_number(x) or isinstance(x, _np.floating):
                values.append(float(x))  # beside a float, Python's and NumPy's numbers become one
            else:
                raise NotTraceable
        return values

    def _arithmetic(self, ufunc, a, b):
        x, y = self._of(a, b)
        for operand in (a, b):  # a truth value is an int there
            if isinstance(operand, bool) or (isinstance(operand, Tracer) and operand._is_bool()):
                raise NotTraceable
        return Tracer(self.trace, self.trace.run(ufunc, x, y))

    def _compare(self, ufunc, a, b):
        x, y = self._of(a, b)
        if self._is_bool():
            raise NotTraceable
        return Tracer(self.trace, self.trace.run(ufunc, x, y))

    def _divide(self, ufunc, a, b):
        result = self._arithmetic(ufunc, a, b)
        divisor = b.value if isinstance(b, Tracer) else _core.full((), float(b))
        self.trace.path.forbid(self.trace.run(_core.equal, divisor, 0.0))
        return result

    def _power(self, ufunc, a, b):
        if not isinstance(b, Tracer) and b == 2:
            return self._arithmetic(_core.multiply, a, a)
        result = self._arithmetic(ufunc, a, b)
        x, y = self._of(a, b)
        finite = _core.isfinite(x) & _core.isfinite(y)
        self.trace.path.forbid(
            ~_core.isfinite(result.value) & finite
        )  # OverflowError, complex, 0.0 ** -1
        return result

    def __neg__(self):
        return self._arithmetic(_core.multiply, self, -1.0)

    def __pos__(self):
        return self._arithmetic(_core.multiply, self, 1.0)

    def __abs__(self):
        (x,) = self._of(self)
        if self._is_bool():
            raise NotTraceable
        return Tracer(self.trace, self.trace.run(_core.absolute, x))

    __add__, __radd__ = _both(_arithmetic, _core.add)
    __sub__, __rsub__ = _both(_arithmetic, _core.subtract)
    __mul__, __rmul__ = _both(_arithmetic, _core.multiply)
    __truediv__, __rtruediv__ = _both(_divide, _core.divide)
    __floordiv__, __rfloordiv__ = _both(_divide, _core.floor_divide)
    __mod__, __rmod__ = _both(_divide, _core.remainder)
    __pow__, __rpow__ = _both(_power, _core.power)
    __lt__, __gt__ = _both(_compare, _core.less)
    __le__, __ge__ = _both(_compare, _core.less_equal)
    __eq__, __ne__ = _both(_compare, _core.equal)[0], _both(_compare, _core.not_equal)[0]

    def __bool__(self):
        condition = (
            self.value if self._is_bool() else self.trace.run(_core.not_equal, self.value, 0.0)
        )
        return self.trace.path.ask(condition)

    def _refuse(self, *_):
        raise NotTraceable

    __float__ = __int__ = __index__ = __complex__ = __len__ = __iter__ = __getitem__ = __array__ = (
        __round__
    ) = _refuse
    __trunc__ = __floor__ = __ceil__ = __divmod__ = __rdivmod__ = __str__ = __repr__ = (
        __format__
    ) = _refuse
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = __contains__ = _refuse

    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        name = _ufunc_name(ufunc)
        if name is None or method != "__call__" or keywords:
            raise NotTraceable
        values = self._of(*inputs)
        if any(isinstance(x, Tracer) and x._is_bool() for x in inputs):
            raise NotTraceable
        result = self.trace.run(_core.ufuncs[name], *values)
        if result.dtype not in (bool, float):
            raise NotTraceable
        if result.dtype == float:
            lost = ~_core.isfinite(result)
            for x in values:
                lost = lost & _core.isfinite(x)
            self.trace.path.forbid(lost)
        return Tracer(self.trace, result)


def _paths(function, trace, args, kwargs):
    """(path, outputs) of every path through the function."""
    todo, found = [[]], []
    while todo:
        answers = todo.pop()
        trace.path = path = _Path(trace, answers)
        outputs = function(*args, **kwargs)
        found.append((path, outputs if isinstance(outputs, tuple) else (outputs,)))
        if len(found) + len(todo) > _PATHS:
            raise NotTraceable
        given = [answer for _, answer in path.asked]
        todo += [[*given[:k], False] for k in range(len(answers), len(given))]
    return found


def _number_of(value):
    if isinstance(value, Tracer):
        return value.value
    if _is_number(value):
        return value
    raise NotTraceable


def _chosen(trace, paths, values, depth=0):
    """One value of those at the ends of paths, by the conditions that part them: a tree of `where`, in which branches that
    give the same are one."""
    if len(paths) == 1:
        return values[0]
    condition = paths[0].asked[depth][0]
    sides = []
    for side in (True, False):
        picked = [k for k, path in enumerate(paths) if path.asked[depth][1] is side]
        sides.append(
            _chosen(trace, [paths[k] for k in picked], [values[k] for k in picked], depth + 1)
        )
    yes, no = sides
    if yes is no or (
        type(yes) is type(no) and not isinstance(yes, _core.ndarray) and repr(yes) == repr(no)
    ):
        return yes
    return trace.run(_core.where, condition, yes, no)


def _filled(value, shape):
    return (
        value
        if isinstance(value, _core.ndarray) and value.shape == shape
        else _core.full(shape, value)
    )


def _argument(trace, value):
    """(what the function gets, the array or None)."""
    if isinstance(value, _np.generic):
        value = value.item()
    if _is_number(value):
        return value, None
    if isinstance(value, _np.ndarray) and type(value) is _np.ndarray and value.dtype.kind == "f":
        value = _core.asarray(value)
    if type(value) is not _core.ndarray or value.dtype not in (
        _np.float64,
        _np.float32,
        _np.float16,
    ):
        raise NotTraceable
    array = value if value.dtype == float else value.astype(float)
    return Tracer(trace, array), array


def call(function, args, kwargs):
    """What `function` gives for each element of the broadcast arguments: a tuple of arrays and whether the function
    returns a tuple; None where the loop has to run."""
    if not _is_plain(function, set()):
        return None
    trace = _Trace()
    try:
        given = [_argument(trace, x) for x in args]
        named = {k: _argument(trace, x) for k, x in kwargs.items()}
        arrays = [a for _, a in [*given, *named.values()] if a is not None]
        shape = _np.broadcast_shapes(*[a.shape for a in arrays]) if arrays else ()
        if int(_np.prod(shape)) < _LEAST:
            return None
        with errstate(all="ignore"):
            found = _paths(
                function, trace, [x for x, _ in given], {k: x for k, (x, _) in named.items()}
            )
            paths, ends = zip(*found, strict=True)
            widths = {len(outputs) for outputs in ends}
            if len(widths) != 1:
                return None
            results = tuple(
                _filled(_chosen(trace, paths, [_number_of(outputs[k]) for outputs in ends]), shape)
                for k in range(widths.pop())
            )
            bad = _chosen(trace, paths, [False if p.bad is None else p.bad for p in paths])
            if bad is not False and bool(bad.any()):
                return None
            _core.synchronize()
    except NotTraceable:
        return None
    return results
