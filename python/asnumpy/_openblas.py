"""How long the threads of NumPy's OpenBLAS spin before they sleep: set before NumPy is imported.

They start as NumPy loads, one for every other CPU, and each spins for 2**28 ticks of the processor's
clock (at 2.6 GHz 100 ms), then and after every product: CPU time that the workers of the pool want.
On two CPUs `import numpy`, whose process ends before that, takes 111 ms of it, 66 with this; one that
goes on for half a second 165 and 68. Here they sleep after 2**20 ticks, 0.4 ms; a product after a
longer pause then waits for the waking (300 x 300 after 2 ms: 465 us; 445 with 2**26). What the user
has set stays, and so does the environment: OpenBLAS reads it as it loads.
"""

import os
import sys

_NAMES = ("OPENBLAS_THREAD_TIMEOUT", "GOTO_THREAD_TIMEOUT")  # the second is its older name

if "numpy" not in sys.modules and not any(name in os.environ for name in _NAMES):
    os.environ[_NAMES[0]] = "20"  # of 4 to 30: the logarithm of the ticks
    try:
        import numpy  # noqa: F401
    finally:
        os.environ.pop(_NAMES[0], None)
