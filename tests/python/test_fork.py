"""fork while other threads compute: the child goes on with the library, whatever they were in the middle of."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

SOURCES = pathlib.Path(__file__).parents[2] / "src"
PROGRAM = """
import asnumpy as np, os, sys, threading, time, warnings
warnings.simplefilter("ignore")  # Python's own, of forks beside threads
a = np.arange(400_000.0)
m = np.ones((96, 96))
expected = float((a * 2 + 1).sum())
np.fft, np.linalg  # imported: what another thread is importing, the child of a fork never can
stop = False

def compute():
    while not stop:
        float(WORK)

def child():
    b = np.arange(400_000.0)
    good = float((b * 2 + 1).sum()) == expected  # fused, on all threads
    good &= np.sort(b[::-1])[5] == 5 and (a[:3] + 1).tolist() == [1, 2, 3]
    good &= abs(float(np.fft.ifft(np.fft.fft(b[:1500]))[7].real) - 7) < 1e-9 and float((m @ m)[3, 4]) == 96
    os._exit(0 if good else 1)

threads = [threading.Thread(target=compute) for _ in range(THREADS)]
for t in threads:
    t.start()
bad = 0
for k in range(25):
    time.sleep(0.002 * (k % 5))
    pid = os.fork()
    if not pid:
        child()
    end = time.monotonic() + 20
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            bad += status != 0
            break
        if time.monotonic() > end:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            bad += 1
            break
        time.sleep(0.001)
    if bad > 1:
        break
stop = True
for t in threads:
    t.join()
assert float((a * 2 + 1).sum()) == expected
os._exit(bad)
"""


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    "work",
    [
        "np.sin(a * 1.5 + 1).sum()",
        "np.sort(np.sin(a))[0]",
        "(np.ones(9) + 1)[3]",
        "np.fft.fft(a[:1500])[1].real",
        "(m @ m)[0, 0]",
        "(m[:3, :3] @ m[:3, :3])[0, 0] + np.linalg.det(m[:3, :3])",
    ],
)
def test_children_of_a_process_whose_threads_compute(work, threads):
    program = PROGRAM.replace("WORK", work).replace("THREADS", str(threads))
    run = subprocess.run([sys.executable, "-c", program], env=os.environ, timeout=200, check=False)
    assert run.returncode == 0, f"{run.returncode} children did not compute"


def test_every_lock_is_one_that_a_fork_waits_for():
    """A file with a mutex of its own says what becomes of it in a child (src/base/forks.h)."""
    files = [f for f in SOURCES.rglob("*.c") if "PTHREAD_MUTEX_INITIALIZER" in f.read_text()]
    assert len(files) > 10
    silent = [f.name for f in files if not re.search("ASN_FORK_TAKES|fork", f.read_text(), re.I)]
    assert not silent
