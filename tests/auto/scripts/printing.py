"""How arrays and scalars look."""

import numpy as np

print(np.arange(6).reshape(2, 3), np.zeros(3), np.ones((2, 2), dtype=np.float32))
print(
    repr(np.array([1.5, 2.25, -3])), repr(np.float32(0.1)), repr(np.int8(3)), repr(np.bool_(True))
)
print([np.float64(1.5), np.int64(2)], {"a": np.arange(2)})
print(np.array([1e-10, 1.0, 1e10]), np.array([np.nan, np.inf, -0.0]))
print(np.arange(2000), repr(np.arange(2000).reshape(40, 50)))
print(np.array([1 + 2j, -1j]), np.array([], dtype=int), np.array(5), repr(np.array(5.0)))
print(f"{np.float64(3.14159):.2f} {np.int64(42):05d} {np.array(2.5)}")
with np.printoptions(precision=2, threshold=5, edgeitems=2):
    print(np.linspace(0, 1, 10))
np.set_printoptions(linewidth=40, suppress=True, formatter={"float": "{:8.3f}".format})
print(np.linspace(-1, 1, 7))
print(np.array2string(np.arange(4), separator=", "), np.format_float_scientific(0.00012))
print(type(np.arange(3)), type(np.arange(3)[0]), type(np.arange(3).sum()), np.ndarray.__name__)
print(type(np.add), np.add, type(np.arange(3)).__module__, np.__name__, np.float64)
print(np.arange(3).tolist(), str(np.array(["x", "yy"])), np.array([[True, False]]))
