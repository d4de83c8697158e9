"""SciPy's, pandas' and scikit-learn's own tests, with and without the mode, compared test by test.

    python tests/auto/suites.py [--suites scipy,pandas,sklearn] [--modules 8] [--seed 1] [--seconds 120] [--show 40]

The suites ship in the libraries' wheels; pytest and hypothesis must be there beside them. Their test
modules are covered (`--include 'scipy.*tests*'`), the libraries keep NumPy. Modules are picked at random
by the seed, or all of them with `--modules 0`; each is run by pytest in a process of its own, once over
NumPy and once under `python -m asnumpy`. A test counts as the same where its outcome (passed, failed,
skipped, expected to fail) is that of NumPy's run. Prints the share for each suite, and what differs with
the last line of its error.
"""

import argparse
import importlib.util
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

SUITES = {"scipy": "scipy.*tests*", "pandas": "pandas.tests*", "sklearn": "sklearn.*tests*"}
ENVIRONMENT = {**os.environ, "ASNUMPY_FALLBACK": "silent", "OPENBLAS_NUM_THREADS": "1",
               "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}  # fmt: skip


def modules_of(suite):
    """The test modules of a library, dotted names in order."""
    folder = pathlib.Path(importlib.util.find_spec(suite).origin).parent
    files = sorted(p for p in folder.rglob("test_*.py") if "tests" in p.parts)
    return [".".join((suite, *p.relative_to(folder).with_suffix("").parts)) for p in files]


def outcomes(suite, module, seconds, mode):
    """{test: (outcome, message)} of a module's run; None: it did not end in time."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.xml")
        before = ["-m", "asnumpy", "--include", SUITES[suite]] if mode else []
        command = [
            sys.executable, *before, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs", module,
            f"--junitxml={report}", "-o", "junit_family=xunit1", "-W", "ignore",
        ]  # fmt: skip
        try:
            subprocess.run(
                command, cwd=folder, env=ENVIRONMENT, capture_output=True, timeout=seconds
            )
        except subprocess.TimeoutExpired:
            return None
        if not os.path.exists(report):
            return {}
        return {
            key: value
            for case in tree.parse(report).iter("testcase")
            for key, value in [read(case)]
        }


def read(case):
    """(test, (outcome, message)) of an element of the report."""
    name = f"{case.get('classname')}::{case.get('name')}"
    name = re.sub(r"0x[0-9a-f]+", "0x", name)
    for kind in ("failure", "error", "skipped"):
        found = case.find(kind)
        if found is not None:
            return name, (
                found.get("type") or kind if kind == "skipped" else kind,
                found.get("message") or "",
            )
    return name, ("passed", "")


def compared(suite, module, seconds):
    """(tests, how many are the same, [(test, NumPy's outcome, ours, message)]), or None: no run to compare."""
    plain = outcomes(suite, module, seconds, False)
    if not plain:
        return None
    ours = outcomes(suite, module, 3 * seconds, True) or {}
    misses = []
    for test, (outcome, _) in plain.items():
        got, message = ours.get(test, ("missing", ""))
        if got != outcome:
            misses.append(
                (test, outcome, got, message.strip().splitlines()[0] if message.strip() else "")
            )
    return len(plain), len(plain) - len(misses), misses


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suites", default=",".join(SUITES))
    parser.add_argument("--modules", type=int, default=8, help="of each suite; 0: all")
    parser.add_argument("--names", default="", help="these modules instead, separated by commas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=120, help="for a module over NumPy")
    parser.add_argument(
        "--show", type=int, default=40, help="misses of each suite that are printed"
    )
    options = parser.parse_args()
    for suite in options.suites.split(","):
        names = modules_of(suite)
        if options.names:
            names = [n for n in options.names.split(",") if n.startswith(suite + ".")]
        elif options.modules:
            names = random.Random(options.seed).sample(names, min(options.modules, len(names)))
        tests = same = 0
        missed = []
        for name in names:
            result = compared(suite, name, options.seconds)
            if result is None:
                print(
                    f"{name}: not compared (no tests, or longer than {options.seconds} s)",
                    flush=True,
                )
                continue
            print(f"{name}: {result[1]} of {result[0]} the same", flush=True)
            tests, same, missed = tests + result[0], same + result[1], missed + result[2]
        share = f"{same / tests:.2%}" if tests else "nothing"
        print(f"{suite}: {same} of {tests} tests the same, {share}", flush=True)
        for test, outcome, got, message in missed[: options.show]:
            print(f"  {test}: {outcome} -> {got}: {message[:200]}", flush=True)
        if len(missed) > options.show:
            print(f"  ... and {len(missed) - options.show} more")


if __name__ == "__main__":
    main()
