"""asnumpy.polynomial against numpy.polynomial: six families, functions and classes."""

import copy
import inspect
import pickle
import warnings
from decimal import Decimal
from fractions import Fraction

import asnumpy as anp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

FAMILIES = {
    "polynomial": ("poly", "Polynomial"),
    "chebyshev": ("cheb", "Chebyshev"),
    "legendre": ("leg", "Legendre"),
    "hermite": ("herm", "Hermite"),
    "hermite_e": ("herme", "HermiteE"),
    "laguerre": ("lag", "Laguerre"),
}
EACH = pytest.mark.parametrize("module", FAMILIES)


def close(ours, theirs, scale=1.0):
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            close(a, b, scale)
        return
    if isinstance(theirs, np.ndarray) and theirs.ndim:
        assert type(ours) is anp.ndarray
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    size = np.abs(theirs).max() if theirs.size else 0.0
    np.testing.assert_allclose(ours, theirs, rtol=1e-9 * scale, atol=1e-11 * scale * max(size, 1))


def functions(module, name):
    prefix = FAMILIES[module][0]
    name = name.replace("*", prefix)
    return getattr(getattr(anp.polynomial, module), name), getattr(
        getattr(np.polynomial, module), name
    )


def both(module, name, *args, scale=1.0, **keywords):
    ours, theirs = functions(module, name)
    expected = theirs(*args, **keywords)
    device = [anp.array(a) if isinstance(a, np.ndarray) else a for a in args]
    close(ours(*device, **keywords), expected, scale)
    close(ours(*args, **keywords), expected, scale)


coefficients = st.lists(st.floats(-9, 9).map(lambda x: round(x, 3)), min_size=1, max_size=6)
nonzero = coefficients.filter(lambda c: abs(c[-1]) > 0.05)


@EACH
@given(a=coefficients, b=nonzero, scl=st.floats(-3, 3), power=st.integers(0, 4))
def test_arithmetic(module, a, b, scl, power):
    for name in ("*add", "*sub", "*mul"):
        both(module, name, a, b)
    both(module, "*mulx", a)
    both(module, "*line", a[0], scl)
    both(module, "*pow", b, power)
    # Division amplifies rounding by powers of the divisor's leading coefficient.
    ours, theirs = functions(module, "*div")
    q, r = ours(a, b)
    expected = theirs(a, b)
    assert q.shape == expected[0].shape
    size = max(1.0, np.abs(expected[0]).max())
    np.testing.assert_allclose(np.asarray(q), expected[0], rtol=1e-7, atol=1e-9 * size)
    both(module, "*trim", [*a, 0, 1e-12], 1e-10)
    if module != "polynomial":
        both(module, "*2poly", a)
        both(module, "poly2*", a)


@EACH
@given(c=coefficients, x=st.lists(st.floats(-2, 2), min_size=1, max_size=5))
def test_values(module, c, x):
    x = np.array(x)
    both(module, "*val", x, np.array(c))
    both(module, "*val", x.reshape(1, -1), c)
    both(module, "*val", float(x[0]), c)
    both(module, "*vander", x, len(c))
    grid = np.outer(c, c) + 1
    both(module, "*val", x, grid)
    both(module, "*val", np.resize(x, len(c)), grid, tensor=False)
    both(module, "*val2d", x, x[::-1].copy(), grid)
    both(module, "*grid2d", x, x[:1], grid)
    cube = grid[:, :, None] * np.array([1.0, 2.0])
    both(module, "*val3d", x, x, x, cube)
    both(module, "*grid3d", x, x, x[:2], cube)
    both(module, "*vander2d", x, x, [2, 3])
    both(module, "*vander3d", x, x, x, [1, 2, 3])


@EACH
@given(
    c=st.lists(st.floats(-9, 9), min_size=1, max_size=7),
    m=st.integers(0, 3),
    scl=st.floats(-2, 2),
    k=st.floats(-2, 2),
    lbnd=st.floats(-1, 1),
)
def test_calculus(module, c, m, scl, k, lbnd):
    both(module, "*der", c, m, scl)
    both(module, "*int", c, m, [k] if m else [], lbnd, scl, scale=10)
    columns = np.outer(c, [1.0, -2.0, 0.5])
    for axis in (0, 1, -1):
        if m < columns.shape[axis] or axis == 0:  # NumPy's hermeder leaves the axis in front
            both(module, "*der", columns, m, axis=axis)
        both(module, "*int", columns, m, axis=axis, scale=10)


