"""Functions traced once for each kind of arguments, then replayed: `asnumpy.jit`.

The first call with arguments of some dtypes, shapes and strides runs the function and writes down what the library
launches: fused programs, operators, copies. Later calls launch the same with their own arrays: no Python, no planning.
Design: docs/design/0018-replay.md.
"""

import contextlib
import ctypes
import functools
import inspect
import os
import warnings
from collections import namedtuple

import numpy as _np

from asnumpy import _core
from asnumpy import random as _random  # noqa: F401 - its first import seeds, which no trace may

CacheInfo = namedtuple("CacheInfo", "hits misses maxsize currsize")

DEFAULT_MAXSIZE = 64
HOT = 1000  # replays after which a native function's programs are compiled, which takes 0.2 s


def _name(function):
    return getattr(function, "__name__", type(function).__name__)


def _as_tuple(value, kind, what):
    if value is None:
        return ()
    values = (value,) if isinstance(value, kind) else tuple(value)
    for one in values:
        if not isinstance(one, kind) or isinstance(one, bool):
            raise TypeError(
                f"jit: {what} has {one!r}; it is {'an int' if kind is int else 'a name'} or a tuple of them"
            )
    return values


def _statics(function, numbers, names):
    """Positions and names of the static arguments, each named both ways where the signature tells."""
    numbers, names = (
        _as_tuple(numbers, int, "static_argnums"),
        _as_tuple(names, str, "static_argnames"),
    )
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return numbers, names
    positional = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    keywords = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    takes_any = any(p.kind == p.VAR_KEYWORD for p in parameters)
    takes_more = any(p.kind == p.VAR_POSITIONAL for p in parameters)
    for name in names:
        if name not in keywords and not takes_any:
            raise ValueError(
                f"jit: static_argnames has {name!r}; {_name(function)}() takes {sorted(keywords)}"
            )
    at = set()
    for number in numbers:
        place = number + len(positional) if number < 0 else number
        if place < 0 or (place >= len(positional) and not takes_more):
            raise ValueError(
                f"jit: static_argnums has {number}; {_name(function)}() has {len(positional)} positional arguments"
            )
        at.add(place)
    also = {positional[i] for i in at if i < len(positional) and positional[i] in keywords}
    at |= {i for i, name in enumerate(positional) if name in names}
    return tuple(sorted(at)), tuple(sorted(set(names) | also))


def _example(shape, dtype):
    """An array for `compile` that few functions stumble over: a matrix is regular, whole numbers are indices."""
    import asnumpy as anp

    dtype = anp.dtype(dtype)
    if dtype.kind not in "fc" and dtype.name != "bfloat16":
        return anp.zeros(shape, dtype)
    a = _np.ones(shape, "complex64" if dtype.kind == "c" else "float32")
    if a.ndim >= 2:
        a += a.shape[-1] * _np.eye(*a.shape[-2:], dtype=a.dtype)
    return anp.asarray(a).astype(dtype)


def _is_shape(spec):
    return (
        isinstance(spec, tuple)
        and not hasattr(spec, "_fields")
        and all(type(n) is int for n in spec)
    )


def _example_of(spec, dtype):
    """What `compile` calls the function with for one argument."""
    import asnumpy as anp

    if _core._is_array(spec):
        made = anp.empty_like(spec)
        if made.strides != spec.strides:
            raise TypeError(
                f"jit: compile() got an array with strides {spec.strides}, which is a view; arrays of the caller's are "
                "not written to: pass a contiguous one, or call the function"
            )
        made[...] = _example(spec.shape, spec.dtype)
        return made
    if _is_shape(spec):
        return _example(spec, dtype)
    if hasattr(spec, "shape") and hasattr(spec, "dtype") and not isinstance(spec, _np.generic):
        return _example(tuple(spec.shape), spec.dtype)
    if isinstance(spec, dict):
        return {key: _example_of(value, dtype) for key, value in spec.items()}
    if isinstance(spec, tuple) and hasattr(spec, "_fields"):
        return type(spec)._make(_example_of(value, dtype) for value in spec)
    if isinstance(spec, (list, tuple)):
        return type(spec)(_example_of(value, dtype) for value in spec)
    return spec


