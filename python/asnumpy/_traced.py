"""Scalar functions traced: what `vectorize` runs as fused operations instead of a Python loop.

A function of numbers is called with tracers (`asnumpy._tracers`), which stand for all elements at once: arithmetic,
comparisons, elementwise ufuncs, `where` and `clip` on them become expressions (`asnumpy._expressions`). Where it asks for
a truth value (an ``if``, ``and``) it is called again for the other answer, so that every path through it is known; the
results of the paths are put together by their conditions. `max` and `min` select, where Python would give numbers of one
class, and what earlier answers have settled is not asked. In the end what the results need is recorded for the arrays:
one fused program, as far as it fits.

The loop decides what is right: it gives the function Python's own numbers (of an array of uint8 they are ints without
bounds), and ufuncs and `where` make NumPy's scalars of them. So a trace counts only when the elements give what the loop
would:

- every argument is an array of floats, integers or truth values, or a number that is the same for all elements;
- the function's code has nothing in it that could be seen from outside or that differs for tracers: no assignments but
  to its own variables, no calls but of ufuncs, of `where` and `clip`, of `abs`, `min`, `max`, `pow`, and of functions of
  the same kind;
- no integer could leave int64, whatever the elements are (of 64-bit arrays their extremes are looked at);
- no element divides Python's numbers by zero or leaves the real numbers on the path that it takes: the loop raises
  there. This is found out with the results. Where NumPy's scalars warn, a warning of that kind is given, once, if errstate
  says so.

Otherwise the loop runs.
"""

import builtins
import dis
import functools
import inspect
import types
import warnings

import numpy as _np

from . import _core
from ._errstate import errstate, geterr
from ._expressions import Expressions, any_of, key, record
from ._tracers import FUNCTIONS, NotTraceable, Tracer, greatest, is_number, least, ufunc_name

_PATHS = 128  # through a function
_OPERATIONS = 2000  # of all paths together
_LEAST = 256  # elements for which a trace pays

# What errstate calls it, and what its warning does.
_WARNINGS = {"divide": "divide by zero", "over": "overflow", "invalid": "invalid value"}
# Operations that make no finite number of one that is not, by the operands for which that holds.
_KEEPING = dict.fromkeys(["add", "subtract", "multiply"], 2) | dict.fromkeys(
    ["divide", "negative", "absolute", "floor", "ceil", "trunc", "rint", "sqrt", "square", "log"], 1
)
# Which operand makes a pole where it is 0.
_DIVISOR = {"divide": 1, "floor_divide": 1, "power": 0, "float_power": 0}
_BUILTINS = {abs, min, max, pow}
_SELECTIONS = {max: greatest, min: least}  # what they are in a traced function
_FORBIDDEN = ("STORE_GLOBAL", "STORE_NAME", "STORE_DEREF", "STORE_ATTR", "STORE_SUBSCR", "DELETE_", "IMPORT_", "YIELD",
              "RAISE", "SETUP_", "PUSH_EXC", "BEFORE_WITH", "GET_ITER", "FOR_ITER", "MAKE_FUNCTION", "MAKE_CELL",
              "BUILD_LIST", "BUILD_MAP", "BUILD_SET", "BUILD_STRING", "FORMAT_VALUE", "FORMAT_SIMPLE", "IS_OP",
              "CONTAINS_OP", "BINARY_SUBSCR", "SEND", "AWAIT", "MATCH_", "JUMP_BACKWARD")  # fmt: skip


@functools.lru_cache(1000)
def _is_plain_code(code):
    return not code.co_flags & (
        inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    ) and not any(i.opname.startswith(_FORBIDDEN) for i in dis.get_instructions(code))


def _is_plain(function, seen):
    """Whether the code of a Python function is one that a tracer can stand in for."""
    if not isinstance(function, types.FunctionType) or function in seen:
        return isinstance(function, types.FunctionType)
    seen.add(function)
    if not _is_plain_code(function.__code__):
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


