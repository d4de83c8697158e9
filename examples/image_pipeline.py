"""Photographs to HSV, their brightness equalised, their edges found: as one writes it from a tutorial.

What happens to a pixel is a Python function of numbers under `@np.vectorize`, with if and elif; what happens
to an image is NumPy. The file knows nothing of AsNumpy: run it as it stands, or with the import below
changed to `import asnumpy as np`. Results are the same bits: where floats are added or divided, both do it
in the same order.

usage: image_pipeline.py [IMAGES [SIDE]]      a batch from a seed, and how many images a second

Canny after J. Canny, "A computational approach to edge detection", IEEE PAMI 8(6), 1986.
"""

import sys
import time

import numpy as np

TAN_22_5 = 0.41421356
LOW, HIGH = 30.0, 90.0


@np.vectorize(otypes=[np.float32, np.float32, np.uint8])
def rgb_to_hsv(r, g, b):
    """Hue in degrees and saturation in [0, 1] of a pixel of bytes; its value is a byte."""
    high, low = max(r, g, b), min(r, g, b)
    chroma = high - low
    if chroma == 0:
        hue = 0.0
    elif high == r:
        hue = 60.0 * (g - b) / chroma
    elif high == g:
        hue = 60.0 * (b - r) / chroma + 120.0
    else:
        hue = 60.0 * (r - g) / chroma + 240.0
    if hue < 0.0:
        hue = hue + 360.0
    saturation = chroma / high if high > 0 else 0.0
    return hue, saturation, high


@np.vectorize(otypes=[np.uint8, np.uint8, np.uint8])
def hsv_to_rgb(hue, saturation, value):
    """The bytes of a pixel again."""
    sector = hue / 60.0
    k = np.floor(sector)
    part = sector - k
    p = value * (1.0 - saturation)
    q = value * (1.0 - saturation * part)
    t = value * (1.0 - saturation * (1.0 - part))
    if k == 0:
        r, g, b = value, t, p
    elif k == 1:
        r, g, b = q, value, p
    elif k == 2:
        r, g, b = p, value, t
    elif k == 3:
        r, g, b = p, q, value
    elif k == 4:
        r, g, b = t, p, value
    else:
        r, g, b = value, p, q
    return r + 0.5, g + 0.5, b + 0.5


def equalize(value):
    """Spreads the histogram of a channel of bytes evenly over its 256 levels."""
    histogram, _ = np.histogram(value, bins=256, range=(0, 256))
    cdf = np.cumsum(histogram)
    first = cdf[np.argmax(histogram > 0)]
    levels = (cdf - first) * 255 // np.maximum(cdf[-1] - first, 1)
    table = np.maximum(levels, 0).astype(np.uint8)
    return np.take(table, value)


def gaussian_blur(image, sigma=1.4, radius=3):
    """Rows, then columns; beyond the border the border's pixels go on."""
    x = np.arange(-radius, radius + 1)
    kernel = np.exp(-(x**2) / (2 * sigma**2))
    kernel = [float(k) for k in kernel / kernel.sum()]
    h, w = image.shape
    padded = np.pad(image.astype(np.float32), radius, mode="edge")
    rows = sum(padded[:, i : i + w] * k for i, k in enumerate(kernel))
    return sum(rows[i : i + h] * k for i, k in enumerate(kernel))


def sobel(image):
    """Horizontal and vertical derivatives."""
    p = np.pad(image, 1, mode="edge")
    gx = (p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[1:-1, :-2] + p[2:, :-2])
    gy = (p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[:-2, 1:-1] + p[:-2, 2:])
    return gx, gy


@np.vectorize(otypes=[np.uint8])
def direction(gx, gy):
    """Which neighbours lie across an edge: 0 left and right, 1 falling, 2 above and below, 3 rising."""
    x, y = abs(gx), abs(gy)
    if y < x * TAN_22_5:
        return 0
    if x < y * TAN_22_5:
        return 2
    return 1 if (gx > 0) == (gy > 0) else 3


