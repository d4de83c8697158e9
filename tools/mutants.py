"""Mutation tests: changes one place of the engine at a time and says which changes no test notices.

usage: mutants.py [--count N] [--seed S] [--files GLOB,...] [--only FILE:LINE] [--list] [--jobs N]
                  [--again RESULT] [--minutes M] [--killer COMMAND] [--cover]

A run draws --count mutants over the files in proportion to their lines of code, the same for the same
seed. Each worker has a build tree below build/mutants: it writes the changed file, compiles that one
object, compares it with the original's (the same: equivalent), links what the next test needs and
runs tests in order of speed until one fails or passes its time limit: C tests of the layer, then the
Python tests that reach the line (mutation/cover.py), then each --killer, a shell command for which
$MUTANT_BUILD is the build tree and $PYTHONPATH has the mutated package.

Mutants that change nothing a caller can see are named, with the reason, in mutation/equivalent.txt.
What was found goes to build/mutants/result.json. Standard library only.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import queue
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

from mutation import cover, lines
from mutation.trees import BIN, ROOT, Tree

OUT = ROOT / "build" / "mutants"
FILES = ["src/graph/**/*.c", "src/device/cpu/fused/*.c", "src/device/cpu/jit/*.c"]
# Names of C tests (regular expressions), before and after the Python tests.
GRAPH_TESTS = ["graph_fuse1", "loops_fuse1", "graph_fuse0", "loops_fuse0"]
C_TESTS = {
    "src/graph": (GRAPH_TESTS, ["capi_(faults|faults_fuse0|threads|streams|numpy)", "memory"]),
    "src/device/cpu": (
        [
            *(f"test_cpu_{name}_avx512" for name in ("fused", "prepared", "jit", "reduce")),
            "fuzz_cases_(avx512|avx2)",
        ],
        [
            "test_cpu_(fused|prepared|jit|reduce)_(avx2|baseline)",
            "test_source.*",
            "test_cpu_pool_avx512",
            "abi_(op_errors|op_objects)",
            "fuzz_program_bytes",
            *GRAPH_TESTS,
        ],
    ),
}
# Seconds of Python tests and files they come from: most mutants end in the first.
SELECTIONS = ((3, 6), (20, 60))
KILLER_SECONDS = 120
MEMORY = 14 << 30  # a mutant that asks for more gets none


def run_limited(command, seconds, **options):
    """(exit status or "timeout", output) of a command in a process group of its own."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)), **options,
        )  # fmt: skip
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = "timeout"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        out.seek(0)
        return status, out.read().decode(errors="replace")


def equivalents():
    """{(file, before, after): reason} of mutation/equivalent.txt."""
    known, entry = {}, {}
    path = pathlib.Path(cover.HERE / "equivalent.txt")
    for line in path.read_text().splitlines() if path.exists() else ():
        mark, _, rest = line.partition(" ")
        if mark in ("file", "-", "+"):
            entry[mark] = rest
        elif mark == "why":
            known[entry["file"], entry["-"], entry["+"]] = rest
    return known


