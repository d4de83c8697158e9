"""The demo's NumPy program gives the same bits under both libraries, on photographs made up here."""

import importlib.util
import pathlib

import asnumpy as anp
import numpy as np
import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
SOURCE, VECTORIZED = EXAMPLES / "canny_pipeline.py", EXAMPLES / "image_pipeline.py"


def load(library, source=SOURCE):
    """A program with its NumPy import changed to `library`."""
    text = source.read_text().replace("import numpy as np", f"import {library} as np", 1)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(library + "_pipeline", loader=None)
    )
    exec(compile(text, str(source), "exec"), module.__dict__)
    return module


@pytest.fixture(scope="module")
def pipelines():
    return load("asnumpy"), load("numpy")


def photograph(shape, seed):
    """Smooth shapes with noise: edges of every direction."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[: shape[0], : shape[1]] / max(shape)
    waves = [
        np.sin(20 * (x * np.cos(a) + y * np.sin(a))) > rng.random() - 0.5 for a in rng.random(3) * 6
    ]
    image = np.stack(waves, axis=-1) * 150.0 + rng.random((*shape, 3)) * 60
    return image.astype(np.uint8)


@pytest.mark.parametrize("shape", [(64, 64), (200, 151), (17, 300)], ids=str)
def test_same_bits(pipelines, shape):
    ours, theirs = pipelines
    photo = photograph(shape, sum(shape))
    equalized, edges = ours.run(photo)
    expected, expected_edges = theirs.run(photo)
    assert type(equalized) is anp.ndarray and type(edges) is anp.ndarray
    np.testing.assert_array_equal(edges.to_numpy(), expected_edges)
    np.testing.assert_array_equal(equalized.to_numpy(), expected)
    assert expected_edges.any()


@pytest.mark.parametrize("side", [33, 96])
def test_scalar_functions_on_photographs(side):
    """examples/image_pipeline.py: traced under ours, the same bits."""
    ours, theirs = (load(library, VECTORIZED) for library in ("asnumpy", "numpy"))
    for photo in theirs.photographs(2, side, seed=side):
        equalized, edges = ours.process(anp.array(photo))
        expected, expected_edges = theirs.process(photo)
        assert type(equalized) is anp.ndarray and type(edges) is anp.ndarray
        np.testing.assert_array_equal(equalized.to_numpy(), expected)
        np.testing.assert_array_equal(edges.to_numpy(), expected_edges)
        assert expected_edges.any()


def test_eager_too(pipelines):
    ours, theirs = pipelines
    photo = photograph((90, 120), 3)
    before = anp.lazy(False)
    try:
        equalized, edges = ours.run(photo)
        np.testing.assert_array_equal(edges.to_numpy(), theirs.run(photo)[1])
    finally:
        anp.lazy(before)
    np.testing.assert_array_equal(equalized.to_numpy(), theirs.run(photo)[0])
