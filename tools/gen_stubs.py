"""Writes the package's type stubs (*.pyi) from the package itself, when it is built.

usage: gen_stubs.py PACKAGE LIBS OUT
PACKAGE: the folder python/asnumpy; LIBS: that of the built libraries; OUT/asnumpy/**.pyi is written.

Names, parameters and defaults come from the running package, whose signatures are NumPy's; what they
mean comes from the tables here: a parameter's type by its name, a function's result by its own, and
arrays where a table is silent. `python -m mypy.stubtest asnumpy` compares stubs and package.
"""

import abc
import importlib
import inspect
import pathlib
import sys
import tempfile
import types

import numpy


def words(text):
    """The words of a text, as a set."""
    return frozenset(text.split())


HEADER = """from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Concatenate, Generic, Literal, NamedTuple, ParamSpec, SupportsIndex, TypeVar, overload

import abc as _abc
import builtins as _b
import contextlib as _contextlib

import numpy as _np
from numpy.typing import ArrayLike as _HostLike, DTypeLike
from typing_extensions import TypeVar as _TypeVar

{imports}
"""
OWN = """
_ShapeT = _TypeVar("_ShapeT", bound=tuple[int, ...], default=tuple[Any, ...], covariant=True)
_DTypeT = _TypeVar("_DTypeT", bound=_np.dtype[Any], default=_np.dtype[Any], covariant=True)

class _ArrayType(_abc.ABCMeta): ...

# What becomes an array: ours, or whatever NumPy takes.
_ArrayLike = ndarray | _HostLike
_Scalar = complex | _np.generic
_Real = float | _np.floating | _np.integer | _np.bool
_ScalarT = _TypeVar("_ScalarT", bound=_np.generic)
_NDArray = ndarray[tuple[Any, ...], _np.dtype[_ScalarT]]
_DTypeU = _TypeVar("_DTypeU", bound=_np.dtype[Any])
_OutT = _TypeVar("_OutT", bound=ndarray)
_Axis = SupportsIndex | Sequence[SupportsIndex] | None
_Shape = SupportsIndex | Sequence[SupportsIndex]
_Out = ndarray | tuple[ndarray | None, ...] | None
_Order = Literal["K", "A", "C", "F"] | None
_Casting = Literal["no", "equiv", "safe", "same_kind", "same_value", "unsafe"]
_Kind = Literal["quicksort", "mergesort", "heapsort", "stable"] | None

"""
# Parameters by name; a default of a plain type decides where a name is not here.
PARAMETERS = {
    "dtype": "DTypeLike | None", "out": "_Out", "where": "Any", "order": "_Order", "casting": "_Casting",
    "keepdims": "Any", "subok": "_b.bool", "axis": "_Axis", "shape": "_Shape | None", "device": "Any",
    "like": "Any", "copy": "_b.bool | None", "kind": "_Kind", "stable": "_b.bool | None", "initial": "Any",
    "axis1": "SupportsIndex", "axis2": "SupportsIndex", "kth": "Any", "size": "_Shape | None",
    "seed": "Any", "func": "Callable[..., Any]", "pyfunc": "Any", "function": "Callable[..., Any]",
    "static_argnums": "SupportsIndex | Iterable[SupportsIndex] | None", "static_argnames": "str | Iterable[str] | None",
    "maxsize": "int", "func1d": "Callable[..., Any]", "args": "Any", "kwargs": "Any", "kwds": "Any",
}  # fmt: skip
FREE = words("mode method trim bins range correction rcond tol axes file fname decimals ddof k n")
ARRAYS = words(
    "a b x y z x1 x2 x3 arr ar ar1 ar2 ary m v p q M array arrays tup arys condition values "
    "weights element test_elements indices obj val fill_value object a1 a2 operands xp fp "
    "condlist mask c c1 c2 roots r mean cov alpha pvals colors lam scale loc df dfnum dfden nonc "
    "mu kappa left right low high sigma mask a_min a_max sample seq_of_zeros u start stop s"
)
# Results of functions that are not one array.
RESULTS = {
    "_b.bool": "allclose array_equal array_equiv can_cast isscalar iterable isfortran shares_memory "
    "may_share_memory isdtype issubdtype isrealobj iscomplexobj lazy",
    "int": "ndim get_device_count",
    "None": "put place putmask copyto fill_diagonal put_along_axis save savez savez_compressed savetxt "
    "synchronize set_printoptions",
    "tuple[int, ...]": "shape broadcast_shapes",
    "str": "array2string array_repr array_str base_repr binary_repr format_float_positional "
    "format_float_scientific typename mintypecode",
    "tuple[ndarray, ...]": "nonzero ix_ meshgrid broadcast_arrays diag_indices diag_indices_from "
    "tril_indices tril_indices_from triu_indices triu_indices_from mask_indices unravel_index",
    "list[ndarray]": "split array_split hsplit vsplit dsplit",
    "tuple[ndarray, ndarray]": "histogram",
    "Generator": "default_rng",
    "list[Any]": "batch",
    "_contextlib.AbstractContextManager[None]": "disable_jit",
    "Stream": "current_stream default_stream",
    "Any": "sum prod max min amax amin mean std var median average percentile quantile ptp any all "
    "argmax argmin count_nonzero nansum nanprod nanmax nanmin nanmean nanstd nanvar nanmedian nanargmax "
    "nanargmin nanpercentile nanquantile trapezoid trace dot vdot inner matvec vecmat vecdot tensordot einsum "
    "einsum_path unique unique_all unique_counts unique_inverse searchsorted gradient load loadtxt genfromtxt "
    "polyval polyfit polydiv take compress choose select piecewise apply_along_axis round around "
    "real imag angle real_if_close nan_to_num fix isposinf isneginf iscomplex isreal sinc i0 atleast_1d "
    "atleast_2d atleast_3d histogram2d histogramdd result_type promote_types min_scalar_type common_type "
    "load_library geterr seterr seterrcall geterrcall errstate get_printoptions printoptions ravel_multi_index poly "
    "intersect1d explain counters memory_stats bmat frompyfunc digitize unstack size "
    "norm det cond slogdet matrix_rank eig eigh svd qr lstsq multi_dot",
}
RESULT = {name: result for result, names in RESULTS.items() for name in names.split()}
ATTRIBUTES = {
    "T": "ndarray[tuple[Any, ...], _DTypeT]", "mT": "ndarray[tuple[Any, ...], _DTypeT]", "base": "Any", "ctypes": "Any", "data": "memoryview",
    "device": "str", "dtype": "_DTypeT", "flags": "Any", "flat": "flatiter", "imag": "ndarray",
    "itemset": "Any", "itemsize": "int", "nbytes": "int", "ndim": "int", "real": "ndarray",
    "shape": "_ShapeT", "size": "int", "strides": "tuple[int, ...]",
    "__array_interface__": "dict[str, Any]", "__array_struct__": "Any", "__array_priority__": "float",
}  # fmt: skip
SETTABLE = {"dtype", "flat", "imag", "real", "shape", "strides"}
METHODS = {
    "tolist": "Any", "item": "Any", "tobytes": "bytes", "dumps": "bytes", "dump": "None", "tofile": "None",
    "fill": "None", "sort": "None", "partition": "None", "resize": "None", "put": "None", "setflags": "None",
    "setfield": "None", "byteswap": "ndarray", "nonzero": "tuple[ndarray, ...]", "to_numpy": "_np.ndarray[Any, Any]",
    "__len__": "int", "__bool__": "_b.bool", "__int__": "int", "__float__": "float", "__complex__": "complex",
    "__index__": "int", "__contains__": "_b.bool", "__iter__": "Iterator[Any]", "__getitem__": "Any",
    "__setitem__": "None", "__delitem__": "None", "__repr__": "str", "__str__": "str", "__format__": "str",
    "__array_namespace__": "Any", "__dlpack__": "Any", "__dlpack_device__": "tuple[int, int]",
    "__array__": "_np.ndarray[Any, Any]", "__reduce__": "Any", "__reduce_ex__": "Any", "__setstate__": "None",
    "__array_function__": "Any", "__array_ufunc__": "Any", "__array_wrap__": "Any", "__array_finalize__": "None",
    "__class_getitem__": "Any", "__sizeof__": "int",
}  # fmt: skip
SCALARS = words(
    "sum prod max min mean std var any all argmax argmin trace dot take choose round searchsorted"
)
BINARY = words("add sub mul truediv floordiv mod pow matmul and or xor lshift rshift divmod")
COMPARE = words("eq ne lt le gt ge")
UNARY = words("neg pos abs invert")


