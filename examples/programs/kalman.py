"""Kalman filters: one long track in small matrices, then a thousand tracks side by side in batched products."""

SIZE, SMALL = (1500, 1000, 60), (40, 20, 8)


def make(rng, size):
    steps, tracks, short = size
    path = rng.standard_normal((steps, 2)).cumsum(axis=0)
    many = rng.standard_normal((short, tracks, 2)).cumsum(axis=0)
    return {
        "path": path + rng.standard_normal((steps, 2)),
        "many": many + rng.standard_normal(many.shape),
    }


def model(np, dt=0.1):
    f = np.eye(4)
    f[0, 2] = f[1, 3] = dt
    h = np.zeros((2, 4))
    h[0, 0] = h[1, 1] = 1
    return f, h, 0.05 * np.eye(4), np.eye(2)


def track(np, observed):
    f, h, q, r = model(np)
    x, p = np.zeros(4), np.eye(4) * 10
    states = np.empty((len(observed), 4))
    for k in range(len(observed)):
        x = f @ x
        p = f @ p @ f.T + q
        s = h @ p @ h.T + r
        gain = p @ h.T @ np.linalg.inv(s)
        x = x + gain @ (observed[k] - h @ x)
        p = (np.eye(4) - gain @ h) @ p
        states[k] = x
    return states


def track_all(np, observed):
    f, h, q, r = model(np)
    steps, n, _ = observed.shape
    x = np.zeros((n, 4, 1))
    p = np.broadcast_to(np.eye(4) * 10, (n, 4, 4)).copy()
    for k in range(steps):
        x = f @ x
        p = f @ p @ f.T + q
        s = h @ p @ h.T + r
        determinant = s[:, 0, 0] * s[:, 1, 1] - s[:, 0, 1] * s[:, 1, 0]
        inverse = np.stack([np.stack([s[:, 1, 1], -s[:, 0, 1]], axis=-1),
                            np.stack([-s[:, 1, 0], s[:, 0, 0]], axis=-1)], axis=-2)  # fmt: skip
        gain = p @ h.T @ (inverse / determinant[:, None, None])
        x = x + gain @ (observed[k][..., None] - h @ x)
        p = (np.eye(4) - gain @ h) @ p
    return x[..., 0]


def run(np, size, path, many):
    states = track(np, path)
    last = track_all(np, many)
    return states, last, float(np.abs(states - np.roll(states, 1, axis=0)).mean())
