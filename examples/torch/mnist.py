"""A convolutional network learns handwritten digits (scikit-learn's 1,797 images of 8 x 8 pixels).

python mnist.py [--epochs 12] [--device npu]        ends with an error below the accuracy that --target names
"""

import argparse

import torch
import torch.nn as nn
import torch_npu  # noqa: F401
from sklearn.datasets import load_digits


def images():
    """Tensors of training and test images and of their digits."""
    data, digits = load_digits(return_X_y=True)
    x = torch.tensor(data, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
    y = torch.tensor(digits)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    train, test = order[:1400], order[1400:]
    return x[train], y[train], x[test], y[test]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--device", default="npu")
    parser.add_argument("--target", type=float, default=0.97, help="accuracy to be reached")
    options = parser.parse_args()

    torch.manual_seed(0)
    x, y, test_x, test_y = images()
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 16, 128), nn.ReLU(), nn.Linear(128, 10),
    ).to(options.device)  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=options.lr)
    dataset = torch.utils.data.TensorDataset(x, y)
    loader = torch.utils.data.DataLoader(dataset, batch_size=options.batch, shuffle=True)
    test_x, test_y = test_x.to(options.device), test_y.to(options.device)

    accuracy = 0.0
    for epoch in range(options.epochs):
        model.train()
        total = 0.0
        for images_, digits in loader:
            images_, digits = images_.to(options.device), digits.to(options.device)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images_), digits)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(digits)
        model.eval()
        with torch.no_grad():
            accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
        print(f"epoch {epoch + 1}: loss {total / len(x):.4f}, accuracy {accuracy:.4f}")
    if accuracy < options.target:
        raise SystemExit(f"accuracy {accuracy:.4f} is below {options.target}")


if __name__ == "__main__":
    main()
