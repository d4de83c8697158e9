"""Escape times of the Mandelbrot set, twice: complex numbers under a mask, and the whole plane as real parts."""

SIZE, SMALL = (400, 80), (40, 15)


def make(rng, size):
    return {}


def masked(np, c, iterations):
    z = np.zeros_like(c)
    count = np.zeros(c.shape, dtype=np.int32)
    active = np.ones(c.shape, dtype=bool)
    for _ in range(iterations):
        z[active] = z[active] ** 2 + c[active]
        active &= np.abs(z) <= 2
        count[active] += 1
    return count


def whole(np, x, y, iterations):
    a, b = np.zeros_like(x), np.zeros_like(y)
    count = np.zeros(x.shape, dtype=np.int32)
    for _ in range(iterations):
        aa, bb = a * a, b * b
        inside = aa + bb <= 4
        count += inside
        a, b = np.where(inside, aa - bb + x, a), np.where(inside, 2 * a * b + y, b)
    return count


def run(np, size):
    n, iterations = size
    x = np.linspace(-2, 0.5, n)[None, :] + np.zeros((n, 1))
    y = np.linspace(-1.25, 1.25, n)[:, None] + np.zeros((1, n))
    one = masked(np, x + 1j * y, iterations)
    two = whole(np, x, y, iterations)
    return one, two, int(one.sum()), int(two.sum())
