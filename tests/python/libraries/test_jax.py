"""JAX's functions and transformations take our arrays."""

import asnumpy
import numpy
import pytest
from libraries.comparing import same

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


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


KEYS = {
    "rows": lambda np, x: x[np.array([1, 2])],
    "mask": lambda np, x: x[np.arange(10) > 5],
    "number": lambda np, x: x[np.array(3)],
    "tuple": lambda np, x: x.reshape(2, 5)[np.array([0, 1]), np.array([1, 2])],
    "mixed": lambda np, x: x.reshape(2, 5)[:, np.array([1, -1])],
    "slice": lambda np, x: x[np.array(1) : np.array(4)],
    "at": lambda np, x: x.at[np.array([0, 1])].set(np.array([5, 6])),
    "traced": lambda np, x: jax.jit(lambda v: v[np.array([2, 0])] * 2)(x),
}


@pytest.mark.parametrize("key", KEYS)
def test_keys_of_jax_arrays(key):
    x = jnp.arange(10.0)
    assert (KEYS[key](asnumpy, x) == KEYS[key](numpy, x)).all()


def test_jax_arrays_are_keys():
    for m in (numpy, asnumpy):
        a, rows = m.arange(10), jnp.array([1, 2])
        assert a[rows].tolist() == [1, 2] and a[jnp.arange(10) > 7].tolist() == [8, 9]
        assert a.reshape(2, 5)[jnp.array([0]), 1:3].tolist() == [[1, 2]] and a[jnp.array(3)] == 3
        a[rows] = 7
        assert m.take(a, rows).tolist() == [7, 7] and a[jnp.array(1) : jnp.array(3)].sum() == 14
