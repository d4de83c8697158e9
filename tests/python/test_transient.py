"""Temporaries that only the caller's stack holds: a full reduction leaves them in registers.

The library guesses from the reference count; these are the cases where the guess is wrong, or where the
operands change between the reduction and a second use.
"""

import asnumpy
import numpy as np
import pytest

N = 5000


def pair(seed=0):
    r = np.random.default_rng(seed)
    x, y = r.random(N), r.random(N)
    return (x, y), (asnumpy.array(x), asnumpy.array(y))


@pytest.mark.parametrize("name", ["sum", "max", "min", "prod", "mean", "any", "all"])
def test_reduction_of_a_temporary(name):
    (x, y), (a, b) = pair()
    for _ in range(4):
        assert np.isclose(getattr((a - b) ** 2, name)(), getattr((x - y) ** 2, name)())
        assert np.isclose(getattr(asnumpy, name)(a * b + 0.5), getattr(np, name)(x * y + 0.5))


def test_the_only_reference_lives_on():
    """The argument tuple, a list being sorted and a generator hold the only reference."""
    (x, y), (a, b) = pair()
    held = ((a - b) * 2,)
    total = asnumpy.sum(*held)
    a += 1  # after the sum: the held array has the old values
    np.testing.assert_array_equal(held[0].to_numpy(), (x - y) * 2)
    assert np.isclose(total, np.sum((x - y) * 2))
    pieces = [b * k for k in (3, 1, 2)]
    ordered = sorted(pieces, key=asnumpy.sum)
    for k, piece in zip((1, 2, 3), ordered, strict=True):
        np.testing.assert_array_equal(piece.to_numpy(), y * k)


def test_operands_change_after_the_reduction():
    (x, y), (a, b) = pair()
    for step in range(3):
        held = (a * b - step,)
        assert np.isclose(asnumpy.sum(*held), np.sum(x * y - step))
        a[:] = a + 1
        expected = x * y - step
        x = x + 1
        np.testing.assert_array_equal(held[0].to_numpy(), expected)


def test_views_and_shared_parts_of_the_temporary():
    (x, y), (a, b) = pair()
    c = a + b
    held = ((c * c)[::2],)
    assert np.isclose(asnumpy.sum(*held), np.sum(((x + y) ** 2)[::2]))
    c += 1
    np.testing.assert_array_equal(held[0].to_numpy(), ((x + y) * (x + y))[::2])
    np.testing.assert_array_equal(c.to_numpy(), x + y + 1)


def test_memory_is_not_held():
    """What a reduction leaves behind goes with the next operation."""
    (_, _), (a, b) = pair()
    for _ in range(300):
        asnumpy.sum((a - b) ** 2)
    before = asnumpy.memory_stats()["bytes_in_use"]
    for _ in range(300):
        c = a * 2
        asnumpy.sum((c - b) ** 2)
        del c
    asnumpy.synchronize()
    assert asnumpy.memory_stats()["bytes_in_use"] <= before + 4 * N * 8
