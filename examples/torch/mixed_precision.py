"""Mixed precision: autocast in bfloat16, and in float16 with scaled losses (GradScaler), beside float32.

python mixed_precision.py [--steps 60] [--width 128] [--device npu]
"""

import argparse

import torch
import torch.nn as nn
import torch_npu  # noqa: F401


def train(dtype, options):
    """The first loss and the mean of the last five."""
    torch.manual_seed(0)
    x = torch.randn(256, 32)
    y = (x[:, 0] * x[:, 1] > 0).long()
    width = options.width
    model = nn.Sequential(nn.Linear(32, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, width),
                          nn.GELU(), nn.Linear(width, 2)).to(options.device)  # fmt: skip
    x, y = x.to(options.device), y.to(options.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    # float16 has no gradients below 6e-8: the loss is scaled, the scale follows what overflows.
    scaler = torch.amp.GradScaler(options.device, enabled=dtype == torch.float16)
    losses = []
    for _ in range(options.steps):
        optimizer.zero_grad()
        with torch.autocast(options.device, dtype, enabled=dtype != torch.float32):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses[0], sum(losses[-5:]) / 5


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--device", default="npu")
    options = parser.parse_args()
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        first, last = train(dtype, options)
        print(f"{str(dtype)[6:]}: loss {first:.4f} to {last:.4f}")
        if not last < first / 2:
            raise SystemExit(f"{dtype}: the loss does not fall")


if __name__ == "__main__":
    main()
