"""Masked arrays: a station's missing values."""

import numpy as np
import numpy.ma as ma

temperature = np.array([12.5, -999.0, 14.0, 13.5, -999.0, 16.0])
valid = ma.masked_equal(temperature, -999.0)
print(valid, valid.mean(), valid.count(), valid.mask)
print(valid.filled(0), (valid * 9 / 5 + 32).round(2))
print(ma.masked_where(temperature > 13.6, temperature).compressed())
print(np.ma.masked_invalid([1.0, np.nan, 3.0]).sum(), np.ma.is_masked(valid))
print(valid[1] is ma.masked, valid.max(), valid.argmin())
anomaly = valid - valid.mean()
print(anomaly, type(anomaly).__name__, isinstance(anomaly, np.ndarray))
print(np.where(valid.mask, np.nan, temperature), ma.median(valid))
two = ma.array(np.arange(6).reshape(2, 3), mask=[[0, 1, 0], [0, 0, 1]])
print(two, two.sum(axis=0), two.T.shape, np.sqrt(two))
two[0, 0] = ma.masked
print(two, ma.average(two, axis=1), repr(two[0]))
