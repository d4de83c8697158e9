"""AsNumpy: NumPy for Ascend NPUs, and a faster NumPy on a plain CPU.

    import asnumpy as np

Arrays live on a device; operations are recorded and run fused when a value is needed. dtypes,
scalars and exceptions are NumPy's own objects. The hot paths are in the extension `_core`;
functions composed of them are in the private modules listed below and load at their first use,
so that importing stays cheap.
"""

import importlib as _importlib
import os as _os

from . import _openblas  # noqa: F401  (before NumPy)

# isort: split
import numpy as _np
from numpy import (  # noqa: F401
    bool,
    bool_,
    byte,
    cdouble,
    complex64,
    complex128,
    complexfloating,
    csingle,
    double,
    dtype,
    e,
    euler_gamma,
    exceptions,
    finfo,
    float16,
    float32,
    float64,
    floating,
    generic,
    half,
    iinfo,
    inexact,
    inf,
    int8,
    int16,
    int32,
    int64,
    int_,
    intc,
    integer,
    intp,
    isdtype,
    issubdtype,
    little_endian,
    long,
    longlong,
    mintypecode,
    nan,
    newaxis,
    number,
    pi,
    sctypeDict,
    short,
    signedinteger,
    single,
    typecodes,
    typename,
    ubyte,
    uint,
    uint8,
    uint16,
    uint32,
    uint64,
    uintc,
    uintp,
    ulong,
    ulonglong,
    unsignedinteger,
    ushort,
)

from . import _core, _submodules
from ._core import *  # noqa: F403
from ._core import ndarray
from ._errstate import errstate, geterr, geterrcall, seterr, seterrcall  # noqa: F401

__version__ = "0.1.0"
__array_api_version__ = "2024.12"
True_, False_ = _np.True_, _np.False_

NPArray = NPUArray = ndarray

# NumPy's second names of ufuncs.
abs = _core.absolute
acos, acosh = _core.arccos, _core.arccosh
asin, asinh = _core.arcsin, _core.arcsinh
atan, atanh, atan2 = _core.arctan, _core.arctanh, _core.arctan2
bitwise_invert = bitwise_not = _core.invert
bitwise_left_shift, bitwise_right_shift = _core.left_shift, _core.right_shift
conj = _core.conjugate
mod = _core.remainder
pow = _core.power
true_divide = _core.divide
# ... and of functions.
_CopyMode, _NoValue = _np._CopyMode, _np._NoValue
concat = _core.concatenate
permute_dims = _core.transpose

# Module -> the names it defines, for loading at first use.
_LAZY = {
    "_creation": "asarray_chkfinite fromfile fromfunction fromiter fromstring indices meshgrid "
    "require vander",
    "_ranges": "geomspace linspace logspace",
    "_triangles": "diag diag_indices diag_indices_from diagflat mask_indices tri tril tril_indices "
    "tril_indices_from triu triu_indices triu_indices_from",
    "_windows": "bartlett blackman hamming hanning kaiser",
    "_joining": "append atleast_1d atleast_2d atleast_3d block broadcast_arrays broadcast_shapes "
    "delete insert resize tile",
    "_padding": "trim_zeros",
    "_splitting": "array_split dsplit hsplit split unstack vsplit",
    "_manipulation": "argwhere astype choose compress diagonal extract fill_diagonal "
    "flatnonzero imag isfortran iterable ix_ put real sort_complex trace",
    "_math": "allclose angle array_equal array_equiv common_type fix i0 isclose iscomplex "
    "iscomplexobj isneginf isposinf isrealobj min_scalar_type nan_to_num real_if_close sinc",
    "_calculus": "cumulative_prod cumulative_sum diff ediff1d gradient trapezoid unwrap",
    "_products": "cross kron",
    "_piecewise": "apply_along_axis apply_over_axes base_repr binary_repr frompyfunc "
    "piecewise select shares_memory vectorize",
    "_sets": "digitize intersect1d isin setdiff1d setxor1d union1d unique_all unique_counts "
    "unique_inverse unique_values",
    "_statistics": "average corrcoef cov ptp",
    "_quantiles": "median percentile quantile",
    "_nan": "nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin "
    "nanpercentile nanprod nanquantile nanstd nansum nanvar",
    "_histograms": "histogram histogram2d histogram_bin_edges histogramdd",
    "_einsum": "einsum einsum_path",
    "_grids": "broadcast c_ index_exp mgrid ndenumerate ndindex nditer ogrid r_ s_",
    "_io": "array2string array_repr array_str format_float_positional format_float_scientific "
    "fromregex genfromtxt get_printoptions load loadtxt printoptions save savetxt savez "
    "savez_compressed set_printoptions",
    "_polynomials": "poly poly1d polyadd polyder polydiv polyfit polyint polymul polysub polyval "
    "roots",
    "_namespace": "__array_namespace_info__",
    "_devices": "supports to_numpy",
    "_profile": "profile",
    "_streams": "Event Stream batch current_stream default_stream stream",
    "_jit": "disable_jit jit",
    "_custom": "CompileError ElementwiseKernel RawKernel ReductionKernel load_library",
    "precision": "autocast",
    "memory": "max_memory_allocated memory_allocated memory_snapshot memory_summary "
    "reset_peak_memory_stats set_allocator_settings set_memory_limit",
}
_WHERE = {name: module for module, names in _LAZY.items() for name in names.split()}
if not _core._NUMPY_2_5:  # which has no such name
    _WHERE["row_stack"] = "_joining"
