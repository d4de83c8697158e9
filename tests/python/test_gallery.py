"""The gallery's programs compute the same arrays with NumPy, at the size of a test."""

import pathlib
import re

import asnumpy
import numpy
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

GALLERY = pathlib.Path(__file__).resolve().parents[2] / "docs" / "gallery"
# Sizes in place of those of the pictures. Lorenz's system is chaotic: differences in the last bit
# grow by 2.5 times in each unit of time, which is a hundred steps.
SMALL = {
    "edges": {"size": 60},
    "fft_filter": {"count": 512},
    "game_of_life": {"size": 40, "steps": 20},
    "ising": {"size": 32, "steps": 12},
    "kmeans": {"count": 3000, "steps": 5},
    "lorenz": {"starts": 50, "steps": 200},
    "mandelbrot": {"size": 80, "steps": 20},
    "option_prices": {"paths": 1000, "days": 60},
    "random_walks": {"walkers": 3000, "steps": 40},
    "reaction_diffusion": {"size": 48, "steps": 60},
    "ripples": {"size": 60, "steps": 50},
    "svd_compression": {"size": 60},
}


def made_by(name, library):
    """The arrays and numbers that a program leaves, run with a library."""
    text = (GALLERY / f"{name}.py").read_text()
    assert text.count("import asnumpy as np\n") == 1
    text = text.replace("import asnumpy as np\n", f"import {library} as np\n")
    for parameter, value in SMALL[name].items():
        text, found = re.subn(rf"^{parameter} = .*$", f"{parameter} = {value}", text, flags=re.M)
        assert found == 1, f"{name}.py has no line '{parameter} = ...'"
    space = {"__name__": "gallery"}
    exec(compile(text, f"{name}.py", "exec"), space)
    assert plt.get_fignums(), "no picture"
    plt.close("all")
    kinds = (asnumpy.ndarray, numpy.ndarray, numpy.generic, int, float)
    return {k: v for k, v in space.items() if isinstance(v, kinds) and not k.startswith("_")}


def test_twelve_programs():
    assert sorted(p.stem for p in GALLERY.glob("*.py")) == sorted(SMALL) and len(SMALL) == 12
    for name in SMALL:
        lines = (GALLERY / f"{name}.py").read_text().splitlines()
        assert 25 <= len(lines) <= 70, f"{name}.py has {len(lines)} lines"


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.filterwarnings("ignore:.*non-interactive")
def test_same_as_with_numpy(name):
    ours, theirs = made_by(name, "asnumpy"), made_by(name, "numpy")
    assert ours.keys() == theirs.keys()
    compared = 0
    for key, expected in theirs.items():
        got = ours[key]
        if not isinstance(expected, numpy.ndarray):
            assert type(got) is type(expected)
        elif expected.dtype.kind in "OUS":  # matplotlib's axes
            continue
        else:
            assert type(got) is asnumpy.ndarray and got.dtype == expected.dtype, key
            compared += 1
        numbers = numpy.asarray(expected)
        size = float(numpy.abs(numbers[numpy.isfinite(numbers)]).max(initial=1.0))
        near = 1e-4 if getattr(expected, "dtype", None) == numpy.float32 else 1e-9
        numpy.testing.assert_allclose(
            numpy.asarray(got), expected, rtol=near, atol=near * size, err_msg=key
        )
    assert compared >= 3
