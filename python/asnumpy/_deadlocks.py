"""debug.check_deadlock: who waits for whom among streams, and whether waits that a program plans would close a cycle.

The core has the graph of waits that last (src/runtime/streams/waits.h) and refuses one that would close a cycle. This
reads that graph and follows it by the core's own rule: a wait for a stream or for an event that was recorded reaches
only as far as that stream had got then, so what came on it later is no part of a cycle; an event that is yet to be
recorded comes after everything its stream waits for.
"""

import math
from typing import NamedTuple

from . import _core
from ._streams import Event, Stream


class Wait(NamedTuple):
    """A stream that waits, as check_deadlock shows it.

    Parameters
    ----------
    stream : str
        Who waits.
    event : str or None
        For what; None: for what was put on the other stream.
    recorder : str
        The stream that is waited for: of an event that is not recorded yet, the one that is to
        record it.
    line : str
        The program's file and line, a colon between; "" where it is not known; of a planned wait
        "planned".

    Examples
    --------
    >>> import asnumpy as np
    >>> np.debug.Wait("left", "ready", "right", "planned")
    Wait(stream='left', event='ready', recorder='right', line='planned')
    """

    stream: str
    event: str | None
    recorder: str
    line: str

    def __str__(self):
        what = f"{self.event}, which {self.recorder} records" if self.event else self.recorder
        return f"{self.stream} waits for {what}" + (f" ({self.line})" if self.line else "")


class Deadlocks:
    """What check_deadlock found; it is true where there is a deadlock.

    Attributes
    ----------
    cycles : list of list of Wait
        Each is a chain of waits that ends where it began.
    stranded : list of Wait
        Waits for an event whose stream nobody holds any more, so that nobody can record it.
    waits : list of Wait
        All that last now: each ends when its event is recorded.

    Parameters
    ----------
    cycles, stranded, waits
        As the attributes.

    Examples
    --------
    >>> import asnumpy as np
    >>> found = np.debug.check_deadlock()
    >>> bool(found), found.advice
    (False, [])
    """

    def __init__(self, cycles, stranded, waits):
        self.cycles, self.stranded, self.waits = cycles, stranded, waits

    @property
    def advice(self):
        """What to do about each cycle, then about each stranded wait, as a list of str."""
        told = []
        for cycle in self.cycles:
            names = list(dict.fromkeys(w.stream for w in cycle))
            if len(names) <= 2:
                told.append(
                    f"merge {' and '.join(names)} into one stream, or let one of them wait for what the other has "
                    "put there before it waits itself (wait_stream)"
                )
            else:
                told.append(
                    f"a cycle of {len(names)} streams: put the work of {', '.join(names)} on one stream, or redesign "
                    "it so that events go one way"
                )
        for w in self.stranded:
            told.append(
                f"keep the stream {w.recorder} until it has recorded {w.event}, or drop the event: who waits for it "
                "then goes on, with an error"
            )
        return told

    def __bool__(self):
        return bool(self.cycles or self.stranded)

    def __str__(self):
        if not self:
            held = "".join(f"\n  {w}" for w in self.waits)
            return "no deadlock" + (
                f"; {len(self.waits)} waits end when their events are recorded:{held}"
                if held
                else ""
            )
        parts = ["; ".join(map(str, cycle)) for cycle in self.cycles]
        parts += [f"{w}, a stream that nobody holds any more" for w in self.stranded]
        lines = zip(parts, self.advice, strict=True)
        return "\n".join(f"deadlock: {part}\n  advice: {advice}" for part, advice in lines)

    def __repr__(self):
        return (
            f"<{len(self.cycles)} cycles, {len(self.stranded)} stranded, {len(self.waits)} waits>"
        )


class _Edge(NamedTuple):
    """A wait as the core has it: `as_far` waits of stream `to` come before what is waited for."""

    source: int
    number: float
    to: int
    as_far: float
    open: bool  # for an event that is not recorded yet
    held: bool  # whether somebody holds the stream `to`
    shown: Wait


