"""A call policy for operators of one's own: check, run, check what came, log, and try again.

An operator's failure appears where its work is waited for, not where it is called, and a wrong result nowhere. So a
safe call waits, looks at what came, and only then gives it back. What a second try cannot change (arguments that are
refused, a name that nobody registered, a failure of the program's own) is raised at once.
"""

import logging
import time

import numpy as np

from .. import _core
from . import _registry

LOG = logging.getLogger("asnumpy.ops")
# Of a device that fails or has no memory; their subclasses that say something else are not.
_PASSING = (RuntimeError, MemoryError, FloatingPointError)
_LASTING = (NotImplementedError, RecursionError)


def _is_floating(x):
    kind = x.dtype.kind
    return kind in "fc" or x.dtype.name == "bfloat16"


def _fault(values):
    """Which of some values (arrays, numbers, tuples and lists of them) is not finite; "" if none."""
    for x in _registry._arrays(values):
        if not _is_floating(x):
            continue
        finite = np.isfinite(x) if isinstance(x, (np.ndarray, np.generic)) else _finite(x)
        if not finite.all():
            return f"{int((~finite).sum())} of {x.size} elements of shape {tuple(x.shape)}"
    return ""


def _finite(array):
    from asnumpy import isfinite

    return isfinite(array)


class Safe:
    """An operator under the policy of asnumpy.ops.safe."""

    __slots__ = ("_operator", "finite", "name", "retries")

    def __init__(self, operator, retries, finite):
        self._operator, self.retries, self.finite = operator, retries, finite
        self.name = operator if isinstance(operator, str) else getattr(
            operator, "__name__", type(operator).__name__
        )  # fmt: skip

    def _run(self, args, kwargs):
        """One try: the results, when the device has made them."""
        operator = self._operator
        if isinstance(operator, str):
            operator = _registry.call_of(operator)
            if operator is None:
                raise LookupError(f"no operator {self.name!r} is registered")
        result = operator(*args, **kwargs)
        _core.synchronize()
        fault = self.finite and _fault((result,))
        if fault and not _fault((args, [*kwargs.values()])):
            raise FloatingPointError(
                f"operator {self.name!r}: of finite arguments {fault} became NaN or infinite"
            )
        return result

    def _try(self, k, args, kwargs):
        """One try, with its record in the log."""
        began, tries = time.perf_counter(), self.retries + 1
        try:
            result = self._run(args, kwargs)
        except _LASTING:
            raise
        except _PASSING as error:
            level = logging.ERROR if k == tries else logging.WARNING
            text = "operator %s: try %d of %d failed: %s: %s"
            LOG.log(level, text, self.name, k, tries, type(error).__name__, error)
            raise
        LOG.debug(
            "operator %s: try %d of %d, %.6f s", self.name, k, tries, time.perf_counter() - began
        )
        return result

    def __call__(self, *args, **kwargs):
        for k in range(1, self.retries + 1):
            try:
                return self._try(k, args, kwargs)
            except _LASTING:
                raise
            except _PASSING:
                continue  # it is in the log
        return self._try(self.retries + 1, args, kwargs)

    def __repr__(self):
        return f"<operator {self.name!r}, safe: {self.retries} retries{', finite' if self.finite else ''}>"


def safe(operator, *, retries=1, finite=True):
    """An operator that is checked, logged and tried again.

    Parameters
    ----------
    operator : str or callable
        A registered name, looked up at each call; or what is to be called. It must bear to be called
        again with the same arguments: one that writes into them does so each time.
    retries : int
        Tries after the first one.
    finite : bool
        Whether results must be finite where all arguments are.

    Returns
    -------
    callable
        It waits for the device, looks at the results and returns them. Each try is a record of the
        logger "asnumpy.ops": DEBUG with its seconds, WARNING where it failed, ERROR where it was the
        last.

    Raises
    ------
    TypeError
        operator is neither, or retries no int.
    ValueError
        retries is negative.

    Notes
    -----
    Tried again are RuntimeError (a device that fails), MemoryError and FloatingPointError (results
    that are not finite); the last one is raised. Everything else is raised at once.

    Examples
    --------
    >>> import asnumpy as np
    >>> inverse = np.ops.safe(lambda x: 1 / x, retries=0)
    >>> inverse(np.array([2.0, 4.0]))
    array([0.5 , 0.25])
    >>> try:
    ...     with np.errstate(divide="ignore"):
    ...         inverse(np.array([0.0, 1.0]))
    ... except FloatingPointError as error:
    ...     print(str(error)[:60])
    operator '<lambda>': of finite arguments 1 of 2 elements of
    """
    if not (isinstance(operator, str) or callable(operator)):
        raise TypeError(
            f"safe: operator is a {type(operator).__name__}; it must be an operator's name or a callable"
        )
    if isinstance(retries, bool) or not isinstance(retries, (int, np.integer)):
        raise TypeError(f"safe: retries is a {type(retries).__name__}; it must be an int")
    if retries < 0:
        raise ValueError(f"safe: retries is {retries}; it may be 0 or more")
    return Safe(operator, int(retries), bool(finite))
