"""Others' compiled code draws from our generators: NumPy's bitgen_t in a capsule, over one state."""

import copy
import gc
import pickle
import threading

import asnumpy
import numpy
import pytest

NAMES = ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"]


def interleaved(generator, other):
    """Draws by two generators over one stream, in turns."""
    drawn = []
    for g in (generator, other, generator, other, other, generator):
        drawn += [g.random(), g.integers(1000), g.standard_normal(3), g.random(2, "float32")]
        drawn.append(g.integers(0, 2**32, size=3, dtype="uint32"))
    return [numpy.asarray(d).tolist() for d in drawn]


@pytest.mark.parametrize("name", NAMES)
def test_one_stream(name):
    ours = getattr(asnumpy.random, name)(5)
    expected = getattr(numpy.random, name)(5)
    got = interleaved(asnumpy.random.Generator(ours), numpy.random.Generator(ours))
    assert got == interleaved(numpy.random.Generator(expected), numpy.random.Generator(expected))


@pytest.mark.parametrize("name", NAMES)
def test_raw_words(name):
    ours, expected = getattr(asnumpy.random, name)(5), getattr(numpy.random, name)(5)
    seen = numpy.random.RandomState(ours)
    assert seen.randint(0, 2**31, 5).tolist() == (
        numpy.random.RandomState(expected).randint(0, 2**31, 5).tolist()
    )


@pytest.mark.parametrize("make", ["default_rng", "RandomState"])
def test_numpys_default_rng_takes_our_generators(make):
    ours, theirs = getattr(asnumpy.random, make)(7), getattr(numpy.random, make)(7)
    got, expected = numpy.random.default_rng(ours), numpy.random.default_rng(theirs)
    assert got.random(3).tolist() == expected.random(3).tolist()
    assert ours.standard_normal(2).tolist() == theirs.standard_normal(2).tolist()


def test_classes_of_numpy_for_isinstance():
    for name in NAMES:
        bits = getattr(asnumpy.random, name)(1)
        assert isinstance(bits, numpy.random.BitGenerator)
        assert isinstance(bits, getattr(numpy.random, name))
        assert isinstance(bits, getattr(asnumpy.random, name))
    assert isinstance(asnumpy.random.default_rng(1), numpy.random.Generator)
    assert not isinstance(asnumpy.random.default_rng(1), numpy.random.RandomState)
    assert isinstance(asnumpy.random.RandomState(1), numpy.random.RandomState)


def test_the_state_outlives_the_generator():
    theirs = numpy.random.Generator(asnumpy.random.PCG64(3))
    capsule = asnumpy.random.PCG64(3).capsule
    gc.collect()
    assert theirs.random() == numpy.random.default_rng(3).random()
    del capsule


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))]
)
def test_copies_go_on_alike(duplicate):
    theirs = numpy.random.Generator(asnumpy.random.PCG64(3))
    theirs.random()
    again = duplicate(theirs)
    assert again.random(3).tolist() == numpy.random.default_rng(3).random(4)[1:].tolist()
    for ours in (asnumpy.random.default_rng(4), asnumpy.random.RandomState(4)):
        twin = duplicate(ours)
        assert type(twin) is type(ours)
        assert (
            twin.random(2).tolist() == duplicate(ours).random(2).tolist() or duplicate is copy.copy
        )


def test_threads_share_it_under_its_lock():
    bits = asnumpy.random.PCG64(9)
    generators = [asnumpy.random.Generator(bits), numpy.random.Generator(bits)] * 2
    drawn = [[] for _ in generators]

    def draw(g, into):
        for _ in range(200):
            into.extend(numpy.asarray(g.random(5)).tolist())

    threads = [
        threading.Thread(target=draw, args=pair) for pair in zip(generators, drawn, strict=True)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(sum(drawn, [])) == sorted(numpy.random.default_rng(9).random(4000).tolist())


def test_a_trace_refuses_it():
    bits = asnumpy.random.PCG64(1)

    @asnumpy.jit
    def f(x):
        numpy.random.Generator(bits)
        return x + 1

    with pytest.raises(RuntimeError, match="handed to compiled code"):
        f(asnumpy.ones(3))
