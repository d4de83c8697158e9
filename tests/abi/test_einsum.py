"""Einsum through CANN's interface, against NumPy's."""

import numpy as np
import pytest
import torch
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


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int32])
@pytest.mark.parametrize(("equation", "shapes"), [
    ("...ab,...bc->...ac", [(2, 3, 4, 5), (3, 5, 6)]),
    ("...ab,...bc->...ac", [(4, 5), (2, 1, 5, 6)]),
    ("...ab,bc->...ac", [(2, 3, 4, 5), (5, 6)]),
    ("a...,...->a...", [(3, 4, 5), (5,)]),
    ("...ii->...i", [(2, 3, 4, 4)]),
    ("i...i->...", [(4, 2, 3, 4)]),
    ("...->...", [(2, 3)]),
    ("... ,... -> ...", [(2, 1, 3), (4, 1)]),
    ("a...b->b...a", [(2, 3, 4, 5)]),
    ("...a->a", [(2, 3, 4)]),
    ("...a,...->...a", [(2, 4), ()]),
    ("a...,b...,c...->abc...", [(2, 3, 4), (5, 1), (3, 1, 4)]),
])  # fmt: skip
def test_ellipsis(equation, shapes, dtype):
    x = [np.asarray((RNG.standard_normal(s) * 4).clip(0, 9).astype(dtype)) for s in shapes]
    wide = np.float64 if dtype == np.float16 else dtype
    want = torch.einsum(equation, *(torch.tensor(t.astype(wide)) for t in x)).numpy()
    out = np.full(want.shape[::-1], 77, dtype).T
    run("Einsum", [np.asfortranarray(t) if t.ndim else t for t in x], equation, out)
    np.testing.assert_allclose(out, want, rtol=2e-3 if dtype == np.float16 else 1e-5)


def test_ellipsis_errors():
    x = RNG.random((3, 4, 5))
    for equation, shape in (("a..b->a..b", (3, 4, 5)), ("...a...->...a", (3, 4, 5)), ("ab->...ab", (3, 4, 5)),
                            ("...ab->...b", (4, 5)), ("a....->a....", (3, 4, 5)), ("...abcd->...", ())):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("Einsum", [x], equation, np.empty(shape))
    with pytest.raises(AclError, match="161002"):
        run("Einsum", [x, x[:2]], "...a,...a->...", np.empty((3, 4)))


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
