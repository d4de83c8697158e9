"""A sudoku solved by masks of what may stand where."""

import numpy as np

PUZZLE = "530070000600195000098000060800060003400803001700020006060000280000419005000080079"
grid = np.array(list(PUZZLE), dtype="U1").astype(int).reshape(9, 9)


def allowed(g, r, c):
    used = np.zeros(10, dtype=bool)
    used[g[r]] = used[g[:, c]] = True
    used[g[r // 3 * 3 : r // 3 * 3 + 3, c // 3 * 3 : c // 3 * 3 + 3].ravel()] = True
    return np.flatnonzero(~used[1:]) + 1


def solve(g):
    empty = np.argwhere(g == 0)
    if len(empty) == 0:
        return True
    choices = [allowed(g, r, c) for r, c in empty]
    k = int(np.argmin([c.size for c in choices]))
    r, c = empty[k]
    for value in choices[k]:
        g[r, c] = value
        if solve(g):
            return True
    g[r, c] = 0
    return False


print(np.count_nonzero(grid), solve(grid))
print(grid)
print((np.sort(grid, axis=0) == np.arange(1, 10)[:, None]).all(), grid.sum(axis=1))
blocks = grid.reshape(3, 3, 3, 3).swapaxes(1, 2).reshape(9, 9)
print(np.array_equal(np.sort(blocks), np.tile(np.arange(1, 10), (9, 1))), blocks[4])
