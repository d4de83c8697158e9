"""Programs that type checkers must refuse, at the lines marked E."""

import asnumpy as np

a = np.arange(10)
a.shape + 1  # E
a.nope  # E
np.nope(a)  # E
np.zeros()  # E
np.zeros(3, order="Z")  # E
a.sort(kind="fast")  # E
np.concatenate([a, a], axes=0)  # E
np.sin(a, a, a, a)  # E
np.sin(a, otu=a)  # E
np.add(a)  # E
np.linalg.qr()  # E
np.allclose(a, a).shape  # E
np.save("f", a).shape  # E
a.size = 3  # E
np.random.default_rng(1).normal(0, 1, dtype=float)  # E
a.astype(np.float32, castng="safe")  # E
np.zeros(3, device=0)  # E
np.arange(3, dvice="cpu")  # E
np.linspace(0, 1, num=2.5)  # E


def energy(x: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    return np.asarray(x * x if weights is None else np.multiply(weights, x))


fast = np.jit(energy)
fast()  # E
fast(a, wieghts=a)  # E
fast(a).hits  # E
fast.cleer()  # E
np.jit(3)  # E
np.jit(energy, static_argnames=3)  # E


class Layer:
    @np.jit(static_argnums=0)
    def norm(self, x: np.ndarray) -> np.ndarray:
        return x


Layer().norm()  # E
Layer().norm(a, a)  # E
