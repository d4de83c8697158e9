"""Gray and Scott's reaction and diffusion of two substances: spots that divide."""

SIZE, SMALL = (300, 250), (20, 20)
DIFFUSION_U, DIFFUSION_V, FEED, KILL = 0.16, 0.08, 0.035, 0.065


def make(rng, size):
    return {"noise": rng.random((size[0], size[0])) * 0.05}


def laplacian(u):
    return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]


def wrap(u):
    u[0, :], u[-1, :] = u[-2, :], u[1, :]
    u[:, 0], u[:, -1] = u[:, -2], u[:, 1]


def run(np, size, noise):
    n, steps = size
    u, v = np.ones((n + 2, n + 2)), np.zeros((n + 2, n + 2))
    middle = slice(n // 2 - n // 10, n // 2 + n // 10)
    u[middle, middle], v[middle, middle] = 0.5, 0.25
    u[1:-1, 1:-1] += noise
    v[1:-1, 1:-1] += noise
    for _ in range(steps):
        inner_u, inner_v = u[1:-1, 1:-1], v[1:-1, 1:-1]
        reaction = inner_u * inner_v**2
        inner_u += DIFFUSION_U * laplacian(u) - reaction + FEED * (1 - inner_u)
        inner_v += DIFFUSION_V * laplacian(v) + reaction - (FEED + KILL) * inner_v
        wrap(u)
        wrap(v)
    return u[1:-1, 1:-1], v[1:-1, 1:-1], float(v.max())
