"""What tests of Ascend C kernels share: when they run, one kernel for many cases, a folder for what is compiled."""

import shutil

import asnumpy
import pytest

RUNS = asnumpy._core._launches_kernels()
# Marks of tests that launch kernels.
needs_kernels = [
    pytest.mark.skipif(not RUNS, reason="kernels in Ascend C run on the CPU device alone"),
    pytest.mark.skipif(not shutil.which("c++"), reason="there is no C++ compiler (c++)"),
]


def switch(bodies):
    """The statements as cases of a switch over `which`."""
    cases = "\n".join(f"case {k}: {{ {body} break; }}" for k, body in enumerate(bodies))
    return f"switch (which) {{\n{cases}\n}}"


def kernel(source, name):
    return asnumpy.RawKernel(source, name, language="ascendc")