class Worker:
    def __init__(self, number, options, reach):
        self.tree = Tree(OUT / str(number))
        self.log = self.tree.root / "log.txt"
        self.options, self.reach = options, reach

    def prepare(self):
        self.tree.root.mkdir(parents=True, exist_ok=True)
        self.tree.prepare(self.log)
        self.objects = {
            os.path.relpath(entry["file"], self.tree.source): os.path.relpath(
                os.path.join(entry["directory"], entry["output"]), self.tree.build
            )
            for entry in json.loads((self.tree.build / "compile_commands.json").read_text())
        }
        shown = subprocess.run(
            [BIN / "ctest", "--show-only=json-v1"],
            cwd=self.tree.build, check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        self.c_tests = {}
        for test in json.loads(shown)["tests"]:
            if test.get("command"):
                self.c_tests[test["name"]] = self.c_test(test)
        self.libraries = [
            path.relative_to(self.tree.build).as_posix()
            for path in (self.tree.build / "lib").glob("*.so")
            if re.match(r"_core|libasnumpy_cpu|libopapi\.|libnnopbase|libascendcl", path.name)
        ]

    def c_test(self, test):
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        return (
            test["command"],
            dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", [])),
            properties.get("WORKING_DIRECTORY", str(self.tree.build)),
        )

    def matching(self, patterns):
        return [name for p in patterns for name in self.c_tests if re.fullmatch(p, name)]

    # ---- killers: each returns what killed the mutant, or None

    def run_c_test(self, name):
        """A program of the build, or Python's on the C binding's library."""
        command, env, folder = self.c_tests[name]
        own = pathlib.Path(command[0]).is_relative_to(self.tree.build)
        program = [os.path.relpath(command[0], self.tree.build)] if own else ["asnumpy"]
        if not self.make([*program, *self.loaded]):
            return "link"
        status, _ = run_limited(command, 40, env=dict(os.environ, **env), cwd=folder)
        return None if status == 0 else f"{name} ({status})"

    def python(self, tests, mode):
        """Runs Python tests in one process until one fails."""
        if not self.make(self.libraries):
            return "link"
        env = cover.environment(mode, self.tree.site)
        names = self.tree.root / "tests.txt"
        names.write_text("\n".join(tests))
        command = [sys.executable, "-m", "pytest", "-p", "plugin", "-p", "no:cacheprovider", "-xq"]
        status, output = run_limited([*command, f"@{names}"], 90, env=env, cwd=self.tree.source)
        if status == 0:
            return None
        if "not found:" in output:
            raise RuntimeError(output[-600:])
        failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - |$)", output, re.M)
        return f"{failed.group(1)} [{mode}]" if failed else f"Python tests ({status}) [{mode}]"

    def command(self, text):
        if not self.make(["all"]):
            return "link"
        env = dict(os.environ, PYTHONPATH=str(self.tree.site), MUTANT_BUILD=str(self.tree.build))
        status, _ = run_limited(["sh", "-c", text], KILLER_SECONDS, env=env, cwd=self.tree.source)
        return None if status == 0 else f"{text} ({status})"

    def killers(self, mutant):
        layer = next(folder for folder in C_TESTS if mutant.file.startswith(folder + "/"))
        before, after = C_TESTS[layer]
        # Tests of the graph load the device's libraries.
        self.loaded = self.libraries[:] if layer == "src/device/cpu" else []
        self.loaded = [name for name in self.loaded if "_core" not in name]
        for name in self.matching(before):
            yield lambda name=name: self.run_c_test(name)
        seen = set()
        for seconds, files in SELECTIONS:
            for mode, tests in self.reach.choose(mutant.file, mutant.line, seconds, files).items():
                fresh = [test for test in tests if (mode, test) not in seen]
                seen.update((mode, test) for test in fresh)
                if fresh:
                    yield lambda tests=fresh, mode=mode: self.python(tests, mode)
        if layer == "src/graph":
            for mode in cover.LEAK_MODES:
                yield lambda mode=mode: self.python([cover.LEAKS], mode)
            yield lambda: self.python([cover.COUNTS], "plain")
        for name in self.matching(after):
            yield lambda name=name: self.run_c_test(name)
        for text in self.options.killer:
            yield lambda text=text: self.command(text)

    # ---- mutants

    def make(self, targets):
        try:
            self.tree.ninja(targets, self.log)
        except subprocess.CalledProcessError:
            return False
        return True

    def digest(self, file):
        return hashlib.sha1((self.tree.build / self.objects[file]).read_bytes()).hexdigest()

    def try_one(self, mutant, text):
        """(outcome, what killed it)."""
        (self.tree.source / mutant.file).write_text(mutant.apply(text))
        if not self.make([self.objects[mutant.file]]):
            return "invalid", "does not compile"
        if self.digest(mutant.file) == self.original:
            return "equivalent", "same object"
        for kill in self.killers(mutant):
            by = kill()
            if by:
                return ("timeout" if "(timeout)" in by else "killed"), by
        return "survived", ""

    def run_file(self, file, candidates, quota, judged, report, until):
        """Mutants of one file until `quota` of them are killed or survive."""
        path = self.tree.source / file
        text = path.read_text()
        self.make([self.objects[file]])
        self.original = self.digest(file)
        try:
            for mutant in candidates:
                if quota <= 0 or time.time() > until:
                    break
                began = time.time()
                before, after = mutant.texts(text)
                reason = judged.get((file, before, after))
                outcome, by = ("equivalent", reason) if reason else self.try_one(mutant, text)
                quota -= outcome in ("killed", "survived", "timeout")
                report(
                    {
                        "file": file, "line": mutant.line, "operator": mutant.operator, "before": before,
                        "after": after, "outcome": outcome, "by": by, "seconds": round(time.time() - began, 1),
                    }
                )  # fmt: skip
        finally:
            path.write_text(text)


