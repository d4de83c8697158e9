"""Which tests reach a line: each test file once with every basic block of the mutated files traced.

A test file's map is kept until the file changes; --cover renews all. A map that is older than the
sources only means that other tests are chosen than the best.
"""

import bisect
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys

from .trees import Tree

HERE = pathlib.Path(__file__).resolve().parent
# What tests the front end, the documents or other processes, and what takes long for what it reaches.
SKIPPED = """typing signatures instructions benchmarks load_library custom_packages guide_custom_operators
    monitor guides examples memory_page names distributions"""
# Runs last for the engine: a call that took its short way does not any more.
COUNTS = "tests/python/test_instructions.py::test_front_end_instructions"
# Run before that, in these modes: what keeps memory shows in no result.
LEAKS, LEAK_MODES = "tests/python/test_leaks.py", ("plain", "eager", "ascend")
# Ways to run the Python tests, as `make test` has them: their environment, and the test files that they
# add to the first's. {home}: the package's CANN folder.
FUSING = """trace fused_loops jit jit_errors jit_native programs transient recording reductions rewrites small slices
    conditions casts bands rows transposed"""
MODES = {
    "plain": ({}, None),
    "jit": ({"ASNUMPY_JIT": "always"}, FUSING),
    "eager": ({"ASNUMPY_FUSE": "0"}, "trace functions indexing reductions moves ordering small"),
    "ascend": (
        {
            "ASNUMPY_DEVICE": "ascend", "ASCEND_HOME_PATH": "{home}", "ASNUMPY_CANN_STRICT": "1",
            "ASNUMPY_FALLBACK": "silent",
        },
        """ascend two_phase fallback trace functions indexing reductions moves ordering small slices products
        linalg rows random fft conditions recording transient streams ufuncs casts errors jit jit_errors jit_host leaks
        profile memory""",
    ),
}  # fmt: skip


def environment(mode, site, **more):
    """The environment of a test run with the package below `site`."""
    env = dict(os.environ, PYTHONPATH=f"{site}:{HERE}", **more)
    home = str(site / "asnumpy" / "cann")
    env.update({name: value.format(home=home) for name, value in MODES[mode][0].items()})
    return env


LIBRARIES = ("_core", "ascendcl", "nnopbase", "opapi", "asnumpy_cpu", "asnumpy")
FILE_SECONDS = 200
PER_LINE = 16  # tests that are kept for a line, of each test file


def instrumented(base, files, jobs):
    """The tree whose `files` say which of their blocks ran, and the library that listens."""
    base.mkdir(parents=True, exist_ok=True)
    library, launcher = base / "libcover.so", base / "launcher.sh"
    subprocess.run(
        ["cc", "-O2", "-std=c11", "-shared", "-fPIC", HERE / "cover.c", "-o", library], check=True
    )
    tree = Tree(base)
    cases = " | ".join(f'*" -c {tree.source / name}"' for name in files)
    launcher.write_text(
        f'#!/bin/sh\ncase "$*" in\n{cases}) exec "$@" -g1 -fsanitize-coverage=trace-pc ;;\nesac\n'
        'command -v ccache >/dev/null && exec ccache "$@"\nexec "$@"\n'
    )
    launcher.chmod(0o755)
    tree.prepare(
        base / "log.txt", [f"-DCMAKE_C_STANDARD_LIBRARIES={library}"], launcher, LIBRARIES, jobs
    )
    return tree, library


