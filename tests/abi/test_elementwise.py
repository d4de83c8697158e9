"""Elementwise operators against NumPy, through CANN's interface: values, dtypes, layouts, errors."""

import ml_dtypes
import numpy as np
import pytest
import torch
from aclnn import AclError, run

RNG = np.random.default_rng(1)
FLOATS = ["float16", "float32", "float64"]
INTS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
COMPLEX = ["complex64", "complex128"]
BINARY = {
    "Mul": np.multiply, "Maximum": np.maximum, "Minimum": np.minimum, "EqTensor": np.equal,
    "NeTensor": np.not_equal, "LtTensor": np.less, "LeTensor": np.less_equal, "GtTensor": np.greater,
    "GeTensor": np.greater_equal,
}  # fmt: skip
UNARY_FLOAT = {
    "Exp": np.exp, "Log": np.log, "Sin": np.sin, "Cos": np.cos, "Tan": np.tan, "Tanh": np.tanh,
    "Sqrt": np.sqrt, "Floor": np.floor, "Ceil": np.ceil, "Trunc": np.trunc, "Round": np.rint, "Abs": np.abs,
    "Neg": np.negative, "Reciprocal": np.reciprocal, "Sign": np.sign, "Expm1": np.expm1,
    "Log1p": np.log1p, "Log2": np.log2, "Log10": np.log10, "Sinh": np.sinh, "Cosh": np.cosh,
    "Asinh": np.arcsinh, "Atan": np.arctan,
}  # fmt: skip


def make(dtype, shape=(3, 5)):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return RNG.random(shape) < 0.5
    if dtype.kind in "iu":
        return RNG.integers(1, 10, shape).astype(dtype)
    if dtype.kind == "c":
        return (RNG.random(shape) + 1j * RNG.random(shape) + 0.1).astype(dtype)
    return (RNG.random(shape) * 4 + 0.1).astype(dtype)


def close(got, want, dtype=None):
    want = np.asarray(want)
    tol = {"float16": 2e-3, "float32": 1e-6, "complex64": 1e-6}.get(
        np.dtype(dtype or want.dtype).name, 1e-14
    )
    np.testing.assert_allclose(got, want, rtol=tol, atol=tol)


@pytest.mark.parametrize("dtype", FLOATS + INTS + COMPLEX)
def test_add_with_alpha(dtype):
    a, b = make(dtype), make(dtype)
    close(run("Add", a, b, 1, np.empty_like(a)), a + b)
    close(run("Add", a, b, 3, np.empty_like(a)), a + 3 * b, dtype)
    close(run("Sub", a, b, 1, np.empty_like(a)), a - b)
    close(run("Rsub", a, b, 1, np.empty_like(a)), b - a)
    close(run("Adds", a, 2, 1, np.empty_like(a)), a + a.dtype.type(2))


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", ["bool", *FLOATS, *INTS])
def test_binary(name, dtype):
    a, b = make(dtype), make(dtype)
    want = BINARY[name](a, b)
    close(run(name, a, b, np.empty_like(want)), want)


@pytest.mark.parametrize("name", UNARY_FLOAT)
@pytest.mark.parametrize("dtype", FLOATS)
def test_unary(name, dtype):
    a = make(dtype)
    want = UNARY_FLOAT[name](a)
    close(run(name, a, np.empty_like(a)), want)


def test_sign_of_truth_values():
    """As in PyTorch; NumPy has no loop for it."""
    a = make("bool")
    np.testing.assert_array_equal(run("Sign", a, np.empty_like(a)), a)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_rsqrt_of_complex(dtype):
    a = (make(dtype) - 1) * np.dtype(dtype).type(3 - 1j)
    want = torch.rsqrt(torch.tensor(a.astype(complex))).numpy().astype(dtype)
    close(run("Rsqrt", a, np.empty_like(a)), want, "complex64" if dtype == "complex64" else None)
    copy = a.copy()
    run("InplaceRsqrt", copy)
    np.testing.assert_array_equal(copy, run("Rsqrt", a, np.empty_like(a)))
    hard = np.array([0, np.inf, -1, 4, complex(np.nan, 1)], dtype)
    np.testing.assert_array_equal(
        run("Rsqrt", hard, np.empty_like(hard)), torch.rsqrt(torch.tensor(hard)).numpy()
    )


