"""Our arrays in the batches that PyTorch's DataLoader makes of samples."""

import numpy
from torch.utils.data._utils.collate import default_collate_fn_map

import asnumpy
from asnumpy._host_values import host


def _collate(batch, *, collate_fn_map=None):
    stack = default_collate_fn_map[numpy.ndarray]
    return stack(host(batch), collate_fn_map=collate_fn_map)


default_collate_fn_map[asnumpy.ndarray] = _collate
