"""The HTML page of a profile: one file, no network. The page's own text is _profile.html; this fills in its data."""

import json
import pathlib

from ._profile_bubbles import by_stream

MOST_EVENTS = 50_000  # of the page; the longest are kept
MOST_PROGRAMS = 24  # graphs


def _events(p):
    """The events the page draws, and how many it leaves out."""
    events = [e for e in p.events if e.kind not in ("allocate", "release")]
    left_out = max(0, len(events) - MOST_EVENTS)
    if left_out:
        shortest = sorted(events, key=lambda e: e.seconds)[left_out].seconds
        events = [e for e in events if e.seconds >= shortest][:MOST_EVENTS]
    return events, left_out


def _programs(events):
    """The fused programs that took longest: name, shape, steps, time, calls."""
    found = {}
    for e in events:
        if not e.program:
            continue
        at = found.setdefault(id(e.program), [e.name, e.program, 0.0, 0])
        at[2] += e.seconds
        at[3] += e.calls
    longest = sorted(found.values(), key=lambda f: -f[2])[:MOST_PROGRAMS]
    return [
        {"name": name, "shape": list(program["shape"]), "steps": program["steps"], "loads": program["loads"],
         "stores": program["stores"], "seconds": seconds, "calls": calls}
        for name, program, seconds, calls in longest
    ]  # fmt: skip


def data(p):
    """What the page shows, as a dictionary."""
    from ._profile import limits

    events, left_out = _events(p)
    names, lines = {}, {}
    drawn = [
        [names.setdefault((e.kind, e.name), len(names)), round(e.start * 1e6, 3), round(e.seconds * 1e6, 3),
         e.bytes, e.flops, lines.setdefault(e.line, len(lines)), e.thread, e.calls]
        for e in events
    ]  # fmt: skip
    bandwidth, flops = limits()
    return {
        "seconds": p.seconds,
        "dropped": p.dropped,
        "leftOut": left_out,
        "bandwidth": bandwidth,
        "flops": flops,
        "names": list(names),
        "lines": list(lines),
        "events": drawn,
        "memory": [[round(t * 1e6, 3), b] for t, b in p.memory()],
        "rows": [r._asdict() for r in p.rows()],
        "byLine": [r._asdict() for r in p.rows("line")],
        "waits": [
            [why, line, v[0], v[1]]
            for (kind, why, line), v in sorted(p.totals().items(), key=lambda t: -t[1][0])
            if kind == "synchronize"
        ],
        "bubbles": [
            [stream, why, n, seconds, longest]
            for stream, (_, _, longest, whys) in by_stream(p.bubbles()).items()
            for why, (n, seconds) in sorted(whys.items(), key=lambda w: -w[1][1])
        ],
        "programs": _programs(events),
    }


def page(p):
    """The page's text."""
    template = pathlib.Path(__file__).with_name("_profile.html").read_text(encoding="utf-8")
    # "</script>" inside of a string would end the script.
    return template.replace("/*DATA*/null", json.dumps(data(p)).replace("</", "<\\/"))


def write(p, path):
    pathlib.Path(path).write_text(page(p), encoding="utf-8")
