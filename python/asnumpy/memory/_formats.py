"""CANN's formats of tensors: which axis lies where, and axes cut in blocks."""

from .. import _core


def format_shape(shape, format, dtype="float32"):
    """Gives the shape of memory in which a tensor lies as a format says.

    Parameters
    ----------
    shape : tuple of ints
        In the canonical order: (N, C, H, W) for NCHW, NHWC, HWCN and NC1HWC0, (N, C, D, H, W) for
        NCDHW, NDHWC and NDC1HWC0, (..., M, N) for ND and FRACTAL_NZ.
    format : str
        One of these names.
    dtype : dtype
        A block of NC1HWC0, NDC1HWC0 and FRACTAL_NZ has rows of 32 bytes: 16 float16, 8 float32,
        32 int8.

    Returns
    -------
    tuple of ints

    Raises
    ------
    ValueError
        Another name, or another number of axes.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.memory.format_shape((8, 3, 32, 32), "NHWC")
    (8, 32, 32, 3)
    >>> np.memory.format_shape((8, 20, 32, 32), "NC1HWC0", "float16")
    (8, 2, 32, 32, 16)
    >>> np.memory.format_shape((100, 40), "FRACTAL_NZ", "float16")
    (3, 7, 16, 16)
    """
    return _core._format_shape(shape, format, dtype)


def convert_format(array, source, target, *, shape=None):
    """Copies a tensor from one of CANN's formats to another of the same axes.

    Parameters
    ----------
    array : array_like
        Lies as source says: its shape is format_shape's.
    source, target : str
        The names that format_shape takes; both of images, of volumes, or of matrices.
    shape : tuple of ints, optional
        The canonical shape of what is in array, where source fills blocks up; by default all that
        is there.

    Returns
    -------
    ndarray
        A row-major copy. What fills up its last blocks is 0.

    Raises
    ------
    ValueError
        Formats of other axes, or a shape that does not lie so in array's.

    Examples
    --------
    >>> import asnumpy as np
    >>> images = np.ones((8, 3, 4, 4), "float32")
    >>> np.memory.convert_format(images, "NCHW", "NHWC").shape
    (8, 4, 4, 3)
    >>> a = np.arange(6, dtype="float16").reshape(2, 3)
    >>> blocks = np.memory.convert_format(a, "ND", "FRACTAL_NZ")
    >>> blocks.shape
    (1, 1, 16, 16)
    >>> np.memory.convert_format(blocks, "FRACTAL_NZ", "ND", shape=(2, 3))
    array([[0., 1., 2.],
           [3., 4., 5.]], dtype=float16)
    """
    return _core._format_convert(array, source, target, shape)


def choose_format(channels):
    """Says in which format images are best kept for convolutions on an NPU.

    Parameters
    ----------
    channels : int
        Of an image.

    Returns
    -------
    {"NCHW", "NHWC"}
        NCHW from 64 channels on, which fill its blocks; NHWC below.

    Raises
    ------
    ValueError
        Less than one channel.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.memory.choose_format(3), np.memory.choose_format(256)
    ('NHWC', 'NCHW')
    """
    return _core._format_choose(channels)
