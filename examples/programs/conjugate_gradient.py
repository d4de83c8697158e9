"""Conjugate gradients: Poisson's equation on a grid without a matrix, then a dense symmetric system."""

SIZE, SMALL = (256, 300, 600), (20, 30, 30)


def make(rng, size):
    n, _, dense = size
    a = rng.standard_normal((dense, dense))
    return {"source": rng.standard_normal((n, n)), "matrix": a @ a.T / dense + 2 * _eye(dense),
            "right": rng.standard_normal(dense)}  # fmt: skip


def _eye(n):
    import numpy

    return numpy.eye(n)


def laplacian(np, u):
    result = 4 * u
    result[1:] -= u[:-1]
    result[:-1] -= u[1:]
    result[:, 1:] -= u[:, :-1]
    result[:, :-1] -= u[:, 1:]
    return result


def solve(np, apply, b, iterations, tolerance=1e-10):
    x = np.zeros_like(b)
    r = b.copy()
    p = r.copy()
    rr = np.vdot(r, r)
    for _ in range(iterations):
        ap = apply(p)
        alpha = rr / np.vdot(p, ap)
        x += alpha * p
        r -= alpha * ap
        new = np.vdot(r, r)
        if np.sqrt(new) < tolerance:
            break
        p = r + (new / rr) * p
        rr = new
    return x, float(np.linalg.norm(b - apply(x)))


def run(np, size, source, matrix, right):
    _, iterations, _ = size
    field, residual = solve(np, lambda u: laplacian(np, u), source, iterations)
    x, dense_residual = solve(np, lambda v: matrix @ v, right, iterations)
    return field, x, residual, dense_residual < 1e-8
