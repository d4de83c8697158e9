"""asnumpy.random gives NumPy's numbers for NumPy's seeds, draw after draw."""

import inspect
import pickle
import threading

import asnumpy as anp
import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

SEEDS = [0, 1, 42, 2**32 + 5, 2**70 + 3, [1, 2, 3], (7, 2**40)]
INT_DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]


def same(ours, theirs):
    ours = np.asarray(ours)
    theirs = np.asarray(theirs)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("seed", SEEDS, ids=str)
def test_generator_stream(seed):
    a, b = anp.random.default_rng(seed), np.random.default_rng(seed)
    same(a.random(1001), b.random(1001))
    same(a.standard_normal((13, 77)), b.standard_normal((13, 77)))
    same(a.random(33, dtype=np.float32), b.random(33, dtype=np.float32))
    same(a.standard_normal(100_000, dtype=np.float32), b.standard_normal(100_000, dtype=np.float32))
    same(a.integers(10, size=5), b.integers(10, size=5))
    same(a.uniform(-2, 3, size=(2, 3)), b.uniform(-2, 3, size=(2, 3)))
    same(a.normal(1.5, 2.5, size=9), b.normal(1.5, 2.5, size=9))
    assert a.random() == b.random() and type(a.random()) is float
    assert a.bit_generator.state["state"]["inc"] == b.bit_generator.state["state"]["inc"]


def test_many_normals():
    """Enough draws to meet every layer of the ziggurat and its tail."""
    same(anp.random.default_rng(3).standard_normal(2_000_000),
         np.random.default_rng(3).standard_normal(2_000_000))  # fmt: skip


@given(
    seed=st.integers(0, 2**64),
    dtype=st.sampled_from(INT_DTYPES),
    data=st.data(),
    endpoint=st.booleans(),
)
def test_integers(seed, dtype, data, endpoint):
    low, high = (0, 1) if dtype == "?" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    first = data.draw(st.integers(low, high))
    last = data.draw(st.integers(first, high))
    stop = last if endpoint else last + 1
    n = data.draw(st.integers(0, 50))
    ours, theirs = anp.random.default_rng(seed), np.random.default_rng(seed)
    for _ in range(2):
        same(ours.integers(first, stop, n, dtype=dtype, endpoint=endpoint),
             theirs.integers(first, stop, n, dtype=dtype, endpoint=endpoint))  # fmt: skip
    legacy, numpys = anp.random.RandomState(seed % 2**32), np.random.RandomState(seed % 2**32)
    same(
        legacy.randint(first, last + 1, n, dtype=dtype),
        numpys.randint(first, last + 1, n, dtype=dtype),
    )


@pytest.mark.parametrize(
    "seed", [0, 1, 2**32 - 1, [1, 2, 3], np.arange(700)], ids=["0", "1", "max", "list", "long"]
)
def test_random_state_stream(seed):
    a, b = anp.random.RandomState(seed), np.random.RandomState(seed)
    same(a.rand(3, 4), b.rand(3, 4))
    same(a.randn(1001), b.randn(1001))
    same(a.randint(0, 10, 7), b.randint(0, 10, 7))
    same(a.standard_normal(3), b.standard_normal(3))
    same(a.random_sample((2, 2)), b.random_sample((2, 2)))
    same(a.uniform(1, 2, 5), b.uniform(1, 2, 5))
    same(a.normal(0, 3, 5), b.normal(0, 3, 5))
    same(a.permutation(20), b.permutation(20))
    same(a.choice(10, 5), b.choice(10, 5))
    same(a.choice(10, 5, replace=False), b.choice(10, 5, replace=False))
    same(a.choice(4, 6, p=[0.1, 0.2, 0.3, 0.4]), b.choice(4, 6, p=[0.1, 0.2, 0.3, 0.4]))
    assert a.rand() == b.rand() and a.randn() == b.randn() and a.randint(5) == b.randint(5)


def test_module_functions():
    anp.random.seed(11)
    np.random.seed(11)
    same(anp.random.rand(5), np.random.rand(5))
    same(anp.random.randn(3, 2), np.random.randn(3, 2))
    same(anp.random.randint(0, 100, (4,)), np.random.randint(0, 100, (4,)))


def test_state_round_trips():
    a = anp.random.default_rng(5)
    a.integers(3, size=3, dtype="i4")
    b = pickle.loads(pickle.dumps(a))
    same(a.random(5), b.random(5))
    numpys = np.random.default_rng(5)
    a.bit_generator.state = numpys.bit_generator.state
    same(a.random(5), numpys.random(5))
    r, s = anp.random.RandomState(5), np.random.RandomState(6)
    s.randn(3)
    r.set_state(s.get_state())
    same(r.randn(4), s.randn(4))
    same(r.get_state()[1], s.get_state()[1])
    a.bit_generator.advance(10)
    numpys.bit_generator.advance(10)
    same(a.random(2), numpys.random(2))