def type_of(parameter):
    """A parameter's type."""
    name, default = parameter.name, parameter.default
    if parameter.kind is parameter.VAR_POSITIONAL:
        return "_ArrayLike" if name in ARRAYS | {"arys", "xi"} else "Any"
    if parameter.kind is parameter.VAR_KEYWORD:
        return "Any"
    if name == "kind" and default == "introselect":
        return "str"
    if name in PARAMETERS:
        return "Any" if name == "function" and default is None else PARAMETERS[name]
    if name in FREE:
        return "Any"
    if type(default) is bool:
        return "_b.bool"
    if type(default) is str:
        return "str"
    if name in ARRAYS:
        return "_ArrayLike" if default is parameter.empty else "Any"
    if type(default) is int:
        return "SupportsIndex"
    if type(default) is float:
        return "Any"
    return "Any"


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


def operator_text(name):
    """An operator of the array, or None."""
    bare = name.strip("_")
    if bare in UNARY:
        return f"    def {name}(self, /) -> ndarray: ...\n"
    if bare in COMPARE:
        ignore = "  # type: ignore[override]" if bare in ("eq", "ne") else ""
        return f"    def {name}(self, value: Any, /) -> _NDArray[_np.bool]: ...{ignore}\n"
    plain = bare[1:] if bare[:1] in "ri" and bare[1:] in BINARY else bare
    if plain not in BINARY:
        return None
    result = (
        "tuple[ndarray, ndarray]"
        if plain == "divmod"
        else "Any"
        if plain == "matmul"
        else "ndarray"
    )
    result = "ndarray" if bare == "imatmul" else result
    if bare == "ipow":
        return f"    def {name}(self, value: _ArrayLike, /) -> ndarray: ...  # type: ignore[misc]\n"
    if plain == "pow":
        return f"    def {name}(self, value: _ArrayLike, mod: None = ..., /) -> ndarray: ...\n"
    return f"    def {name}(self, value: _ArrayLike, /) -> {result}: ...\n"


