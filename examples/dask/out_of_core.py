"""An array three times as large as the memory that two Dask workers may use, with both libraries' chunks.

usage: out_of_core.py [--workers N] [--limit BYTES] [--times N]

Columns of random numbers are standardised (mean and deviation in one pass), squashed and summed by
rows in a second pass, and their covariance is taken in a third. Nothing holds the whole array. The
results of NumPy's and AsNumpy's chunks must agree; the times are printed.
"""

import argparse
import time

import dask
import dask.array as da
import numpy
from distributed import Client, LocalCluster

COLUMNS = 500


def standardised(block, mean, deviation):
    """The chunk function: a few operations on every element, which AsNumpy runs as one program."""
    z = (block - mean) / deviation
    return z / (1 + abs(z)) + 0.1 * z**2 - 0.01 * z**3


def run(rows, chunk):
    """(mean of the columns, sums of rows: their mean and largest, trace of the covariance)."""
    x = da.random.default_rng(7).random((rows, COLUMNS), chunks=(chunk, COLUMNS))
    mean, deviation = dask.compute(x.mean(axis=0), x.std(axis=0))
    z = x.map_blocks(standardised, mean, deviation, dtype=float)
    sums = z.sum(axis=1)
    covariance = z.T @ z / rows
    results = dask.compute(sums.mean(), sums.max(), da.trace(covariance))
    return [float(mean.mean()), *map(float, results)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=int, default=400_000_000, help="bytes of each worker")
    parser.add_argument("--times", type=float, default=3, help="the workers' memory")
    given = parser.parse_args()
    size = given.times * given.workers * given.limit
    chunk = max(1000, given.limit // 16 // (8 * COLUMNS))
    rows = int(size / (8 * COLUMNS)) // chunk * chunk
    print(
        f"{rows} x {COLUMNS} float64, {rows * COLUMNS * 8 / 1e6:.0f} MB in chunks of {chunk} rows;"
    )
    print(f"{given.workers} workers of {given.limit / 1e6:.0f} MB")
    results, times = {}, {}
    for backend in ("numpy", "asnumpy"):
        with (
            dask.config.set({"array.backend": backend}),
            LocalCluster(
                n_workers=given.workers, threads_per_worker=1, memory_limit=given.limit,
                dashboard_address=None,
            ) as cluster,
            Client(cluster),
        ):  # fmt: skip
            da.ones(10).sum().compute()  # the workers' imports
            start = time.perf_counter()
            results[backend] = run(rows, chunk)
            times[backend] = time.perf_counter() - start
        print(f"{backend:8} {times[backend]:7.2f} s   {results[backend]}")
    numpy.testing.assert_allclose(results["asnumpy"], results["numpy"], rtol=1e-9)
    print(f"AsNumpy's chunks: {times['numpy'] / times['asnumpy']:.2f} times as fast")


if __name__ == "__main__":
    main()
