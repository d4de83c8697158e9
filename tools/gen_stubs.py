"""Writes the package's type stubs (*.pyi) from the package itself, when it is built.

usage: gen_stubs.py PACKAGE LIBS OUT
PACKAGE: the folder python/asnumpy; LIBS: that of the built libraries; OUT/asnumpy/**.pyi is written.

To a type checker AsNumpy's arrays are NumPy's, as they are to `isinstance` when the program runs, and a
name that NumPy has is NumPy's, with all that NumPy's stubs know of shapes and dtypes. Written here are the
names that only AsNumpy has, from the signatures of the running package. Functions that take device=, of
which NumPy's stubs know "cpu" alone, are in stub_devices.py. `python -m mypy.stubtest asnumpy` compares
stubs and package; docs/design/0032 has the reasons and figures.
"""

import importlib
import inspect
import pathlib
import sys
import tempfile
import types

import numpy
from stub_devices import DEVICES, FREQUENCIES, IMPORTS


def words(text):
    """The words of a text, as a set."""
    return frozenset(text.split())


HEADER = """from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Concatenate, Generic, Literal, NamedTuple, ParamSpec, SupportsIndex, TypeVar, overload

import builtins as _b
import contextlib as _contextlib

import numpy as _np
from numpy import ndarray
from numpy.typing import ArrayLike as _ArrayLike, DTypeLike

{imports}
"""
# Parameters by name; a default of a plain type decides where a name is not here.
PARAMETERS = {
    "dtype": "DTypeLike | None", "shape": "SupportsIndex | Sequence[SupportsIndex] | None", "array": "_ArrayLike | None",
    "static_argnums": "SupportsIndex | Iterable[SupportsIndex] | None", "static_argnames": "str | Iterable[str] | None",
    "maxsize": "int", "func": "Callable[..., Any]", "function": "Callable[..., Any] | None",
}  # fmt: skip
# Results of functions that only AsNumpy has, where something is known of them.
RESULTS = {
    "_b.bool": "lazy supports",
    "int": "get_device_count max_memory_allocated memory_allocated",
    "None": "reset_peak_memory_stats synchronize",
    "ndarray": "from_numpy to_numpy",
    "list[Any]": "batch",
    "_contextlib.AbstractContextManager[None]": "disable_jit",
    "Stream": "current_stream default_stream",
}
RESULT = {name: result for result, names in RESULTS.items() for name in names.split()}


def type_of(parameter):
    """A parameter's type."""
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return "Any"
    if parameter.name in PARAMETERS:
        return PARAMETERS[parameter.name]
    plain = {bool: "_b.bool", str: "str", int: "SupportsIndex"}
    return plain.get(type(parameter.default), "Any")


def parameters_of(signature):
    """The parameter list of a signature as stub text."""
    parts, kinds = [], inspect.Parameter
    previous = None
    for p in signature.parameters.values():
        if previous is kinds.POSITIONAL_ONLY and p.kind is not kinds.POSITIONAL_ONLY:
            parts.append("/")
        if p.kind is kinds.KEYWORD_ONLY and previous not in (
            kinds.KEYWORD_ONLY,
            kinds.VAR_POSITIONAL,
        ):
            parts.append("*")
        star = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}.get(p.kind, "")
        text = f"{star}{p.name}"
        if p.name != "self" or previous is not None:
            text += f": {type_of(p)}"
        if p.default is not p.empty:
            text += " = ..."
        parts.append(text)
        previous = p.kind
    if previous is kinds.POSITIONAL_ONLY:
        parts.append("/")
    return ", ".join(parts)


def signature_of(function):
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def function_text(name, function, result, indent="", bound="self, "):
    """A definition; a function without a signature takes anything."""
    signature = signature_of(function)
    if signature is None:
        parameters = f"{bound if indent else ''}*args: Any, **kwargs: Any"
    else:
        parameters = parameters_of(signature)
    return f"{indent}def {name}({parameters}) -> {result}: ...\n"


# Names of NumPy's that its own stubs lack.
UNKNOWN = words("get_bit_generator set_bit_generator")
# What a class has of object, or tells type checkers nothing.
SKIPPED = words(
    "__class__ __dict__ __doc__ __hash__ __init_subclass__ __subclasshook__ __new__ __init__ __dir__ "
    "__getattribute__ __setattr__ __delattr__ __module__ __weakref__ __getstate__ __sizeof__ __signature__ "
    "__reduce_ex__ __annotations__ __match_args__ __orig_bases__ __slots__ __getnewargs__"
)


