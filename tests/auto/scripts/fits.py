"""SciPy: optimise, integrate, interpolate, filter, test."""

import numpy as np
from scipy import integrate, interpolate, linalg, ndimage, optimize, signal, sparse, spatial, stats

rng = np.random.default_rng(21)
x = np.linspace(0, 4, 50)
y = 2.5 * np.exp(-1.3 * x) + 0.5 + 0.01 * rng.normal(size=50)
best, cov = optimize.curve_fit(lambda t, a, b, c: a * np.exp(-b * t) + c, x, y, p0=(1, 1, 1))
print(best.round(5), cov.shape, type(best).__name__)
found = optimize.minimize(lambda p: (p[0] - 1) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2, np.zeros(2))
print(found.x.round(4), found.success)
print(optimize.brentq(np.cos, 0, 3), integrate.quad(lambda t: np.exp(-(t**2)), 0, np.inf)[0])
solution = integrate.solve_ivp(
    lambda t, z: -0.5 * z, (0, 10), np.array([2.0, 4.0]), t_eval=np.arange(0, 11, 5)
)
print(solution.y.round(6))
print(interpolate.CubicSpline(x[::10], y[::10])(np.array([0.5, 1.5])).round(6))
b, a = signal.butter(3, 0.2)
print(signal.filtfilt(b, a, y)[:3].round(6), signal.find_peaks(np.sin(3 * x))[0])
print(linalg.expm(np.array([[0.0, 1.0], [-1.0, 0.0]])).round(6), linalg.lu(np.eye(2))[0])
image = np.zeros((7, 7))
image[3, 3] = 1
print(ndimage.gaussian_filter(image, 1)[3].round(6), ndimage.label(image > 0)[1])
matrix = sparse.csr_matrix(np.diag([1.0, 2.0, 3.0]))
print(matrix @ np.ones(3), sparse.linalg.spsolve(matrix.tocsc(), np.arange(3.0)))
points = rng.random((10, 2))
print(spatial.cKDTree(points).query(points[0], k=2)[1], spatial.ConvexHull(points).vertices)
print(stats.norm.rvs(size=3, random_state=rng), stats.ttest_1samp(y, 0.5).pvalue.round(6))
print(rng.random(), stats.pearsonr(x, y).statistic.round(8), stats.describe(y).nobs)
