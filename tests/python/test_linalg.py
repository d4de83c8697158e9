"""linalg against NumPy: norms, products, powers."""

import sys
import threading

import asnumpy as anp
import numpy as np
import pytest
from oracle import same

A = np.arange(12.0).reshape(3, 4) - 5
B = np.arange(24.0).reshape(2, 3, 4) / 7
S = np.arange(9.0).reshape(3, 3) - 3
V = np.array([3.0, -4.0, 0.5])
Z = np.array([1 + 2j, 3 - 1j, 0.5j])
EXPRESSIONS = """
norm(v)
norm(a)
norm(z)
norm(v, 1)
norm(v, 3)
norm(v, np.inf)
norm(v, -np.inf)
norm(v, 0)
norm(v, 0.5)
norm(z, 2)
norm(a, "fro")
norm(a, 1)
norm(a, -1)
norm(a, np.inf)
norm(a, -np.inf)
norm(a, axis=0)
norm(a, 1, axis=1)
norm(a, axis=1, keepdims=True)
norm(b, axis=(1, 2))
norm(b, 1, axis=(0, 2))
norm(b, np.inf, axis=(-1, 0), keepdims=True)
norm(a, keepdims=True)
norm([1, 2, 2])
norm(b, 1)
norm(a, "x")
norm(a, axis=(0, 0))
norm(v, axis=1)
vector_norm(b)
vector_norm(b, axis=(0, 2))
vector_norm(b, axis=1, ord=1)
vector_norm(b, axis=(0, 1), keepdims=True)
matrix_norm(b)
matrix_norm(b, ord=1)
multi_dot([a, a.T, a])
multi_dot([v, s, s, v])
multi_dot([a.T, s, s])
multi_dot([a])
matrix_power(s, 3)
matrix_power(s, 0)
matrix_power(s, 1)
matrix_power(a, 2)
matrix_power(s, 2.5)
outer(v, z)
outer(a, v)
cross(v, v[::-1])
cross(v[:2], v[:2])
vecdot(a, a)
vecdot(z, z)
matmul(a, a.T)
trace(b)
diagonal(b, offset=1)
matrix_transpose(b)
tensordot(a, a, axes=2)
""".strip().splitlines()


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression(text):
    def run(np_, a, b, s, v, z):
        scope = {"np": np, "a": a, "b": b, "s": s, "v": v, "z": z}
        return eval("linalg." + text, scope | {"linalg": np_.linalg})

    same(run, A, B, S, V, Z, ulp=16, where=text)


@pytest.mark.parametrize("name", ["det", "slogdet", "inv", "qr"])
def test_other_threads_run_meanwhile(name):
    """Whatever the size of the results, a large matrix keeps nobody else's Python waiting."""
    a = anp.array(np.random.default_rng(6).random((400, 400)))
    f, turns, done = getattr(anp.linalg, name), [0], threading.Event()

    def count():
        while not done.wait(1e-4):
            turns[0] += 1

    other = threading.Thread(target=count)
    before = sys.getswitchinterval()
    f(a)
    other.start()
    try:
        sys.setswitchinterval(100)  # this thread goes on until it lets go
        for _ in range(300):
            seen = turns[0]
            f(a)
            if turns[0] > seen:
                break
        assert turns[0] > seen
    finally:
        sys.setswitchinterval(before)
        done.set()
        other.join()
