"""Dask computes with chunks of ours: the same values as with NumPy's, and chunks that stay ours."""

import asnumpy
import numpy
import pytest
from libraries.comparing import check_equal

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

X = numpy.random.default_rng(0).random((12, 8))


def chunked(np, x=X, chunks=(4, 4)):
    return da.from_array(np.asarray(x), chunks=chunks)


# Whether the result's chunks are ours (NumPy's protocols lead there), or Dask makes NumPy's.
CASES = {
    "arithmetic": lambda np: chunked(np) * 2 + chunked(np) ** 2 - 1,
    "with an array": lambda np: chunked(np) + np.arange(8.0),
    "with an array before": lambda np: np.arange(8.0) + chunked(np),
    "mixed chunks": lambda np: chunked(np) + chunked(numpy),
    "ufunc": lambda np: np.exp(chunked(np)),
    "where": lambda np: da.where(chunked(np) > 0.5, chunked(np), np.zeros(8)),
    "sum": lambda np: chunked(np).sum(),
    "sum of an axis": lambda np: chunked(np).sum(axis=1),
    "mean": lambda np: chunked(np).mean(axis=0),
    "std": lambda np: chunked(np).std(axis=0),
    "min, max": lambda np: chunked(np).max(axis=1) - chunked(np).min(axis=1),
    "argmax": lambda np: chunked(np).argmax(axis=1),
    "nanmean": lambda np: da.nanmean(chunked(np), axis=0),
    "cumsum": lambda np: chunked(np).cumsum(axis=0),
    "NumPy's sum": lambda np: np.sum(chunked(np)),
    "slice": lambda np: chunked(np)[2:9, ::3],
    "mask": lambda np: chunked(np)[np.arange(12) % 2 == 0],
    "rows": lambda np: chunked(np)[np.array([0, 5, 11])],
    "transpose": lambda np: chunked(np).T,
    "reshape": lambda np: chunked(np).reshape(96),
    "rechunk": lambda np: chunked(np).rechunk((12, 2)),
    "concatenate": lambda np: da.concatenate([chunked(np), chunked(np)]),
    "concatenate mixed": lambda np: da.concatenate([chunked(np), chunked(numpy)]),
    "stack": lambda np: da.stack([chunked(np), chunked(np)]),
    "matmul": lambda np: chunked(np) @ chunked(np).T,
    "tensordot": lambda np: da.tensordot(chunked(np), chunked(np).T, 1),
    "einsum": lambda np: da.einsum("ij,kj->ik", chunked(np), chunked(np)),
    "percentile": lambda np: da.percentile(chunked(np, X.ravel(), 32), [25, 50]),
    "svd": lambda np: da.linalg.svd(chunked(np, X, (4, 8)))[1],
    "qr": lambda np: abs(da.linalg.qr(chunked(np, X, (4, 8)))[1]),
    "solve": lambda np: da.linalg.solve(
        chunked(np, X[:8] + 8 * numpy.eye(8)), chunked(np, X[0], 4)
    ),
    "norm": lambda np: da.linalg.norm(chunked(np)),
    "fft": lambda np: da.fft.fft(chunked(np, X, (4, 8))),
    "map_blocks": lambda np: chunked(np).map_blocks(np.sqrt),
    "map_overlap": lambda np: chunked(np).map_overlap(
        lambda b: b + np.roll(b, 1, 0), depth=1, boundary="reflect"
    ),
    "apply_gufunc": lambda np: da.apply_gufunc(
        lambda a: a.mean(-1), "(i)->()", chunked(np, X, (4, 8))
    ),
    "blockwise": lambda np: da.blockwise(
        np.add, "ij", chunked(np), "ij", chunked(np), "ij", dtype=float
    ),
    "histogram": lambda np: da.histogram(chunked(np), bins=5, range=(0, 1))[0],
    "bincount": lambda np: da.bincount((chunked(np).ravel() * 5).astype(int), minlength=6),
    "unique": lambda np: da.unique((chunked(np) * 5).astype(int)),
    "sort by topk": lambda np: da.topk(chunked(np, X.ravel(), 32), 5),
    "isin": lambda np: da.isin((chunked(np) * 5).astype(int), [1, 3]),
    "pad": lambda np: da.pad(chunked(np), 2, mode="reflect"),
    "store": lambda np: stored(np),
}


def stored(np):
    target = np.zeros((12, 8))
    da.store(chunked(np) * 3, target, lock=False)
    return target


@pytest.mark.parametrize("case", CASES)
def test_same_as_with_numpy(case):
    got, expected = (dask.compute(CASES[case](np), scheduler="sync")[0] for np in (asnumpy, numpy))
    check_equal(got, expected, 1e-10)


@pytest.mark.parametrize(
    "case", ["arithmetic", "ufunc", "slice", "matmul", "map_blocks", "concatenate"]
)
def test_chunks_stay_ours(case):
    assert type(CASES[case](asnumpy).compute(scheduler="sync")) is asnumpy.ndarray


def created():
    """What Dask's creation functions make with the backend in use; the last one without values."""
    return [
        da.ones((4, 6), chunks=2), da.zeros((4, 6), chunks=2), da.full((4, 6), 7.0, chunks=2),
        da.arange(10, chunks=4), da.random.default_rng(3).random((4, 6), chunks=2),
        da.random.RandomState(3).normal(size=(4, 6), chunks=2), da.empty((4, 6), chunks=2),
    ]  # fmt: skip


def test_backend():
    with dask.config.set({"array.backend": "asnumpy"}):
        ours = [d.compute(scheduler="sync") for d in created()]
    assert all(type(a) is asnumpy.ndarray for a in ours)
    for a, d in zip(ours[:-1], created()[:-1], strict=True):
        check_equal(a, d.compute(scheduler="sync"), 1e-12)


def test_to_backend():
    moved = chunked(numpy).to_backend("asnumpy")
    assert type(moved.compute(scheduler="sync")) is asnumpy.ndarray
    assert moved.to_backend("asnumpy") is moved
    back = moved.to_backend("numpy").compute(scheduler="sync")
    assert type(back) is numpy.ndarray and numpy.array_equal(back, X)


def test_tokens_and_sizes():
    a = asnumpy.asarray(X)
    assert dask.base.tokenize(a) == dask.base.tokenize(asnumpy.array(X) + 0)
    assert dask.base.tokenize(a) != dask.base.tokenize(a + 1)
    assert dask.base.tokenize(a) != dask.base.tokenize(X)
    assert dask.sizeof.sizeof(a) == X.nbytes


def test_serialized_without_a_copy():
    from distributed.protocol import deserialize, serialize

    a = asnumpy.arange(1000.0) + 1
    header, frames = serialize(a)
    again = deserialize(header, frames)
    assert type(again) is asnumpy.ndarray and (again == a).all()
    if a.device.startswith("cpu"):
        shared = numpy.frombuffer(frames[0], dtype=float)
        assert numpy.shares_memory(shared, numpy.asarray(a))
    for odd in (
        a.reshape(10, 100).T,
        a[::7],
        asnumpy.broadcast_to(a, (3, 1000)),
        asnumpy.array(2.5),
    ):
        check_equal(deserialize(*serialize(odd)), numpy.asarray(odd), 0)
