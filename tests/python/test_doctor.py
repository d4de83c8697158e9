"""The doctor begins with what the machine has; an NPU's table comes when it is asked for."""

import os
import re
import subprocess
import sys

import asnumpy
import numpy
import pytest
from asnumpy import acl, doctor
from conftest import NPU


def ask(*arguments, **settings):
    kept = {k: v for k, v in os.environ.items() if not re.match("ASNUMPY_|ASCEND_", k)}
    done = subprocess.run(
        [sys.executable, "-m", "asnumpy.doctor", *arguments],
        capture_output=True, text=True, env={**kept, **settings},
    )  # fmt: skip
    assert done.returncode == 0 and not done.stderr
    return dict(re.findall(r"^ *(.+?): +(.*)$", done.stdout, re.M))


def test_what_the_user_has_comes_first():
    rows = ask(ASNUMPY_NUM_THREADS="2")
    names = list(rows)
    assert names[:8] == ["asnumpy", "Python", "NumPy", "device", "processor", "cores",
                         "instruction set", "threads"]  # fmt: skip
    assert "CANN" not in rows and "float16" not in rows and names[-1] == "to do"
    assert rows["asnumpy"] == asnumpy.__version__ and rows["NumPy"] == numpy.__version__
    assert rows["device"] == "cpu: this machine's CPU computes; no NPU is in use"
    assert rows["threads"] == "2" and rows["ASNUMPY_NUM_THREADS"] == "2"
    assert f"{len(os.sched_getaffinity(0))} of them for this process" in rows["cores"]
    assert rows["JIT"].partition(" ")[0] in ("on", "off")
    assert re.match(r"OpenBLAS 0\.\d+.*, kernels \w+$", rows["BLAS"])
    assert os.path.exists(rows["BLAS file"])
    assert re.match(r"\d+\.\d GiB, \d+\.\d GiB available$", rows["memory"])


def test_npu_table_when_asked_or_found():
    rows = ask("--npu")
    assert rows["CANN"].startswith("not found") and "float16" in rows
    rows = ask(ASCEND_HOME_PATH=str(acl.home()))
    assert rows["libopapi.so"] == "opens" and "float16" in rows
    assert "no NPU is in use" in rows["device"]


def test_settings_are_told():
    rows = ask(
        ASNUMPY_ISA="baseline", ASNUMPY_JIT="0", ASNUMPY_TYPO="1", ASNUMPY_CPU_DEVICES="3",
        ASNUMPY_CPU_MEMORY=str(2**30), ASNUMPY_CACHE_DIR="/nowhere/at all",
    )  # fmt: skip
    assert rows["instruction set"].startswith("baseline")
    assert rows["JIT"].startswith("off")
    assert rows["ASNUMPY_TYPO"] == "1 (AsNumpy has no such setting)"
    assert "(shown as 3 devices)" in rows["device"]
    assert "1.0 GiB by ASNUMPY_CPU_MEMORY" in rows["memory limits"]
    assert rows["compiled kernels"] == "0 in /nowhere/at all"


def test_what_does_not_open_is_said():
    rows = ask(ASNUMPY_JIT="sometimes")
    assert rows["device"] == (
        "none opens: ASNUMPY_JIT is 'sometimes'; it may be '0', '1' or 'always'"
    )
    assert rows["to do"] == "mend what the line of the device says" and "threads" not in rows
    rows = ask(ASNUMPY_OPENBLAS="/nowhere.so")
    assert rows["BLAS"].startswith("none: no BLAS library could be opened (tried /nowhere.so)")


@pytest.mark.skipif(not NPU, reason="the CPU device stands for an NPU in one mode only")
def test_beside_an_npu_the_host_is_described():
    text = "\n".join(doctor.report())
    assert "an NPU; the CPU computes what it lacks" in text and "instruction set:" in text