@EACH
def test_dtypes(module):
    for dtype in (np.int8, np.float32, np.complex64, np.complex128):
        c = np.array([1, 2, 3]).astype(dtype)
        both(module, "*add", c, c, scale=1e4)
        both(module, "*mul", c, c, scale=1e4)
        for kind in (np.int32, np.float32, np.float64, np.complex128):
            both(module, "*val", np.array([1, 2, 3]).astype(kind), c, scale=1e4)
        both(module, "*der", c)
        both(module, "*int", c, scale=1e4)


@EACH
def test_roots_and_companions(module):
    for c in ([1.0, 2], [1.0, 2, 3], [3.0, -1, 2, 5], [0.5, 0.25, 4, 1, 2.0]):
        both(module, "*companion", np.array(c))
        both(module, "*roots", c)
    both(module, "*roots", [5.0])
    roots = [0.3, -0.5, 0.9, 0.1]
    both(module, "*fromroots", roots)
    both(module, "*fromroots", [1 + 1j, 1 - 1j])
    both(module, "*fromroots", [])
    ours, _ = functions(module, "*roots")
    made, _ = functions(module, "*fromroots")
    np.testing.assert_allclose(np.asarray(ours(made(roots))), sorted(roots), atol=1e-8)


@EACH
def test_fit(module):
    rng = np.random.default_rng(1)
    x, y, w = rng.random(40), rng.random(40), rng.random(40)
    both(module, "*fit", x, y, 3, scale=1e3)
    both(module, "*fit", x, y, [0, 1, 3], scale=1e3)
    both(module, "*fit", x, np.stack([y, w], 1), 3, w=w, scale=1e3)
    both(module, "*fit", x, y + 1j * w, 2, scale=1e3)
    ours, theirs = functions(module, "*fit")
    c, (residuals, rank, s, rcond) = ours(x, y, 3, full=True)
    d, expected = theirs(x, y, 3, full=True)
    assert int(rank) == expected[1] and rcond == expected[3]
    np.testing.assert_allclose(np.asarray(residuals), expected[0], rtol=1e-8)
    np.testing.assert_allclose(np.asarray(s), expected[2], rtol=1e-8)
    with pytest.warns(np.exceptions.RankWarning):
        ours([1, 2], [1, 2], 5)


@pytest.mark.parametrize("module", [m for m in FAMILIES if m != "polynomial"])
def test_quadrature(module):
    for degree in (1, 2, 5, 20, 60):
        both(module, "*gauss", degree, scale=1e3)
    both(module, "*weight", np.array([0.1, 0.5]))
    ours, _ = functions(module, "*gauss")
    with pytest.raises(ValueError, match="positive integer"):
        ours(0)
    with pytest.raises(TypeError, match="must be an integer"):
        ours(1.5)


def test_chebyshev_points():
    for n in (2, 3, 10):
        both("chebyshev", "chebpts1", n)
        both("chebyshev", "chebpts2", n)
    ours, theirs = functions("chebyshev", "chebinterpolate")
    close(ours(lambda x: anp.tanh(x) + 0.5, 8), theirs(lambda x: np.tanh(x) + 0.5, 8))
    made = anp.polynomial.Chebyshev.interpolate(lambda x: anp.exp(x), 6, [0, 3])
    close(made.coef, np.polynomial.Chebyshev.interpolate(np.exp, 6, [0, 3]).coef)
    for name, bad in (("chebpts1", 0), ("chebpts1", 1.5), ("chebpts2", 1), ("chebpts2", 2.5)):
        with pytest.raises(ValueError):
            functions("chebyshev", name)[0](bad)
    with pytest.raises(ValueError):
        ours(anp.tanh, -1)
    with pytest.raises(TypeError):
        ours(anp.tanh, 10.0)


def test_values_from_roots():
    r = np.array([[-1.0, 2], [0.5, 3]])
    both("polynomial", "polyvalfromroots", np.array([1.0, 2, 3]), np.array([1.0, -2]))
    both("polynomial", "polyvalfromroots", np.array([[1.0, 2], [3, 4]]), r)
    both("polynomial", "polyvalfromroots", np.array([1.0, 2]), r, tensor=False)
    both("polynomial", "polyvalfromroots", 2.0, [1, 2])
    with pytest.raises(ValueError, match="x.ndim must be < r.ndim"):
        functions("polynomial", "polyvalfromroots")[0](
            anp.ones((2, 2)), anp.ones((2, 2)), tensor=False
        )


