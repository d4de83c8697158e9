"""Our arrays between Dask's workers: the memory itself is sent, and what arrives becomes an array.

A worker that spills writes the same frames to disk. In a worker's process there are as many threads
for computing as it has threads for tasks, unless ASNUMPY_NUM_THREADS says otherwise (workers of one
machine would else each take all of it), and one of the machine's devices, where it has several. Idle
memory goes back to the system while the process holds more than half of what the worker may: Dask
counts it as the worker's, and pauses.
"""

import fcntl
import functools
import itertools
import os
import pathlib
import tempfile
import threading
import time

import psutil
from distributed.core import Status
from distributed.protocol.numpy import deserialize_numpy_ndarray, serialize_numpy_ndarray
from distributed.protocol.serialize import dask_deserialize, dask_serialize
from distributed.worker import Worker

import asnumpy
from asnumpy._host_values import host


@dask_serialize.register(asnumpy.ndarray)
def _serialize(array, context=None):
    return serialize_numpy_ndarray(host(array), context)


@dask_deserialize.register(asnumpy.ndarray)
def _deserialize(header, frames):
    return asnumpy.asarray(deserialize_numpy_ndarray(header, frames))


_PERIOD = 0.1  # seconds: Dask looks at a worker's memory as often


def _give_memory_back(worker, limit):
    """Gives idle memory back while the process holds more than half of the limit, in bytes, until the
    worker is closed."""
    process = psutil.Process()
    while worker.status is not Status.closed:
        time.sleep(_PERIOD)
        if process.memory_info().rss > limit / 2:
            asnumpy.memory.empty_cache()


def _kept(number):
    """The open file by which this process keeps a number that no other of the user's on this machine has; None: one has.

    The system frees it when the process ends, whatever ends it.
    """
    folder = pathlib.Path(tempfile.gettempdir(), f"asnumpy-workers-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder.joinpath(str(number)).open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


@functools.cache
def _take_device():
    """Makes one of the machine's devices this process's, the next in turn; returns what keeps its turn."""
    devices = asnumpy.get_device_count()
    if devices == 1:
        return None
    number, file = next((n, kept) for n in itertools.count() if (kept := _kept(n)))
    asnumpy.set_device(number % devices)
    return file


def _share(worker):
    """Takes no more threads and memory of its process than the worker may, and a device of its own."""
    _take_device()
    os.environ.setdefault("ASNUMPY_NUM_THREADS", str(worker.state.nthreads))
    if limit := worker.memory_manager.memory_limit:
        threading.Thread(target=_give_memory_back, args=(worker, limit), daemon=True).start()


_worker_init = Worker.__init__


@functools.wraps(_worker_init)
def _init_and_share(self, *args, **kwargs):
    _worker_init(self, *args, **kwargs)
    _share(self)


for _worker in list(Worker._instances):
    _share(_worker)
Worker.__init__ = _init_and_share  # those that this process starts from now on
