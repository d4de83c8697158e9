"""Conway's game of life on a torus."""

import numpy as np
from numpy import zeros

PATTERNS = {
    "glider": [(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)],
    "blinker": [(5, 5), (5, 6), (5, 7)],
}


def step(board):
    neighbours = sum(
        np.roll(np.roll(board, i, axis=0), j, axis=1)
        for i in (-1, 0, 1)
        for j in (-1, 0, 1)
        if (i, j) != (0, 0)
    )
    return ((neighbours == 3) | (board & (neighbours == 2))).astype(np.uint8)


def show(board):
    return "\n".join("".join(".#"[c] for c in row) for row in board)


board = zeros((12, 12), dtype=np.uint8)
for cells in PATTERNS.values():
    for r, c in cells:
        board[r, c] = 1
for generation in range(9):
    if generation % 4 == 0:
        print(generation, board.sum())
        print(show(board))
    board = step(board)
rng = np.random.default_rng(7)
soup = (rng.random((64, 64)) < 0.3).astype(np.uint8)
history = []
for _ in range(50):
    soup = step(soup)
    history.append(int(soup.sum()))
print(history)