def _is_function(value):
    """Whether a value is a function of NumPy's, or ours, that tracers know."""
    name = getattr(value, "__name__", None)
    return name in FUNCTIONS and value in (getattr(_core, name), getattr(_np, name))


def _is_known(value, seen):
    if isinstance(value, types.ModuleType):
        return value.__name__ in ("numpy", "asnumpy")
    if isinstance(value, types.BuiltinFunctionType):
        return value in _BUILTINS
    return (
        is_number(value)
        or ufunc_name(value) is not None
        or _is_function(value)
        or _is_plain(value, seen)
    )


def _selecting(function, made):
    """A plain function as it is traced: `max` and `min`, and the plain functions that it calls, are those of a trace."""
    if function in made:
        return made[function]

    def of(value):
        if isinstance(value, types.FunctionType) and not _is_function(value):
            return _selecting(value, made)
        return _SELECTIONS.get(value, value) if type(value) is type(max) else value

    code, names = function.__code__, dict(function.__globals__)
    cells = tuple(types.CellType() for _ in code.co_freevars)
    copy = types.FunctionType(code, names, function.__name__, function.__defaults__, cells)
    copy.__kwdefaults__ = function.__kwdefaults__
    made[function] = copy
    for name in code.co_names:
        if name in names or hasattr(builtins, name):
            names[name] = of(names.get(name, getattr(builtins, name, None)))
    for cell, outer in zip(cells, function.__closure__ or (), strict=True):
        cell.cell_contents = of(outer.cell_contents)
    return copy


def _settled(comparison, answer):
    """(name, a, b, answer) of the comparisons of the same operands that an answer settles, itself included. That
    something is not less settles nothing where there may be a NaN."""
    name = getattr(comparison.function, "__name__", None)
    if name not in ("less", "less_equal", "equal", "not_equal"):
        return []
    a, b = map(key, comparison.operands)
    known = [(name, a, b, answer)]
    if name == "not_equal":
        name, answer = "equal", not answer
    if not answer and name != "equal" and all(_is_whole(x) for x in comparison.operands):
        name, a, b, answer = "less_equal" if name == "less" else "less", b, a, True
    if name == "equal":
        known += [(n, x, y, answer is (n == "equal"))
                  for n in ("equal", "not_equal") for x, y in ((a, b), (b, a))]  # fmt: skip
        orders = [("less", False), ("less_equal", True)] if answer else []
        known += [(n, x, y, is_so) for n, is_so in orders for x, y in ((a, b), (b, a))]
    elif answer:
        known += [(name, a, b, True), ("less", b, a, False), ("less_equal", a, b, True)]
        if name == "less":
            known += [("less_equal", b, a, False)]
            known += [("equal", x, y, False) for x, y in ((a, b), (b, a))]
            known += [("not_equal", x, y, True) for x, y in ((a, b), (b, a))]
    return known


class _Path:
    """One call of the function: the answers to give, what it asked, and what would happen in the loop."""

    def __init__(self, answers):
        self.answers, self.asked, self.settled = answers, [], {}
        self.bad, self.told = None, {}  # where the loop raises; where it warns, by what is said
        self.results, self.odd = [], None  # of float64 that may come to that; where others do
        self.last = {}  # those results by whose values one that is not finite shows

    def known(self, condition):
        """The answer that others have settled, or None."""
        if isinstance(condition, bool):
            return condition
        for asked, answer in self.asked:
            if asked is condition:
                return answer
        if len(condition.operands) != 2:
            return None
        name = getattr(condition.function, "__name__", None)
        return self.settled.get((name, *map(key, condition.operands)))

    def ask(self, condition):
        answer = self.known(condition)
        if answer is not None:
            return answer
        k = len(self.asked)
        if k > 64:
            raise NotTraceable
        answer = self.answers[k] if k < len(self.answers) else True
        self.asked.append((condition, answer))
        for name, a, b, is_so in _settled(condition, answer):
            self.settled[name, a, b] = is_so
        return answer


