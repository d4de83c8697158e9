"""Sparse times dense: AsNumpy, its dense product, SciPy and PyTorch beside each other.

usage: benchmarks/sparse_products.py [--rows 2048] [--columns 512] [--repeats 15] [--threads N]
           [--processor]

A (rows, rows) in CSR at several densities by (rows, columns), float32; one uneven case has a
tenth of its elements in one row in a hundred. Medians of interleaved repeats, in milliseconds, and
of each repeat's ratios; the threads are ASNUMPY_NUM_THREADS' and PyTorch's (SciPy has one), which
wait for work asleep (OMP_WAIT_POLICY=passive, unless it is set): by default they turn on a core
for milliseconds after PyTorch's product, which is AsNumpy's time to use it. --processor: of the
process's processor time, which is what one thread needs on a busy machine. Libraries that are
missing are left out of the table.
"""

import argparse
import os
import statistics
import time

DENSITIES = (0.05, 0.10, 0.20, 0.30)


def matrices(rows, columns, density, uneven):
    """(A in SciPy's CSR, the dense factor)."""
    import numpy
    import scipy.sparse

    rng = numpy.random.default_rng(int(density * 100))
    share = numpy.full((rows, 1), density)
    if uneven:
        share[:] = density * 0.9
        share[:: rows // 100 or 1] = min(1.0, density * 10)
    held = rng.random((rows, rows), dtype="float32") < share
    values = rng.random((rows, rows), dtype="float32")
    return scipy.sparse.csr_array(numpy.where(held, values, 0)), rng.random(
        (rows, columns), dtype="float32"
    )


def contestants(a, b, threads):
    """{name: a call that computes the product}."""
    import asnumpy
    from asnumpy import sparse

    ours, other, whole = sparse.csr_array(a), asnumpy.array(b), asnumpy.array(a.toarray())

    def wait(result):
        asnumpy.synchronize()
        return result

    calls = {
        "asnumpy": lambda: wait(ours @ other),
        "dense": lambda: wait(whole @ other),
        "scipy": lambda: a @ b,
    }
    try:
        import torch
    except ModuleNotFoundError:
        return calls
    torch.set_num_threads(threads)
    left = torch.sparse_csr_tensor(
        torch.from_numpy(a.indptr), torch.from_numpy(a.indices), torch.from_numpy(a.data), a.shape
    )
    right = torch.from_numpy(b)
    calls["torch"] = lambda: left @ right
    return calls


def turns(calls, repeats, clock):
    """{name: milliseconds of each repeat by the clock}, each repeat taking all in turn."""
    times = {name: [] for name in calls}
    for _ in range(repeats + 1):
        for name, call in calls.items():
            begin = clock()
            call()
            times[name].append(1e3 * (clock() - begin))
    return {name: t[1:] for name, t in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2048)
    parser.add_argument("--columns", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--processor", action="store_true")
    given = parser.parse_args()
    clock = time.process_time if given.processor else time.perf_counter
    os.environ["ASNUMPY_NUM_THREADS"] = str(given.threads)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    print(
        f"({given.rows}, {given.rows}) by ({given.rows}, {given.columns}), float32, {given.threads} threads"
    )
    for density, uneven in [*((d, False) for d in DENSITIES), (0.05, True)]:
        a, b = matrices(given.rows, given.columns, density, uneven)
        found = turns(contestants(a, b, given.threads), given.repeats, clock)
        told = "  ".join(f"{name} {statistics.median(ms):7.2f}" for name, ms in found.items())
        ratios = {
            name: statistics.median(x / y for x, y in zip(ms, found["asnumpy"], strict=True))
            for name, ms in found.items()
            if name != "asnumpy"
        }
        print(
            f"{density:5.0%}{' uneven' if uneven else '       '}  {told}  "
            f"dense/asnumpy {ratios['dense']:.2f}  best other/asnumpy {min(ratios.values()):.2f}"
        )


if __name__ == "__main__":
    main()
