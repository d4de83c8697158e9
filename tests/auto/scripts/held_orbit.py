"""SciPy: orbits of three bodies, a spectrum, a network's shortest ways."""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares, linprog
from scipy.signal import welch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.stats import linregress

masses = np.array([1.0, 1e-3, 1e-4])


def motion(t, state):
    r, v = state.reshape(2, 3, 2)
    apart = r[None] - r[:, None]
    cube = (apart**2).sum(axis=2) ** 1.5
    np.fill_diagonal(cube, 1)
    return np.concatenate(
        [v, (masses[None, :, None] * apart / cube[..., None]).sum(axis=1)]
    ).ravel()


start = np.array([[0, 0], [1, 0], [0, 2.0], [0, 0], [0, 1], [-np.sqrt(0.5), 0]])
orbit = solve_ivp(
    motion, (0, 10), start.ravel(), rtol=1e-9, atol=1e-9, t_eval=np.linspace(0, 10, 5)
)
print(orbit.status, orbit.y[2:6, -1].round(5), orbit.y.shape)
noise = np.random.default_rng(6).normal(size=2048)
frequency, power = welch(np.sin(0.4 * np.pi * np.arange(2048)) + noise, nperseg=256)
print(frequency[power.argmax()], power[:3].round(6))
fit = least_squares(lambda p, x, y: p[0] * np.tanh(p[1] * x) - y, [1.0, 1.0],
                    args=(np.arange(5.0), 2 * np.tanh(0.5 * np.arange(5.0))))  # fmt: skip
print(fit.x.round(6), fit.cost < 1e-12)
plan = linprog(np.array([-1, -2]), A_ub=np.array([[1, 1], [1, 3]]), b_ub=np.array([4, 6]))
print(plan.x.round(6), plan.fun)
rows, columns = np.array([0, 1, 2, 4]), np.array([1, 2, 3, 5])
graph = coo_array((np.array([1.0, 2, 3, 4]), (rows, columns)), shape=(6, 6)).tocsr()
print(dijkstra(graph, indices=0), connected_components(graph, directed=False))
print(linregress(np.arange(10), np.arange(10) * 2.0 + noise[:10]).slope.round(8))
