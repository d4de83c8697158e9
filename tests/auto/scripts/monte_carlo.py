"""Pi, an option's price and a random walk by chance."""

import math

import numpy as np

rng = np.random.default_rng(2024)
x, y = rng.random(100_000), rng.random(100_000)
inside = np.count_nonzero(x * x + y * y <= 1)
print("pi", 4 * inside / 100_000)

s0, k, r, sigma, years = 100, 105, 0.03, 0.2, 1.0
z = rng.standard_normal(50_000)
final = s0 * np.exp((r - sigma**2 / 2) * years + sigma * math.sqrt(years) * z)
payoff = np.maximum(final - k, 0) * math.exp(-r * years)
error = payoff.std(ddof=1) / math.sqrt(payoff.size)
print(f"call {payoff.mean():.6f} +- {error:.6f}")

steps = rng.choice([-1, 1], size=(1000, 400))
walk = steps.cumsum(axis=1)
print(walk[:3, -5:], (walk**2).mean(axis=0)[[9, 99, 399]])
first = np.where((np.abs(walk) >= 20).any(axis=1), (np.abs(walk) >= 20).argmax(axis=1), -1)
print(np.sort(first)[:12], (first < 0).sum())
