"""Runs NumPy's own tests with AsNumpy's arrays and functions, and reports the share that passes.

usage: run.py [--jobs N] [--seconds S] [--least SHARE] [--failures FILE] [file ...]

Each test file runs in a process of its own, with limits of time and memory: a crash or a hang costs that
file alone, and fails the run. excluded.txt says which files and tests do not apply, and why; they are
not run and not counted. Exit status 1: a crash, or fewer than SHARE percent pass.
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

HERE = pathlib.Path(__file__).parent
NUMPY = pathlib.Path(numpy.__file__).parent
FOLDERS = ["_core", "lib", "linalg", "fft", "random", "polynomial"]
MEMORY = 12 << 30


def exclusions():
    """(file patterns, test patterns), each with its reason, from excluded.txt."""
    files, tests, reason = {}, {}, None
    for line in (HERE / "excluded.txt").read_text().splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line.strip():
            (tests if "::" in line else files)[line.strip()] = reason
    return files, tests


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run_file(path, seconds, tests):
    """Runs one file; returns (path, {test: outcome}, crash or None)."""
    relative = path.relative_to(NUMPY).as_posix()
    patterns = [t for t in tests if t.split("::")[0] in (relative, "*")]
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.xml")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
            ),
            "NUMPY_SUITE_EXCLUDED": "\n".join(patterns),
            "NPY_AVAILABLE_MEM": f"{MEMORY // 2} B",
        }  # a test that needs more skips itself; fmt: skip
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


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=int, default=600, help="limit for each file")
    parser.add_argument("--least", type=float, default=95.0, help="percent that must pass")
    parser.add_argument("--failures", help="writes the names of the tests that fail to this file")
    options = parser.parse_args()
    files, tests = exclusions()
    paths = [NUMPY / f for f in options.files] or [
        p for d in FOLDERS for p in sorted((NUMPY / d / "tests").glob("test_*.py"))
        if not any(fnmatch.fnmatch(p.relative_to(NUMPY).as_posix(), f) for f in files)
    ]  # fmt: skip
    passed, failed, skipped, crashes = 0, [], 0, []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, found, crash in pool.map(lambda p: run_file(p, options.seconds, tests), paths):
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