def class_text(name, cls):
    """A class: its attributes and methods."""
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        fields = (
            f"    {f}: Any{' = ...' if f in cls._field_defaults else ''}\n" for f in cls._fields
        )
        own = [m for m in sorted(vars(cls)) if m not in cls._fields and not m.startswith("_")]
        return f"class {name}(NamedTuple):\n" + "".join(fields) + "".join(members_text(cls, own))
    bases = ""
    if issubclass(cls, Exception):
        bases = f"(_b.{next(c.__name__ for c in cls.__mro__ if c.__module__ == 'builtins')})"
    lines = [f"class {name}{bases}:\n"]
    ours = [c for c in cls.__mro__ if c.__module__.split(".")[0] == "asnumpy"]
    members = sorted({member for c in ours for member in vars(c)})
    if "__init__" in members and signature_of(cls.__init__):
        lines.append(function_text("__init__", cls.__init__, "None", "    "))
    lines += members_text(cls, members)
    return "".join(lines) + ("    ...\n" if len(lines) == 1 else "")


def members_text(cls, members):
    """Lines of a class: methods and properties of these names."""
    lines = []
    for member in members:
        if member in SKIPPED or (member.startswith("_") and not member.startswith("__")):
            continue
        value = inspect.getattr_static(cls, member)
        if isinstance(value, (staticmethod, classmethod)):
            decorator = type(value).__name__
            bound = "" if decorator == "staticmethod" else "cls, "
            lines.append(
                f"    @{decorator}\n" + function_text(member, value.__func__, "Any", "    ", bound)
            )
        elif callable(value):
            lines.append(function_text(member, value, "Any", "    "))
        else:
            lines.append(f"    @property\n    def {member}(self) -> Any: ...\n")
    return lines


# What `jit` returns; of a method's class, what the method takes after self.
JITTED = """_P = ParamSpec("_P")
_Q = ParamSpec("_Q")
_R = TypeVar("_R")
_S = TypeVar("_S")

class _CacheInfo(NamedTuple):
    hits: int
    misses: int
    maxsize: int
    currsize: int

class _Jitted(Generic[_P, _R]):
    __name__: str
    __qualname__: str
    __wrapped__: Callable[_P, _R]
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    @overload
    def __get__(self, instance: None, owner: type[Any] | None = ..., /) -> _Jitted[_P, _R]: ...
    @overload
    def __get__(self: _Jitted[Concatenate[_S, _Q], _R], instance: _S, owner: type[Any] | None = ..., /) -> Callable[_Q, _R]: ...
    def compile(self, *specs: Any, dtype: DTypeLike = ..., **named: Any) -> _Jitted[_P, _R]: ...
    def explain(self) -> str: ...
    def cache_info(self) -> _CacheInfo: ...
    def cache_clear(self) -> None: ...

"""


def jit_text(name, function):
    """`jit` of a function, and as a decorator with arguments."""
    first, *others = inspect.signature(function).parameters.values()
    keywords = parameters_of(inspect.Signature(others))
    one = f"{first.name}: Callable[_P, _R], {keywords}"
    none = f"{first.name}: None = ..., {keywords}"
    return (
        f"@overload\ndef {name}({one}) -> _Jitted[_P, _R]: ...\n"
        f"@overload\ndef {name}({none}) -> Callable[[Callable[_P, _R]], _Jitted[_P, _R]]: ...\n"
    )


def all_text(module):
    """The module's own list of names."""
    names = getattr(module, "__all__", None)
    if names is None:
        return ""
    return "__all__ = [\n" + "".join(f'    "{n}",\n' for n in names) + "]\n"


def module_value(name, value, top):
    """The import of a module that a module has as an attribute."""
    if value.__name__.startswith("asnumpy"):
        return f"from . import {value.__name__.rpartition('.')[2]} as {name}\n"
    if value.__name__.removeprefix("numpy.") in asnumpys()._submodules.NUMPYS:
        return "" if top else f"from . import {name} as {name}\n"  # the top imports them all
    return f"{name}: Any\n"


def asnumpys():
    """The package that is told of."""
    return importlib.import_module("asnumpy")


def value_text(name, value, module, theirs):
    """The definition of one name of a module; theirs: NumPy's module of that name, or None."""
    top = module is asnumpys()
    if isinstance(value, types.ModuleType):
        return module_value(name, value, top)
    if top and name in DEVICES:
        return DEVICES[name]
    if module.__name__ == "asnumpy.fft" and name in FREQUENCIES:
        return FREQUENCIES[name]
    if hasattr(theirs, name) and name not in UNKNOWN:
        return f"from {theirs.__name__} import {name} as {name}\n"
    if value is asnumpys().ndarray:
        return f"{name} = ndarray\n"
    if isinstance(value, asnumpys().ufunc):
        return f"{name}: _np.ufunc\n"
    if top and name == "jit":
        return JITTED + jit_text(name, value)
    if isinstance(value, type):
        place, own = value.__module__, value.__name__
        if place.split(".")[0] == "asnumpy":
            return class_text(name, value)
        public = "._" not in place and getattr(sys.modules.get(place), own, None) is value
        return f"from {place} import {own} as {name}\n" if public else f"{name}: type[Any]\n"
    if callable(value) and signature_of(value) is not None and hasattr(value, "__name__"):
        return function_text(name, value, RESULT.get(name, "Any") if top else "Any")
    plain = {bool: "_b.bool", int: "int", float: "float", str: "str"}
    return f"{name}: {plain.get(type(value), 'Any')}\n"


