"""leaks: which arrays outlive a block of code, and the lines that made them."""

import gc
import warnings
from collections import namedtuple

from .. import _core
from ._summary import size

Leak = namedtuple("Leak", "nbytes file line function")
Leak.__doc__ = """Memory that outlived a block of leaks, and where the program made it.

Parameters
----------
nbytes : int
    How much.
file : str or None
    None: it is not known.
line : int
    In the file.
function : str or None
    In which it is.

Examples
--------
>>> import asnumpy as np
>>> kept = []
>>> with np.memory.leaks("collect") as report:
...     kept.append(np.ones(1000))
>>> report.found[0].nbytes >= 8000
True
"""


class LeakError(RuntimeError):
    """Arrays outlived a block of leaks("error").

    Examples
    --------
    >>> import asnumpy as np
    >>> kept = []
    >>> try:
    ...     with np.memory.leaks("error"):
    ...         kept.append(np.ones(1000))
    ... except np.memory.LeakError as error:
    ...     print(str(error).partition(",")[0])
    1 arrays outlived the block
    """


def _where(leak):
    if leak.file is None:
        return f"{size(leak.nbytes)} made at an unknown place"
    return f"{size(leak.nbytes)} made at {leak.file}:{leak.line} in {leak.function}"


class leaks:
    """Finds the arrays that outlive a with block.

    At the end of the block recorded operations are run and Python's garbage collector too; the memory
    that was made in the block and is still held is in found, a list of Leak, largest first. Views keep
    the memory of what they view. Blocks may nest. Inside, every array costs about a microsecond more.

    Parameters
    ----------
    action : {"warn", "error", "collect"}
        A ResourceWarning for each leak, one LeakError for all, or nothing but the list.

    Raises
    ------
    ValueError
        Another action.

    Examples
    --------
    >>> import asnumpy as np
    >>> kept = []
    >>> with np.memory.leaks("collect") as report:
    ...     for i in range(3):
    ...         kept.append(np.ones(1000))
    >>> [leak.nbytes >= 8000 for leak in report.found]
    [True, True, True]
    """

    def __init__(self, action="warn"):
        if action not in ("warn", "error", "collect"):
            raise ValueError(f"leaks: action is {action!r}; it may be 'warn', 'error' or 'collect'")
        self.action = action
        self.found = []

    def __enter__(self):
        self._first = _core._watch_start()
        return self

    def __exit__(self, kind, error, trace):
        try:
            if kind is not None:
                return
            _core.synchronize()
            gc.collect()
            live = _core._watch_live(self._first)
        finally:
            _core._watch_stop()
        unknown = (None, 0, None)
        self.found = sorted(
            (Leak(nbytes, *(site or unknown)) for _, nbytes, site in live),
            key=lambda leak: (-leak.nbytes, leak.file or "", leak.line),
        )
        if not self.found:
            return
        if self.action == "error":
            total = size(sum(leak.nbytes for leak in self.found))
            lines = "\n".join("  " + _where(leak) for leak in self.found)
            raise LeakError(f"{len(self.found)} arrays outlived the block, {total}:\n{lines}")
        if self.action == "warn":
            for leak in self.found:
                warnings.warn(
                    f"an array outlived the block: {_where(leak)}", ResourceWarning, stacklevel=2
                )
