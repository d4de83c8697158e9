"""Decompositions and what they promise."""

import numpy as np

a = np.array([[4.0, 1.0, 2.0], [1.0, 3.0, 0.0], [2.0, 0.0, 5.0]])
b = np.array([1.0, 2.0, 3.0])
x = np.linalg.solve(a, b)
print(x.round(10), np.linalg.det(a).round(8), np.linalg.cond(a).round(8))
l = np.linalg.cholesky(a)
print(l.round(6), np.allclose(l @ l.T, a))
q, r = np.linalg.qr(a)
print(np.abs(r).round(6), np.allclose(q @ r, a))
w, v = np.linalg.eig(a)
print(np.sort(w.real).round(8), np.allclose(a @ v, v * w))
result = np.linalg.svd(a)
print(type(result).__name__, result.S.round(8))
print(np.linalg.slogdet(a).logabsdet.round(10), np.trace(a), np.linalg.norm(a, 1))
print(np.kron(np.eye(2), [[1, 2]]), np.outer(b, b))
print(np.einsum("ij,jk,k->i", a, a, b), np.tensordot(a, a, axes=2))
try:
    np.linalg.inv(np.zeros((2, 2)))
except np.linalg.LinAlgError as error:
    print("LinAlgError:", error)
try:
    a @ np.ones(4)
except ValueError as error:
    print("ValueError:", error)