@np.vectorize(otypes=[np.float32])
def thin(m, way, nw, n, ne, w, e, sw, s, se):
    """A magnitude where it is a maximum across the edge, else 0 (non-maximum suppression)."""
    if way == 0:
        before, after = w, e
    elif way == 1:
        before, after = nw, se
    elif way == 2:
        before, after = n, s
    else:
        before, after = ne, sw
    return m if m >= before and m > after else 0.0


@np.vectorize(otypes=[np.uint8])
def threshold(m):
    """2: an edge; 1: one if it touches one; 0: none."""
    if m > HIGH:
        return 2
    return 1 if m > LOW else 0


def hysteresis(kind):
    """Sure edges, and the others that are connected to one of them."""
    h, w = kind.shape
    edges = np.zeros((h + 2, w + 2), dtype=bool)
    inner = edges[1:-1, 1:-1]
    inner[...] = kind == 2
    candidate = kind >= 1
    found = np.count_nonzero(inner)
    while True:
        for _ in range(8):  # a look at every step would wait for every step
            rows = edges[:-2] | edges[1:-1] | edges[2:]
            inner[...] = (rows[:, :-2] | rows[:, 1:-1] | rows[:, 2:]) & candidate
        now = np.count_nonzero(inner)
        if now == found:
            return inner
        found = now


def canny(value):
    """Edges of an (h, w) image of bytes, as truth values."""
    gx, gy = sobel(gaussian_blur(value))
    magnitude = np.sqrt(gx * gx + gy * gy)
    h, w = magnitude.shape
    p = np.pad(magnitude, 1)
    around = [p[i : i + h, j : j + w] for i in range(3) for j in range(3) if (i, j) != (1, 1)]
    return hysteresis(threshold(thin(magnitude, direction(gx, gy), *around)))


def process(photo):
    """(equalised photograph, edges) of an (h, w, 3) photograph of bytes."""
    hue, saturation, value = rgb_to_hsv(photo[..., 0], photo[..., 1], photo[..., 2])
    value = equalize(value)
    equalized = np.stack(hsv_to_rgb(hue, saturation, value), axis=-1)
    return equalized, canny(value)


def photographs(count, side, seed=0):
    """A batch that looks like photographs: smooth light, things with edges in front of it, and noise."""
    random = np.random.default_rng(seed)
    y, x = (
        (np.arange(side, dtype=np.float32) / side)[:, None],
        np.arange(side, dtype=np.float32) / side,
    )
    batch = np.empty((count, side, side, 3), dtype=np.uint8)
    for image in batch:
        light = random.uniform(0.3, 1.0, 3).astype(np.float32)
        picture = (90 + 70 * x[..., None] * light + 40 * y[..., None] * light[::-1]).astype(
            np.float32
        )
        picture = picture + np.zeros((side, 1, 1), dtype=np.float32)
        for cx, cy, size, tilt, *colour in random.random((12, 7)).astype(np.float32).tolist():
            size, tilt = 0.03 + 0.2 * size, 3.0 * tilt
            across = (x - cx) + tilt * (y - cy)
            along = (y - cy) - tilt * (x - cx)
            inside = across * across + 2 * along * along < size * size * (1 + tilt * tilt)
            shade = np.array(colour, dtype=np.float32) * 200 * (1 - across[..., None])
            picture = np.where(inside[..., None], shade, picture)
        noise = random.normal(0, 4, (side, side, 3)).astype(np.float32)
        image[...] = np.clip(picture + noise, 0, 255).astype(np.uint8)
    return batch


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    side = int(sys.argv[2]) if len(sys.argv) > 2 else 256
    batch = photographs(count, side)
    process(batch[0])
    start = time.perf_counter()
    results = [process(photo) for photo in batch]
    marked = [int(np.count_nonzero(edges)) for _, edges in results]
    seconds = time.perf_counter() - start
    print(f"{count} images of {side} x {side}: {count / seconds:.1f} a second, "
          f"{sum(marked) / count / side**2:.1%} of the pixels are edges")  # fmt: skip


if __name__ == "__main__":
    main()
