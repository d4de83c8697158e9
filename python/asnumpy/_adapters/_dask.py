"""Our arrays as chunks of Dask's arrays."""

from dask.array.chunk_types import register_chunk_type

import asnumpy

register_chunk_type(asnumpy.ndarray)
