"""Products joined with communication: a rank alone, and groups of processes (joined.py)."""

import concurrent.futures
import os
import pathlib
import subprocess
import sys

import group
import joined
import numpy as np
import pytest
from aclnn import AclError, run

PROGRAM = pathlib.Path(__file__).with_name("joined.py")


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), joined.BF16, np.dtype(np.float32)])
@pytest.mark.parametrize("check", joined.CHECKS)
def test_alone(check, dtype):
    if check is joined.check_quantised and dtype == np.float32:
        dtype = np.dtype(np.float16)
    check(group.alone(), 1, 0, dtype)


def ranks(tmp_path, size, what, **env):
    """The processes of a group, ended."""
    variables = {k: v for k, v in os.environ.items() if k != "ASNUMPY_RECORD"}
    variables |= {"HCCL_EXEC_TIMEOUT": "20"} | env
    arguments = [sys.executable, str(PROGRAM), str(tmp_path / "root"), str(size)]

    def one(rank):
        return subprocess.run([*arguments, str(rank), what], capture_output=True, text=True, check=False,
                              timeout=100, env=variables)  # fmt: skip

    with concurrent.futures.ThreadPoolExecutor(size) as pool:
        return list(pool.map(one, range(size)))


@pytest.mark.parametrize(
    ("size", "env"), [(2, {}), (4, {}), (2, {"ASNUMPY_HCCL_TRANSPORT": "tcp"})]
)
def test_ranks(tmp_path, size, env):
    for rank, process in enumerate(ranks(tmp_path, size, "all", **env)):
        assert process.returncode == 0, f"rank {rank}:\n{process.stdout}\n{process.stderr}"
        assert f"rank {rank} done" in process.stdout


def test_a_rank_ends(tmp_path):
    for rank, process in enumerate(ranks(tmp_path, 2, "leave")):
        assert process.returncode == 0, f"rank {rank}:\n{process.stdout}\n{process.stderr}"
        assert f"rank {rank} done" in process.stdout


def test_devices(tmp_path):
    env = {k: v for k, v in os.environ.items() if k != "ASNUMPY_RECORD"} | {
        "ASNUMPY_CPU_DEVICES": "2"
    }
    process = subprocess.run([sys.executable, str(PROGRAM), str(tmp_path), "2", "0", "devices"], capture_output=True,
                             text=True, check=False, timeout=100, env=env)  # fmt: skip
    assert process.returncode == 0, process.stderr