@pytest.mark.parametrize("entropy", [-1, [1, -2]])
def test_negative_entropy_is_refused(entropy):
    for m in (anp, np):
        with pytest.raises(ValueError):
            m.random.SeedSequence(entropy)


def test_seed_sequence():
    for entropy in (0, 12345, 2**100, [1, 2, 3]):
        ours, theirs = anp.random.SeedSequence(entropy), np.random.SeedSequence(entropy)
        same(ours.generate_state(10), theirs.generate_state(10))
        for mine, numpys in zip(ours.spawn(3), theirs.spawn(3), strict=True):
            same(mine.generate_state(3, np.uint64), numpys.generate_state(3, np.uint64))
    same(
        anp.random.Generator(anp.random.MT19937(3)).random(5),
        np.random.Generator(np.random.MT19937(3)).random(5),
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda r: r.default_rng(-1),
        lambda r: r.default_rng("x"),
        lambda r: r.default_rng(0).integers(5, 5),
        lambda r: r.default_rng(0).integers(0, 300, dtype="u1"),
        lambda r: r.default_rng(0).integers(0, 3, dtype="f8"),
        lambda r: r.default_rng(0).random(3, dtype="i4"),
        lambda r: r.default_rng(0).normal(0, -1),
        lambda r: r.RandomState(-1),
        lambda r: r.RandomState(2**32),
        lambda r: r.RandomState(0).choice(3, 5, replace=False),
    ],
)
def test_errors(call):
    with pytest.raises(Exception) as theirs:
        call(np.random)
    with pytest.raises(type(theirs.value)):
        call(anp.random)


@pytest.mark.parametrize("name", ["random", "integers", "standard_normal", "uniform", "normal"])
def test_generator_signatures(name):
    assert str(inspect.signature(getattr(anp.random.Generator, name))) == str(
        inspect.signature(getattr(np.random.Generator, name))
    )


@pytest.mark.parametrize("name", ["rand", "randint", "randn", "seed", "default_rng"])
def test_module_signatures(name):
    assert str(inspect.signature(getattr(anp.random, name))) == str(
        inspect.signature(getattr(np.random, name))
    )


def test_out():
    out = anp.empty((3, 2))
    assert anp.random.default_rng(1).random(out=out) is out
    same(out, np.random.default_rng(1).random((3, 2)))


@given(st.integers(0, 2**64), st.lists(st.tuples(st.integers(0, 6), st.sampled_from(
    [0, 1, 3, 7, 8, 15, 16, 17, 100, 311, 312, 313, 624, 625, 1000])), max_size=12))  # fmt: skip
def test_streams_do_not_depend_on_how_they_are_cut(seed, draws):
    """Words are made in blocks; what is left of one must not be lost between calls."""
    a, b = anp.random.default_rng(seed), np.random.default_rng(seed)
    c, d = anp.random.RandomState(seed % 2**32), np.random.RandomState(seed % 2**32)
    for kind, n in draws:
        if kind == 0:
            same(a.random(n), b.random(n))
        elif kind == 1:
            same(a.random(n, dtype=np.float32), b.random(n, dtype=np.float32))
        elif kind == 2:
            same(a.standard_normal(n), b.standard_normal(n))
        elif kind == 3:
            dtype = INT_DTYPES[n % 8 + 1]
            high = min(np.iinfo(dtype).max, 3 * 2**30)
            same(a.integers(high, size=n, dtype=dtype), b.integers(high, size=n, dtype=dtype))
        elif kind == 4:
            same(a.integers(2**33, size=n), b.integers(2**33, size=n))
        elif kind == 5:
            same(c.random_sample(n), d.random_sample(n))
        else:
            same(c.randint(0, 1000, n), d.randint(0, 1000, n))


