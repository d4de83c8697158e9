"""Shortest paths, components and PageRank on matrices."""

import numpy as np

edges = [(0, 1, 4), (0, 2, 1), (2, 1, 2), (1, 3, 5), (2, 3, 8), (3, 4, 3), (5, 6, 1)]
n = 7
weight = np.full((n, n), np.inf)
np.fill_diagonal(weight, 0)
for a, b, w in edges:
    weight[a, b] = weight[b, a] = w
distance = weight.copy()
for k in range(n):
    distance = np.minimum(distance, distance[:, k, None] + distance[None, k, :])
print(distance)
label = np.arange(n)
reach = np.isfinite(distance)
for i in range(n):
    label[reach[i]] = label[i]
print(label, np.unique(label).size, "components")
adjacency = (np.isfinite(weight) & (weight > 0)).astype(float)
degree = adjacency.sum(axis=1)
print(degree, np.linalg.matrix_rank(np.diag(degree) - adjacency))
rank = np.ones(n) / n
transition = adjacency / degree[:, None]
for _ in range(100):
    rank = 0.15 / n + 0.85 * transition.T @ rank
print(rank.round(6), rank.sum().round(6))
print(np.linalg.matrix_power(adjacency.astype(int), 3)[0])
