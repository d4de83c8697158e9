"""SciPy's functions that look at classes or convert in C, with our arrays and generators."""

import asnumpy
import numpy
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.sparse.linalg as sparse_linalg
import scipy.stats
from libraries.comparing import same


def square(np):
    return np.eye(4) * 3 + np.arange(16.0).reshape(4, 4) / 20


def minimised(method):
    def run(np):
        f, g = lambda x: np.sum((x - 1) ** 2), lambda x: 2 * (x - 1)
        jac = {} if method in ("Nelder-Mead", "Powell") else {"jac": g}
        return scipy.optimize.minimize(f, np.zeros(3), method=method, **jac).x

    return run


SIGNAL = numpy.sin(numpy.linspace(0, 50, 500))
CASES = {
    **{
        f"minimize {m}": minimised(m)
        for m in ("BFGS", "L-BFGS-B", "CG", "SLSQP", "Nelder-Mead", "Powell")
    },
    "curve_fit": lambda np: scipy.optimize.curve_fit(
        lambda x, a, b: a * np.exp(-b * x), np.linspace(0, 1, 20), np.linspace(1, 0.3, 20)
    )[0],
    "filtfilt": lambda np: scipy.signal.filtfilt(*scipy.signal.butter(3, 0.1), np.asarray(SIGNAL)),
    "lfilter": lambda np: scipy.signal.lfilter(
        np.array([1, 0.5]), np.array([1.0]), np.asarray(SIGNAL)
    ),
    "eigsh": lambda np: numpy.sort(
        sparse_linalg.eigsh(np.diag(np.arange(10.0)), k=2, v0=np.ones(10))[0]
    ),
    "aslinearoperator": lambda np: sparse_linalg.aslinearoperator(square(np)).matvec(np.ones(4)),
    "csr @": lambda np: scipy.sparse.csr_matrix(square(np)) @ np.ones(4),
    "@ csr": lambda np: np.ones(4) @ scipy.sparse.csr_array(square(numpy)),
    "csr[mask]": lambda np: scipy.sparse.csr_matrix(square(numpy))[
        np.array([True, False, True, False])
    ].toarray(),
    "rvs of RandomState": lambda np: scipy.stats.norm.rvs(
        size=3, random_state=np.random.RandomState(1)
    ),
    "rvs of Generator": lambda np: scipy.stats.norm.rvs(
        size=3, random_state=np.random.default_rng(1)
    ),
    "qmc over a bit generator": lambda np: scipy.stats.qmc.LatinHypercube(
        2, rng=numpy.random.Generator(np.random.PCG64(0))
    ).random(3),
    "Sobol": lambda np: scipy.stats.qmc.Sobol(2, rng=np.random.default_rng(0)).random(4),
    "PoissonDisk": lambda np: scipy.stats.qmc.PoissonDisk(
        2, radius=0.3, rng=np.random.default_rng(0)
    ).random(4),
    "MultinomialQMC": lambda np: scipy.stats.qmc.MultinomialQMC(
        np.array([0.3, 0.7]), 5, rng=np.random.default_rng(0)
    ).random(4),
    "qmc_quad": lambda np: (
        scipy.integrate.qmc_quad(
            lambda x: numpy.sum(x, axis=0),
            [0, 0],
            [1, 1],
            n_points=64,
            qrng=scipy.stats.qmc.Halton(2, rng=np.random.default_rng(0)),
        ).integral
    ),
    "bootstrap": lambda np: (
        scipy.stats.bootstrap(
            (np.arange(10.0),), np.mean, n_resamples=50, rng=np.random.default_rng(0)
        ).standard_error
    ),
    "dtrsv": lambda np: scipy.linalg.blas.dtrsv(square(np), np.arange(4.0)),
    "dgetrf": lambda np: scipy.linalg.lapack.dgetrf(square(np))[0],
}


@pytest.mark.parametrize("case", CASES)
def test_same_as_with_numpy(case):
    same(CASES[case], rtol=1e-6)


def test_functions_of_f2py_leave_their_arguments():
    a, x = square(asnumpy), asnumpy.arange(4.0)
    scipy.linalg.blas.dtrsv(a, x)
    scipy.linalg.lapack.dgetrf(a)
    numpy.testing.assert_array_equal(numpy.asarray(x), numpy.arange(4.0))
    numpy.testing.assert_array_equal(numpy.asarray(a), square(numpy))
    dgemm = scipy.linalg.get_blas_funcs("gemm", (numpy.ones((2, 2)),))
    assert dgemm.typecode == "d"
