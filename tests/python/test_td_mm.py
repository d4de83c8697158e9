"""td::mm, the C++ face of device memory, as the package installs it: a program over it, and a library that CMake builds."""

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from asnumpy import acl

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "examples" / "ascend" / "custom_matmul"
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
# What the tests' own mode says is the array library's here, which finds CANN by $ASCEND_HOME_PATH alone.
PLAIN = {k: v for k, v in os.environ.items() if not k.startswith(("ASNUMPY_", "ASCEND_"))}
PLACES = {
    "cpu": {},
    "behind": {"ASNUMPY_CPU_LAUNCH_DELAY_US": "100"},
    "ascend": {"ASNUMPY_DEVICE": "ascend", "ASCEND_HOME_PATH": str(acl.home())},
}


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The C++ test, built as a user's program is."""
    made = tmp_path_factory.mktemp("program") / "td_mm"
    home = acl.home()
    source = ROOT / "tests" / "capi" / "test_td_mm.cpp"
    run(["g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", source, f"-I{home}/include",
         f"-L{home}/lib64", "-ltd_mm", f"-Wl,-rpath,{home}/lib64", "-pthread", "-o", made])  # fmt: skip
    return made


@pytest.mark.parametrize("place", PLACES)
def test_program(program, place):
    arguments = [] if place == "ascend" else ["fork"]  # CANN's runtime does not cross a fork
    out = run([program, *arguments], env={**PLAIN, **PLACES[place]})
    assert out == "td::mm: all as it should be\n"


def test_older_standards_are_refused(tmp_path):
    source = tmp_path / "one.cpp"
    source.write_text("#include <td/mm/memory_manager.h>\nint main() {}\n")
    command = ["g++", "-std=c++14", "-fsyntax-only", source, f"-I{acl.home()}/include"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0 and "compile with -std=c++17 or later" in done.stderr


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """examples/ascend/custom_matmul, built after set_env.sh as its page says."""
    folder = tmp_path_factory.mktemp("library")
    found = pathlib.Path(sys.executable).parent / "cmake"
    cmake = found if found.exists() else "cmake"
    if shutil.which(str(cmake)) is None or shutil.which("make") is None:
        pytest.skip("no cmake, or no make")
    script = (
        f". '{acl.home()}/set_env.sh' && '{cmake}' -S '{LIBRARY}' -B . -G 'Unix Makefiles'"
        f" && '{cmake}' --build ."
    )
    run(["bash", "-c", script], cwd=folder, env=PLAIN)
    return folder / "libcustom_matmul.so"


CALLS = """
import ctypes, sys
import numpy as np

library = ctypes.CDLL(sys.argv[1])
library.custom_matmul_error.restype = ctypes.c_char_p
sizes = [ctypes.c_int64] * 3 + [ctypes.c_int]
library.custom_matmul_forward_host.argtypes = [ctypes.c_void_p] * 3 + sizes
library.custom_matmul_backward_host.argtypes = [ctypes.c_void_p] * 5 + sizes


def address(x):
    return None if x is None else x.ctypes.data


def call(name, *arguments):
    if getattr(library, name)(*arguments):
        raise RuntimeError(library.custom_matmul_error().decode())


rng = np.random.default_rng(0)
for dtype, code, tolerance in (("float32", 0, 1e-5), ("float16", 1, 4e-3)):
    for M, K, N in ((1, 1, 1), (7, 33, 5), (128, 64, 200), (0, 3, 2)):
        a, b = rng.random((M, K)).astype(dtype), rng.random((K, N)).astype(dtype)
        c, g = np.empty((M, N), dtype), rng.random((M, N)).astype(dtype)
        da, db = np.empty_like(a), np.empty_like(b)
        call("custom_matmul_forward_host", address(a), address(b), address(c), M, K, N, code)
        call("custom_matmul_backward_host", *map(address, (g, a, b, da, db)), M, K, N, code)
        wide = [x.astype("float64") for x in (a, b, g)]
        for got, want in ((c, wide[0] @ wide[1]), (da, wide[2] @ wide[1].T), (db, wide[0].T @ wide[2])):
            np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)
db[:] = 5
call("custom_matmul_backward_host", *map(address, (g, a, b, None, None)), M, K, N, code)
assert (db == 5).all()
for arguments, sentence in (((None, 1, 1, 2, 2, 2, 0), "host is NULL"), ((address(c), 1, 1, 2, 2, 2, 99), "99 is no dtype"),
                            ((address(c), 1, 1, -2, 2, 2, 0), "an extent is -2")):
    try:
        call("custom_matmul_forward_host", *arguments)
    except RuntimeError as error:
        assert sentence in str(error), error
    else:
        raise AssertionError(sentence)
print("as NumPy's")
"""


@pytest.mark.parametrize("place", PLACES)
def test_library_through_ctypes(library, place, tmp_path):
    (tmp_path / "calls.py").write_text(CALLS)
    environment = {**PLAIN, **PLACES[place], "LD_LIBRARY_PATH": f"{acl.home()}/lib64"}
    assert run([sys.executable, "calls.py", library], cwd=tmp_path, env=environment) == (
        "as NumPy's\n"
    )


def test_other_names_of_the_libraries():
    """libaclnn and libtd_mm are the same functions, which are there once."""
    lib = acl.home() / "lib64"
    for alias, name, symbol in (
        ("aclnn", "opapi", "aclnnMatmul"),
        ("td_mm", "asnumpy", "asnp_mm_tensor"),
    ):
        one, other = (getattr(ctypes.CDLL(lib / f"lib{n}.so"), symbol) for n in (alias, name))
        assert ctypes.cast(one, ctypes.c_void_p).value == ctypes.cast(other, ctypes.c_void_p).value


def test_headers_of_operators_lie_in_aclnn_too():
    include = acl.home() / "include"
    theirs = {f.name for f in (include / "aclnnop").glob("aclnn_*.h")} - {"aclnn_util.h"}
    assert theirs <= {f.name for f in (include / "aclnn").glob("*.h")}
    assert "aclnnMatmul" in (include / "aclnnop" / "aclnn_matmul.h").read_text()


def test_benchmark(tmp_path):
    """What benchmarks/cpp_faces.py builds runs to its end, where its device is late, too."""
    source = ROOT / "benchmarks" / "cpp_faces.cpp"
    run(["g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", source, *acl.flags(), "-lasnumpy", "-pthread",
         "-o", tmp_path / "faces"])  # fmt: skip
    for arguments, place, says in (
        ([], "cpu", "dispatch from C++ to C++"),
        (["overlap"], "behind", "share of the copies that is hidden"),
    ):
        out = run([tmp_path / "faces", *arguments, "quick"], env={**PLAIN, **PLACES[place]})
        assert says in out
