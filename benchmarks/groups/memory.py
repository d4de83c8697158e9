"""Peak memory of the ten programs, beyond what their inputs and the library itself hold: never above NumPy's.

Each figure is a fresh process's: the kernel's high-water mark of resident memory, reset when the inputs are made
and the program has not begun (Linux: /proc/self/clear_refs).
"""

import functools
import subprocess
import sys

import programs
from rows import Row

from groups import EXAMPLES

TEXT = """
import sys
sys.path.insert(0, {path!r})
import programs

def peak():
    with open("/proc/self/status") as file:
        facts = dict(line.split(":", 1) for line in file)
    return [int(facts[k].split()[0]) * 1024 for k in ("VmRSS", "VmHWM")]

run = programs.call({name!r}, {library!r})
programs.call({name!r}, {library!r}, small=True)()
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before = peak()[0]
run()
print(max(peak()[1] - before, 1))
"""


def build(name, library):
    """Bytes of one run."""
    text = TEXT.format(path=str(EXAMPLES), name=name, library=library)

    def measure():
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])
        return float(done.stdout)

    measure()
    return measure


def rows():
    return [Row("memory", name, build=functools.partial(build, name), timed=True, unit="B", bar=(1, None))
            for name in programs.NAMES]  # fmt: skip
