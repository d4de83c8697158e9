"""JAX's functions and transformations take our arrays."""

import asnumpy
import jax
import jax.numpy as jnp
import pytest
from libraries.comparing import same


def x(np):
    return np.arange(4, dtype=np.float32)


CASES = {
    "asarray": lambda np: jnp.asarray(x(np)),
    "array of lists": lambda np: jnp.array([x(np), x(np)]),
    "sin": lambda np: jnp.sin(x(np)),
    "where": lambda np: jnp.where(x(np) > 1, x(np), 0),
    "jit": lambda np: jax.jit(lambda a: a * 2)(x(np)),
    "jit of trees": lambda np: jax.jit(lambda t: t["a"] @ t["b"])({"a": x(np), "b": x(np)}),
    "grad": lambda np: jax.grad(lambda a: (a * a).sum())(x(np)),
    "vmap": lambda np: jax.vmap(lambda a, b: a * b)(x(np), x(np)),
    "scan": lambda np: jax.lax.scan(lambda c, a: (c + a, c), 0.0, x(np)),
    "device_put": lambda np: jax.device_put(x(np)),
    "jax + array": lambda np: jnp.ones(4) + x(np),
    "array + jax": lambda np: x(np) + jnp.ones(4),
    "tree.map": lambda np: jax.tree.map(lambda a: a + 1, {"a": x(np)}),
    "dot": lambda np: jnp.dot(x(np), x(np)),
}


@pytest.mark.parametrize("case", CASES)
def test_same_as_with_numpy(case):
    same(lambda np: jax.tree.map(np.asarray, CASES[case](np)), rtol=1e-6)


def test_numpys_functions_take_jax_arrays():
    assert type(asnumpy.asarray(jnp.ones(4))) is asnumpy.ndarray
    assert asnumpy.mean(asnumpy.asarray(jnp.arange(4.0))) == 1.5
