"""Sampling: every library of a row in turn, sample by sample, each between two looks at the gate.

usage (by run.py): runner.py < request.json      prints one JSON object a line: what happened

A worker is one process with one number of threads, fixed by its environment. Its libraries are interleaved at
the level of samples, so that all of them meet the same machine; a figure is the median of the samples
that the gate let through, at least `repeats` of them unless the cap on tries or on seconds was hit, which
the row says. A row that ends the process costs one row: run.py starts another worker behind it.
"""

import gc
import json
import os
import statistics
import sys
import time

import gate
import groups
import peers

SAMPLE_SECONDS = (
    300e-6  # of short calls together: long against the clock, short against a disturbance
)
MEMORY_BYTES = 4 << 20  # rows that move more are gated by a read as well
PATIENCE, SLICE_SECONDS = 6, 2e-3  # looks at the gate before a sample that will not count
TRIES = 5  # for each kept sample wanted

clock = time.perf_counter


def median(values):
    return statistics.median(values) if values else None


class Contender:
    """One library in one row: its loop, how many calls make a sample, and its samples."""

    def __init__(self, run, result, row):
        self.run, self.result, self.timed = run, result, row.timed
        self.gated = row.unit == "s"  # bytes do not depend on the neighbours
        self.kept, self.all = [], []
        self.count = 1
        if not self.timed:
            self.run(1)
            first = self.once()
            if first < SAMPLE_SECONDS:
                self.count = max(1, int(SAMPLE_SECONDS / max(self.once_many(first), 1e-9)))

    def once(self):
        begin = clock()
        self.run(1)
        return clock() - begin

    def once_many(self, guess):
        count = max(1, int(SAMPLE_SECONDS / max(guess, 1e-7)))
        begin = clock()
        self.run(count)
        return (clock() - begin) / count

    def sample(self, door, memory, pause):
        """Takes one sample; returns the seconds it cost."""
        start = clock()
        if pause:
            time.sleep(pause)
        opened = door.open(memory)
        for _ in range(PATIENCE):  # a disturbance often lasts a time slice
            if opened:
                break
            time.sleep(SLICE_SECONDS)
            opened = door.open(memory)
        begin = clock()
        if self.timed:
            seconds = self.result()
        else:
            self.run(self.count)
            seconds = (clock() - begin) / self.count
        good = door.close(memory, clock() - begin)
        self.all.append(seconds)
        if opened and good or not self.gated:
            self.kept.append(seconds)
        return clock() - start

    def figure(self):
        """The median of the kept samples; of the faster half when the gate let fewer than five through."""
        if len(self.kept) >= 5:
            return median(self.kept)
        return median(sorted(self.all)[: (len(self.all) + 1) // 2])


def sample_all(row, entries, door, request, pause):
    """Interleaves samples until each entry has enough; True when a cap ended it."""
    memory = row.moved > MEMORY_BYTES
    repeats, spent = request["repeats"], 0.0
    for _ in range(TRIES * repeats):
        open_entries = [e for e in entries if len(e.kept) < repeats]
        if not open_entries:
            return False
        if spent > request["row_seconds"]:
            return True
        for entry in open_entries:
            spent += entry.sample(door, memory, pause)
    return any(len(e.kept) < repeats for e in entries)


def measure(row, found, door, request, limits):
    """The row's results, as a JSON object."""
    ready, absent = peers.contenders(row, found)
    entries = {name: Contender(*pair, row) for name, pair in ready.items()}
    gc.collect()
    gc.disable()
    pause = row.pause if request["threads"] > 1 else 0.0
    capped = sample_all(row, list(entries.values()), door, request, pause) if entries else False
    gc.enable()
    least = gate.limit_seconds(limits, row.moved, row.flops, row.single)
    return {
        "group": row.group, "label": row.label, "family": row.family, "n": row.n, "unit": row.unit,
        "threads": request["threads"], "bar": row.bar[0 if request["threads"] == 1 else 1],
        "seconds": {name: e.figure() for name, e in entries.items()},
        "kept": {name: len(e.kept) for name, e in entries.items()},
        "tries": {name: len(e.all) for name, e in entries.items()},
        "capped": capped, "absent": absent, "limit": least,
    }  # fmt: skip


def row_seconds(request, elapsed, rows_left):
    """The cap on a row's sampling; within a budget, at most its share of what is left (preparing takes half of it)."""
    if request["budget"] is None:
        return request["row_seconds"]
    share = 0.5 * (request["budget"] - elapsed) / rows_left
    return min(request["row_seconds"], max(share, 0.1))


def reporter():
    """A function that writes one event to the real standard output; what libraries print goes to stderr."""
    sys.stdout.flush()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def tell(event, **facts):
        out.write(json.dumps({"event": event, **facts}) + "\n")
        out.flush()

    return tell


def main():
    tell, begun = reporter(), clock()
    request = json.load(sys.stdin)
    rows = groups.select(request["groups"], request["quick"], request["threads"])[request["skip"] :]
    door = gate.Gate(request["threads"])
    limits = request["limits"] or door.limits()
    tell("limits", limits=limits)
    found, missing = peers.find(request["threads"], request["peers"])
    tell("peers", versions={n: p.version for n, p in found.items()}, missing=missing)
    for k, row in enumerate(rows):
        tell("start", label=row.label, group=row.group)
        share = row_seconds(request, clock() - begun, len(rows) - k)
        tell("row", row=measure(row, found, door, {**request, "row_seconds": share}, limits))
        gc.collect()
    tell("end")


if __name__ == "__main__":
    main()
