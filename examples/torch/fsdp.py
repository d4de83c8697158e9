"""FSDP2: each NPU holds a part of every layer's weights, gathered when the layer runs; a checkpoint of the whole is written.

python -m torch.distributed.run --nproc-per-node 2 fsdp.py [--steps 10] [--save model.pt] [--device npu]
"""

import argparse
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch_npu  # noqa: F401
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--save", help="a file for the weights")
    parser.add_argument("--device", default="npu", choices=["npu", "cpu"])
    options = parser.parse_args()

    if options.device == "npu":
        torch.npu.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("hccl" if options.device == "npu" else "gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(options.device, (size,))

    torch.manual_seed(0)
    width = options.width
    layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, options.layers).to(options.device)
    x = torch.randn(4 * size, 16, width)[4 * rank : 4 * rank + 4].to(options.device)
    whole = sum(p.numel() for p in model.parameters())
    for part in model.layers:
        fully_shard(part, mesh=mesh)
    fully_shard(model, mesh=mesh)
    held = sum(p.to_local().numel() for p in model.parameters())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    if rank == 0:
        print(f"{held} of {whole} weights on this NPU", flush=True)
    for step in range(options.steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), torch.zeros_like(x))
        loss.backward()
        optimizer.step()
        mean = loss.detach()
        dist.all_reduce(mean)
        if rank == 0:
            print(f"step {step + 1}: loss {mean.item() / size:.5f}", flush=True)
    if options.save:
        state = {name: value.full_tensor().cpu() for name, value in model.state_dict().items()}
        if rank == 0:
            torch.save(state, options.save)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
