"""Exports a profile of the CPU device to the tables and the time line that CANN's msprof documents.

usage: msprof --export=on --output=PROF_FOLDER

Reads what aclprofFinalize left in the folder (trace.json, host/start_info) and writes to mindstudio_profiler_output:

op_summary_*.csv      every operator and collective: device, stream, type, start, duration, wait
op_statistic_*.csv    the same by type
task_time_*.csv       the same with asynchronous copies and fills
msprof_*.json         the time line: a row per stream, what a device computed, communicated and when it was free,
                      the program's marks and ranges; arrows from each launch to its task

An operator of the CPU device is one task of the type AI_CPU: no AI core takes part, and columns about them are not
there. Sizes of transfers are not recorded, so --analyze=on has nothing to say about collectives.
Standard library only.
"""

import collections
import csv
import json
import pathlib
import shutil
import sys
import time
from decimal import Decimal

# Processes of the time line, in their order; with the program's number and the device they make a process's number.
CANN, HARDWARE, OVERLAP = 2, 3, 4


class Profile:
    """Events of one session, in nanoseconds of the day."""

    def __init__(self, folder):
        start = json.loads((folder / "host" / "start_info").read_text())
        shift = round(Decimal(start["collectionTimeBegin"]) * 1000) - int(
            start["clockMonotonicRaw"]
        )
        trace = json.loads((folder / "trace.json").read_text(), parse_float=Decimal)
        self.process = 0
        self.tasks, self.notes = [], []
        for event in trace["traceEvents"]:
            self.process = event["pid"]
            for key in ("ts", "dur"):
                event[key] = round(event.get(key, 0) * 1000)
            event["ts"] += shift
            arguments = event["args"]
            if event["cat"] == "operator":
                arguments["launched"] = round(arguments["launched"] * 1000) + shift
                arguments["device"] = max(0, arguments["device"])
                self.tasks.append(event)
            else:
                self.notes.append(event)
        self.tasks.sort(key=lambda e: e["ts"])
        devices = {int(f.name[7:]) for f in folder.glob("device_[0-9]*")}
        self.devices = sorted(devices | {t["args"]["device"] for t in self.tasks})


def kind_of(task):
    """CANN's name for what does it."""
    name = task["name"]
    if name.startswith("Hccl"):
        return "COMMUNICATION"
    return name if name.startswith(("MEMCPY_", "MEMSET_")) else "AI_CPU"


def type_of(task):
    """The operator's type: its name without the prefix of the interface."""
    return task["name"].removeprefix("aclnn")


def microseconds(ns):
    """As a text: a float of the day's time loses digits."""
    return f"{ns // 1000}.{ns % 1000:03d}"


def waits(tasks):
    """How long the stream did nothing before each task, 0 before its first."""
    ends = {}
    for task in tasks:
        stream = (task["args"]["device"], task["args"]["stream"])
        yield max(0, task["ts"] - ends.get(stream, task["ts"]))
        ends[stream] = task["ts"] + task["dur"]


# ---- tables


