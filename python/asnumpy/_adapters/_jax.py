"""Our arrays for JAX: a tree of one leaf, NumPy's array over the same memory.

jit, grad, vmap, scan and device_put take trees, and put their own values in the place of leaves.
Functions of jax.numpy and operators of JAX's arrays ask for __jax_array__ instead, keys for nothing: they are handed
NumPy's arrays.
"""

import jax

import asnumpy
from asnumpy._adapters._host_arguments import wrap
from asnumpy._host_values import host

jax.tree_util.register_pytree_node(
    asnumpy.ndarray,
    lambda array: ((host(array),), None),
    lambda _, leaves: leaves[0],
)


def _jax_array(array):
    """The array as JAX's."""
    return jax.numpy.asarray(host(array))


asnumpy.ndarray.__jax_array__ = _jax_array

# Keys are asked for nothing.
for where in ("array.ArrayImpl", "core.Tracer", "numpy.array_methods._IndexUpdateHelper"):
    wrap(f"jax._src.{where}", ["__getitem__"])
