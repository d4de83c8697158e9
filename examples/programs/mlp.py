"""A multilayer perceptron in float32: forward, cross-entropy, backward, momentum; mini-batches with shuffling."""

SIZE, SMALL = (4096, 128, 256, 10, 2, 256), (64, 8, 16, 3, 2, 16)


def make(rng, size):
    n, features, hidden, classes, _, _ = size
    x = rng.standard_normal((n, features)).astype("float32")
    labels = (x @ rng.standard_normal((features, classes))).argmax(axis=1)
    return {
        "x": x, "labels": labels,
        "w1": (rng.standard_normal((features, hidden)) * (2 / features) ** 0.5).astype("float32"),
        "w2": (rng.standard_normal((hidden, hidden)) * (2 / hidden) ** 0.5).astype("float32"),
        "w3": (rng.standard_normal((hidden, classes)) * (1 / hidden) ** 0.5).astype("float32"),
    }  # fmt: skip


def softmax(np, z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def forward(np, x, layers):
    kept = [x]
    for w, b in layers[:-1]:
        x = np.maximum(x @ w + b, 0)
        kept.append(x)
    w, b = layers[-1]
    return softmax(np, x @ w + b), kept


def backward(np, delta, kept, layers):
    gradients = []
    for k in reversed(range(len(layers))):
        gradients.append((kept[k].T @ delta, delta.sum(axis=0)))
        if k:
            delta = (delta @ layers[k][0].T) * (kept[k] > 0)
    return gradients[::-1]


def run(np, size, x, labels, w1, w2, w3, rate=0.05, momentum=0.9):
    n, _, _, classes, epochs, batch = size
    layers = [[w.copy(), np.zeros(w.shape[1], dtype=np.float32)] for w in (w1, w2, w3)]
    speeds = [[np.zeros_like(w), np.zeros_like(b)] for w, b in layers]
    order = np.random.default_rng(7)
    losses = []
    for _ in range(epochs):
        shuffled = np.argsort(order.random(n))
        for start in range(0, n, batch):
            rows = shuffled[start : start + batch]
            probability, kept = forward(np, x[rows], layers)
            index = np.arange(len(rows))
            losses.append(-np.log(probability[index, labels[rows]] + 1e-9).mean())
            probability[index, labels[rows]] -= 1
            for layer, speed, gradient in zip(
                layers, speeds, backward(np, probability / len(rows), kept, layers), strict=True
            ):
                for k in range(2):
                    speed[k] = momentum * speed[k] - rate * gradient[k]
                    layer[k] += speed[k]
    probability, _ = forward(np, x, layers)
    accuracy = (probability.argmax(axis=1) == labels).mean()
    return losses[0], losses[-1], bool(accuracy > 0.2)
