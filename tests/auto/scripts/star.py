"""Every form of import, in every place."""

import importlib
import sys

from numpy import *
import numpy
import numpy as np
import numpy.linalg as la
from numpy import array as make, linalg, random
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from numpy.random import default_rng, seed

print(arange(4), sqrt(array([4.0, 9.0])), pi)
print(numpy is np, importlib.import_module("numpy") is np, np.linalg is la, linalg is la)
print(__import__("numpy") is np, __import__("numpy.fft").fft is np.fft, numpy.fft.fft([1, 0]))


def inside():
    import numpy as local
    from numpy import zeros as nothing

    return local is np, nothing(2)


print(inside(), default_rng(1).integers(0, 10, 5))
seed(5)
print(random.rand(2), np.random.randint(0, 9, 3), random.get_state()[0])
names = {}
exec("import numpy\nfrom numpy import ones\nx = ones(2)", names)
print(names["numpy"] is np, names["x"], eval("np.arange(2)"))
print(sliding_window_view(np.arange(5), 3), as_strided(np.arange(4), (2, 2), (8, 8)).shape)
print(
    type(np).__name__,
    np.__name__,
    np.linalg.__name__,
    np.__version__ == sys.modules["numpy"].__version__,
)
print(len([n for n in dir(np) if not n.startswith("_")]) > 400, la.norm([3, 4]), make([1]).ndim)
