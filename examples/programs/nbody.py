"""Gravity between all pairs of bodies, leapfrog steps, energy at the end."""

SIZE, SMALL = (800, 10), (30, 4)


def make(rng, size):
    n, _ = size
    return {"position": rng.standard_normal((n, 3)), "velocity": rng.standard_normal((n, 3)) * 0.1,
            "mass": rng.random((n, 1)) / n}  # fmt: skip


def acceleration(np, position, mass, softening=0.1):
    x, y, z = position[:, 0:1], position[:, 1:2], position[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    inverse = (dx**2 + dy**2 + dz**2 + softening**2) ** -1.5
    return np.hstack([(dx * inverse) @ mass, (dy * inverse) @ mass, (dz * inverse) @ mass])


def energy(np, position, velocity, mass, softening=0.1):
    kinetic = 0.5 * np.sum(mass * velocity**2)
    delta = position[:, None, :] - position[None, :, :]
    distance = np.sqrt(np.sum(delta**2, axis=-1) + softening**2)
    potential = -np.sum(np.triu(mass @ mass.T / distance, 1))
    return kinetic + potential


def run(np, size, position, velocity, mass, step=0.01):
    _, steps = size
    position, velocity = position.copy(), velocity.copy()
    force = acceleration(np, position, mass)
    for _ in range(steps):
        velocity += force * (step / 2)
        position += velocity * step
        force = acceleration(np, position, mass)
        velocity += force * (step / 2)
    return position, float(energy(np, position, velocity, mass))
