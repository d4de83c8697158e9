"""Loans, returns, moving averages."""

import numpy as np

rate, months, loan = 0.04 / 12, 360, 250_000.0
payment = loan * rate / (1 - (1 + rate) ** -months)
balance = np.empty(months + 1)
balance[0] = loan
for m in range(months):
    balance[m + 1] = balance[m] * (1 + rate) - payment
print(f"{payment:.2f}", balance[[12, 120, 240, 359]].round(2), abs(balance[-1]) < 1e-4)
rng = np.random.default_rng(99)
returns = rng.normal(0.0004, 0.01, size=(250, 3))
prices = 100 * np.cumprod(1 + returns, axis=0)
print(prices[-1].round(4), (prices.max(axis=0) / prices.min(axis=0)).round(4))
window = 20
average = np.convolve(prices[:, 0], np.ones(window) / window, mode="valid")
print(average[:3].round(5), average.size)
peak = np.maximum.accumulate(prices, axis=0)
print(((prices - peak) / peak).min(axis=0).round(5))
annual = returns.mean(axis=0) * 250
risk = np.sqrt(np.diag(np.cov(returns.T)) * 250)
for name, a, r in zip("ABC", annual, risk):
    print(f"{name}: {a:7.3%} {r:7.3%} {a / r:6.2f}")
weights = np.array([0.5, 0.3, 0.2])
print(
    np.round(weights @ np.cov(returns.T) @ weights * 1e5, 5),
    np.average(annual, weights=weights).round(5),
)
