"""Programs that nobody tuned, AsNumpy beside NumPy on one thread: how fast are they, and where are they slower?

usage: strangers.py [--seeds 9000:9100] [--no-expressions] [--only TEXT] [--sizes 2000,200000] [--repeats 9]
                    [--worst 20] [--json FILE]

Two kinds: random programs of the statement fuzzer's writer, by seed (tests/fuzz/fuzz_programs.py), and the plain
expressions of everyday.py, each at two sizes. Both libraries run in one process in turn, sample by sample, in CPU time; a
figure is the quotient of the medians, and of the best samples beside it. Results are compared first:
of programs as the fuzzer does, of expressions as the bench does, of statements by what they leave in their inputs.
Prints the geometric mean, the share that is slower than NumPy, and the worst, with what to type to see each again.

Seeds from 9000 are held out: nobody looks at one of these programs to mend it, so that their mean says
what a change did to programs that it was not made for. Look at those below.
"""

import argparse
import pathlib
import shlex
import statistics
import sys
import time
import warnings

import sweep  # first: it fixes the threads before a library starts

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "fuzz"))

import asnumpy  # noqa: E402
import everyday  # noqa: E402
import fuzz_compare  # noqa: E402
import fuzz_inputs  # noqa: E402
import fuzz_programs  # noqa: E402
import numpy  # noqa: E402
import peers  # noqa: E402
import report  # noqa: E402
import rows  # noqa: E402

HELD_OUT = range(9000, 9100)
SAMPLE_SECONDS = 300e-6
LEAST_SECONDS = 2e-3  # of a program's samples together: short ones get more
WARM = 3  # runs before the first sample: plans are made, blocks are in the pool


def result(kind, label, again, samples):
    """A row like the bench's: medians as `seconds`, the best samples beside them."""
    ours, base = samples
    return {"kind": kind, "label": label, "again": again,
            "seconds": {peers.OURS: statistics.median(ours), peers.BASE: statistics.median(base)},
            "best": {peers.OURS: min(ours), peers.BASE: min(base)}}  # fmt: skip


# ---- random programs


class Program:
    """A random program under one library: its statements compiled, its inputs made anew for every sample."""

    def __init__(self, np, program):
        self.inputs = compile("\n".join(program.inputs), "<inputs>", "exec")
        body = "\n    ".join("\n".join(program.statements).split("\n"))
        given = ", ".join(line.split(" = ")[0] for line in program.inputs)
        self.names = given.split(", ") if given else []
        scope = {"np": np}
        exec(
            f"def function({given}):\n    {body}\n    return [{', '.join(program.names)}]\n", scope
        )
        self.np, self.function = np, scope["function"]

    def sample(self):
        """Nanoseconds of one run, its results finished; making and dropping inputs is not counted."""
        env = {"np": self.np, "make": fuzz_inputs.make}
        exec(self.inputs, env)
        given = [env[v] for v in self.names]
        finish = getattr(self.np, "synchronize", None)
        begin = sweep.clock()
        kept = self.function(*given)
        if finish:
            finish()
        spent = sweep.clock() - begin
        del kept
        return spent


def compare(program):
    """Raises what the fuzzer raises where the results differ."""
    results = fuzz_compare.as_it_is(asnumpy, program)
    fuzz_compare.agree(results, fuzz_compare.step_by_step(asnumpy, program), program, "as it is")


def time_program(seed, repeats):
    program = fuzz_programs.generate(seed)
    if not program.statements:
        return None
    compare(program)
    pair = [Program(np, program) for np in (asnumpy, numpy)]
    for one in pair:
        warm = min(one.sample() for _ in range(WARM)) * 1e-9
    repeats = max(repeats, min(10 * repeats, int(LEAST_SECONDS / max(warm, 1e-9))))
    samples = ([], [])
    for _ in range(repeats):
        for taken, one in zip(samples, pair, strict=True):
            taken.append(one.sample())
    return result("program", f"seed {seed}, {len(program.statements)} statements",
                  f"--no-expressions --seeds {seed}:{seed + 1} --show", samples)  # fmt: skip


# ---- plain expressions


def compare_statement(row):
    """Raises where a statement leaves other values in its inputs than NumPy does."""
    left = []
    for np in (numpy, asnumpy):
        scope = {k: np.array(v) if isinstance(v, numpy.ndarray) else v for k, v in rows.make_inputs(row).items()}  # fmt: skip
        exec(row.code, {"np": np}, scope)
        left.append({k: numpy.asarray(v) for k, v in scope.items() if not numpy.isscalar(v)})
    for name, expected in left[0].items():
        if not peers.agrees(left[1][name], expected):
            raise ValueError(f"{row.code!r} leaves another {name} than NumPy's")


