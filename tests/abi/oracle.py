"""What tests of operators against PyTorch share: arrays of any dtype and layout, tolerances, and calls in every
documented dtype. Values are rounded to the dtype first and the oracle computes in float64.
"""

import itertools

import ml_dtypes
import numpy as np
import pytest
import torch
from aclnn import AclError, run

# Two threads of PyTorch's wait for each other beside other tests: a softmax of 35 numbers took 6 ms.
torch.set_num_threads(1)
RNG = np.random.default_rng(41)
BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(t) for t in (np.float64, np.float32, np.float16, BF16)]
TOLERANCE = {"float64": 1e-12, "float32": 3e-6, "float16": 2e-3, "bfloat16": 1.6e-2}
LAYOUTS = ("packed", "strided", "turned")


def laid(a, layout):
    """The same values in another layout."""
    a = np.asarray(a)
    if layout == "packed" or a.ndim == 0:
        return a.copy()
    if layout == "turned":
        return np.ascontiguousarray(a.T).T
    wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1] + 1), a.dtype)
    view = wide[..., -1:0:-2] if a.shape[-1] else wide[..., :0]
    view[...] = a
    return view


def strided(a):
    """The same values with a gap between the elements, the dimensions reversed in memory."""
    room = np.zeros([2 * n for n in a.shape[::-1]], a.dtype)
    view = room[tuple(slice(None, None, 2) for _ in a.shape)].T
    view[...] = a
    return view


def normal(*shape, dtype=np.float64, low=None, high=None):
    """Normal values, or uniform ones in [low, high)."""
    values = RNG.standard_normal(shape) if low is None else RNG.uniform(low, high, shape)
    return np.asarray(values).astype(dtype)


def wide(a, grad=False):
    """The array in float64, as PyTorch has it."""
    if a is None:
        return None
    kind = np.float64 if np.dtype(a.dtype) in DTYPES else a.dtype
    return torch.tensor(np.asarray(a).astype(kind, order="C"), requires_grad=grad)


def near(got, want, scale=1.0):
    """Equal within the dtype of `got`, relative to the values and to `scale`."""
    want = want.detach().numpy() if isinstance(want, torch.Tensor) else np.asarray(want)
    tol = TOLERANCE[got.dtype.name]
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=tol, atol=tol * scale)


def every():
    """(dtype, layout) of every test."""
    return itertools.product(DTYPES, LAYOUTS)


def blank(shape, dtype, layout="packed"):
    """An output, filled with what no result is."""
    return laid(np.full(shape, 77).astype(dtype), layout)


def refuse(name, good, changes, code="161002"):
    """Each of the changes ({place: argument}) to a call that is right has it refused."""
    for change in changes:
        with pytest.raises(AclError, match=code):
            run(name, *[change.get(i, a) for i, a in enumerate(good)])
