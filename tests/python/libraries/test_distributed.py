"""Dask's workers in processes of their own: shares of threads and memory, spilling, a worker that dies."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("dask.array")
pytest.importorskip("distributed")

PROGRAM = """
import os
import signal
import sys

import asnumpy
import dask
import dask.array as da
import numpy
from distributed import Client, LocalCluster


def threads(_):
    return os.environ["ASNUMPY_NUM_THREADS"]


def spilled(dask_worker):
    return len(dask_worker.data.slow)


def slowly(block):
    import time

    time.sleep(0.2)
    return block * 2 + 1


if __name__ == "__main__":
    options = dict(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit="450MB")
    dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"})
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        host = numpy.random.default_rng(0).random((400, 500))
        x = da.from_array(asnumpy.asarray(host), chunks=(50, 500))
        got = (da.exp(-x) + x.sum(axis=1, keepdims=True)).compute()
        assert type(got) is asnumpy.ndarray
        expected = numpy.exp(-host) + host.sum(axis=1, keepdims=True)
        numpy.testing.assert_allclose(numpy.asarray(got), expected, rtol=1e-12)
        assert set(client.gather(client.map(threads, range(4)))) == {"1"}
        print("computed", flush=True)

        with dask.config.set({"array.backend": "asnumpy"}):  # twice what the workers may hold
            big = da.random.default_rng(1).random((15000, 15000), chunks=(250, 15000)).persist()
        mean = float(((big * 2 + 1) ** 2).mean().compute())
        assert abs(mean - 13 / 3) < 1e-3, mean
        assert any(client.run(spilled).values())
        del big
        print("spilled", flush=True)

        result = client.compute(x.map_blocks(slowly, dtype=float).sum())
        first = next(iter(client.run(os.getpid).values()))
        os.kill(first, signal.SIGKILL)
        numpy.testing.assert_allclose(float(result.result(timeout=60)), (host * 2 + 1).sum())
        print("survived", flush=True)
"""

DEVICES = """
import os
import time

import asnumpy
import dask.array as da
from distributed import Client, LocalCluster


def device(_):
    return str(asnumpy.get_device())


def ones_of(block):
    assert block.device == asnumpy.zeros(1).device
    return block + 1


if __name__ == "__main__":
    options = dict(n_workers=4, threads_per_worker=1, dashboard_address=None)
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        x = da.from_array(asnumpy.zeros((40, 10)), chunks=(5, 10))
        assert (x.map_blocks(ones_of, dtype=float).sum() + x.sum()).compute() == 400
        print(*sorted(client.run(device, 0).values()))
        workers = sorted(client.run(device, 0))
        client.run(os._exit, 1, workers=workers[:1], on_error="ignore")
        while workers[0] in client.scheduler_info(n_workers=-1)["workers"]:
            time.sleep(0.05)
        client.wait_for_workers(4)
        assert (x.map_blocks(ones_of, dtype=float).sum() + x.sum()).compute() == 400
        client.run(asnumpy.zeros, 1)
        print(*sorted(client.run(device, 0).values()))
"""


@pytest.mark.skipif(
    os.environ.get("ASNUMPY_DEVICE") == "ascend", reason="processes that share an NPU's place"
)
def test_workers(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=240, cwd=tmp_path
    )
    assert done.stdout.split() == ["computed", "spilled", "survived"], done.stdout + done.stderr
    assert done.returncode == 0


@pytest.mark.skipif(
    os.environ.get("ASNUMPY_DEVICE") == "ascend",
    reason="the number of devices is the CPU's setting",
)
def test_each_worker_has_a_device(tmp_path):
    """Also one that came in a dead one's place."""
    path = tmp_path / "program.py"
    path.write_text(DEVICES)
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=120, cwd=tmp_path,
        env={**os.environ, "ASNUMPY_CPU_DEVICES": "4", "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout.splitlines() == ["0 1 2 3", "0 1 2 3"], done.stdout + done.stderr
