"""Spins: Pauli matrices, a Hamiltonian by Kronecker products, time evolution."""

from functools import reduce

import numpy as np
from numpy.linalg import eigh, norm

x = np.array([[0, 1], [1, 0]], dtype=complex)
y = np.array([[0, -1j], [1j, 0]])
z = np.diag([1.0 + 0j, -1.0])
print(x @ y - y @ x == 2j * z, np.trace(z).real)


def at(op, site, n):
    return reduce(np.kron, [op if k == site else np.eye(2) for k in range(n)])


n = 5
h = sum(-at(z, i, n) @ at(z, i + 1, n) for i in range(n - 1)) - 0.7 * sum(
    at(x, i, n) for i in range(n)
)
print(h.shape, np.allclose(h, h.conj().T), h[0, :3])
energy, states = eigh(h)
print(energy[:4].round(9), (energy[1] - energy[0]).round(9))
psi = np.zeros(2**n, dtype=complex)
psi[0] = 1
for t in (0.0, 0.5, 1.0):
    evolved = states @ (np.exp(-1j * energy * t) * (states.conj().T @ psi))
    up = np.vdot(evolved, at(z, 2, n) @ evolved).real
    print(t, round(float(norm(evolved)), 10), f"{up:.8f}")
print(np.abs(evolved[:3]).round(8), np.angle(np.array([1j, -1.0])))
