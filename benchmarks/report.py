"""Results as people and programs read them: one table per group, a summary against the bars, JSON.

A ratio is AsNumpy's time over the other library's: below 1 is faster. The bar is written the same way, so that
a row is met when its ratio is at most its bar. On a terminal met rows are green, rows within 10 % of
their bar yellow, missed ones red.
"""

import json
import math
import os
import platform
import statistics

import groups
import peers

GREEN, YELLOW, RED, DIM, BOLD, RESET = (
    "\033[32m",
    "\033[33m",
    "\033[31m",
    "\033[2m",
    "\033[1m",
    "\033[0m",
)
NEAR = 1.1
SHORT = {"torch.compile": "t.compile"}
PROGRAMS_BAR = 1 / 4  # of the geometric mean


def ratio(row, peer=peers.BASE):
    """AsNumpy's time over a peer's; None when either has no entry."""
    ours, theirs = row["seconds"].get(peers.OURS), row["seconds"].get(peer)
    return ours / theirs if ours and theirs else None


def share(row):
    """The bar as a ratio; None without one."""
    return 1 / row["bar"] if row["bar"] else None


def verdict(row):
    """ "met", "near" or "missed"; "" without a bar, "absent" without AsNumpy."""
    value, bar = ratio(row), share(row)
    if value is None:
        return "absent" if peers.OURS not in row["seconds"] else ""
    if bar is None:
        return ""
    return "met" if value <= bar else "near" if value <= NEAR * bar else "missed"


def of_limit(row):
    """How much of the machine's limit AsNumpy reaches."""
    ours = row["seconds"].get(peers.OURS)
    return row["limit"] / ours if row["limit"] and ours else None


def geometric_mean(rows):
    values = [r for r in map(ratio, rows) if r]
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


def human(seconds, unit="s"):
    if unit == "B":
        return f"{seconds / 2**20:.2f} MiB"
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.2f} {unit}"
    return f"{seconds * 1e9:.1f} ns"


def figure(row, peer):
    """A library's figure in words."""
    if peer not in row["seconds"]:
        return "absent" if peer == peers.OURS else "-"
    return human(row["seconds"][peer], row["unit"])


def kept(row):
    """Fewest samples kept by AsNumpy or NumPy; `!` when a cap ended the row before all had enough."""
    counts = [row["kept"][n] for n in (peers.OURS, peers.BASE) if n in row["kept"]]
    return f"{min(counts, default=0)}{'!' if row['capped'] else ''}"


class Paint:
    """Colours when the output is a terminal."""

    def __init__(self, stream):
        self.on = stream.isatty() and not os.environ.get("NO_COLOR")

    def __call__(self, colour, text):
        return f"{colour}{text}{RESET}" if self.on and colour else text

    def verdict(self, state, text):
        return self({"met": GREEN, "near": YELLOW, "missed": RED}.get(state), text)


def table(rows, stream):
    """Prints one group's rows of one number of threads."""
    paint = Paint(stream)
    others = [n for n in peers.NAMES if n not in (peers.OURS, peers.BASE)
              and any(n in r["seconds"] for r in rows)]  # fmt: skip
    wide = max(len(r["label"]) for r in rows) + 2
    first = rows[0]
    heading = f"{first['group']}, {first['threads']} thread{'s' if first['threads'] > 1 else ''}"
    stream.write(f"\n{paint(BOLD, heading)}: {groups.GROUPS[first['group']]}\n")
    titles = "".join(f"{SHORT.get(n, n):>10s}" for n in others)
    stream.write(paint(DIM, f"{'':{wide}s}{'AsNumpy':>11s}{groups.YARDSTICK.get(first['group'], 'NumPy'):>11s}{'ratio':>8s}{'bar':>7s}"
                            f"{titles}{'limit':>7s}{'kept':>6s}") + "\n")  # fmt: skip
    for row in rows:
        stream.write(line(row, others, wide, paint) + "\n")
    if first["group"] == "programs" and geometric_mean(rows):
        mean = geometric_mean(rows)
        state = "met" if mean <= PROGRAMS_BAR else "missed"
        text = f"{'geometric mean':{wide}s}{'':22s}{mean:8.2f}{PROGRAMS_BAR:7.2f}"
        stream.write(paint.verdict(state, text) + "\n")
    stream.flush()


def line(row, others, wide, paint):
    value, bar, limit = ratio(row), share(row), of_limit(row)
    text = f"{row['label']:{wide}s}{figure(row, peers.OURS):>11s}{figure(row, peers.BASE):>11s}"
    number = f"{value:8.2f}" if value is not None else f"{'-':>8s}"
    state = verdict(row)
    text += paint.verdict(state, number) + (f"{bar:7.2f}" if bar else " " * 7)
    for name in others:
        other = ratio(row, name)
        cell = f"{other:10.2f}" if other is not None else f"{'-':>10s}"
        text += paint(RED, cell) if other is not None and other > 1 else cell
    return text + (f"{limit:7.0%}" if limit else " " * 7) + f"{kept(row):>6s}"


def summary(rows, stream):
    """Group by group: how many bars are met, and the geometric mean of the ratios."""
    paint = Paint(stream)
    stream.write(f"\n{paint(BOLD, 'summary')}: ratios are AsNumpy's time over NumPy's\n")
    for threads in sorted({r["threads"] for r in rows}):
        for group in groups.GROUPS:
            these = [r for r in rows if r["group"] == group and r["threads"] == threads]
            if not these:
                continue
            states = [verdict(r) for r in these]
            barred = [s for s in states if s in ("met", "near", "missed")]
            mean = geometric_mean(these)
            text = f"{group:14s}{threads} thread{'s' if threads > 1 else ' '}  {states.count('met'):4d} of {len(barred):4d} bars met"
            text += f"   geometric mean {mean:5.2f}" if mean else ""
            text += f"   absent {states.count('absent')}" if "absent" in states else ""
            stream.write(
                paint.verdict("met" if states.count("met") == len(barred) else "missed", text)
                + "\n"
            )
    few = sum(1 for r in rows if r["capped"])
    stream.write(
        f"{len(rows)} rows; in {few} of them (marked !) a cap ended the sampling before every library had enough quiet samples, and with fewer than five the faster half of all samples stands in\n"
    )


def machine():
    """What the figures were taken on."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            names = [
                text.split(":", 1)[1].strip() for text in file if text.startswith("model name")
            ]
        model = f"{names[0]}, {len(names)} processors" if names else model
    except OSError:
        model += f", {os.cpu_count()} processors"
    return {"cpu": model, "system": platform.platform(), "python": platform.python_version()}


def write_json(path, results):
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(results, indent=1))
    part.replace(path)
