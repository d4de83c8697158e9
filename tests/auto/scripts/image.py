"""An image made, blurred, its edges found, its histogram equalised."""

import numpy as np

y, x = np.mgrid[0:64, 0:64]
image = (((x - 32) ** 2 + (y - 32) ** 2 < 20**2) * 180 + x).astype(np.uint8)
print(image.shape, image.dtype, image.min(), image.max(), image[32, 30:36])


def convolve(image, kernel):
    k = kernel.shape[0] // 2
    padded = np.pad(image.astype(float), k, mode="reflect")
    out = np.zeros(image.shape)
    for i in range(kernel.shape[0]):
        for j in range(kernel.shape[1]):
            out += kernel[i, j] * padded[i : i + image.shape[0], j : j + image.shape[1]]
    return out


gauss = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]) / 256
blurred = convolve(image, gauss)
print(blurred[30:33, 10:14].round(4))
sobel = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
edges = np.hypot(convolve(blurred, sobel), convolve(blurred, sobel.T))
print((edges > 100).sum(), edges.max().round(4), np.argwhere(edges > 300)[:3].tolist())
histogram, _ = np.histogram(image, bins=256, range=(0, 256))
table = np.floor(255 * histogram.cumsum() / image.size).astype(np.uint8)
equal = table[image]
print(equal.mean().round(4), np.unique(equal).size, equal[::16, ::16])
rgb = np.stack([image, 255 - image, np.full_like(image, 10)], axis=-1)
grey = (rgb @ np.array([0.299, 0.587, 0.114])).round().astype(np.uint8)
print(rgb.shape, grey[0, :5], np.rot90(rgb).shape, rgb[..., ::-1][0, 0], (image >> 4)[0, :20])
