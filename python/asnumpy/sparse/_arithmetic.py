"""Arithmetic of sparse arrays, element by element and by products, over stored elements."""

import numpy as _np

from .. import _core
from .._core import asarray, zeros
from .._errstate import errstate
from ._common import is_number, ours
from ._indices import data_dtype, found, summed
from ._product import times_dense, times_sparse
from ._stored import Stored


class Arithmetic(Stored):
    """Operators, comparisons, functions of every element, products."""

    __hash__ = None

    # ---- elementwise

    def _merged(self, other, op):
        """op(self, other) where either stores something; zeros are dropped. op(0, 0) is 0."""
        if self._shape != other._shape:
            raise ValueError(f"inconsistent shapes: {self._shape} and {other._shape}")
        (a, x), (b, y) = self._sorted(), other._sorted()
        keys = _core.concatenate([a, b])
        keys = summed(keys, zeros(len(keys), dtype=bool))[0]
        left, right = zeros(len(keys), dtype=x.dtype), zeros(len(keys), dtype=y.dtype)
        left[found(keys, a)[0]], right[found(keys, b)[0]] = x, y
        data = op(left, right)
        kept = data != 0
        return self._of_keys(keys[kept], data[kept], cls=self._flat())

    def _dense_like(self, dense):
        """A dense result as a sparse array."""
        return self._flat()(dense)

    def _compared(self, other, op):
        """A comparison; of a dense array, and where zeros compare true, it is computed densely."""
        other = ours(other)
        if is_number(other):
            if op(self.dtype.type(0), other):
                return self._dense_like(op(self.toarray(), other))
            keys, data = self._sorted()
            data = op(data, other)
            return self._of_keys(keys[data], data[data], cls=self._flat())
        if not isinstance(other, Stored):
            return op(self.toarray(), asarray(other))
        if self._shape != other._shape:
            raise ValueError(f"inconsistent shapes: {self._shape} and {other._shape}")
        if not op(_np.int8(0), _np.int8(0)):
            return self._merged(other, op)
        return self._dense_like(op(self.toarray(), other.toarray()))

    def __eq__(self, other):
        return self._compared(other, _core.equal)

    def __ne__(self, other):
        return self._compared(other, _core.not_equal)

    def __lt__(self, other):
        return self._compared(other, _core.less)

    def __le__(self, other):
        return self._compared(other, _core.less_equal)

    def __gt__(self, other):
        return self._compared(other, _core.greater)

    def __ge__(self, other):
        return self._compared(other, _core.greater_equal)

    def _added(self, other, op, turned=False):
        """self + other and the like: sparse with sparse, dense with dense; of numbers 0 alone."""
        other = ours(other)
        if isinstance(other, Stored):
            return self._merged(other, op)
        if is_number(other):
            if other == 0:
                return self.copy()
            raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
        dense = self.toarray()
        return op(asarray(other), dense) if turned else op(dense, asarray(other))

    def __add__(self, other):
        return self._added(other, _core.add)

    __radd__ = __add__

    def __sub__(self, other):
        return self._added(other, _core.subtract)

    def __rsub__(self, other):
        if is_number(other) and other == 0:
            return -self
        return self._added(other, _core.subtract, True)

    def __neg__(self):
        return self._with_data(-self.data)

    def __abs__(self):
        return self._summed()._with_abs()

    def _with_abs(self):
        return self._with_data(_core.absolute(self.data))

    def _summed(self):
        """This array without elements stored twice."""
        return self

    def multiply(self, other):
        """The elementwise product.

        Parameters
        ----------
        other : number, array_like or sparse array
            Of the same shape, or one that broadcasts to it.

        Returns
        -------
        sparse array
            Of the same shape.

        Raises
        ------
        ValueError
            The shapes do not fit.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array([[1, 2]]).multiply([[3, 4]]).toarray()
        array([[3, 8]])
        """
        other = ours(other)
        if is_number(other):
            return self._with_data(self.data * other)
        if isinstance(other, Stored):
            if other._shape == self._shape:
                return self._merged(other, _core.multiply)
            other = other.toarray()
        other = asarray(other)
        shape = _np.broadcast_shapes(self._shape, other.shape)
        if shape != self._shape:
            return self._dense_like(self.toarray() * other)
        keys, data = self._sorted()
        wide = _core.broadcast_to(other, shape).reshape(-1)
        return self._of_keys(keys, data * wide[keys], cls=self._flat())

    def __mul__(self, other):
        return self.multiply(other)

    __rmul__ = __mul__

    def __truediv__(self, other):
        other = ours(other)
        if is_number(other):
            return self._with_data(self.data / other)
        with errstate(divide="ignore", invalid="ignore"):
            if isinstance(other, Stored):  # 0 / 0 is NaN: the result is dense
                return self.toarray() / other.toarray()
            return self.multiply(1.0 / asarray(other))

    def power(self, n, dtype=None):
        """Every element to a power.

        Parameters
        ----------
        n : number
            The exponent, not 0 (whose result would be dense).
        dtype : dtype, optional
            Of the elements, before.

        Returns
        -------
        sparse array
            In the same format.

        Raises
        ------
        NotImplementedError
            n is no number, or 0.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array([[1, 2]]).power(2).toarray()
        array([[1, 4]])
        """
        if not _np.isscalar(n):
            raise NotImplementedError("input is not scalar")
        if not n:
            raise NotImplementedError("zero power is not supported as it would densify the array")
        one = self._summed()
        data = one.data if dtype is None else one.data.astype(data_dtype(dtype))
        return one._with_data(data**n)

    def __pow__(self, n):
        return self.power(n)

    def _extreme(self, other, op):
        other = ours(other)
        if is_number(other):
            if op(self.dtype.type(0), other) != 0:
                return self._dense_like(op(self.toarray(), other))
            one = self._summed()
            return one._with_data(op(one.data, other))
        if isinstance(other, Stored):
            return self._merged(other, op)
        return op(self.toarray(), asarray(other))

    def maximum(self, other):
        """The greater of two elements, each.

        Parameters
        ----------
        other : number, array_like or sparse array
            Of the same shape.

        Returns
        -------
        sparse array, or ndarray
            An ndarray where other is dense.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array([[-1, 2]]).maximum(sparse.csr_array([[0, 3]])).toarray()
        array([[0, 3]])
        """
        return self._extreme(other, _core.maximum)

    def minimum(self, other):
        """The smaller of two elements, each.

        Parameters
        ----------
        other : number, array_like or sparse array
            Of the same shape.

        Returns
        -------
        sparse array, or ndarray
            An ndarray where other is dense.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array([[-1, 2]]).minimum(sparse.csr_array([[0, 3]])).toarray()
        array([[-1,  2]])
        """
        return self._extreme(other, _core.minimum)

    # ---- products

    def dot(self, other):
        """The matrix product, as @, and the product with a number.

        Parameters
        ----------
        other : number, array_like or sparse array
            Of shape (n,) or (n, p), for this array's (m, n).

        Returns
        -------
        ndarray or sparse array
            Sparse where other is.

        Raises
        ------
        ValueError
            The shapes do not fit.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array([[1, 0], [2, 3]]).dot([1, 1])
        array([1, 5])
        """
        return self.multiply(other) if is_number(other) else self @ other

    def __matmul__(self, other):
        other = ours(other)
        if is_number(other):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        if len(self._shape) == 1:
            out = self.reshape(1, -1).asformat("csr") @ other
            if isinstance(out, Stored):
                return out.tocoo().reshape(-1) if len(other._shape) == 2 else out.toarray()[0]
            return out.reshape(-1) if _np.ndim(other) == 2 else out[0]
        csr = self.tocsr()
        if not isinstance(other, Stored):
            return times_dense(csr, other)
        if len(other._shape) == 1:
            return (csr @ other.reshape(-1, 1)).tocoo().reshape(-1)
        if csr.shape[1] != other.shape[0]:
            raise ValueError(
                f"matmul: dimension mismatch with signature: {csr.shape} @ {other.shape}"
            )
        indptr, indices, data = times_sparse(csr, other.tocsr())
        shape = (csr.shape[0], other.shape[1])
        made = self._class("csr")((data, indices, indptr), shape=shape)
        return made.asformat(self._format if self._format in ("csc", "coo") else "csr")

    def __rmatmul__(self, other):
        other = ours(other)
        if is_number(other):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        if isinstance(other, Stored):
            return other @ self
        other = asarray(other)
        turned = self if len(self._shape) == 1 else self.transpose()
        if len(self._shape) == 1:
            return self.reshape(-1, 1).tocsr().T @ other.T
        return (turned @ other.T).T


# Functions of an element that give 0 of 0, and are methods of sparse arrays.
UNARY = [
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "ceil",
    "conj",
    "conjugate",
    "deg2rad",
    "expm1",
    "floor",
    "imag",
    "log1p",
    "rad2deg",
    "real",
    "rint",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]


def _unary(name):
    function = getattr(_core, name, None) or getattr(__import__("asnumpy"), name)

    def method(self):
        one = self._summed()
        return one._with_data(function(one.data))

    method.__name__ = name
    method.__qualname__ = f"sparray.{name}"
    method.__doc__ = f"""The function {name} of every element.

        Returns
        -------
        sparse array
            In the same format.

        Examples
        --------
        >>> from asnumpy import sparse
        >>> sparse.csr_array((1, 2)).{name}().nnz
        0
        """
    return method


for _name in UNARY:
    setattr(Arithmetic, _name, _unary(_name))

del _name