def numpys_module(name):
    """NumPy's module of that name within it, or None."""
    try:
        return importlib.import_module(f"numpy.{name}" if name else "numpy")
    except ModuleNotFoundError:
        return None


def module_text(name):
    """The stub of a module of the package, by its name within it ("": the package)."""
    module = importlib.import_module(f"asnumpy.{name}" if name else "asnumpy")
    theirs = numpys_module(name)
    listed = getattr(module, "__all__", None)
    names = set(listed or [n for n in vars(module) if not n.startswith("_")])
    lines = [value_text(n, getattr(module, n), module, theirs) for n in sorted(names)]
    imports = IMPORTS if name in ("", "fft") else ""
    if not name:
        numpys = {n for n in asnumpys()._submodules.NUMPYS if "." not in n}
        imports += "".join(
            f"from . import {n} as {n}\n" for n in sorted(asnumpys()._SUBMODULES | numpys)
        )
        imports += "".join(f"from numpy import {n} as {n}\n" for n in sorted(asnumpys()._NUMPYS - names)
                           if hasattr(numpy, n))  # fmt: skip
        lines.append(
            "__version__: str\n__array_api_version__: str\n__array_namespace_info__: Any\n"
        )
    within = [
        n.rpartition(".")[2] for n in sorted(MODULES) if n.rpartition(".")[0] == name and name
    ]
    imports += "".join(f"from . import {n} as {n}\n" for n in within if n not in names)
    if name == "ops":  # operators that programs register
        lines.append("def __getattr__(name: str) -> Any: ...\n")
    return HEADER.format(imports=imports) + all_text(module) + "".join(lines)


# The modules that are the package's own; the others are NumPy's, as they stand.
MODULES = words(
    "__main__ acl auto balance debug doctor memory monitor nn ops precision profile fft linalg random random.mtrand "
    "random.bit_generator "
    "testing typing lib lib.scimath lib.stride_tricks lib.array_utils lib.npyio lib.mixins version polynomial "
    "polynomial.polynomial polynomial.chebyshev polynomial.legendre polynomial.hermite polynomial.hermite_e "
    "polynomial.laguerre polynomial.polyutils sparse sparse.linalg"
)


def main(out):
    root = pathlib.Path(out, "asnumpy")
    numpys = [*asnumpys()._submodules.NUMPYS, "ma.core", "ma.extras", "ma.mrecords"]
    texts = {name: module_text(name) for name in MODULES | {""}}
    for theirs, name in {
        **{f"numpy.{n}": n for n in numpys},
        "asnumpy.lib.scimath": "emath",
    }.items():
        module = importlib.import_module(theirs)
        # What a plain program names beside the list: exceptions.RankWarning.
        listed = getattr(module, "__all__", vars(module))
        classes = [
            n
            for n, v in sorted(vars(module).items())
            if isinstance(v, type) and v.__module__ == theirs
        ]
        public = "".join(f"from {theirs} import {n} as {n}\n" for n in classes
                         if n[0] != "_" and n not in listed)  # fmt: skip
        texts[name] = f"from {theirs} import *\n{public}{all_text(module)}"
    for name, text in texts.items():
        module = importlib.import_module(f"asnumpy.{name}" if name else "asnumpy")
        path = root.joinpath(*name.split("."))
        path = path / "__init__.pyi" if hasattr(module, "__path__") else path.with_suffix(".pyi")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def stage(package, libs, folder):
    """The package as it will be installed, by links, importable."""
    root = pathlib.Path(folder, "asnumpy")
    root.mkdir()
    for source in [
        *pathlib.Path(package).resolve().iterdir(),
        *pathlib.Path(libs).resolve().glob("_core*"),
    ]:
        root.joinpath(source.name).symlink_to(source)
    root.joinpath("cann").mkdir()
    root.joinpath("cann", "lib64").symlink_to(pathlib.Path(libs).resolve())
    sys.path.insert(0, str(folder))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        stage(sys.argv[1], sys.argv[2], place)
        main(sys.argv[3])