# Written once for all: what object has, and what type checkers must not see overridden.
SKIPPED = words(
    "__class__ __dict__ __doc__ __hash__ __init_subclass__ __subclasshook__ __new__ __init__ "
    "__dir__ __getattribute__ __setattr__ __delattr__ __module__ __weakref__ __getstate__ "
    "__sizeof__ __signature__ __reduce_ex__ __buffer__ __release_buffer__ "
    "__annotations__ __match_args__ __orig_bases__ __slots__ __getnewargs__"
)


def members_of(cls):
    """What the class and its bases in the package define."""
    ours = [c for c in cls.__mro__ if c.__module__.split(".")[0] == "asnumpy"] or [cls]
    return sorted({member for c in ours for member in vars(c)})


# Distributions of random generators: what one draw is, what an array of them holds.
DRAWS = {
    "float": words(
        "beta chisquare exponential f gamma gumbel laplace logistic lognormal noncentral_chisquare noncentral_f "
        "normal pareto power rayleigh standard_cauchy standard_t triangular uniform vonmises wald weibull"
    ),
    "int": words("binomial geometric hypergeometric logseries negative_binomial poisson zipf"),
}
# Those with dtype= and out=.
TYPED_DRAWS = words("random standard_exponential standard_gamma standard_normal")


def overloads_of(cases):
    """Definitions that a type checker tries in turn: (name, parameters, result)."""
    # A number is an array-like, too, and its result no array: the order says which counts.
    ignore = "  # type: ignore[overload-overlap]"
    return "".join(
        f"    @overload\n    def {n}(self, {p}) -> {r}: ...{ignore}\n" for n, p, r in cases
    )


