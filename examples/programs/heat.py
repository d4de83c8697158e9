"""Heat in a plate, five-point stencil with fixed borders, then Conway's Life on a torus."""

SIZE, SMALL = (512, 100), (40, 12)


def make(rng, size):
    n, _ = size
    return {"plate": rng.random((n, n)) * 100, "world": rng.random((n, n)) < 0.3}


def diffuse(np, plate, steps):
    u = plate.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.2 * (
            u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        )
    return u


def live(np, world, steps):
    cells = world.astype(np.int8)
    for _ in range(steps):
        padded = np.pad(cells, 1, mode="wrap")
        neighbours = sum(
            padded[1 + dy : 1 + dy + cells.shape[0], 1 + dx : 1 + dx + cells.shape[1]]
            for dy in (-1, 0, 1)
            for dx in (-1, 0, 1)
            if (dy, dx) != (0, 0)
        )
        cells = ((neighbours == 3) | ((cells == 1) & (neighbours == 2))).astype(np.int8)
    return cells


def run(np, size, plate, world):
    _, steps = size
    u = diffuse(np, plate, steps)
    cells = live(np, world, steps)
    return u, float(u.mean()), int(cells.sum())