def lines_of(places):
    """{address: (file below the tree, line)} of {address: (library, offset)}."""
    found, by_library = {}, collections.defaultdict(list)
    for pc, (path, offset) in places.items():
        by_library[path].append((pc, offset))
    for path, list_ in by_library.items():
        text = "\n".join(hex(offset - 1) for _, offset in list_)
        answer = subprocess.run(
            ["addr2line", "-e", path], input=text, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for (pc, _), place in zip(list_, answer, strict=True):
            name, _, line = place.partition(":")
            _, below, tail = name.partition("/tree/src/")
            if below and line.split()[0].isdigit():
                found[pc] = ("src/" + tail, int(line.split()[0]))
    return found


def run_file(tree, library, maps, name, mode):
    """Runs one test file: ([[test, seconds], ...], {file: {line: indices of tests}}), PER_LINE of them."""
    out = maps / f"{name}.{mode}.raw"
    env = environment(mode, tree.site, MUTATION_COVER=str(library), MUTATION_OUT=str(out))
    command = [sys.executable, "-m", "pytest", "-p", "plugin", "-p", "no:cacheprovider", "-q"]
    with open(maps / f"{name}.{mode}.txt", "w") as log:
        try:
            subprocess.run(
                [*command, f"tests/python/test_{name}.py"], cwd=tree.source, env=env,
                stdout=log, stderr=log, timeout=FILE_SECONDS,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            log.write(f"\nstopped after {FILE_SECONDS} s\n")
    if not out.exists():
        return [], {}
    raw = json.loads(out.read_text())
    out.unlink()
    lines = lines_of(raw["places"])
    reached = collections.defaultdict(lambda: collections.defaultdict(list))
    ranks = collections.Counter()
    order = []
    for seconds, index in sorted((test[1], i) for i, test in enumerate(raw["tests"])):
        function = raw["tests"][index][0].partition("[")[0]
        order.append((ranks[function], seconds, index))
        ranks[function] += 1
    for _, _, index in sorted(order):
        for file, line in {lines[str(pc)] for pc in raw["tests"][index][2] if str(pc) in lines}:
            if len(reached[file][line]) < PER_LINE:
                reached[file][line].append(index)
    return [test[:2] for test in raw["tests"]], reached


class Map:
    """{file: {line: tests}} over all test files, and the choice of tests for a line."""

    def __init__(self, base, root, files, jobs, renew, say):
        maps = base / "maps"
        maps.mkdir(parents=True, exist_ok=True)
        self.tests, self.reach = [], {}
        missing = []
        for path in sorted(root.glob("tests/python/test_*.py")):
            name = path.stem.removeprefix("test_")
            digest = hashlib.sha1(path.read_bytes()).hexdigest()
            for mode, (_, added) in MODES.items():
                if name in SKIPPED.split() or (added is not None and name not in added.split()):
                    continue
                kept = maps / f"{name}.{mode}.json"
                known = json.loads(kept.read_text()) if kept.exists() and not renew else {}
                if known.get("digest") == digest:
                    self.add(known)
                else:
                    missing.append((name, mode, kept, digest))
        if missing:
            say(f"coverage: {len(missing)} runs of test files")
            tree, library = instrumented(base, files, jobs)

            def fill(job):
                name, mode, kept, digest = job
                tests, reach = run_file(tree, library, maps, name, mode)
                kept.write_text(
                    json.dumps({"digest": digest, "mode": mode, "tests": tests, "reach": reach})
                )
                return kept

            with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
                for kept in pool.map(fill, missing):
                    self.add(json.loads(kept.read_text()))
        self.lines = {file: sorted(lines) for file, lines in self.reach.items()}
        self.ends = {
            file: [
                n for n, text in enumerate((root / file).read_text().splitlines(), 1) if text == "}"
            ]
            for file in files
        }

    def add(self, known):
        first = len(self.tests)
        self.tests += [(known["mode"], test, seconds) for test, seconds in known["tests"]]
        for file, lines in known["reach"].items():
            of_file = self.reach.setdefault(file, {})
            for line, indices in lines.items():
                of_file.setdefault(int(line), []).extend(first + i for i in indices)

    def choose(self, file, line, seconds, files):
        """{mode: tests} that reach the line, else the last line reached before it in its function, else the
        function: the quickest of each test function first, `seconds` of them, out of `files` test files at most."""
        end = bisect.bisect_left(self.ends[file], line)
        begin = self.ends[file][end - 1] if end else 0
        last = self.ends[file][end] if end < len(self.ends[file]) else line
        reached = [at for at in self.lines.get(file, []) if begin < at <= last]
        if not reached:
            return {}
        at = reached[max(0, bisect.bisect_right(reached, line) - 1)]
        groups = collections.defaultdict(list)
        for index in self.reach[file][at]:
            mode, test, cost = self.tests[index]
            if cost < seconds / 2:
                groups[mode, test.partition("[")[0]].append((cost, test))
        of_file = collections.Counter(name.partition("::")[0] for _, name in groups)
        kept = {name for name, _ in of_file.most_common(files)}
        queue = sorted(
            (rank, cost, mode, test)
            for (mode, name), tests in groups.items()
            if name.partition("::")[0] in kept
            for rank, (cost, test) in enumerate(sorted(tests))
        )
        chosen, spent = collections.defaultdict(list), 0.0
        for _, cost, mode, test in queue:
            if spent + cost > seconds:
                break
            spent += cost
            chosen[mode].append(test)
        return dict(chosen)
