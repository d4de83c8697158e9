"""Lloyd's k-means on three clouds of points."""

import numpy as np

np.random.seed(42)
centres = np.array([[0.0, 0.0], [5.0, 5.0], [0.0, 8.0]])
points = np.concatenate([c + np.random.randn(100, 2) for c in centres])
print(points.shape, points.mean(axis=0).round(6))


def kmeans(x, k, rounds=20):
    means = x[np.random.choice(len(x), k, replace=False)]
    for r in range(rounds):
        distance = np.linalg.norm(x[:, None, :] - means[None, :, :], axis=2)
        label = distance.argmin(axis=1)
        new = np.array([x[label == i].mean(axis=0) for i in range(k)])
        if np.allclose(new, means):
            break
        means = new
    return means, label, r


means, label, rounds = kmeans(points, 3)
order = np.lexsort(means.T)
print(rounds)
print(np.round(means[order], 4))
print(np.bincount(label)[order])
inertia = ((points - means[label]) ** 2).sum()
print(f"{inertia:.6f}")
