"""The precision of products while a block, or a decorated function, runs.

The settings are a context variable's value (src/python/functions/functions_precision.c), so that threads and
asyncio tasks have their own and whatever leaves a block restores those before it.
"""

import functools
import importlib
import inspect

import numpy as _np

from .. import _core

_VARIABLE = _core._precision_variable()
DEFAULT_ERROR = 1e-2


def dtype_of(name):
    """The scalar type of float32, bfloat16, float16 or int8 by its name; ml_dtypes has bfloat16."""
    return (
        importlib.import_module("ml_dtypes").bfloat16
        if name == "bfloat16"
        else _np.dtype(name).type
    )


class autocast:
    """Products of float32 in a narrower dtype: a context manager and a decorator, as PyTorch's.

    Inside, `matmul`, `@`, `dot`, `vdot`, `inner`, `tensordot`, `einsum` of two operands or more,
    `matvec`, `vecmat`, `vecdot` and `precision.linear` compute products of float32 arrays, or of one
    with a float16 or bfloat16 array, in `dtype`. The result is float32. Operands of other dtypes, and
    all other functions (elementwise ones, sums, exponentials, norms, `convolve`, decompositions) are as
    they are without it.

    Parameters
    ----------
    dtype : dtype or "auto"
        bfloat16, float16, int8 or float32 (as without it). int8 quantises rows of the first and
        columns of the second operand at each call, with a scale of max(abs(x)) / 127 each. "auto"
        takes, for each product, the dtype that is fastest on this machine, as measured, among those
        whose error is within `error`: often float32.
    error : float, optional
        With "auto" alone: the largest norm of a product's error over the product of its operands'
        norms (Frobenius'), 0.01 by default.
    enabled : bool
        False: as with float32.
    check : bool
        In float16 a product is computed in float32 instead, and counted (`precision.counts`), where an
        element is beyond 65504 or not finite, or a sum might be beyond: this takes a look at both
        operands, which waits for them. False: no look; a result may be infinite.

    Raises
    ------
    TypeError
        Another dtype.
    ValueError
        `error` is not positive and finite, or is given with a dtype.

    See Also
    --------
    precision.decide : The choice for one tensor, with its expected error and measured gain.

    Examples
    --------
    >>> import asnumpy as np
    >>> a = np.full((2, 2), 1.001, dtype=np.float32)
    >>> with np.autocast("bfloat16"):
    ...     a @ a
    array([[2., 2.],
           [2., 2.]], dtype=float32)
    """

    def __init__(self, dtype, *, error=None, enabled=True, check=True):
        automatic = isinstance(dtype, str) and dtype == "auto"
        if error is not None and not automatic:
            raise ValueError(f"autocast: error goes with dtype 'auto', got dtype {dtype!r}")
        if automatic:
            value = _core._precision_pack(
                "float32", True, not check, DEFAULT_ERROR if error is None else error
            )
        else:
            wanted = dtype_of(dtype) if isinstance(dtype, str) else dtype
            value = _core._precision_pack(wanted, False, not check, 0.0)
        off = _core._precision_pack("float32", False, False, 0.0)
        self._value = value if enabled else off
        self._repr = f"autocast({dtype!r}" + (f", error={error!r}" if error is not None else "")
        self._repr += (
            ("" if enabled else ", enabled=False") + ("" if check else ", check=False") + ")"
        )
        self._tokens = []

    def __repr__(self):
        return self._repr

    def __enter__(self):
        self._tokens.append(_VARIABLE.set(self._value))
        return self

    def __exit__(self, kind, error, trace):
        _VARIABLE.reset(self._tokens.pop())

    def __call__(self, function):
        """The function, run under these settings whoever calls it; coroutines as well."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def decorated(*args, **kwargs):
                token = _VARIABLE.set(self._value)
                try:
                    return await function(*args, **kwargs)
                finally:
                    _VARIABLE.reset(token)

            return decorated

        @functools.wraps(function)
        def decorated(*args, **kwargs):
            token = _VARIABLE.set(self._value)
            try:
                return function(*args, **kwargs)
            finally:
                _VARIABLE.reset(token)

        return decorated


def is_autocast_enabled():
    """Whether products of the caller's may be narrowed, as torch.is_autocast_enabled.

    Returns
    -------
    bool

    Examples
    --------
    >>> import asnumpy as np
    >>> with np.autocast("float16"):
    ...     np.precision.is_autocast_enabled()
    True
    """
    name, automatic, _, _ = _core._precision_present()
    return automatic or name != "float32"


def get_autocast_dtype():
    """The dtype that the caller's products of float32 are computed in, as torch.get_autocast_dtype.

    Returns
    -------
    type or "auto"
        float32's where autocast is not enabled.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.precision.get_autocast_dtype()
    <class 'numpy.float32'>
    """
    name, automatic, _, _ = _core._precision_present()
    return "auto" if automatic else dtype_of(name)


def counts():
    """How the products that came under autocast were computed, since `reset_counts`.

    Returns
    -------
    dict
        Products computed in "float32", "bfloat16", "float16" and "int8"; how often float16 was turned
        down because a value or a sum may lie beyond 65504 ("beyond_range"), and float16 or int8, under
        "auto", because of their error on these values ("beyond_error").

    Examples
    --------
    >>> import asnumpy as np
    >>> np.precision.reset_counts()
    >>> with np.autocast("float16"):
    ...     y = np.full((1, 2), 1e5, np.float32) @ np.ones((2, 1), np.float32)
    >>> np.precision.counts()["beyond_range"]
    1
    """
    return _core._precision_counts(False)


def reset_counts():
    """Sets the counts to 0; the former ones are lost.

    Returns
    -------
    None

    Examples
    --------
    >>> import asnumpy as np
    >>> np.precision.reset_counts()
    >>> sum(np.precision.counts().values())
    0
    """
    _core._precision_counts(True)
