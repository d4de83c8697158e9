"""Primes by the sieve, twins, gaps, Goldbach's pairs."""

import numpy as np


def sieve(n):
    is_prime = np.ones(n + 1, dtype=bool)
    is_prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if is_prime[i]:
            is_prime[i * i :: i] = False
    return np.nonzero(is_prime)[0]


primes = sieve(10_000)
print(len(primes), primes[:10], primes[-3:])
gaps = np.diff(primes)
values, counts = np.unique(gaps, return_counts=True)
for value, count in zip(values, counts):
    print(value, count)
print("twins", int((gaps == 2).sum()), "largest gap", gaps.max(), "after", primes[gaps.argmax()])
for even in (100, 1000, 5000):
    small = primes[primes <= even // 2]
    pairs = small[np.isin(even - small, primes)]
    print(even, len(pairs), pairs[:5], even - pairs[:5])
print(repr(primes.reshape(-1)[:6]), primes.dtype, primes.sum())
