"""Events as files: in Chrome's trace format (the JSON object form), which Perfetto and chrome://tracing open, and as a
table for spreadsheets."""

import csv
import json
import os

# One track for each group of a thread: what encloses (a wait) is not on the track of what it encloses.
# What a stream does (but the default one) is on a track of its own, whichever thread put it there.
GROUPS = {"synchronize": "waits", "program": "operations", "operator": "operations", "small": "operations",
          "to device": "copies", "to host": "copies", "plan": "plans"}  # fmt: skip
STREAMS = 1_000_000  # the first stream's track
ORDER = ["waits", "plans", "operations", "copies"]


def trace(p):
    """The trace as a dictionary: "X" events with microseconds, a "C" counter for memory, "M" names."""
    pid = os.getpid()
    events = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "asnumpy"}}
    ]
    tracks = {}

    def name(tid, text):
        events.append(
            {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": text}}
        )
        events.append({"ph": "M", "name": "thread_sort_index", "pid": pid, "tid": tid,
                       "args": {"sort_index": tid}})  # fmt: skip

    def lane(stream):
        if ("stream", stream) not in tracks:
            tracks["stream", stream] = tid = STREAMS + stream
            name(tid, f"stream {stream}")
        return tracks["stream", stream]

    def track(thread, group):
        key = thread, group
        if key not in tracks:
            tracks[key] = tid = thread * 10 + ORDER.index(group)
            name(tid, f"thread {thread}: {group}")
        return tracks[key]

    events.append(
        {
            "ph": "C",
            "name": "bytes in use",
            "pid": pid,
            "ts": 0.0,
            "args": {"bytes": p.memory()[0][1]},
        }
    )
    for e in p.events:
        if e.kind in ("allocate", "release"):
            events.append({"ph": "C", "name": "bytes in use", "pid": pid, "ts": max(0.0, e.start * 1e6),
                           "args": {"bytes": e.in_use}})  # fmt: skip
            continue
        args = {"line": e.line, "function": e.function}
        if e.bytes:
            args["bytes"] = e.bytes
        if e.flops:
            args["flops"] = e.flops
        if e.calls != 1:
            args["stands for calls"] = e.calls
        if e.program:
            args["operations"] = [
                f"{s['name']} {s['dtype']} {s['line']}" for s in e.program["steps"]
            ]
            args["shape"] = list(e.program["shape"])
        events.append({"ph": "X", "name": e.name, "cat": e.kind, "pid": pid,
                       "tid": lane(e.stream) if e.stream else track(e.thread, GROUPS[e.kind]), "ts": max(0.0, e.start * 1e6),
                       "dur": e.seconds * 1e6, "args": args})  # fmt: skip
    return {"traceEvents": events, "displayTimeUnit": "ns",
            "otherData": {"seconds": p.seconds, "dropped": p.dropped}}  # fmt: skip


def export(p, path):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(trace(p), file)


COLUMNS = ("Start(us)", "Duration(us)", "Kind", "Name", "Bytes", "Flops", "Calls", "Line", "Function",
           "Thread", "Stream", "InUse(bytes)")  # fmt: skip


def export_csv(p, path):
    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for e in p.events:
            times = (f"{e.start * 1e6:.3f}", f"{e.seconds * 1e6:.3f}")
            table.writerow(
                [*times, e.kind, e.name, e.bytes, e.flops, e.calls, e.line, e.function, e.thread,
                 e.stream, e.in_use]
            )  # fmt: skip
