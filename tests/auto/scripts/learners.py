"""scikit-learn: pipelines, scores, clusters, with the program's seeds."""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix, mean_squared_error
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

np.random.seed(0)
x, y = make_classification(200, 6, random_state=3)
x = x + 0.0
train_x, test_x, train_y, test_y = train_test_split(x, y, random_state=np.random.RandomState(1))
model = make_pipeline(StandardScaler(), LogisticRegression())
model.fit(train_x, train_y)
print(model.score(test_x, test_y), model.predict(test_x)[:10])
print(confusion_matrix(test_y, model.predict(test_x)))
forest = RandomForestClassifier(10, random_state=0).fit(train_x, train_y)
print(accuracy_score(test_y, forest.predict(test_x)), forest.feature_importances_.round(5))
print(cross_val_score(forest, x, y, cv=3).round(5))
print(np.sort(KMeans(3, n_init=2).fit(x).labels_)[[0, 100, 199]])
print(np.abs(PCA(2).fit_transform(x)[:2]).round(5))
line = LinearRegression().fit(np.arange(10.0)[:, None], 3 * np.arange(10.0) + 1)
print(line.coef_.round(6), line.intercept_.round(6), mean_squared_error(np.ones(3), np.zeros(3)))
print(train_test_split(np.arange(6))[1], np.random.rand())
