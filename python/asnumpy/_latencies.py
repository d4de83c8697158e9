"""Histograms of how long operations take, for asnumpy.monitor: fixed buckets, filled from the recorder's events.

The recorder's totals have sums alone, so each look takes the events since the last one. A bucket's bound is twice the
one before, which tells a quantile to within a factor of two wherever it lies, and any two histograms can be added. Of
small operations one in a few is timed: it counts for those that it stands for.
"""

import numpy as _np

from . import _core, _profile

# 1 us (or less) to 17 s; the last bucket has what is longer.
BOUNDS = _np.array([1e-6 * 2.0**k for k in range(25)])
KINDS = (*_profile.COMPUTES, _profile.TO_DEVICE, _profile.TO_HOST, _profile.PLAN,
         _profile.SYNCHRONIZE)  # fmt: skip


class Histogram:
    """Counts by bucket, and the sum of what was counted; the last count is of what is beyond all bounds."""

    def __init__(self):
        self.counts = _np.zeros(len(BOUNDS) + 1, _np.int64)
        self.seconds = 0.0

    def add(self, seconds, weights):
        at = _np.searchsorted(BOUNDS, seconds)  # the first bound that is not below
        _np.add.at(self.counts, at, weights)
        self.seconds += float((seconds * weights).sum())

    def quantile(self, share):
        """Below it lies that share: linear within its bucket; NaN of nothing, beyond the bounds the last one."""
        reached = _np.cumsum(self.counts)
        if not reached[-1]:
            return float("nan")
        wanted = share * reached[-1]
        k = int(_np.searchsorted(reached, wanted))
        if k >= len(BOUNDS):
            return float(BOUNDS[-1])
        low = float(BOUNDS[k - 1]) if k else 0.0
        before = int(reached[k - 1]) if k else 0
        return low + (float(BOUNDS[k]) - low) * (wanted - before) / max(1, int(self.counts[k]))

    def buckets(self):
        """[(upper bound as text, count up to it)], as Prometheus has them; the last is "+Inf"."""
        reached = _np.cumsum(self.counts)
        names = [*(f"{b:.6g}" for b in BOUNDS), "+Inf"]
        return [(name, float(count)) for name, count in zip(names, reached, strict=True)]


class Latencies:
    """The histograms of each kind of event, from a place in the recorder's ring on."""

    def __init__(self, since):
        self.since = since
        self.of = {}  # kind -> Histogram
        self.lost = 0  # events that the ring no longer had

    def update(self):
        first, data, _ = _core._profile_events(self.since)
        events = _np.frombuffer(data, _profile._LAYOUT)
        self.lost += first - self.since
        self.since = first + len(events)
        for kind in KINDS:
            mine = events[events["kind"] == kind]
            if len(mine):
                made = self.of.setdefault(_profile.KINDS[kind], Histogram())
                made.add(mine["length"] / 1e9, mine["calls"].astype(_np.int64))