class _Trace(Expressions):
    """What all paths share: their expressions, and which path is the present one."""

    def __init__(self, modes):
        super().__init__()
        self.operations, self.path, self.modes = 0, None, modes

    def count(self):
        """One more operation of a function."""
        self.operations += 1
        if self.operations > _OPERATIONS:
            raise NotTraceable

    def ask(self, condition):
        """The answer to a truth value on the present path."""
        return self.path.ask(condition)

    def known(self, condition):
        """That answer, if it is settled already; else None."""
        return self.path.known(condition)

    def either(self, before, where):
        """A mask and another one; None: an empty one."""
        return where if before is None else self.run(_core.logical_or, before, where)

    def forbid(self, where):
        """No element that takes the path may be in `where`: the loop raises there."""
        if where is not False:
            self.path.bad = self.either(self.path.bad, where)

    def tell_where(self, category, name, where):
        """The elements in `where` that take the path warn, or do what errstate says."""
        mode = self.modes[category]
        if where is False or mode == "ignore":
            return
        if mode != "warn":
            self.forbid(where)
            return
        key, path = (category, name), self.path
        path.told[key] = self.either(path.told.get(key), where)
        path.odd = self.either(path.odd, where)

    def tell(self, name, result, operands, has_pole):
        """An operation whose infinities and NaN are told where no operand was one; has_pole: those
        of finite numbers are divisions by zero. Most programs have none at all: one look at that
        comes first (`odd`), and `look` only after it."""
        path = self.path
        path.results.append((name, result, operands, has_pole))
        for operand in operands[: _KEEPING.get(name, 0)]:
            path.last.pop(key(operand), None)
        path.last[key(result)] = result

    def odd(self, path):
        """Where a path may have something to tell, or where the loop raises on it."""
        doubt = path.odd if path.bad is None else self.either(path.odd, path.bad)
        for result in path.last.values():
            lost = self.run(_core.logical_not, self.run(_core.isfinite, result))
            doubt = self.either(doubt, lost)
        return doubt

    def look(self, path):
        """Finds out which results of a path are told, and as what."""
        self.path = path
        for name, result, operands, has_pole in path.results:
            floats = [x for x in operands if not _is_whole(x)]
            invalid, infinite = self.run(_core.isnan, result), self.run(_core.isinf, result)
            for x in floats:
                number = self.run(_core.logical_not, self.run(_core.isnan, x))
                invalid = self.run(_core.logical_and, invalid, number)
                infinite = self.run(_core.logical_and, infinite, self.run(_core.isfinite, x))
            self.tell_where("invalid", name, invalid)
            if name in _DIVISOR:
                zero = self.run(_core.equal, operands[_DIVISOR[name]], 0)
                other = self.run(_core.logical_not, zero)
                self.tell_where("divide", name, self.run(_core.logical_and, infinite, zero))
                self.tell_where("over", name, self.run(_core.logical_and, infinite, other))
            else:
                self.tell_where("divide" if has_pole else "over", name, infinite)


def _is_whole(x):
    """Whether an operand's value is an integer or a truth value."""
    return isinstance(x, int) if is_number(x) else x.dtype.kind in "bi"


def _paths(function, trace, args, kwargs):
    """(path, outputs) of every path through the function."""
    todo, found = [[]], []
    while todo:
        answers = todo.pop()
        trace.path = path = _Path(answers)
        try:
            outputs = function(*args, **kwargs)
        except NotTraceable:
            raise
        except Exception as error:  # the loop raises it, if an element takes the path
            raise NotTraceable from error
        found.append((path, outputs if isinstance(outputs, tuple) else (outputs,)))
        if len(found) + len(todo) > _PATHS:
            raise NotTraceable
        given = [answer for _, answer in path.asked]
        todo += [[*given[:k], False] for k in range(len(answers), len(given))]
    return found


def _number_of(value):
    """What a function gave: an array or a number that int64, float64 or bool hold."""
    if isinstance(value, Tracer):
        return value.value
    if is_number(value) and (type(value) is not int or -(2**63) <= value < 2**63):
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
    if yes is no or (type(yes) is type(no) and is_number(yes) and repr(yes) == repr(no)):
        return yes
    return trace.run(_core.where, condition, yes, no)


