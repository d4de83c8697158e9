"""Load balance of a sparse product: the costs of 2048 rows measured on this machine, replayed on 8 to 64 cores.

usage: python benchmarks/balance.py [--passes 5] [--columns 512] [--overhead 0.5]

The problem: C = A X, A a sparse 2048 x 2048 matrix in rows (CSR) whose row lengths are lognormal (sigma 1.08, mean 128),
as the degrees of many graphs are, X dense of float32. Row i is `A.data[i] @ X[A.indices[i]]`, timed on one thread, the
least of some passes in changing order. `asnumpy.balance.partition` is told the row lengths alone, which a program knows
beforehand; what is replayed (`asnumpy.balance.simulate`) is the measured times, with `overhead` microseconds a claim.

Utilisation is mean busy / makespan. The replay says nothing of memory bandwidth, which real cores share.
"""

import argparse
import os
import time

os.environ["ASNUMPY_NUM_THREADS"] = "1"

import asnumpy as np
import numpy

ROWS = 2048
CORES = (8, 16, 32, 64)
GOALS = {8: 96, 16: 94, 32: 91, 64: 87}


def sparse_matrix(rng):
    """The column indices and the values of each row."""
    lengths = numpy.clip(rng.lognormal(numpy.log(128) - 1.08**2 / 2, 1.08, ROWS), 1, ROWS).astype(
        int
    )
    return [
        (numpy.sort(rng.choice(ROWS, n, replace=False)), rng.random(n, numpy.float32))
        for n in lengths
    ]


def measure(rows, dense, passes, rng):
    """Microseconds of each row, the least of all passes."""
    at = [(np.asarray(indices), np.asarray(data)) for indices, data in rows]
    best = numpy.full(ROWS, numpy.inf)
    for _ in range(passes + 1):  # the first warms up
        for i in rng.permutation(ROWS):
            begun = time.perf_counter()
            indices, data = at[i]
            result = data @ dense[indices]
            np.synchronize()
            best[i] = min(best[i], (time.perf_counter() - begun) * 1e6)
            del result
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--columns", type=int, default=512)
    parser.add_argument("--overhead", type=float, default=0.5, help="microseconds a claim")
    options = parser.parse_args()
    rng = numpy.random.default_rng(2048)
    rows = sparse_matrix(rng)
    dense = np.asarray(rng.random((ROWS, options.columns), numpy.float32))
    lengths = numpy.array([len(data) for _, data in rows])
    costs = measure(rows, dense, options.passes, rng)
    print(f"sparse {ROWS} x {ROWS}, {lengths.sum()} elements, times {ROWS} x {options.columns}: "
          f"{costs.sum() / 1e3:.0f} ms on one core; a row {costs.min():.0f} to {costs.max():.0f} us, "
          f"correlation with its length {numpy.corrcoef(costs, lengths)[0, 1]:.3f}")  # fmt: skip
    print("utilisation, %")
    print("cores  uniform  sparse  adaptive alone  adaptive, stealing  goal")
    for cores in CORES:

        def percent(strategy, steal=True, cores=cores):
            return 100 * np.balance.simulate(costs, cores, strategy, estimates=lengths,
                                             overhead=options.overhead, steal=steal).utilization  # fmt: skip

        print(f"{cores:5} {percent('regular'):8.1f} {percent('sparse'):7.1f} {percent('adaptive', False):15.1f} "
              f"{percent('adaptive'):19.1f} {GOALS[cores]:5}")  # fmt: skip


if __name__ == "__main__":
    main()
