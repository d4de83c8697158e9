"""A small network learns XOR by gradient descent."""

import numpy as np


class Layer:
    def __init__(self, rng, inputs, outputs):
        self.w = rng.normal(scale=1.0, size=(inputs, outputs))
        self.b = np.zeros(outputs)

    def forward(self, x):
        self.x = x
        self.y = np.tanh(x @ self.w + self.b)
        return self.y

    def backward(self, grad, rate):
        grad = grad * (1 - self.y**2)
        back = grad @ self.w.T
        self.w -= rate * self.x.T @ grad
        self.b -= rate * grad.sum(axis=0)
        return back


rng = np.random.default_rng(5)
x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
t = np.array([[0], [1], [1], [0]], dtype=float)
layers = [Layer(rng, 2, 8), Layer(rng, 8, 1)]
for epoch in range(2000):
    out = x
    for layer in layers:
        out = layer.forward(out)
    grad = (out - t) / len(x)
    for layer in reversed(layers):
        grad = layer.backward(grad, 0.5)
    if epoch % 500 == 0:
        print(epoch, f"{((out - t) ** 2).mean():.5f}")
print((out > 0.5).astype(int).ravel(), layers[0].w.shape)
print(np.abs(out - t).max() < 0.2)
