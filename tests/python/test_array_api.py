"""The array API standard 2024.12, with the consortium's strict reference (array-api-strict) as the oracle."""

import inspect
import math

import asnumpy as anp
import numpy as np
import pytest

strict = pytest.importorskip("array_api_strict", reason="needs array-api-strict")
strict.set_array_api_strict_flags(api_version="2024.12")

FLAGS = {"ArrayAPIStrictFlags", "Device", "get_array_api_strict_flags", "reset_array_api_strict_flags",
         "set_array_api_strict_flags"}  # fmt: skip
DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32",
          "float64", "complex64", "complex128"]  # fmt: skip
NAMESPACES = [(strict, anp), (strict.linalg, anp.linalg), (strict.fft, anp.fft)]
FUNCTIONS = [
    (theirs, ours, name)
    for theirs, ours in NAMESPACES
    for name in theirs.__all__
    if inspect.isfunction(getattr(theirs, name)) and name not in FLAGS
]
# Keywords of the standard that NumPy's signatures do not show (descending: before 2.5); they are taken
# all the same.
HIDDEN = {
    ("sort", "descending"),
    ("argsort", "descending"),
    ("fftfreq", "dtype"),
    ("rfftfreq", "dtype"),
}


def sample(dtype, shape=(3, 4), seed=0, low=0.1):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype.startswith(("int", "uint")):
        return rng.integers(1, 6, shape).astype(dtype)
    x = rng.random(shape) * (0.9 - low) + low
    return (x + 1j * rng.random(shape) if dtype.startswith("complex") else x).astype(dtype)


def to_host(x):
    if hasattr(x, "_array"):
        return np.asarray(x._array)
    return np.asarray(x)


def agree(ours, theirs, tolerance=1e-5):
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            agree(a, b, tolerance)
        return
    if not hasattr(theirs, "_array"):
        assert ours == theirs or ours is theirs
        return
    a, b = to_host(ours), to_host(theirs)
    assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, b.dtype, a.shape, b.shape)
    if b.dtype.kind in "fc":
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(a, b)


def both(name, arrays, *args, namespace=(strict, anp), tolerance=1e-5, **keywords):
    """Calls a function in both namespaces."""
    theirs, ours = namespace
    expected = getattr(theirs, name)(*(strict.asarray(a) for a in arrays), *args, **keywords)
    agree(
        getattr(ours, name)(*(anp.asarray(a) for a in arrays), *args, **keywords),
        expected,
        tolerance,
    )


def accepted(names, dtypes, call, namespace=strict):
    """The pairs of a name and a dtype that the standard has; the others are not asked of us."""
    pairs = []
    for name in names:
        for dtype in dtypes:
            try:
                call(getattr(namespace, name), dtype)
            except (TypeError, ValueError):
                continue
            pairs.append((name, dtype))
    return pairs


def test_every_name():
    assert [n for n in strict.__all__ if n not in FLAGS and not hasattr(anp, n)] == []
    for theirs, ours in NAMESPACES[1:]:
        assert [n for n in theirs.__all__ if not hasattr(ours, n)] == []
    reference = type(strict.asarray(1))
    private = {
        "__buffer__",
        "__slots__",
        "__weakref__",
        "__dict__",
        "__module__",
        "__annotations__",
    }
    wanted = [n for n in dir(reference) if not n.startswith("_") or n.startswith("__")]
    assert [n for n in wanted if not hasattr(anp.ndarray, n) and n not in private] == []
    assert anp.__array_api_version__ >= "2024.12"
    assert anp.asarray([1.0]).__array_namespace__(api_version="2024.12") is anp


@pytest.mark.parametrize(
    ("theirs", "ours", "name"), FUNCTIONS, ids=lambda x: x if isinstance(x, str) else ""
)
def test_parameters(theirs, ours, name):
    """Every parameter of the standard can be given as the standard gives it."""
    mine = inspect.signature(getattr(ours, name)).parameters.values()
    names = {p.name for p in mine}
    takes_any = any(p.kind == p.VAR_KEYWORD for p in mine)
    positions = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in mine)
    many = any(p.kind == p.VAR_POSITIONAL for p in mine)
    for i, p in enumerate(inspect.signature(getattr(theirs, name)).parameters.values()):
        if p.kind == p.POSITIONAL_ONLY:
            assert many or i < positions
        elif p.kind != p.VAR_POSITIONAL:
            assert p.name in names or takes_any or (name, p.name) in HIDDEN