class TestPhilox:
    """The known answers are Random123's, for 10 rounds of Philox 4x32."""

    @staticmethod
    def at(word, key=0):
        g = anp.random.Philox4x32(0)
        g.state = {"bit_generator": "Philox4x32", "state": {"word": word, "key": key},
                   "has_uint32": 0, "uinteger": 0}  # fmt: skip
        return g

    def test_known_answer(self):
        words = [int(w) for w in np.asarray(self.at(0).random_raw(2))]
        assert words == [0x6627E8D5E169C58D, 0xBC57AC4C9B00DBD8]

    @pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 33, 100_001])
    @pytest.mark.parametrize("key", [0, 2**63 + 12345])
    def test_uniform_numbers_are_the_words(self, n, key):
        ours = np.asarray(anp.random.Generator(self.at(0, key)).random(n))
        some = min(n, 50)
        for start in (0, n - some):
            words = np.asarray(self.at(start, key).random_raw(some))
            same(ours[start : start + some], (words >> np.uint64(11)) * 2.0**-53)

    def test_arrays_begin_at_an_even_word(self):
        g = anp.random.Generator(self.at(1))
        same(g.random(3), np.asarray(anp.random.Generator(self.at(2)).random(3)))
        assert g.bit_generator.state["state"]["word"] == 6

    def test_distributions(self):
        g = anp.random.Generator(anp.random.Philox4x32(4))
        u, z = np.asarray(g.random(400_001)), np.asarray(g.standard_normal((3, 133_333)))
        assert u.min() >= 0 and u.max() < 1
        assert abs(u.mean() - 0.5) < 3e-3 and abs(u.var() - 1 / 12) < 1e-3
        assert abs(z.mean()) < 8e-3 and abs(z.std() - 1) < 6e-3
        assert abs((z**4).mean() - 3) < 0.05
        single = np.asarray(g.random(100_000, dtype=np.float32))
        assert single.dtype == np.float32 and single.max() < 1
        assert set(np.asarray(g.integers(0, 4, 1000)).tolist()) == {0, 1, 2, 3}
        assert 0 <= g.random() < 1

    def test_state_and_pickle(self):
        g = anp.random.Philox4x32(11)
        g.random_raw(3)
        again = pickle.loads(pickle.dumps(g))
        assert again.state == g.state and again.random_raw() == g.random_raw()
        assert g.advance(-4).random_raw() == anp.random.Philox4x32(11).random_raw()
        with pytest.raises(ValueError, match="Philox4x32"):
            g.state = {"bit_generator": "PCG64"}


RULES = """
rng.integers(0, 0, (3, 0, 4))
rng.integers(0, -10, 0)
rng.integers(-2)
rng.integers([-2], endpoint=True)
rng.integers([True, True], size=2)
rng.integers([False, True], [True, 5])
rng.integers([False])
rng.integers(0, 200, size=3, dtype=">i4")
rng.multinomial(1, [0.5, 0.5], 1.0)
rng.multinomial(6, 0.5)
rng.dirichlet([1.0, 2.0], 1.0)
rng.multivariate_normal([0], [[1 + 1j]])
rng.multivariate_hypergeometric([2**60 - 101, 101], 5, 1, "count")
rng.permutation("abcd")
rng.permutation(1.2)
rng.permutation(np.arange(10), 1)
rng.permuted(np.ones((3, 5)), axis=1, out=np.zeros((3, 5), np.int32))
rng.choice([1, 2], ())
rng.choice(2, ())
rng.standard_normal(out=np.empty((2, 3), order="F"))
rng.standard_gamma([1, 2, 3], out=np.empty((2, 3), order="F"))
rs.randint(0, 10, (2, 0))
rs.multinomial(10, 0.3)
rs.multinomial(10, [[0.3]])
rs.choice([1, 2, 3], (-1,), replace=False)
rs.choice([1, 2], ())
rs.permutation("abcd")
rs.set_state(())
np.random.RandomState(np.random.MT19937)
np.random.MT19937(np.arange(3)).random_raw(4)
np.random.PCG64(np.array([1, 2])).random_raw(4)
""".strip().splitlines()


@pytest.mark.parametrize("text", RULES)
def test_rules(text):
    def run(np_):
        scope = {
            "np": np_,
            "rng": np_.random.Generator(np_.random.MT19937(3)),
            "rs": np_.random.RandomState(3),
        }
        return eval(text, scope)

    oracle.same(run, where=text)


def test_states_are_arrays():
    for cls in (anp.random.MT19937, anp.random.Philox, anp.random.SFC64):
        state = cls(5).state
        words = state["state"].get("key", state["state"].get("state"))
        assert type(words) is anp.ndarray
        other = cls(6)
        other.state = state
        same(other.random_raw(5), cls(5).random_raw(5))
    assert type(anp.random.SeedSequence(1).generate_state(2)) is anp.ndarray


def test_seed_sequences_by_interface():
    class Zeros:
        def generate_state(self, n_words, dtype=np.uint32):
            return np.zeros(n_words, dtype)

    rng = anp.random.default_rng(Zeros())
    with pytest.raises(TypeError, match="does not implement spawning"):
        rng.spawn(2)
    theirs = np.random.SeedSequence(7)  # NumPy's own will do
    same(anp.random.PCG64(theirs).random_raw(3), np.random.PCG64(7).random_raw(3))


