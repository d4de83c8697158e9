"""Bubbles of a profile: gaps in a stream's work, and what it waited for in them.

A stream has a bubble where nothing of it runs between two of its operations or copies. What covers the largest part of
the gap, and at least half of it, is what was waited for: a wait of the host, a plan that was made, work of another
stream; where nothing was recorded, the program itself, which had not put anything on the stream yet.
"""

from typing import NamedTuple

PROGRAM = "the program: nothing was put on the stream"
_WORK = ("program", "operator", "small", "to device", "to host")


class Bubble(NamedTuple):
    """A gap in a stream's work. `start` in seconds from the beginning of the session."""

    stream: int
    start: float
    seconds: float
    waited_for: str


class _Timeline:
    """Events that may cover a gap, each with the name that the gap is given by it. Gaps are asked for in their order:
    what is over before one is over before all that follow."""

    def __init__(self, named):
        self.coming = sorted(named, key=lambda pair: pair[0].start, reverse=True)
        self.running = []

    def covering(self, begin, end):
        """(seconds, name) of what covers the largest part of the gap."""
        while self.coming and self.coming[-1][0].start < end:
            self.running.append(self.coming.pop())
        self.running = [pair for pair in self.running if pair[0].start + pair[0].seconds > begin]
        most = 0.0, PROGRAM
        for e, name in self.running:
            most = max(most, (min(end, e.start + e.seconds) - max(begin, e.start), name))
        return most


def _gaps(work, least):
    """(begin, end) of the gaps between a stream's events. One that stands for others is no end of a gap: those ran
    there, and were not timed."""
    work = sorted(work, key=lambda e: e.start)
    reach, known = None, False
    for e in work:
        single = e.kind != "small" or e.calls == 1
        if reach is not None and known and single and e.start - reach >= least:
            yield reach, e.start
        end = e.start + e.seconds
        if reach is None or end >= reach:
            reach, known = end, single


def bubbles(p, least):
    """The bubbles of a session from a length on (seconds), longest first."""
    streams, others = {}, []
    for e in p.events:
        if e.kind in _WORK:
            streams.setdefault(e.stream, []).append(e)
        elif e.kind == "synchronize":
            others.append((e, f"the host: {e.name}"))
        elif e.kind == "plan":
            others.append((e, "a plan was made"))
    found = []
    for stream, work in streams.items():
        foreign = [
            (e, f"stream {s}: {e.name}") for s, es in streams.items() if s != stream for e in es
        ]
        timeline = _Timeline(others + foreign)
        for begin, end in _gaps(work, least):
            share, name = timeline.covering(begin, end)
            told = name if 2 * share >= end - begin else PROGRAM
            found.append(Bubble(stream, begin, end - begin, told))
    return sorted(found, key=lambda b: -b.seconds)


def by_stream(found):
    """{stream: (count, seconds, longest, {what was waited for: [count, seconds]})}"""
    streams = {}
    for b in found:
        count, seconds, longest, why = streams.get(b.stream, (0, 0.0, 0.0, {}))
        at = why.setdefault(b.waited_for, [0, 0.0])
        at[0] += 1
        at[1] += b.seconds
        streams[b.stream] = count + 1, seconds + b.seconds, max(longest, b.seconds), why
    return dict(sorted(streams.items()))


def lines(found, top):
    """The part of the summary that tells of them."""
    told = []
    for stream, (count, seconds, longest, why) in by_stream(found).items():
        told.append(
            f"bubbles of stream {stream}: {count}, {seconds * 1e3:.3f} ms in all, {longest * 1e3:.3f} ms the longest"
        )
        for name, (n, s) in sorted(why.items(), key=lambda w: -w[1][1])[:top]:
            told.append(f"  {n:6d} x  {s * 1e3:.3f} ms  {name}")
    return told
