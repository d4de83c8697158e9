"""Runs NumPy's own tests with AsNumpy's arrays and functions, and reports the share that passes.

usage: run.py [--jobs N] [--seconds S] [--least SHARE] [--failures FILE] [--excluded] [file ...]

Each test file runs in a process of its own, with limits of time and memory: a crash or a hang costs that
file alone, and fails the run. excluded.txt says which files and tests do not apply, and why; they are
not run and not counted. Exit status 1: a crash, or fewer than SHARE percent pass.

--excluded runs just those instead, and says which of them pass: those need no place in the list any
more. Exit status 1: a pattern of tests means no test, or only tests that pass.
"""

import argparse
import concurrent.futures
import fnmatch
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

import numpy
from excluded import exclusions, matches

HERE = pathlib.Path(__file__).parent
NUMPY = pathlib.Path(numpy.__file__).parent
FOLDERS = ["_core", "lib", "linalg", "fft", "random", "polynomial"]
MEMORY = 12 << 30


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run_file(path, seconds, patterns, only_excluded=False):
    """Runs one file without the tests that patterns mean, or just these; returns (path, {test: outcome},
    crash or None)."""
    relative = path.relative_to(NUMPY).as_posix()
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.xml")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
            ),
            "NUMPY_SUITE_EXCLUDED": "\n".join(patterns),
            "NPY_AVAILABLE_MEM": f"{MEMORY // 2} B",  # a test that needs more skips itself
            **({"NUMPY_SUITE_ONLY_EXCLUDED": "1"} if only_excluded else {}),
        }
        command = [
            sys.executable, "-m", "pytest", "-p", "plugin", "-p", "no:cacheprovider", "-q", "-W", "ignore",
            "--tb=line", f"--rootdir={NUMPY}", "-c", os.devnull, f"--junitxml={report}", str(path),
        ]  # fmt: skip
        try:
            done = subprocess.run(command, cwd=folder, env=environment, timeout=seconds, preexec_fn=limits,
                                  capture_output=True, text=True, check=False)  # fmt: skip
        except subprocess.TimeoutExpired:
            return relative, {}, f"no end after {seconds} s"
        if not report.exists() or done.returncode not in (0, 1, 5):
            tail = done.stdout.strip().splitlines()[-1:] or done.stderr.strip().splitlines()[-1:]
            return relative, {}, f"exit status {done.returncode}: {' '.join(tail)}"
        return relative, outcomes(report), None


def outcomes(report):
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        inner = [child.tag for child in case]
        outcome = "passed"
        if "failure" in inner or "error" in inner:
            outcome = "failed"
        elif "skipped" in inner:
            outcome = "skipped"
        cls = case.get("classname", "").rpartition(".")[2]
        name = case.get("name", "")
        found["::".join(filter(None, [cls if cls[:1].isupper() else "", name]))] = outcome
    return found


def of_file(path, tests):
    """The patterns of excluded.txt for the tests of one file."""
    return [t for t in tests if t.split("::")[0] == path.relative_to(NUMPY).as_posix()]


def run_excluded(path, seconds, patterns):
    """(pattern, {test: outcome}, crash or None) of each of a file's patterns; after a crash each runs in
    a process of its own."""
    _, found, crash = run_file(path, seconds, patterns, only_excluded=True)
    if crash and len(patterns) > 1:
        return [result for p in patterns for result in run_excluded(path, seconds, [p])]
    return [(p, {t: o for t, o in found.items() if matches(t, p)}, crash) for p in patterns]


def check_excluded(options, files, tests):
    """Runs what excluded.txt leaves out and says what of it passes; the exit status."""
    jobs = [(p, [f"{f}::*"]) for f in files for p in sorted(NUMPY.glob(f))]
    jobs += [
        (NUMPY / f, of_file(NUMPY / f, tests)) for f in sorted({t.split("::")[0] for t in tests})
    ]
    if options.files:
        jobs = [
            (p, patterns)
            for p, patterns in jobs
            if p.relative_to(NUMPY).as_posix() in options.files
        ]
    stale = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for results in pool.map(lambda job: run_excluded(job[0], options.seconds, job[1]), jobs):
            for pattern, found, crash in results:
                good = [test for test, outcome in found.items() if outcome == "passed"]
                bad = list(found.values()).count("failed")
                print(
                    f"{pattern:72s} {len(good):5d} passed {bad:5d} failed {crash or ''}", flush=True
                )
                if pattern in tests:
                    stale += not (bad or crash)
                    print("".join(f"    passes: {test}\n" for test in good), end="")
    print(f"{stale} patterns of tests mean none that fails")
    return 1 if stale else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=int, default=600, help="limit for each file")
    parser.add_argument("--least", type=float, default=95.0, help="percent that must pass")
    parser.add_argument("--failures", help="writes the names of the tests that fail to this file")
    parser.add_argument(
        "--excluded", action="store_true", help="runs what is left out, and lists what passes"
    )
    options = parser.parse_args()
    files, tests = exclusions()
    if options.excluded:
        return check_excluded(options, files, tests)
    paths = [NUMPY / f for f in options.files] or [
        p for d in FOLDERS for p in sorted((NUMPY / d / "tests").glob("test_*.py"))
        if not any(fnmatch.fnmatch(p.relative_to(NUMPY).as_posix(), f) for f in files)
    ]  # fmt: skip
    passed, failed, skipped, crashes = 0, [], 0, []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, found, crash in pool.map(
            lambda p: run_file(p, options.seconds, of_file(p, tests)), paths
        ):
            values = list(found.values())
            passed += values.count("passed")
            skipped += values.count("skipped")
            failed += [f"{name}::{t}" for t, o in found.items() if o == "failed"]
            if crash:
                crashes.append(f"{name}: {crash}")
            good, bad = values.count("passed"), values.count("failed")
            print(f"{name:48s} {good:6d} passed {bad:5d} failed {crash or ''}", flush=True)
    if options.failures:
        pathlib.Path(options.failures).write_text("".join(f"{name}\n" for name in failed))
    share = 100 * passed / max(passed + len(failed), 1)
    print(f"left out: {len(files)} file patterns and {len(tests)} test patterns (excluded.txt)")
    for crash in crashes:
        print(f"CRASH {crash}")
    print(
        f"{passed} passed, {len(failed)} failed, {skipped} skipped, {len(crashes)} crashed: {share:.1f}% pass"
    )
    return 1 if crashes or share < options.least else 0


if __name__ == "__main__":
    sys.exit(main())