class _Graph:
    """The waits that last, and those that a program plans, by the number of the waiting stream."""

    def __init__(self):
        self.edges = {}
        for source, name, number, event, to, to_name, held, as_far, site in _core._stream_waits():
            is_open = event is not None and not event[2]
            line = f"{site[0]}:{site[1]}" if site else ""
            shown = Wait(name, event[1] if event else None, to_name, line)
            reach = math.inf if is_open else as_far
            self.add(_Edge(source, number, to, reach, is_open, bool(held), shown))

    def add(self, edge):
        self.edges.setdefault(edge.source, []).append(edge)

    def way(self, edge, who, seen):
        """The edges from this one to an event that `who` is to record; None: it leads to none."""
        if edge.open and edge.to == who:
            return [edge]
        if (edge.to, edge.as_far) in seen:  # followed before, in vain
            return None
        seen.add((edge.to, edge.as_far))
        for follower in self.edges.get(edge.to, ()):
            if follower.number < edge.as_far:
                found = self.way(follower, who, seen)
                if found:
                    return [edge, *found]
        return None

    def planned(self, stream, event):
        """The edge of a wait that is yet to be asked for; None: it would pass at once."""
        _, name, recorded, before, by = _core._event_info(event._handle)
        if recorded is None and by is None:
            return None
        number = 1 + max((e.number for e in self.edges.get(stream.number, ())), default=-1)
        if recorded is None:
            to, to_name, reach = by[0], by[1], math.inf
        else:
            to, to_name, reach = recorded, f"stream {recorded}", before
        shown = Wait(stream.name, name, to_name, "planned")
        return _Edge(stream.number, number, to, reach, recorded is None, True, shown)


def _checked(streams, events):
    """The numbers of the streams (None: all), the planned waits and the addresses of the events."""
    wanted = None if streams is None else list(streams)
    for x in wanted or ():
        if not isinstance(x, Stream):
            raise TypeError(f"check_deadlock: streams has a {type(x).__name__}; it takes Streams")
    plan, names = [], set()
    for x in events:
        if isinstance(x, Event):
            names.add(x.name)
        elif (
            isinstance(x, tuple)
            and len(x) == 2
            and isinstance(x[0], Stream)
            and isinstance(x[1], Event)
        ):
            plan.append(x)
        else:
            raise TypeError(
                f"check_deadlock: events has a {type(x).__name__}; it takes Events, and pairs (Stream, Event), "
                "which are waits that are planned"
            )
    numbers = None if wanted is None else {s.number for s in wanted}
    return numbers, plan, names


def check_deadlock(streams=None, events=()):
    """Says which streams wait for each other for ever, and what to do about it.

    Parameters
    ----------
    streams : iterable of Stream, optional
        Whose waits are looked at; by default all streams'.
    events : iterable
        Events: of the waits that last, only those for these are shown. Pairs (stream, event): waits
        that the program plans, in its order; the event is made for a stream, `Event(stream)`, which
        will record it after all that it waits for.

    Returns
    -------
    Deadlocks
        True where there is one.

    Raises
    ------
    TypeError
        Something else among them.

    Notes
    -----
    Waits that were asked for form no cycle: the one that would close it raised. Planned waits are
    looked at without being asked for. What other libraries put on streams (aclrtValueWait, ...) is not
    known here.

    Examples
    --------
    >>> import asnumpy as np
    >>> left, right = np.Stream(name="left"), np.Stream(name="right")
    >>> a, b = np.Event(left, name="a"), np.Event(right, name="b")
    >>> found = np.debug.check_deadlock(events=[(left, b), (right, a)])
    >>> bool(found), found.advice[0][:37]
    (True, 'merge right and left into one stream,')
    """
    numbers, plan, names = _checked(streams, events)
    graph, cycles = _Graph(), []
    known = [e for edges in graph.edges.values() for e in edges]
    for stream, event in plan:
        edge = graph.planned(stream, event)
        if edge is None:
            continue
        found = graph.way(edge, edge.source, set())
        if not found:
            graph.add(edge)
        elif numbers is None or numbers & {e.source for e in found}:
            cycles.append([e.shown for e in found])
    waits = [
        e
        for e in known
        if (numbers is None or e.source in numbers) and (not names or e.shown.event in names)
    ]
    stranded = [e.shown for e in waits if e.open and not e.held]
    return Deadlocks(cycles, stranded, [e.shown for e in waits])
