"""Edit distances, a knapsack and the longest common subsequence: tables filled by loops."""

import numpy as np


def edits(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    table[:, 0] = np.arange(len(a) + 1)
    table[0] = np.arange(len(b) + 1)
    for i, p in enumerate(a, 1):
        for j, q in enumerate(b, 1):
            table[i, j] = min(
                table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (p != q)
            )
    return table


table = edits("kitten", "sitting")
print(table, table[-1, -1], type(table[-1, -1]))
weights, values = np.array([3, 4, 5, 9, 4]), np.array([3, 4, 4, 10, 4])
best = np.zeros(12, dtype=np.int64)
for w, v in zip(weights, values):
    best[w:] = np.maximum(best[w:], best[:-w] + v)
print(best, int(best[-1]))
dna = np.array(list("GATTACAGATTACA"))
other = np.array(list("TACGATATACA"))
grid = dna[:, None] == other[None, :]
print(grid.astype(int).sum(axis=0), grid.shape)
length = np.zeros((dna.size + 1, other.size + 1), np.int16)
for i in range(dna.size):
    for j in range(other.size):
        length[i + 1, j + 1] = (
            length[i, j] + 1 if grid[i, j] else max(length[i, j + 1], length[i + 1, j])
        )
print(length.max(), length.dtype, repr(length[-1]))
