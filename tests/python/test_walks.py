"""Operations that have nothing in common are fused only where they walk memory alike: nobody's speed depends on
a stranger's layout. NumPy is the oracle."""

import asnumpy as np
import numpy
import pytest
from conftest import SINGLE_OPERATORS
from hypothesis import given, settings
from hypothesis import strategies as st

SHAPES = [(50, 60), (40, 7, 30), (3000, 3), (2, 30, 5, 11), (60, 1, 70)]


def arrays(shape, seed, axes, backwards=False):
    """Random numbers of that shape (NumPy's, ours), whose dimensions lie in memory as `axes` say."""
    rng = numpy.random.default_rng(seed)
    inverse = numpy.argsort(axes)
    x = rng.standard_normal([shape[d] for d in axes]).astype("f4")
    ours = np.array(x).transpose(inverse)
    x = x.transpose(inverse)
    return (x[..., ::-1], ours[..., ::-1]) if backwards else (x, ours)


def programs(array):
    return np.explain(array).count("program ")


@pytest.mark.skipif(SINGLE_OPERATORS, reason="every operation is a program of its own")
def test_strangers_that_lie_across_each_other_run_apart():
    (_, a), (_, b) = arrays((60, 70), 1, (0, 1)), arrays((60, 70), 2, (1, 0))
    np.synchronize()
    y, z = b * 2, a * 3
    assert programs(z) == 2
    assert "walks other memory in another order" in np.explain(z)
    np.synchronize()
    y, z = b * 2, b * 3  # they read the same
    assert programs(z) == 1
    np.synchronize()
    z = b * 2 + a * 3  # one result
    assert programs(z) == 1
    np.synchronize()
    y = b + 1
    z = y + a  # two, which lie across each other
    assert programs(z) == 2
    del y


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SHAPES), st.data())
def test_results_of_any_layouts(shape, data):
    """Kept results of random layouts, read by each other and written in place."""
    order = st.permutations(range(len(shape)))
    pairs = [arrays(shape, seed, data.draw(order), data.draw(st.booleans())) for seed in range(3)]
    h, ours = [list(x) for x in zip(*pairs, strict=True)]
    h = [x.copy(order="K") for x in h]
    np.synchronize()
    for _ in range(data.draw(st.integers(2, 8))):
        i, j = data.draw(st.integers(0, len(h) - 1)), data.draw(st.integers(0, len(h) - 1))
        kind = data.draw(st.sampled_from(("new", "in place", "sum")))
        if kind == "new":
            h.append(h[i] + h[j])
            ours.append(ours[i] + ours[j])
        elif kind == "in place":
            numpy.multiply(h[i], 0.5, out=h[j])
            np.multiply(ours[i], 0.5, out=ours[j])
        else:
            m = numpy.float32(0.25)
            h.append(h[i] - numpy.maximum.reduce(h[j], axis=0, keepdims=True) * m)
            ours.append(ours[i] - np.maximum.reduce(ours[j], axis=0, keepdims=True) * m)
    for x, y in zip(h, ours, strict=True):
        numpy.testing.assert_array_equal(y.to_numpy(), x)
