"""What was measured: products in narrower dtypes against float32, on this machine, in this process."""

from typing import NamedTuple

from .. import _core


class Gain(NamedTuple):
    """One measurement of products in a narrower dtype against float32.

    Both are timed in turn and the shortest time is kept: processor time of all threads on the CPU
    device, else by the clock. Other extents that round up to the same powers of two share it. `gain`
    is float32_ns / ns.

    Parameters
    ----------
    dtype : str
        "bfloat16", "float16" or "int8".
    stored : bool
        The second operand is of the dtype already, as weights are; else both are converted at each
        call.
    m, k, n, batch : int
        `batch` products (m, k) by (k, n).
    float32_ns, ns : float
        Nanoseconds of the product in float32, and in the dtype.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.precision.Gain("bfloat16", False, 8, 8, 8, 1, 2000.0, 4000.0).gain
    0.5
    """

    dtype: str
    stored: bool
    m: int
    k: int
    n: int
    batch: int
    float32_ns: float
    ns: float

    @property
    def gain(self) -> float:
        """The time in float32 over that in the dtype."""
        return self.float32_ns / self.ns


def gains():
    """All measurements of this process, in the order in which they were made.

    Returns
    -------
    list of Gain
        At most 512; then the oldest is overwritten.

    Examples
    --------
    >>> import asnumpy as np
    >>> d = np.precision.decide(np.ones((8, 8), np.float32), error=0.1)
    >>> {g.dtype for g in np.precision.gains()} >= {"bfloat16", "float16", "int8"}
    True
    """
    return [Gain(*row) for row in _core._precision_gains()]
