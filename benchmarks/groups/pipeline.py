"""The demo's Canny edge detector on its photographs, one NumPy program under both libraries."""

import functools
import importlib
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


def rows():
    return [Row("pipeline", f"Canny, {photo}, 1024^2", build=functools.partial(build, photo), bar=(5, 8),
                quick=photo == PHOTOS[0]) for photo in PHOTOS]  # fmt: skip
