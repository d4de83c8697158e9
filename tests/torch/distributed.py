"""One process of a program on several NPUs: collectives, a sub-group, messages, and training with
DistributedDataParallel, sharded parameters (FSDP2) and layers split over devices. Started once for each rank by test_distributed.py, with torch.distributed's
environment variables (MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE)."""

import os

import torch
import torch.distributed as dist
import torch_npu  # noqa: F401
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.npu.set_device(rank)
dist.init_process_group("hccl")
device = torch.device("npu", rank)
same = torch.testing.assert_close

x = torch.arange(5, dtype=torch.float32, device=device) + rank
for dtype in (torch.float32, torch.bfloat16, torch.int64):
    y = x.to(dtype, copy=True)
    dist.all_reduce(y)
    same(y.cpu(), (torch.arange(5) * size + size * (size - 1) // 2).to(dtype))
parts = [torch.empty_like(x) for _ in range(size)]
dist.all_gather(parts, x)
same(torch.stack(parts).cpu(), torch.arange(5.0) + torch.arange(float(size))[:, None])
mine = torch.empty(3, device=device)
dist.reduce_scatter(mine, list(torch.ones(size, 3, device=device).unbind()))
same(mine.cpu(), torch.full((3,), float(size)))
swapped = torch.empty(size, device=device)
dist.all_to_all_single(swapped, torch.arange(float(size), device=device) + 10 * rank)
same(swapped.cpu(), torch.arange(size) * 10.0 + rank)
root = torch.full((2, 2), float(rank), device=device)
dist.broadcast(root, size - 1)
same(root.cpu(), torch.full((2, 2), size - 1.0))
if rank == 0:
    dist.send(x * 2, size - 1)
if rank == size - 1:
    got = torch.empty_like(x)
    dist.recv(got, 0)
    same(got.cpu(), torch.arange(5.0) * 2)
group = dist.new_group([0])
if rank == 0:
    one = torch.ones(1, device=device)
    dist.all_reduce(one, group=group)
    assert one.item() == 1
objects = [None] * size
dist.all_gather_object(objects, {"rank": rank})
assert [o["rank"] for o in objects] == list(range(size))


def losses(model, data, target, steps=5):
    """Trains on the rows given; returns each step's loss."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    told = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(data), target)
        loss.backward()
        optimizer.step()
        told.append(loss.detach())
    return torch.stack(told)


def network(where):
    """The same weights in every process."""
    torch.manual_seed(0)
    layers = torch.nn.Linear(8, 12), torch.nn.Tanh(), torch.nn.Linear(12, 2)
    return torch.nn.Sequential(*layers).to(where)


torch.manual_seed(1)
data, target = torch.randn(4 * size, 8), torch.randn(4 * size, 2)
alone = losses(network("cpu"), data, target)
own = slice(4 * rank, 4 * rank + 4)
mine = data[own].to(device), target[own].to(device)

model = torch.nn.parallel.DistributedDataParallel(network(device))
mean = losses(model, *mine)
dist.all_reduce(mean)
same(mean.cpu() / size, alone, rtol=1e-5, atol=1e-6)

mesh = init_device_mesh("npu", (size,))
model = network(device)
for layer in (model[0], model[2], model):
    fully_shard(layer, mesh=mesh)
mean = losses(model, *mine)
dist.all_reduce(mean)
same(mean.cpu() / size, alone, rtol=1e-5, atol=1e-6)

plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
model = parallelize_module(network(device), mesh, plan)
split = losses(model, data.to(device), target.to(device))
same(split.cpu(), alone, rtol=1e-5, atol=1e-6)

dist.barrier()
dist.destroy_process_group()
print("rank", rank, "done")
