"""What is held, piece by piece; the history of allocations; hooks; a page that draws both."""

import html as _html
import json

from .. import _core
from ._summary import memory_summary, size

_ENTRIES = 100_000


def _site(site):
    return None if site is None else {"file": site[0], "line": site[1], "function": site[2]}


def _event(row):
    ns, kind, address, nbytes, in_use, held, site = row
    return {
        "ns": ns, "kind": kind, "address": address, "bytes": nbytes, "bytes_in_use": in_use, "bytes_held": held,
        "site": _site(site),
    }  # fmt: skip


def record_history(entries=_ENTRIES):
    """Keeps the last allocations and frees, with the lines of the program that they came from.

    Parameters
    ----------
    entries : int
        How many events are kept; 0 stops, and forgets them. An event costs about a microsecond.

    Returns
    -------
    int
        The number before.

    Examples
    --------
    >>> import asnumpy as np
    >>> before = np.memory.record_history(100)
    >>> a = np.ones(10_000)
    >>> np.synchronize()
    >>> len(np.memory_snapshot()["history"]) > 0
    True
    >>> _ = np.memory.record_history(before)
    """
    global _kept
    before = _core._watch_history(entries)
    _kept = entries
    return before


_kept = 0


def memory_snapshot(path=None):
    """Everything that is held now, and the recorded history.

    Parameters
    ----------
    path : path-like, optional
        A file to write it to as JSON.

    Returns
    -------
    dict
        stats and settings; segments: each piece that came from a device in one call, with device,
        address, bytes, kind ("segment", or "slab" for blocks of up to 64 KiB) and, for a segment, its
        ranges in address order (state "live", "idle", or "aside" in a bin; site: where the array was
        made, if that was recorded); history: the events since record_history, oldest first (kind
        "alloc", "free" or "failed").

    Examples
    --------
    >>> import asnumpy as np
    >>> sorted(np.memory_snapshot())
    ['history', 'segments', 'settings', 'stats']
    """
    limit, split, threshold = _core._memory_settings()
    segments = []
    for place, state, device, address, nbytes, site in _core._memory_walk():
        if place == "range":
            segments[-1]["ranges"].append(
                {"address": address, "bytes": nbytes, "state": state, "site": _site(site)}
            )
            continue
        piece = {"kind": place, "device": device, "address": address, "bytes": nbytes}
        if place == "segment":
            piece["ranges"] = []
        segments.append(piece)
    snapshot = {
        "stats": _core.memory_stats(),
        "settings": {"limit": limit or None, "max_split": split or None, "garbage_collection_threshold": threshold},
        "segments": segments,
        "history": [_event(row) for row in _core._watch_events(_kept)],
    }  # fmt: skip
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(snapshot, file, indent=1)
    return snapshot


def add_hook(hook):
    """Calls a function at every allocation, free and failed allocation of array memory.

    Parameters
    ----------
    hook : callable
        Takes a tuple (ns, kind, address, bytes, bytes_in_use, bytes_held, site), as the events of
        memory_snapshot. It may use arrays; what it allocates is not told to hooks. What it raises is
        written to stderr, and the allocation goes on. "failed" comes before the MemoryError.

    Returns
    -------
    None

    Raises
    ------
    TypeError
        Not a callable.
    NotImplementedError
        There are eight hooks already.

    Examples
    --------
    >>> import asnumpy as np
    >>> kinds = []
    >>> def hook(event):
    ...     kinds.append(event[1])
    >>> np.memory.add_hook(hook)
    >>> a = np.ones(10_000)
    >>> np.synchronize()
    >>> np.memory.remove_hook(hook)
    >>> "alloc" in kinds
    True
    """
    _core._watch_add_hook(hook)
    _hooks.append(hook)


def remove_hook(hook):
    """Does not call a hook any more.

    Parameters
    ----------
    hook : callable
        One that add_hook has.

    Returns
    -------
    None

    Raises
    ------
    ValueError
        It is none.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.memory.add_hook(print)
    >>> np.memory.remove_hook(print)
    """
    if hook not in _hooks:
        raise ValueError(f"{hook!r} is no memory hook")
    _core._watch_remove_hook(_hooks.pop(_hooks.index(hook)))


_hooks = []  # the objects that were added: a bound method is another one each time it is named


# ---- the page

_STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 1100px; color: #1b2733; }
h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 2em; }
svg { width: 100%; height: auto; background: #f6f8fa; }
pre { background: #f6f8fa; padding: 1em; overflow: auto; }
table { border-collapse: collapse; } td, th { padding: .15em 1em; text-align: right; }
td:last-child, th:last-child { text-align: left; }
.live { fill: #2b6cb0; } .idle { fill: #cbd5e0; } .aside { fill: #90b4d8; } .slab { fill: #7f9c6b; }
.use { fill: none; stroke: #2b6cb0; stroke-width: 1.5; } .held { fill: none; stroke: #a0aec0; stroke-width: 1.5; }
.axis { font-size: 12px; fill: #52606d; }
"""
_WIDTH, _HEIGHT = 1000, 260


def _curve(history):
    """In use and held over time, as an SVG element; a sentence where nothing was recorded."""
    if not history:
        return (
            "<p>No history: call <code>asnumpy.memory.record_history()</code> before the work.</p>"
        )
    start, end = history[0]["ns"], history[-1]["ns"]
    top = max(max(e["bytes_held"] for e in history), 1)

    def points(key):
        out, previous = [], None
        for e in history:
            x = _WIDTH * (e["ns"] - start) / max(end - start, 1)
            y = _HEIGHT * (1 - e[key] / top)
            if previous is not None:
                out.append(
                    f"{x:.1f},{previous:.1f}"
                )  # steps: memory does not change between events
            out.append(f"{x:.1f},{y:.1f}")
            previous = y
        return " ".join(out)

    return (
        f'<svg id="curve" viewBox="0 -20 {_WIDTH} {_HEIGHT + 45}" role="img">'
        f'<polyline class="held" points="{points("bytes_held")}"/>'
        f'<polyline class="use" points="{points("bytes_in_use")}"/>'
        f'<text class="axis" x="4" y="-6">{size(top)}</text>'
        f'<text class="axis" x="4" y="{_HEIGHT + 18}">0 s</text>'
        f'<text class="axis" x="{_WIDTH - 4}" y="{_HEIGHT + 18}" text-anchor="end">{(end - start) / 1e9:.3f} s</text>'
        "</svg><p>blue: in use by arrays; grey: held of the device</p>"
    )


def _label(piece, state, site):
    text = f"{size(piece['bytes'])}, {state}"
    return _html.escape(text + (f", {site['file']}:{site['line']}" if site else ""))


def _map(segments):
    """A bar per segment, in proportion to the largest; its ranges by state."""
    if not segments:
        return "<p>Nothing is held.</p>"
    longest, row, parts = max(s["bytes"] for s in segments), 22, []
    for i, segment in enumerate(segments):
        ranges = segment.get("ranges") or [{**segment, "state": "slab", "site": None}]
        for r in ranges:
            x = _WIDTH * (r["address"] - segment["address"]) / longest
            width = max(_WIDTH * r["bytes"] / longest, 0.5)
            parts.append(
                f'<rect class="{r["state"]}" x="{x:.2f}" y="{i * row}" width="{width:.2f}" height="{row - 4}">'
                f"<title>{_label(r, r['state'], r['site'])}</title></rect>"
            )
    height = row * len(segments)
    return (
        f'<svg id="map" viewBox="0 0 {_WIDTH} {height}" role="img">{"".join(parts)}</svg>'
        "<p>one bar per segment; blue: live, light blue: in bins, grey: idle, green: slabs of small blocks</p>"
    )


def _sites(history):
    """The lines that allocated most."""
    totals = {}
    for e in history:
        if e["kind"] == "alloc":
            site = e["site"] and (e["site"]["file"], e["site"]["line"])
            count, total = totals.get(site, (0, 0))
            totals[site] = (count + 1, total + e["bytes"])
    rows = "".join(
        f"<tr><td>{size(total)}</td><td>{count}</td>"
        f"<td>{_html.escape('{}:{}'.format(*site)) if site else 'unknown'}</td></tr>"
        for site, (count, total) in sorted(totals.items(), key=lambda item: -item[1][1])[:20]
    )
    return (
        f"<table><tr><th>allocated</th><th>times</th><th>line</th></tr>{rows}</table>"
        if rows
        else ""
    )


def page(path):
    """Writes a page that draws memory over time, what is held, and which lines allocated most.

    Parameters
    ----------
    path : path-like
        The HTML file: one file, which loads nothing else. The curve needs record_history.

    Returns
    -------
    None

    Examples
    --------
    >>> import asnumpy as np, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "memory.html")
    >>> np.memory.page(path)
    >>> os.path.getsize(path) > 0
    True
    """
    snapshot = memory_snapshot()
    text = (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>AsNumpy memory</title>'
        f"<style>{_STYLE}</style></head><body><h1>Memory</h1>"
        f"<h2>Over time</h2>{_curve(snapshot['history'])}{_sites(snapshot['history'])}"
        f"<h2>Held now</h2>{_map(snapshot['segments'])}"
        f"<h2>Summary</h2><pre>{_html.escape(memory_summary())}</pre></body></html>"
    )
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
