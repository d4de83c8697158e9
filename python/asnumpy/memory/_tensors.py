"""Tensors by descriptor, and copies behind the program."""

import numpy as _np

from .. import _core


class Descriptor:
    """How the elements of a tensor lie in memory.

    Parameters
    ----------
    dtype : dtype
        Of the elements.
    shape : int or tuple of ints
        The length of each axis.
    layout : {"C", "F"} or tuple of ints
        The order of the axes in memory, from the slowest to the fastest: "C" is row-major, "F"
        column-major; an image batch of shape (N, C, H, W) that lies as NHWC has (0, 2, 3, 1).
    alignment : int
        Of the first element, in bytes: a power of two from 64 to 4096.

    Raises
    ------
    ValueError
        Axes that are not each named once, another alignment, a size past the address space.
    TypeError
        A dtype that devices do not have.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.memory.Descriptor("float32", (8, 3, 4, 4), layout=(0, 2, 3, 1)).nbytes
    1536
    """

    def __init__(self, dtype, shape, layout="C", alignment=64):
        self._dtype = _core.empty(0, dtype).dtype
        self._shape = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
        self._layout = layout if isinstance(layout, str) else tuple(layout)
        self._alignment = alignment
        _core._tensor_check(*self._arguments())

    @property
    def dtype(self):
        """The dtype of the elements."""
        return self._dtype

    @property
    def shape(self):
        """The length of each axis, a tuple."""
        return self._shape

    @property
    def layout(self):
        """The order of the axes, as it was given."""
        return self._layout

    @property
    def alignment(self):
        """The alignment of the first element, in bytes."""
        return self._alignment

    def __eq__(self, other):
        return isinstance(other, Descriptor) and self._arguments() == other._arguments()

    def __hash__(self):
        return hash(self._arguments())

    def __repr__(self):
        return f"Descriptor({self.dtype}, {self.shape}, layout={self.layout!r}, alignment={self.alignment})"

    @property
    def order(self):
        """The axes from the slowest to the fastest, a tuple."""
        axes = range(len(self.shape))
        if self.layout == "C":
            return tuple(axes)
        if self.layout == "F":
            return tuple(reversed(axes))
        if isinstance(self.layout, str):
            raise ValueError(
                f"Descriptor: layout is {self.layout!r}; it may be 'C', 'F' or a tuple of axes"
            )
        return tuple(self.layout)

    @property
    def nbytes(self):
        """The bytes of all elements."""
        return _core._tensor_check(*self._arguments())

    def _arguments(self):
        return self.dtype, self.shape, self.order, self.alignment

    def _host_empty(self):
        """NumPy's array that lies so (but for the alignment)."""
        order = self.order
        made = _np.empty([self.shape[axis] for axis in order], self.dtype)
        return made.transpose([order.index(axis) for axis in range(len(order))])

    def _is_layout_of(self, host):
        order = self.order
        return host.dtype == self.dtype and host.transpose(order).flags.c_contiguous


def allocate(descriptor):
    """Makes an array that lies as a descriptor says, its elements not initialised.

    Parameters
    ----------
    descriptor : Descriptor
        How it lies.

    Returns
    -------
    ndarray

    Raises
    ------
    MemoryError
        There is not so much memory.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.memory.allocate(np.memory.Descriptor("float32", (2, 3), "F")).strides
    (4, 8)
    """
    return _core._tensor_new(*descriptor._arguments())


def reuse(array, descriptor):
    """Makes an array in the memory of one that the program does not need any more.

    The elements are not initialised. The old array stays valid and lies in the same memory: do not use
    it.

    Parameters
    ----------
    array : ndarray
        The only array on its memory, which is not the host's.
    descriptor : Descriptor
        What needs no more memory than array has.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        Other arrays or the host share the memory, or it is too small.

    Examples
    --------
    >>> import asnumpy as np
    >>> old = np.memory.allocate(np.memory.Descriptor("float64", 100))
    >>> np.memory.reuse(old, np.memory.Descriptor("float32", (10, 20))).shape
    (10, 20)
    """
    return _core._tensor_reuse(*descriptor._arguments(), array)