# Functions and methods whose result has the dtype of the array that they are given first.
SAME = words(
    "sort flip fliplr flipud roll rot90 transpose permute_dims swapaxes moveaxis rollaxis squeeze reshape ravel "
    "repeat tile tril triu delete copy ascontiguousarray asfortranarray expand_dims partition"
)
SAME_METHODS = words(
    "copy flatten ravel reshape repeat squeeze swapaxes transpose byteswap diagonal"
)
# Functions of a shape that make float64 unless they are told a dtype.
CREATES = words("zeros ones empty")
WIDTHS = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]


def dtype_type(name):
    """The type of a dtype= argument that means that class of numbers."""
    dtype = numpy.dtype(name)
    codes = [dtype.name, *(f"{order}{dtype.kind}{dtype.itemsize}" for order in ("", "<", "="))]
    listed = ", ".join(f'"{code}"' for code in codes)
    return f"_np.dtype[_np.{name}] | type[_np.{name}] | Literal[{listed}]"


def same_text(name, function):
    """A function that keeps the dtype of an array, and makes an array of whatever else it takes."""
    first, *others = inspect.signature(function).parameters.values()
    rest = parameters_of(inspect.Signature(others))
    only = rest.startswith("/")
    mark = "" if first.kind is not first.POSITIONAL_ONLY or only else "/, "
    text = ""
    for given, result in (
        ("ndarray[Any, _DTypeU]", "ndarray[tuple[Any, ...], _DTypeU]"),
        ("_ArrayLike", "ndarray"),
    ):
        text += f"@overload\ndef {name}({first.name}: {given}, {mark}{rest}) -> {result}: ...\n"
    return text


def creation_text(name, function):
    """A function of a shape and a dtype."""
    parameters = inspect.signature(function).parameters
    rest = parameters_of(
        inspect.Signature([p for n, p in parameters.items() if n not in ("shape", "dtype")])
    )
    cases = [("_np.dtype[_ScalarT] | type[_ScalarT]", "_ScalarT"), ("DTypeLike", "Any")]
    text = f"@overload\ndef {name}(shape: _Shape, dtype: None = ..., {rest}) -> _NDArray[_np.float64]: ...\n"
    for dtype, scalar in cases:
        text += f"@overload\ndef {name}(shape: _Shape, dtype: {dtype}, {rest}) -> _NDArray[{scalar}]: ...\n"
    return text


def integers_text(name):
    """`Generator.integers` and `RandomState.randint`, by the dtype asked for."""
    new = name == "integers"
    flag = ", endpoint: _b.bool = ..." if new else ""
    default = ("_np.int64", "int64") if new else ("int", "long")
    kinds = [
        (None, *default),
        ("type[_b.bool]", "_b.bool", "bool"), ("type[int]", "int", "int64" if new else "long"),
        *((dtype_type(w), f"_np.{w}", w) for w in WIDTHS),
        ('_np.dtype[_np.bool] | type[_np.bool] | Literal["?", "b1", "|b1", "bool", "bool_"]', "_np.bool", "bool"),
    ]  # fmt: skip
    cases = []
    for dtype, number, element in kinds:
        tail = "dtype: None = ..." if dtype is None else f"dtype: {dtype}"
        star = "" if dtype is None else "*, "
        cases += [
            (name, f"low: int, high: int | None = ..., size: None = ..., {star}{tail}{flag}", number),
            (name, f"low: _ArrayLike, high: _ArrayLike | None = ..., size: _Shape | None = ..., {star}{tail}{flag}",
             f"_NDArray[_np.{element}]"),
        ]  # fmt: skip
    cases.append((name, "low: _ArrayLike, high: _ArrayLike | None = ..., size: _Shape | None = ..., "
                        f"dtype: DTypeLike | None = ...{flag}", "Any"))  # fmt: skip
    return overloads_of(cases)


