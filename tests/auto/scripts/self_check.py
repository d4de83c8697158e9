"""A program that checks itself with numpy.testing."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal, assert_equal, assert_raises

assert_array_equal(np.arange(3), [0, 1, 2])
assert_allclose(np.array([1.0, 2.0]), [1.0, 2.0 + 1e-9])
assert_equal({"a": np.arange(2)}, {"a": np.array([0, 1])})
assert_raises(ValueError, np.reshape, np.arange(3), (2, 2))
for check in (
    lambda: assert_array_equal(np.array([1, 2, 3]), np.array([1, 2, 4])),
    lambda: assert_allclose(np.array([1.0, np.nan]), np.array([1.0, 2.0]), rtol=1e-3),
    lambda: assert_equal(np.array(["a"]), np.array(["b"])),
    lambda: np.testing.assert_array_less(np.arange(3), np.arange(3)),
):
    try:
        check()
    except AssertionError as error:
        print(error)
        print("-" * 20)
try:
    np.reshape(np.arange(3), (2, 2))
except ValueError as error:
    print(error)
try:
    np.zeros(3)[5]
except IndexError as error:
    print(error)
try:
    np.concatenate([np.zeros((2, 2)), np.zeros(3)])
except ValueError as error:
    print(error)
with np.testing.assert_warns(RuntimeWarning):
    np.array([1.0]) / np.array([0.0])
print("done")
