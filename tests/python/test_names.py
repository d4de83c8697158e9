"""What runs on the device runs on the device: no numeric function hands its arrays to the host.

Each function is called with the first arguments of a list that NumPy takes, as device arrays; the counter of
arrays that host code got must not move. tools/names_table.py says which names are for the host, and why.
"""

import copy
import warnings

import asnumpy
import names_table
import numpy as np
import pytest

rng = np.random.default_rng(0)
A, V, S, I = rng.random((40, 50)), rng.random(2000), rng.random((20, 20)), rng.integers(0, 30, 2000)
P, M, J = S @ S.T + np.eye(20), A > 0.5, rng.integers(0, 40, (40, 2))
C3 = rng.random((30, 3))
ARGUMENTS = [
    (A,), (V,), (P,), (I,), (A, 0), (A, 1), (V, 2), (V, [3, 5]), (A, A), (V, V), (I, I), (A, A, A), (V, V, V),
    ([A, A],), ([V, V],), (M, A), (M, A, A), (V, I), (I, V), (A, M), (A, (50, 40)), (V, 50), (A, 1, 0), (A, 0.5),
    (V, 3, 0), ((40, 50),), (20,), (A, M, 1.0), (np.arange(2000.0), V), (V, np.sort(V), V), (V, V, 2), (V, 0, 1),
    (np.sort(V), V), (I, (40, 50)), ((I, I), (40, 50)), ([M, ~M], [A, A]), (A, (0, 1), (1, 0)), (3, 4),
    (0.0, 1.0, 50), ("ij,jk->ik", S, S), (A, [1, 2], 1.0, 0), (A, 3, 1.0), (V > 0.5, V), (A, (1, 40, 50)),
    (np.packbits(M),), (V, [-1, 1]), (S, 2), (A, J, 1), (A, J, 0.0, 1), (A, np.float32), (C3, C3), (P, P),
    (rng.random((4, 5, 6)), 2), (rng.random((6, 4, 6, 4)),), (P, V[:20]), (A, "f4"), (A, 40), (S, S),
]  # fmt: skip


SMALL = {"roots": [(V[:60],)]}  # cubic in the number of elements


def on_device(x):
    if isinstance(x, np.ndarray):
        return asnumpy.array(x)
    return type(x)(map(on_device, x)) if isinstance(x, (list, tuple)) else x


def functions():
    for name, where, _ in names_table.rows():
        prefix, _, short = name.rpartition(".")
        if where not in ("compiled", "composed") or prefix not in ("", "linalg", "fft"):
            continue
        module = asnumpy if not prefix else getattr(asnumpy, prefix)
        theirs = getattr(np if not prefix else getattr(np, prefix), short, None)
        if callable(theirs) and not isinstance(theirs, type):
            yield name, getattr(module, short), theirs


@pytest.mark.parametrize(
    ("name", "ours", "theirs"), functions(), ids=lambda x: x if isinstance(x, str) else ""
)
@pytest.mark.filterwarnings("ignore")
def test_stays_on_the_device(name, ours, theirs):
    for arguments in SMALL.get(name, ARGUMENTS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                theirs(*copy.deepcopy(arguments))
            except Exception:  # noqa: BLE001, S112 - not arguments of this function
                continue
            ours(*on_device(arguments))  # what is made once
            given = on_device(arguments)
            asnumpy.synchronize()
            before = asnumpy.engine_stats()["host_reads"]
            ours(*given)
        assert asnumpy.engine_stats()["host_reads"] == before, arguments
        return
    pytest.fail("no arguments in the list are this function's")


def test_every_name_has_a_place():
    places = {}
    for name, where, why in names_table.rows():
        assert where in ("compiled", "composed", "facts", "host", "NumPy's", "constant")
        assert (where == "host") == bool(why)
        places.setdefault(where, []).append(name)
    assert len(places["compiled"]) > 320 and len(places["composed"]) > 200
    known = set(names_table.HOST)
    listed = {name for name, where, _ in names_table.rows() if where == "host"}
    assert known <= listed, known - listed
