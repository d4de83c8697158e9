"""torch.distributed with the backend hccl, a process for each device."""

import concurrent.futures
import pathlib
import socket

import pytest
from conftest import start

PROGRAM = pathlib.Path(__file__).with_name("distributed.py")


@pytest.mark.parametrize(("size", "transport"), [
    pytest.param(2, "", marks=pytest.mark.smoke), (3, ""), (4, ""), (2, "tcp"),
])  # fmt: skip
def test_distributed(size, transport):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        meet = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    meet |= {"WORLD_SIZE": str(size), "ASNUMPY_HCCL_TRANSPORT": transport}
    with concurrent.futures.ThreadPoolExecutor(size) as pool:
        ranks = [
            pool.submit(start, PROGRAM, devices=size, RANK=str(rank), **meet)
            for rank in range(size)
        ]
    for rank, process in enumerate(r.result() for r in ranks):
        assert process.returncode == 0, f"rank {rank}:\n{process.stdout}\n{process.stderr}"
        assert f"rank {rank} done" in process.stdout
