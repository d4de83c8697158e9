"""Work in threads, and in processes that start afresh."""

import concurrent.futures
import multiprocessing
import threading

import numpy as np


def spread(seed):
    import numpy

    rng = numpy.random.default_rng(seed)
    return float(np.round(rng.normal(size=1000).std(), 8))


def total(a):
    import numpy as inner

    return inner.asarray(a).sum(), type(a).__name__


if __name__ == "__main__":
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        print(list(pool.map(spread, range(4))))
    found = []
    workers = [
        threading.Thread(target=lambda i=i: found.append((i, np.arange(i).sum()))) for i in range(4)
    ]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    print(sorted(found))
    for method in ("spawn", "fork"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(
                method, pool.map(total, [np.arange(4), np.ones((2, 2))]), pool.map(spread, [1, 2])
            )