def _bounds(array):
    """Two numbers between which all elements of an array of integers lie."""
    info = _np.iinfo(array.dtype)
    if info.bits < 64 or array.size == 0:
        return info.min, info.max
    return int(array.min()), int(array.max())


def _argument(trace, value):
    """(what the function gets, the array or None)."""
    if isinstance(value, _np.generic):
        value = value.item()
    if is_number(value):
        return value, None
    if type(value) is _np.ndarray and value.dtype.kind in "biuf" and value.dtype.isnative:
        if value.dtype.char == "g":
            raise NotTraceable
        value = _core.asarray(value)
    if type(value) is not _core.ndarray or value.dtype.char not in "?bBhHiIlLqQefd":
        raise NotTraceable
    kind = value.dtype.kind
    if kind == "b":
        return Tracer(trace, trace.leaf(value), "b"), value
    if kind == "f":
        return Tracer(trace, trace.cast(trace.leaf(value), float), "f", (None, None)), value
    bounds = _bounds(value)
    if bounds[1] >= 2**63:
        raise NotTraceable
    return Tracer(trace, trace.cast(trace.leaf(value), _np.int64), "i", bounds), value


def _mixed_exactly(paths_outputs):
    """Whether the numbers that several paths give keep their values side by side in one array."""
    for outputs in zip(*paths_outputs, strict=True):
        kinds = {getattr(x, "kind", "f" if isinstance(x, float) else "i") for x in outputs}
        wide = any(
            abs(v) > 2**53
            for x in outputs
            for v in ((x.low, x.high) if isinstance(x, Tracer) else (x,))
            if isinstance(v, int)
        )
        if wide and kinds & set("fF"):
            return False
    return True


def _limits(ends):
    """Bounds of the numbers that all paths give for one result; None: some are floats."""
    low, high = [], []
    for x in ends:
        if isinstance(x, float) or getattr(x, "kind", "i") in "fF":
            return None
        low.append(x.low if isinstance(x, Tracer) else int(x))
        high.append(x.high if isinstance(x, Tracer) else int(x))
    return min(low), max(high)


def _as_loop(trace, value, limits, dtype):
    """(a result as the loop's becomes one of a dtype, the elements for which that fails or None, those for which the loop
    tells of an overflow or None). NotTraceable: it is not the device's."""
    if dtype.kind not in "biufc" or dtype.char in "gG":
        raise NotTraceable
    if is_number(value):
        value = trace.leaf(_core.asarray(value))
    outside = over = None
    if dtype.kind in "iu" and value.dtype.kind in "fi":
        info = _np.iinfo(dtype)
        if limits is not None:
            checks = [
                trace.run(compare, value, bound)
                for compare, bound, matters in (
                    (_core.less, info.min, limits[0] < info.min),
                    (_core.greater, info.max, limits[1] > info.max),
                )
                if matters
            ]
            outside = functools.reduce(trace.either, checks) if checks else None
        else:  # what int() of it is; NaN is no such number
            lowest = _core.greater if info.bits < 64 else _core.greater_equal
            inside = trace.run(
                _core.logical_and,
                trace.run(lowest, value, float(info.min - (info.bits < 64))),
                trace.run(_core.less, value, float(info.max + 1)),
            )
            outside = trace.run(_core.logical_not, inside)
    if dtype.char in "ef" and value.dtype.kind == "i":  # as an int does, by way of a float
        value = trace.cast(value, float)
    made = trace.cast(value, dtype)
    if dtype.char in "efF" and value.dtype == float and trace.modes["over"] != "ignore":
        infinite = trace.run(_core.isinf, made)
        over = trace.run(_core.logical_and, infinite, trace.run(_core.isfinite, value))
    return made, outside, over


