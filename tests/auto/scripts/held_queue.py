"""A bank with three counters: events in a heap, waiting times in a table."""

import heapq
from collections import deque
from dataclasses import dataclass, field

import numpy as np


@dataclass(order=True)
class Event:
    time: float
    kind: str = field(compare=False)
    who: int = field(compare=False)


def simulate(rng, customers, counters, rate):
    arrivals = np.cumsum(rng.exponential(1 / rate, customers))
    service = rng.gamma(2.0, 1.0, customers)
    begun, ended = np.full(customers, np.nan), np.empty(customers)
    events = [Event(t, "arrives", i) for i, t in enumerate(arrivals)]
    heapq.heapify(events)
    waiting, free = deque(), counters
    while events:
        event = heapq.heappop(events)
        if event.kind == "arrives":
            waiting.append(event.who)
        else:
            free += 1
            ended[event.who] = event.time
        while free and waiting:
            who = waiting.popleft()
            begun[who] = event.time
            heapq.heappush(events, Event(event.time + service[who], "leaves", who))
            free -= 1
    assert not np.isnan(begun).any()
    return arrivals, begun, ended


rng = np.random.default_rng(2024)
for counters in (3, 4):
    arrivals, begun, ended = simulate(rng, 500, counters, 1.4)
    wait = begun - arrivals
    quartiles = np.percentile(wait, [25, 50, 75, 95])
    print(
        counters, "counters:", " ".join(f"{q:.3f}" for q in quartiles), f"at most {wait.max():.2f}"
    )
    edges = np.array([0, 1, 2, 5, 10, np.inf])
    share = np.histogram(wait, edges)[0] / wait.size
    for low, high, s in zip(edges, edges[1:], share):
        print(f"  {low:4.0f} to {high:4.0f} {'#' * int(40 * s)} {s:.1%}")
    moments = np.sort(np.concatenate([arrivals, ended]))
    inside = np.searchsorted(arrivals, moments, "right") - np.searchsorted(
        np.sort(ended), moments, "right"
    )
    print(
        "  inside at most",
        inside.max(),
        "mean",
        np.round(np.average(inside[:-1], weights=np.diff(moments)), 4),
    )
