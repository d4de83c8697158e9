"""No call keeps memory that it does not give back: bytes in use of the C library and of the device, call after call.

Twelve dimensions are more than layouts hold in place, so that each of them is a block of memory; half of the calls fail
on their way.
"""

import contextlib
import ctypes

import asnumpy as np
import numpy
import pytest

CALLS = 400
SLACK = 12 * CALLS  # bytes: the smallest block takes 24 a call


NAMES = """arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"""


class Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in NAMES.split()]


try:
    mallinfo2 = ctypes.CDLL(None).mallinfo2
except AttributeError:
    pytest.skip("the C library does not say what is in use", allow_module_level=True)
mallinfo2.restype = Counts

A = np.arange(4096.0).reshape((2,) * 12)
B = A.transpose() + 1
LARGE = np.arange(2.0**16).reshape((2,) * 11 + (32,))
I = np.array([0, 1, 0])
T = A > 3
K = A.astype("i8") - 7
SMALL = np.arange(12.0).reshape(3, 4)
G = np.random.default_rng(1)


def ends(event):
    event.record()
    event.synchronize()


GIVEN = {
    "np": np,
    "ends": ends,
    "A": A,
    "B": B,
    "I": I,
    "T": T,
    "K": K,
    "SMALL": SMALL,
    "LARGE": LARGE,
    "G": G,
}
GOOD = """
A + B | A[0] | A[..., 1] | A[:, I] | A[I, I] | A[:, None] | A[T] | A.T + A
A.sum() | A.sum(axis=(0, 5)) | A.max(axis=-1) | A.argmax(axis=3) | np.sort(A, 4) | np.argsort(A, 0) | np.cumsum(A, axis=7)
np.concatenate((A, B), 2) | np.stack((A, B), 3) | np.where(T, A, B) | np.roll(A, 1, 6) | np.flip(A, 2) | np.moveaxis(A, 0, 5)
np.broadcast_to(A, (3,) + A.shape) | np.take(A, I, 3) | np.take_along_axis(A, np.argsort(A, 0), 0) | np.repeat(A, 2, 1)
np.squeeze(A[:1]) | np.expand_dims(A, 4) | np.tile(A, 2) | A.astype("f4") | A.copy() | np.std(A) | np.median(A, 2) | np.diff(A)
np.einsum("...i,...i->...", A, B) | np.matmul(A, B) | np.dot(A, B[0, 0, 0, 0]) | np.tensordot(A, B, 2) | np.vdot(A, B)
np.fft.fft(A) | np.fft.rfft2(A) | np.linalg.inv(A + 9 * np.eye(2)) | np.linalg.norm(A) | np.nonzero(T) | np.argwhere(T)
np.add.reduce(A, (1, 2)) | np.add.accumulate(A, 4) | np.add.outer(I, I) | np.add.reduceat(A, [0, 1], 5) | np.unique(A)
np.pad(SMALL, 2) | np.linalg.solve(SMALL[:, :3] + 9 * np.eye(3), SMALL[:, 3]) | np.bincount(I) | np.interp(SMALL, I, I)
np.partition(A, 1, 3) | np.quantile(A, 0.3, 2) | np.searchsorted(SMALL[0], SMALL) | np.histogram(SMALL) | LARGE * 2 + LARGE[::-1]
np.lexsort((A[0], B[0])) | np.compress([True, False], A, 2) | np.choose(I, (I, I)) | np.put_along_axis(A.copy(), np.argsort(A, 0), A, 0)
np.ldexp(A, K) | np.ldexp(A, -K) | np.logaddexp(A, B) | np.hypot(A, B) | np.cbrt(A) | np.heaviside(A, B) | np.float_power(A, 0.5)
np.divmod(A, B) | np.modf(A) | np.frexp(A) | np.nextafter(A, B) | np.clip(A, 1, 2) | np.isclose(A, B) | np.cov(SMALL) | np.gcd(K, 6)
np.ascontiguousarray(A.T) | np.asarray(A).to_numpy() | np.linalg.svd(SMALL) | np.trace(A) | np.diagonal(A, 0, 2, 5) | A.tolist()
G.random(A.shape) | G.normal(size=A.shape) | G.integers(9, size=A.shape) | G.permuted(A, axis=3) | G.choice(A, 2, axis=4)
np.jit(lambda a: np.sin(a) * a + 1)(A) | np.jit(lambda: G.random(A.shape))()
np.var(A, 0, where=T, ddof=0.5) | np.std(A, where=T) | np.mean(A, 3, where=T) | np.memory.copy_back(A) | ends(np.Event())
"""
CHANGES = """
x[:, I] = A[:, I] | x[0] = 1.0 | x[T] = 2.5 | x[I] = B[0] | x[...] = B | x[:, :, I, :, I[:, None]] = 1.0 | x += A | x.T[...] = A
np.add.at(x, (0, I), 1.0) | np.copyto(x, B, where=T) | np.putmask(x, T, B) | x.sort(3) | x[:, None][0] = A[:1] | np.add(A, B, out=x)
x[T] = A[T] | x.flat[5] = 1 | x.fill(2) | np.put(x, I, 3.0) | x[:1, ..., I] = np.arange(3.0) | np.sum(A, axis=0, out=x[0])
np.cumsum(A, 4, out=x) | np.add.accumulate(A, 4, out=x) | np.mean(A, 0, out=x[0]) | np.var(A, 0, out=x[0])
G.random(out=x) | G.shuffle(x) | np.jit(lambda a: a.__iadd__(1))(x)
"""
BAD = """
A + A[..., :1].reshape(2, -1)[:, :3] | A[5] | A[:, [7]] | A[(0,) * 13] | A.reshape(3, 5) | A.sum(axis=99) | np.sort(A, 20) | A @ SMALL
x[:, I] = SMALL | x[T] = np.arange(5.0) | x[...] = SMALL | np.concatenate((A, SMALL)) | np.stack((A, SMALL)) | np.where(T, A, SMALL)
np.take(A, [9], 3) | np.broadcast_to(A, (3, 3)) | np.add(A, B, out=SMALL) | np.linalg.inv(np.zeros((2,) * 12)) | A.transpose(1, 2)
np.add.at(x, [9], 1.0) | np.dot(A, SMALL) | np.einsum("ij,jk", A, A) | np.bincount(-I - 1) | x[I, I, [0, 1]] = 2 | np.repeat(A, -1, 0)
np.roll(A, 1, 30) | np.add.reduceat(A, [9], 5) | np.choose(I, (A, SMALL)) | np.lexsort((A, SMALL)) | np.cumsum(A, 44) | np.moveaxis(A, 0, 50)
np.matmul(A, B, out=SMALL) | np.add.reduce(A, 3, out=SMALL) | np.fft.fft(A, axis=40) | np.linalg.solve(np.zeros((2,) * 12), A)
np.cumsum(A, 4, out=SMALL) | np.var(A, 0, out=SMALL)
"""


