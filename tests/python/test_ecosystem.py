"""SciPy, scikit-learn, xarray, pandas and matplotlib take AsNumpy arrays.

SciPy's and scikit-learn's array API modes ask a value for its namespace, and NumPy's scalars answer
"NumPy": so they run with `set_scalars("array")`, as docs/guide/ecosystem.md says.
"""

import os
import warnings

os.environ["SCIPY_ARRAY_API"] = "1"  # read when SciPy is first imported

import asnumpy as anp
import numpy as np
import pytest


@pytest.fixture
def zero_d():
    """Full reductions give 0-d arrays for the length of a test."""
    before = anp.set_scalars("array")
    yield
    anp.set_scalars(before)


@pytest.fixture
def host():
    return np.random.default_rng(0).random((50, 4))


@pytest.fixture
def x(host):
    return anp.array(host)


def is_ours(value, expected, rtol=1e-7):
    """An AsNumpy array with the values that NumPy input gives."""
    assert type(value) is anp.ndarray, type(value)
    np.testing.assert_allclose(np.asarray(value), np.asarray(expected), rtol=rtol, atol=1e-12)


def test_namespace(x):
    compat = pytest.importorskip("array_api_compat")
    assert compat.array_namespace(x) is anp and compat.is_array_api_obj(x)
    assert compat.size(x) == 200 and compat.device(x) == x.device
    assert compat.to_device(x, "cpu") is x and compat.to_device(x, x.device) is x
    with pytest.raises(ValueError, match="Device not understood"):
        compat.to_device(x, "tpu")


SCIPY = {
    "special.expit": lambda s, x: s.special.expit(x),
    "special.gamma": lambda s, x: s.special.gamma(x),
    "special.erf": lambda s, x: s.special.erf(x),
    "special.logsumexp": lambda s, x: s.special.logsumexp(x, axis=1),
    "special.softmax": lambda s, x: s.special.softmax(x, axis=1),
    "special.log_softmax": lambda s, x: s.special.log_softmax(x, axis=1),
    "special.xlogy": lambda s, x: s.special.xlogy(x, x),
    "special.betaln": lambda s, x: s.special.betaln(x, x),
    "stats.zscore": lambda s, x: s.stats.zscore(x),
    "stats.skew": lambda s, x: s.stats.skew(x),
    "stats.kurtosis": lambda s, x: s.stats.kurtosis(x, axis=1),
    "stats.gmean": lambda s, x: s.stats.gmean(x),
    "stats.entropy": lambda s, x: s.stats.entropy(x),
    "stats.moment": lambda s, x: s.stats.moment(x, order=2),
    "stats.ttest_1samp": lambda s, x: s.stats.ttest_1samp(x, 0.25).statistic,
    "stats.pearsonr": lambda s, x: s.stats.pearsonr(x[:, 0], x[:, 1]).statistic,
    "fft.fft": lambda s, x: s.fft.fft(x),
    "fft.irfft": lambda s, x: s.fft.irfft(s.fft.rfft(x)),
    "fft.fftn": lambda s, x: s.fft.fftn(x),
    "fft.fftshift": lambda s, x: s.fft.fftshift(x),
    "fft.dct": lambda s, x: s.fft.dct(x),
    "signal.detrend": lambda s, x: s.signal.detrend(x),
    "signal.fftconvolve": lambda s, x: s.signal.fftconvolve(x[:, 0], x[:, 1]),
    "signal.hilbert": lambda s, x: s.signal.hilbert(x),
    "cluster.vq.whiten": lambda s, x: s.cluster.vq.whiten(x),
    "cluster.vq.vq": lambda s, x: s.cluster.vq.vq(x, x[:3])[1],
    "cluster.hierarchy.linkage": lambda s, x: s.cluster.hierarchy.linkage(x),
    "integrate.trapezoid": lambda s, x: s.integrate.trapezoid(x),
    "integrate.cumulative_simpson": lambda s, x: s.integrate.cumulative_simpson(x, dx=1.0),
    "interpolate.RBF": lambda s, x: s.interpolate.RBFInterpolator(x[:, :2], x[:, 2])(x[:3, :2]),
    "ndimage.gaussian_filter": lambda s, x: s.ndimage.gaussian_filter(x, 1.0),
    "ndimage.sobel": lambda s, x: s.ndimage.sobel(x),
    "ndimage.label": lambda s, x: s.ndimage.label(x > 0.5)[0],
    "constants": lambda s, x: s.constants.convert_temperature(x, "C", "K"),
    "spatial.Rotation": lambda s, x: s.spatial.transform.Rotation.from_quat(x[:5]).apply(x[:5, :3]),
    "differentiate": lambda s, x: s.differentiate.derivative(lambda v: v * v, x[:, 0]).df,
}


