"""OpenCV works on the memory of our arrays."""

import asnumpy
import numpy
import pytest
from libraries.comparing import same

cv2 = pytest.importorskip("cv2")


def image(np, dtype="uint8"):
    pixels = numpy.random.default_rng(0).integers(0, 255, (40, 50, 3))
    return np.array(pixels.astype(dtype))


CASES = {
    "cvtColor": lambda np: cv2.cvtColor(image(np), cv2.COLOR_BGR2GRAY),
    "GaussianBlur": lambda np: cv2.GaussianBlur(image(np), (5, 5), 1),
    "resize": lambda np: cv2.resize(image(np), (20, 20)),
    "filter2D": lambda np: cv2.filter2D(image(np), -1, np.ones((3, 3)) / 9),
    "warpAffine": lambda np: cv2.warpAffine(
        image(np), np.array([[1, 0, 2.0], [0, 1, 3]]), (50, 40)
    ),
    "threshold": lambda np: cv2.threshold(image(np), 100, 255, cv2.THRESH_BINARY),
    "Canny": lambda np: cv2.Canny(image(np)[..., 0].copy(), 50, 100),
    "imencode": lambda np: cv2.imdecode(cv2.imencode(".png", image(np))[1], 1),
    "split, merge": lambda np: cv2.merge(cv2.split(image(np))),
    "add": lambda np: cv2.add(image(np), image(np)),
    "a view": lambda np: cv2.GaussianBlur(image(np)[::2, ::-1], (3, 3), 1),
    "what is not computed yet": lambda np: cv2.GaussianBlur(
        image(np, "float32") * 2 + 1, (3, 3), 1
    ),
    "lists of arrays": lambda np: cv2.vconcat([image(np), image(np)]),
    "contours": lambda np: len(
        cv2.findContours(
            (image(np)[..., 0] > 128).astype(np.uint8), cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE
        )[0]
    ),
    "calcHist": lambda np: cv2.calcHist([image(np)], [0], None, [16], [0, 256]),
    "perspective": lambda np: cv2.getPerspectiveTransform(
        np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32),
        np.array([[0, 0], [2, 0], [2, 2], [0, 2]], np.float32),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_same_as_with_numpy(case):
    same(CASES[case])


def draw(np):
    target = np.zeros((20, 20), np.uint8)
    cv2.rectangle(target, (2, 3), (9, 12), 255, -1)
    return target + 1


def test_drawing_changes_the_array():
    ours = asnumpy.zeros(1)
    if ours.device.startswith("cpu"):
        same(draw)
    else:  # a copy on the host, which cannot be written to
        with pytest.raises(cv2.error, match="readonly"):
            draw(asnumpy)
