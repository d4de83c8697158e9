"""DistributedDataParallel: a process for each NPU, which average their gradients over HCCL.

python -m torch.distributed.run --nproc-per-node 2 ddp.py [--epochs 5] [--device npu]
"""

import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch_npu  # noqa: F401
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=32, help="rows of each process")
    parser.add_argument("--device", default="npu", choices=["npu", "cpu"])
    options = parser.parse_args()

    rank = int(os.environ["LOCAL_RANK"])
    if options.device == "npu":
        torch.npu.set_device(rank)
        device = torch.device("npu", rank)
        dist.init_process_group("hccl")
    else:
        device = torch.device("cpu")
        dist.init_process_group("gloo")

    torch.manual_seed(0)  # the same rows and weights in every process
    x = torch.randn(options.rows, 20)
    y = torch.sin(x @ torch.randn(20, 1))
    model = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
    model = DistributedDataParallel(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    data = TensorDataset(x, y)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, options.batch, sampler=sampler)
    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        total = torch.zeros(1, device=device)
        for rows, wanted in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(rows.to(device)), wanted.to(device))
            loss.backward()
            optimizer.step()
            total += loss.detach() / len(loader)
        dist.all_reduce(total)
        if dist.get_rank() == 0:
            print(f"epoch {epoch + 1}: loss {total.item() / dist.get_world_size():.5f}", flush=True)
    # The model before the group: where it goes last, PyTorch's gloo may wait for a thread of its own
    # that waits for the interpreter's lock.
    del model
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
