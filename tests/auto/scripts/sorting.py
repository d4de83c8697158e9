"""Orders: sorts, partitions, searches, ranks."""

import numpy as np

rng = np.random.default_rng(11)
a = rng.integers(0, 100, 20)
print(a, np.sort(a), np.argsort(a, kind="stable"))
b = a.copy()
b.sort()
print(b is not a, b[:5], np.searchsorted(b, [10, 50, 90]), np.searchsorted(b, 50, side="right"))
print(np.partition(a, 5)[5], np.argpartition(a, -1)[-1], np.median(a))
table = np.column_stack([rng.integers(0, 3, 8), rng.integers(0, 10, 8)])
print(table[np.lexsort((table[:, 1], table[:, 0]))])
rank = np.empty_like(a)
rank[np.argsort(a, kind="stable")] = np.arange(a.size)
print(rank, np.percentile(a, [25, 50, 75]), np.quantile(a, 0.9, method="lower"))
m = rng.integers(0, 10, (3, 4))
print(m, np.sort(m, axis=0), m.argmax(axis=1), np.unravel_index(m.argmax(), m.shape))
print(np.take_along_axis(m, np.argsort(m, axis=1), axis=1), np.flip(m, 1)[0])
print(np.unique(m, axis=0).shape, np.digitize([0.5, 2.5], [0, 1, 2, 3]), np.histogram(a, bins=5))
rng.shuffle(a)
print(a, rng.permutation(5), np.setdiff1d(a, b[:10]), np.intersect1d([1, 2, 3], [2, 3, 4]))