def prepare(host, descriptor=None, *, queue=None, priority=0):
    """Brings host data to the device, converted to a dtype and layout on the way.

    Parameters
    ----------
    host : array_like
        Not changed before the data is there: with a queue, before the transfer ends.
    descriptor : Descriptor, optional
        By default the dtype and shape of host, row-major. Dtypes convert as astype does.
    queue : CopyQueue, optional
        Copies behind the program.
    priority : int
        In the queue: larger goes first.

    Returns
    -------
    ndarray, or with a queue Transfer

    Raises
    ------
    ValueError
        host and the descriptor have different shapes.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.memory.prepare([[1, 2], [3, 4]], np.memory.Descriptor("float32", (2, 2), "F"))
    array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    host = _np.asarray(host)
    if descriptor is None:
        descriptor = Descriptor(host.dtype, host.shape)
    if host.shape != descriptor.shape:
        raise ValueError(f"prepare: host has shape {host.shape}, the descriptor {descriptor.shape}")
    if queue is not None:
        return queue.to_device(host, descriptor, priority=priority)
    return _core._tensor_prepare(*descriptor._arguments(), host)


def copy_back(array, out=None, *, descriptor=None):
    """Brings an array to host memory, converted on the way.

    Parameters
    ----------
    array : ndarray
        What is copied.
    out : numpy.ndarray, optional
        Where to; its dtype and strides decide.
    descriptor : Descriptor, optional
        How a new NumPy array lies; by default as row-major as can be, of the array's dtype.

    Returns
    -------
    numpy.ndarray
        out, or a new one.

    Raises
    ------
    ValueError
        out has another shape or is read-only, or both out and descriptor are given.

    Examples
    --------
    >>> import asnumpy as np
    >>> type(np.memory.copy_back(np.arange(3)))
    <class 'numpy.ndarray'>
    """
    if out is not None and descriptor is not None:
        raise ValueError("copy_back takes out or descriptor, not both")
    if out is None:
        descriptor = descriptor or Descriptor(array.dtype, array.shape)
        out = descriptor._host_empty()
        _core._tensor_copy_back(*descriptor._arguments(), array, out)
        return out
    if out.shape != array.shape:
        raise ValueError(f"copy_back: out has shape {out.shape}, the array {array.shape}")
    if not out.flags.writeable:
        raise ValueError("copy_back: out is read-only")
    order = tuple(sorted(range(out.ndim), key=lambda axis: -out.strides[axis]))
    exact = Descriptor(out.dtype, out.shape, order)
    if exact._is_layout_of(out):
        _core._tensor_copy_back(*exact._arguments(), array, out)
    else:  # gaps or steps backwards, which are the host's to fill
        out[...] = copy_back(array, descriptor=exact)
    return out


class Transfer:
    """A copy under way; a CopyQueue makes it.

    What it copies from and to is kept until it ends; a transfer that nobody holds is waited for.

    Parameters
    ----------
    handle
        The queue's own.
    array : ndarray or None
        Of a copy to the device, where it goes.
    descriptor : Descriptor or None
        To what it is converted afterwards.
    host : numpy.ndarray or None
        Of a copy from the device, where it goes.

    Examples
    --------
    >>> import asnumpy as np
    >>> with np.memory.CopyQueue() as queue:
    ...     transfer = queue.to_device([1, 2, 3])
    ...     print(transfer.array() + 1)
    [2 3 4]
    """

    def __init__(self, handle, array, descriptor, host):
        self._handle, self._array, self._descriptor, self._host = handle, array, descriptor, host

    @property
    def done(self):
        """Whether the copy has ended."""
        return _core._transfer_done(self._handle)

    def wait(self):
        """Waits until the copy has ended.

        Returns
        -------
        numpy.ndarray or None
            The host array of a copy from the device.

        Examples
        --------
        >>> import asnumpy as np
        >>> with np.memory.CopyQueue() as queue:
        ...     queue.to_host(np.arange(3)).wait().tolist()
        [0, 1, 2]
        """
        _core._transfer_wait(self._handle)
        return self._host

    def array(self):
        """The array of a copy to the device: work on it comes after the copy, and nothing waits here.

        Returns
        -------
        ndarray

        Raises
        ------
        ValueError
            The copy is from the device.

        Examples
        --------
        >>> import asnumpy as np
        >>> with np.memory.CopyQueue() as queue:
        ...     queue.to_device([1, 2, 3]).array()
        array([1, 2, 3])
        """
        if self._array is None:
            raise ValueError(
                "Transfer.array: the copy is from the device; wait() has its host array"
            )
        _core._transfer_order(self._handle)
        if self._descriptor is not None:
            made = allocate(self._descriptor)
            made[...] = (
                self._array if made.dtype == self._array.dtype else self._array.astype(made.dtype)
            )
            self._array, self._descriptor = made, None
        return self._array


class CopyQueue:
    """Copies between the host and the device that run behind the program.

    A thread copies piece by piece through two halves of pinned staging memory, on a stream of its own,
    so that copies and computations overlap; between two pieces the transfer of the largest priority
    goes on, the oldest among equals. Where the host reaches the device's memory (a CPU) the thread
    copies without staging.

    Parameters
    ----------
    staging_bytes : int
        Of both halves together, at least 131072.

    Raises
    ------
    ValueError
        It is less.

    Examples
    --------
    >>> import asnumpy as np
    >>> batches = [[1, 2], [3, 4], [5, 6]]
    >>> with np.memory.CopyQueue() as queue:
    ...     following = queue.to_device(batches[0])
    ...     for k in range(len(batches)):
    ...         batch = following.array()
    ...         if k + 1 < len(batches):
    ...             following = queue.to_device(batches[k + 1])
    ...         print(int(batch.sum()))
    3
    7
    11
    """

    def __init__(self, staging_bytes=8 << 20):
        self._handle = _core._queue_new(staging_bytes)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def _open(self):
        if self._handle is None:
            raise ValueError("the copy queue is closed")
        return self._handle

    def to_device(self, host, descriptor=None, *, priority=0):
        """Starts copying host data to the device.

        Parameters
        ----------
        host : array_like
            Not changed until the transfer ends.
        descriptor : Descriptor, optional
            How the array lies; what differs from the host is converted by the device, after the copy.
        priority : int
            Larger goes first.

        Returns
        -------
        Transfer
            Transfer.array is the array.

        Raises
        ------
        ValueError
            The queue is closed, or host and the descriptor have different shapes.

        Examples
        --------
        >>> import asnumpy as np
        >>> with np.memory.CopyQueue() as queue:
        ...     queue.to_device([1, 2, 3]).array()
        array([1, 2, 3])
        """
        handle = self._open()
        host = _np.asarray(host)
        if descriptor is not None and host.shape != descriptor.shape:
            raise ValueError(
                f"to_device: host has shape {host.shape}, the descriptor {descriptor.shape}"
            )
        alignment = 64 if descriptor is None else descriptor.alignment
        order = tuple(sorted(range(host.ndim), key=lambda axis: -host.strides[axis]))
        raw = Descriptor(host.dtype, host.shape, order, alignment)
        if not raw._is_layout_of(host):
            host = _np.ascontiguousarray(host)
            raw = Descriptor(host.dtype, host.shape, "C", alignment)
        transfer, array = _core._queue_send(*raw._arguments(), host, priority, handle)
        converts = descriptor is not None and not descriptor._is_layout_of(host)
        return Transfer(transfer, array, descriptor if converts else None, None)

    def to_host(self, array, out=None, *, priority=0):
        """Starts copying an array, as it is now, to the host.

        Parameters
        ----------
        array : ndarray
            What is copied.
        out : numpy.ndarray, optional
            Row-major, of the array's shape and dtype; not read or written until the transfer ends.
        priority : int
            Larger goes first.

        Returns
        -------
        Transfer
            Transfer.wait returns the host array.

        Raises
        ------
        ValueError
            The queue is closed, or out is of another kind.

        Examples
        --------
        >>> import asnumpy as np
        >>> with np.memory.CopyQueue() as queue:
        ...     queue.to_host(np.arange(3)).wait().tolist()
        [0, 1, 2]
        """
        handle = self._open()
        if out is None:
            out = _np.empty(array.shape, array.dtype)
        elif out.shape != array.shape or out.dtype != array.dtype or not out.flags.carray:
            raise ValueError(
                f"to_host: out is to be a row-major, writeable array of shape {array.shape} and dtype {array.dtype}"
            )
        return Transfer(_core._queue_fetch(array, out, priority, handle), None, None, out)

    def stats(self):
        """What the queue has done.

        Returns
        -------
        dict
            Transfers, pieces and bytes that have ended, and transfers that wait.

        Raises
        ------
        ValueError
            The queue is closed.

        Examples
        --------
        >>> import asnumpy as np
        >>> with np.memory.CopyQueue() as queue:
        ...     _ = queue.to_host(np.arange(3)).wait()
        ...     isinstance(queue.stats(), dict)
        True
        """
        return _core._queue_stats(self._open())

    def close(self):
        """Waits for everything and ends the thread; transfers stay valid.

        Returns
        -------
        None

        Examples
        --------
        >>> import asnumpy as np
        >>> queue = np.memory.CopyQueue()
        >>> queue.close()
        """
        self._handle = None
