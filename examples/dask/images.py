"""The demo's photographs through four Dask workers, with NumPy and with AsNumpy.

usage: images.py [--workers N] [--copies N]

Each task is one photograph through examples/canny_pipeline.py. A worker's process has one thread for
computing. The edges must be the same under both libraries; images per second are printed.
"""

import argparse
import pathlib
import sys
import time

import numpy
from distributed import Client, LocalCluster

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import canny  # noqa: E402


def edges(library, photo):
    """The edges of a photograph, as a NumPy array."""
    pipeline = canny.load_pipeline(library)
    module = sys.modules[library] if library in sys.modules else __import__(library)
    return numpy.asarray(pipeline.run(module.asarray(photo))[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--copies", type=int, default=4, help="of each photograph")
    given = parser.parse_args()
    photos = [canny.load_photo(name) for name in canny.PHOTOS]
    with (
        LocalCluster(
            n_workers=given.workers, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        sent = client.scatter(photos, broadcast=True)
        found, speeds = {}, {}
        for library in ("numpy", "asnumpy"):
            client.gather([client.submit(edges, library, p, pure=False) for p in sent])  # imports
            start = time.perf_counter()
            tasks = [client.submit(edges, library, p, pure=False) for p in sent * given.copies]
            found[library] = client.gather(tasks)
            speeds[library] = len(tasks) / (time.perf_counter() - start)
            print(f"{library:8} {speeds[library]:6.2f} images/s on {given.workers} workers")
    for ours, theirs in zip(found["asnumpy"], found["numpy"], strict=True):
        numpy.testing.assert_array_equal(ours, theirs)
    print(f"the same edges, {speeds['asnumpy'] / speeds['numpy']:.1f} times as fast")


if __name__ == "__main__":
    main()
