"""A program that ends with an exception, in a function of a module of its own."""

import sys

import numpy as np


def average(rows):
    total = np.zeros(3)
    for row in rows:
        total += np.asarray(row)
    return total / len(rows)


print(average([[1, 2, 3], [4, 5, 6]]))
print("about to fail", file=sys.stderr)
print(average([[1, 2, 3], [4, 5]]))
