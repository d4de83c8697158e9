"""The example programs give the same results under NumPy and under AsNumpy."""

import pathlib
import subprocess
import sys

import asnumpy
import numpy as np
import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

import programs  # noqa: E402

sys.path.remove(str(EXAMPLES))


def parts(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", programs.ALL)
def test_program(name):
    expected = parts(programs.call(name, "numpy", small=True)())
    got = parts(programs.call(name, "asnumpy", small=True)())
    assert len(got) == len(expected)
    for ours, theirs in zip(got, expected, strict=True):
        if isinstance(theirs, np.ndarray):
            assert type(ours) is asnumpy.ndarray and ours.dtype == theirs.dtype
        else:
            assert type(ours) is type(theirs)
        size = np.abs(np.asarray(theirs, dtype=float)).max(initial=1.0)
        single = getattr(theirs, "dtype", None) == np.float32
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=2e-4 if single else 1e-8,
                                   atol=size * (1e-5 if single else 1e-10))  # fmt: skip
    total = programs.checksum(tuple(expected))
    assert total != 0 and np.isfinite(total)


def test_no_folder_of_examples_passes_for_a_library():
    """examples/dask would be dask's module where that is not installed, and xarray would look for arrays in it."""
    assert str(EXAMPLES) not in sys.path


def test_runner():
    """examples/run.py compares and times."""
    run = [sys.executable, str(EXAMPLES / "run.py"), "--small"]
    done = subprocess.run([*run, "pca", "lu"], capture_output=True, text=True, check=True)
    assert "pca" in done.stdout and "lu" in done.stdout and "DIFFER" not in done.stdout
    done = subprocess.run([*run, "nothing"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "no program nothing" in done.stderr
