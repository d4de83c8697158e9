"""`numpy.random` of covered code: NumPy's own generators, whose arrays are handed over without a copy.

AsNumpy's generators draw the same numbers, but a library knows NumPy's alone: it asks
`isinstance(seed, numpy.random.Generator)`, and without a seed it draws from NumPy's one global
state. A program that gives one generator to its own code and to a library, or that seeds the global
state for both, must see one stream. So the state is NumPy's, and the classes are subclasses of NumPy's.
A library that draws from a generator of the program's gets NumPy's arrays: who draws is told by the frame.
"""

import functools
import sys

import numpy

from asnumpy._host_values import host_copy

from . import _staged
from ._arrays import adopt, pass_back

__all__ = ["Generator", "RandomState"]


def _called(plain, args, kwargs, at):
    """plain(*args, **kwargs) on NumPy's arrays, for who called the caller. The argument `at`, or out=, is written: an array that the
    host does not reach gets what was written to its copy."""
    host = [host_copy(x) for x in args]
    named = {k: host_copy(v) for k, v in kwargs.items()} if kwargs else kwargs
    result = plain(*host, **named)
    out = kwargs.get("out")
    if out is not None:
        pass_back(out, named["out"])
        return out
    if at is not None:
        pass_back(*((args[at], host[at]) if len(args) > at else (kwargs["x"], named["x"])))
    crossing = _staged.crossing
    if crossing is not None and crossing.in_library(sys._getframe(2)):
        return result
    return adopt(result)


def _method(name, plain):
    at = 1 if name == "shuffle" else None

    @functools.wraps(plain)
    def call(self, /, *args, **kwargs):
        return _called(plain, (self, *args), kwargs, at)

    return call


def _function(plain):
    at = 0 if plain.__name__ == "shuffle" else None

    @functools.wraps(plain)
    def call(*args, **kwargs):
        return _called(plain, args, kwargs, at)

    return call


def _methods_of(cls):
    return {
        name: _method(name, value)
        for name, value in vars(cls).items()
        if not name.startswith("_") and callable(value) and not isinstance(value, type)
    }


def _spawn(self, n_children):
    """n_children generators of this class from spawned seed sequences."""
    return [type(self)(bits) for bits in self.bit_generator.spawn(n_children)]


class _AsNumpys(type):
    """Of the classes below: what a library made is an instance, too."""

    def __instancecheck__(cls, x):
        own = cls in (Generator, RandomState)
        return isinstance(x, cls.__base__) if own else type.__instancecheck__(cls, x)


_NAMES = {"__module__": "numpy.random", "__slots__": ()}
_OF_GENERATOR = _methods_of(numpy.random.Generator)
Generator = _AsNumpys(
    "Generator", (numpy.random.Generator,), {**_OF_GENERATOR, "spawn": _spawn, **_NAMES}
)
RandomState = _AsNumpys(
    "RandomState", (numpy.random.RandomState,), {**_methods_of(numpy.random.RandomState), **_NAMES}
)


@functools.wraps(numpy.random.default_rng)
def default_rng(seed=None):
    if isinstance(seed, numpy.random.Generator):
        return seed
    made = numpy.random.default_rng(host_copy(seed))
    return Generator(made.bit_generator)


def __getattr__(name):
    """The functions of the global state, as they are asked for."""
    plain = getattr(numpy.random, name)
    owner = getattr(plain, "__self__", None)
    if not isinstance(owner, numpy.random.RandomState):
        raise AttributeError(f"numpy.random.{name} is NumPy's own")
    return _function(plain)
