"""What NumPy's versions do in different ways: that of the installed one, which is the oracle."""

import inspect
import warnings

import asnumpy as anp
import numpy as np
import pytest

DTYPES = ["?", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
NEW = np.lib.NumpyVersion(np.__version__) >= "2.5.0"


def outcome(call, m):
    """(value or the error's class, warnings with their texts)."""
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        try:
            value = call(m)
            value = value if isinstance(value, str) else repr(np.asarray(value))
        except Exception as error:
            value = type(error), str(error)
    return value, [(w.category, str(w.message)) for w in met]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("out", DTYPES)
def test_out_of_take_and_compress(dtype, out):
    for call in (
        lambda m: m.array([1, 2], dtype).take([1], out=m.zeros(1, out)),
        lambda m: m.array([1, 2], dtype).take([3], out=m.zeros(1, out), mode="clip"),
        lambda m: m.array([1, 2], dtype).compress([0, 1], out=m.zeros(1, out)),
    ):
        assert outcome(call, anp) == outcome(call, np)


TURNS = [2.0, 2.5, "1", True, 1, -3, np.float64(1), np.int8(3), np.array(1), None, 1j, [1]]


@pytest.mark.parametrize("k", TURNS, ids=repr)
def test_turns(k):
    """rot90 of what is no integer: a warning and int() from NumPy 2.5 on, remainders before."""
    call = lambda m: m.rot90(m.arange(6).reshape(2, 3), k)  # noqa: E731
    ours, theirs = outcome(call, anp), outcome(call, np)
    assert ours[1] == theirs[1]
    assert ours[0] == theirs[0] or ours[0][0] is theirs[0][0] and isinstance(theirs[0], tuple)


def assigned(name, value):
    def call(m):
        a = m.arange(6.0)
        setattr(a, name, value)
        return a

    return call


@pytest.mark.parametrize(
    ("name", "value"), [("shape", (2, 3)), ("shape", 6), ("dtype", "i4"), ("dtype", "c16")]
)
def test_assigned_attributes(name, value):
    assert outcome(assigned(name, value), anp) == outcome(assigned(name, value), np)


def test_assignments_that_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, value in (("shape", (2, 3)), ("dtype", "i4")):
            for m in (np, anp):
                if NEW:
                    with pytest.raises(DeprecationWarning):
                        assigned(name, value)(m)
                else:
                    assigned(name, value)(m)


COUNTED = [[], [1.0], [1.5], ["1"], [True, False], (1, 2), [1j], [b"1"], [np.float32(1)], 2, 1.5]


@pytest.mark.parametrize("given", COUNTED, ids=repr)
def test_bincount(given):
    ours, theirs = (outcome(lambda m: m.bincount(given), m) for m in (anp, np))
    assert ours[1] == theirs[1]
    assert ours[0] == theirs[0] or ours[0][0] is theirs[0][0]


@pytest.mark.parametrize("a", [[[2.0, 0], [0, 3]], [[0, 1], [-1, 0]], [[1, 2], [3, 4]]], ids=str)
def test_eigenvalues_and_what_comes_of_them(a):
    for name in ("linalg.eigvals", "linalg.eig", "poly"):
        ours, theirs = (eval(f"m.{name}", {"m": m})(m.array(a)) for m in (anp, np))
        for x, y in zip(
            *((r if isinstance(r, tuple) else (r,)) for r in (ours, theirs)), strict=True
        ):
            assert x.dtype == y.dtype
    for p in ([1, -3, 2], [1, 0, 1], [2.0, 4], [0, 0], [1, 2, 0, 0]):
        assert anp.roots(p).dtype == np.roots(p).dtype


FAMILIES = {
    "polynomial": "poly", "chebyshev": "cheb", "legendre": "leg", "laguerre": "lag", "hermite": "herm",
    "hermite_e": "herme",
}  # fmt: skip


@pytest.mark.parametrize("module", FAMILIES)
def test_values_at_points_of_any_dimension(module):
    ours = getattr(anp.polynomial, module)
    name = FAMILIES[module]
    valnd = getattr(ours, f"{name}valnd")
    assert f"{name}valnd" in ours.__all__
    assert str(inspect.signature(valnd)) == "(pts, c)"
    rng = np.random.default_rng(3)
    c = rng.random((3, 4, 2, 5))
    x = rng.random((4, 6))
    for n in (1, 2, 3, 4):
        got = valnd(anp.array(x[:n]), anp.array(c))
        basis = [
            getattr(getattr(np.polynomial, module), f"{name}vander")(x[i], c.shape[i] - 1)
            for i in range(n)
        ]
        points = ",".join(f"p{s}" for s in "ijkl"[:n])
        wanted = np.einsum(f"ijkl,{points}->{'ijkl'[n:]}p", c, *basis)
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-10)
        if NEW:
            theirs = getattr(getattr(np.polynomial, module), f"{name}valnd")(x[:n], c)
            np.testing.assert_allclose(np.asarray(got), theirs, rtol=1e-10)
    assert valnd((0.5, 0.25), [[1.0, 2], [3, 4]]) == getattr(ours, f"{name}val2d")(
        0.5, 0.25, [[1.0, 2], [3, 4]]
    )
    with pytest.raises(ValueError, match="ordinates are incompatible"):
        valnd(([1.0], [1.0], [1.0], [1.0, 2]), c)
    with pytest.raises(IndexError):
        valnd((), c)