def test_refused():
    name = group.alone()
    x, w, out = (np.ones(s, np.float16) for s in ((4, 6), (6, 8), (4, 8)))
    good = [x, w, None, name, "sum", 0, 1, out]
    run("MatmulAllReduce", *good)
    for i, bad, said in (
        (3, "nobody", "nobody"), (4, "max", '"sum"'), (5, 2, "commTurn"), (6, 0, "streamMode"),
        (7, out[:3], "output"), (1, w[:5], "multiply"), (0, x.astype(np.float32), "floating"),
        (2, np.ones(7, np.float16), "bias"), (0, x[0], "dimensions"),
    ):  # fmt: skip
        with pytest.raises(AclError, match="161002") as e:
            run("MatmulAllReduce", *[bad if k == i else a for k, a in enumerate(good)])
        assert said in e.value.message
    q, v = x.astype(np.int8), w.astype(np.int8)
    scale, rows = np.ones(8, np.float32), np.ones(4, np.float32)
    tail = (name, "sum", 0, 1, out)
    one = np.ones(8, np.float16)
    for bad in ((q, v, None, None, scale[:3], None, None, None), (q, v, None, out[:2], scale, None, None, None),
                (q, v, None, None, scale, rows[:2], None, None), (q, v, None, None, scale, rows, one, None),
                (q, v, None, None, scale, None, one[:3], one), (x, w, None, None, scale, None, None, None)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("QuantMatmulAllReduceV3", *bad, *tail)
    good = [q, v, None, rows, scale, *(None,) * 4, name, 3, 2, 0, -1, 0, False, False, out]
    run("QuantMatmulAlltoAll", *good)
    for i, bad in ((5, rows), (6, rows), (8, [0, 1]), (10, 7), (11, 6), (12, 1), (14, 1), (15, True), (3, rows[:2]),
                   (4, scale[:3]), (0, x), (17, out[:, :4])):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("QuantMatmulAlltoAll", *[bad if k == i else a for k, a in enumerate(good)])
    for i in (3, 4):
        with pytest.raises(AclError, match="161001"):
            run("QuantMatmulAlltoAll", *[None if k == i else a for k, a in enumerate(good)])
    with pytest.raises(AclError, match="worldSize is 2; the group has 1 ranks"):
        run("DistributeBarrier", x, name, 2)
    for given in ((rows.astype(np.int32), None), (None, rows.astype(np.int32))):
        with pytest.raises(AclError, match="161002.*not supported"):
            run("DistributeBarrierV2", x, *given, name, 1)
    with pytest.raises(AclError, match="gatherIndex is 1"):
        run("AllGatherMatmul", x, w, None, name, 1, 0, 1, out, None)
    with pytest.raises(AclError, match="none of x2"):
        run("AllGatherMatmulV2", x, w, None, rows, None, None, 0, name, 0, 0, 1, 0, "aiv", out, None, None)  # fmt: skip
    with pytest.raises(AclError, match="alltoAllAxes"):
        run("AlltoAllMatmul", x, w, None, [0, 1], name, False, False, out, None)
    weight = np.ones((2, 6, 8), np.float16)
    good = [x, weight, None, None, None, None, name, 1, [1, 3], [1, 3], False, False, False, out, None, None]  # fmt: skip
    run("AlltoAllvGroupedMatMul", *good)
    for i, bad in ((7, 2), (8, [1, 2]), (8, [4]), (8, [-1, 5]), (9, [4, 1]), (1, weight[0]), (13, out[:, :3]),
                   (4, x), (14, out)):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("AlltoAllvGroupedMatMul", *[bad if k == i else a for k, a in enumerate(good)])
    with pytest.raises(AclError, match="161001"):
        run("AlltoAllvGroupedMatMul", *good[:12], True, *good[13:])


def test_empty():
    name, tail = group.alone(), ("sum", 0, 1)
    x, w = np.ones((0, 6), np.float16), np.ones((6, 8), np.float16)
    run("MatmulAllReduce", x, w, None, name, *tail, np.ones((0, 8), np.float16))
    out = np.ones((4, 8), np.float16)
    run("MatmulAllReduce", np.ones((4, 0), np.float16), w[:0], w[0] * 3, name, *tail, out)
    np.testing.assert_array_equal(out, 3)
    none = np.ones((0, 8), np.float16)
    run("AlltoAllvGroupedMatMul", x, np.ones((2, 6, 8), np.float16), None, None, None, None, name, 1, [0, 0], [0, 0],
        False, False, False, none, None, None)  # fmt: skip


def test_dispatch_refuses():
    name = group.alone()
    x, ids = np.ones((3, 8), np.float16), np.array([[0, 1], [1, 2], [2, 0]], np.int32)
    out = [
        np.ones((6, 8), np.float16),
        None,
        np.zeros(6, np.int32),
        np.zeros(4, np.int64),
        np.zeros(4, np.int32),
        None,
        None,
    ]
    good = [x, ids, None, None, None, name, 1, 0, 4, None, 0, 0, 0, 1, 0, 0, 3, 1, *out]
    run("MoeDistributeDispatch", *good)
    for i, bad in ((6, 2), (7, 1), (8, 0), (10, 2), (12, 1), (14, 1), (15, 1), (17, 2), (0, x[:2]), (1, ids.astype(np.float32)),
                   (2, np.ones((4, 8), np.float32)), (18, np.ones((6, 8), np.int8)), (18, out[0][:, :4]), (20, out[2][:3]),
                   (21, out[3][:2]), (22, out[4][:2]), (3, np.ones(3, bool)), (5, "nobody")):  # fmt: skip
        with pytest.raises(AclError, match="161002"):
            run("MoeDistributeDispatch", *[bad if k == i else a for k, a in enumerate(good)])
    with pytest.raises(AclError, match="100000.*expertIds"):
        run("MoeDistributeDispatch", *[ids + 3 if k == 1 else a for k, a in enumerate(good)])
    with pytest.raises(AclError, match="100000.*room for 5"):
        run("MoeDistributeDispatch", *[out[0][:5] if k == 18 else a for k, a in enumerate(good)])
    run("MoeDistributeDispatch", *good)  # the group of one rank is as it was
    y = np.ones((3, 8), np.float16)
    good = [out[0], ids, out[2], out[4], np.ones((3, 2), np.float32), None, None, None, None, None, None, name, 1, 0, 4, None,
            0, 0, 0, 1, 0, 3, 0, 0, 0, y]  # fmt: skip
    run("MoeDistributeCombine", *good)
    for i, bad in (
        (4, np.ones((3, 3), np.float32)),
        (25, y[:2]),
        (2, out[2][:2]),
        (21 + 1, 1),
        (7, np.ones(6, np.float32)),
    ):
        with pytest.raises(AclError, match="161002"):
            run("MoeDistributeCombine", *[bad if k == i else a for k, a in enumerate(good)])
    for i, bad in ((2, out[2] + 9), (3, out[4] + 9)):
        with pytest.raises(AclError, match="100000"):
            run("MoeDistributeCombine", *[bad if k == i else a for k, a in enumerate(good)])
