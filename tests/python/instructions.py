"""Instructions that a front-end call costs, counted by callgrind.

usage: instructions.py            prints the counts of this build
       instructions.py --write    and stores them as the ones to hold (tests/data/instructions.json)

Time on a shared machine cannot show five per cent; a count can. A child process runs every call N times and
then 2N times under callgrind, which dumps and clears its counters whenever getppid() is entered; the
difference over N is the cost of one call, with start-up, the loop's set-up and the dump itself cancelled. The
child fixes what could vary: hash seed, address layout, garbage collection, one thread. Valgrind has no AVX-512, so it
counts the AVX2 path; on ten elements the front end is what counts.

Counts depend on what was compiled by what: they are kept per machine class (below), and compared only within it.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "instructions.json"
SLACK = 0.05
NOISE = 40  # instructions: what the block allocator's state adds to a call that makes a scalar, between installations
N = 200  # calls; 2 N in the second round

CALLS = {
    "a + b": "a + b",
    "a + 1.0": "a + 1.0",
    "np.sin(a)": "np.sin(a)",
    "a > b": "a > b",
    "a += b": "a += b",
    "a.sum()": "a.sum()",
    "np.sum(a)": "np.sum(a)",
    "a.mean()": "a.mean()",
    "np.std(a)": "np.std(a)",
    "np.where(m, a, b)": "np.where(m, a, b)",
    "np.concatenate((a, b))": "np.concatenate((a, b))",
    "a[1:]": "a[1:]",
    "a[5]": "a[5]",
    "a[5] = 1.0": "a[5] = 1.0",
    "a[2:4] = 0.5": "a[2:4] = 0.5",
    "a[m]": "a[m]",
    "ten-operation chain": "(((((a + b) * a - b) * a + b) * a - b) * a + b) * a",
    "a.reshape(2, 5)": "a.reshape(2, 5)",
    "g.T": "g.T",
    "a.copy()": "a.copy()",
    "a.astype(np.float32)": "a.astype(np.float32)",
    "np.zeros(10)": "np.zeros(10)",
    "np.asarray(a)": "np.asarray(a)",
    "g @ g, 4 x 4": "g @ g",
    "float(a[3])": "float(a[3])",
    "len(a); a.shape; a.dtype": "len(a); a.shape; a.dtype",
}


def child():
    """What runs under callgrind."""
    import gc
    import itertools

    import asnumpy as np

    space = {"np": np, "a": np.linspace(0.5, 1.5, 10), "b": np.linspace(1.5, 2.5, 10),
             "g": np.ones((4, 4)), "m": np.arange(10) % 3 == 0, "repeat": itertools.repeat}  # fmt: skip
    loops = []
    for code in CALLS.values():
        source = f"def run(count):\n    for _ in repeat(None, count):\n        {code}\n"
        if "+=" in code:
            source = source.replace(":\n", ":\n    global a\n", 1)
        exec(source, space)
        loops.append(space["run"])
    gc.disable()
    for run in loops:
        run(N)  # free lists, caches and the interpreter's specialised instructions
    for run in loops:
        os.getppid()
        run(N)
        os.getppid()
        run(2 * N)
    os.getppid()


def count():
    """Instructions of one call each, by name."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", "--dump-before=getppid", "--dump-line=no", "--compress-strings=yes",
                   f"--callgrind-out-file={out}", sys.executable, __file__, "--child"]  # fmt: skip
        if shutil.which("setarch"):
            command = ["setarch", "--addr-no-randomize", *command]
        env = {**os.environ, "PYTHONHASHSEED": "0", "ASNUMPY_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
               "PYTHONDONTWRITEBYTECODE": "1"}  # fmt: skip
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"callgrind failed:\n{done.stdout}\n{done.stderr}")
        # Dump k holds what ran since dump k - 1; the first one is the start-up.
        dumps = sorted(out.parent.glob("callgrind.out.*"), key=lambda p: int(p.suffix[1:]))
        totals = [
            int(re.search(r"^(?:totals|summary): (\d+)", p.read_text(), re.M)[1]) for p in dumps
        ]
    if len(totals) < 2 * len(CALLS) + 1:
        raise RuntimeError(f"callgrind wrote {len(totals)} dumps for {len(CALLS)} calls")
    rounds = totals[1 : 2 * len(CALLS) + 1]
    return {name: round((twice - once) / N) for name, once, twice in
            zip(CALLS, rounds[::2], rounds[1::2], strict=True)}  # fmt: skip


def machine_class():
    """What decides the counts: interpreter, instruction set, compiler, C library, NumPy (whose scalars are ours)."""
    import asnumpy
    import numpy

    core = pathlib.Path(asnumpy._core.__file__).read_bytes()
    compiler = re.search(rb"(GCC): \([^)]*\) (\d+)|(clang) version (\d+)", core)
    name = " ".join(g.decode() for g in compiler.groups() if g) if compiler else "unknown compiler"
    flags = pathlib.Path("/proc/cpuinfo")
    avx2 = " avx2" if flags.exists() and " avx2 " in flags.read_text() else ""
    python = f"{platform.python_implementation()} {sys.version_info[0]}.{sys.version_info[1]}"
    return (f"{python}, {platform.machine()}{avx2}, {name}, {' '.join(platform.libc_ver())}, "
            f"NumPy {'.'.join(numpy.__version__.split('.')[:2])}")  # fmt: skip


def grown(held, now):
    """The calls that cost more than they may, with both counts."""
    limit = {name: cost + max(SLACK * cost, NOISE) for name, cost in held.items()}
    return {name: f"{held[name]} -> {now[name]}" for name in now if now[name] > limit[name]}


def stored():
    return json.loads(DATA.read_text()) if DATA.exists() else {}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--write", action="store_true", help="store the counts for this machine class"
    )
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child()
        return
    counts, held = count(), stored().get(machine_class(), {})
    print(machine_class())
    for name, value in counts.items():
        change = f"{value / held[name] - 1:+8.1%}" if name in held else "     new"
        print(f"{name:28s}{value:8d}{change}")
    if args.write:
        DATA.parent.mkdir(exist_ok=True)
        DATA.write_text(json.dumps({**stored(), machine_class(): counts}, indent=1) + "\n")


if __name__ == "__main__":
    main()
