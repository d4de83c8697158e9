"""The forward pass of a convolutional network: windows by strides, tensordot, pooling, softmax; float32."""

SIZE, SMALL = (32, 28), (2, 12)
CLASSES = 10


def make(rng, size):
    n, edge = size
    normal = lambda *shape: rng.standard_normal(shape).astype("float32")  # noqa: E731
    pooled = (((edge - 2) // 2) - 2) // 2
    return {
        "images": normal(n, 1, edge, edge),
        "w1": normal(8, 1, 3, 3) / 3, "b1": normal(8) / 10,
        "w2": normal(16, 8, 3, 3) / 9, "b2": normal(16) / 10,
        "w3": normal(16 * pooled * pooled, CLASSES) / 10, "b3": normal(CLASSES) / 10,
    }  # fmt: skip


def convolve(np, x, weights, bias):
    windows = np.lib.stride_tricks.sliding_window_view(x, weights.shape[2:], axis=(2, 3))
    result = np.tensordot(windows, weights, axes=((1, 4, 5), (1, 2, 3)))
    return np.moveaxis(result, -1, 1) + bias[:, None, None]


def pool(np, x):
    n, channels, height, width = x.shape
    x = x[:, :, : height // 2 * 2, : width // 2 * 2]
    return x.reshape(n, channels, height // 2, 2, width // 2, 2).max(axis=(3, 5))


def run(np, size, images, w1, b1, w2, b2, w3, b3):
    x = pool(np, np.maximum(convolve(np, images, w1, b1), 0))
    x = pool(np, np.maximum(convolve(np, x, w2, b2), 0))
    scores = x.reshape(len(x), -1) @ w3 + b3
    scores = scores - scores.max(axis=1, keepdims=True)
    chances = np.exp(scores)
    chances /= chances.sum(axis=1, keepdims=True)
    return chances, np.argmax(chances, axis=1), x
