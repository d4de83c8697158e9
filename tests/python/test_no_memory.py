"""What needs scratch memory that there is not raises MemoryError, wherever in it the memory ends."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import asnumpy as np, os, resource, threading
a = np.random.default_rng(0).random(1_000_000)
b = np.random.default_rng(0).integers(0, 10**9, 500_000)
a[0], b[0]
def attempt(room):
    with open("/proc/self/statm") as f:
        used = int(f.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + room, -1))
    try:
        np.asarray(CALL)
        np.synchronize()
        os._exit(0)
    except MemoryError:
        os._exit(1)
    except BaseException as e:
        os.write(1, f"{room}: {type(e).__name__}: {e}\\n".encode())
        os._exit(2)
threading.stack_size(16 << 20)  # all there from the beginning: a main stack grows, or is refused to
for room in (1 << 19, 3 << 20, 5 << 20, 9 << 20, 11 << 20, 17 << 20, 26 << 20, 34 << 20):
    child = os.fork()
    if not child:
        t = threading.Thread(target=attempt, args=(room,))
        t.start()
        t.join()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        os.write(1, f"{room}: signal {os.WTERMSIG(status)}\\n".encode())
os._exit(0)
"""
CALLS = """np.sort(a) np.argsort(a) np.unique(a) np.median(a) np.percentile(a,30) np.argsort(b) np.sort(b) np.unique(b,return_inverse=True)
np.partition(a,1000) np.argpartition(a,1000) np.lexsort((a,a)) np.cumsum(a[::-1]) np.fft.fft(a) np.searchsorted(a,a) a[a>0.5] np.nonzero(a)[0] np.histogram(a,99)[0]
np.bincount(b//1000) a[:250000].reshape(500,500)@a[:250000].reshape(500,500) np.sin(a*2+1) np.take(a,b%9) np.isin(b,b[:9])"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux's /proc")
@pytest.mark.parametrize("call", CALLS.split())
def test_no_memory(call):
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("CALL", call)],
        env={**os.environ, "ASNUMPY_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert (run.stdout, run.returncode) == ("", 0), run.stdout + run.stderr
