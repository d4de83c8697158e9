"""LU with partial pivoting by rank-one updates, triangular solves by rows, the determinant and the inverse."""

SIZE, SMALL = (320,), (12,)


def make(rng, size):
    return {
        "matrix": rng.standard_normal((size[0], size[0])),
        "right": rng.standard_normal(size[0]),
    }


def factor(np, a):
    """Packed L and U of the permuted rows, the permutation, and its sign."""
    a = a.copy()
    n = len(a)
    order, sign = np.arange(n), 1.0
    for k in range(n - 1):
        p = k + int(np.argmax(np.abs(a[k:, k])))
        if p != k:
            a[[k, p]] = a[[p, k]]
            order[[k, p]] = order[[p, k]]
            sign = -sign
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, order, sign


def solve(np, lu, order, b):
    x = b[order].copy()
    n = len(lu)
    for i in range(1, n):
        x[i] -= lu[i, :i] @ x[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - lu[i, i + 1 :] @ x[i + 1 :]) / lu[i, i]
    return x


def run(np, size, matrix, right):
    lu, order, sign = factor(np, matrix)
    x = solve(np, lu, order, right)
    inverse = solve(np, lu, order, np.eye(size[0]))
    log_determinant = np.log(np.abs(np.diagonal(lu))).sum()
    residual = np.linalg.norm(matrix @ x - right) / np.linalg.norm(right)
    return x, inverse, float(log_determinant), float(sign), float(residual) < 1e-9
