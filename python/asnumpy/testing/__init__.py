"""numpy.testing for arrays on a device: the same assertions, comparing on the host."""

import functools as _functools

import numpy as _np
import numpy.testing as _host
from numpy.testing import (  # noqa: F401
    IgnoreException,
    KnownFailureException,
    TestCase,
    suppress_warnings,
)

from .. import _core
from .._core import asarray as _asarray
from .._host_values import converted as _converted

# What compares no arrays, and facts about the interpreter and the platform: calls that are watched get
# their arguments as they are.
for _name in ("assert_no_gc_cycles", "assert_no_warnings", "assert_raises", "assert_raises_regex",
              "assert_warns", "break_cycles", "clear_and_catch_warnings", "decorate_methods", "jiffies",
              "measure", "memusage", "rundocs", "runstring", "tempdir", "temppath",
              "BLAS_SUPPORTS_FPE", "HAS_LAPACK64", "HAS_REFCOUNT", "IS_64BIT", "IS_MUSL", "IS_PYPY",
              "IS_PYSTON", "IS_WASM", "NOGIL_BUILD", "IS_EDITABLE", "IS_INSTALLED", "NUMPY_ROOT",
              "SkipTest", "check_support_sve", "extbuild", "overrides", "run_threaded", "verbose"):  # fmt: skip
    if hasattr(_host, _name):
        globals()[_name] = getattr(_host, _name)


def _one_to_host(x):
    if _core._is_array(x):
        return _np.asarray(x)
    if hasattr(type(x), "__array__") and not isinstance(x, (_np.ndarray, _np.generic)):
        return _np.asarray(_asarray(x))  # its __array__ may give an array on a device
    return x


def _to_host(x):
    return _converted(x, _one_to_host)


def on_host(function):
    """An assertion of NumPy's that takes arrays on a device as well."""

    @_functools.wraps(function)
    def assertion(*args, **kwargs):
        __tracebackhide__ = True
        return function(*map(_to_host, args), **{k: _to_host(v) for k, v in kwargs.items()})

    assertion.__module__ = "asnumpy.testing"
    assertion.__doc__ = _core._doc(f"testing.{function.__name__}")
    return assertion


for _name in (
    "assert_", "assert_allclose", "assert_almost_equal", "assert_approx_equal",
    "assert_array_almost_equal", "assert_array_almost_equal_nulp", "assert_array_compare",
    "assert_array_equal", "assert_array_less", "assert_array_max_ulp", "assert_equal",
    "assert_string_equal", "build_err_msg", "print_assert_equal",
):  # fmt: skip
    if hasattr(_host, _name):
        globals()[_name] = on_host(getattr(_host, _name))

__all__ = sorted(n for n in globals() if not n.startswith("_") and n != "on_host")


def __dir__():
    return __all__