def test_module_seeds_any_bit_generator():
    before = anp.random.get_bit_generator()
    try:
        anp.random.set_bit_generator(anp.random.PCG64(0))
        anp.random.seed(9)
        assert anp.random.get_bit_generator().state == np.random.PCG64(9).state
        assert anp.random.mtrand._rand._bit_generator is anp.random.get_bit_generator()
    finally:
        anp.random.set_bit_generator(before)


def test_shuffles_of_other_containers():
    ours, theirs = np.arange(5), np.arange(5)
    anp.random.RandomState(3).shuffle(ours.data)
    np.random.RandomState(3).shuffle(theirs.data)
    same(ours, theirs)
    values = dict(enumerate(range(7)))
    with pytest.warns(UserWarning, match="you are shuffling a 'dict' object"):
        anp.random.default_rng(1).shuffle(values)
    assert sorted(values.values()) == list(range(7))


def test_calls_are_watched_as_they_are():
    seen = []
    anp.testing.assert_no_warnings(seen.append, anp.zeros(2))
    assert type(seen[0]) is anp.ndarray


EDGES = [
    0,
    1,
    -1,
    5,
    2**31,
    2**32,
    2**63 - 1,
    2**63,
    2**64,
    -(2**63),
    2.5,
    3.0,
    np.int32(7),
    True,
    None,
]


@given(data=st.data(), seed=st.integers(0, 99))
def test_single_draws_follow_one_another(data, seed):
    """One number at a time, in any order of calls: values, types, errors and the words used up."""
    legacy = data.draw(st.booleans())
    name = "RandomState" if legacy else "default_rng"
    ours, theirs = (getattr(module.random, name)(seed) for module in (anp, np))
    dtypes = st.sampled_from([int, np.int64, "i4", np.uint8, np.uint64, bool, np.bool_, "f4"])
    bound = st.sampled_from(EDGES)
    real = st.sampled_from(
        [0.0, -0.0, 1, 2.5, -3.0, np.nan, np.inf, np.float32(0.1), 1e308, -1e308, 10**400]
    )
    calls = st.one_of(
        st.tuples(st.just("randint" if legacy else "integers"), bound, bound, st.just(None), dtypes),
        st.tuples(st.sampled_from(["uniform", "normal", "gamma", "lognormal"]), real, real),
        st.tuples(st.sampled_from(["random_sample", "randn"] if legacy else ["random", "standard_normal"])),
        st.tuples(st.sampled_from(["exponential", "poisson", "geometric"]), real),
        st.tuples(st.just("binomial"), bound, st.sampled_from([0.0, 0.3, 1, 1.5, np.nan])),
    )  # fmt: skip
    for method, *arguments in data.draw(st.lists(calls, min_size=1, max_size=8)):
        outcomes = []
        for rng in (ours, theirs):
            try:
                with np.errstate(all="ignore"):
                    outcomes.append(getattr(rng, method)(*arguments))
            except Exception as error:
                outcomes.append(type(error))
        got, expected = outcomes
        if isinstance(expected, type):
            assert got is expected, (method, arguments)
        else:
            assert type(got) is type(expected), (method, arguments)
            np.testing.assert_array_equal(got, expected)


def test_a_thread_may_draw_under_the_lock_it_holds():
    rng = anp.random.default_rng(3)
    with rng.bit_generator.lock:
        one = rng.random()
    assert one == np.random.default_rng(3).random()


@pytest.mark.parametrize("n", [0, 1, 2, 50])
def test_lists_are_shuffled_in_place(n):
    for name in ("default_rng", "RandomState"):
        ours, theirs = list(map(str, range(n))), list(map(str, range(n)))
        getattr(anp.random, name)(4).shuffle(ours)
        getattr(np.random, name)(4).shuffle(theirs)
        assert ours == theirs


@pytest.mark.parametrize("make", [anp.random.default_rng, anp.random.RandomState])
def test_draws_take_the_generators_lock(make):
    rng = make(1)
    lock = (rng.bit_generator if hasattr(rng, "bit_generator") else rng._bit_generator).lock
    draws = (rng.normal, rng.uniform, rng.standard_normal, lambda: rng.gamma(2.0))
    with lock:  # its owner draws on
        for draw in draws:
            draw()
    with pytest.raises(ValueError):
        rng.exponential(-1.0)
    for draw in draws:
        drawn = []
        other = threading.Thread(target=lambda draw=draw, drawn=drawn: drawn.append(draw()))
        with lock:
            other.start()
            other.join(0.02)
            assert not drawn
        other.join(10)  # for ever, had the error above kept the lock
        assert len(drawn) == 1
