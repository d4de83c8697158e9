"""Principal components by the covariance matrix: scores, components, and the data rebuilt from a few of them."""

SIZE, SMALL = (40_000, 60, 8), (200, 6, 2)


def make(rng, size):
    n, features, components = size
    hidden = rng.standard_normal((n, components)) * (2.0 ** -rng.random(components)) * 5
    return {
        "data": hidden @ rng.standard_normal((components, features))
        + rng.standard_normal((n, features))
    }


def fit(np, data, components):
    mean = data.mean(axis=0)
    centred = data - mean
    covariance = centred.T @ centred / (len(data) - 1)
    variance, vectors = np.linalg.eigh(covariance)
    order = np.argsort(variance)[::-1][:components]
    vectors = vectors[:, order]
    # The sign of an eigenvector is free: the largest entry of each is made positive.
    largest = np.argmax(np.abs(vectors), axis=0)
    vectors = vectors * np.sign(vectors[largest, np.arange(components)])
    return mean, variance[order], vectors


def run(np, size, data):
    components = size[2]
    mean, variance, vectors = fit(np, data, components)
    scores = (data - mean) @ vectors
    rebuilt = scores @ vectors.T + mean
    lost = ((data - rebuilt) ** 2).mean()
    whitened = scores / np.sqrt(variance)
    return variance, scores, np.corrcoef(whitened, rowvar=False), float(lost)
