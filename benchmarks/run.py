"""The bench: AsNumpy beside NumPy and other libraries, group by group, against the bars and the machine's limits.

usage: run.py [--group fusion,matmul] [--quick] [--threads 1,2] [--peers numpy,torch] [--repeats 20]
              [--row-seconds 3] [--json FILE] [--html FILE] [--list]

Prints a table per group; writes JSON and one HTML page. The exit status is 0 unless the bench itself failed:
a missed bar is a result.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import time

import groups
import page
import peers
import report
from tqdm import tqdm

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE / "results"
QUICK_SECONDS = 120  # all in all: rows share what is left when the machine is busy


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--group", default=",".join(groups.GROUPS), help="comma-separated")
    parser.add_argument(
        "--quick", action="store_true", help="a representative subset, under three minutes"
    )
    parser.add_argument("--threads", default=None, help="comma-separated; default 1,2 (quick: 1)")
    parser.add_argument(
        "--peers", default=None, help="comma-separated, of " + " ".join(peers.NAMES[1:])
    )
    parser.add_argument("--repeats", type=int, default=None, help="samples kept of each library")
    parser.add_argument("--row-seconds", type=float, default=None, help="cap on one row's sampling")
    parser.add_argument("--json", type=pathlib.Path, default=RESULTS / "latest.json")
    parser.add_argument("--html", type=pathlib.Path, default=RESULTS / "latest.html")
    parser.add_argument("--list", action="store_true", help="print the groups and stop")
    args = parser.parse_args()
    args.group = args.group.split(",")
    unknown = [g for g in args.group if g not in groups.GROUPS]
    if unknown:
        parser.error(f"no group {', '.join(unknown)}; there are {', '.join(groups.GROUPS)}")
    two = len(os.sched_getaffinity(0)) > 1
    args.threads = args.threads or ("1" if args.quick or not two else "1,2")
    args.threads = [int(t) for t in args.threads.split(",")]
    chosen = args.peers.split(",") if args.peers else peers.QUICK if args.quick else peers.NAMES
    args.peers = [*{peers.OURS: 0, peers.BASE: 0, **dict.fromkeys(chosen, 0)}]
    args.repeats = args.repeats or 20
    args.row_seconds = args.row_seconds or (1.0 if args.quick else 3.0)
    args.budget = QUICK_SECONDS / len(args.threads) if args.quick else None
    return args


class Session:
    """Runs workers, one number of threads after the other, and collects what they tell."""

    def __init__(self, args):
        self.args = args
        self.results = {"started": time.strftime("%Y-%m-%d %H:%M"), "machine": report.machine(),
                        "repeats": args.repeats, "limits": {}, "versions": {}, "missing": {}, "rows": [],
                        "crashed": []}  # fmt: skip

    def worker(self, batch, threads, skip):
        """One process; yields its events. Its errors go to a log beside the results."""
        request = {"groups": batch, "quick": self.args.quick, "skip": skip, "threads": threads,
                   "peers": self.args.peers, "repeats": self.args.repeats, "row_seconds": self.args.row_seconds, "budget": self.args.budget,
                   "limits": self.results["limits"].get(str(threads))}  # fmt: skip
        self.args.json.parent.mkdir(parents=True, exist_ok=True)
        with open(self.args.json.with_suffix(".log"), "a") as log:
            process = subprocess.Popen([sys.executable, str(HERE / "runner.py")], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=log, text=True,
                                       env={**(groups.environment(batch[0]) or os.environ), **peers.environment(threads)})  # fmt: skip
            json.dump(request, process.stdin)
            process.stdin.close()
            try:
                yield from map(json.loads, process.stdout)
            finally:
                process.kill()
                process.wait()

    def run(self, batch, threads, bar):
        """A batch's rows with one number of threads; a row that ends its worker is noted and passed over."""
        rows = groups.select(batch, self.args.quick, threads)
        left = collections.Counter(r.group for r in rows)
        done = 0
        while done < len(rows):
            before = done
            finished = False
            for event in self.worker(batch, threads, done):
                kind = event.pop("event")
                if kind == "limits":
                    self.results["limits"][str(threads)] = event["limits"]
                elif kind == "peers":
                    self.results["versions"], self.results["missing"] = (
                        event["versions"],
                        event["missing"],
                    )
                    if peers.OURS in event["missing"]:
                        sys.exit(
                            f"asnumpy does not import ({event['missing'][peers.OURS]}): make build"
                        )
                elif kind == "start":
                    bar.set_postfix_str(f"{event['group']}: {event['label']}")
                elif kind == "row":
                    done += 1
                    self.take(event["row"], left, bar)
                elif kind == "end":
                    finished = True
            if finished:
                return
            row = rows[done]
            if done == before == 0 and not self.results["versions"]:
                sys.exit(f"the worker did not start; see {self.args.json.with_suffix('.log')}")
            self.results["crashed"].append(
                {"group": row.group, "label": row.label, "threads": threads}
            )
            tqdm.write(f"{row.group}: {row.label}: the worker ended here; see the log")
            done += 1
            left[row.group] -= 1
            bar.update()

    def take(self, row, left, bar):
        self.results["rows"].append(row)
        bar.update()
        left[row["group"]] -= 1
        if left[row["group"]] == 0:
            these = [r for r in self.results["rows"]
                     if r["group"] == row["group"] and r["threads"] == row["threads"]]  # fmt: skip
            with tqdm.external_write_mode(file=sys.stdout):
                report.table(these, sys.stdout)
            self.write()

    def write(self):
        report.write_json(self.args.json, self.results)
        self.args.html.write_text(page.render(self.results))


def main():
    args = arguments()
    if args.list:
        for name, text in groups.GROUPS.items():
            print(f"{name:14s}{len(groups.rows_of(name)):5d} rows  {text}")
        return
    session = Session(args)
    args.json.with_suffix(".log").unlink(missing_ok=True)
    total = sum(len(groups.select(args.group, args.quick, t)) for t in args.threads)
    with tqdm(total=total, unit="row", dynamic_ncols=True, disable=not sys.stderr.isatty()) as bar:
        for threads in args.threads:
            for batch in groups.batches(args.group):
                session.run(batch, threads, bar)
    session.write()
    report.summary(session.results["rows"], sys.stdout)
    for name, why in session.results["missing"].items():
        print(f"{name} is not installed ({why}): make bench-peers")
    print(f"written to {args.json} and {args.html}")


if __name__ == "__main__":
    main()
