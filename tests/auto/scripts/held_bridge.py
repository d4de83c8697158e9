"""A bridge of bars: forces by a sparse matrix, the lightest bars by an optimiser."""

import numpy as np
from scipy import optimize, sparse
from scipy.sparse.linalg import eigsh, spsolve


def stiffness(nodes, bars, areas):
    n = 2 * len(nodes)
    rows, columns, values = [], [], []
    for (i, j), area in zip(bars, areas):
        d = nodes[j] - nodes[i]
        length = np.hypot(*d)
        c = d / length
        block = np.kron([[1, -1], [-1, 1]], np.outer(c, c)) * area / length
        at = np.r_[2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
        r, k = np.meshgrid(at, at, indexing="ij")
        rows.append(r.ravel())
        columns.append(k.ravel())
        values.append(block.ravel())
    triplets = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return sparse.coo_matrix(triplets, shape=(n, n)).tocsc()


nodes = np.array([(x, y) for x in range(5) for y in (0.0, 1.0)])
bars = np.array([(i, j) for i in range(10) for j in range(i + 1, 10)
                 if 0 < np.linalg.norm(nodes[j] - nodes[i]) < 1.5])  # fmt: skip
fixed = np.array([0, 1, 17])
free = np.setdiff1d(np.arange(20), fixed)
load = np.zeros(20)
load[2 * 4 + 1] = -1.0


def sag(areas):
    K = stiffness(nodes, bars, areas)[free][:, free]
    moved = np.zeros(20)
    moved[free] = spsolve(K, load[free])
    return moved


areas = np.ones(len(bars))
moved = sag(areas)
print(len(bars), "bars;", f"sag {moved.min():.5f} at {moved.argmin()}")
K = stiffness(nodes, bars, areas)
print(K.shape, K.nnz, abs(K - K.T).max() < 1e-12, np.round(K.diagonal()[:4], 4))
values = eigsh(K[free][:, free], k=3, sigma=0, return_eigenvectors=False)
print("softest", np.sort(values).round(6))
lengths = np.array([np.linalg.norm(nodes[j] - nodes[i]) for i, j in bars])
found = optimize.minimize(
    lambda a: lengths @ a, areas, bounds=[(0.2, 3)] * len(bars), method="SLSQP",
    constraints={"type": "ineq", "fun": lambda a: sag(a).min() + 6.0},
)  # fmt: skip
print(found.success, f"weight {lengths.sum():.3f} -> {found.fun:.3f}", type(found.x).__name__)
print((found.x > 0.21).astype(int))