def test_integers_in_float_functions():
    a = np.arange(1, 7, dtype=np.int32)
    close(run("Sqrt", a, np.empty(6, np.float32)), np.sqrt(a).astype(np.float32))
    close(run("Sqrt", a, np.empty(6)), np.sqrt(a))
    close(run("Div", a, a + 1, np.empty(6, np.float32)), (a / (a + 1)).astype(np.float32))


@pytest.mark.parametrize("pair", [("float16", "float32"), ("int8", "float16"), ("int32", "int64"),
                                  ("uint16", "int16"), ("bool", "int8"), ("float64", "complex64")])  # fmt: skip
def test_promotion(pair):
    a, b = make(pair[0]), make(pair[1])
    want = a + b
    close(run("Add", a, b, 1, np.empty_like(want)), want, min(pair, key=len))


def test_broadcast_and_layouts():
    a, b = make("float64", (4, 1, 3)), make("float64", (5, 1))
    close(run("Mul", a, b, np.empty((4, 5, 3))), a * b)
    big = make("float64", (8, 12))
    for view in (big[::2, ::3], big.T, big[::-1], np.broadcast_to(big[0], (8, 12))):
        close(run("Exp", view, np.empty(view.shape)), np.exp(view))
        out = np.zeros(view.shape, order="F")
        close(run("Add", view, view, 1, out), view + view)
    zero = np.array(2.5)
    close(run("Mul", big, zero, np.empty_like(big)), big * 2.5)
    close(run("Mul", zero, zero, np.empty(())), np.array(6.25))
    run("Add", np.empty((0, 3)), np.empty((1, 3)), 1, np.empty((0, 3)))


def test_in_place():
    a, b = make("float32"), make("float32", (5,))
    want = a * b
    close(run("InplaceMul", a, b) is not None and a, want)
    run("InplaceAdds", a, 1.5, 2)
    close(a, want + np.float32(3))
    run("InplaceExp", a)
    close(a, np.exp(want + np.float32(3)))
    run("InplaceFloorDivides", a, 2)
    run("InplaceLogicalNot", a)
    assert set(np.unique(a)) <= {0.0, 1.0}


def test_scalar_rules():
    a = np.arange(6, dtype=np.int32)
    close(run("Muls", a, 2.5, np.empty(6, np.float32)), (a * 2.5).astype(np.float32))
    close(run("Muls", a, 2, np.empty(6, np.int32)), a * 2)
    f = make("float32")
    close(run("Clamp", f, 1, 3, np.empty_like(f)), np.clip(f, 1, 3))
    close(run("Clamp", f, None, 3, np.empty_like(f)), np.minimum(f, 3))
    for dtype in (np.int64, np.int32, np.int8):  # a bound of integers is cut
        i = RNG.integers(-9, 9, (3, 40)).astype(dtype)
        for low, high in ((-1.5, 2.7), (-0.5, 0.5), (0.9, 3.9)):
            want = torch.nn.functional.hardtanh(torch.tensor(i), low, high)
            got = run("Hardtanh", i, low, high, np.empty_like(i))
            np.testing.assert_array_equal(got, want)
    close(run("PowScalarTensor", 2.0, f, np.empty_like(f)), 2**f)
    close(run("PowTensorScalar", f, 3, np.empty_like(f)), f**3)


