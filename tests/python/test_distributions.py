"""Every distribution of Generator and RandomState draws NumPy's numbers for NumPy's seeds, and refuses what NumPy refuses."""

import inspect

import asnumpy as anp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

ENGINES = ["PCG64", "PCG64DXSM", "SFC64", "Philox", "MT19937"]


def positive(top=50.0):
    return st.floats(0.01, top)


ANY = st.floats(-100, 100)
COUNT = st.integers(0, 300)
# The parameters of each distribution, as strategies.
PARAMETERS = {
    "beta": (positive(), positive()),
    "binomial": (COUNT, st.floats(0, 1)),
    "chisquare": (positive(),),
    "exponential": (st.floats(0, 10),),
    "f": (positive(), positive()),
    "gamma": (st.floats(0, 20), st.floats(0, 20)),
    "geometric": (st.floats(0.01, 1),),
    "gumbel": (ANY, st.floats(0, 9)),
    "hypergeometric": (COUNT, COUNT, st.integers(0, 100)),
    "laplace": (ANY, st.floats(0, 9)),
    "logistic": (ANY, st.floats(0, 9)),
    "lognormal": (st.floats(-3, 3), st.floats(0, 3)),
    "logseries": (st.floats(0.01, 0.99),),
    "negative_binomial": (positive(), st.floats(0.05, 1)),
    "noncentral_chisquare": (positive(), st.floats(0, 20)),
    "noncentral_f": (positive(), positive(), st.floats(0, 20)),
    "normal": (ANY, st.floats(0, 9)),
    "pareto": (positive(),),
    "poisson": (st.floats(0, 200),),
    "power": (positive(),),
    "rayleigh": (st.floats(0, 9),),
    "standard_cauchy": (),
    "standard_exponential": (),
    "standard_gamma": (st.floats(0, 20),),
    "standard_t": (positive(),),
    "triangular": (st.floats(-9, 0), st.floats(0, 1), st.floats(1.5, 9)),
    "uniform": (st.floats(-9, 0), st.floats(0, 9)),
    "vonmises": (st.floats(-3, 3), st.sampled_from([0.0, 1e-9, 1e-6, 0.3, 4.0, 1e7])),
    "wald": (positive(), positive()),
    "weibull": (st.floats(0, 20),),
    "zipf": (st.floats(1.05, 9),),
}


def same(ours, theirs):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    np.testing.assert_array_equal(ours, theirs)


def pair(kind, seed):
    """(AsNumpy's, NumPy's) Generator over an engine, or RandomState."""
    if kind == "RandomState":
        return anp.random.RandomState(seed), np.random.RandomState(seed)
    return tuple(m.random.Generator(getattr(m.random, kind)(seed)) for m in (anp, np))


def parameters(name, data):
    drawn = [data.draw(s) for s in PARAMETERS[name]]
    if name == "hypergeometric":
        drawn[0] += 1
        drawn[2] = max(1, min(drawn[2], drawn[0] + drawn[1]))
    return drawn


# Each engine draws the same code: a few examples each.
@settings(max_examples=12)
@pytest.mark.parametrize("kind", [*ENGINES, "RandomState"])
@pytest.mark.parametrize("name", PARAMETERS)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_numbers(kind, name, data, seed):
    given_parameters = parameters(name, data)
    ours, theirs = pair(kind, seed)
    size = data.draw(st.sampled_from([None, 1, 7, (3, 5), 400, 0]))
    for _ in range(2):
        same(getattr(ours, name)(*given_parameters, size=size),
             getattr(theirs, name)(*given_parameters, size=size))  # fmt: skip
    one, other = getattr(ours, name)(*given_parameters), getattr(theirs, name)(*given_parameters)
    assert (one == other or one != one and other != other) and type(one) is type(other)
    # The engine stands where NumPy's does: whole words, halves and the waiting normal.
    same(ours.standard_normal(3), theirs.standard_normal(3))
    if kind != "RandomState":
        same(ours.integers(0, 99, 3, dtype=np.int32), theirs.integers(0, 99, 3, dtype=np.int32))