_SUBMODULES = frozenset(
    [
        "balance",
        "debug",
        "emath",
        "fft",
        "lib",
        "linalg",
        "memory",
        "monitor",
        "nn",
        "ops",
        "polynomial",
        "precision",
        "random",
        "sparse",
        "testing",
        "typing",
        "version",
    ]
)
# What NumPy has for text, dates, records, objects and itself: its own, for data on the host; whole
# modules of that kind are in `_submodules`.
_NUMPYS = (
    "ScalarType asmatrix bmat busday_count busday_offset busdaycalendar bytes_ character clongdouble "
    "complex256 datetime64 datetime_as_string datetime_data flexible float128 get_include "
    "getbufsize info is_busday isnat longdouble matrix memmap nested_iters object_ recarray record "
    "setbufsize show_config show_runtime str_ test timedelta64 void"
)
_NUMPYS = frozenset(_NUMPYS.split())

_PUBLIC = {n for n in vars(_core) if not n.startswith("_")} - {"BitEngine", "function", "ufuncs"}
for _name in ("BitEngine", "function", "ufuncs"):
    globals().pop(_name, None)
__all__ = sorted(
    {n for n in globals() if not n.startswith("_")} | set(_WHERE) - {"__array_namespace_info__"}
)


def __getattr__(name):
    module = _WHERE.get(name)
    if module is not None:
        value = getattr(_importlib.import_module("." + module, __name__), name)
        if getattr(value, "__module__", "").startswith("asnumpy._") and hasattr(value, "__name__"):
            value.__module__ = "asnumpy"
        if type(value) is type(__getattr__):
            value = _importlib.import_module("._support", __name__).hosted(value)
        globals()[name] = value
        return value
    if name == "bfloat16":
        value = globals()[name] = _importlib.import_module("ml_dtypes").bfloat16
        return value
    if name in _SUBMODULES or name in _submodules.NUMPYS:
        return _importlib.import_module("." + name, __name__)
    if name in _NUMPYS and hasattr(_np, name):
        return getattr(_np, name)
    try:
        getattr(_np, name)
    except AttributeError as error:
        if error.name is None:  # NumPy says what to use instead of a name that it had
            raise AttributeError(str(error)) from None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    modules = _SUBMODULES | {name for name in _submodules.NUMPYS if "." not in name}
    shown = {name for name in globals() if not name.startswith("_") or name.startswith("__")}
    return sorted(shown | set(_WHERE) | modules | _NUMPYS)


_importlib.import_module("._adapters", __name__).install()
if _path := _os.environ.get("ASNUMPY_PROFILE"):
    _importlib.import_module("._profile_program", __name__).begin(_path)
if _path := _os.environ.get("ASNUMPY_WORKSPACES"):
    _importlib.import_module(".memory._workspaces", __name__).begin(_path)
