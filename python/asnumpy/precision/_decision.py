"""What a tensor is to be computed in and stored as: the rule is the core's (src/precision/decide.c)."""

from typing import NamedTuple

import numpy as _np

from .. import _core
from ._autocast import DEFAULT_ERROR, autocast
from ._gains import gains
from ._quantized import QuantizedArray, stored

_PRODUCT, _BOUNDED, _WIDE = range(3)
# The kinds follow PyTorch's lists: what its autocast narrows, what takes its operands' dtype, what it
# computes in float32.
_KINDS = {
    _PRODUCT: "matmul dot inner vdot vecdot matvec vecmat tensordot einsum linear",
    _BOUNDED: "absolute add clip maximum minimum multiply negative relu sign subtract tanh",
    _WIDE: "convolve correlate cumprod cumsum divide exp expm1 log log10 log1p log2 logaddexp mean norm "
    "power prod reciprocal sigmoid softmax std sum tan var",
}
_OPS = {name: kind for kind, names in _KINDS.items() for name in names.split()}


class Decision(NamedTuple):
    """What `decide` says of a tensor.

    Parameters
    ----------
    compute_dtype, memory_dtype : str
        What products are computed in, and what the tensor is to be kept as: "float32", "bfloat16",
        "float16" or "int8".
    expected_error : float
        At most norm(c - exact) / (norm(a) norm(b)), Frobenius' norms, where the other operand is like
        the tensor; of float32 that of its sums. Where the roundings are independent of one another,
        norm(c - exact) / norm(exact) is about as large, or smaller.
    performance_gain : float
        Time of the product in float32 over that in compute_dtype, as measured here; 1.0 for float32.
    reason : str
        Why it is not narrower, or that it is the fastest.
    measured_error : float or None
        The same ratio for this tensor and an operand of normal random numbers, where asked for.

    Examples
    --------
    >>> import asnumpy as np
    >>> d = np.precision.decide(np.full((4, 4), 1e5, np.float32), error=2e-3)
    >>> d.compute_dtype, d.reason
    ('float32', "values or their sums may lie beyond float16's 65504")
    """

    compute_dtype: str
    memory_dtype: str
    expected_error: float
    performance_gain: float
    reason: str
    measured_error: float | None = None

    def store(self, tensor):
        """The tensor as memory_dtype.

        Parameters
        ----------
        tensor : array_like
            float32.

        Returns
        -------
        ndarray or QuantizedArray
            For int8 the latter, with scales of its columns.

        Examples
        --------
        >>> import asnumpy as np
        >>> w = np.ones((8, 8), np.float32)
        >>> d = np.precision.decide(w, error=0.1, prefer="memory")
        >>> d.store(w)
        QuantizedArray(shape=(8, 8), axis=-1)
        """
        return stored(tensor, self.memory_dtype)


def _measured(tensor, decision, rows, transposed):
    """The error of the product as decided, of normal random rows by the tensor, against float64."""
    weight = tensor.swapaxes(-1, -2) if transposed else tensor
    random = _np.random.default_rng(0)
    other = random.standard_normal((rows, weight.shape[-2])).astype(_np.float32)
    x = _core.asarray(other)
    kept = decision.store(weight)
    if isinstance(kept, QuantizedArray) and decision.compute_dtype != "int8":
        kept = kept.dequantize()
    if isinstance(kept, QuantizedArray):
        got = x @ kept
    else:
        with autocast(decision.compute_dtype, check=False):
            got = x @ kept
    a, b = other.astype(_np.float64), _np.asarray(weight, dtype=_np.float64)
    batch = b.shape[:-2]
    norms = _np.linalg.norm(_np.broadcast_to(a, batch + a.shape)) * _np.linalg.norm(b)
    off = _np.linalg.norm(_np.asarray(got, dtype=_np.float64) - a @ b)
    return float(off / norms) if norms else 0.0


