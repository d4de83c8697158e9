"""One process of a program whose products are joined with communication: torch_npu's functions for them against the same in
float64 on the host. Started once for each rank by test_distributed.py, with torch.distributed's environment variables."""

import os

import torch
import torch.distributed as dist
import torch_npu
from torch.distributed.distributed_c10d import _get_default_group

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.npu.set_device(rank)
dist.init_process_group("hccl")
device = torch.device("npu", rank)
dist.barrier()
name = _get_default_group()._get_backend(device).get_hccl_comm_name(rank)
made = torch.Generator().manual_seed(3)  # the same numbers in every process


def ints(*shape, dtype=torch.float64):
    """Small enough that every sum is exact in every dtype."""
    return torch.randint(-3, 4, shape, generator=made).to(dtype)


def check(got, want):
    torch.testing.assert_close(got.cpu().double(), want.double(), rtol=0, atol=0)


for dtype in (torch.float16, torch.bfloat16):
    xs, ws = [ints(8, 16) for _ in range(size)], [ints(16, 12) for _ in range(size)]
    bias, x3 = ints(12), ints(8, 12)
    products = [x @ w for x, w in zip(xs, ws, strict=True)]
    x, w, b, plus = (t.to(device, dtype) for t in (xs[rank], ws[rank], bias, x3))
    check(torch_npu.npu_mm_all_reduce_base(x, w, name), sum(products))
    check(torch_npu.npu_mm_all_reduce_base(x, w.t().contiguous().t(), name, bias=b, x3=plus),
          sum(p + bias + x3 for p in products))  # fmt: skip
    y, gathered = torch_npu.npu_all_gather_base_mm(x, w, name, size)
    check(gathered, torch.cat(xs))
    check(y, torch.cat(xs) @ ws[rank])
    y, _ = torch_npu.npu_all_gather_base_mm(x, w, name, size, gather_output=False)
    check(y, torch.cat(xs) @ ws[rank])
    check(torch_npu.npu_mm_reduce_scatter_base(x, w, name, size), sum(products).chunk(size)[rank])

    q, v = [ints(8, 16) for _ in range(size)], ints(16, 12)
    scale = torch.full((12,), 0.5, dtype=torch.bfloat16, device=device)
    tokens = torch.full((8,), 2.0, device=device)
    y = torch_npu.npu_mm_all_reduce_base(q[rank].to(device, torch.int8), v.to(device, torch.int8), name,
                                         dequant_scale=scale, pertoken_scale=tokens)  # fmt: skip
    check(y, sum(a @ v for a in q))
    anti = torch.full((12,), 0.5, dtype=dtype, device=device)
    y = torch_npu.npu_mm_all_reduce_base(x, v.to(device, torch.int8), name, antiquant_scale=anti)
    check(y, sum(a @ v for a in xs) / 2)

    # Experts: two on each rank; one token from each rank to each expert, and back.
    weights = [ints(2, 16, 12) for _ in range(size)]
    sent = [ints(2 * size, 16) for _ in range(size)]
    counts, weight = [1] * (2 * size), weights[rank].to(device, dtype)
    y, _, permuted = torch_npu.npu_alltoallv_gmm(sent[rank].to(device, dtype), weight, name, size, counts, counts,
                                                 permute_out_flag=True)  # fmt: skip
    comes = torch.stack([sent[r][2 * rank + j] for j in range(2) for r in range(size)])
    check(permuted, comes)
    check(y, torch.cat([comes[:size] @ weights[rank][0], comes[size:] @ weights[rank][1]]))
    back, _ = torch_npu.npu_gmm_alltoallv(permuted, weight, name, size, counts, counts)
    check(back, torch.stack([sent[rank][i] @ weights[i // 2][i % 2] for i in range(2 * size)]))

    ids = torch.stack([torch.randperm(2 * size, generator=made)[:2] for _ in range(4)]).int()
    rows = ints(4, 16)
    out = torch_npu.npu_moe_distribute_dispatch(rows.to(device, dtype), ids.to(device), name, size, rank, 2 * size,
                                                global_bs=4 * size)  # fmt: skip
    half = torch.full((4, 2), 0.5, device=device)
    y = torch_npu.npu_moe_distribute_combine(out[0], ids.to(device), out[2], out[4], half, name, size, rank, 2 * size,
                                             tp_send_counts=out[5], global_bs=4 * size)  # fmt: skip
    check(y, rows)

dist.barrier()
dist.destroy_process_group()
print("rank", rank, "done")