def quotas(files, count):
    """How many mutants each file gets: in proportion to its lines of code, `count` in all."""
    weight = {file: lines.code_lines((ROOT / file).read_text()) for file in files}
    total = sum(weight.values())
    share = {file: count * w // total for file, w in weight.items()}
    rest = sorted(files, key=lambda f: (-(count * weight[f] % total), f))
    for file in rest[: count - sum(share.values())]:
        share[file] += 1
    return {file: n for file, n in share.items() if n}


def survivors(results):
    """{file: (mutants, quota)} of a run's survivors, wherever their lines are now."""
    work = {}
    for r in results:
        if r["outcome"] != "survived" or not (ROOT / r["file"]).exists():
            continue
        text = (ROOT / r["file"]).read_text()
        same = [
            m
            for m in lines.mutants(r["file"], text)
            if (m.operator, *m.texts(text)) == (r["operator"], r["before"], r["after"])
        ]
        same.sort(key=lambda m: abs(m.line - r["line"]))
        work.setdefault(r["file"], ([], 1 << 30))[0].extend(same[:1])
    return work


def chosen(options):
    """{file: (candidates, quota)}."""
    patterns = options.files.split(",") if options.files else FILES
    files = sorted(
        path.relative_to(ROOT).as_posix() for pattern in patterns for path in ROOT.glob(pattern)
    )
    if options.only:
        file, _, line = options.only.partition(":")
        found = lines.mutants(file, (ROOT / file).read_text())
        return {file: ([m for m in found if m.line == int(line)], 1 << 30)}
    if options.again:
        return survivors(json.loads(pathlib.Path(options.again).read_text()))
    work = {}
    for file, quota in quotas(files, options.count).items():
        found = lines.mutants(file, (ROOT / file).read_text())
        if options.list:
            work[file] = (found, quota)
        else:
            rng = random.Random(f"{options.seed} {file}")
            work[file] = (lines.sample(found, rng), quota)
    return work


def table(results):
    rows = collections.defaultdict(collections.Counter)
    for r in results:
        for key in (r["file"], "all"):
            rows[key][r["outcome"]] += 1
    columns = ("killed", "timeout", "survived", "equivalent", "invalid")
    print(f"\n{'file':40}" + "".join(f"{c:>11}" for c in columns) + "    score")
    for file, n in sorted(rows.items(), key=lambda item: (item[0] == "all", item[0])):
        caught = n["killed"] + n["timeout"]
        score = f"{100 * caught / max(1, caught + n['survived']):8.1f}%"
        print(f"{file:40}" + "".join(f"{n[c]:11}" for c in columns) + score)


def confirm(worker, results):
    """Tests that fail on the unchanged sources too killed nothing. A test runs with all its parameters: what
    pytest prints of them need not be a name that it takes."""
    for mode in cover.MODES:
        function = lambda by, mode=mode: by.removesuffix(f" [{mode}]").split("[")[0]  # noqa: E731
        named = {
            function(r["by"])
            for r in results
            if r["outcome"] == "killed" and r["by"].endswith(f"[{mode}]") and "::" in r["by"]
        }
        while named and (by := worker.python(sorted(named), mode)):
            print(f"fails on the unchanged sources too: {by}")
            for r in results:
                if r["by"].endswith(f"[{mode}]") and function(r["by"]) == function(by):
                    r["outcome"] = "unsure"
            before = len(named)
            named.discard(function(by))
            if len(named) == before:
                break


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300, help="mutants that compile to other code")
    parser.add_argument("--files", help="patterns below the repository, with commas between")
    parser.add_argument("--only", metavar="FILE:LINE", help="every mutant of one line")
    parser.add_argument("--again", metavar="RESULT", help="the survivors of a run's JSON")
    parser.add_argument("--list", action="store_true", help="print the candidates and end")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=600)
    parser.add_argument("--killer", action="append", default=[], help="a command that runs last")
    parser.add_argument("--cover", action="store_true", help="map all tests to lines again")
    parser.add_argument("--result", default=str(OUT / "result.json"))
    return parser.parse_args()


def main():
    options = arguments()
    work = chosen(options)
    if options.list:
        for file, (found, _) in work.items():
            text = (ROOT / file).read_text()
            for m in found:
                print(f"{file}:{m.line}: {m.operator}: {' -> '.join(m.texts(text))}")
        return
    OUT.mkdir(parents=True, exist_ok=True)
    every = sorted(p.relative_to(ROOT).as_posix() for g in FILES for p in ROOT.glob(g))
    reach = cover.Map(OUT / "cover", ROOT, every, options.jobs, options.cover, print)
    until = time.time() + 60 * options.minutes
    judged, results = equivalents(), []

    def report(r):
        results.append(r)
        print(
            f"{r['file']}:{r['line']}: {r['operator']}: {r['outcome']}"
            + (f" by {r['by']}" if r["by"] else f": {r['before']} -> {r['after']}")
            + f" ({r['seconds']} s)",
            flush=True,
        )
        pathlib.Path(options.result).write_text(json.dumps(results, indent=1))

    jobs = queue.SimpleQueue()
    for file in sorted(work, key=lambda f: -work[f][1]):
        jobs.put(file)
    workers = [Worker(n, options, reach) for n in range(min(options.jobs, len(work)))]

    def serve(worker):
        worker.prepare()
        while True:
            try:
                file = jobs.get_nowait()
            except queue.Empty:
                return
            worker.run_file(file, work[file][0], work[file][1], judged, report, until)

    with concurrent.futures.ThreadPoolExecutor(len(workers)) as pool:
        list(pool.map(serve, workers))
    confirm(workers[0], results)
    results.sort(key=lambda r: (r["file"], r["line"], r["operator"]))
    pathlib.Path(options.result).write_text(json.dumps(results, indent=1))
    table(results)
    print("\nsurvivors:")
    for r in results:
        if r["outcome"] == "survived":
            print(f"{r['file']}:{r['line']}: {r['operator']}: {r['before']} -> {r['after']}")


if __name__ == "__main__":
    main()