REFUSED = [
    ("*add", [], [1]), ("*mul", [1], [[1]]), ("*div", [1], [0]), ("*pow", [1, 2], -1), ("*pow", [1, 2], 1.5),
    ("*der", [1, 2], -1), ("*der", [1, 2], 1.5), ("*int", [1, 2], -1), ("*int", [1, 2], 1, [1, 2]),
    ("*int", [1, 2], 1, [], [1]), ("*int", [1, 2], 1, [], 0, [1]), ("*vander", [1, 2], -1),
    ("*vander", [1, 2], 1.5), ("*fit", [1, 2], [1, 2], -1), ("*fit", [], [], 1), ("*fit", [[1]], [1], 1),
    ("*fit", [1], [[[1]]], 1), ("*fit", [1, 2], [1], 1), ("*fit", [1, 2], [1, 2], 1.5),
    ("*fit", [1, 2], [1, 2], 1, None, False, [1]), ("*fit", [1, 2], [1, 2], 1, None, False, [[1, 2]]),
    ("*trim", [1, 0], -1), ("*companion", [1]), ("*companion", []), ("*vander2d", [1], [1], [1]),
    ("*val2d", [1], [1, 2], [[1]]), ("*val3d", [1], [1], [1, 2], [[[1]]]),
]  # fmt: skip


@EACH
@pytest.mark.parametrize("call", REFUSED, ids=str)
def test_refused(module, call):
    name, *args = call
    ours, theirs = functions(module, name)
    with pytest.raises(Exception) as expected:  # noqa: B017 - NumPy says which
        theirs(*args)
    with pytest.raises(expected.type) as got:
        ours(*args)
    assert str(got.value) == str(expected.value) or name == "*vander"


@EACH
def test_signatures_and_docs(module):
    ours, theirs = getattr(anp.polynomial, module), getattr(np.polynomial, module)
    assert set(theirs.__all__) <= set(ours.__all__)
    cls = FAMILIES[module][1]
    pairs = [(n, getattr(ours, n), getattr(theirs, n)) for n in theirs.__all__ if n != cls]
    a, b = getattr(ours, cls), getattr(theirs, cls)
    pairs += [(n, getattr(a, n), getattr(b, n)) for n in dir(b) if not n.startswith("_")]
    for name, mine, other in pairs:
        if callable(other):
            assert str(inspect.signature(mine)) == str(inspect.signature(other)), name
            assert mine.__doc__
        elif isinstance(other, np.ndarray):
            close(mine, other)


