"""asnumpy.jit: what the host does in a trace: random numbers, which every call draws anew, and conditions on values."""

import re
import subprocess
import sys
import threading

import asnumpy
import numpy as np
import pytest
from conftest import NPU

DRAWS = {
    "random": lambda g: g.random(5),
    "float32": lambda g: g.random((2, 3), dtype="float32"),
    "one": lambda g: g.random(()),
    "out": lambda g: g.standard_normal(out=empty_like(g, 4)),
    "uniform": lambda g: g.uniform(-1, 3, 6),
    "normal": lambda g: g.normal(2, 3, (2, 2)),
    "bounds": lambda g: g.normal(np.arange(3.0), [1.0, 2.0, 3.0]),
    "integers": lambda g: g.integers(0, 1000, 7),
    "bytes": lambda g: g.integers(0, 256, 5, dtype="uint8"),
    "each": lambda g: g.integers([1, 10, 100], [5, 50, 500]),
    "gamma": lambda g: g.gamma([1.0, 2.0, 3.0], 2.0),
    "poisson": lambda g: g.poisson(4.0, 6),
    "binomial": lambda g: g.binomial([10, 20], 0.3, (3, 2)),
    "exponential": lambda g: g.standard_exponential(4, dtype="float32", method="inv"),
    "gamma float32": lambda g: g.standard_gamma([1.0, 2.0], dtype="float32"),
    "dirichlet": lambda g: g.dirichlet([1.0, 2.0, 3.0], 2),
    "multinomial": lambda g: g.multinomial([10, 20], [0.2, 0.3, 0.5]),
    "hypergeometric": lambda g: g.multivariate_hypergeometric([5, 6, 7], 8, 2),
    "permutation": lambda g: g.permutation(9),
    "choice": lambda g: g.choice(20, 5),
    "distinct": lambda g: g.choice(20, 5, replace=False),
    "weighted": lambda g: g.choice(4, 6, p=[0.1, 0.2, 0.3, 0.4]),
    "several": lambda g: g.random(3) + g.integers(0, 9, 3) * g.standard_normal(3),
}
BIT_GENERATORS = ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"]


def empty_like(generator, n):
    return (asnumpy if type(generator).__module__.startswith("asnumpy") else np).empty(n)


def state_of(generator):
    """The state as plain numbers."""

    def plain(value):
        if isinstance(value, dict):
            return {key: plain(v) for key, v in value.items()}
        return np.asarray(value).tolist() if hasattr(value, "dtype") else value

    state = plain(generator.bit_generator.state)
    if not state.get("has_uint32"):
        state.pop("uinteger", None)  # the half of a word that is used up
    return state


@pytest.mark.parametrize("name", DRAWS)
def test_each_call_draws_as_the_function_does(name):
    draw = DRAWS[name]
    ours, numpys = asnumpy.random.default_rng(5), np.random.default_rng(5)
    jitted = asnumpy.jit(lambda: draw(ours))
    for _ in range(4):
        got, expected = np.asarray(jitted()), np.asarray(draw(numpys))
        assert got.dtype == expected.dtype and got.shape == expected.shape
        assert got.tobytes() == expected.tobytes()
        assert state_of(ours) == state_of(numpys)
    assert jitted.cache_info()[:2] == (3, 1)


@pytest.mark.parametrize("bits", BIT_GENERATORS)
def test_streams_go_on_between_calls(bits):
    ours = asnumpy.random.Generator(getattr(asnumpy.random, bits)(7))
    numpys = np.random.Generator(getattr(np.random, bits)(7))
    jitted = asnumpy.jit(lambda x: x + ours.random(3, dtype="float32"))
    x = asnumpy.ones(3, "f4")
    for _ in range(3):
        assert np.asarray(jitted(x)).tobytes() == (1 + numpys.random(3, dtype="f4")).tobytes()
        assert ours.integers(0, 10, 3).tolist() == numpys.integers(0, 10, 3).tolist()
    assert state_of(ours) == state_of(numpys)


def test_the_modules_functions():
    @asnumpy.jit
    def noisy(x):
        return x + asnumpy.random.randn(4), asnumpy.random.randint(0, 100, 3)

    def expected(x):
        return x + np.random.randn(4), np.random.randint(0, 100, 3)

    x = asnumpy.zeros(4)
    for seed in (1, 2):
        asnumpy.random.seed(seed)
        np.random.seed(seed)
        for _ in range(3):
            for a, b in zip(noisy(x), expected(np.zeros(4)), strict=True):
                assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_shuffles(rng):
    ours, numpys = asnumpy.random.default_rng(3), np.random.default_rng(3)

    def shuffled(np, g, x):
        g.shuffle(x)
        return g.permutation(x), g.permuted(x)

    jitted = asnumpy.jit(lambda x: shuffled(asnumpy, ours, x))
    for _ in range(3):
        host = rng.random(8)
        x = asnumpy.array(host)
        for a, b in zip(jitted(x), shuffled(np, numpys, host), strict=True):
            assert np.asarray(a).tolist() == b.tolist()
        assert x.tolist() == host.tolist()


