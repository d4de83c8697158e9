"""
Prices of options, by Monte Carlo
=================================

An Asian option pays by how far the mean price of a share over a year lies above the strike. Many
years are drawn, and the mean of what they pay is the price, with its error.
"""

import asnumpy as np
import matplotlib.pyplot as plt

paths = 20_000
days = 250
price, rate, volatility = 100.0, 0.03, 0.2

rng = np.random.default_rng(11)
drift = (rate - volatility**2 / 2) / days
moves = drift + volatility / np.sqrt(days) * rng.standard_normal((paths, days))
share = price * np.exp(np.cumsum(moves, axis=1))
mean = share.mean(axis=1)

strikes = np.linspace(80, 120, 21)
paid = np.exp(-rate) * np.maximum(mean - strikes[:, None], 0)
value = paid.mean(axis=1)
error = 1.96 * paid.std(axis=1) / np.sqrt(paths)

# %%
# Left: some of the years, and what nine of ten of them stay within. Right: the prices, with 95 %
# bounds a hundred times enlarged, as they are too narrow to see.

low, middle, high = np.quantile(share[:, ::10], [0.05, 0.5, 0.95], axis=0)
day = np.arange(1, days + 1, 10)
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8))
left.plot(day, share[:30, ::10].T, lw=0.5, color="tab:blue", alpha=0.4)
left.fill_between(day, low, high, color="tab:orange", alpha=0.3)
left.plot(day, middle, color="tab:red")
left.set(xlabel="day", ylabel="share")
right.fill_between(strikes, value - 100 * error, value + 100 * error, alpha=0.3)
right.plot(strikes, value)
right.set(xlabel="strike", ylabel="price of the option")
fig.tight_layout()
plt.show()
