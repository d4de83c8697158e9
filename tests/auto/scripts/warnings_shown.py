"""Warnings, error modes, what is raised."""

import warnings

import numpy as np

a = np.array([1.0, 0.0, -1.0])
print(1 / a)
print(np.sqrt(a))
print(np.log(a))
with np.errstate(divide="ignore", invalid="ignore"):
    print(np.log(a))
with np.errstate(all="raise"):
    try:
        a / 0.0
    except FloatingPointError as error:
        print("raised", error)
old = np.seterr(over="ignore")
print(sorted(old), np.exp(np.array([1000.0])))
np.seterr(**old)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    np.array([1e300]) * 1e300
    np.nanmean(np.array([np.nan]))
    np.array([1, 2, 3]).astype(np.int8) // np.int8(0)
for w in caught:
    print(w.category.__name__, w.message)
print(np.array([200], np.uint8) + np.array([100], np.uint8))
try:
    np.array([1], np.uint8) + 300
except OverflowError as error:
    print(error)
print(np.nanmean([np.nan, 1.0]), np.nanmax(np.array([[np.nan, 2.0], [3.0, np.nan]]), axis=0))
warnings.warn("the program's own", stacklevel=1)
