"""Tokens in the order of their experts as int8, against NumPy."""

import ml_dtypes
import numpy as np
import pytest
from aclnn import AclError, run

BF16 = np.dtype(ml_dtypes.bfloat16)
RNG = np.random.default_rng(81)
F32, I32, same, close = (
    np.float32,
    np.int32,
    np.testing.assert_array_equal,
    np.testing.assert_allclose,
)
N, K, H, E = 6, 2, 10, 4


def routed(ids, capacity):
    """Of each place the entry, -1: none; the places by entry; counts."""
    order = np.argsort(ids.ravel(), kind="stable")
    counts = np.bincount(ids.ravel(), minlength=E)
    if not capacity:
        return order, np.argsort(order), counts
    places, of = np.full(E * capacity, -1), np.full(N * K, -1)
    for e in range(E):
        mine = order[ids.ravel()[order] == e][:capacity]
        places[e * capacity : e * capacity + len(mine)] = mine
        of[mine] = e * capacity + np.arange(len(mine))
    return places, of, counts


@pytest.mark.parametrize("capacity", [0, 2])
@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16, np.dtype(F32)])
def test_routing(dtype, capacity):
    x, ids = RNG.uniform(-3, 3, (N, H)).astype(dtype), RNG.integers(0, E, (N, K)).astype(I32)
    places, of, counts = routed(ids, capacity)
    taken = places >= 0
    rows = np.where(taken[:, None], x.astype(F32)[places // K], 0)
    expert = np.where(taken, ids.ravel()[places], 0)
    shape = (E, capacity, H) if capacity else (N * K, H)

    def route(scale, offset, mode, flag=0):
        q, where = np.full(shape, 9, np.int8), np.full(N * K, 9, I32)
        told = np.full(len(places), 9, F32) if mode else None
        count = np.full(E, 9, I32)
        run("MoeInitRoutingQuantV2", x, ids, scale, offset, 0, capacity, E, int(capacity > 0), flag, True, mode, q, where,
            count if flag else None, count if capacity else None, told)  # fmt: skip
        same(where, of)
        if capacity:
            same(count, counts)
        elif flag:
            same(count, np.cumsum(counts) if flag == 1 else counts)
        return q.reshape(-1, H), told

    q, _ = route(np.array([20], F32), np.array([-3], F32), 0, flag=1)
    want = np.where(taken[:, None], np.rint(rows * F32(20) - F32(3)), 0)
    same(q, want)
    each = RNG.uniform(0.5, 2, (E, H)).astype(F32)
    for scale in (None, each[:1], each):
        v = rows if scale is None else rows * (scale if len(scale) == 1 else scale[expert])
        q, told = route(scale, None, 1, flag=2)
        want = np.abs(v).max(1) / F32(127)
        close(told, want, rtol=1e-6)
        assert (np.abs(q * told[:, None] - v) <= told[:, None] * 0.5001).all()
        assert (q[~taken] == 0).all() and (told[~taken] == 0).all()


def test_active_and_refused():
    x, ids = RNG.uniform(-3, 3, (N, H)).astype(F32), RNG.integers(0, E, (N, K)).astype(I32)
    places, of, _ = routed(ids, 0)
    q, where, told = np.zeros((5, H), np.int8), np.zeros(N * K, I32), np.zeros(5, F32)
    good = [x, ids, None, None, 5, 0, E, 0, 0, False, 1, q, where, None, None, told]
    run("MoeInitRoutingQuantV2", *good)
    rows = x[places[:5] // K]
    close(told, np.abs(rows).max(1) / F32(127), rtol=1e-6)
    same(where, of)
    one = np.ones(1, F32)
    for changes in ({10: 2}, {10: 0}, {10: 0, 2: one}, {2: np.ones((2, H), F32)}, {11: q[:4]}, {15: told[:3]}, {12: where[:5]},
                    {1: ids[:3]}, {0: x.astype(int)}, {7: 1}, {11: q.astype(I32)}):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("MoeInitRoutingQuantV2", *[changes.get(i, a) for i, a in enumerate(good)])
    with pytest.raises(AclError, match="161001"):
        run("MoeInitRoutingQuantV2", *good[:15], None)
    with pytest.raises(AclError, match="100000.*experts"):
        bad = {2: np.ones((E, H), F32), 1: np.full((N, K), E, I32)}
        run("MoeInitRoutingQuantV2", *[bad.get(i, a) for i, a in enumerate(good)])