def draw_text(cls, name, method):
    """A distribution: a number without size= of numbers, else an array; None: another method."""
    if (cls, name) in (("Generator", "integers"), ("RandomState", "randint")):
        return integers_text(name)
    kind = next((k for k, names in DRAWS.items() if name in names), None)
    plain = cls == "RandomState" and name in TYPED_DRAWS  # which has no dtype= there
    signature = signature_of(method)
    if signature is None or not (
        kind or (name in TYPED_DRAWS and cls in ("Generator", "RandomState"))
    ):
        return None
    parameters = [
        p
        for p in signature.parameters.values()
        if p.name not in ("self", "size", "dtype", "out", "method")
    ]

    def listed(type_, *more):
        own = [
            f"{p.name}: {type_}" + ("" if p.default is p.empty else " = ...") for p in parameters
        ]
        return ", ".join([*own, *more])

    if kind or plain:
        whole = "int64" if cls == "Generator" else "long"
        element = "float64" if kind != "int" else whole
        return overloads_of([
            (name, listed("_Real", "size: None = ..."), kind or "float"),
            (name, listed("_ArrayLike", "size: _Shape | None = ..."), f"_NDArray[_np.{element}]"),
        ])  # fmt: skip
    method = ', method: Literal["zig", "inv"] = ...' if name == "standard_exponential" else ""
    single = '_np.dtype[_np.float32] | type[_np.float32] | Literal["f", "f4", "<f4", "=f4", "float32", "single"]'
    dtype = f"DTypeLike = ...{method}"
    return overloads_of([
        (name, listed("_Real", "size: None = ...", f"dtype: {dtype}", "out: None = ..."), "float"),
        (name, listed("_ArrayLike", "size: _Shape | None = ...", f"dtype: {dtype}", "*", "out: _OutT"), "_OutT"),
        (name, listed("_ArrayLike", "size: _Shape | None = ...", "*", f"dtype: {single}{method}", "out: None = ..."),
         "_NDArray[_np.float32]"),
        (name, listed("_ArrayLike", "size: _Shape | None", f"dtype: {single}{method}", "out: None = ..."),
         "_NDArray[_np.float32]"),
        (name, listed("_ArrayLike", "size: _Shape | None = ...", f"dtype: {dtype}", "out: None = ..."),
         "_NDArray[_np.float64]"),
    ])  # fmt: skip