def test_bounds_of_as_strided():
    """They are checked in any case; NumPy has the keyword from 2.5 on."""
    strided = anp.lib.stride_tricks.as_strided
    a = anp.arange(10)
    for asked in (None, False, True):
        assert strided(a[:2], (2,), (40,), check_bounds=asked).tolist() == [0, 5]
        with pytest.raises(ValueError, match="of a buffer of 80"):
            strided(a, (20,), (8,), check_bounds=asked)


def test_names_of_older_versions():
    assert hasattr(anp, "row_stack") == hasattr(np, "row_stack") == (not NEW)
    assert ("row_stack" in anp.__all__) == (not NEW)


@pytest.mark.parametrize(
    "p", [[0.5, 0.5], [0, 0.5, 0.5], [0.5, 0.0, 0.5], [1.0, 0, 0], [0.9, 0.1], [1.0]]
)
@pytest.mark.parametrize("n", [0, 1, 3, 200])
@pytest.mark.parametrize("kind", ["RandomState", "default_rng"])
def test_draws_of_multinomials(kind, n, p):
    """RandomState's binomials draw where nothing is left to decide, from NumPy 2.5 on here too."""
    ours, theirs = (getattr(m.random, kind)(7) for m in (anp, np))
    np.testing.assert_array_equal(ours.multinomial(n, p, 5), theirs.multinomial(n, p, 5))
    assert ours.random() == theirs.random()


@pytest.mark.parametrize(
    "text",
    [
        "fix([2.5, -2.5])", "fix(2.5)", "tri(3, k=1.5)", "tri(3, 4, 1.0)", "tri(3, 4, True)", "tri(3.0)",
        "tri(3, 2.0)", "tri(2, k=np.int8(1))", "tril(m.ones((3, 3)), 1.0)", "triu(m.ones((3, 3)), 1.0)",
        "tril_indices(3, 0.5)", "triu_indices(3, 0.5)", "tril_indices(3, 1)", "typename('d')",
    ],
)  # fmt: skip
def test_deprecated_calls(text):
    """The same warnings; NumPy's texts and errors of tri's numbers that are none are its own."""
    ours, theirs = (outcome(lambda m: value_of(text, m), m) for m in (anp, np))
    assert [w[0] for w in ours[1]] == [w[0] for w in theirs[1]]
    assert ours[0] == theirs[0] or ours[0][0] is theirs[0][0]


def value_of(text, m):
    value = eval(f"m.{text}", {"m": m, "np": np})
    return repr([np.asarray(v) for v in value]) if isinstance(value, tuple) else value


def matrices(dtype, fill):
    """With the number in one place, in all, and in one matrix of a stack."""
    one, stack = np.ones((3, 3), dtype), np.tile(np.eye(3, dtype=dtype), (2, 1, 1))
    one[1, 2] = stack[1, 0, 0] = fill
    return [one, stack, *(np.full(shape, fill, dtype) for shape in ((1, 1), (5, 2), (1, 3)))]


OF_SINGULAR_VALUES = [
    "svd(a)", "svd(a, False)", "svd(a, compute_uv=False)", "svdvals(a)", "pinv(a)", "matrix_rank(a)",
    "norm(a, 2, (-2, -1))", "norm(a, 'nuc', (-2, -1))", "cond(a)", "cond(a, 2)", "cond(a, -2)",
    "cond(a, 'nuc')", "cond(a, 1)",
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("fill", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("text", OF_SINGULAR_VALUES)
def test_singular_values_of_infinities(text, fill, dtype):
    """No convergence from NumPy 2.5 on, NaN before; of cond NaN or infinity from 2.5 on."""
    for a in matrices(dtype, fill):
        ours, theirs = (lambda m=m: kinds(lambda m: eval(f"m.linalg.{text}", {"m": m, "a": m.array(a)}), m)  # noqa: B023
                        for m in (anp, np))  # fmt: skip
        if np.isinf(fill) and not NEW:  # LAPACK of older NumPys' wheels may never end
            # (of no square matrix, or of NaN for an inverse, cond is an error)
            assert isinstance(ours(), tuple) or text in ("cond(a, 1)", "cond(a, 'nuc')")
        else:
            assert ours() == theirs()


def kinds(call, m):
    """The error's class, or which elements of the results are NaN or infinite."""
    try:
        value = call(m)
    except np.linalg.LinAlgError as error:
        return type(error)
    # (vectors of a matrix with infinities are anything)
    values = value if isinstance(value, tuple) else (value,)
    singular = np.asarray(values[1] if len(values) == 3 else values[0])
    return singular.shape, np.isnan(singular).tolist(), np.isinf(singular).tolist()


def test_singular_values_of_infinities_in_a_traced_function():
    """The replay's matrix is judged as the call's would be."""
    values = anp.jit(lambda a: anp.linalg.svdvals(a))
    a = np.eye(3)
    for _ in range(3):
        assert values(anp.array(a)).tolist() == [1, 1, 1]
    a[1, 1] = np.inf
    if NEW:
        with pytest.raises(np.linalg.LinAlgError):
            values(anp.array(a)).tolist()
    else:
        assert np.isnan(np.asarray(values(anp.array(a)))).all()
    a[1, 1] = 1
    assert values(anp.array(a)).tolist() == [1, 1, 1]