def decide(
    tensor, op="matmul", *, rows=128, error=DEFAULT_ERROR, prefer="speed", measure_error=False
):
    """Tells what a float32 tensor, weights for instance, is to be computed in and stored as.

    Parameters
    ----------
    tensor : array_like
        float32; for a product the second operand, (..., k, n), or (n, k) of "linear".
    op : str
        What it is used in: a product ("matmul", "dot", "inner", "vdot", "vecdot", "matvec", "vecmat",
        "tensordot", "einsum", "linear"); an elementwise operation such as "add" or "tanh", which
        autocast leaves in its operands' dtype; or one that needs float32: "exp", "softmax", "sum",
        "norm" and their like.
    rows : int
        Rows of the other operand of a product, which gains depend on.
    error : float
        The largest expected error of a dtype that is considered.
    prefer : {"speed", "memory"}
        "speed": the fastest dtype, if at least 1.2 times as fast as float32. "memory": the narrowest,
        which is computed in where that is as much faster, and else widened for each product.
    measure_error : bool
        Computes a product and fills in `measured_error`.

    Returns
    -------
    Decision

    Raises
    ------
    TypeError
        Another dtype.
    ValueError
        An option out of its range, an operation that is not listed, too few dimensions, no elements.

    Notes
    -----
    A look at the tensor's elements is needed, and the first question about a shape measures gains,
    which takes milliseconds to seconds (`gains` lists them): conversions of the other operand count,
    those of the tensor do not.

    Examples
    --------
    >>> import asnumpy as np
    >>> w = np.ones((64, 64), np.float32)
    >>> np.precision.decide(w, "softmax").compute_dtype
    'float32'
    >>> np.precision.decide(w, error=0.1, prefer="memory").memory_dtype
    'int8'
    """
    if op not in _OPS:
        raise ValueError(f"decide: op is {op!r}; it may be one of {', '.join(sorted(_OPS))}")
    if prefer not in ("speed", "memory"):
        raise ValueError(f"decide: prefer is {prefer!r}; it may be 'speed' or 'memory'")
    x = _core.asarray(tensor)
    transposed = op == "linear"
    answer = Decision(
        *_core._precision_decide(x, _OPS[op], rows, transposed, prefer == "memory", error)
    )
    if not measure_error or _OPS[op] != _PRODUCT:
        return answer
    found = _measured(x, answer, min(rows, 128), transposed)
    return answer._replace(measured_error=found)


class Scheduler:
    """Decisions under one bound: `decide` for tensors, `autocast` for what a block computes.

    Parameters
    ----------
    error : float
        As in `decide`.
    prefer : {"speed", "memory"}
        As in `decide`.

    Examples
    --------
    >>> import asnumpy as np
    >>> s = np.precision.Scheduler(error=0.05, prefer="memory")
    >>> s.decide(np.ones((32, 32), np.float32)).memory_dtype
    'int8'
    """

    def __init__(self, error=DEFAULT_ERROR, prefer="speed"):
        self.error, self.prefer = error, prefer

    def __repr__(self):
        return f"Scheduler(error={self.error!r}, prefer={self.prefer!r})"

    def decide(self, tensor, op="matmul", *, rows=128, measure_error=False):
        """Decides with this bound, as the function of that name.

        Parameters
        ----------
        tensor, op, rows, measure_error
            As in `decide`.

        Returns
        -------
        Decision

        Examples
        --------
        >>> import asnumpy as np
        >>> np.precision.Scheduler(error=1e-9).decide(np.ones((4, 4), np.float32)).compute_dtype
        'float32'
        """
        return decide(
            tensor,
            op,
            rows=rows,
            error=self.error,
            prefer=self.prefer,
            measure_error=measure_error,
        )

    def autocast(self):
        """Makes autocast("auto") with this bound.

        Returns
        -------
        autocast

        Examples
        --------
        >>> import asnumpy as np
        >>> np.precision.Scheduler(error=0.5).autocast()
        autocast('auto', error=0.5)
        """
        return autocast("auto", error=self.error)

    def gains(self):
        """Lists what was measured so far in this process.

        Returns
        -------
        list of Gain

        Examples
        --------
        >>> import asnumpy as np
        >>> isinstance(np.precision.Scheduler().gains(), list)
        True
        """
        return gains()