def class_text(name, cls, methods, attributes, bases=""):
    """A class: its attributes, operators and methods."""
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return f"class {name}(NamedTuple):\n" + "".join(f"    {f}: Any\n" for f in cls._fields)
    if type(cls) is abc.ABCMeta:
        bases = "(metaclass=_abc.ABCMeta)"
    elif issubclass(cls, Exception):
        bases = f"(_b.{next(c.__name__ for c in cls.__mro__ if c.__module__ == 'builtins')})"
    if name == "ndarray":
        bases = "(Generic[_ShapeT, _DTypeT], metaclass=_ArrayType)"
    lines = [f"class {name}{bases}:\n"]
    if name == "ndarray":
        lines.append(
            "    def __new__(cls, shape: _Shape, dtype: DTypeLike | None = ..., buffer: Any = ..., "
            "offset: SupportsIndex = ..., strides: _Shape | None = ..., order: _Order = ...) -> ndarray: ...\n"
        )
        lines.append("    __hash__: None  # type: ignore[assignment]\n")
    if name != "ndarray" and "__init__" in members_of(cls) and signature_of(cls.__init__):
        lines.append(function_text("__init__", cls.__init__, "None", "    "))
    for member in members_of(cls):
        if member in SKIPPED or (member.startswith("_") and not member.startswith("__")):
            continue
        value = inspect.getattr_static(cls, member)
        operator = operator_text(member) if name == "ndarray" else None
        drawn = draw_text(name, member, value) if name in ("Generator", "RandomState") else None
        if operator or drawn:
            lines.append(operator or drawn)
        elif member == "__class_getitem__":
            lines.append("    def __class_getitem__(cls, item: Any, /) -> Any: ...\n")
        elif isinstance(value, (staticmethod, classmethod)):
            decorator = type(value).__name__
            inner = value.__func__
            bound = "" if decorator == "staticmethod" else "cls, "
            lines.append(
                f"    @{decorator}\n"
                + function_text(member, inner, methods.get(member, "Any"), "    ", bound)
            )
        elif callable(value):
            result = methods.get(member) or (
                "Any" if member in SCALARS else "ndarray" if name == "ndarray" else "Any"
            )
            if name == "ndarray" and member in SAME_METHODS:
                result = "ndarray[tuple[Any, ...], _DTypeT]"
            if getattr(value, "__isabstractmethod__", False):
                lines.append("    @_abc.abstractmethod\n")
            lines.append(function_text(member, value, result, "    "))
        else:
            kind = attributes.get(member, "Any")
            lines.append(f"    @property\n    def {member}(self) -> {kind}: ...\n")
            if name == "ndarray" and member in SETTABLE:
                lines.append(
                    f"    @{member}.setter\n    def {member}(self, value: Any, /) -> None: ...\n"
                )
    return "".join(lines) + ("    ...\n" if len(lines) == 1 else "")


UFUNCS = """class ufunc(metaclass=_ArrayType):
    __name__: str
    __qualname__: str
    __doc__: str
    __signature__: Any
    nin: int
    nout: int
    nargs: int
    ntypes: int
    types: list[str]
    identity: Any
    signature: str | None
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def reduce(self, array: _ArrayLike, /, axis: _Axis = ..., dtype: DTypeLike | None = ..., out: _Out = ..., **kwargs: Any) -> Any: ...
    def accumulate(self, array: _ArrayLike, /, axis: SupportsIndex = ..., dtype: DTypeLike | None = ..., out: _Out = ...) -> ndarray: ...
    def reduceat(self, array: _ArrayLike, /, indices: _ArrayLike, axis: SupportsIndex = ..., dtype: DTypeLike | None = ..., out: _Out = ...) -> ndarray: ...
    def outer(self, A: _ArrayLike, B: _ArrayLike, /, **kwargs: Any) -> Any: ...
    def at(self, a: ndarray, indices: Any, b: _ArrayLike | None = ..., /) -> None: ...
    def resolve_dtypes(self, dtypes: tuple[Any, ...], *, signature: Any = ..., casting: _Casting | None = ..., reduction: _b.bool = ...) -> tuple[Any, ...]: ...

class _Unary(ufunc):
    @overload
    def __call__(self, x: ndarray, out: _Out = ..., /, *, where: Any = ..., casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = ..., subok: _b.bool = ..., signature: Any = ...) -> ndarray: ...
    @overload
    def __call__(self, x: _Scalar, /, out: None = ..., *, where: Any = ..., casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = ..., subok: _b.bool = ..., signature: Any = ...) -> Any: ...
    @overload
    def __call__(self, x: _ArrayLike, /, out: _Out = ..., *, where: Any = ..., casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = ..., subok: _b.bool = ..., signature: Any = ...) -> ndarray: ...

class _Binary(ufunc):
    @overload
    def __call__(self, x1: ndarray, x2: _ArrayLike, /, out: _Out = ..., *, where: Any = ..., casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = ..., subok: _b.bool = ..., signature: Any = ...) -> ndarray: ...
    @overload
    def __call__(self, x1: _ArrayLike, x2: ndarray, /, out: _Out = ..., *, where: Any = ..., casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = ..., subok: _b.bool = ..., signature: Any = ...) -> ndarray: ...
    @overload
    def __call__(self, x1: _Scalar, x2: _Scalar, /, out: None = ..., *, where: Any = ..., casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = ..., subok: _b.bool = ..., signature: Any = ...) -> Any: ...
    @overload
    def __call__(self, x1: _ArrayLike, x2: _ArrayLike, /, out: _Out = ..., *, where: Any = ..., casting: _Casting = ..., order: _Order = ..., dtype: DTypeLike | None = ..., subok: _b.bool = ..., signature: Any = ...) -> ndarray: ...
"""


