"""Seats by d'Hondt and Sainte-Lague, polls with their margins."""

import numpy as np

parties = np.array(["North", "South", "East", "West"])
votes = np.array([340_000, 280_000, 160_000, 60_000])


def seats(votes, n, divisors):
    quotients = votes[:, np.newaxis] / divisors[np.newaxis, :n]
    winners = np.argsort(quotients, axis=None, kind="stable")[::-1][:n]
    return np.bincount(np.unravel_index(winners, quotients.shape)[0], minlength=len(votes))


for name, divisors in {"d'Hondt": np.arange(1, 11), "Sainte-Lague": np.arange(1, 21, 2)}.items():
    got = seats(votes, 7, divisors)
    print(
        name, dict(zip(parties.tolist(), got.tolist())), np.abs(got / 7 - votes / votes.sum()).max()
    )
share = votes / votes.sum()
np.random.seed(1984)
poll = np.random.multinomial(1000, share, size=200)
low, high = np.percentile(poll / 1000, [2.5, 97.5], axis=0)
for row in zip(parties, share, low, high):
    print("{:<6s}{:>8.3%}{:>8.3%}{:>8.3%}".format(*row))
print(parties[poll.argmax(axis=1)][:5], (poll[:, 0] > poll[:, 1]).mean())
print(np.char.rjust(parties, 7), parties[np.argsort(-votes)][:2], repr(parties))
print(np.vstack([votes, share.round(3)]), share.astype(np.float16))
