"""The demo's Canny edge detector on its photographs, and photographs from a seed through scalar functions under
`@vectorize`: NumPy programs under both libraries."""

import functools
import importlib
import itertools
import pathlib
import sys

from rows import Row

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
PHOTOS = ("astronaut.png", "chelsea.png", "retina.jpg")


def build(photo, library):
    """A call of the pipeline on one photograph that leaves finished values."""
    sys.path.insert(0, str(EXAMPLES))
    canny = importlib.import_module("canny")
    sys.path.remove(str(EXAMPLES))
    program, image = canny.load_pipeline(library), canny.load_photo(photo)
    finish = (
        importlib.import_module("asnumpy").synchronize if library == "asnumpy" else (lambda: None)
    )

    def call():
        program.run(image)
        finish()

    return call


def build_vectorized(library):
    """A call of examples/image_pipeline.py on one photograph of a batch that leaves finished values."""
    path = EXAMPLES / "image_pipeline.py"
    text = path.read_text().replace("import numpy as np", f"import {library} as np", 1)
    program = {"__name__": "image_pipeline"}
    exec(compile(text, str(path), "exec"), program)  # the examples' own text
    module = importlib.import_module(library)
    batch = program["photographs"](4, 1024)
    turns = itertools.cycle(batch)

    def call():
        program["process"](next(turns))
        if library == "asnumpy":
            module.synchronize()

    return call


def rows():
    return [
        *(Row("pipeline", f"Canny, {photo}, 1024^2", build=functools.partial(build, photo), bar=(5, 8),
              quick=photo == PHOTOS[0]) for photo in PHOTOS),
        Row("pipeline", "RGB to HSV and back, Canny, @vectorize, 1024^2", build=build_vectorized, bar=(5, 8)),
    ]  # fmt: skip
