"""AscendCL and a two-phase operator straight from Python, by ctypes: z = x + 2 y on the device.

python add.py        on the CPU device of the asnumpy package
python add.py /usr/local/Ascend/ascend-toolkit/latest        on an NPU, with CANN's own libraries
"""

import ctypes
import pathlib
import sys

FLOAT, FORMAT_ND, HOST_TO_DEVICE, DEVICE_TO_HOST = 0, 2, 1, 2


def load(home):
    """libascendcl, libnnopbase and libopapi below `home`."""
    folder = pathlib.Path(home) / "lib64"
    libraries = []
    for name in ("ascendcl", "nnopbase", "opapi"):
        libraries.append(ctypes.CDLL(str(folder / f"lib{name}.so"), mode=ctypes.RTLD_GLOBAL))
    for name in ("aclCreateTensor", "aclCreateScalar"):
        getattr(libraries[1], name).restype = ctypes.c_void_p
    libraries[0].aclGetRecentErrMsg.restype = ctypes.c_char_p
    return libraries


def main(home):
    acl, base, ops = load(home)

    def check(code):
        if code != 0:
            raise RuntimeError(f"{code}: {acl.aclGetRecentErrMsg()}")

    check(acl.aclInit(None))
    check(acl.aclrtSetDevice(0))
    stream = ctypes.c_void_p()
    check(acl.aclrtCreateStream(ctypes.byref(stream)))

    n = 1000
    host = (ctypes.c_float * n)(*range(n))
    size = ctypes.c_size_t(ctypes.sizeof(host))
    shape, strides = (ctypes.c_int64 * 1)(n), (ctypes.c_int64 * 1)(1)
    memory, tensors = [], []
    for _ in "xyz":
        device = ctypes.c_void_p()
        check(acl.aclrtMalloc(ctypes.byref(device), size, 0))
        check(acl.aclrtMemcpy(device, size, host, size, HOST_TO_DEVICE))
        memory.append(device)
        tensors.append(ctypes.c_void_p(base.aclCreateTensor(
            shape, ctypes.c_uint64(1), FLOAT, strides, ctypes.c_int64(0), FORMAT_ND, shape, ctypes.c_uint64(1), device)))  # fmt: skip
    alpha = ctypes.c_void_p(base.aclCreateScalar(ctypes.byref(ctypes.c_float(2)), FLOAT))

    # Phase 1 checks and plans, phase 2 launches.
    workspace_size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    x, y, z = tensors
    check(
        ops.aclnnAddGetWorkspaceSize(
            x, y, alpha, z, ctypes.byref(workspace_size), ctypes.byref(executor)
        )
    )
    workspace = ctypes.c_void_p()
    if workspace_size.value:
        check(acl.aclrtMalloc(ctypes.byref(workspace), workspace_size, 0))
    check(ops.aclnnAdd(workspace, workspace_size, executor, stream))
    check(acl.aclrtSynchronizeStream(stream))

    out = (ctypes.c_float * n)()
    check(acl.aclrtMemcpy(out, size, memory[2], size, DEVICE_TO_HOST))
    assert list(out) == [3.0 * i for i in range(n)]
    print(f"z = x + 2 y: {out[1]}, {out[2]}, ... {out[n - 1]}")

    for tensor in tensors:
        check(base.aclDestroyTensor(tensor))
    check(base.aclDestroyScalar(alpha))
    for device in [*memory, workspace]:
        if device:
            check(acl.aclrtFree(device))
    check(acl.aclrtDestroyStream(stream))
    check(acl.aclrtResetDevice(0))
    check(acl.aclFinalize())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        import asnumpy.acl

        main(asnumpy.acl.home())