@pytest.mark.parametrize("name", SCIPY)
def test_scipy(name, x, host, zero_d):
    scipy = pytest.importorskip("scipy")
    pytest.importorskip("scipy.cluster.hierarchy")
    pytest.importorskip("scipy.differentiate")
    is_ours(SCIPY[name](scipy, x), SCIPY[name](scipy, host), rtol=1e-6)


def test_scipy_on_the_host(x, host):
    """What SciPy computes in compiled code takes AsNumpy arrays and gives NumPy's."""
    pytest.importorskip("scipy")
    from scipy import linalg, optimize, sparse
    from scipy.spatial.distance import cdist

    np.testing.assert_allclose(linalg.expm(x[:4]), linalg.expm(host[:4]))
    np.testing.assert_allclose(sparse.csr_array(np.eye(50)) @ x, host)
    np.testing.assert_allclose(cdist(x, x), cdist(host, host))
    found = optimize.minimize(lambda p: float(((anp.asarray(p) - 3) ** 2).sum()), anp.zeros(3))
    np.testing.assert_allclose(found.x, 3, atol=1e-5)


def sklearn_cases():
    def fitted(path, *args, **kw):
        def make(x, y):
            import importlib

            module, _, name = path.rpartition(".")
            return getattr(importlib.import_module("sklearn." + module), name)(*args, **kw)

        return make

    def transform(maker):
        return lambda x, y: maker(x, y).fit(x).transform(x)

    def predict(maker):
        return lambda x, y: maker(x, y).fit(x, y).predict(x)

    def metric(name, *columns):
        def value(x, y):
            from sklearn import metrics

            return getattr(metrics, name)(x[:, 0], x[:, 1])

        return value

    def pairwise(name):
        def value(x, y):
            from sklearn.metrics import pairwise

            return getattr(pairwise, name)(x)

        return value

    return {
        "StandardScaler": transform(fitted("preprocessing.StandardScaler")),
        "MinMaxScaler": transform(fitted("preprocessing.MinMaxScaler")),
        "MaxAbsScaler": transform(fitted("preprocessing.MaxAbsScaler")),
        "Normalizer": transform(fitted("preprocessing.Normalizer")),
        "Binarizer": transform(fitted("preprocessing.Binarizer", threshold=0.5)),
        "PolynomialFeatures": transform(fitted("preprocessing.PolynomialFeatures")),
        "PCA": transform(fitted("decomposition.PCA", 2, svd_solver="full")),
        "PCA eigh": transform(fitted("decomposition.PCA", 2, svd_solver="covariance_eigh")),
        "Ridge": predict(fitted("linear_model.Ridge", solver="svd")),
        "LinearDiscriminantAnalysis": predict(
            fitted("discriminant_analysis.LinearDiscriminantAnalysis")
        ),
        "LogisticRegression": predict(fitted("linear_model.LogisticRegression", solver="lbfgs")),
        "GaussianNB": predict(fitted("naive_bayes.GaussianNB")),
        "RidgeClassifier": predict(fitted("linear_model.RidgeClassifier", solver="svd")),
        "mean_squared_error": metric("mean_squared_error"),
        "r2_score": metric("r2_score"),
        "euclidean_distances": pairwise("euclidean_distances"),
        "cosine_similarity": pairwise("cosine_similarity"),
        "rbf_kernel": pairwise("rbf_kernel"),
    }


@pytest.mark.parametrize("name", sklearn_cases())
def test_sklearn(name, x, host, zero_d):
    sklearn = pytest.importorskip("sklearn")
    if name == "LogisticRegression" and tuple(map(int, sklearn.__version__.split(".")[:2])) < (
        1,
        9,
    ):
        pytest.skip("before scikit-learn 1.9 its coefficients are NumPy's, whatever x is")
    classes = np.arange(50) % 2
    case = sklearn_cases()[name]
    with sklearn.config_context(array_api_dispatch=True):
        got = case(x, anp.array(classes))
        expected = case(host, classes)
        if isinstance(got, float):
            assert got == pytest.approx(expected)
        else:
            is_ours(got, expected, rtol=1e-5)


def test_sklearn_without_dispatch(x, host):
    cluster = pytest.importorskip("sklearn.cluster")
    ours = cluster.KMeans(2, random_state=0, n_init=1).fit(x)
    np.testing.assert_array_equal(
        ours.labels_, cluster.KMeans(2, random_state=0, n_init=1).fit(host).labels_
    )