def test_powers_by_two_and_by_minus_one():
    """Squares and reciprocals, of the same values as the power's, special ones too."""
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e30, 3.0, -1.5]
    for dtype in ("float16", "float32", "float64", "complex64"):
        with np.errstate(all="ignore"):
            x = np.array(special).astype(dtype)
            for exponent in (2, 2.0, -1, np.float32(2)):
                if dtype == "complex64" and exponent == -1:
                    x = np.array([1 + 2j, -3j, 2.5], dtype)
                want = np.power(x, np.array(float(exponent), x.real.dtype))
                if dtype == "complex64" and exponent == 2:
                    x, want = x[-2:], np.square(x[-2:])
                np.testing.assert_allclose(
                    run("PowTensorScalar", x, exponent, np.empty_like(x)), want, rtol=1e-6
                )
    x = np.array([-7, 0, 3, 100], np.int8)
    np.testing.assert_array_equal(run("PowTensorScalar", x, 2, np.empty_like(x)), x**2)
    y = np.empty(4, np.float32)  # the square is int8's
    close(run("PowTensorScalar", x, 2, y), (x**2).astype(np.float32))
    run("InplacePowTensorScalar", y, 2)
    close(y, (x**2).astype(np.float32) ** 2)


def test_compositions():
    x, y, z = make("float64"), make("float64"), make("float64")
    empty = np.empty_like(x)
    close(run("Addcmul", x, y, z, 0.5, empty), x + 0.5 * y * z)
    close(run("Lerp", x, y, z / 5, empty), x + z / 5 * (y - x))
    close(run("SWhere", x > 2, y, z, empty), np.where(x > 2, y, z))
    close(run("DivMod", x, y, 2, empty), x // y)
    close(run("Silu", x, empty), x / (1 + np.exp(-x)))
    n = np.array([np.nan, np.inf, -np.inf, 1.5])
    close(run("NanToNum", n, 7.0, 8.0, 9.0, np.empty(4)), [7, 8, 9, 1.5])
    p, q = np.array([1, np.inf, np.nan, 1.0]), np.array([1 + 1e-9, np.inf, np.nan, 2])
    assert list(run("IsClose", p, q, 1e-5, 1e-8, True, np.empty(4, bool))) == [
        True,
        True,
        True,
        False,
    ]
    i = np.array([7, -7, 2**53 + 1])
    assert list(run("DivMods", i, 2, 1, np.empty_like(i))) == [3, -3, 2**52]


@pytest.mark.parametrize("call, code", [
    (lambda: run("Add", np.ones(3), np.ones(4), 1, np.ones(3)), 161002),
    (lambda: run("Add", np.ones(3), np.ones(3), 1, np.ones(4)), 161002),
    (lambda: run("Add", np.ones((2, 3)), np.ones(3), 1, np.ones(3)), 161002),
    (lambda: run("Add", np.ones(3), None, 1, np.ones(3)), 161001),
    (lambda: run("Add", np.ones(3), np.ones(3), 1, np.ones(3, bool)), 161002),
    (lambda: run("Add", np.ones(3, complex), np.ones(3), 1, np.ones(3, int)), 161002),
    (lambda: run("BitwiseNot", np.ones(3), np.ones(3)), 161002),
    (lambda: run("Adds", np.ones(3, int), 1, 1.5, np.ones(3, int)), 161002),
    (lambda: run("InplaceAdd", np.ones(3), np.ones((2, 3)), 1), 161002),
    (lambda: run("Exp", np.ones(3), np.broadcast_to(np.ones(1), 3)), 161002),
])  # fmt: skip
def test_errors(call, code):
    with pytest.raises(AclError) as error:
        call()
    assert error.value.code == code and len(error.value.message) > 15, error.value


@pytest.mark.parametrize(("dtype", "digits"), [(np.float16, 11), (ml_dtypes.bfloat16, 8)])
def test_several_steps_on_halves_are_rounded_once(dtype, digits):
    """softplus of 15 passes through e^15, which is no float16; hardsigmoid's steps would each round."""
    x = np.linspace(-12, 19, 4001).astype(dtype)
    wide = x.astype(np.float64)
    for name, args, want in (
        ("Softplus", (1.0, 20.0), np.log1p(np.exp(wide))),
        ("Hardsigmoid", (), np.clip((wide + 3) / 6, 0, 1)),
    ):
        got = run(name, x, *args, np.zeros_like(x)).astype(np.float64)
        np.testing.assert_allclose(got, want, rtol=1.01 * 2.0**-digits, atol=2.0**-25)