def test_normals_around_traced_values(rng):
    ours, numpys = asnumpy.random.default_rng(3), np.random.default_rng(3)
    f = asnumpy.jit(
        lambda x, s: (ours.normal(x, 2.0), ours.normal(x, s), ours.normal(0.5, s, (2, 4)))
    )
    for _ in range(3):
        x, s = rng.random(4), rng.random(4)
        expected = numpys.normal(x, 2.0), numpys.normal(x, s), numpys.normal(0.5, s, (2, 4))
        for a, b in zip(f(asnumpy.array(x), asnumpy.array(s)), expected, strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-15)
    with pytest.raises(ValueError, match="scale < 0"):
        f(asnumpy.array(x), asnumpy.array(-s))


def test_a_generator_made_in_the_function_begins_anew():
    @asnumpy.jit
    def f(x):
        return x + asnumpy.random.default_rng(11).random(3), asnumpy.random.RandomState(4).rand(2)

    x = asnumpy.zeros(3)
    for _ in range(3):
        first, second = f(x)
        assert first.tolist() == np.random.default_rng(11).random(3).tolist()
        assert second.tolist() == np.random.RandomState(4).rand(2).tolist()


def test_seeding_in_the_function():
    @asnumpy.jit
    def f(x):
        asnumpy.random.seed(3)
        return x + asnumpy.random.rand(3)

    for _ in range(3):
        np.random.seed(3)
        assert f(asnumpy.zeros(3)).tolist() == np.random.rand(3).tolist()
        assert float(asnumpy.random.rand()) == np.random.rand()


def test_the_first_draw_of_a_process_may_be_in_a_function():
    """asnumpy.random is imported when it is first used, and seeds its own generator then."""
    program = """
import asnumpy
@asnumpy.jit
def f(x):
    asnumpy.random.seed(3)
    return x + asnumpy.random.rand(3)
print(*(f(asnumpy.zeros(3)).tolist() for _ in range(2)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    np.random.seed(3)
    expected = np.random.rand(3).tolist()
    assert done.stdout == f"{expected} {expected}\n", done.stderr


def test_what_is_drawn_varies():
    """Not a number of the trace: a look at it is refused."""
    g = asnumpy.random.default_rng(0)
    f = asnumpy.jit(lambda x: x * 2 if bool(g.random(()) > 0.5) else x)
    with pytest.raises(RuntimeError, match="the value of an element is read"):
        f(asnumpy.ones(3))


REFUSED = {
    "a number": (lambda g: g.random(), r"no array is drawn \(size=\(\) draws"),
    "an integer": (lambda g: g.integers(5), r"no array is drawn \(size=\(\) draws"),
    "a variate": (lambda g: g.gamma(2.0), r"no array is drawn \(size=\(\) draws"),
    "its state": (lambda g: g.bit_generator.state, "the state of a random generator is read"),
    "moved on": (lambda g: g.bit_generator.advance(3), "is read or moved on"),
    "words": (lambda g: g.bit_generator.random_raw(3), "random words are drawn for the host"),
    "bytes": (lambda g: g.bytes(3), "host|copied"),
    "a list": (lambda g: g.shuffle([1, 2, 3]), "a list is shuffled"),
    "no seed": (lambda g: asnumpy.random.default_rng(), "seeds from the system"),
    "children": (lambda g: g.spawn(2), "seed sequence has children"),
    "the device's": (
        lambda g: asnumpy.random.Generator(asnumpy.random.Philox4x32(1)).random(3),
        "Philox4x32",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    call, why = REFUSED[name]
    g = asnumpy.random.default_rng(1)
    f = asnumpy.jit(lambda x: (call(g), x + 1)[1])
    with pytest.raises(RuntimeError, match=why):
        f(asnumpy.ones(2))
    assert g.random(3).tolist() == np.random.default_rng(1).random(3).tolist() or name == "bytes"


def test_a_held_generator_is_refused_not_waited_for():
    g = asnumpy.random.default_rng(1)
    held, done = threading.Event(), threading.Event()

    def hold():
        with g.bit_generator.lock:
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    f = asnumpy.jit(lambda: g.random(3))
    try:
        with pytest.raises(RuntimeError, match="another thread holds the generator's lock"):
            f()
    finally:
        done.set()
        thread.join()
    assert f().tolist() == np.random.default_rng(1).random(3).tolist()


def test_a_replay_waits_for_the_generators_lock():
    g = asnumpy.random.default_rng(1)
    f = asnumpy.jit(lambda: g.random(3))
    want = np.random.default_rng(1)
    assert f().tolist() == want.random(3).tolist()
    drawn = []
    thread = threading.Thread(target=lambda: drawn.append(f().tolist()))
    with g.bit_generator.lock:
        thread.start()
        thread.join(0.2)
        assert not drawn
        assert g.random(2).tolist() == want.random(2).tolist()
    thread.join(60)
    assert drawn == [want.random(3).tolist()]


def test_threads_draw_in_turns():
    """Replays on two threads and draws beside them take the generator's numbers, each once."""
    g = asnumpy.random.default_rng(9)
    f = asnumpy.jit(lambda: g.integers(0, 1 << 40, 4))
    taken = [f().tolist()]

    def work(call):
        mine = [call().tolist() for _ in range(50)]
        taken.extend(mine)

    calls = [f, f, lambda: g.integers(0, 1 << 40, 4)]
    threads = [threading.Thread(target=work, args=(c,)) for c in calls]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    numpys = np.random.default_rng(9)
    expected = [numpys.integers(0, 1 << 40, 4).tolist() for _ in range(151)]
    assert sorted(taken) == sorted(expected)