UNARY = ["abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_invert", "ceil", "conj", "cos",
         "cosh", "exp", "expm1", "floor", "imag", "isfinite", "isinf", "isnan", "log", "log1p", "log2", "log10",
         "logical_not", "negative", "positive", "real", "reciprocal", "round", "sign", "signbit", "sin", "sinh",
         "sqrt", "square", "tan", "tanh", "trunc", "all", "any", "argmax", "argmin", "count_nonzero", "max",
         "mean", "min", "prod", "std", "sum", "var", "cumulative_sum", "cumulative_prod", "argsort", "sort",
         "flip", "nonzero", "unique_values", "unique_all", "unique_counts", "unique_inverse", "matrix_transpose",
         "zeros_like", "ones_like", "squeeze", "unstack", "tril", "triu", "diff"]  # fmt: skip
BINARY = ["add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
          "bitwise_xor", "copysign", "divide", "equal", "floor_divide", "greater", "greater_equal", "hypot",
          "less", "less_equal", "logaddexp", "logical_and", "logical_or", "logical_xor", "maximum", "minimum",
          "multiply", "nextafter", "not_equal", "pow", "remainder", "subtract", "vecdot"]  # fmt: skip


def unary_arguments(name, dtype):
    shape, low = ((1, 4) if name == "squeeze" else (3, 4)), (1.1 if name == "acosh" else 0.1)
    keywords = {
        "cumulative_sum": {"axis": 1},
        "cumulative_prod": {"axis": 0},
        "squeeze": {"axis": 0},
    }
    return sample(dtype, shape, low=low), keywords.get(name, {})


def call_unary(function, dtype):
    x, keywords = unary_arguments(function.__name__, dtype)
    return function(strict.asarray(x), **keywords)


@pytest.mark.parametrize(("name", "dtype"), accepted(UNARY, DTYPES, call_unary))
def test_unary(name, dtype):
    x, keywords = unary_arguments(name, dtype)
    both(name, [x], **keywords)


def call_binary(function, dtype):
    return function(strict.asarray(sample(dtype)), strict.asarray(sample(dtype, seed=1)))