@pytest.mark.parametrize("kind", ["PCG64", "RandomState"])
@pytest.mark.parametrize("name", [n for n, p in PARAMETERS.items() if p])
@given(data=st.data(), seed=st.integers(0, 999))
def test_array_parameters(kind, name, data, seed):
    rows = [parameters(name, data) for _ in range(4)]
    arrays = [np.array([row[i] for row in rows]) for i in range(len(rows[0]))]
    ours, theirs = pair(kind, seed)
    same(getattr(ours, name)(*arrays), getattr(theirs, name)(*arrays))
    same(getattr(ours, name)(*map(anp.array, arrays)), getattr(theirs, name)(*arrays))
    same(getattr(ours, name)(*arrays, size=(3, 4)), getattr(theirs, name)(*arrays, size=(3, 4)))
    with pytest.raises(ValueError, match="not compatible with broadcast"):
        getattr(ours, name)(*arrays, size=(4, 3))


# (method, arguments, keywords): what must be refused, for both classes where both have it.
REFUSED = [
    ("beta", (0, 1), {}), ("beta", (1, -1), {}), ("binomial", (-1, 0.5), {}), ("binomial", (5, 1.5), {}),
    ("binomial", (5, np.nan), {}), ("chisquare", (0,), {}),
    ("exponential", (-1,), {}), ("exponential", (-0.0,), {}), ("f", (0, 1), {}), ("gamma", (-1, 1), {}),
    ("geometric", (0,), {}), ("geometric", (1.1,), {}), ("gumbel", (0, -1), {}),
    ("hypergeometric", (-1, 5, 3), {}), ("hypergeometric", (5, 5, 11), {}), ("laplace", (0, -1), {}),
    ("logseries", (1.0,), {}), ("logseries", (-0.1,), {}), ("lognormal", (0, -1), {}),
    ("negative_binomial", (0, 0.5), {}), ("negative_binomial", (5, 1.5), {}),
    ("noncentral_chisquare", (1, -1), {}), ("noncentral_f", (1, 1, -1), {}), ("pareto", (0,), {}),
    ("poisson", (-1,), {}), ("poisson", (np.nan,), {}), ("poisson", (1e20,), {}), ("power", (0,), {}),
    ("rayleigh", (-1,), {}), ("standard_gamma", (-1,), {}), ("standard_t", (0,), {}),
    ("triangular", (1, 0, 2), {}), ("triangular", (0, 3, 2), {}), ("triangular", (1, 1, 1), {}),
    ("vonmises", (0, -1), {}), ("wald", (0, 1), {}), ("wald", (1, 0), {}), ("weibull", (-1,), {}),
    ("zipf", (1.0,), {}), ("zipf", (np.nan,), {}), ("normal", (0, -1), {}),
    ("uniform", (0, np.inf), {}), ("beta", ([1, 0], 2), {}), ("poisson", (1 + 2j,), {}),
    ("poisson", (1, (2, -3)), {}), ("exponential", ([1, 2, 3],), {"size": (2,)}),
    ("dirichlet", ([[1, 2]],), {}), ("dirichlet", ([1, -1],), {}),
    ("multinomial", (-1, [0.5, 0.5]), {}), ("multinomial", (5, [0.9, 0.9, 0.1]), {}),
    ("multinomial", (5, [-0.1, 1.1]), {}), 
    ("choice", (0,), {"size": 3}), ("choice", (5,), {"size": 6, "replace": False}),
    ("choice", (5,), {"p": [0.5, 0.5]}), ("choice", (2,), {"p": [0.5, 0.6]}),
    ("choice", (2,), {"p": [-0.5, 1.5]}), ("choice", (2,), {"p": [np.nan, 1]}),
    ("choice", (2,), {"p": [[0.5, 0.5]]}), ("choice", (3,), {"p": [1, 0, 0], "size": 2, "replace": False}),
    ("choice", ("a",), {}), ("choice", ([],), {}), ("shuffle", (5,), {}),
    ("multivariate_normal", ([[0, 0]], np.eye(2)), {}), ("multivariate_normal", ([0, 0], np.eye(3)), {}),
    ("multivariate_normal", ([0, 0], [1, 2]), {}),
    ("multivariate_normal", ([0, 0], np.eye(2)), {"check_valid": "no"}),
    ("multivariate_normal", ([0, 0], [[1, 2], [2, 1]]), {"check_valid": "raise"}),
]  # fmt: skip
REFUSED_BY_GENERATOR = [
    ("standard_exponential", (3,), {"dtype": int}),
    ("standard_gamma", (1, 3), {"dtype": int}), ("random", (3,), {"dtype": int}),
    ("hypergeometric", (10**9, 5, 3), {}), ("negative_binomial", (1e18, 1e-9), {}),
    ("multivariate_hypergeometric", ([1, 2], 4), {}), ("multivariate_hypergeometric", ([1, -2], 1), {}),
    ("multivariate_hypergeometric", ([[1, 2]], 1), {}), ("multivariate_hypergeometric", ([1, 2], -1), {}),
    ("multivariate_hypergeometric", ([10**9, 2], 1), {}),
    ("multivariate_hypergeometric", ([1, 2], 1), {"method": "no"}),
    ("multivariate_normal", ([0, 0], np.eye(2)), {"method": "lu"}),
    ("multivariate_normal", ([0, 0], [[1, 2], [2, 1]]), {"method": "cholesky"}),
    ("dirichlet", ([0.1, -1],), {}), ("negative_binomial", (5, 0), {}), ("integers", ([1, 5], [2, 5]), {}), ("integers", ([300], 400), {"dtype": "u1"}),
    ("shuffle", ([1, 2], 1), {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "call"),
    [(k, c) for k in ("PCG64", "RandomState") for c in REFUSED] + [("PCG64", c) for c in REFUSED_BY_GENERATOR],
    ids=lambda x: x if isinstance(x, str) else f"{x[0]}{x[1]}"[:40],
)  # fmt: skip
def test_refused(kind, call):
    name, arguments, keywords = call
    ours, theirs = pair(kind, 1)
    with pytest.raises(Exception) as expected:  # noqa: B017 - NumPy says which
        getattr(theirs, name)(*arguments, **keywords)
    with pytest.raises(expected.type) as got:
        getattr(ours, name)(*arguments, **keywords)
    assert str(got.value)


@pytest.mark.parametrize("cls", ["Generator", "RandomState"])
def test_signatures(cls):
    ours, theirs = getattr(anp.random, cls), getattr(np.random, cls)
    for name in dir(theirs):
        if not name.startswith("_") and callable(getattr(theirs, name)):
            assert str(inspect.signature(getattr(ours, name))) == str(
                inspect.signature(getattr(theirs, name))
            ), name
            assert getattr(ours, name).__doc__


def test_module_functions():
    missing = [n for n in np.random.__all__ if not hasattr(anp.random, n)]
    assert missing == []
    anp.random.seed(5)
    np.random.seed(5)
    same(anp.random.gamma(2, 3, 5), np.random.gamma(2, 3, 5))
    kept = anp.random.get_bit_generator()
    try:
        anp.random.set_bit_generator(anp.random.PCG64(1))
        same(
            anp.random.random_sample(3), np.random.RandomState(np.random.PCG64(1)).random_sample(3)
        )
    finally:
        anp.random.set_bit_generator(kept)
    with pytest.raises(TypeError):
        anp.random.set_bit_generator(5)


@pytest.mark.parametrize("kind", ["PCG64", "RandomState"])
@given(data=st.data(), seed=st.integers(0, 999))
def test_rows(kind, data, seed):
    """Dirichlet and multinomial rows."""
    ours, theirs = pair(kind, seed)
    k = data.draw(st.integers(1, 6))
    alpha = data.draw(
        st.lists(st.floats(0.001, data.draw(st.sampled_from([0.09, 5.0]))), min_size=k, max_size=k)
    )
    size = data.draw(st.sampled_from([None, 3, (2, 4)]))
    same(ours.dirichlet(alpha, size), theirs.dirichlet(alpha, size))
    weights = np.array(alpha)
    p = weights / weights.sum()
    n = data.draw(st.integers(0, 500))
    same(ours.multinomial(n, p, size), theirs.multinomial(n, p, size))
    same(ours.random(2), theirs.random(2))


@given(seed=st.integers(0, 999), data=st.data(), method=st.sampled_from(["marginals", "count"]))
def test_multivariate_hypergeometric(seed, data, method):
    ours, theirs = pair("PCG64", seed)
    colors = data.draw(st.lists(st.integers(0, 60), min_size=1, max_size=6))
    n = data.draw(st.integers(0, sum(colors)))
    size = data.draw(st.sampled_from([None, 3, (2, 4)]))
    same(ours.multivariate_hypergeometric(colors, n, size, method=method),
         theirs.multivariate_hypergeometric(colors, n, size, method=method))  # fmt: skip


def test_multinomial_broadcasts():
    ours, theirs = pair("PCG64", 3)
    p = [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]
    same(ours.multinomial([20, 30], p, (3, 2)), theirs.multinomial([20, 30], p, (3, 2)))
    same(ours.multinomial([[5], [6]], p), theirs.multinomial([[5], [6]], p))


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_multivariate_normal(method):
    ours, theirs = pair("PCG64", 3)
    mean, cov = [1, 2, 3], [[2, 1, 0.5], [1, 3, 0], [0.5, 0, 1]]
    got = ours.multivariate_normal(mean, cov, (4, 5), method=method)
    np.testing.assert_allclose(
        np.asarray(got), theirs.multivariate_normal(mean, cov, (4, 5), method=method)
    )
    ours, theirs = pair("RandomState", 3)
    np.testing.assert_allclose(
        np.asarray(ours.multivariate_normal(mean, cov)), theirs.multivariate_normal(mean, cov)
    )
    with pytest.warns(RuntimeWarning, match="positive-semidefinite"):
        ours.multivariate_normal([0, 0], [[1, 2], [2, 1]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_and_out(dtype):
    ours, theirs = pair("PCG64", 3)
    for method in ("zig", "inv"):
        same(ours.standard_exponential(1000, dtype=dtype, method=method),
             theirs.standard_exponential(1000, dtype=dtype, method=method))  # fmt: skip
    with pytest.raises(ValueError, match="'zig' and 'inv'"):
        ours.standard_exponential(3, method="no")
    shapes = [2.5, 0.3, 1.0]
    same(
        ours.standard_gamma(shapes, (50, 3), dtype=dtype),
        theirs.standard_gamma(shapes, (50, 3), dtype=dtype),
    )
    assert ours.standard_gamma(2.0, dtype=dtype) == theirs.standard_gamma(2.0, dtype=dtype)
    assert ours.standard_exponential(dtype=dtype) == theirs.standard_exponential(dtype=dtype)
    for name in ("random", "standard_normal", "standard_exponential"):
        out, expected = anp.zeros((3, 4), dtype), np.zeros((3, 4), dtype)
        assert getattr(ours, name)(dtype=dtype, out=out) is out
        same(out, getattr(theirs, name)(dtype=dtype, out=expected))
        with pytest.raises(ValueError, match="size must match"):
            getattr(ours, name)((4, 3), dtype=dtype, out=out)
        with pytest.raises(TypeError, match="wrong type"):
            getattr(ours, name)(dtype=dtype, out=anp.zeros(3, "f2"))
        with pytest.raises(ValueError, match="contiguous"):
            getattr(ours, name)(dtype=dtype, out=anp.zeros(6, dtype)[::2])


@pytest.mark.parametrize("kind", ["PCG64", "RandomState"])
@given(seed=st.integers(0, 999), data=st.data())
def test_choice(kind, seed, data):
    ours, theirs = pair(kind, seed)
    n = data.draw(st.sampled_from([1, 10, 1000, 20_000]))
    size = data.draw(st.sampled_from([None, 0, 1, 7, (3, 2), 600]))
    count = 1 if size is None else int(np.prod(size))
    replace = data.draw(st.booleans()) or count > n
    keywords = {"replace": replace}
    if kind == "PCG64":
        keywords["shuffle"] = data.draw(st.booleans())
    if data.draw(st.booleans()) and n <= 1000:
        weights = np.arange(1, n + 1, dtype=float)
        keywords["p"] = weights / weights.sum()
    same(ours.choice(n, size, **keywords), theirs.choice(n, size, **keywords))
    pool = np.linspace(0, 1, n)
    same(ours.choice(anp.array(pool), size, **keywords), theirs.choice(pool, size, **keywords))
    same(ours.random(2), theirs.random(2))


def test_choice_along_an_axis():
    ours, theirs = pair("PCG64", 5)
    x = np.arange(30.0).reshape(5, 6)
    for axis in (0, 1, -1):
        for replace in (True, False):
            same(ours.choice(x, 3, replace, axis=axis), theirs.choice(x, 3, replace, axis=axis))
        same(ours.choice(x, axis=axis), theirs.choice(x, axis=axis))


@pytest.mark.parametrize("kind", ["PCG64", "RandomState"])
@pytest.mark.parametrize("shape", [(11,), (6, 4), (3, 2, 5), (0,), (1,), (0, 3)])
def test_shuffle_and_permutation(kind, shape):
    ours, theirs = pair(kind, 3)
    x = np.arange(np.prod(shape)).reshape(shape)
    y, device, host = x.copy(), anp.array(x), x.copy()
    ours.shuffle(device)
    theirs.shuffle(y)
    same(device, y)
    ours.shuffle(host)
    theirs.shuffle(y := x.copy())
    same(host, y)
    same(ours.permutation(x), theirs.permutation(x))
    same(ours.permutation(9), theirs.permutation(9))
    a, b = list(range(9)), list(range(9))
    ours.shuffle(a)
    theirs.shuffle(b)
    assert a == b
    if kind == "RandomState":
        return
    for axis in range(len(shape)):
        ours.shuffle(device := anp.array(x), axis=axis)
        theirs.shuffle(y := x.copy(), axis=axis)
        same(device, y)
        same(ours.permutation(x, axis=axis), theirs.permutation(x, axis=axis))
    for axis in (None, *range(len(shape))):
        same(ours.permuted(x, axis=axis), theirs.permuted(x, axis=axis))
    out, expected = anp.zeros(shape, x.dtype), np.zeros(shape, x.dtype)
    assert ours.permuted(x, axis=0, out=out) is out
    same(out, theirs.permuted(x, axis=0, out=expected))


@pytest.mark.parametrize("kind", ["PCG64", "RandomState"])
def test_bytes_and_whole_numbers(kind):
    ours, theirs = pair(kind, 3)
    for n in (0, 1, 4, 11):
        assert ours.bytes(n) == theirs.bytes(n)
    if kind == "RandomState":
        same(ours.tomaxint(5), theirs.tomaxint(5))
        assert ours.tomaxint() == theirs.tomaxint()
        with pytest.deprecated_call():
            got = ours.random_integers(3, 9, 7)
        with pytest.deprecated_call():
            same(got, theirs.random_integers(3, 9, 7))


@pytest.mark.parametrize("kind", ["PCG64", "RandomState"])
@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_integer_bounds_broadcast(kind, dtype):
    ours, theirs = (g.randint if kind == "RandomState" else g.integers for g in pair(kind, 8))
    top = 1 if dtype == "?" else np.iinfo(dtype).max
    low = np.array([0, 0, 1 if top == 1 else 5])
    high = np.array([1, 2, 2] if top == 1 else [1, 100, top], dtype=object)
    same(ours(low, high, (20, 3), dtype=dtype), theirs(low, high, (20, 3), dtype=dtype))
    same(ours(low, high, dtype=dtype), theirs(low, high, dtype=dtype))
    if kind != "RandomState":
        same(
            ours(low, high, dtype=dtype, endpoint=top > 1),
            theirs(low, high, dtype=dtype, endpoint=top > 1),
        )


@pytest.mark.parametrize("name", ENGINES)
def test_engine_states(name):
    ours, theirs = getattr(anp.random, name)(5), getattr(np.random, name)(5)
    same(ours.random_raw((2, 5)), theirs.random_raw((2, 5)))
    assert ours.random_raw() == theirs.random_raw() and ours.random_raw(3, output=False) is None
    theirs.random_raw(3)
    assert repr(ours.state) == repr(theirs.state)
    if name != "SFC64":
        for jumps in (1, 3):
            same(ours.jumped(jumps).random_raw(1300), theirs.jumped(jumps).random_raw(1300))
    if hasattr(theirs, "advance"):
        for delta in (12345, -7, 2**70):
            ours.advance(delta)
            theirs.advance(delta)
            same(ours.random_raw(5), theirs.random_raw(5))
    # NumPy's state dictionary is ours, and the other way round.
    theirs.random_raw(7)
    ours.state = theirs.state
    same(ours.random_raw(9), theirs.random_raw(9))
    theirs.state = ours.state
    same(ours.random_raw(9), theirs.random_raw(9))
    with pytest.raises(TypeError):
        ours.state = 5
    with pytest.raises(ValueError):
        ours.state = {"bit_generator": "no"}
    with pytest.raises(ValueError, match="shape|words|state"):
        state = theirs.state
        inner = state["state"]
        first = next(iter(inner))
        if not isinstance(inner[first], np.ndarray):
            raise ValueError("state is a number")
        inner[first] = np.zeros(3, inner[first].dtype)
        ours.state = state


def test_philox_keys():
    same(anp.random.Philox(key=2**70 + 5, counter=2**200 + 7).random_raw(5),
         np.random.Philox(key=2**70 + 5, counter=2**200 + 7).random_raw(5))  # fmt: skip
    same(anp.random.Philox(key=[1, 2]).random_raw(5), np.random.Philox(key=[1, 2]).random_raw(5))
    for bad in (
        {"seed": 1, "key": 2},
        {"key": -1},
        {"key": 2**128},
        {"counter": 2**256},
        {"key": [1, 2, 3]},
    ):
        with pytest.raises(ValueError):
            anp.random.Philox(**bad)


def test_seed_sequence_pools():
    for size in (4, 8, 11):
        ours, theirs = (m.random.SeedSequence(2**90 + 1, pool_size=size) for m in (anp, np))
        np.testing.assert_array_equal(ours.pool, theirs.pool)
        np.testing.assert_array_equal(ours.generate_state(19), theirs.generate_state(19))
        np.testing.assert_array_equal(ours.spawn(2)[1].pool, theirs.spawn(2)[1].pool)
    with pytest.raises(ValueError, match="at least 4"):
        anp.random.SeedSequence(1, pool_size=3)


def test_random_state_over_any_engine():
    ours, theirs = (m.random.RandomState(m.random.SFC64(3)) for m in (anp, np))
    same(ours.standard_normal(5), theirs.standard_normal(5))
    assert repr(ours.get_state(legacy=False)) == repr(theirs.get_state(legacy=False))
    state = ours.get_state(legacy=False)
    expected = np.asarray(ours.gamma(2, 3, 5))
    ours.set_state(state)
    same(ours.gamma(2, 3, 5), expected)
    with pytest.warns(RuntimeWarning):
        ours.get_state()
    with pytest.raises(TypeError):
        ours.seed(1)


# Those that are drawn in runs: every layer of the ziggurats hundreds of times, their edges and tails, refills and rejections.
RUNS = [
    ("standard_normal", ()), ("standard_normal", ("float32",)), ("standard_exponential", ()),
    ("standard_exponential", ("float32",)), ("exponential", (3.0,)), ("standard_gamma", (1.01,)), ("standard_gamma", (2.0,)),
    ("gamma", (40.0, 0.3)), ("gamma", (1.0, 2.0)), ("gamma", (0.4, 2.0)), ("chisquare", (5.0,)), ("poisson", (1e-9,)),
    ("poisson", (0.2,)), ("poisson", (5.0,)), ("poisson", (9.99,)), ("poisson", (10.0,)),
]  # fmt: skip


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("name, given_parameters", RUNS)
def test_runs(kind, name, given_parameters):
    ours, theirs = pair(kind, 7)
    for size in (200_000, 311, 2, 77_777):
        if "float32" in given_parameters:
            expected = getattr(theirs, name)(size, dtype=np.float32)
            same(getattr(ours, name)(size, dtype=np.float32), expected)
        else:
            same(getattr(ours, name)(*given_parameters, size=size),
                 getattr(theirs, name)(*given_parameters, size=size))  # fmt: skip
        same(ours.integers(0, 99, 3, dtype=np.int32), theirs.integers(0, 99, 3, dtype=np.int32))
        same(ours.random(3), theirs.random(3))


@pytest.mark.parametrize(
    "call",
    ["normal('1')", "normal(b'1')", "normal('a')", "normal(None)", "normal([None])", "normal([1j])", "normal(1j)",
     "normal(np.array('1'))", "normal(np.array(['1']))", "normal(np.array([1j]))", "normal(['1', '2'])",
     "normal(0, '1')", "uniform('0', '1')", "uniform(['0'], [None])", "gamma('abc')", "gamma('1')", "gamma(None)",
     "beta('a', 1)", "poisson('1')", "exponential(['1', '2'])", "laplace(np.datetime64('2020-01-01'))",
     "normal(np.datetime64('2020-01-01'))", "normal(np.float32(1))", "normal(np.array([1, 2]), np.array(2, 'u1'))"],
)  # fmt: skip
@pytest.mark.parametrize("source", ["default_rng", "RandomState"])
def test_what_is_no_real_number(source, call):
    def outcome(module):
        try:
            return np.asarray(
                eval(f"random.{source}(0).{call}", {"random": module.random, "np": np})
            ).tolist()
        except (TypeError, ValueError, OverflowError) as e:
            return type(e)

    assert repr(outcome(anp)) == repr(outcome(np))
