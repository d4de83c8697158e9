"""Image filters on a uint8 picture: Gaussian blur, Sobel, unsharp mask, gamma by table, equalisation, 3 x 3 median."""

SIZE, SMALL = 512, 48


def make(rng, size):
    return {"image": rng.integers(0, 256, (size, size, 3), dtype="uint8")}


def blur(np, plane, sigma=2.0):
    radius = int(3 * sigma)
    x = np.arange(-radius, radius + 1)
    kernel = np.exp(-(x**2) / (2 * sigma**2))
    kernel /= kernel.sum()
    for axis in (0, 1):
        width = [(radius, radius) if k == axis else (0, 0) for k in range(2)]
        padded = np.pad(plane, width, mode="reflect")
        n = plane.shape[axis]
        windows = [padded[i : i + n] if axis == 0 else padded[:, i : i + n] for i in range(len(x))]
        plane = sum(float(k) * w for k, w in zip(kernel, windows, strict=True))
    return plane


def sobel(np, plane):
    p = np.pad(plane, 1, mode="edge")
    gx = p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:] - p[:-2, :-2] - 2 * p[1:-1, :-2] - p[2:, :-2]
    gy = p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:] - p[:-2, :-2] - 2 * p[:-2, 1:-1] - p[:-2, 2:]
    return np.hypot(gx, gy)


def equalise(np, plane):
    values = plane.astype(np.uint8)
    counts = np.bincount(values.ravel(), minlength=256)
    ladder = np.cumsum(counts) / values.size
    return ladder[values]


def median3(np, plane):
    p = np.pad(plane, 1, mode="edge")
    h, w = plane.shape
    return np.median(
        np.stack([p[i : i + h, j : j + w] for i in range(3) for j in range(3)]), axis=0
    )


def run(np, size, image):
    grey = image[..., 0] * 0.299 + image[..., 1] * 0.587 + image[..., 2] * 0.114
    smooth = blur(np, grey)
    sharp = np.clip(grey + 1.5 * (grey - smooth), 0, 255)
    edges = sobel(np, smooth)
    table = (255 * (np.arange(256) / 255) ** 0.45).astype(np.uint8)
    bright = table[image]
    flat = equalise(np, sharp)
    calm = median3(np, grey)
    return smooth, edges, int(bright.sum()), flat, calm, float(edges.mean())
