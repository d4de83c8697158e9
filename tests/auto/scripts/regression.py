"""Linear regression three ways, with its statistics."""

import numpy as np
import numpy.linalg as la

rng = np.random.RandomState(0)
n = 120
x = np.column_stack([np.ones(n), rng.uniform(-1, 1, n), rng.normal(size=n)])
beta = np.array([1.5, -2.0, 0.5])
y = x @ beta + rng.normal(scale=0.1, size=n)

normal = la.solve(x.T @ x, x.T @ y)
least, residual, rank, s = la.lstsq(x, y, rcond=None)
pseudo = la.pinv(x) @ y
print(np.round(normal, 8))
print(np.allclose(normal, least), np.allclose(least, pseudo), rank)
fitted = x @ least
r2 = 1 - ((y - fitted) ** 2).sum() / ((y - y.mean()) ** 2).sum()
print("R2 %.6f" % r2, "residual %.6f" % residual[0])
variance = ((y - fitted) ** 2).sum() / (n - 3)
errors = np.sqrt(np.diag(variance * la.inv(x.T @ x)))
for name, b, e in zip(["const", "x1", "x2"], least, errors):
    print(f"{name:>6} {b:9.5f} {e:9.5f} {b / e:10.3f}")
print(np.polyfit(x[:, 1], y, 2).round(6))
print(np.corrcoef(x[:, 1:], rowvar=False).round(6))
