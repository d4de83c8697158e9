"""Which of three models tells cultivars apart: folds, scores, a tree of clusters."""

import numpy as np
from scipy.cluster.hierarchy import dendrogram, fcluster, linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_wine
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


class NearestMean(ClassifierMixin, BaseEstimator):
    def __init__(self, power=2):
        self.power = power

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.means_ = np.stack([X[codes == k].mean(axis=0) for k in range(len(self.classes_))])
        return self

    def predict(self, X):
        far = np.abs(np.asarray(X)[:, None] - self.means_) ** self.power
        return self.classes_[far.sum(axis=-1).argmin(axis=1)]


wine = load_wine()
X, y = wine.data, wine.target
print(X.shape, np.bincount(y), wine.feature_names[:3])
folds = StratifiedKFold(5, shuffle=True, random_state=0)
for model in (NearestMean(), KNeighborsClassifier(5)):
    scores = cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=folds)
    print(type(model).__name__, scores.round(4), f"{scores.mean():.4f} +- {scores.std():.4f}")
wrong = np.zeros(len(y), dtype=int)
total = np.zeros((3, 3), dtype=int)
for k, (train, test) in enumerate(folds.split(X, y)):
    mean, scale = X[train].mean(axis=0), X[train].std(axis=0)
    guess = (
        NearestMean(1).fit((X[train] - mean) / scale, y[train]).predict((X[test] - mean) / scale)
    )
    wrong[test] += guess != y[test]
    total += confusion_matrix(y[test], guess)
    print(k, len(train), np.flatnonzero(guess != y[test]))
print(total, wrong.sum())
search = GridSearchCV(NearestMean(), {"power": [0.5, 1, 2, 4]}, cv=folds)
search.fit(StandardScaler().fit_transform(X), y)
print(search.best_params_, np.round(search.cv_results_["mean_test_score"], 4))
means = search.best_estimator_.means_
distances = pdist(means)
print(squareform(distances).round(3))
tree = linkage(StandardScaler().fit_transform(X)[::9], "ward")
print(fcluster(tree, 3, "maxclust"), dendrogram(tree, no_plot=True)["ivl"][:8])
