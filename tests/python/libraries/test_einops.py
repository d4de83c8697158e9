"""einops rearranges our arrays, and gives ours."""

import asnumpy
import pytest
from libraries.comparing import same

einops = pytest.importorskip("einops")


def x(np):
    return np.arange(24.0).reshape(2, 3, 4)


CASES = {
    "rearrange": lambda np: einops.rearrange(x(np), "a b c -> a (b c)"),
    "rearrange a list": lambda np: einops.rearrange([x(np), x(np)], "n a b c -> a (n b c)"),
    "reduce": lambda np: einops.reduce(x(np), "a b c -> a c", "mean"),
    "max": lambda np: einops.reduce(x(np), "a (b k) c -> a b", "max", k=3),
    "repeat": lambda np: einops.repeat(x(np), "a b c -> a b c k", k=2),
    "einsum": lambda np: einops.einsum(x(np), x(np), "a b c, a d c -> b d"),
    "pack": lambda np: einops.pack([x(np), x(np)[..., 0]], "a b *")[0],
}


@pytest.mark.parametrize("case", CASES)
def test_same_as_with_numpy(case):
    assert type(same(CASES[case])) is asnumpy.ndarray


def test_unpack_and_shapes():
    packed, shapes = einops.pack([x(asnumpy), x(asnumpy)[..., 0]], "a b *")
    parts = einops.unpack(packed, shapes, "a b *")
    assert [p.shape for p in parts] == [(2, 3, 4), (2, 3)]
    assert einops.parse_shape(x(asnumpy), "a b c") == {"a": 2, "b": 3, "c": 4}
