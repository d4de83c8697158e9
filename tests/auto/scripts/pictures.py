"""matplotlib and Pillow: figures and pixels, looked at by their bytes."""

import hashlib
import io

import matplotlib
import numpy as np
from PIL import Image

matplotlib.use("Agg")
import matplotlib.pyplot as plt

t = np.linspace(0, 2 * np.pi, 100)
figure, axes = plt.subplots(2, 2, figsize=(4, 3))
axes[0, 0].plot(t, np.sin(t), label="sin")
axes[0, 0].fill_between(t, 0, np.cos(t), alpha=0.3)
axes[0, 1].imshow(np.outer(t, t), cmap="viridis")
heights, edges, _ = axes[1, 0].hist(np.random.default_rng(0).normal(size=500), bins=20)
axes[1, 1].scatter(np.cos(t), np.sin(t), c=t, s=np.full(100, 4))
file = io.BytesIO()
figure.savefig(file, format="png")
print(hashlib.sha256(file.getvalue()).hexdigest()[:16], heights[:5], edges[:2].round(5))
print(type(axes).__name__, axes.shape, axes.dtype)
pixels = (np.arange(48) * 5).astype(np.uint8).reshape(4, 4, 3)
picture = Image.fromarray(pixels)
print(picture.size, picture.mode, picture.getpixel((1, 2)))
small = np.asarray(picture.resize((2, 2)))
print(small.shape, small.dtype, small.tolist(), small.flags.writeable)
back = np.array(picture.convert("L"))
back[0] = 0
print(back, hashlib.sha256(back).hexdigest()[:12])
