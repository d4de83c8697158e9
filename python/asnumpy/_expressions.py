"""Expressions over arrays that are recorded when all of them is known (`asnumpy._traced`).

A trace of a scalar function finds out as it goes which operations there are; whether it counts, and what of it anybody
needs, is known at its end. So an operation becomes an `Expression` first: its function and its operands. Equal ones are
one object. `record` then records those that the wanted ones are made of, each once and just before it is read, and lets
go of a value behind its last reader, so that what the engine fuses has no temporary in memory.
"""

import collections
import functools

import numpy as _np

from . import _core


class Expression:
    """A function of expressions and numbers, or an array.

    probe: its value for an array of one element 1, by the library itself, for the dtype.
    """

    __slots__ = ("function", "operands", "probe")

    def __init__(self, function, operands, probe):
        self.function, self.operands, self.probe = function, operands, probe

    @property
    def dtype(self):
        return self.probe.dtype


def key(operand):
    """What tells an operand from others."""
    return id(operand) if isinstance(operand, Expression) else repr(operand)


class Expressions:
    """All of a trace: each once."""

    def __init__(self):
        self._found, self._leaves = {}, []

    def leaf(self, array):
        """An array as it is."""
        made = Expression(None, (array,), _core.ones(1, array.dtype))
        self._leaves.append(made)
        return made

    def run(self, function, *operands):
        """function(*operands). TypeError: it has no loop for them."""
        of = (function, *map(key, operands))
        found = self._found.get(of)
        if found is None:
            # The operands live as long as their numbers are keys.
            probes = [x.probe if isinstance(x, Expression) else x for x in operands]
            found = self._found[of] = Expression(function, operands, function(*probes))
        return found

    def cast(self, value, dtype):
        """An expression in another dtype."""
        dtype = _np.dtype(dtype)
        return value if value.dtype == dtype else self.run(_cast(dtype), value)


@functools.cache
def _cast(dtype):
    """The function that casts to a dtype, the same for the same."""
    return lambda x: x.astype(dtype)


def any_of(mask):
    """Whether a mask has an element, as an array of one: nothing is waited for."""
    return _core.any(mask, keepdims=True)


def _parts(expression):
    return [x for x in expression.operands if isinstance(x, Expression)]


def _in_order(wanted):
    """What the wanted expressions are made of, operands first, each once."""
    order, seen, todo = [], set(), [(x, False) for x in reversed(wanted)]
    while todo:
        expression, ready = todo.pop()
        if ready:
            order.append(expression)
        elif id(expression) not in seen:
            seen.add(id(expression))
            todo.append((expression, True))
            if expression.function is not None:
                todo += [(x, False) for x in reversed(_parts(expression))]
    return order


def record(wanted):
    """The arrays of expressions, recorded for the engine."""
    order = _in_order(wanted)
    readers = collections.Counter(id(x) for x in wanted)
    for expression in order:
        if expression.function is not None:
            readers.update(id(x) for x in _parts(expression))
    values = {}

    def read(operand):
        """An operand's value; its last reader takes it."""
        if not isinstance(operand, Expression):
            return operand
        readers[id(operand)] -= 1
        return values[id(operand)] if readers[id(operand)] else values.pop(id(operand))

    for expression in order:
        values[id(expression)] = (
            expression.operands[0]
            if expression.function is None
            else expression.function(*map(read, expression.operands))
        )
    return [read(x) for x in wanted]
