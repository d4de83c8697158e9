"""A captured graph: a network's launches are recorded once and replayed with new inputs, without Python in between.

python npu_graph.py [--layers 8] [--width 256] [--runs 100]
"""

import argparse
import time

import torch
import torch.nn as nn
import torch_npu  # noqa: F401


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--runs", type=int, default=100)
    options = parser.parse_args()

    torch.manual_seed(0)
    layers = []
    for _ in range(options.layers):
        layers += [nn.Linear(options.width, options.width), nn.LayerNorm(options.width), nn.GELU()]
    model = nn.Sequential(*layers).npu().eval()
    held = torch.randn(options.batch, options.width, device="npu")
    with torch.no_grad():
        model(held)  # buffers that a first call makes are no part of the graph
        torch.npu.synchronize()
        graph = torch.npu.NPUGraph()
        with torch.npu.graph(graph):
            out = model(held)

        for _ in range(3):
            x = torch.randn(options.batch, options.width, device="npu")
            held.copy_(x)
            graph.replay()
            torch.testing.assert_close(out, model(x), rtol=1e-5, atol=1e-5)
        print("replays equal calls")

        def milliseconds(call):
            torch.npu.synchronize()
            start = time.perf_counter()
            for _ in range(options.runs):
                call()
            torch.npu.synchronize()
            return 1e3 * (time.perf_counter() - start) / options.runs

        print(
            f"call {milliseconds(lambda: model(held)):.3f} ms, replay {milliseconds(graph.replay):.3f} ms"
        )


if __name__ == "__main__":
    main()
