"""Conway's game of life on a torus, the neighbours counted by rolls, and on a bounded board by slices."""

SIZE, SMALL = (512, 60), (24, 8)


def make(rng, size):
    return {"board": rng.random((size[0], size[0])) < 0.3}


def step_torus(np, alive):
    count = sum(
        np.roll(alive, (dy, dx), axis=(0, 1)).astype(np.int8)
        for dy in (-1, 0, 1)
        for dx in (-1, 0, 1)
        if dy or dx
    )
    return (count == 3) | (alive & (count == 2))


def step_bounded(np, alive):
    count = np.zeros(alive.shape, dtype=np.uint8)
    cells = alive.view(np.uint8)
    count[1:] += cells[:-1]
    count[:-1] += cells[1:]
    count[:, 1:] += cells[:, :-1]
    count[:, :-1] += cells[:, 1:]
    count[1:, 1:] += cells[:-1, :-1]
    count[1:, :-1] += cells[:-1, 1:]
    count[:-1, 1:] += cells[1:, :-1]
    count[:-1, :-1] += cells[1:, 1:]
    return np.logical_or(count == 3, np.logical_and(alive, count == 2))


def run(np, size, board):
    torus = bounded = board
    population = np.zeros(size[1], dtype=np.int64)
    for t in range(size[1]):
        torus = step_torus(np, torus)
        bounded = step_bounded(np, bounded)
        population[t] = torus.sum()
    return torus, bounded, population
