"""Inverse, Slogdet, Logdet, Qr through CANN's names."""

import numpy as np
import pytest
from aclnn import AclError, run

TYPES = ["float32", "float64", "complex64", "complex128"]


def matrices(shape, dtype):
    rng = np.random.default_rng(len(shape) + shape[-1])
    a = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.normal(size=shape)
    return (a + 3 * np.eye(*shape[-2:])).astype(dtype)


def attempt(name, *args):
    """Where no LAPACK library can be opened, single and large matrices are refused."""
    try:
        return run(name, *args)
    except AclError as error:
        if "no BLAS library" in str(error) or "BLAS library has no" in str(error):
            pytest.skip(f"no LAPACK: {error}")
        raise


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(4, 4), (20, 5, 5), (2, 3, 40, 40)])
def test_inverse_and_determinants(shape, dtype):
    a = matrices(shape, dtype)
    bound = 500 * np.finfo(dtype).eps
    out = np.zeros_like(a)
    attempt("Inverse", a, out)
    assert np.abs(a @ out - np.eye(shape[-1])).max() < bound * 10
    sign, log = np.zeros(shape[:-2], dtype), np.zeros(shape[:-2], dtype)
    attempt("Slogdet", a, sign, log)
    expected = np.linalg.slogdet(a)
    assert np.abs(sign - expected.sign).max() < bound
    assert np.abs(log - expected.logabsdet).max() < bound * 10
    out = np.zeros(shape[:-2], dtype)
    attempt("Logdet", a, out)
    with np.errstate(all="ignore"):
        expected = np.log(expected.sign) + expected.logabsdet
    assert np.allclose(out, expected, rtol=bound, atol=bound * 10, equal_nan=True)


@pytest.mark.parametrize("dtype", [*TYPES, "float16"])
@pytest.mark.parametrize("some", [True, False])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (7, 4, 4)])
def test_qr(shape, some, dtype):
    a = matrices(shape, dtype)
    m, n = shape[-2:]
    p = min(m, n) if some else m
    q, r = np.zeros((*shape[:-2], m, p), dtype), np.zeros((*shape[:-2], p, n), dtype)
    attempt("Qr", a, some, q, r)
    q, r = (x.astype("f4") if dtype == "float16" else x for x in (q, r))
    assert np.abs(q @ r - a).max() < 100 * np.finfo(dtype).eps
    assert (np.tril(r, -1) == 0).all()


def test_half_precision_inverse():
    a = matrices((8, 3, 3), "float16")
    out = np.zeros_like(a)
    attempt("Inverse", a, out)
    assert np.abs(a.astype("f8") @ out.astype("f8") - np.eye(3)).max() < 0.05


def test_refusals():
    a = np.zeros((5, 3, 3), "float32")
    with pytest.raises(AclError, match="singular"):
        run("Inverse", a, np.zeros_like(a))
    for bad, out in (
        (np.zeros((2, 3), "float32"), np.zeros((2, 3), "float32")),
        (a, np.zeros((5, 3, 2), "float32")),
        (a, np.zeros_like(a, dtype="float64")),
        (np.zeros(3, "float32"), np.zeros(3, "float32")),
        (np.zeros((3, 3), "int32"), np.zeros((3, 3), "int32")),
    ):
        with pytest.raises(AclError):
            run("Inverse", bad, out)
