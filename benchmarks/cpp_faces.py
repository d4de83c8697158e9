"""What the C++ faces (td::mm, the registry) cost: allocation, dispatch, alignment, copies hidden behind computing.

python benchmarks/cpp_faces.py            needs a C++ compiler; each figure is the least of several means

Copies are hidden on a device that runs behind its launches (ASNUMPY_CPU_LAUNCH_DELAY_US), as an NPU does: its work costs
the host nothing, and one thread computes, so that the copying thread has a processor.
"""

import os
import shutil
import subprocess
import sys
import tempfile

import gate
from asnumpy import acl

DELAY_US = "100"
PLACES = {
    "on the CPU": {},
    "in CANN's place": {"ASNUMPY_DEVICE": "ascend", "ASCEND_HOME_PATH": str(acl.home())},
}


def main():
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        sys.exit("no C++ compiler: set CXX or install g++")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "cpp_faces")
        subprocess.run([compiler, "-std=c++17", "-O2", str(gate.HERE / "cpp_faces.cpp"), *acl.flags(), "-lasnumpy",
                        "-pthread", "-o", program], check=True)  # fmt: skip
        print("# as it is", flush=True)
        subprocess.run([program], check=True)
        for place, variables in PLACES.items():
            print(f"# {place}, launches {DELAY_US} us late", flush=True)
            late = {"ASNUMPY_CPU_LAUNCH_DELAY_US": DELAY_US, "ASNUMPY_NUM_THREADS": "1"}
            subprocess.run(
                [program, "overlap"], check=True, env={**os.environ, **variables, **late}
            )


if __name__ == "__main__":
    main()