def _first_dtypes(function, args, kwargs):
    """The dtypes of the first element's results, which decide in NumPy's loop."""

    def first(x):
        return _np.asarray(x.ravel()[:1] if _core._is_array(x) else x).flat[0]

    outputs = function(*map(first, args), **{k: first(v) for k, v in kwargs.items()})
    return [_np.asarray(x).dtype for x in (outputs if isinstance(outputs, tuple) else (outputs,))]


def call(function, args, kwargs, otypes):
    """What `function` gives for each element of the broadcast arguments, in the dtypes `otypes` (none: of the first
    element's results): a tuple of arrays; None where the loop has to run."""
    if not _is_plain(function, set()):
        return None
    modes = geterr()
    if modes["under"] != "ignore":
        return None
    trace = _Trace(modes)
    try:
        given = [_argument(trace, x) for x in args]
        named = {k: _argument(trace, x) for k, x in kwargs.items()}
        arrays = [a for _, a in [*given, *named.values()] if a is not None]
        shape = _np.broadcast_shapes(*[a.shape for a in arrays]) if arrays else ()
        if int(_np.prod(shape)) < _LEAST:
            return None
        with errstate(all="ignore"):
            found = _paths(
                _selecting(function, {}), trace, [x for x, _ in given],
                {k: x for k, (x, _) in named.items()},
            )  # fmt: skip
            paths, ends = zip(*found, strict=True)
            if len({len(outputs) for outputs in ends}) != 1 or not _mixed_exactly(ends):
                return None
            with errstate(**modes):
                found = otypes or _first_dtypes(function, args, kwargs)
            dtypes = [_np.dtype(t) for t in found]
            if len(dtypes) != len(ends[0]):
                return None
            made = [
                _as_loop(trace, _chosen(trace, paths, [_number_of(x) for x in outputs]), _limits(outputs), dtype)
                for outputs, dtype in zip(zip(*ends, strict=True), dtypes, strict=True)
            ]  # fmt: skip
            results, told = _looked_at(trace, paths, made)
    except NotTraceable:
        return None
    for category, name in told:
        text = f"{_WARNINGS[category]} encountered in {name}"
        warnings.warn(text, RuntimeWarning, stacklevel=4)
    return tuple(_filled(x, shape) for x in results)


def _filled(array, shape):
    return array if array.shape == shape else _core.broadcast_to(array, shape).copy()


def _any(trace, paths, masks):
    """Whether an element is in the mask of the path that it takes: an expression, or False."""
    chosen = _chosen(trace, paths, [False if mask is None else mask for mask in masks])
    return chosen if chosen is False else trace.run(any_of, chosen)


def _looked_at(trace, paths, made):
    """(the results, (category, name) of the warnings of the loop). NotTraceable: it raises. Whether there is anything to
    tell is found out with the results; most often there is not."""
    odd = [trace.odd(path) for path in paths]
    outside = [trace.run(any_of, mask) for _, mask, _ in made if mask is not None]
    over = [trace.run(any_of, mask) for _, _, mask in made if mask is not None]
    doubts = [x for x in (_any(trace, paths, odd), *outside, *over) if x is not False]
    wanted = [x for x, _, _ in made]
    if doubts:
        wanted.append(functools.reduce(trace.either, doubts))
    results = record(wanted)
    if not doubts or not bool(results.pop()):
        return results, []
    for path in paths:
        trace.look(path)
    keys = dict.fromkeys(key for path in paths for key in path.told)
    bad = [_any(trace, paths, [path.bad for path in paths]), *outside]
    told = {key: _any(trace, paths, [path.told.get(key) for path in paths]) for key in keys}
    if over:
        if trace.modes["over"] == "warn":
            told["over", "cast"] = functools.reduce(trace.either, over)
        else:
            bad += over
    if any(bool(x) for x in record([x for x in bad if x is not False])):
        raise NotTraceable
    kept = {key: x for key, x in told.items() if x is not False}
    found = record(list(kept.values()))
    return results, [key for key, is_in in zip(kept, found, strict=True) if bool(is_in)]
