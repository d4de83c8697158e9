"""Fifteen NumPy programs, as a scientist writes them: the same text runs under NumPy and under AsNumpy.

A module offers SIZE (0.05 to 0.5 s under NumPy), SMALL (for the tests), make(rng, size) -> NumPy inputs by
name, and run(np, size, **inputs) -> results. compare() holds the results of two libraries together.
"""

import importlib
import math

import numpy

# The ten that the bench times, and all.
NAMES = ["heat", "nbody", "kmeans", "black_scholes", "mandelbrot", "conjugate_gradient",
         "shallow_water", "filters", "mlp", "kalman"]  # fmt: skip
ALL = [*NAMES, "pca", "game_of_life", "reaction_diffusion", "lu", "convolution_network"]


def load(name):
    return importlib.import_module(f"programs.{name}")


def call(name, library, small=False):
    """A callable that runs a program under a library ("numpy", "asnumpy") on seeded inputs and finishes its values."""
    program, np = load(name), importlib.import_module(library)
    size = program.SMALL if small else program.SIZE
    made = program.make(numpy.random.default_rng(11), size)
    inputs = {k: np.array(v) for k, v in made.items()}
    finish = getattr(np, "synchronize", lambda: None)

    def run():
        result = program.run(np, size, **inputs)
        finish()
        return result

    return run


def checksum(result):
    """One number that changes with any result: sums of absolute values."""
    parts = result if isinstance(result, tuple) else (result,)
    total = 0.0
    for part in parts:
        host = part.to_numpy() if hasattr(part, "to_numpy") else numpy.asarray(part)
        total += float(numpy.abs(host.astype(numpy.float64)).sum())
    return total


def same(got, expected, tolerance=1e-5):
    """Whether two checksums agree. Sums in another order, and float32 training, differ by rounding only."""
    return math.isclose(got, expected, rel_tol=tolerance)
