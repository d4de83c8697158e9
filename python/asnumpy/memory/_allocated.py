"""The two figures that programs written for PyTorch ask for, under its names."""

from .. import _core


def memory_allocated():
    """The bytes of device memory that arrays hold now.

    Returns
    -------
    int
        Of the current device: memory_stats()["bytes_in_use"], what torch.cuda.memory_allocated() is to
        PyTorch. Memory that is cached does not count, nor do arrays whose operations are recorded and
        have not run.

    Examples
    --------
    >>> import asnumpy as np
    >>> before = np.memory_allocated()
    >>> a = np.ones(1000)
    >>> np.synchronize()
    >>> np.memory_allocated() - before >= a.nbytes
    True
    """
    return _core.memory_stats()["bytes_in_use"]


def max_memory_allocated():
    """The most that memory_allocated has been since the program began.

    Returns
    -------
    int
        Bytes, since the last reset_peak_memory_stats() where there was one.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.reset_peak_memory_stats()
    >>> np.max_memory_allocated() >= np.memory_allocated()
    True
    """
    stats = (
        _core.memory_stats()
    )  # one look: the peak of a moment is no less than what is in use then
    return max(stats["peak_bytes"], stats["bytes_in_use"])
