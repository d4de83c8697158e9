"""Lloyd's k-means on points in eight dimensions, distances by the expanded square."""

SIZE, SMALL = (50_000, 8, 16, 10), (400, 3, 4, 5)


def make(rng, size):
    n, dimensions, clusters, _ = size
    centres = rng.standard_normal((clusters, dimensions)) * 4
    labels = rng.integers(0, clusters, n)
    return {"points": centres[labels] + rng.standard_normal((n, dimensions))}


def assign(np, points, centres):
    distance = (points**2).sum(axis=1)[:, None] - 2 * points @ centres.T + (centres**2).sum(axis=1)
    return np.argmin(distance, axis=1), distance


def run(np, size, points):
    n, _, clusters, iterations = size
    centres = points[:: n // clusters][:clusters].copy()
    for _ in range(iterations):
        labels, _ = assign(np, points, centres)
        for k in range(clusters):
            members = points[labels == k]
            if len(members):
                centres[k] = members.mean(axis=0)
    labels, distance = assign(np, points, centres)
    inertia = np.take_along_axis(distance, labels[:, None], axis=1).sum()
    return centres, np.bincount(labels, minlength=clusters), float(inertia)
