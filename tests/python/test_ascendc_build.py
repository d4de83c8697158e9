"""A project of kernels as tutorials have it: ascendc_library, aclrtlaunch_NAME.h, ACLRT_LAUNCH_KERNEL; and ctypes."""

import os
import pathlib
import shutil
import subprocess
import sys

import asnumpy.acl
import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "ascendc"
CMAKE = shutil.which("cmake") or shutil.which(
    "cmake", path=str(pathlib.Path(sys.executable).parent)
)
pytestmark = pytest.mark.skipif(
    not (CMAKE and shutil.which("c++") and shutil.which("make")),
    reason="there is no cmake, make or c++",
)

LISTS = """
cmake_minimum_required(VERSION 3.16)
project(Ascend_c LANGUAGES CXX)
set(ASCEND_CANN_PACKAGE_PATH $ENV{ASCEND_HOME_PATH})
if(EXISTS ${ASCEND_CANN_PACKAGE_PATH}/compiler/tikcpp/ascendc_kernel_cmake)
  set(ASCENDC_CMAKE_DIR ${ASCEND_CANN_PACKAGE_PATH}/compiler/tikcpp/ascendc_kernel_cmake)
endif()
include(${ASCENDC_CMAKE_DIR}/ascendc.cmake)
ascendc_library(kernels SHARED add_custom.cpp more.cpp)
ascendc_compile_definitions(kernels PRIVATE SCALE=3)
ascendc_include_directories(kernels PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/own)
add_executable(main main.cpp)
target_link_libraries(main PRIVATE host_intf_pub kernels)
"""

# Comments, strings and conditions that a reader of the text must not trip over; and what only an NPU's compiler reads.
MORE = """
#include "kernel_operator.h"
#include "own.h"
/* extern "C" __global__ __aicore__ void not_there(GM_ADDR x) { } */
// extern "C" __global__ __aicore__ void nor_this(GM_ADDR x) { }
extern "C" __global__ __aicore__ void
scaled(GM_ADDR x, __gm__ float *y,
       const uint32_t count /* elements; not bytes */)
{
    for (uint32_t i = 0; i < count; i++) y[i] = OWN(((float *)x)[i]) * SCALE;
}
#ifndef ASCENDC_CPU_DEBUG
void scaled_do(uint32_t n, void *s, uint8_t *x, float *y) { scaled<<<n, nullptr, s>>>(x, y, 1); }
#endif
extern "C" __global__ __aicore__ void nothing() {
    if (AscendC::GetBlockIdx() == 2) AscendC::printf("block %d of %d\\n", (int)AscendC::GetBlockIdx(), (int)AscendC::GetBlockNum());
    if (AscendC::GetBlockIdx() == 2) PRINTF("no more\\n");
}
"""

MAIN = """
#include <cstdio>
#include <vector>
#include "acl/acl.h"
#ifndef ASCENDC_CPU_DEBUG
#include "aclrtlaunch_add_custom.h"
#include "aclrtlaunch_nothing.h"
#include "aclrtlaunch_scaled.h"
#endif
#define CHECK(call) do { int code = (int)(call); if (code) { printf("%s: %d\\n", #call, code); return 1; } } while (0)
int main() {
    const uint32_t n = 5000;
    std::vector<float> x(n), y(n), z(n);
    for (uint32_t i = 0; i < n; i++) x[i] = i, y[i] = 0.5f;
    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(0));
    aclrtStream stream = nullptr;
    CHECK(aclrtCreateStream(&stream));
    void *xd, *yd, *zd;
    CHECK(aclrtMalloc(&xd, n * 4, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMalloc(&yd, n * 4, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMalloc(&zd, n * 4, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(aclrtMemcpy(xd, n * 4, x.data(), n * 4, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(aclrtMemcpy(yd, n * 4, y.data(), n * 4, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK(ACLRT_LAUNCH_KERNEL(add_custom)(8, stream, xd, yd, zd, n));
    CHECK(ACLRT_LAUNCH_KERNEL(scaled)(1, stream, zd, (float *)zd, n));
    CHECK(aclrtlaunch_nothing(3, stream));
    CHECK(aclrtSynchronizeStream(stream));
    CHECK(aclrtMemcpy(z.data(), n * 4, zd, n * 4, ACL_MEMCPY_DEVICE_TO_HOST));
    for (uint32_t i = 0; i < n; i++) if (z[i] != (i + 0.5f + 1) * 3) { printf("wrong at %u: %f\\n", i, z[i]); return 1; }
    ACLRT_LAUNCH_KERNEL(add_custom)(8, stream, xd, yd, zd, 2 * n);
    int code = aclrtSynchronizeStream(stream);
    printf("%d %s\\n", code, aclGetRecentErrMsg());
    code = (int)ACLRT_LAUNCH_KERNEL(add_custom)(0, stream, xd, yd, zd, n);
    printf("%s\\n", aclGetRecentErrMsg());
    CHECK(aclrtFree(xd) || aclrtFree(yd) || aclrtFree(zd));
    CHECK(aclrtDestroyStream(stream) || aclrtResetDevice(0) || aclFinalize());
    return 0;
}
"""


def sh(*command, cwd=None):
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd, env=asnumpy.acl.environment()
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("a project")
    (folder / "own").mkdir()
    (folder / "own" / "own.h").write_text("#define OWN(x) ((x) + 1)\n")
    for name, text in (("CMakeLists.txt", LISTS), ("more.cpp", MORE), ("main.cpp", MAIN),
                       ("add_custom.cpp", (EXAMPLES / "add.cpp").read_text())):  # fmt: skip
        (folder / name).write_text(text)
    sh(CMAKE, "-S", folder, "-B", folder / "build", "-G", "Unix Makefiles")
    sh(CMAKE, "--build", folder / "build")
    return folder