@pytest.mark.parametrize("cls", [c for _, c in FAMILIES.values()])
class TestClass:
    def made(self, cls, *args, **keywords):
        return getattr(anp.polynomial, cls)(*args, **keywords), getattr(np.polynomial, cls)(
            *args, **keywords
        )

    def same(self, ours, theirs):
        close(ours.coef, theirs.coef)
        close(ours.domain, theirs.domain)
        close(ours.window, theirs.window)
        assert ours.symbol == theirs.symbol

    def test_arithmetic(self, cls):
        a, b = self.made(cls, [1, 2, 3], domain=[-2, 5], symbol="z")
        c, d = self.made(cls, [4.0, 5], domain=[-2, 5], symbol="z")
        for operation in (
            lambda p, q: p + q, lambda p, q: p - q, lambda p, q: p * q, lambda p, q: p // q,
            lambda p, q: p % q, lambda p, q: p + 1, lambda p, q: 2 - p, lambda p, q: p * [1, 2],
            lambda p, q: [1, 2] * p, lambda p, q: p / 2, lambda p, q: p**3, lambda p, q: -p, lambda p, q: +p,
            lambda p, q: divmod(p, q)[0], lambda p, q: 5 // q, lambda p, q: [1, 2, 3] % q,
            lambda p, q: p.deriv(), lambda p, q: p.integ(2, [1], -1), lambda p, q: p.trim(1e-3),
            lambda p, q: p.truncate(2), lambda p, q: p.cutdeg(1), lambda p, q: p.copy(),
            lambda p, q: p.convert(domain=[0, 1]), lambda p, q: type(p).identity([0, 3]),
            lambda p, q: type(p).basis(3), lambda p, q: type(p).fromroots([1, 2, 0.5]),
            lambda p, q: type(p).fromroots([1, 2, 0.5], domain=None), lambda p, q: type(p).cast(q),
            lambda p, q: type(p).fit([1, 2, 3, 4.0], [1, 5, 2, 2.0], 2),
            lambda p, q: type(p).fit([1, 2, 3, 4.0], [1, 5, 2, 2.0], 2, domain=[], w=[1, 2, 1, 2]),
            lambda p, q: type(p).fit([1, 1], [2, 2], 0), lambda p, q: q.linspace and p(q), lambda p, q: p(p),
        ):  # fmt: skip
            self.same(operation(a, c), operation(b, d))
        x = np.linspace(-2, 5, 7)
        close(a(anp.array(x)), b(x))
        close(a(x), b(x))
        assert a(1.5) == pytest.approx(b(1.5))
        close(a.linspace(9), b.linspace(9))
        close(a.roots(), b.roots())
        assert (
            len(a) == 3 and a.degree() == 2 and list(a) == list(b) and a.basis_name == b.basis_name
        )
        assert a.maxpower == b.maxpower
        close(a.mapparms(), b.mapparms())

    @pytest.mark.parametrize("deg", [-1, 1.5])
    def test_basis_of_no_degree(self, cls, deg):
        for m in (anp, np):
            with pytest.raises(ValueError):
                getattr(m.polynomial, cls).basis(deg)

    def test_comparison(self, cls):
        a, _ = self.made(cls, [1, 2, 3])
        b, _ = self.made(cls, [1, 2, 3], domain=[0, 2])
        assert a == a.copy() and a != b and a != [1, 2, 3]
        assert (
            a.has_samecoef(b)
            and not a.has_samedomain(b)
            and a.has_samewindow(b)
            and a.has_sametype(b)
        )
        assert copy.deepcopy(a) == a and pickle.loads(pickle.dumps(b)) == b
        with pytest.raises(TypeError):
            hash(a)

    def test_text(self, cls):
        for coef in ([1, 2, 3], [0.5, -1, 0, 1e-7], [1 + 2j, 3]):
            a, b = self.made(cls, coef, domain=[0, 2], symbol="t")
            assert repr(a) == repr(b) and str(a) == str(b)
            assert format(a, "ascii") == format(b, "ascii") and format(a, "unicode") == format(
                b, "unicode"
            )
            assert a._repr_latex_() == b._repr_latex_()
        with pytest.raises(ValueError):
            format(a, "latex")
        try:
            anp.polynomial.set_default_printstyle("ascii")
            np.polynomial.set_default_printstyle("ascii")
            assert str(a) == str(b)
        finally:
            anp.polynomial.set_default_printstyle("unicode")
            np.polynomial.set_default_printstyle("unicode")
        with pytest.raises(ValueError):
            anp.polynomial.set_default_printstyle("latex")

    def test_refused(self, cls):
        a, b = self.made(cls, [1, 2, 3])
        other = "Legendre" if cls != "Legendre" else "Chebyshev"
        calls = [
            lambda m, p: p + getattr(m.polynomial, other)([1]),
            lambda m, p: p * getattr(m.polynomial, cls)([1], domain=[0, 5]),
            lambda m, p: p * getattr(m.polynomial, cls)([1], window=[0, 5]),
            lambda m, p: p * getattr(m.polynomial, cls)([1], symbol="y"),
            lambda m, p: p + {}, lambda m, p: p / [1, 2], lambda m, p: [1] / p, lambda m, p: p // 0,
            lambda m, p: p**-1, lambda m, p: p**101, lambda m, p: p.truncate(0), lambda m, p: p.truncate(1.5),
            lambda m, p: type(p).basis(-1), lambda m, p: type(p)([1], domain=[1]),
            lambda m, p: type(p)([1], window=[1, 2, 3]), lambda m, p: type(p)([1], symbol=5),
            lambda m, p: type(p)([1], symbol="1a"), lambda m, p: type(p)([[1]]), lambda m, p: p.integ(-1),
            lambda m, p: p.deriv(-1), lambda m, p: p + "a",
        ]  # fmt: skip
        for i, call in enumerate(calls):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with pytest.raises(Exception) as expected:  # noqa: B017 - NumPy says which
                    call(np, b)
                with pytest.raises(expected.type):
                    call(anp, a)
                    pytest.fail(f"call {i}")

    def test_conversions(self, cls):
        a, b = self.made(cls, [1, 2, 3])
        for kind in ("Polynomial", "Chebyshev", "Legendre", "Laguerre", "Hermite", "HermiteE"):
            ours = a.convert(kind=getattr(anp.polynomial, kind))
            assert type(ours).__name__ == kind
            self.same(ours, b.convert(kind=getattr(np.polynomial, kind)))


