"""Tensors by descriptor, and copies behind the program."""

import numpy as _np

from .. import _core


class Descriptor:
    """How the elements of a tensor lie in memory.

    Parameters
    ----------
    dtype : dtype
    shape : int or tuple of ints
    layout : {"C", "F"} or tuple of ints
        The order of the axes in memory, from the slowest to the fastest: "C" is row-major, "F" column-major; an image
        batch of shape (N, C, H, W) that lies as NHWC has ``(0, 2, 3, 1)``.
    alignment : int
        Of the first element, in bytes: a power of two from 64 to 4096.

    Raises
    ------
    ValueError
        Axes that are not each named once, another alignment, a size past the address space.
    TypeError
        A dtype that devices do not have.
    """

    def __init__(self, dtype, shape, layout="C", alignment=64):
        self._dtype = _core.empty(0, dtype).dtype
        self._shape = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
        self._layout = layout if isinstance(layout, str) else tuple(layout)
        self._alignment = alignment
        _core._tensor_check(*self._arguments())

    @property
    def dtype(self):
        """Of the elements."""
        return self._dtype

    @property
    def shape(self):
        """A tuple of ints."""
        return self._shape

    @property
    def layout(self):
        """As it was given."""
        return self._layout

    @property
    def alignment(self):
        """Of the first element, bytes."""
        return self._alignment

    def __eq__(self, other):
        return isinstance(other, Descriptor) and self._arguments() == other._arguments()

    def __hash__(self):
        return hash(self._arguments())

    def __repr__(self):
        return f"Descriptor({self.dtype}, {self.shape}, layout={self.layout!r}, alignment={self.alignment})"

    @property
    def order(self):
        """The axes from the slowest to the fastest."""
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
        """Bytes of the elements."""
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
    """An array that lies as the descriptor says, its elements not initialised."""
    return _core._tensor_new(*descriptor._arguments())


def reuse(array, descriptor):
    """An array in the memory of one that the program does not need any more.

    The elements are not initialised. ``array`` stays valid and lies in the same memory: do not use it.

    Parameters
    ----------
    array : ndarray
        The only array on its memory, which is not the host's.
    descriptor : Descriptor
        What needs no more memory than ``array`` has.

    Raises
    ------
    ValueError
        Other arrays or the host share the memory, or it is too small.
    """
    return _core._tensor_reuse(*descriptor._arguments(), array)


def prepare(host, descriptor=None, *, queue=None, priority=0):
    """Bring host data to the device, converted to a dtype and layout on the way.

    Parameters
    ----------
    host : array_like
        Not changed before the data is there: with a queue, before the transfer ends.
    descriptor : Descriptor, optional
        By default the dtype and shape of ``host``, row-major. Dtypes convert as `astype` does.
    queue : CopyQueue, optional
        Copies behind the program.
    priority : int
        In the queue: larger goes first.

    Returns
    -------
    ndarray, or with a queue Transfer
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
    """Bring an array to host memory, converted on the way.

    Parameters
    ----------
    array : ndarray
    out : numpy.ndarray, optional
        Where to; its dtype and strides decide.
    descriptor : Descriptor, optional
        How a new NumPy array lies; by default as row-major as can be, of the array's dtype.

    Returns
    -------
    numpy.ndarray
        ``out``, or a new one.
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
    """A copy under way; made by a `CopyQueue`.

    What it copies from and to is kept until it ends; a transfer that nobody holds is waited for.
    """

    def __init__(self, handle, array, descriptor, host):
        self._handle, self._array, self._descriptor, self._host = handle, array, descriptor, host

    @property
    def done(self):
        """Whether the copy has ended."""
        return _core._transfer_done(self._handle)

    def wait(self):
        """Wait until the copy has ended.

        Returns
        -------
        numpy.ndarray or None
            The host array of a copy from the device.
        """
        _core._transfer_wait(self._handle)
        return self._host

    def array(self):
        """The array of a copy to the device: work on it comes after the copy, and nothing waits here.

        Raises
        ------
        ValueError
            The copy is from the device.
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

    A thread copies piece by piece through two halves of pinned staging memory, on a stream of its own, so that copies
    and computations overlap; between two pieces the transfer of the largest priority goes on, the oldest among equals.
    Where the host reaches the device's memory (a CPU) the thread copies without staging.

    Parameters
    ----------
    staging_bytes : int
        Of both halves together, at least 131072.

    Examples
    --------
    >>> with asnumpy.memory.CopyQueue() as queue:
    ...     following = queue.to_device(batches[0])
    ...     for k in range(len(batches)):
    ...         batch = following.array()
    ...         if k + 1 < len(batches):
    ...             following = queue.to_device(batches[k + 1])
    ...         step(batch)
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
        """Start copying host data to the device.

        Parameters
        ----------
        host : array_like
            Not changed until the transfer ends.
        descriptor : Descriptor, optional
            How the array lies; what differs from the host is converted by the device, after the copy.
        priority : int

        Returns
        -------
        Transfer
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
        """Start copying an array, as it is now, to the host.

        Parameters
        ----------
        array : ndarray
        out : numpy.ndarray, optional
            Row-major, of the array's shape and dtype; not read or written until the transfer ends.
        priority : int

        Returns
        -------
        Transfer
            `Transfer.wait` returns the host array.
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
        """Transfers, pieces and bytes that have ended, transfers that wait, as a dict."""
        return _core._queue_stats(self._open())

    def close(self):
        """Wait for everything and end the thread. Transfers stay valid."""
        self._handle = None
