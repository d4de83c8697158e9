"""Programs that type checkers accept, strictly: NumPy's idioms with AsNumpy's arrays, typed as NumPy's."""

from typing import Any, TypeAlias

import asnumpy as np
from typing_extensions import assert_type

Float1: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
Float2: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]

# Creation
a = np.arange(10, dtype=np.float64)
b = np.array([[1, 2], [3, 4]], dtype="int32", order="F", ndmin=2)
c = np.zeros((3, 4), np.complex128)
d = np.full(3, fill_value=2.5, device="cpu")
e = np.linspace(0, 1, num=5, endpoint=False)
f = np.eye(3, k=1)
assert_type(a, Float1)
assert_type(np.ones_like(b), np.ndarray)
assert_type(np.asarray([1, 2, 3]), np.ndarray)

# Attributes
shape: tuple[int, ...] = a.shape
size: int = a.size + a.ndim + a.nbytes + a.itemsize
assert_type(a.T, Float1)
assert_type(a.real, Float1)
device: str = a.device
a.shape = (2, 5)
a.real = 3

# Operators
assert_type(a + b, Any)
assert_type(1.5 * a, np.ndarray[tuple[Any, ...], np.dtype[np.float64]])
assert_type(-a, Float1)
assert_type(a**2, Float1)
assert_type(a @ b, Any)
assert_type(a > b, np.ndarray[tuple[Any, ...], np.dtype[np.bool]])
assert_type(a == b, Any)
assert_type(divmod(a, 2), tuple[Float1, Float1])
a += 1
b <<= 2
a[1:, ::2] = b[np.newaxis, ..., 0]
a[a > 3] *= 2
for row in a:
    print(row)
print(len(a), float(a[0, 0]), bool(a.any()), 3 in a)

# Ufuncs
assert_type(np.sin(a), np.ndarray)
assert_type(np.add(a, 1), np.ndarray)
assert_type(np.add(1, a, where=a > 0, dtype=np.float32), np.ndarray)
np.exp(a, out=a)
np.multiply(a, b, a)
np.add.reduce(a, axis=0)
np.subtract.outer(a, b)
np.add.at(a, [0, 1], 1)
fraction, whole = np.modf(a)
print(np.add.nin, np.add.identity, np.add.types)

# Functions and methods
assert_type(np.concatenate([a, b], axis=None), np.ndarray)
assert_type(np.where(a > 0, a, 0), np.ndarray)
assert_type(np.reshape(a, (-1,)), Float1)
assert_type(np.allclose(a, b, rtol=1e-3), bool)
assert_type(np.nonzero(a)[0], np.ndarray[tuple[int], np.dtype[np.intp]])
assert_type(np.array_split(a, 3)[0].dtype, np.dtype[np.float64])
assert_type(a.astype(np.float32, copy=False), np.ndarray[tuple[int], np.dtype[np.float32]])
assert_type(a.reshape(5, 2), Float2)
assert_type(a.tobytes(), bytes)
np.sum(a, axis=(0, 1), keepdims=True)
np.std(a, ddof=1)
np.percentile(a, [5, 95], axis=0, method="linear")
values, counts = np.unique(b, return_counts=True)
np.save("file.npy", a)
a.sort(axis=-1, kind="stable")
a.fill(0)

# Submodules
q, r = np.linalg.qr(f)
np.linalg.norm(a, ord="fro")
np.linalg.solve(f, d)
np.fft.rfft(a, n=16, norm="ortho")
rng = np.random.default_rng(1)
rng.normal(0, 1, size=(3, 4))
rng.integers(0, 10, size=5, endpoint=True)
np.random.seed(3)
series = np.polynomial.Polynomial([1, 2, 3])
print(series(a), series.deriv(), series.roots())
np.testing.assert_allclose(a, a)
np.lib.stride_tricks.sliding_window_view(a, 3)
with np.errstate(divide="ignore", over="raise"):
    np.log(a)


def energy(x: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """A function of a program's own."""
    return np.asarray(x * x if weights is None else np.multiply(weights, x))


# Functions traced and replayed keep their signatures
fast = np.jit(energy)
assert_type(fast(a), np.ndarray)
assert_type(fast(a, weights=a), np.ndarray)
assert_type(fast.__wrapped__(a), np.ndarray)
fast.compile((3,), dtype="float32").compile(a, weights=a)
hits: int = fast.cache_info().hits
text: str = fast.explain()


@np.jit
def total(x: np.ndarray, /, *, scale: float = 1.0) -> tuple[np.ndarray, float]:
    return x * scale, scale


assert_type(total(a, scale=2.0), tuple[np.ndarray, float])


class Layer:
    def __init__(self) -> None:
        self.weights = np.ones(3)

    @np.jit(static_argnums=0, maxsize=8)
    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(x * self.weights)

    @np.jit(static_argnums=(0,), static_argnames="axis")
    def norm(self, x: np.ndarray, axis: int = 0) -> np.ndarray:
        return np.asarray(np.sqrt((x * x).sum(axis)))


assert_type(Layer()(a), np.ndarray)
assert_type(Layer().norm(a, axis=1), np.ndarray)
assert_type(Layer.norm(Layer(), a), np.ndarray)
step = np.jit(lambda x, n: x * n, static_argnums=1)
step(a, 2), step.explain(), step.cache_info().hits
with np.disable_jit():
    step(a, 3)
with np.disable_jit(False):
    fast(a)

# Types for annotations, and dtypes that are known
import asnumpy.typing as npt  # noqa: E402


def scaled(x: npt.NDArray[np.float64], by: npt.ArrayLike = 2.0) -> npt.NDArray[np.float64]:
    return np.sort(x)


assert_type(np.zeros(3), Float1)
assert_type(np.ones((2, 3), np.int32), np.ndarray[tuple[int, int], np.dtype[np.int32]])
assert_type(scaled(np.zeros(3)).reshape(3, 1).T, Float2)
assert_type(np.isnan(np.zeros(3), dtype=np.bool), np.ndarray)
assert_type(np.random.default_rng(0).normal(0.0, 1.0, size=3), npt.NDArray[np.float64])
assert_type(np.random.default_rng(0).normal(), float)
assert_type(np.random.default_rng(0).integers(9, size=3, dtype=np.uint8), npt.NDArray[np.uint8])
print(
    np.zeros(3, device="npu:0"),
    np.to_numpy([1, 2]),
    np.full((2, 2), 1.5, device="cpu:0"),
    np.arange(0, 3, 1, np.float32, device="ascend:0"),
    np.linspace(0, 1, retstep=True, device="cpu")[1],
    np.asarray([1, 2], device="npu:0"),
    np.eye(3, device="npu"),
    np.zeros_like(a, device="npu:0"),
    np.fft.fftfreq(8, device="npu:0"),
    np.__version__,
    np.ma.masked,
    np.char.upper("a"),
)
moment: np.datetime64 = np.datetime64("2020-01-01")
