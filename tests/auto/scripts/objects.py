"""Arrays of objects, vectorize, frompyfunc, fractions."""

from decimal import Decimal
from fractions import Fraction

import numpy as np

half = np.array([Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)])
print(half, half.sum(), half * 2, half.dtype)
print(np.array([Decimal("0.1"), Decimal("0.2")]).sum())
ragged = np.empty(2, dtype=object)
ragged[0], ragged[1] = [1, 2], "three"
print(ragged, [type(x).__name__ for x in ragged])


def grade(score, limit=50):
    return "pass" if score >= limit else "fail"


graded = np.vectorize(grade)
print(graded(np.array([40, 50, 60])), graded([10, 90], 95))
gcd = np.frompyfunc(lambda a, b: np.gcd(a, b), 2, 1)
print(gcd(np.arange(1, 7), 12), type(gcd))
collatz = np.vectorize(lambda n: n // 2 if n % 2 == 0 else 3 * n + 1, otypes=[int])
n = np.arange(1, 9)
for _ in range(4):
    n = collatz(n)
print(n, n.dtype)
print(np.array([None, 1, "x"], dtype=object) == np.array([None, 2, "x"], dtype=object))
print(np.array([10**30, 2]), np.array([10**30]) + 1)
