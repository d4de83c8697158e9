"""Runs the example programs under NumPy and under AsNumpy, compares the results and prints both times.

usage: run.py [--small] [name ...]
"""

import argparse
import time

import programs


def timed(call):
    call()  # plans, and memory from the system
    times = []
    for _ in range(3):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return min(times), result


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(programs.ALL))
    parser.add_argument("--small", action="store_true", help="the sizes of the tests")
    options = parser.parse_args()
    unknown = set(options.names) - set(programs.ALL)
    if unknown:
        parser.error(
            f"no program {', '.join(sorted(unknown))}; there are {', '.join(programs.ALL)}"
        )
    print(f"{'program':22s} {'NumPy':>10s} {'AsNumpy':>10s} {'times faster':>13s}")
    for name in options.names or programs.ALL:
        theirs, expected = timed(programs.call(name, "numpy", options.small))
        ours, got = timed(programs.call(name, "asnumpy", options.small))
        agree = programs.same(programs.checksum(got), programs.checksum(expected))
        print(f"{name:22s} {theirs * 1e3:7.1f} ms {ours * 1e3:7.1f} ms {theirs / ours:12.1f}x"
              f"{'' if agree else '   RESULTS DIFFER'}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
