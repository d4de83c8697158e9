"""scikit-learn takes our arrays and generators without its array API mode."""

import asnumpy
import numpy
import pytest
from libraries.comparing import same
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

POINTS = numpy.random.default_rng(0).random((100, 4))


def data(np):
    x = np.asarray(POINTS)
    return x, (x[:, 0] > 0.5).astype(int)


def state(np):
    return np.random.RandomState(3)


CASES = {
    "Ridge": lambda np: Ridge().fit(*data(np)).coef_,
    "LogisticRegression": lambda np: LogisticRegression().fit(*data(np)).predict_proba(data(np)[0]),
    "StandardScaler": lambda np: StandardScaler().fit_transform(data(np)[0]),
    "pipeline": lambda np: (
        make_pipeline(StandardScaler(), LogisticRegression()).fit(*data(np)).predict(data(np)[0])
    ),
    "KMeans": lambda np: (
        KMeans(3, n_init=2, random_state=state(np)).fit(data(np)[0]).cluster_centers_
    ),
    "RandomForest": lambda np: (
        RandomForestClassifier(5, random_state=state(np)).fit(*data(np)).predict(data(np)[0])
    ),
    "train_test_split": lambda np: train_test_split(*data(np), random_state=state(np)),
    "grid of an array": lambda np: (
        GridSearchCV(Ridge(), {"alpha": np.logspace(-3, 3, 4)}).fit(*data(np)).best_score_
    ),
    "cross_val_score": lambda np: cross_val_score(LogisticRegression(), *data(np)),
    "sample_weight": lambda np: Ridge().fit(*data(np), sample_weight=np.ones(100)).coef_,
    "confusion_matrix": lambda np: confusion_matrix(data(np)[1], data(np)[1]),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", CASES)
def test_same_as_with_numpy(case):
    same(CASES[case], rtol=1e-9)


def test_one_stream_for_both():
    """What the library drew, the program does not draw again."""
    ours, theirs = asnumpy.random.RandomState(5), numpy.random.RandomState(5)
    for rng in (ours, theirs):
        train_test_split(POINTS, random_state=rng)
    assert ours.random(3).tolist() == theirs.random(3).tolist()