XARRAY = [
    lambda d: d * 2 + 1, lambda d: d.mean("a"), lambda d: d.max("b"), lambda d: d.isel(a=slice(3)),
    lambda d: d > 0.5, lambda d: d.T, lambda d: d.where(d > 0.5), lambda d: d.stack(z=("a", "b")),
    lambda d: d.fillna(0.0), lambda d: d.isnull(), lambda d: d.clip(0, 0.5), lambda d: d.astype("f4"),
    lambda d: d.cumsum("a"), lambda d: d.argmax("a"), lambda d: d.groupby(d.a % 2).mean(),
    lambda d: d.sortby("a", ascending=False), lambda d: d.sel(a=3), np.sin, lambda d: d.dot(d, dim="b"),
    lambda d: d.diff("a"), lambda d: d.shift(a=1), lambda d: d.roll(a=1), lambda d: d.expand_dims("c"),
    lambda d: d.quantile(0.5, "a"), lambda d: d.median("a"), lambda d: d.any("a"), lambda d: d.reindex(a=[1, 99]),
    lambda d: d.pad(a=1), lambda d: d.coarsen(a=2).mean(),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(XARRAY)))
def test_xarray(number, x, host):
    xarray = pytest.importorskip("xarray")

    def wrap(data):
        return xarray.DataArray(data, dims=("a", "b"), coords={"a": np.arange(50)})

    is_ours(XARRAY[number](wrap(x)).data, XARRAY[number](wrap(host)).data)


def test_xarray_text(x, host):
    xarray = pytest.importorskip("xarray")
    ours, theirs = (xarray.Dataset({"v": (("a", "b"), data)}) for data in (x, host))
    assert repr(ours.v.sum()).splitlines()[0] == repr(theirs.v.sum()).splitlines()[0]
    assert isinstance(ours.v.values, np.ndarray) and ours._repr_html_()
    xarray.testing.assert_allclose(
        xarray.concat([ours, ours], "a").compute(), xarray.concat([ours, ours], "a")
    )


def test_pandas(x, host):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(x, columns=list("abcd"))
    pandas.testing.assert_frame_equal(frame, pandas.DataFrame(host, columns=list("abcd")))
    series = pandas.Series(x[:, 0])
    np.testing.assert_array_equal((series + x[:, 1]).to_numpy(), host[:, 0] + host[:, 1])
    assert series.isin(x[:3, 0]).sum() == 3 and pandas.cut(x[:, 0], 3).shape == (50,)
    assert frame.assign(e=anp.arange(50)).iloc[anp.arange(5)]["e"].tolist() == [0, 1, 2, 3, 4]
    assert pandas.Index(anp.arange(5)).tolist() == [0, 1, 2, 3, 4]
    is_ours(anp.asarray(frame), host)
    for longer in (series, pandas.Index(series)):  # one element is no number
        with pytest.raises(ValueError, match="Lengths must match"):
            assert longer == x[:1, 0]
        assert (longer == x[:, 0]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame.iloc[anp.arange(3), 1] = anp.zeros(3)
        frame.loc[frame["a"] > 0, "c"] = x[:, 1][x[:, 0] > 0]
        frame.iat[0, 0] = anp.float64(2)
    assert frame.iloc[:3, 1].tolist() == [0, 0, 0]
    with pytest.warns(Warning) as met:
        frame["a"].iloc[0] = 1.0  # writes into a copy: the warning names this line
    assert met[0].filename == __file__


def test_matplotlib(x, host):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    def draw(x, y):
        figure, ax = plt.subplots(dpi=50)
        ax.plot(x[:, 0], x[:, 1])
        ax.scatter(x[:, 0], x[:, 1], c=y, s=x[:, 2] * 10)
        ax.imshow(x)
        ax.hist(x[:, 0])
        ax.bar(y[:4], x[0])
        ax.errorbar(x[:, 0], x[:, 1], yerr=x[:, 2])
        ax.contourf(x)
        ax.pcolormesh(x)
        ax.fill_between(y, x[:, 0], x[:, 1])
        ax.quiver(x[:, 0], x[:, 1], x[:, 2], x[:, 3])
        ax.boxplot(x)
        ax.hist2d(x[:, 0], x[:, 1])
        ax.set_xlim(x[0, 0], x[0, 0] + 1)
        ax.set_xticks(y[:3])
        figure.canvas.draw()
        pixels = np.asarray(figure.canvas.buffer_rgba()).copy()
        plt.close(figure)
        return pixels

    np.testing.assert_array_equal(draw(x, anp.arange(50)), draw(host, np.arange(50)))


def test_numpy_functions_return_ours(x, host):
    for call in (
        lambda a: np.mean(a, axis=0), lambda a: np.concatenate([a, a]), np.sin, lambda a: np.dot(a.T, a),
        lambda a: np.where(a > 0.5, a, 0), lambda a: np.linalg.norm(a, axis=1), lambda a: np.fft.fft(a),
        lambda a: np.stack([a, a]), np.add.reduce, lambda a: np.einsum("ij,ij->i", a, a), np.sort,
        lambda a: np.histogram(a)[0], lambda a: np.percentile(a, 5, axis=0), np.zeros_like,
        lambda a: np.linalg.svd(a)[1], lambda a: np.clip(a, 0, 0.5), lambda a: np.pad(a, 1),
    ):  # fmt: skip
        is_ours(call(x), call(host))
