"""Groups of ranks for operators that communicate: communicators of libhccl, known by their names."""

import ctypes
import functools

import numpy as np
from aclnn import LIB, lib

MAGIC, VERSION, NAME_AT, CONFIG_SIZE = 0xF0F0F0F0, 9, 32, 160  # of HcclCommConfig, up to its name
ROOT_SIZE = 4108


@functools.cache
def hccl():
    return ctypes.CDLL(str(LIB / "libhccl.so"))


def check(code):
    if code != 0:
        message = lib.aclGetRecentErrMsg()
        raise RuntimeError(f"{code}: {message.decode() if message else ''}")


def root_info():
    """Where the ranks of a communicator meet, for all of them."""
    root = ctypes.create_string_buffer(ROOT_SIZE)
    check(hccl().HcclGetRootInfo(root))
    return root.raw


def join(root, size, rank, name):
    """One rank of a communicator of that name; returns when all have called it."""
    config = bytearray(CONFIG_SIZE)
    config[:16] = np.array([CONFIG_SIZE, MAGIC | VERSION << 32], np.uint64).tobytes()
    config[24:28] = np.array([200], np.uint32).tobytes()
    config[NAME_AT : NAME_AT + len(name)] = name.encode()
    comm = ctypes.c_void_p()
    check(hccl().HcclCommInitRootInfoConfig(
        size, root, rank, ctypes.create_string_buffer(bytes(config), CONFIG_SIZE), ctypes.byref(comm)
    ))  # fmt: skip
    return comm


@functools.cache
def alone():
    """The name of a group of this process alone, which the recorded programs have too."""
    join(root_info(), 1, 0, "alone")
    return "alone"