# ufuncs that give truth values, whatever they are asked.
UFUNCS += (
    UFUNCS[UFUNCS.index("class _Unary") :]
    .replace("_Unary(", "_UnaryTruth(")
    .replace("_Binary(", "_BinaryTruth(")
    .replace("-> ndarray: ...", "-> _NDArray[_np.bool]: ...")
    .replace("-> Any: ...", "-> _np.bool: ...  # type: ignore[overload-overlap]")
)

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


def ufunc_text(name, value):
    if value.nout != 1 or value.signature:
        return f"{name}: ufunc\n"
    truth = "Truth" if all(t.endswith("->?") for t in value.types) else ""
    return f"{name}: {'_Unary' if value.nin == 1 else '_Binary'}{truth}\n"


# The generic alias is no value that a module could tell of itself.
TYPING = """from typing import Any, TypeVar

import numpy as _np
from numpy.typing import ArrayLike as ArrayLike, DTypeLike as DTypeLike, NBitBase as NBitBase

from asnumpy import ndarray

__all__ = ["ArrayLike", "DTypeLike", "NBitBase", "NDArray"]

_ScalarT = TypeVar("_ScalarT", bound=_np.generic)
NDArray = ndarray[tuple[Any, ...], _np.dtype[_ScalarT]]
"""


def is_numpys(value):
    return getattr(value, "__module__", "").split(".")[0] == "numpy"


