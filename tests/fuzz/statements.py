"""The fuzzer of statements: random NumPy programs in every mode of the library.

    python tests/fuzz/statements.py [--seconds N] [--programs N] [--seed N] [--out DIR]
    python tests/fuzz/statements.py --replay FILE...

Every mode is a process of its own (the modes are environment variables), which checks a program
as fuzz_compare.py says; results that must have the same bits in several modes are compared here.
A failing program is made small and written to DIR; tests/fuzz/cases keeps such programs, and
tests/python/test_fuzz_programs.py runs them for ever.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import threading
import time
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import fuzz_inputs as inputs  # noqa: E402
import fuzz_programs as programs  # noqa: E402
import numpy  # noqa: E402

# So many threads of Python take the programs of a process in turn; half of them have streams and
# floating-point modes of their own. (Of the fuzzer, not of the library.)
THREADS = "FUZZ_PYTHON_THREADS"

# Modes whose results have the same bits stand together, first the one that the others equal.
MODES = {
    "best": {
        "interpreter, 1 thread": {"ASNUMPY_JIT": "0", "ASNUMPY_NUM_THREADS": "1"},
        "as it is": {},
        "machine code, 7 threads": {"ASNUMPY_JIT": "always", "ASNUMPY_NUM_THREADS": "7"},
        "single operators": {"ASNUMPY_FUSE": "0"},
        "a device that lags": {"ASNUMPY_CPU_LAUNCH_DELAY_US": "1"},
        "a small cache": {"ASNUMPY_LAST_CACHE": "65536"},
        "Python's threads": {THREADS: "4"},
        "Python's threads, single operators, a device that lags": {
            THREADS: "4",
            "ASNUMPY_FUSE": "0",
            "ASNUMPY_CPU_LAUNCH_DELAY_US": "20",
        },
    },
    "avx2": {
        "AVX2, interpreter": {"ASNUMPY_ISA": "avx2", "ASNUMPY_JIT": "0"},
        "AVX2, machine code": {"ASNUMPY_ISA": "avx2", "ASNUMPY_JIT": "always"},
        "AVX2, a small cache": {"ASNUMPY_ISA": "avx2", "ASNUMPY_LAST_CACHE": "65536"},
    },
    "baseline": {"baseline": {"ASNUMPY_ISA": "baseline"}},
}
BATCH = 25
LONGEST = 120  # seconds of a batch
MOST_MEMORY = 8 << 30  # of a process


def environment(mode):
    cache = {"ASNUMPY_CACHE_DIR": str(HERE.parents[1] / "build" / "fuzz" / "cache")}
    for group in MODES.values():
        if mode in group:
            return os.environ | cache | group[mode]
    raise SystemExit(f"no mode {mode!r}")


# ---- a process of one mode


def answer(task, callback=None):
    """What a program gave: a dictionary for JSON."""
    import asnumpy
    import fuzz_compare as comparing

    program = (
        programs.generate(task["seed"], task["traceable"])
        if "seed" in task
        else programs.Program(*task["program"])
    )
    native = task.get("seed", 0) % 24 == 0
    beside_others = THREADS in os.environ and os.environ.get("ASNUMPY_FUSE") != "0"
    try:
        digest = comparing.check(
            asnumpy, program, task["traceable"], native, beside_others, callback
        )
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:400]}
    return {"digest": digest, "statements": len(program.statements)}


def worker():
    """Reads programs as JSON lines, answers each with a line, in their order."""
    threads = int(os.environ.get(THREADS, 0))
    if not threads:
        for line in sys.stdin:
            print(json.dumps(answer(json.loads(line))), flush=True)
        return
    import asnumpy

    tasks = [json.loads(line) for line in sys.stdin]
    answers = [None] * len(tasks)

    def take_turns(k):
        own = k % 2 == 0
        with asnumpy.stream(asnumpy.Stream() if own else None):
            for at in range(k, len(tasks), threads):
                answers[at] = answer(tasks[at], (lambda *_: None) if own else None)

    running = [threading.Thread(target=take_turns, args=(k,)) for k in range(threads)]
    for t in running:
        t.start()
    for t in running:
        t.join()
    for a in answers:
        print(json.dumps(a))


def run(mode, tasks):
    """The answers of a process of the mode; the last one says so when it died."""
    text = "".join(json.dumps(t) + "\n" for t in tasks)
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--worker"], input=text, capture_output=True, text=True,
            env=environment(mode), timeout=LONGEST,
        )  # fmt: skip
        out, end = done.stdout, f"exit {done.returncode}: {done.stderr[-300:]}"
    except subprocess.TimeoutExpired as error:
        out, end = (error.stdout or b"").decode(), f"{LONGEST} s were not enough"
    answers = [json.loads(line) for line in out.splitlines()]
    if len(answers) < len(tasks):
        answers.append({"error": end})
    return answers


# ---- failures


def is_valid(program):
    """Under NumPy; a smaller program may read what nothing writes any more."""
    env = {"np": numpy, "make": inputs.make}
    try:
        with numpy.errstate(all="ignore"):
            exec(program.text(), env)
    except Exception:
        return False
    return all(v in env for v in program.names)


def fails(program, modes, traceable):
    task = {
        "program": [program.inputs, program.statements, program.names, program.rough],
        "traceable": traceable,
    }
    digests = set()
    for mode in modes:
        (answer,) = run(mode, [task])[:1]
        if "error" in answer:
            return f"{mode}: {answer['error']}"
        digests.add(answer["digest"])
    return f"{' and '.join(modes)} differ" if len(digests) > 1 else None


def without(program, kind, at):
    lines = list(getattr(program, kind))
    gone = lines.pop(at)
    made = re.match(r"(v\d+) = ", gone)
    names = [n for n in program.names if not made or n != made.group(1)]
    parts = {"inputs": program.inputs, "statements": program.statements, kind: lines}
    return programs.Program(parts["inputs"], parts["statements"], names, program.rough)


def shrink(program, modes, traceable, tries=120):
    why = fails(program, modes, traceable)
    changed = bool(why)
    while changed and tries > 0:
        changed = False
        for kind in ("statements", "inputs"):
            for at in reversed(range(len(getattr(program, kind)))):
                if at >= len(getattr(program, kind)):
                    continue
                smaller = without(program, kind, at)
                if not is_valid(smaller):
                    continue
                tries -= 1
                again = fails(smaller, modes, traceable) if tries > 0 else None
                if again:
                    program, why, changed = smaller, again, True
    return program, why


def write(path, program, why, traceable):
    rough = " ".join(v for v in program.names if program.rough[v])
    exact = " ".join(v for v in program.names if not program.rough[v])
    why = " ".join(why.split())
    path.write_text(
        f"# {why}\n# exact: {exact}\n# rough: {rough}\n# traceable: {int(traceable)}\n"
        + "\n".join(program.inputs) + "\n\n" + "\n".join(program.statements) + "\n"
    )  # fmt: skip


def read(path):
    """The program of a file, and whether it can be traced."""
    text = path.read_text()
    facts = dict(re.findall(r"^# (exact|rough|traceable): ?(.*)$", text, re.M))
    body = re.sub(r"^#.*\n", "", text, flags=re.M)
    given, statements = (part.strip().split("\n") for part in body.split("\n\n", 1))
    exact, rough = facts["exact"].split(), facts["rough"].split()
    names = sorted(exact + rough, key=lambda v: int(v[1:]))
    return (
        programs.Program(given, statements, names, {v: v in rough for v in names}),
        facts["traceable"] == "1",
    )


def report(seed, modes, why, out):
    traceable = seed % 3 == 0
    program = programs.generate(seed, traceable)
    print(f"seed {seed}, {', '.join(modes)}: {why}", flush=True)
    small, again = shrink(program, modes, traceable)
    path = out / f"seed-{seed}.program"
    write(path, small, again or f"{why} (not when alone)", traceable)
    print(f"{path.read_text()}written to {path}", flush=True)


# ---- the search


def search(seconds, most, seed, out):
    start, found, count, statements, turn = time.monotonic(), 0, 0, 0, 0
    first = seed
    while time.monotonic() - start < seconds and first - seed < most and found < 12:
        groups = ["best", "best", "best", "avx2", "best", "baseline"]
        group = MODES[groups[turn % len(groups)]]
        reference, *others = group
        chosen = [reference] + ([others[turn % len(others)]] if others else [])
        turn += 1
        tasks = [{"seed": first + k, "traceable": (first + k) % 3 == 0} for k in range(BATCH)]
        failed = {}
        digests = {}
        for mode in chosen:
            answers = run(mode, tasks)
            for task, answer in zip(tasks, answers, strict=False):
                s = task["seed"]
                statements += answer.get("statements", 0)
                if "error" in answer:
                    failed.setdefault(s, ([mode], answer["error"]))
                elif digests.setdefault(s, answer["digest"]) != answer["digest"]:
                    failed.setdefault(s, (chosen, "results differ"))
        for s, (modes, why) in failed.items():
            found += 1
            report(s, modes, why, out)
        count += len(tasks) * len(chosen)
        first += BATCH
    print(f"statements: seeds {seed} to {first - 1}, {count} runs of {first - seed} programs, "
          f"{statements} statements, {time.monotonic() - start:.0f} s")  # fmt: skip
    print(f"{count - found} passed, {found} failed")
    return 1 if found else 0


def replay(paths):
    failed = 0
    for path in paths:
        program, traceable = read(pathlib.Path(path))
        for group in MODES.values():
            why = fails(program, list(group), traceable)
            if why:
                failed += 1
                print(f"{path}: {why}")
    print(f"{len(paths) * len(MODES) - failed} passed, {failed} failed")
    return 1 if failed else 0


def main():
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--programs", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--replay", nargs="+")
    parser.add_argument("--worker", action="store_true")
    given = parser.parse_args()
    if given.worker:
        return worker()
    if given.replay:
        return replay(given.replay)
    given.out.mkdir(parents=True, exist_ok=True)
    return search(given.seconds, given.programs, given.seed, given.out)


if __name__ == "__main__":
    sys.exit(main())