@pytest.mark.parametrize(("name", "first"), accepted(BINARY, DTYPES, call_binary))
def test_binary(name, first):
    for second in DTYPES:
        x, y = sample(first), sample(second, seed=1)
        try:
            expected = getattr(strict, name)(strict.asarray(x), strict.asarray(y))
        except (TypeError, ValueError):
            continue
        agree(getattr(anp, name)(anp.asarray(x), anp.asarray(y)), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalars_are_weak(dtype):
    x = sample(dtype)
    for name, scalar in (
        ("add", 1),
        ("multiply", 2.5),
        ("maximum", 1),
        ("where", 1),
        ("logical_or", True),
    ):
        try:
            if name == "where":
                expected = strict.where(
                    strict.asarray(x) == strict.asarray(x), strict.asarray(x), scalar
                )
            else:
                expected = getattr(strict, name)(strict.asarray(x), scalar)
        except (TypeError, ValueError, OverflowError):
            continue
        ours = anp.asarray(x)
        agree(
            anp.where(ours == ours, ours, scalar)
            if name == "where"
            else getattr(anp, name)(ours, scalar),
            expected,
        )


REDUCTIONS = ["sum", "prod", "max", "min", "mean", "std", "var", "any", "all", "argmax", "argmin",
              "count_nonzero"]  # fmt: skip


def call_reduction(function, dtype):
    return function(strict.asarray(sample(dtype)))


@pytest.mark.parametrize(("name", "dtype"), accepted(REDUCTIONS, DTYPES, call_reduction))
def test_reductions(name, dtype):
    for keywords in (
        {"axis": 1},
        {"axis": (0, 1)},
        {"keepdims": True},
        {"axis": -1, "keepdims": True},
    ):
        if not (name.startswith("arg") and keywords.get("axis") == (0, 1)):
            both(name, [sample(dtype)], **keywords)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float32", "float64"])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sorting(dtype, descending, axis):
    x = sample(dtype, (7, 5))
    both("sort", [x], axis=axis, descending=descending)
    both("argsort", [x], axis=axis, descending=descending, stable=True)


def test_sorting_without_an_axis_sorts_the_last_one():
    x = anp.asarray([[3, 1, 2], [9, 8, 7]])
    assert anp.sort(x, descending=True).tolist() == [[3, 2, 1], [9, 8, 7]]
    assert anp.argsort(x, descending=True).tolist() == [[0, 2, 1], [0, 1, 2]]
    assert anp.sort(x, axis=None, descending=True).tolist() == [9, 8, 7, 3, 2, 1]
    assert anp.argsort(x, axis=None, descending=True).tolist() == [3, 4, 5, 0, 2, 1]


CALLS = [
    ("arange", (), (1, 9, 2)), ("linspace", (), (0.0, 1.0, 7)), ("eye", (), (3, 4)), ("zeros", (), ((2, 3),)),
    ("full", (), ((2, 3), 7)), ("ones", (), ((2, 0),)), ("broadcast_to", ("float64",), ((2, 3, 4),)),
    ("expand_dims", ("int32",), (1,)), ("moveaxis", ("int32",), (0, 1)), ("permute_dims", ("int32",), ((1, 0),)),
    ("reshape", ("int32",), ((2, 6),)), ("roll", ("int32",), (2,)), ("tile", ("int32",), ((2, 1),)),
    ("repeat", ("int32",), (2,)), ("clip", ("float64",), (0.3, 0.6)), ("tensordot", ("float64", "float64"), ()),
    ("matmul", ("float64",), ()), ("result_type", ("int8", "uint8"), ()), ("can_cast", ("int8",), ("int16",)),
    ("bitwise_left_shift", ("int32",), (2,)), ("count_nonzero", ("int32",), ()),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_calls(call):
    name, dtypes, args = call
    arrays = [sample(d, seed=i) for i, d in enumerate(dtypes)]
    if name == "can_cast":
        assert anp.can_cast(anp.int8, anp.int16) and not anp.can_cast(anp.float64, anp.float32)
        return
    if name == "result_type":
        assert anp.result_type(anp.int8, anp.uint8) == anp.int16
        return
    if name == "matmul":
        both(name, [arrays[0], arrays[0].T.copy()])
        return
    both(name, arrays, *args)


def test_joins_and_searches():
    x, y = sample("float64"), sample("float32", seed=2)
    for name, keywords in (
        ("concat", {"axis": 0}),
        ("concat", {"axis": None}),
        ("stack", {"axis": 1}),
    ):
        expected = getattr(strict, name)([strict.asarray(x), strict.asarray(y)], **keywords)
        agree(getattr(anp, name)([anp.asarray(x), anp.asarray(y)], **keywords), expected)
    grids = strict.meshgrid(strict.asarray(x[0]), strict.asarray(x[1]), indexing="ij")
    agree(anp.meshgrid(anp.asarray(x[0]), anp.asarray(x[1]), indexing="ij"), grids)
    line = np.sort(x.ravel())
    both("searchsorted", [line, x.ravel()], side="right")
    both("take", [x, np.array([0, 2])], axis=1)
    both("take_along_axis", [x, np.argsort(x, axis=1)], axis=1)
    for dtype, kind in (
        ("int8", "integral"),
        ("float32", "real floating"),
        ("bool", "bool"),
        ("uint8", ("numeric", "bool")),
    ):
        assert anp.isdtype(anp.dtype(dtype), kind) and not anp.isdtype(
            anp.dtype(dtype), "complex floating"
        )


LINALG = {
    "cholesky": [], "det": [], "diagonal": [], "eigvalsh": [], "inv": [], "matrix_norm": [], "matrix_rank": [],
    "matrix_transpose": [], "pinv": [], "svdvals": [], "trace": [], "slogdet": [], "vector_norm": [],
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", LINALG)
def test_linalg(name, dtype):
    a = sample(dtype, (2, 4, 4))
    positive = a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(4, dtype=dtype)
    single = dtype in ("float32", "complex64")
    both(
        name, [positive.astype(dtype)], namespace=NAMESPACES[1], tolerance=2e-3 if single else 1e-8
    )
    result = {
        "svd": "U S Vh",
        "qr": "Q R",
        "eigh": "eigenvalues eigenvectors",
        "slogdet": "sign logabsdet",
    }
    for function, fields in result.items():
        got = getattr(anp.linalg, function)(anp.asarray(positive))
        assert (
            got._fields == tuple(fields.split())
            or [f.lower() for f in got._fields] == fields.lower().split()
        )


TRANSFORMS = ["fft", "ifft", "fftn", "ifftn", "rfft", "irfft", "rfftn", "irfftn", "hfft", "ihfft"]


def call_transform(function, dtype):
    return function(strict.asarray(sample(dtype, (4, 6))))


@pytest.mark.parametrize(
    ("name", "dtype"), accepted(TRANSFORMS, DTYPES[-4:], call_transform, strict.fft)
)
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_fft(name, dtype, norm):
    both(name, [sample(dtype, (4, 6))], namespace=NAMESPACES[2], norm=norm, tolerance=1e-4)


def test_frequencies():
    for name in ("fftfreq", "rfftfreq"):
        agree(getattr(anp.fft, name)(7, d=0.5), getattr(strict.fft, name)(7, d=0.5))
        agree(
            getattr(anp.fft, name)(8, dtype=anp.float32),
            getattr(strict.fft, name)(8, dtype=strict.float32),
        )
    both("fftshift", [sample("float64", (5,))], namespace=NAMESPACES[2])


def test_creation():
    x = anp.asarray([1, 2, 3])
    assert anp.asarray(x, copy=False) is x or anp.shares_memory(anp.asarray(x, copy=False), x)
    assert not anp.shares_memory(anp.asarray(x, copy=True), x)
    with pytest.raises(ValueError):
        anp.asarray([1, 2], copy=False)
    for function in (anp.zeros, anp.ones, anp.empty):
        assert function(3, device=x.device).device == x.device
    assert anp.astype(x, anp.float32, copy=False).dtype == anp.float32
    assert anp.asarray(True).dtype == anp.bool and anp.asarray(1).dtype == anp.int64
    assert anp.asarray(1.0).dtype == anp.float64 and anp.asarray(1j).dtype == anp.complex128
    with pytest.raises(ValueError, match="Device not understood"):
        anp.zeros(3, device="nowhere")


def test_inspection():
    ours, theirs = anp.__array_namespace_info__(), strict.__array_namespace_info__()
    assert set(theirs.capabilities()) <= set(ours.capabilities())
    assert set(theirs.default_dtypes()) <= set(ours.default_dtypes())
    assert set(ours.dtypes()) == set(DTYPES)
    for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating",
                 "numeric", ("bool", "integral")):  # fmt: skip
        assert set(ours.dtypes(kind=kind)) == set(theirs.dtypes(kind=kind))
    assert ours.default_device() in ours.devices()
    for dtype in ("float32", "float64"):
        a, b = anp.finfo(anp.dtype(dtype)), strict.finfo(getattr(strict, dtype))
        assert all(
            getattr(a, f) == getattr(b, f) for f in ("bits", "eps", "max", "min", "smallest_normal")
        )
    for dtype in DTYPES[1:9]:
        a, b = anp.iinfo(anp.dtype(dtype)), strict.iinfo(getattr(strict, dtype))
        assert (a.bits, a.max, a.min) == (b.bits, b.max, b.min)


def test_array_object():
    x = anp.asarray(sample("float64"))
    assert x.mT.shape == (4, 3) and x.T.shape == (4, 3) and x.ndim == 2 and x.size == 12
    assert x.to_device(x.device) is x
    assert float(anp.asarray(2.5)) == 2.5 and int(anp.asarray(3)) == 3 and bool(anp.asarray(True))
    assert complex(anp.asarray(1j)) == 1j and [10, 20][anp.asarray(1)] == 20
    with pytest.raises((TypeError, ValueError)):
        bool(anp.asarray([1, 2]))
    with pytest.raises(TypeError):
        [1, 2][anp.asarray(1.0)]
    with pytest.raises(IndexError):
        x[5]
    assert math.isclose(float(x[1, 2]), float(sample("float64")[1, 2]))
    y = anp.asarray(x, copy=True)
    y[anp.asarray(sample("bool"))] = 0
    assert (to_host(y) == np.where(sample("bool"), 0, sample("float64"))).all()


def test_dlpack():
    x = anp.arange(6.0).reshape(2, 3)
    assert x.__dlpack_device__() == (1, 0)
    for keywords in ({}, {"copy": True}, {"max_version": (1, 0)}, {"dl_device": (1, 0)}):
        assert x.__dlpack__(**keywords) is not None
    shared = anp.from_dlpack(x)
    shared[0, 0] = 7
    assert x[0, 0] == 7
    host = np.from_dlpack(x)
    host_copy = anp.from_dlpack(np.arange(3.0), copy=True)
    assert host[0, 0] == 7 and host_copy.tolist() == [0, 1, 2]
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