def time_expression(row, found, repeats):
    if row.statement:
        compare_statement(row)
    ready, absent = peers.contenders(row, found)
    if absent:
        raise ValueError(f"{row.label}: {absent}")
    runs = [ready[name][0] for name in (peers.OURS, peers.BASE)]
    for run in runs:
        run(WARM)
    counts = [sweep.count_for(run, SAMPLE_SECONDS) for run in runs]
    samples = ([], [])
    for _ in range(repeats):
        for taken, run, count in zip(samples, runs, counts, strict=True):
            taken.append(sweep.sample(run, count))
    return result("expression", f"{row.group}: {row.label}",
                  f"--seeds none --sizes {row.n} --only {shlex.quote(row.code)}", samples)  # fmt: skip


# ---- the whole


def best_ratio(row):
    return row["best"][peers.OURS] / row["best"][peers.BASE]


def print_row(row):
    print(f"{report.ratio(row):6.2f} {best_ratio(row):6.2f} {row['seconds'][peers.OURS] * 1e-3:10.1f} "
          f"{row['seconds'][peers.BASE] * 1e-3:10.1f} us  {row['label']}\n{'':38s}{row['again']}", flush=True)  # fmt: skip


def summary(kind, done):
    """One line: how many, the geometric mean of our time over NumPy's, how many are slower."""
    these = [r for r in done if r["kind"] == kind]
    if these:
        slower = sum(report.ratio(r) > 1 for r in these)
        best = statistics.geometric_mean(map(best_ratio, these))
        print(f"{len(these)} {kind}s: geometric mean {report.geometric_mean(these):.3f} of NumPy's time "
              f"(best samples: {best:.3f}), {slower} slower ({slower / len(these):.0%})")  # fmt: skip


def span(text):
    """The seeds that the user means: 9000:9100, 12, or none."""
    if text == "none":
        return range(0)
    first, _, last = text.partition(":")
    return range(int(first), int(last) if last else int(first) + 1)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=span, default=HELD_OUT, help="first:last, or none")
    parser.add_argument("--no-expressions", action="store_true", help="random programs alone")
    parser.add_argument("--only", default="", help="expressions with this text in them")
    parser.add_argument("--sizes", default=",".join(map(str, everyday.SIZES)))
    parser.add_argument("--repeats", type=int, default=9, help="samples of each library")
    parser.add_argument("--worst", type=int, default=20, help="how many to print at the end")
    parser.add_argument("--show", action="store_true", help="print the random programs' text")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    args.sizes = [int(float(s)) for s in args.sizes.split(",")]
    return args


def measure(args):
    """Yields a row, None, or the text of what went wrong, for each program and expression."""
    tasks = [(f"seed {s}", time_program, (s,)) for s in args.seeds]
    if not args.no_expressions:
        found = peers.find(1, [peers.OURS, peers.BASE])[0]
        tasks += [(r.label, time_expression, (r, found))
                  for r in everyday.rows(args.sizes) if args.only in r.code]  # fmt: skip
    for label, function, given in tasks:
        try:
            yield function(*given, args.repeats)
        except Exception as error:  # one that fails costs itself
            yield f"{label}: {type(error).__name__}: {error}"


def main():
    args = arguments()
    if args.show:
        for seed in args.seeds:
            print(fuzz_programs.generate(seed).text())
    warnings.simplefilter("ignore")  # of means of nothing, as the fuzzer does
    done, failed, begun = [], [], time.monotonic()
    with numpy.errstate(all="ignore"), asnumpy.errstate(all="ignore"):
        for row in filter(None, measure(args)):
            (failed if isinstance(row, str) else done).append(row)
    done.sort(key=report.ratio, reverse=True)
    print(f"the worst: our time over NumPy's, of medians and of best samples; again: {sys.argv[0]}")
    for row in done[: args.worst]:
        print_row(row)
    for text in failed:
        print(f"failed: {text}")
    for kind in ("program", "expression"):
        summary(kind, done)
    print(f"{time.monotonic() - begun:.0f} s, {len(failed)} failed")
    if args.json:
        report.write_json(args.json, {"machine": report.machine(), "rows": done, "failed": failed})
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
