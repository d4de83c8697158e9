"""
Game of life
============

Conway's rules on a board whose edges are joined: the neighbours are counted with eight rolled
copies of the board. ``np.roll`` copies nothing by itself: the sums read the rolled parts where they
are.
"""

import asnumpy as np
import matplotlib.pyplot as plt

size = 160
steps = 120

board = np.random.default_rng(7).random((size, size)) < 0.25
first = board.copy()
age = np.zeros(board.shape, dtype=np.int32)
around = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx]

for _ in range(steps):
    cells = board.view(np.uint8)
    count = sum(np.roll(cells, shift, axis=(0, 1)) for shift in around)
    board = (count == 3) | (board & (count == 2))
    age = np.where(board, age + 1, 0)

# %%
# Bright cells have lived for long: still lifes.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4.6))
left.imshow(first, cmap="gray_r")
left.set_title("the first board")
right.imshow(np.minimum(age, 40), cmap="inferno")
right.set_title(f"ages after {steps} steps")
for axes in (left, right):
    axes.axis("off")
fig.tight_layout()
plt.show()
