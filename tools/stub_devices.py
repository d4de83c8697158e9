"""Stubs of the functions that take device=, which NumPy's own stubs let be "cpu" alone.

{function: its definitions}, for asnumpy and asnumpy.fft; IMPORTS is what they need. The results are
those of NumPy's stubs, where `make numpy-typing` compares them.
"""

IMPORTS = """from datetime import datetime as _datetime, timedelta as _timedelta
from typing import Protocol as _Protocol, type_check_only as _type_check_only

from numpy._typing import _ArrayLike as _Like, _ShapeLike, _SupportsArrayFunc
from numpy._typing import _ArrayLikeComplex_co, _ArrayLikeFloat_co
from numpy.typing import NDArray as _NDArray

_ArrayT = TypeVar("_ArrayT", bound=ndarray[Any, Any])
_DTypeT = TypeVar("_DTypeT", bound=_np.dtype[Any])
_DTypeT_co = TypeVar("_DTypeT_co", bound=_np.dtype[Any], covariant=True)
_ScalarT = TypeVar("_ScalarT", bound=_np.generic)
_ShapeT = TypeVar("_ShapeT", bound=tuple[int, ...])
_Order = Literal["K", "A", "C", "F"] | None
_CF = Literal["C", "F"]
_Array1 = ndarray[tuple[int], _np.dtype[_ScalarT]]
_Array2 = ndarray[tuple[int, int], _np.dtype[_ScalarT]]
_Of = type[_ScalarT] | _np.dtype[_ScalarT] | _HasDType[_np.dtype[_ScalarT]]

@_type_check_only
class _HasDType(_Protocol[_DTypeT_co]):
    @property
    def dtype(self) -> _DTypeT_co: ...

"""


def overloads(name, *cases):
    """Definitions of a function that a type checker tries in turn: (parameters, result)."""
    # Plain numbers are int, float and complex at once: of two that fit, the first counts.
    mark = "  # type: ignore[overload-overlap]" if name in ("arange", "linspace") else ""
    return "".join(
        f"@overload\ndef {name}({given}) -> {result}: ...{mark}\n" for given, result in cases
    )


DEVICE = "device: str | None = ..."
LIKE = "like: _SupportsArrayFunc | None = ..."


def filled(name, value=""):
    """A function of a shape; value: the parameter that the array is filled with and whose dtype it has."""
    cases = []
    for shape, known in (
        ("SupportsIndex", "tuple[int]"),
        ("_ShapeT", "_ShapeT"),
        ("_ShapeLike", "tuple[Any, ...]"),
    ):
        start, end = f"shape: {shape}, ", f"order: _CF = ..., *, {DEVICE}, {LIKE}"
        any_value = value and f"{value}: Any, "
        first = (
            (f"{start}{value}: _ScalarT, dtype: None = ..., {end}", "_ScalarT")
            if value
            else (f"{start}dtype: type[_np.float64] | None = ..., {end}", "_np.float64")
        )
        cases += [
            (first[0], f"ndarray[{known}, _np.dtype[{first[1]}]]"),
            (
                f"{start}{any_value}dtype: _DTypeT | _HasDType[_DTypeT], {end}",
                f"ndarray[{known}, _DTypeT]",
            ),
            (
                f"{start}{any_value}dtype: type[_ScalarT], {end}",
                f"ndarray[{known}, _np.dtype[_ScalarT]]",
            ),
            (
                f"{start}{any_value}dtype: DTypeLike | None = ..., {end}",
                f"ndarray[{known}, _np.dtype[Any]]",
            ),
        ]
    return overloads(name, *cases)


def like(name, first, value="", mark=""):
    """A function of an array, its first parameter, like which to make one."""
    value = mark + (value and f"{value}: Any, ")
    end = f"order: _Order = ..., subok: {{}} = ..., shape: _ShapeLike | None = ..., *, {DEVICE}"
    whole = end.format("_b.bool")
    return overloads(
        name,
        (f"{first}: _ArrayT, {value}dtype: None = ..., {end.format('Literal[True]')}", "_ArrayT"),
        (f"{first}: _Like[_ScalarT], {value}dtype: None = ..., {whole}", "_NDArray[_ScalarT]"),
        (f"{first}: Any, {value}dtype: _Of[_ScalarT], {whole}", "_NDArray[_ScalarT]"),
        (f"{first}: Any, {value}dtype: DTypeLike | None = ..., {whole}", "_NDArray[Any]"),
    )


def converted(name, *kept):
    """A function of whatever becomes an array; kept: types that come back as they are."""
    end = f"order: _Order = ..., *, {DEVICE}, copy: _b.bool | None = ..., {LIKE}"
    return overloads(
        name,
        *((f"a: {given}, dtype: None = ..., {end}", given) for given in kept),
        (f"a: _Like[_ScalarT], dtype: None = ..., {end}", "_NDArray[_ScalarT]"),
        (f"a: Any, dtype: _Of[_ScalarT], {end}", "_NDArray[_ScalarT]"),
        (f"a: Any, dtype: DTypeLike | None = ..., {end}", "_NDArray[Any]"),
    )


