"""Einsum through CANN's interface, against NumPy's."""

import numpy as np
import pytest
from aclnn import AclError, run

RNG = np.random.default_rng(36)
SIZES = {"a": 3, "b": 4, "c": 2, "d": 5}
EQUATIONS = ["ab,bc->ac", "ab->ba", "ab->", "aa->a", "aa->", "abc,cd,bd->ad", "a,b->ab", "abd, acd -> abc",
             "ab,ab->ab", "abc->cab", "a,->a", "aab,b->"]  # fmt: skip


@pytest.mark.parametrize("equation", EQUATIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int16, np.uint32, np.int64, np.float64])  # fmt: skip
def test_einsum(equation, dtype):
    plain = equation.replace(" ", "")
    left, right = plain.split("->")
    x = [(RNG.standard_normal([SIZES[k] for k in t]) * 4).clip(0, 9).astype(dtype) for t in left.split(",")]  # fmt: skip
    x = [np.asarray(t) for t in x]
    wide = np.float64 if dtype == np.float16 else dtype
    want = np.einsum(plain, *(t.astype(wide) for t in x))
    out = np.empty([SIZES[k] for k in right[::-1]], dtype).T
    run("Einsum", [np.asfortranarray(t) if t.ndim else t for t in x], equation, out)
    np.testing.assert_allclose(out, want, rtol=2e-3 if dtype == np.float16 else 1e-5)


def test_edges():
    x = RNG.random((3, 4))
    out = np.full((3, 2), 7.0)
    np.testing.assert_array_equal(run("Einsum", [x[:, :0], np.empty((0, 2))], "ab,bc->ac", out), np.zeros((3, 2)))  # fmt: skip
    run("Einsum", [x[:0]], "ab->ba", np.empty((4, 0)))
    for equation in ("ab", "ab->c", "ab->aa", "ab->ac", "abc->ab", "a->a", "a1->ab", "ab,b->a", "ab->a->a", ""):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("Einsum", [x], equation, np.empty((3, 4)))
    with pytest.raises(AclError, match="161002"):
        run("Einsum", [x, x], "ab,bc->ac", np.empty((3, 4)))
    with pytest.raises(AclError, match="16100"):
        run("Einsum", [], "->", np.empty(()))
