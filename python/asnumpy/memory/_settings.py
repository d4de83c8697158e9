"""What can be set of the memory manager. Setters return what was set before."""

import operator

from .. import _core

_MB = 1 << 20


def reset_peak_memory_stats():
    """Lets peak_bytes and peak_reserved of memory_stats begin again from what is held now.

    Returns
    -------
    None

    Examples
    --------
    >>> import asnumpy as np
    >>> np.memory.reset_peak_memory_stats()
    >>> stats = np.memory_stats()
    >>> stats["peak_bytes"] >= stats["bytes_in_use"]
    True
    """
    _core._memory_reset_peaks()


def _count(value, name):
    count = operator.index(value)
    if count < 0:
        raise ValueError(f"{name} is {count}; it may be 0 or more")
    return count


def set_memory_limit(limit):
    """Bounds what is held of each device, in use and cached.

    Beyond it the caches are emptied; when that is not enough the allocation raises MemoryError, which
    names the largest holders.

    Parameters
    ----------
    limit : int or None
        Bytes; None: no limit but the device's. What is in use already stays.

    Returns
    -------
    int or None
        The limit before.

    Raises
    ------
    ValueError
        limit is not positive.

    Examples
    --------
    >>> import asnumpy as np
    >>> before = np.set_memory_limit(1 << 30)
    >>> np.set_memory_limit(before)
    1073741824
    """
    before, split, threshold = _core._memory_settings()
    value = 0 if limit is None else _count(limit, "limit")
    if limit is not None and value == 0:
        raise ValueError("limit is 0; it may be a number of bytes from 1 on, or None")
    _core._memory_configure(value, split, threshold)
    return before or None


def set_allocator_settings(*, max_split_size_mb=None, garbage_collection_threshold=None):
    """Sets how the pool cuts and gives up idle memory; what is None stays.

    Parameters
    ----------
    max_split_size_mb : int, optional
        Idle pieces above this many MiB are not cut for smaller requests, so that they stay whole for
        large ones. 0 (the default setting): any piece may be cut.
    garbage_collection_threshold : float, optional
        A share of the memory limit (without one, of the device's memory), at least 0 and below 1:
        before fresh memory would take what is held above it, idle pieces go back to the device, those
        idle for longest first. 0 (the default setting): idle memory goes back when fresh memory is
        asked for and more is held than was ever in use at once.

    Returns
    -------
    dict
        The settings before, as keywords for this function.

    Raises
    ------
    ValueError
        A negative size, or a threshold outside [0, 1).

    Examples
    --------
    >>> import asnumpy as np
    >>> before = np.set_allocator_settings(max_split_size_mb=64)
    >>> np.set_allocator_settings(**before)["max_split_size_mb"]
    64
    """
    limit, split, threshold = _core._memory_settings()
    before = {"max_split_size_mb": split // _MB, "garbage_collection_threshold": threshold}
    if max_split_size_mb is not None:
        split = _count(max_split_size_mb, "max_split_size_mb") * _MB
    if garbage_collection_threshold is not None:
        threshold = float(garbage_collection_threshold)
    _core._memory_configure(limit, split, threshold)
    return before
