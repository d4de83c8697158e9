"""A queue at a counter, event by event, with its statistics."""

import numpy as np

rng = np.random.default_rng(12)
arrivals = np.cumsum(rng.exponential(1.0, 500))
service = rng.gamma(2.0, 0.4, 500)
start, end = np.empty(500), np.empty(500)
free = 0.0
for i in range(500):
    start[i] = max(free, arrivals[i])
    free = end[i] = start[i] + service[i]
wait = start - arrivals
print(f"mean wait {wait.mean():.8f}, busy {service.sum() / end[-1]:.8f}")
print(np.percentile(wait, [50, 90, 99]).round(6), np.count_nonzero(wait == 0))
times = np.concatenate([arrivals, end])
change = np.concatenate([np.ones(500, int), -np.ones(500, int)])
order = np.argsort(times, kind="stable")
length = np.cumsum(change[order])
print(length.max(), np.average(length[:-1], weights=np.diff(times[order])).round(6))
values, counts = np.unique(length, return_counts=True)
for v, k in list(zip(values, counts))[:6]:
    print(f"{v:3d} {k:4d} {'*' * (k // 10)}")
