"""Peak memory of the ten programs, beyond what their inputs and the library itself hold: never above NumPy's.

Each figure is a fresh process's: the kernel's high-water mark of resident memory, reset when the inputs are made,
the libraries' own pages are read (half a megabyte of them belongs to paths that small inputs do not take), what making
the inputs left idle is given back (in the C library's heap, which NumPy's arrays would take from, and in the pool),
and the program has not begun (Linux: /proc/self/clear_refs).
"""

import functools
import subprocess
import sys

import programs
from rows import Row

from groups import EXAMPLES

TEXT = """
import ctypes
import importlib
import sys
sys.path.insert(0, {path!r})
import programs

READ_PAGES = 22  # MADV_POPULATE_READ
libc = ctypes.CDLL(None)

def read_libraries():
    with open("/proc/self/maps") as file:
        lines = [line.split() for line in file]
    for where, rights, *_, name in lines:
        if ".so" in name and rights.startswith("r"):
            first, end = (int(x, 16) for x in where.split("-"))
            libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(end - first), READ_PAGES)

def peak():
    with open("/proc/self/status") as file:
        facts = dict(line.split(":", 1) for line in file)
    return [int(facts[k].split()[0]) * 1024 for k in ("VmRSS", "VmHWM")]

run = programs.call({name!r}, {library!r})
programs.call({name!r}, {library!r}, small=True)()
read_libraries()
getattr(importlib.import_module({library!r}), "empty_cache", lambda: None)()
libc.malloc_trim(0)
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
