"""What ndarray.acl_tensor() gives: an aclTensor that a program passes to CANN's functions itself.

The extension makes the tensor and lends it the array's memory (src/python/ndarray/acl_tensor.c); both end with a
capsule, which is this object's alone. Letting go of the capsule is therefore the one way of releasing, whichever
comes first: release(), the end of a with block, or the object's own end.
"""

import ctypes

from .. import _core


class AclTensor:
    """An aclTensor over an array's memory, for code that calls CANN's operators itself.

    `a.acl_tensor()` makes it. It is released once: by release(), at the end of a with block, or with
    the object. Until then the array's memory stays, whatever becomes of the array.

    Parameters
    ----------
    array : ndarray
        Whose memory it is of.

    Raises
    ------
    ValueError
        CANN has no tensor of the array's layout.
    TypeError
        It is no asnumpy array.

    Attributes
    ----------
    shape : tuple of int
        The array's.
    strides : tuple of int
        In elements, as CANN counts.
    offset : int
        Of the first element from the storage's beginning, in elements.
    storage : int
        The address on the device at which the array's memory begins.
    storage_size : int
        The elements that the memory has room for, counted from there.
    dtype : dtype
        The array's.
    writeable : bool
        Whether the array may be written. An aclTensor does not say it: a tensor that is not writeable
        is an input only.

    Notes
    -----
    ctypes takes the object where a pointer is wanted, and int(t) is its address.

    Examples
    --------
    >>> import asnumpy as np
    >>> with np.arange(12.0).reshape(3, 4)[:, 1:].acl_tensor() as t:
    ...     print(t.shape, t.strides, t.offset, int(t) == t.handle)
    (3, 3) (4, 1) 1 True
    """

    __slots__ = ("__weakref__", "_address", "_owner", "dtype", "offset", "shape", "storage",
                 "storage_size", "strides", "writeable")  # fmt: skip

    def __init__(self, array):
        if not _core._is_array(array):
            raise TypeError(
                f"AclTensor: got a {type(array).__name__}; it is made of an asnumpy array"
            )
        (self._owner, self._address, self.strides, self.offset, self.storage,
         self.storage_size) = _core._acl_tensor_parts(array)  # fmt: skip
        self.shape, self.dtype = array.shape, array.dtype
        self.writeable = array.flags.writeable

    @property
    def released(self):
        """Whether it has been released."""
        return self._owner is None

    @property
    def handle(self):
        """The address of the aclTensor, an int; ValueError once it is released."""
        if self._owner is None:
            raise ValueError("the aclTensor has been released: its address is nobody's any more")
        return self._address

    @property
    def _as_parameter_(self):
        return ctypes.c_void_p(self.handle)

    def __int__(self):
        return self.handle

    __index__ = __int__

    def release(self):
        """Destroys the aclTensor and gives the memory back; nothing happens the second time.

        What was put on streams whose handle was asked for (`stream.handle`) may still run: it counts as a
        use of the array's memory, and whatever the library does with that comes after it.

        Returns
        -------
        None

        Examples
        --------
        >>> import asnumpy as np
        >>> t = np.ones(3).acl_tensor()
        >>> t.release()
        >>> t.released
        True
        """
        self._owner = None

    def __enter__(self):
        self.handle  # noqa: B018 - refuses a tensor that was released
        return self

    def __exit__(self, *_):
        self.release()

    def __repr__(self):
        state = "released" if self.released else f"at {self._address:#x}"
        return f"<asnumpy.ops.AclTensor {state}: shape {self.shape}, strides {self.strides}, {self.dtype}>"
