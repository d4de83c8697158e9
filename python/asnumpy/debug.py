"""Debugging: synchronisations that a program did not mean (on_sync), values that depart from NumPy's (compare), how two
results differ (compare_results), streams that wait for each other (check_deadlock).
"""

import collections
import linecache
import warnings

from . import _core
from ._compare import Comparison, Departure, compare
from ._compare_results import Difference, compare_results
from ._deadlocks import Deadlocks, Wait, check_deadlock

__all__ = ["Comparison", "Deadlocks", "Departure", "Difference", "SynchronizationWarning", "Wait", "check_deadlock",
           "compare", "compare_results", "on_sync", "sync_counts"]  # fmt: skip


def __dir__():
    return __all__


_MODES = ("ignore", "warn", "error")
_mode = "ignore"
_counts = collections.Counter()


class SynchronizationWarning(RuntimeWarning):
    """The host had to wait for the device, under on_sync("warn").

    Examples
    --------
    >>> import asnumpy as np
    >>> issubclass(np.debug.SynchronizationWarning, RuntimeWarning)
    True
    """


def on_sync(mode):
    """Sets what happens where the host has to wait for the device.

    Parameters
    ----------
    mode : {"ignore", "warn", "error"}
        Nothing (at first); a SynchronizationWarning at each line, as Python's filters say; a
        RuntimeError before the wait.

    Returns
    -------
    str
        The mode before.

    Raises
    ------
    ValueError
        Another mode.

    Notes
    -----
    A synchronisation is where the value of something recorded or queued is needed on the host: an
    element is read (float(a), if a.any(), printing), an array goes to NumPy, indices are checked,
    synchronize(). What is not recorded (small arrays on the CPU device) is waited for by nobody. While
    the mode is not "ignore", synchronisations are counted (sync_counts).

    Examples
    --------
    >>> import asnumpy as np
    >>> before = np.debug.on_sync("warn")
    >>> np.debug.on_sync(before)
    'warn'
    """
    global _mode
    if mode not in _MODES:
        raise ValueError(f"on_sync: mode is {mode!r}; it may be 'ignore', 'warn' or 'error'")
    before, _mode = _mode, mode
    if mode == "ignore":
        _core._on_sync(None)
    else:
        if before == "ignore":
            _counts.clear()
        _core._on_sync(_told)
    return before


def sync_counts():
    """How often each line had to wait for the device since on_sync last left "ignore".

    Returns
    -------
    dict
        (file, line, reason) -> times, most first.

    Examples
    --------
    >>> import asnumpy as np
    >>> before = np.debug.on_sync("warn")
    >>> np.debug.sync_counts()
    {}
    >>> _ = np.debug.on_sync(before)
    """
    return dict(_counts.most_common())


def _told(why, place):
    file, line, function = place or ("", 0, "")
    _counts[file, line, why] += 1
    text = linecache.getline(file, line).strip() if file else ""
    message = f"synchronisation: {why}" + (f" ({text})" if text else "")
    if _mode == "error":
        where = f"{file}:{line}, in {function}: " if file else ""
        raise RuntimeError(f'{where}{message}; on_sync("error") does not allow it')
    if file:
        warnings.warn_explicit(message, SynchronizationWarning, file, line)
    else:
        warnings.warn(message, SynchronizationWarning, stacklevel=2)
