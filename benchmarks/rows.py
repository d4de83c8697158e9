"""What a row of the bench is: data. One expression, its inputs, its bar; the runner does the rest.

The expression is Python text over `np` and the inputs' names, so that one row serves every library whose
names are NumPy's; `peers` holds the text of a library that spells it differently ("" when it lacks the
operation). Inputs are specifications, drawn in the worker from one seeded generator: random, never zeros.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of a table.

    code      an expression whose value is kept and finished, or a statement (`statement`)
    inputs    name -> specification (below); also visible to `setup`
    setup     run once for each library before timing
    bar       times as fast as NumPy to reach, with one thread and with two; None: no bar, and with two no run
    moved     bytes that must be read and written at least; flops: operations at least. For the limit
    peers     library -> its own text; "" says it lacks the operation; "numpy" changes the yardstick
    fused     also torch.compile and Numba, which take seconds to compile one row
    numpy_only  no other peer
    small     values are there at once: finished once a sample, not once a call
    check     compare each library's result with NumPy's
    build     instead of code: library name -> callable; `timed`: the callable returns its own seconds,
              or bytes (`unit` "B")
    family, n  for the plots: the operation and its size
    pause     seconds before a sample where other libraries' threads spin after their work
    """

    group: str
    label: str
    code: str = ""
    inputs: dict = dataclasses.field(default_factory=dict)
    setup: str = ""
    bar: tuple = (None, None)
    moved: int = 0
    flops: int = 0
    single: bool = False
    peers: dict = dataclasses.field(default_factory=dict)
    statement: bool = False
    small: bool = False
    fused: bool = False
    numpy_only: bool = False
    check: bool = True
    build: Callable | None = None
    timed: bool = False
    unit: str = "s"
    family: str = ""
    n: int = 0
    pause: float = 0.0
    quick: bool = False


def _draw(kind, rng, shape, dtype, low, high, p):
    if kind == "integers":
        return rng.integers(low, high, shape, dtype=dtype)
    if kind == "mask":
        return rng.random(shape) < p
    if kind == "permutation":
        return rng.permutation(shape).astype(dtype)
    if kind in ("normal", "diagonal", "definite"):
        values = rng.standard_normal(shape)
    else:
        values = rng.random(shape) * (high - low) + low
    if kind == "definite":
        values = values @ values.swapaxes(-1, -2)
    if kind in ("diagonal", "definite"):  # far from singular
        values = values + shape[-1] * numpy.eye(shape[-1])
    if kind == "sorted":
        values.sort()
    if numpy.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def spec(kind, shape, dtype="float64", low=0.0, high=1.0, p=0.5):
    """An input: `kind` of values in the given shape."""
    return (kind, shape, dtype, low, high, p)


def uniform(shape, dtype="float64", low=0.0, high=1.0):
    return spec("uniform", shape, dtype, low, high)


def normal(shape, dtype="float64"):
    return spec("normal", shape, dtype)


def integers(shape, low, high, dtype="int64"):
    return spec("integers", shape, dtype, low, high)


def mask(shape, p=0.5):
    return spec("mask", shape, p=p)


def permutation(n, dtype="int64"):
    return spec("permutation", n, dtype)


def make_inputs(row, seed=0):
    """The row's arrays, NumPy's; values that are no specification stay as they are."""
    rng = numpy.random.default_rng(seed)
    return {
        name: _draw(s[0], rng, *s[1:])
        if isinstance(s, tuple) and s and isinstance(s[0], str)
        else s
        for name, s in row.inputs.items()
    }


def size_name(n):
    """1e6 for 1_000_000, 4096 for 4096."""
    exponent = int(round(math.log10(n))) if n > 0 else 0
    return f"1e{exponent}" if n >= 1000 and 10**exponent == n else str(n)