def test_generators_live_as_long_as_their_traces():
    def made():
        g = asnumpy.random.default_rng(2)
        return asnumpy.jit(lambda: g.random(2))

    f, numpys = made(), np.random.default_rng(2)
    for _ in range(3):
        assert f().tolist() == numpys.random(2).tolist()
    assert re.search(r"^ +1  host +random", f.explain(), re.MULTILINE)
    with asnumpy.profile() as p:
        f()
    assert "random" in p.summary()
    f.cache_clear()


# ---- conditions on values


def same(ours, numpys, rtol=1e-12):
    ours, numpys = ([r] if not isinstance(r, tuple) else list(r) for r in (ours, numpys))
    for a, b in zip(ours, numpys, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape and a.dtype == b.dtype, (a.dtype, b.dtype)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-12)


def check(function, *calls, rtol=1e-12):
    f = asnumpy.jit(lambda *args: function(asnumpy, *args))
    for args in calls:
        same(f(*(asnumpy.array(a) for a in args)), function(np, *args), rtol)
    assert f.cache_info().misses == 1
    return f


def test_whole_powers():
    f = check(
        lambda np, x, n: (x**n, np.power(2, n), (x + 1) ** n),
        (np.array([3, -2, 5]), np.array([2, 3, 0])),
        (np.array([1, 2, 3]), np.array([4, 1, 2])),
    )
    with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
        f(asnumpy.array([1, 2, 3]), asnumpy.array([1, -1, 2]))
    same(f(asnumpy.array([1, 2, 3]), asnumpy.array([1, 1, 1]))[0], np.array([1, 2, 3]))


def test_bincount():
    at = [np.array(a) for a in ([0, 3, 3, 1], [4, 4, 0, 2], [0, 0, 0, 0])]
    f = check(lambda np, i: np.bincount(i, minlength=5), *((a,) for a in at))
    for wrong, why in (([0, 5, 1, 1], "5 or more"), ([0, -1, 1, 1], "no negative elements")):
        with pytest.raises(ValueError, match=why):
            f(asnumpy.array(wrong))
    w = np.array([0.5, 1.5, 2.5, 3.5])
    if not NPU:  # whose host counts with weights
        check(lambda np, i, w: np.bincount(i, w, 5), *((a, w) for a in at))
    check(lambda np, i: np.bincount(i, minlength=256), *((a.astype("u1"),) for a in at))
    g = asnumpy.jit(lambda i: asnumpy.bincount(i))
    with pytest.raises(RuntimeError, match="minlength"):
        g(asnumpy.array(at[0]))
    with pytest.raises(ValueError, match="5 or more"):
        asnumpy.jit(lambda i: asnumpy.bincount(i, minlength=5))(asnumpy.array([7]))


