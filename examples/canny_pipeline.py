"""Edges of colour photographs, as a NumPy program: HSV, histogram equalisation, Canny.

The file knows nothing of AsNumpy. `examples/canny.py` runs it twice: as it stands, and with the import
below changed to `import asnumpy as np`. All arithmetic is float32 and elementwise, so that both give the
same bits.

Canny after J. Canny, "A computational approach to edge detection", IEEE PAMI 8(6), 1986.
"""

import numpy as np

# Gaussian of sigma 1.4 pixels, seven taps.
BLUR = [0.0277, 0.0984, 0.2168, 0.3142, 0.2168, 0.0984, 0.0277]
TAN_22_5 = 0.41421356
LOW, HIGH = 0.20, 0.45


def rgb_to_hsv(rgb):
    """Hue, saturation and value in [0, 1], each (h, w), of an (h, w, 3) float32 image."""
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    value = np.maximum(np.maximum(r, g), b)
    chroma = value - np.minimum(np.minimum(r, g), b)
    divisor = np.where(chroma > 0, chroma, 1)
    hue = np.where(
        value == r,
        (g - b) / divisor,
        np.where(value == g, (b - r) / divisor + 2, (r - g) / divisor + 4),
    )
    hue = np.where(hue < 0, hue + 6, hue) / 6
    saturation = chroma / np.where(value > 0, value, 1)
    return hue, saturation, value


def hsv_to_rgb(hue, saturation, value):
    """The inverse: an (h, w, 3) float32 image."""
    rgb = np.empty((*value.shape, 3), dtype=np.float32)
    for channel, shift in enumerate((5, 3, 1)):
        k = hue * 6 + shift
        k = np.where(k >= 6, k - 6, k)
        ramp = np.maximum(np.minimum(np.minimum(k, 4 - k), 1), 0)
        rgb[..., channel] = value - value * saturation * ramp
    return rgb


def equalize(value):
    """Spreads the histogram of a [0, 1] channel evenly over 256 levels."""
    level = (value * 255 + 0.5).astype(np.int32)
    count = np.bincount(level.ravel(), minlength=256)
    cdf = np.cumsum(count)
    start = cdf[np.argmax(count > 0)]
    table = (cdf - start) / np.maximum(cdf[-1] - start, 1)
    return table.astype(np.float32)[level]


def blur(image):
    """Gaussian blur, rows then columns; the border of three pixels is left as it was."""
    out = image.copy()
    acc = image[:, :-6] * BLUR[0]
    for i in range(1, 7):
        acc = acc + image[:, i : image.shape[1] - 6 + i] * BLUR[i]
    out[:, 3:-3] = acc
    acc = out[:-6] * BLUR[0]
    for i in range(1, 7):
        acc = acc + out[i : image.shape[0] - 6 + i] * BLUR[i]
    result = out.copy()
    result[3:-3] = acc
    return result


def sobel(image):
    """Horizontal and vertical derivatives of the inner (h - 2, w - 2) pixels."""
    nw, n, ne = image[:-2, :-2], image[:-2, 1:-1], image[:-2, 2:]
    w, e = image[1:-1, :-2], image[1:-1, 2:]
    sw, s, se = image[2:, :-2], image[2:, 1:-1], image[2:, 2:]
    gx = (ne + 2 * e + se) - (nw + 2 * w + sw)
    gy = (sw + 2 * s + se) - (nw + 2 * n + ne)
    return gx, gy


def thin(gx, gy):
    """Gradient magnitude where it is a maximum across the edge, else 0 (non-maximum suppression)."""
    magnitude = np.sqrt(gx * gx + gy * gy)
    ax, ay = np.abs(gx), np.abs(gy)
    m = magnitude[1:-1, 1:-1]
    horizontal = (ay < ax * TAN_22_5)[1:-1, 1:-1]
    vertical = (ax < ay * TAN_22_5)[1:-1, 1:-1]
    rising = ((gx > 0) == (gy > 0))[1:-1, 1:-1]
    first = np.where(
        horizontal,
        magnitude[1:-1, :-2],
        np.where(
            vertical,
            magnitude[:-2, 1:-1],
            np.where(rising, magnitude[:-2, :-2], magnitude[:-2, 2:]),
        ),
    )
    second = np.where(
        horizontal,
        magnitude[1:-1, 2:],
        np.where(
            vertical,
            magnitude[2:, 1:-1],
            np.where(rising, magnitude[2:, 2:], magnitude[2:, :-2]),
        ),
    )
    return np.where((m >= first) & (m > second), m, 0)


def hysteresis(magnitude):
    """Pixels above HIGH, and those above LOW that are connected to one of them."""
    h, w = magnitude.shape
    weak = magnitude > LOW
    edges = np.zeros((h + 2, w + 2), dtype=bool)
    inner = edges[1:-1, 1:-1]
    inner[...] = magnitude > HIGH
    found = int(np.sum(inner))
    while True:
        for _ in range(8):
            rows = edges[:-2] | edges[1:-1] | edges[2:]
            inner[...] = (rows[:, :-2] | rows[:, 1:-1] | rows[:, 2:]) & weak
        now = int(np.sum(inner))
        if now == found:
            return inner
        found = now


def run(photo):
    """(equalised RGB image, edges) of an (h, w, 3) uint8 photograph: float32 in [0, 1], and bool."""
    rgb = np.array(photo).astype(np.float32) / 255
    hue, saturation, value = rgb_to_hsv(rgb)
    value = equalize(value)
    equalized = hsv_to_rgb(hue, saturation, value)
    edges = hysteresis(thin(*sobel(blur(value))))
    return equalized, edges
