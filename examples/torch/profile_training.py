"""torch_npu's profiler around steps of training: a trace for a browser, and tables of operators and kernels.

python profile_training.py [--steps 6] [--folder profile]
"""

import argparse
import pathlib

import torch
import torch.nn as nn
import torch_npu


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--folder", default="profile")
    options = parser.parse_args()

    torch.manual_seed(0)
    width = options.width
    model = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)).npu()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(64, width, device="npu")
    y = torch.randint(0, 10, (64,), device="npu")
    profiler = torch_npu.profiler
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU],
        schedule=profiler.schedule(wait=1, warmup=1, active=options.steps - 2, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(options.folder),
        record_shapes=True,
        profile_memory=True,
    ) as watch:
        for _ in range(options.steps):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            watch.step()
    for file in sorted(pathlib.Path(options.folder).rglob("*")):
        if file.suffix in (".json", ".csv"):
            print(file)


if __name__ == "__main__":
    main()
