"""torch.distributed with the backend hccl, a process for each device."""

import concurrent.futures
import pathlib
import socket

import pytest
from conftest import start

HERE = pathlib.Path(__file__).parent


def together(program, size, **variables):
    """The program once for each rank."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        meet = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    meet |= {"WORLD_SIZE": str(size)} | variables
    with concurrent.futures.ThreadPoolExecutor(size) as pool:
        ranks = [
            pool.submit(start, HERE / program, devices=size, RANK=str(rank), **meet)
            for rank in range(size)
        ]
    for rank, process in enumerate(r.result() for r in ranks):
        assert process.returncode == 0, f"rank {rank}:\n{process.stdout}\n{process.stderr}"
        assert f"rank {rank} done" in process.stdout


@pytest.mark.parametrize(("size", "transport"), [
    pytest.param(2, "", marks=pytest.mark.smoke), (3, ""), (4, ""), (2, "tcp"),
])  # fmt: skip
def test_distributed(size, transport):
    together("distributed.py", size, ASNUMPY_HCCL_TRANSPORT=transport)


@pytest.mark.parametrize("size", [2, 4])
def test_products_joined_with_communication(size):
    together("joined.py", size)