def in_use():
    np.synchronize()
    counts = mallinfo2()
    return counts.uordblks + counts.hblkhd, np.memory_stats()["bytes_in_use"]


def entries(text):
    return [e.strip() for e in text.replace("\n", "|").split("|") if e.strip()]


def keeps_nothing(code, expect):
    names = {**GIVEN, "x": A.copy()}

    def run(count):
        for _ in range(count):
            with contextlib.suppress(*expect):
                exec(code, names)

    run(30)
    grown = []
    for _ in range(6):  # caches may grow for a while
        before = in_use()
        run(CALLS)
        grown.append(tuple(now - then for now, then in zip(in_use(), before, strict=True)))
        if grown[-1][0] < SLACK and grown[-1][1] <= 0:
            return True, grown
    return False, grown


@pytest.mark.parametrize("text", entries(GOOD) + entries(CHANGES))
def test_nothing_is_kept(text):
    code = compile(text, text, "exec" if text in entries(CHANGES) else "eval")
    with numpy.errstate(all="ignore"), np.errstate(all="ignore"):
        kept_nothing, grown = keeps_nothing(code, ())
    assert kept_nothing, grown


@pytest.mark.parametrize("text", entries(BAD))
def test_nothing_is_kept_by_failures(text):
    code = compile(text, text, "exec")
    names = {**GIVEN, "x": A.copy()}
    with pytest.raises((ValueError, IndexError, TypeError, np.linalg.LinAlgError)):
        exec(code, names)
    kept_nothing, grown = keeps_nothing(code, (Exception,))
    assert kept_nothing, grown
