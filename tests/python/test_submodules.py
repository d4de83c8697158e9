"""NumPy's modules under this package's name: they import, are NumPy's, and take our arrays."""

import importlib
import io
import subprocess
import sys
import warnings

import asnumpy as np
import numpy
import pytest

NUMPYS = """char core core.numeric ctypeslib dtypes exceptions f2py f2py.crackfortran lib.format
lib.introspect lib.recfunctions lib.user_array ma ma.core ma.extras ma.mrecords matlib matrixlib rec
strings testing.overrides typing.mypy_plugin"""
OURS = """emath fft lib lib.array_utils lib.mixins lib.npyio lib.scimath lib.stride_tricks linalg
polynomial polynomial.chebyshev polynomial.hermite polynomial.hermite_e polynomial.laguerre
polynomial.legendre polynomial.polynomial polynomial.polyutils random testing typing version"""

ALIASES = {"emath": "lib.scimath"}  # an attribute of NumPy, and no module


def imported(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # matlib is old, core is private
        return importlib.import_module(name)


@pytest.mark.parametrize("name", NUMPYS.split())
def test_numpys_modules(name):
    theirs = imported(f"numpy.{name}")
    spec = theirs.__spec__
    assert imported(f"asnumpy.{name}") is theirs
    assert theirs.__spec__ is spec and spec.name == f"numpy.{name}"
    attribute = np
    for part in name.split("."):
        attribute = getattr(attribute, part)
    assert attribute is theirs
    assert name.partition(".")[0] in dir(np)


@pytest.mark.parametrize("name", OURS.split())
def test_our_modules(name):
    ours, theirs = imported(f"asnumpy.{name}"), imported(f"numpy.{ALIASES.get(name, name)}")
    assert ours is not theirs and ours.__name__.startswith("asnumpy.")
    listed = getattr(theirs, "__all__", None) or [n for n in vars(theirs) if n[0] != "_"]
    missing = [n for n in listed if not hasattr(ours, n)]
    assert missing == (["git_revision"] if name == "version" else [])


@pytest.mark.parametrize("statement", [
    "import asnumpy.ma", "from asnumpy import ma", "import asnumpy.ma as ma", "from asnumpy.ma import masked",
    "import asnumpy.ma.extras", "import asnumpy; asnumpy.ma.masked", "import asnumpy.emath", "import asnumpy.typing as npt",
    "from asnumpy.lib import format", "import asnumpy.lib.mixins", "import asnumpy; asnumpy.version.version",
    "from asnumpy.exceptions import AxisError", "import asnumpy; asnumpy.lib.format", "from asnumpy.dtypes import Float64DType",
])  # fmt: skip
def test_each_alone(statement):
    """In a process in which nothing else has imported the module, NumPy first and not."""
    for before in ("", "import numpy.ma.extras; "):
        done = subprocess.run(
            [sys.executable, "-c", before + statement], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_importing_stays_lazy():
    script = "import sys, numpy; before = set(sys.modules); import asnumpy; print(sorted(set(sys.modules) - before))"
    new = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert "numpy." not in new.replace("asnumpy.", ""), new


def test_what_is_not_there():
    with pytest.raises(ModuleNotFoundError, match=r"asnumpy\.nothing"):
        importlib.import_module("asnumpy.nothing")
    with pytest.raises(ModuleNotFoundError, match=r"numpy\.ma\.nothing"):
        importlib.import_module("asnumpy.ma.nothing")


X = numpy.array([3.0, 1.0, 2.0, 4.0])
MASKED = """array masked_array asarray asanyarray sum mean std var median average max min ptp prod sort argsort
argmax argmin sin sqrt abs negative cumsum cumprod unique compressed count anom filled getdata getmaskarray
copy diff ediff1d masked_invalid ones_like zeros_like ravel squeeze diag vander atleast_2d cov isMaskedArray
nonzero flatnotmasked_edges clump_unmasked"""


# Of the functions that are tried here: they ask for a view as a masked array, which an NPU's memory
# has none of.
VIEWS = ("unique", "ones_like", "zeros_like", "squeeze", "diag")
on_an_npu = np.ones(1).device.startswith("ascend")


@pytest.mark.parametrize("name", MASKED.split())
def test_masked_functions(name):
    function = getattr(np.ma, name)
    if on_an_npu and name in VIEWS:
        with pytest.raises(TypeError, match="a view of a copy"):
            function(np.array(X))
        function(np.to_numpy(np.array(X)))
        return
    got, want = function(np.array(X)), function(X)
    numpy.testing.assert_array_equal(numpy.asarray(got), numpy.asarray(want))
    assert (
        isinstance(got, numpy.ma.MaskedArray) == isinstance(want, numpy.ma.MaskedArray)
        or name == "vander"
    )


@pytest.mark.parametrize("call", [
    lambda m, a: m.ma.array(a, mask=a > 2) + a, lambda m, a: a * m.ma.masked_where(a > 2, a), lambda m, a: m.ma.where(a > 2, a, -a),
    lambda m, a: m.ma.masked_inside(a, 2, 3), lambda m, a: m.ma.masked_equal(a, 2), lambda m, a: m.ma.concatenate([a, m.ma.array(a, mask=a > 1)]),
    lambda m, a: m.ma.average(a, weights=a), lambda m, a: m.ma.dot(a, a), lambda m, a: m.ma.array(X)[a > 2], lambda m, a: m.sqrt(m.ma.array(a, mask=a > 2)),
    lambda m, a: m.ma.hstack([a, a]), lambda m, a: m.ma.polyfit(a, a, 1).round(9),
    lambda m, a: m.char.multiply(numpy.array(["a", "b"]), m.array([1, 3])), lambda m, a: m.char.mod("%d", m.array([5, 6])),
    lambda m, a: m.strings.center(numpy.array(["a", "b"]), m.array([5, 4])), lambda m, a: m.strings.zfill(numpy.array(["1", "22"]), m.array([3, 4])),
    lambda m, a: m.rec.fromarrays([a, m.array([1, 2, 3, 4])], names="x,y"), lambda m, a: m.rec.array([a, a]).f1,
    lambda m, a: m.ctypeslib.as_array(m.ctypeslib.as_ctypes(m.array([1.5, 2]))), lambda m, a: m.matlib.repmat(a, 2, 2),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_calls(call):
    got, want = call(np, np.array(X)), call(numpy, X)
    assert str(got) == str(want)
    assert got.dtype == want.dtype


@pytest.mark.skipif(on_an_npu, reason="an NPU's memory has no view as a masked array")
def test_views_as_masked_arrays():
    for call in (lambda m, a: m.ma.clip(a, 1, 2), lambda m, a: m.ma.isin(a, a[:2])):
        assert str(call(np, np.array(X))) == str(call(numpy, X))


def test_format():
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.arange(6.0).reshape(2, 3))
    stream.seek(0)
    numpy.testing.assert_array_equal(
        np.lib.format.read_array(stream), numpy.arange(6.0).reshape(2, 3)
    )


class Told(np.lib.mixins.NDArrayOperatorsMixin):
    """Answers with what it was asked."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ufunc, [x if x is not self else "self" for x in inputs], kwargs.get("out") == (self,)


def test_operators_mixin():
    told, array = Told(), np.ones(2)
    assert isinstance(told, numpy.lib.mixins.NDArrayOperatorsMixin)
    assert told + 1 == (np.add, ["self", 1], False)
    assert 1 - told == (np.subtract, [1, "self"], False)
    assert -told == (np.negative, ["self"], False)
    assert (
        (told < 1)[0] is np.less and (told == 1)[0] is np.equal and divmod(1, told)[0] is np.divmod
    )
    assert (told @ array)[0] is np.matmul
    assert (array + told)[0] is np.add and (numpy.ones(2) + told)[0] is numpy.add
    kept = told
    kept **= 2
    assert kept == (np.power, ["self", 2], True)
    names = {n for n, v in vars(numpy.lib.mixins.NDArrayOperatorsMixin).items() if callable(v)}
    assert names <= set(vars(np.lib.mixins.NDArrayOperatorsMixin))
    with pytest.raises(TypeError):
        hash(told)

    class Refuses:
        __array_ufunc__ = None

    with pytest.raises(TypeError):
        told + Refuses()


def test_typing_and_version():
    alias = np.typing.NDArray[np.float64]
    assert alias.__origin__ is np.ndarray and alias.__args__[1] == numpy.dtype[np.float64]
    assert np.typing.ArrayLike is numpy.typing.ArrayLike
    assert np.version.version == np.version.full_version == np.__version__
    assert np.version.release is True
    assert np.exceptions.AxisError is numpy.exceptions.AxisError
    with pytest.raises(AttributeError, match=r"asnumpy\.typing.*nothing"):
        _ = np.typing.nothing
