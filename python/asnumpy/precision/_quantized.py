"""int8 with a scale for each channel, and products with it."""

import operator

from .. import _core
from ._autocast import dtype_of


class QuantizedArray:
    """An int8 array with float32 scales along its channels, made by `quantize_per_channel`.

    `x @ q`, where q has channels in its columns (axis -1) and x is float32 (..., m, k), quantises
    the rows of x and is int8's product, float32: CANN's aclnnQuantMatmulV4 where the device has it,
    else a product of the integers as float32. No other operation is defined.

    Parameters
    ----------
    values : ndarray
        int8, of two dimensions or more.
    scales : ndarray
        float32, of the same shape but for the axis they were found along, which has extent 1.
    axis : int
        That of the channels, -1 or -2.

    Examples
    --------
    >>> import asnumpy as np
    >>> q = np.precision.quantize_per_channel(np.array([[127.0, 1], [-50, 0.5]], np.float32))
    >>> q.int_repr()
    array([[127, 127],
           [-50,  64]], dtype=int8)
    >>> np.array([[1, 0]], np.float32) @ q
    array([[127.,   1.]], dtype=float32)
    """

    __array_ufunc__ = None

    def __init__(self, values, scales, axis):
        self._values, self._scales, self._axis = values, scales, axis

    def __repr__(self):
        return f"QuantizedArray(shape={self.shape}, axis={self._axis})"

    @property
    def shape(self):
        """The array's shape, a tuple."""
        return self._values.shape

    @property
    def ndim(self):
        """The number of its dimensions."""
        return self._values.ndim

    @property
    def nbytes(self):
        """The bytes of the integers and the scales."""
        return self._values.nbytes + self._scales.nbytes

    @property
    def T(self):
        """The last two axes exchanged, and with them the channels'; a view."""
        other = -3 - self._axis
        return QuantizedArray(self._values.swapaxes(-1, -2), self._scales.swapaxes(-1, -2), other)

    def int_repr(self):
        """The integers, as torch's int_repr.

        Returns
        -------
        ndarray
            int8; not a copy.

        Examples
        --------
        >>> import asnumpy as np
        >>> q = np.precision.quantize_per_channel(np.array([[1.0], [-2.0]], np.float32))
        >>> q.int_repr()
        array([[  64],
               [-127]], dtype=int8)
        """
        return self._values

    def q_per_channel_axis(self):
        """The axis of the channels.

        Returns
        -------
        int
            -1 or -2.

        Examples
        --------
        >>> import asnumpy as np
        >>> np.precision.quantize_per_channel(np.ones((2, 3), np.float32)).q_per_channel_axis()
        -1
        """
        return self._axis

    def q_per_channel_scales(self):
        """The scales of the channels.

        Returns
        -------
        ndarray
            float32, of the shape without the axis that they were found along.

        Examples
        --------
        >>> import asnumpy as np
        >>> q = np.precision.quantize_per_channel(np.array([[127.0, 254.0]], np.float32))
        >>> q.q_per_channel_scales()
        array([1., 2.], dtype=float32)
        """
        return self._scales.squeeze(-3 - self._axis)

    def dequantize(self):
        """The integers times their scales.

        Returns
        -------
        ndarray
            float32, of the same shape.

        Examples
        --------
        >>> import asnumpy as np
        >>> q = np.precision.quantize_per_channel(np.array([[127.0, 254.0]], np.float32))
        >>> q.dequantize()
        array([[127., 254.]], dtype=float32)
        """
        return _core._dequantise(self._values, self._scales)

    def __matmul__(self, other):
        raise TypeError(
            "int8 product: a QuantizedArray is the second operand; dequantize() it, or quantize the other"
        )

    def __rmatmul__(self, x):
        if self._axis != -1:
            raise ValueError(
                "int8 product: the channels are rows (axis -2); they must be columns: use q.T, or axis=-1"
            )
        x = _core.asarray(x)
        if x.ndim == 1:
            return _core._int8_product(x[None, :], self._values, self._scales)[..., 0, :]
        if x.ndim == 0:
            raise ValueError(
                "int8 product: the first operand has no dimensions; it must have 1 or more"
            )
        return _core._int8_product(x, self._values, self._scales)


def quantize_per_channel(input, axis=-1):
    """A float32 array as int8, symmetric, with the scale max(abs(x)) / 127 of each channel.

    Parameters
    ----------
    input : array_like
        float32, of two dimensions or more.
    axis : int
        Where the channels are: -1 (each column of a matrix has a scale, for the second operand of a
        product) or -2 (each row, for weights of `linear`). Positive numbers count from the front.

    Returns
    -------
    QuantizedArray
        An element is off by half a scale at most. A scale is 2**-126 at least. A channel that holds an
        infinity or NaN dequantizes to NaN.

    Raises
    ------
    TypeError
        Another dtype.
    ValueError
        Fewer dimensions, another axis, channels without elements.

    Examples
    --------
    >>> import asnumpy as np
    >>> w = np.eye(3, dtype=np.float32)
    >>> np.precision.quantize_per_channel(w).dequantize()
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    x = _core.asarray(input)
    number = operator.index(axis)
    place = number - x.ndim if number >= 0 else number
    if x.ndim < 2 or place not in (-1, -2):
        raise ValueError(
            f"quantize_per_channel: axis is {number} of an array of {x.ndim} dimensions; "
            "it may be one of the last two"
        )
    values, scales = _core._quantise(x, x.ndim - 3 - place)
    return QuantizedArray(values, scales, place)


def linear(input, weight, bias=None):
    """A product with weights transposed, and a bias: input @ weight.T + bias.

    As torch.nn.functional.linear; the product is autocast's to narrow.

    Parameters
    ----------
    input : array_like
        (..., in_features).
    weight : array_like or QuantizedArray
        (out_features, in_features); quantized with axis -2.
    bias : array_like, optional
        (out_features,), added in the product's dtype.

    Returns
    -------
    ndarray
        (..., out_features).

    Raises
    ------
    ValueError
        Shapes that do not multiply.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.precision.linear(np.ones((1, 2)), np.eye(2), np.array([1.0, 2.0]))
    array([[2., 3.]])
    """
    quantized = isinstance(weight, QuantizedArray)
    x = _core.asarray(input)
    y = x @ (weight if quantized else _core.asarray(weight)).T
    return y if bias is None else y + _core.asarray(bias)


def stored(tensor, dtype):
    """A float32 tensor as a decision stores it: itself, a half, or quantized by columns."""
    if dtype == "int8":
        return quantize_per_channel(tensor)
    return _core.asarray(tensor).astype(dtype_of(dtype), copy=False)