def module_text(module, own):
    """The stub of a module; own: it is asnumpy itself, where the array type lives."""
    names = sorted(
        set(getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")])
    )
    body, imports = [], []
    for name in names:
        value = getattr(module, name)
        if isinstance(value, types.ModuleType):
            if value.__name__.startswith("asnumpy"):
                imports.append(f"from . import {value.__name__.rpartition('.')[2]} as {name}")
            elif (
                value.__name__[len("numpy.") :]
                in importlib.import_module("asnumpy")._submodules.NUMPYS
            ):
                if not own:  # which imports them all
                    imports.append(f"from . import {name} as {name}")
            else:
                body.append(f"{name}: Any\n")
            continue
        array = importlib.import_module("asnumpy").ndarray
        if value is array and name != "ndarray":
            body.append(f"{name} = ndarray\n")
        elif isinstance(value, importlib.import_module("asnumpy").ufunc):
            body.append(ufunc_text(name, value) if own else f"{name}: _asnumpy.ufunc\n")
        elif name in ("ndarray", "ufunc") and own:
            continue
        elif isinstance(value, type) and is_numpys(value):
            place = value.__module__
            public = (
                "._" not in place and getattr(sys.modules.get(place), value.__name__, None) is value
            )
            body.append(
                f"from {place} import {value.__name__} as {name}\n"
                if public
                else f"{name}: type[Any]\n"
            )
        elif isinstance(value, type):
            body.append(class_text(name, value, {}, {}))
        elif callable(value) and is_numpys(value):
            body.append(
                f"from numpy import {name} as {name}\n"
                if hasattr(numpy, name)
                else f"{name}: Any\n"
            )
        elif name == "jit" and own:
            body.append(JITTED + jit_text(name, value))
        elif callable(value) and signature_of(value) is not None and hasattr(value, "__name__"):
            result = RESULT.get(
                name, "ndarray" if own else "None" if name.startswith("assert_") else "Any"
            )
            body.append(creation_text(name, value) if own and name in CREATES else same_text(name, value)
                        if own and name in SAME else function_text(name, value, result))  # fmt: skip
        elif isinstance(value, (bool, int, float, str)):
            body.append(f"{name}: {'_b.' if type(value) is bool else ''}{type(value).__name__}\n")
        else:
            body.append(f"{name}: Any\n")
    if module.__name__ == "asnumpy.ops":  # operators that programs register
        body.append("def __getattr__(name: str) -> Any: ...\n")
    return body, imports


def all_text(module):
    """The module's own list of names."""
    names = getattr(module, "__all__", None)
    if names is None:
        return ""
    return "__all__ = [\n" + "".join(f'    "{n}",\n' for n in names) + "]\n"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def main(out):
    asnumpy = importlib.import_module("asnumpy")
    root = pathlib.Path(out, "asnumpy")
    body, imports = module_text(asnumpy, own=True)
    listed = set(asnumpy.__all__)
    body += [
        "__version__: str\n",
        "__array_api_version__: str\n",
        "__array_namespace_info__: Any\n",
    ]
    body += [f"from numpy import {name} as {name}\n" for name in sorted(asnumpy._NUMPYS - listed)
             if hasattr(numpy, name)]  # fmt: skip
    numpys = sorted(asnumpy._submodules.NUMPYS)
    submodules = asnumpy._SUBMODULES | {name for name in numpys if "." not in name}
    imports += [f"from . import {name} as {name}" for name in sorted(submodules)]
    array = class_text("ndarray", asnumpy.ndarray, METHODS, ATTRIBUTES)
    text = HEADER.format(imports="\n".join(imports)) + OWN + "\n"
    write(
        root / "__init__.pyi",
        text + all_text(asnumpy) + UFUNCS + "\n" + array + "\n" + "".join(body),
    )
    nested = ["__main__", "acl", "auto", "debug", "doctor", "memory", "monitor", "ops", "profile", "fft", "linalg", "random", "random.mtrand", "random.bit_generator", "testing", "lib", "lib.scimath", "lib.stride_tricks", "lib.array_utils",
              "lib.npyio", "lib.mixins", "version", "polynomial", "polynomial.polynomial", "polynomial.chebyshev", "polynomial.legendre",
              "polynomial.hermite", "polynomial.hermite_e", "polynomial.laguerre", "polynomial.polyutils"]  # fmt: skip
    for name in nested:
        module = importlib.import_module(f"asnumpy.{name}")
        body, imports = module_text(module, own=False)
        imports += ["import asnumpy as _asnumpy",
                    "from asnumpy import _ArrayLike, _Axis, _Casting, _Kind, _NDArray, _Order, _Out, _OutT, _Real, _Shape, ndarray"]  # fmt: skip
        parts = name.split(".")
        file = (
            root.joinpath(*parts, "__init__.pyi")
            if hasattr(module, "__path__")
            else (root.joinpath(*parts[:-1], parts[-1] + ".pyi"))
        )
        listed = all_text(module)
        write(file, HEADER.format(imports="\n".join(imports)) + "\n" + listed + "".join(body))
    write(root / "typing" / "__init__.pyi", TYPING)
    others = {f"numpy.{name}": name for name in [*numpys, "ma.core", "ma.extras", "ma.mrecords"]}
    for theirs, name in {**others, "asnumpy.lib.scimath": "emath"}.items():
        module = importlib.import_module(theirs)
        path = root.joinpath(*name.split("."))
        package = hasattr(module, "__path__")
        write(
            path / "__init__.pyi" if package else path.with_suffix(".pyi"),
            f"from {theirs} import *\n{all_text(module)}",
        )


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