def test_polyutils():
    ours, theirs = anp.polynomial.polyutils, np.polynomial.polyutils
    for lists in ([[1, 2, 0], [1.5]], [[1j, 0]], [np.float32([1, 0, 0])]):
        for trim in (True, False):
            close(ours.as_series(lists, trim=trim), theirs.as_series(lists, trim=trim))
    close(ours.trimcoef([1, 2, 1e-9], 1e-8), theirs.trimcoef([1, 2, 1e-9], 1e-8))
    close(ours.trimcoef([0, 0]), theirs.trimcoef([0, 0]))
    close(ours.trimseq(anp.array([1.0, 0, 0])), theirs.trimseq(np.array([1.0, 0, 0])))
    assert list(ours.trimseq([0, 0])) == list(theirs.trimseq([0, 0])) and ours.trimseq([]) == []
    close(ours.getdomain([1, 5, -3.0]), theirs.getdomain([1, 5, -3.0]))
    close(ours.getdomain([1 + 2j, -3]), theirs.getdomain([1 + 2j, -3]))
    assert ours.mapparms((-1, 1), (0, 4)) == theirs.mapparms((-1, 1), (0, 4))
    close(ours.mapdomain([0, 0.5], (-1, 1), (0, 4)), theirs.mapdomain([0, 0.5], (-1, 1), (0, 4)))
    assert ours.format_float(1e-5, parens=True) == theirs.format_float(1e-5, parens=True)
    for name in theirs.__all__:
        assert str(inspect.signature(getattr(ours, name))) == str(
            inspect.signature(getattr(theirs, name))
        )
    with pytest.raises(ValueError):
        ours.as_series([["a"]])


EXACT = {
    "add": lambda m, c, d: m("add")(c, d),
    "sub": lambda m, c, d: m("sub")(c, d),
    "mulx": lambda m, c, d: m("mulx")(c),
    "mul": lambda m, c, d: m("mul")(c, d),
    "pow": lambda m, c, d: m("pow")(c, 2),
    "div": lambda m, c, d: m("div")(m("mul")(c, d), d),
    "der": lambda m, c, d: m("der")(c),
    "der of a table": lambda m, c, d: m("der")(np.outer(c, d)),
    "int": lambda m, c, d: m("int")(c, lbnd=c[0]),
    "val": lambda m, c, d: m("val")(c[0], d),
    "line": lambda m, c, d: m("line")(c[0], d[0]),
}


NUMBERS = [
    (m, n)
    for m in FAMILIES
    for n in (Fraction, Decimal)
    if n is Fraction or m in ("polynomial", "chebyshev")
]  # NumPy refuses others with Decimal


@pytest.mark.parametrize(("module", "number"), NUMBERS)
@pytest.mark.parametrize("name", EXACT)
def test_exact_numbers_stay_exact(module, number, name):
    c = np.array([number(k) / 4 for k in (3, 5, -1, 7, 2)], dtype=object)
    d = np.array([number(k) / 8 for k in (1, -3, 5)], dtype=object)
    prefix = FAMILIES[module][0]
    made = [
        EXACT[name](lambda f, lib=lib: getattr(getattr(lib.polynomial, module), prefix + f), c, d)
        for lib in (anp, np)
    ]
    for ours, theirs in zip(*(x if isinstance(x, tuple) else (x,) for x in made), strict=True):
        ours, theirs = np.asarray(ours, dtype=object), np.asarray(theirs, dtype=object)
        assert ours.shape == theirs.shape
        for a, b in zip(ours.flat, theirs.flat, strict=True):
            exact = number is Fraction and float not in (type(a), type(b))
            assert a == b if exact else abs(a - b) <= abs(b) * type(b)("1e-15")
            assert type(a) in (number, int) or type(a) is type(b)  # NumPy's legval rounds to floats


@given(
    st.lists(st.integers(-9, 9), min_size=1, max_size=9),
    st.lists(st.integers(-9, 9), min_size=1, max_size=9),
)
def test_the_shorter_product_is_the_recurrences(c, d):
    family = anp.polynomial.polynomial._FAMILY
    general = copy.copy(family)
    general.product = None
    assert family.product
    np.testing.assert_array_equal(family.mul(c, d), general.mul(c, d))