class _Jitted(_core._Jit):
    """What `jit` returns: the function, with `compile`, `explain`, `cache_info` and `cache_clear`."""

    def __init__(self, function, numbers, names, maxsize, native):
        super().__init__(function, numbers, names, maxsize, HOT if native else 0)
        self._static_numbers, self._static_names = numbers, names
        functools.update_wrapper(self, function)
        self._name = _name(function)

    def __repr__(self):
        return f"<jitted {self.__wrapped__!r}>"

    def __reduce__(self):
        return self.__qualname__

    def compile(self, *specs, dtype=float, **named):
        """Traces the function before it is called, and returns it.

        Each argument is a shape (a tuple of ints, of `dtype`), an array or anything with `shape` and `dtype` to be
        like, or, for static arguments and numbers, the value itself; tuples, lists and dicts of these are as the
        function takes them. The function runs once, on arrays made for it.
        """
        args = [
            s if i in self._static_numbers else _example_of(s, dtype) for i, s in enumerate(specs)
        ]
        kwargs = {
            k: s if k in self._static_names else _example_of(s, dtype) for k, s in named.items()
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            self(*args, **kwargs)
        self._compile_last()
        return self

    def _compile_text(self, text):
        """The address of the table in the library of a trace's text; None, with a warning, without a compiler."""
        from asnumpy._custom import _compiler

        try:
            library = _compiler.compile_source(text, self._name)
        except (_compiler.CompileError, OSError) as error:
            first = str(error).partition("\n")[0]
            warnings.warn(
                f"jit: {self._name} runs without native code: {first}", RuntimeWarning, stacklevel=2
            )
            return None
        return ctypes.addressof(ctypes.c_char.in_dll(library, "asnumpy_native"))

    def explain(self):
        """What the calls traced so far launch, as text: for each kind of arguments its programs, operators, memory."""
        entries = self._entries()
        if not entries:
            return f"{self._name}: nothing is traced yet"
        parts = []
        for e in entries:
            static = "".join(f", {s!r}" for s in e["statics"])
            parts.append(f"{self._name}({', '.join(e['arrays'])}{static})\n{e['text']}")
        return "\n".join(parts)

    def cache_info(self):
        """(hits, misses, maxsize, currsize), as `functools.lru_cache` counts them; a miss is a trace."""
        return CacheInfo(*self._counts())


def jit(
    function=None,
    *,
    static_argnums=None,
    static_argnames=None,
    maxsize=DEFAULT_MAXSIZE,
    native=False,
):
    """Traces a function once for each kind of arguments, and replays what it launched.

    The first call with arrays of some dtypes, shapes and strides runs the function and writes down what
    the library launches; later calls with arrays of that kind launch the same at once. Python code runs
    in the first call alone: conditions on shapes are decided then, a look at an array's value is a
    RuntimeError that names its line.

    Parameters
    ----------
    function : callable
        Takes and returns arrays, numbers, strings, None, and tuples, lists and dicts of these. NumPy
        arrays become arrays of asnumpy over the same memory. Writes to arguments happen. Full
        reductions and elements are 0-d arrays. Without it jit is a decorator with options.
    static_argnums, static_argnames : int or str, or tuples of them
        Arguments that are no arrays: hashable, known to the trace, which is made again for each value.
        Numbers and strings are that without being named.
    maxsize : int
        How many traces are kept; the one not called for longest goes.
    native : bool
        Whether the small programs of a trace that is called often (or made by compile) are compiled by
        the system's C compiler, to code for just their shapes, kept on disk. Same results; what gains
        are steps of a few thousand elements and less. Without a compiler a RuntimeWarning says so, and
        nothing else changes.

    Returns
    -------
    callable
        With compile(*shapes, dtype=float), explain(), cache_info(), cache_clear() and __wrapped__.

    Raises
    ------
    RuntimeError
        In the first call: a value is asked for, an operation runs on the host, or an array made in the
        trace outlives it.
    TypeError
        An argument or a result is of another type; a static argument is not hashable.

    Examples
    --------
    >>> import asnumpy as np
    >>> @np.jit
    ... def f(x, y):
    ...     return np.sqrt(x * x + y * y).sum()
    >>> float(f(np.ones(3), np.zeros(3)))
    3.0
    """
    if function is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            maxsize=maxsize,
            native=native,
        )
    if not callable(function):
        raise TypeError(f"jit takes a function, got {type(function).__name__}")
    if isinstance(function, _Jitted):
        function = function.__wrapped__
    numbers, names = _statics(function, static_argnums, static_argnames)
    return _Jitted(function, numbers, names, maxsize, native)


@contextlib.contextmanager
def disable_jit(disable=True):
    """Runs jitted functions as they are written, within a with block.

    ASNUMPY_REPLAY=0 does so everywhere.

    Parameters
    ----------
    disable : bool
        False: jits them again.

    Returns
    -------
    context manager

    Examples
    --------
    >>> import asnumpy as np
    >>> @np.jit
    ... def f(x):
    ...     print("as it is written")
    ...     return x + 1
    >>> with np.disable_jit():
    ...     _ = f(np.ones(2)), f(np.ones(2))
    as it is written
    as it is written
    """
    before = _core._set_jit(not disable)
    try:
        yield
    finally:
        _core._set_jit(before)


if os.environ.get("ASNUMPY_REPLAY") == "0":
    _core._set_jit(False)