def test_a_tutorials_program(project):
    *printed, failed, refused = sh(project / "build" / "main").splitlines()
    assert printed == ["block 2 of 3", "no more"]
    assert (
        failed.startswith("507015 add_custom, block 2 of 8: DataCopyPad: ")
        and "of 20032 bytes" in failed
    )  # rounded up
    assert "0 blocks of add_custom; there may be 1 to 65535" in refused
    header = (project / "build" / "kernels_launch" / "aclrtlaunch_scaled.h").read_text()
    assert (
        "uint32_t aclrtlaunch_scaled(uint32_t blockDim, aclrtStream stream, void * x, void * y, const uint32_t count);"
        in header
    )


THREADS = """
#include <cstdio>
#include "acl/acl.h"
#include "ascendc/threads.h"
__global__ void count(int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 100 * gridDim.x + i;
}
int main() {
    int out[50] = {}, wrong = 0;
    aclInit(nullptr);
    aclrtSetDevice(0);
    int code = AscendC::LaunchThreads("count", count, 4, 16, nullptr, out, 50);
    code = code ? code : aclrtSynchronizeStream(nullptr);
    for (int i = 0; i < 50; i++) wrong += out[i] != 400 + i;
    for (unsigned threads : {0u, 1025u}) {
        AscendC::LaunchThreads("count", count, 4, threads, nullptr, out, 50);
        int failed = aclrtSynchronizeStream(nullptr);
        printf("%d %s\\n", failed, aclGetRecentErrMsg());
    }
    printf("%d %d\\n", code, wrong);
    aclrtResetDevice(0);
    return aclFinalize();
}
"""


def test_bodies_of_a_thread(tmp_path):
    (tmp_path / "threads.cpp").write_text(THREADS)
    sh("c++", "-std=c++17", "threads.cpp", "-o", "threads", *asnumpy.acl.flags(), cwd=tmp_path)
    none, many, done = sh(tmp_path / "threads").splitlines()
    said = "count, block 0 of 4: threadIdx: a block of {} threads; it may have 1 to 1024"
    assert none == "507015 " + said.format(0) and many == "507015 " + said.format(1025)
    assert done == "0 0"


def test_a_changed_signature_is_seen(project):
    more = project / "more.cpp"
    more.write_text(more.read_text().replace("void nothing()", "void nothing(int32_t unused)"))
    os.utime(more, (more.stat().st_mtime + 2,) * 2)
    done = subprocess.run([CMAKE, "--build", project / "build"], capture_output=True, text=True, check=False,
                          env=asnumpy.acl.environment())  # fmt: skip
    assert done.returncode != 0 and "aclrtlaunch_nothing" in done.stdout + done.stderr
    more.write_text(more.read_text().replace("void nothing(int32_t unused)", "void nothing()"))
    os.utime(more, (more.stat().st_mtime + 4,) * 2)
    sh(CMAKE, "--build", project / "build")


def test_addresses_through_ctypes(project):
    program = """
import ctypes, sys
import asnumpy as np, asnumpy.acl
kernels = ctypes.CDLL(sys.argv[1])
runtime = ctypes.CDLL(str(asnumpy.acl.home() / "lib64" / "libascendcl.so"))
x, y, z = np.arange(3000, dtype=np.float32), np.ones(3000, np.float32), np.zeros(3000, np.float32)
address = lambda a: ctypes.c_void_p(a.__array_interface__["data"][0])
assert kernels.aclrtlaunch_add_custom(4, None, address(x), address(y), address(z), 3000) == 0
assert runtime.aclrtSynchronizeStream(None) == 0
assert (z == x + 1).all()
"""
    done = subprocess.run([sys.executable, "-c", program, str(project / "build" / "libkernels.so")], capture_output=True,
                          text=True, check=False, env=dict(os.environ, ASNUMPY_DEVICE="cpu"))  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_without_a_project(tmp_path):
    """The generator alone, for a Makefile."""
    script = asnumpy.acl.home() / "tools" / "tikcpp" / "ascendc_kernel_cmake" / "ascendc.cmake"
    sh(CMAKE, f"-DSOURCE={EXAMPLES / 'relu.cpp'}", f"-DOUTPUT={tmp_path}", "-P", script)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "aclrtlaunch_relu_custom.h",
        "relu_launch.cpp",
    ]
    sh(
        "c++",
        "-std=c++17",
        "-c",
        "relu_launch.cpp",
        f"-I{asnumpy.acl.home() / 'include'}",
        cwd=tmp_path,
    )
    for text, message in (("int x;", "has no kernel"),
                          ('extern "C" __global__ __aicore__ void f(GM_ADDR) {}', "a type and a name are needed")):  # fmt: skip
        (tmp_path / "k.cpp").write_text(text)
        done = subprocess.run([CMAKE, "-DSOURCE=k.cpp", "-DOUTPUT=.", "-P", script], capture_output=True, text=True,
                              check=False, cwd=tmp_path)  # fmt: skip
        assert done.returncode != 0 and message in " ".join(done.stderr.split())
    done = subprocess.run(
        [CMAKE, "-P", script], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode != 0 and "usage: cmake -DSOURCE=kernel.cpp" in done.stderr
