"""The groups of the bench, in the order of their tables; each module's rows() lists its rows."""

import importlib
import pathlib
import sys

# The whole programs are the examples'. Their folder does not stay on the path: those in it that are named for a
# library (dask, torch) would pass for it where it is not installed.
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))
importlib.import_module("programs")
sys.path.remove(str(EXAMPLES))

GROUPS = {
    "overhead": "a single operation on ten elements: the call is everything",
    "calls": "some 280 functions, methods and operators on ten elements",
    "fusion": "expressions over large arrays, and reductions that end them",
    "elementary": "every elementwise function of the table, 1e4 elements in cache",
    "sizes": "one operation from 1 to 1e7 elements",
    "elementwise": "one operation over more than the caches hold",
    "reduction": "sums, extremes, moments",
    "selection": "where, masks, scans, square roots",
    "matmul": "matrix products",
    "vectors": "a matrix times a vector, and a vector times a matrix",
    "sorting": "sort and argsort",
    "order": "sets, searches, histograms, masks and fancy indices",
    "random": "streams and distributions",
    "fft": "Fourier transforms",
    "linalg": "solvers and decompositions",
    "copies": "casts, copies, transposes, joins, gathers",
    "pipeline": "the demo's photographs",
    "programs": "ten NumPy programs",
    "jit": "steps of the ten programs and chains of few elements, as they are and jitted",
    "memory": "peak memory of the ten programs beyond their inputs",
    "aclnn": "CANN's operators and launches from C, against NumPy's call",
    "allocator": "device memory: allocations against malloc and aclrtMalloc, copies behind the program",
    "streams": "independent jobs in a batch against one after the other; late launches; what a stream costs",
    "importing": "a fresh interpreter's import",
    "torch": "PyTorch's device npu against PyTorch's CPU backend (make build/torch_npu/.ready)",
}
YARDSTICK = {"torch": "PyTorch"}  # what stands in NumPy's column


def batches(names):
    """The named groups as lists for one process each: those with an environment of their own run apart."""
    together = [n for n in names if environment(n) is None]
    return [b for b in [together, *([n] for n in names if n not in together)] if b]


def environment(group):
    """The variables that the group's process starts with beside the threads'; None: none of its own."""
    module = importlib.import_module(f"groups.{group}")
    return module.environment() if hasattr(module, "environment") else None


def rows_of(group):
    return importlib.import_module(f"groups.{group}").rows()


def select(names, quick, threads):
    """The rows of the named groups; with `quick` the representative ones, with more than one thread those with a bar for it."""
    return [
        row
        for name in names
        for row in rows_of(name)
        if (row.quick or not quick) and (threads == 1 or row.bar[1])
    ]
