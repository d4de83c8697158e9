"""Scalar functions traced: what `vectorize` runs as fused operations instead of a Python loop.

A function of numbers is called with tracers (`asnumpy._tracers`), which stand for all elements at once: arithmetic,
comparisons, elementwise ufuncs, `where` and `clip` on them are recorded for the arrays. Where it asks for a truth value
(an ``if``, ``and``, ``min``, ``max``) it is called again for the other answer, so that every path through it is known;
the results of the paths are put together by their conditions. All of it is one fused program, as far as it fits.

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

import dis
import inspect
import types
import warnings

import numpy as _np

from . import _core
from ._errstate import errstate, geterr
from ._tracers import FUNCTIONS, NotTraceable, Tracer, is_number, ufunc_name

_PATHS = 128  # through a function
_OPERATIONS = 2000  # of all paths together
_LEAST = 256  # elements for which a trace pays

# What errstate calls it, and what its warning does.
_WARNINGS = {"divide": "divide by zero", "over": "overflow", "invalid": "invalid value"}
# Which operand makes a pole where it is 0.
_DIVISOR = {"divide": 1, "floor_divide": 1, "power": 0, "float_power": 0}
_BUILTINS = {abs, min, max, pow}
_FORBIDDEN = ("STORE_GLOBAL", "STORE_NAME", "STORE_DEREF", "STORE_ATTR", "STORE_SUBSCR", "DELETE_", "IMPORT_", "YIELD",
              "RAISE", "SETUP_", "PUSH_EXC", "BEFORE_WITH", "GET_ITER", "FOR_ITER", "MAKE_FUNCTION", "MAKE_CELL",
              "BUILD_LIST", "BUILD_MAP", "BUILD_SET", "BUILD_STRING", "FORMAT_VALUE", "FORMAT_SIMPLE", "IS_OP",
              "CONTAINS_OP", "BINARY_SUBSCR", "SEND", "AWAIT", "MATCH_", "JUMP_BACKWARD")  # fmt: skip


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


class _Path:
    """One call of the function: the answers to give, what it asked, and what would happen in the loop."""

    def __init__(self, answers):
        self.answers, self.asked = answers, []
        self.bad, self.told = None, {}  # where the loop raises; where it warns, by what is said
        self.results, self.odd = [], None  # of float64 that may come to that; where any may be

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


class _Trace:
    """What all paths share: an operation that several of them have is done once."""

    def __init__(self, modes):
        self.operations, self.path, self.done, self.modes = 0, None, {}, modes

    def count(self):
        """One more operation of a function."""
        self.operations += 1
        if self.operations > _OPERATIONS:
            raise NotTraceable

    def ask(self, condition):
        """The answer to a truth value on the present path."""
        return self.path.ask(condition)

    def run(self, ufunc, *operands):
        key = (ufunc, *[id(x) if _core._is_array(x) else repr(x) for x in operands])
        found = self.done.get(key)
        if found is None:
            # the operands live as long as their numbers are keys
            found = self.done[key] = (ufunc(*operands), operands)
        return found[0]

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
        finite = self.run(_core.isfinite, result)
        path.odd = self.either(path.odd, self.run(_core.logical_not, finite))

    def look(self, path):
        """Finds out which results of a path are told, and as what."""
        self.path = path
        for name, result, operands, has_pole in path.results:
            floats = [x for x in operands if not _is_whole(x)]
            invalid, infinite = _core.isnan(result), _core.isinf(result)
            for x in floats:
                invalid, infinite = invalid & ~_core.isnan(x), infinite & _core.isfinite(x)
            self.tell_where("invalid", name, invalid)
            if name in _DIVISOR:
                zero = _core.equal(operands[_DIVISOR[name]], 0)
                self.tell_where("divide", name, infinite & zero)
                self.tell_where("over", name, infinite & ~zero)
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
    if yes is no or (type(yes) is type(no) and not _core._is_array(yes) and repr(yes) == repr(no)):
        return yes
    return trace.run(_core.where, condition, yes, no)


def _filled(value, shape):
    return value if _core._is_array(value) and value.shape == shape else _core.full(shape, value)


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
        return Tracer(trace, value, "b"), value
    if kind == "f":
        array = value.astype(float, copy=False)
        return Tracer(trace, array, "f", (None, None)), array
    bounds = _bounds(value)
    if bounds[1] >= 2**63:
        raise NotTraceable
    array = value.astype(_np.int64, copy=False)
    return Tracer(trace, array, "i", bounds), array


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


def call(function, args, kwargs):
    """What `function` gives for each element of the broadcast arguments: a tuple of arrays and whether the function
    returns a tuple; None where the loop has to run."""
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
                function, trace, [x for x, _ in given], {k: x for k, (x, _) in named.items()}
            )
            paths, ends = zip(*found, strict=True)
            if len({len(outputs) for outputs in ends}) != 1 or not _mixed_exactly(ends):
                return None
            results = tuple(
                _filled(_chosen(trace, paths, [_number_of(x) for x in outputs]), shape)
                for outputs in zip(*ends, strict=True)
            )
            told = _told(trace, paths)
            if told is None:
                return None
            _core.synchronize()
    except NotTraceable:
        return None
    for category, name in told:
        text = f"{_WARNINGS[category]} encountered in {name}"
        warnings.warn(text, RuntimeWarning, stacklevel=4)
    return results


def _any(trace, paths, masks):
    """Whether an element is in the mask of the path that it takes, as an array; None: an empty one."""
    chosen = _chosen(trace, paths, [False if mask is None else mask for mask in masks])
    return chosen if chosen is False else _core.any(chosen, keepdims=True)


def _told(trace, paths):
    """(category, name) of the warnings of the loop; None: it raises."""
    odd = [path.odd if path.bad is None else trace.either(path.odd, path.bad) for path in paths]
    if not bool(_any(trace, paths, odd)):
        return []
    for path in paths:
        trace.look(path)
    keys = dict.fromkeys(key for path in paths for key in path.told)
    bad = _any(trace, paths, [path.bad for path in paths])
    told = {key: _any(trace, paths, [path.told.get(key) for path in paths]) for key in keys}
    return None if bool(bad) else [key for key, is_in in told.items() if bool(is_in)]