def ranges():
    """`arange` of one limit or of two: limits and steps of a type have the dtype of a result."""
    spans, instants = "_np.timedelta64 | _timedelta | int", "_np.datetime64 | _datetime"
    integers = "int | _np.integer | _np.bool"
    cases = [
        (integers, integers, "None = ...", "_np.int_"),
        (f"float | _np.floating | {integers}",) * 2 + ("None = ...", "_np.float64 | Any"),
        (spans, spans, "None = ...", "_np.timedelta64[Any]"),
        (instants, spans, "None = ...", "_np.datetime64[Any]"),
        (f"{instants} | str", spans, 'Literal["datetime64[D]"]', "_np.datetime64[Any]"),
        ("Any", "Any", "type[int]", "_np.int_"),
        ("Any", "Any", "_Of[_ScalarT]", "_ScalarT"),
        ("Any", "Any", "DTypeLike | None = ...", "Any"),
    ]
    definitions = []
    for limit, step, dtype, of in cases:
        one, two = (
            f"start_or_stop: {limit}, /, stop: None = ...",
            f"start_or_stop: {limit}, /, stop: {limit}",
        )
        for limits in (one, two):
            given = f"{limits}, step: {step} | None = ..., *, dtype: {dtype}, {DEVICE}, {LIKE}"
            definitions.append((given, f"_Array1[{of}]"))
        given = f"{two}, step: {step}, dtype: {dtype}, *, {DEVICE}, {LIKE}"
        definitions.append((given, f"_Array1[{of}]"))
    return overloads("arange", *definitions)


def spaced():
    """`linspace`: an array, and with retstep= the step beside it; of the ends' kind, or of a dtype."""
    start = "start: {0}, stop: {0}, num: SupportsIndex = ..., endpoint: _b.bool = ..., "
    end = f"axis: SupportsIndex = ..., *, {DEVICE}"
    cases = [("_ArrayLikeFloat_co", "dtype: None = ..., ", "_np.float64"),
             ("_ArrayLikeComplex_co", "dtype: None = ..., ", "_np.complexfloating"),
             ("_ArrayLikeComplex_co", "dtype: _Of[_ScalarT], ", "_ScalarT"),
             ("_ArrayLikeComplex_co", "dtype: DTypeLike | None = ..., ", "Any")]  # fmt: skip
    definitions = []
    for ends, dtype, of in cases:
        told = "*, " if dtype.startswith("dtype: _Of") else ""
        last = end.replace("*, ", "") if told else end
        definitions += [
            (f"{start.format(ends)}retstep: Literal[False] = ..., {told}{dtype}{last}", f"_NDArray[{of}]"),
            (f"{start.format(ends)}retstep: Literal[True], {told}{dtype}{last}".replace(" = ...", "", 2),
             f"tuple[_NDArray[{of}], {of}]"),
            (f"{start.format(ends)}*, retstep: Literal[True], {dtype}{end.replace('*, ', '')}",
             f"tuple[_NDArray[{of}], {of}]"),
        ]  # fmt: skip
    return overloads("linspace", *definitions)


def frequencies(name):
    """`fftfreq` and `rfftfreq`."""
    n, device = "n: int | _np.integer", DEVICE
    return overloads(
        name,
        (f"{n}, d: _ArrayLikeFloat_co = ..., {device}", "_NDArray[_np.floating]"),
        (f"{n}, d: _ArrayLikeComplex_co = ..., {device}", "_NDArray[_np.complexfloating]"),
    )


def unit(name):
    """`eye`: a matrix, of float64 unless a dtype is told."""
    start = "N: int, M: int | None = ..., k: int = ..., {}dtype: {}, "
    end = f"order: _CF = ..., {{}}{DEVICE}, {LIKE}"
    return overloads(
        name,
        (start.format("", "type[_np.float64] | None = ...") + end.format("*, "), "_Array2[_np.float64]"),
        (start.format("*, ", "_Of[_ScalarT]") + end.format(""), "_Array2[_ScalarT]"),
        (start.format("", "_Of[_ScalarT]").replace(" = ...", "") + end.format("*, "), "_Array2[_ScalarT]"),
        (start.format("", "DTypeLike | None = ...") + end.format("*, "), "_Array2[Any]"),
    )  # fmt: skip


def converting(name):
    """`astype`, whose results keep the shape."""
    start, end = (
        "x: ndarray[_ShapeT, _np.dtype[Any]], dtype: ",
        f", /, *, copy: _b.bool = ..., {DEVICE}",
    )
    return overloads(
        name,
        (f"{start}_Of[_ScalarT]{end}", "ndarray[_ShapeT, _np.dtype[_ScalarT]]"),
        (f"{start}DTypeLike | None{end}", "ndarray[_ShapeT, _np.dtype[Any]]"),
    )


DEVICES = {
    **{name: filled(name) for name in ("empty", "ones", "zeros")},
    "full": filled("full", "fill_value"),
    "empty_like": like("empty_like", "prototype", mark="/, "),
    "ones_like": like("ones_like", "a"),
    "zeros_like": like("zeros_like", "a"),
    "full_like": like("full_like", "a", "fill_value"),
    "asarray": converted("asarray"),
    "asanyarray": converted("asanyarray", "_ArrayT"),
    "arange": ranges(),
    "linspace": spaced(),
    "eye": unit("eye"),
    "astype": converting("astype"),
    "from_dlpack": f"def from_dlpack(x: Any, /, *, {DEVICE}, copy: _b.bool | None = ...) -> _NDArray[Any]: ...\n",
}
FREQUENCIES = {name: frequencies(name) for name in ("fftfreq", "rfftfreq")}
