"""Our arrays as chunks of Dask's arrays, and "asnumpy" as a backend of its creation functions.

Dask lays its operators over arrays of the classes that are registered as chunks, chooses functions
by the class of a chunk where NumPy's protocols do not lead to ours, and finds backends by the entry
points that packages have (dask.array.backends).
"""

import dask.array as da
import numpy
from dask import config
from dask.array.backends import ArrayBackendEntrypoint
from dask.array.chunk_types import register_chunk_type
from dask.array.dispatch import (
    Dispatch,
    empty_lookup,
    percentile_lookup,
    to_numpy_dispatch,
)
from dask.sizeof import sizeof
from dask.tokenize import normalize_token

import asnumpy
from asnumpy import _core
from asnumpy._host_values import host

register_chunk_type(asnumpy.ndarray)
empty_lookup.register(asnumpy.ndarray, asnumpy.empty)
percentile_lookup.register(asnumpy.ndarray, percentile_lookup.dispatch(numpy.ndarray))


@to_numpy_dispatch.register(asnumpy.ndarray)
def _to_numpy(data, **kwargs):
    return host(data)


@normalize_token.register(asnumpy.ndarray)
def _token(array):
    return "asnumpy.ndarray", normalize_token(host(array))


@sizeof.register(asnumpy.ndarray)
def _sizeof(array):
    return array.nbytes


to_asnumpy_dispatch = Dispatch("to_asnumpy_dispatch")


@to_asnumpy_dispatch.register((numpy.ndarray, asnumpy.ndarray))
def _to_asnumpy(data, **kwargs):
    return asnumpy.asarray(data)


def _created(name, *args, **kwargs):
    """What Dask's own function makes, with chunks of ours."""
    if name == "arange":
        kwargs.setdefault("like", asnumpy.empty(0))
    elif kwargs.get("meta") is None:
        kwargs["meta"] = asnumpy.empty(0)
    with config.set({"array.backend": "numpy"}):
        return getattr(da, name)(*args, **kwargs)


class AsNumpyBackend(ArrayBackendEntrypoint):
    """`dask.config.set({"array.backend": "asnumpy"})`: creation functions make chunks of ours."""

    @classmethod
    def to_backend_dispatch(cls):
        return to_asnumpy_dispatch

    @classmethod
    def to_backend(cls, data, **kwargs):
        if _core._is_array(data._meta):
            return data
        return data.map_blocks(cls.to_backend_dispatch(), meta=asnumpy.empty(0), **kwargs)

    @property
    def RandomState(self):
        return asnumpy.random.RandomState

    @property
    def default_bit_generator(self):
        return asnumpy.random.PCG64

    @staticmethod
    def ones(*args, **kwargs):
        return _created("ones", *args, **kwargs)

    @staticmethod
    def zeros(*args, **kwargs):
        return _created("zeros", *args, **kwargs)

    @staticmethod
    def empty(*args, **kwargs):
        return _created("empty", *args, **kwargs)

    @staticmethod
    def full(*args, **kwargs):
        return _created("full", *args, **kwargs)

    @staticmethod
    def arange(*args, **kwargs):
        return _created("arange", *args, **kwargs)
