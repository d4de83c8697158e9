"""Our arrays for einops, which finds a backend among the subclasses of its AbstractBackend."""

from einops._backends import NumpyBackend

import asnumpy
from asnumpy import _core


class AsNumpyBackend(NumpyBackend):
    """einops' own backend for NumPy, with our functions."""

    framework_name = "asnumpy"

    def __init__(self):
        self.np = asnumpy

    def is_appropriate_type(self, tensor):
        return _core._is_array(tensor)  # NumPy's arrays have the other one