def write_table(path, header, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def summary(tasks):
    header = [
        "Device_id",
        "Task ID",
        "Stream ID",
        "Op Name",
        "OP Type",
        "Task Type",
        "Task Start Time(us)",
        "Task Duration(us)",
        "Task Wait Time(us)",
    ]
    rows = []
    for number, (task, wait) in enumerate(zip(tasks, waits(tasks), strict=True)):
        if kind_of(task) in ("AI_CPU", "COMMUNICATION"):
            where = task["args"]
            times = [microseconds(t) for t in (task["ts"], task["dur"], wait)]
            what = [task["name"], type_of(task), kind_of(task)]
            rows.append([where["device"], number, where["stream"], *what, *times])
    return header, rows


def statistic(tasks):
    header = [
        "Device_id",
        "OP Type",
        "Core Type",
        "Count",
        "Total Time(us)",
        "Min Time(us)",
        "Avg Time(us)",
        "Max Time(us)",
        "Ratio(%)",
    ]
    groups = collections.defaultdict(list)
    totals = collections.Counter()
    for task in tasks:
        if kind_of(task) == "AI_CPU":
            groups[task["args"]["device"], type_of(task)].append(task["dur"])
            totals[task["args"]["device"]] += task["dur"]
    rows = []
    for (device, name), times in sorted(groups.items(), key=lambda g: (g[0][0], -sum(g[1]))):
        numbers = (sum(times), min(times), sum(times) // len(times), max(times))
        share = f"{100 * sum(times) / max(1, totals[device]):.3f}"
        rows.append([device, name, "AI_CPU", len(times), *map(microseconds, numbers), share])
    return header, rows


def task_times(tasks):
    header = [
        "Device_id",
        "kernel_name",
        "kernel_type",
        "stream_id",
        "task_id",
        "task_time(us)",
        "task_start(us)",
        "task_stop(us)",
    ]
    rows = []
    for number, task in enumerate(tasks):
        where = task["args"]
        times = (task["dur"], task["ts"], task["ts"] + task["dur"])
        what = [where["device"], task["name"], kind_of(task), where["stream"], number]
        rows.append([*what, *map(microseconds, times)])
    return header, rows


# ---- the time line


def union(spans):
    """Spans [begin, end), sorted and without overlaps."""
    joined = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    return joined


def without(spans, others):
    """What of the first union lies in no span of the second."""
    left = []
    for begin, end in spans:
        for other_begin, other_end in others:
            if other_end <= begin or other_begin >= end:
                continue
            if other_begin > begin:
                left.append([begin, other_begin])
            begin = max(begin, other_end)
        if begin < end:
            left.append([begin, end])
    return left


class TimeLine:
    """Events in the trace event format."""

    def __init__(self, process):
        self.process = process
        self.events = []
        self.threads = set()

    def group(self, order, device, name, label):
        """A process of the time line; returns its number."""
        pid = self.process << 10 | order << 5 | device
        for key, value in (
            ("process_name", {"name": name}),
            ("process_labels", {"labels": label}),
            ("process_sort_index", {"sort_index": order}),
        ):
            self.events.append({"name": key, "pid": pid, "tid": 0, "ph": "M", "args": value})
        return pid

    def row(self, pid, tid, name):
        if (pid, tid) in self.threads:
            return
        self.threads.add((pid, tid))
        value = {"name": name}
        self.events.append(
            {"name": "thread_name", "pid": pid, "tid": tid, "ph": "M", "args": value}
        )

    def span(self, name, pid, tid, begin, length, arguments):
        event = {"name": name, "pid": pid, "tid": tid, "ts": microseconds(begin), "args": arguments}
        self.events.append({**event, "ph": "X", "dur": length / 1000})

    def arrow(self, number, end, pid, tid, moment):
        event = {"name": f"HostToDevice{number}", "cat": "HostToDevice", "id": str(number)}
        where = {"pid": pid, "tid": tid, "ts": microseconds(moment), "ph": "f" if end else "s"}
        self.events.append({**event, **where, "bp": "e"})


def add_overlap(line, device, tasks):
    """What the device did: as torch_npu's step_trace_time.csv adds it up."""
    spans = {"Computing": [], "Communication": []}
    for task in tasks:
        kind = {"AI_CPU": "Computing", "COMMUNICATION": "Communication"}.get(kind_of(task))
        if kind:
            spans[kind].append((task["ts"], task["ts"] + task["dur"]))
    computing, communication = union(spans["Computing"]), union(spans["Communication"])
    busy = union([tuple(s) for s in computing + communication])
    if not busy:
        return
    pid = line.group(OVERLAP, device, "Overlap Analysis", f"NPU {device}")
    rows = {
        "Computing": computing,
        "Communication": communication,
        "Communication(Not Overlapped)": without(communication, computing),
        "Free": without([[busy[0][0], busy[-1][1]]], busy),
    }
    for tid, (name, found) in enumerate(rows.items()):
        line.row(pid, tid, name)
        for begin, end in found:
            line.span(name, pid, tid, begin, end - begin, {})


def time_line(profile):
    line = TimeLine(profile.process)
    host = line.group(CANN, 0, "CANN", "CPU")
    hardware = {d: line.group(HARDWARE, d, "Ascend Hardware", f"NPU {d}") for d in profile.devices}
    for number, task in enumerate(profile.tasks):
        where = task["args"]
        pid, tid = hardware[where["device"]], where["stream"]
        line.row(pid, tid, f"Stream {tid}")
        line.row(host, where["launcher"], f"Thread {where['launcher']}")
        told = {"Task Type": kind_of(task), "Stream Id": tid, "Task Id": number}
        told["connection_id"] = number
        line.span(task["name"], pid, tid, task["ts"], task["dur"], told)
        line.arrow(number, False, host, where["launcher"], where["launched"])
        line.arrow(number, True, pid, tid, task["ts"])
    for note in profile.notes:
        where = note["args"]
        on_device = where["device"] in hardware
        pid = hardware[where["device"]] if on_device else host
        tid = f"Stream {where['stream']} marks" if on_device else note["tid"]
        number = -1 - where["stream"] if on_device else tid
        line.row(pid, number, tid if on_device else f"Thread {tid}")
        told = {"domain": where["domain"]} if "domain" in where else {}
        line.span(note["name"], pid, number, note["ts"], note["dur"], {**told, "kind": note["cat"]})
    for device in profile.devices:
        add_overlap(line, device, [t for t in profile.tasks if t["args"]["device"] == device])
    return line.events


# ---- commands


def export(folder):
    profile = Profile(folder)
    output, made = folder / "mindstudio_profiler_output", folder / "mindstudio_profiler_making"
    shutil.rmtree(output, ignore_errors=True)
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    stamp = time.strftime("%Y%m%d%H%M%S")
    (made / f"msprof_{stamp}.json").write_text(json.dumps(time_line(profile)))
    for name, table in (
        ("task_time", task_times), ("op_statistic", statistic), ("op_summary", summary)
    ):  # fmt: skip
        write_table(made / f"{name}_{stamp}.csv", *table(profile.tasks))
    made.rename(output)  # who sees one table sees all
    # torch_npu looks for tables each 100 ms while the export runs, and gives up when the export ends before it saw one.
    time.sleep(0.5)
    print(f"{len(profile.tasks)} tasks, {len(profile.notes)} marks and ranges: {output}")


def analyze(folder):
    """Succeeds where there is nothing to analyse."""
    collectives = sum(kind_of(t) == "COMMUNICATION" for t in Profile(folder).tasks)
    if collectives:
        sys.exit(
            f"msprof: the profile of the CPU device has the times of {collectives} collectives, not their sizes"
        )


def folders(path):
    """The profile, or those in the folder."""
    if (path / "trace.json").exists():
        return [path]
    return sorted(f.parent for f in path.glob("PROF_*/trace.json"))


def main(arguments):
    if not arguments or "--help" in arguments:
        print(__doc__)
        return
    options = dict(a.lstrip("-").partition("=")[::2] for a in arguments)
    commands = [c for c in (export, analyze) if options.pop(c.__name__, "off") == "on"]
    if options.pop("type", "text") != "text" or set(options) - {"output"} or not commands:
        sys.exit(
            f"msprof: {' '.join(arguments)}; --export=on or --analyze=on with --output=FOLDER are understood"
        )
    found = folders(pathlib.Path(options.get("output", ".")))
    if not found:
        sys.exit(f"msprof: {options.get('output', '.')} is no folder that aclprofFinalize wrote")
    for folder in found:
        for command in commands:
            command(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