@pytest.mark.parametrize(
    ("dtype", "most"),
    [
        ("u1", 255),
        pytest.param(
            "u2",
            65535,
            marks=pytest.mark.skipif(
                NPU, reason="an NPU's host counts 16-bit positions, which a trace refuses"
            ),
        ),
    ],
)
def test_bincount_of_the_greatest_element(dtype, most):
    """What a dtype rules out is not looked at; its greatest element is not ruled out by itself."""
    last = np.array([0, most, most], dtype)
    short = asnumpy.jit(lambda i: asnumpy.bincount(i, minlength=most))
    same(short(asnumpy.array([0, 1, 1], dtype)), np.bincount([0, 1, 1], minlength=most))
    with pytest.raises(ValueError, match=f"an element is {most} or more"):
        short(asnumpy.array(last))
    check(lambda np, i: np.bincount(i, minlength=most + 1), (last,), (last[::-1].copy(),))


host_sorts = pytest.mark.skipif(
    NPU, reason="an NPU's host sorts float64 and counts with weights, which a trace refuses"
)
HISTOGRAMS = {
    "ten": lambda np, x: np.histogram(x),
    "bins": lambda np, x: np.histogram(x, 7),
    "range": lambda np, x: np.histogram(x, 5, (-0.5, 0.75)),
    "density": lambda np, x: np.histogram(x, 6, (-1, 1), density=True),
    "whole": lambda np, x: np.histogram((x * 20).astype("i8"), 9),
    "two": lambda np, x: np.histogram2d(x, x[::-1], 4, [(-1, 1), (-1, 1)])[:2],
    "several": lambda np, x: np.histogramdd(np.stack([x, -x]).T, (3, 4), [(-1, 1), (-1, 1)])[0],
}


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_histograms(name, rng):
    check(HISTOGRAMS[name], *((rng.random(200) * 2 - 1,) for _ in range(3)), rtol=1e-9)


@host_sorts
def test_histograms_that_sort_or_weigh(rng):
    calls = [(rng.random(200) * 2 - 1,) for _ in range(3)]
    check(lambda np, x: np.histogram(x, [-1, -0.5, 0, 0.25, 1]), *calls)
    check(lambda np, x: np.histogram(x, 6, (-1, 1), weights=x * x), *calls, rtol=1e-9)


@host_sorts
def test_histograms_of_given_edges(rng):
    f = check(
        lambda np, x, edges: np.histogram(x, edges),
        *((rng.random(50), np.sort(rng.random(6))) for _ in range(3)),
    )
    with pytest.raises(ValueError, match="must increase monotonically"):
        f(asnumpy.array(rng.random(50)), asnumpy.array([0.5, 0.1, 0.2, 0.3, 0.4, 0.6]))
    g = check(lambda np, x: np.histogram(x, 4), *((rng.random(50),) for _ in range(3)))
    with pytest.raises(ValueError, match="is not finite"):
        g(asnumpy.full(50, np.nan))
    same(g(asnumpy.full(50, 2.0)), np.histogram(np.full(50, 2.0), 4))
    with pytest.raises(RuntimeError, match="test_jit_host.py"):
        asnumpy.jit(lambda x: asnumpy.histogram(x, "auto"))(asnumpy.array(rng.random(50)))


INTERPOLATIONS = {
    "plain": lambda np, x, xp, fp: np.interp(x, xp, fp),
    "ends": lambda np, x, xp, fp: np.interp(x, xp, fp, left=-1, right=7.5),
    "one end": lambda np, x, xp, fp: np.interp(x, xp, fp, right=fp[0] * 2),
    "complex": lambda np, x, xp, fp: np.interp(x, xp, fp * (1 + 2j)),
    "one point": lambda np, x, xp, fp: np.interp(x, xp[:1], fp[:1]),
    "whole": lambda np, x, xp, fp: np.interp((np.nan_to_num(x) * 5).astype("i8"), xp, fp),
}


@pytest.mark.parametrize("name", INTERPOLATIONS)
def test_interp(name, rng):
    x = rng.random((2, 30)) * 3 - 1
    x[0, 0] = np.nan
    calls = ((x + k / 7, np.sort(rng.random(9)), rng.random(9)) for k in range(3))
    check(INTERPOLATIONS[name], *calls, rtol=1e-9)


@host_sorts
def test_periodic_interp(rng):
    calls = ((rng.random(9) * 3, np.sort(rng.random(9)), rng.random(9)) for _ in range(3))
    check(lambda np, x, xp, fp: np.interp(x, xp, fp, period=0.8), *calls, rtol=1e-9)


def test_a_caught_condition_fails_the_trace():
    @asnumpy.jit
    def f(n):
        try:
            return 2**n
        except ValueError:
            return n

    with pytest.raises(ValueError, match="negative integer powers"):
        f(asnumpy.array([1, -1]))
