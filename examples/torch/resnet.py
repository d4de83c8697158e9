"""ResNet-50 (He et al., "Deep residual learning for image recognition", 2016): steps of training, then inference.

python resnet.py [--image 224] [--batch 8] [--steps 3] [--device npu]
"""

import argparse
import time

import torch
import torch.nn as nn
import torch_npu  # noqa: F401


class Bottleneck(nn.Module):
    """1 x 1, 3 x 3 and 1 x 1 convolutions beside a shortcut."""

    def __init__(self, channels, width, stride):
        super().__init__()
        out = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out),
        )  # fmt: skip
        self.shortcut = nn.Identity()
        if stride != 1 or channels != out:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out)
            )

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


def resnet50(classes=1000, blocks=(3, 4, 6, 3)):
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
              nn.MaxPool2d(3, 2, 1)]  # fmt: skip
    channels = 64
    for stage, count in enumerate(blocks):
        for block in range(count):
            width = 64 << stage
            layers.append(Bottleneck(channels, width, 2 if block == 0 and stage else 1))
            channels = 4 * width
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--image", type=int, default=224)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--device", default="npu")
    options = parser.parse_args()

    torch.manual_seed(0)
    model = resnet50(options.classes)
    images = torch.randn(options.batch, 3, options.image, options.image).to(options.device)
    labels = torch.randint(0, options.classes, (options.batch,)).to(options.device)
    model = model.to(options.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.1f} million parameters")
    for step in range(options.steps):
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        value = loss.item()
        print(f"step {step + 1}: loss {value:.4f} ({time.perf_counter() - start:.2f} s)")
    model.eval()
    with torch.no_grad():
        start = time.perf_counter()
        classes = model(images).argmax(1).tolist()
        seconds = time.perf_counter() - start
    print(f"classes {classes} ({options.batch / seconds:.1f} images/s)")


if __name__ == "__main__":
    main()
