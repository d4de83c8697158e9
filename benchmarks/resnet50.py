"""ResNet-50 on the device `npu`: what keeping memory and launching from a queue give, before and after.

python benchmarks/resnet50.py [--threads N] [--repeats N]        needs build/torch_npu (make test-torch builds it)

`before` asks the device for every block of memory (PYTORCH_NO_NPU_MEMORY_CACHING=1) and launches from the program's own
thread (TASK_QUEUE_ENABLE=0); `memory kept` keeps what was freed; `after` is torch_npu as it is: memory kept, and a queue.
Random weights (examples/torch/resnet.py), inference. Each row is a process of its own, they take turns, and a figure is
the median over the turns of:

- latency: ms of one image of 224 x 224, from the call until its result lies on the host;
- FPS: images a second in batches of 8;
- allocation: us for the memory of the first convolution's result (3.2 MB), taken and given back;
- dispatch: us of the host for one operator of the pass of one image, until the call returns.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

from gate import HERE
from groups.torch import environment, resnet

WAYS = {
    "before": {"PYTORCH_NO_NPU_MEMORY_CACHING": "1", "TASK_QUEUE_ENABLE": "0"},
    "memory kept": {"TASK_QUEUE_ENABLE": "0"},
    "after": {},
}
COLUMNS = ("latency ms", "FPS", "allocation us", "dispatch us")
PASSES, BATCH, ALLOCATIONS = 9, 8, 500


def seconds(call, before=lambda: None):
    """The median of PASSES calls."""
    times = []
    for _ in range(PASSES):
        before()
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def count_operators(call):
    """How many operators a call dispatches."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Count(TorchDispatchMode):
        calls = 0

        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            Count.calls += 1
            return function(*arguments, **(keywords or {}))

    with Count():
        call()
    return Count.calls


def measure():
    """The columns in this process's environment."""
    import torch
    from asnumpy import acl

    acl.let_timers_slip()
    import torch_npu  # noqa: F401  (registers the device)

    def allocate():
        for _ in range(ALLOCATIONS):
            torch.empty((1, 64, 112, 112), device="npu")

    torch.manual_seed(0)
    model = resnet().eval().to("npu")
    one, many = (torch.randn(n, 3, 224, 224).npu() for n in (1, BATCH))
    with torch.no_grad():
        operators = count_operators(lambda: model(one))
        for images in (one, many):
            model(images).cpu()
        found = {
            "latency ms": 1e3 * seconds(lambda: model(one).cpu()),
            "FPS": BATCH / seconds(lambda: model(many).cpu()),
            "allocation us": 1e6 * seconds(allocate) / ALLOCATIONS,
            "dispatch us": 1e6 * seconds(lambda: model(one), torch.npu.synchronize) / operators,
        }
        torch.npu.synchronize()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure()))
        return
    threads = str(options.threads)
    common = {
        **os.environ, **environment(), "ASNUMPY_NUM_THREADS": threads, "OMP_NUM_THREADS": threads,
    }  # fmt: skip
    command = [sys.executable, HERE / "resnet50.py", "--measure"]
    rows = {way: [] for way in WAYS}
    for _ in range(options.repeats):
        for way, variables in WAYS.items():
            done = subprocess.run(
                command, check=True, stdout=subprocess.PIPE, text=True, env={**common, **variables}
            )
            rows[way].append(json.loads(done.stdout.splitlines()[-1]))
    print(f"| {options.threads} threads | " + " | ".join(COLUMNS) + " |")
    print("| --- |" + " --- |" * len(COLUMNS))
    for way, found in rows.items():
        figures = (f"{statistics.median(r[c] for r in found):.3g}" for c in COLUMNS)
        print(f"| {way} | " + " | ".join(figures) + " |", flush=True)


if __name__ == "__main__":
    main()
