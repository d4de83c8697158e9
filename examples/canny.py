"""The demo: one NumPy program, run by NumPy and by AsNumpy.

usage: canny.py [--images N] [--out DIR] [--quick]

A batch of 1024 x 1024 photographs (those that scikit-image ships) goes through
examples/canny_pipeline.py under both libraries. The edges must be the same; pictures go to DIR (input,
equalised, edges side by side) and a table of speeds to the screen, then matrix products and additions.
"""

import argparse
import importlib.util
import pathlib
import statistics
import sys
import time

import asnumpy
import numpy
from PIL import Image
from tqdm import tqdm

HERE = pathlib.Path(__file__).resolve().parent
PHOTOS = ["astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg", "retina.jpg",
          "hubble_deep_field.jpg", "motorcycle_left.png", "ihc.png"]  # fmt: skip
SIDE = 1024


def load_pipeline(library):
    """canny_pipeline.py with its one NumPy import changed to `library`."""
    source = (HERE / "canny_pipeline.py").read_text()
    source = source.replace("import numpy as np", f"import {library} as np", 1)
    spec = importlib.util.spec_from_loader(f"canny_{library}", loader=None)
    module = importlib.util.module_from_spec(spec)
    exec(compile(source, f"canny_pipeline.py under {library}", "exec"), module.__dict__)
    return module


def load_photo(name):
    """A shipped photograph, scaled so that its short side is SIDE and cut to a square: (SIDE, SIDE, 3) uint8."""
    folder = pathlib.Path(importlib.util.find_spec("skimage").origin).parent / "data"
    image = Image.open(folder / name).convert("RGB")
    scale = SIDE / min(image.size)
    image = image.resize(
        [max(SIDE, round(s * scale)) for s in image.size], Image.Resampling.BICUBIC
    )
    left, top = (image.width - SIDE) // 2, (image.height - SIDE) // 2
    return numpy.asarray(image.crop((left, top, left + SIDE, top + SIDE)))


def median_times(functions, repeats, bar, pause=0.0):
    """Median seconds of each function; calls are interleaved so that both meet the same machine.

    `pause` seconds before each: the other library's BLAS threads spin for a while after a product.
    """
    times = [[] for _ in functions]
    for _ in range(repeats):
        for i, function in enumerate(functions):
            time.sleep(pause)
            start = time.perf_counter()
            function()
            times[i].append(time.perf_counter() - start)
            bar.update()
    return [statistics.median(t) for t in times]


def save_triptych(path, photo, equalized, edges):
    """Input, equalised image and edges, side by side, as PNG."""
    middle = (numpy.clip(equalized, 0, 1) * 255).astype(numpy.uint8)
    right = numpy.zeros_like(photo)
    right[2:-2, 2:-2] = edges[..., None] * numpy.uint8(255)
    Image.fromarray(numpy.concatenate([photo, middle, right], axis=1)).save(path)


def run_images(photos, out, repeats, bar):
    """Seconds an image under each library, after checking that both agree."""
    ours, theirs = load_pipeline("asnumpy"), load_pipeline("numpy")
    pairs = [0.0, 0.0]
    for name, photo in photos:

        def with_asnumpy(photo=photo):
            equalized, edges = ours.run(photo)
            asnumpy.synchronize()
            return equalized, edges

        equalized, edges = (a.to_numpy() for a in with_asnumpy())
        expected_image, expected_edges = theirs.run(photo)
        if not numpy.array_equal(edges, expected_edges):
            different = int((edges != expected_edges).sum())
            sys.exit(f"{name}: {different} of {edges.size} edge pixels differ from NumPy's")
        numpy.testing.assert_array_equal(equalized, expected_image)
        save_triptych(out / f"{pathlib.Path(name).stem}.png", photo, equalized, edges)
        times = median_times([with_asnumpy, lambda photo=photo: theirs.run(photo)], repeats, bar)
        pairs = [p + t for p, t in zip(pairs, times, strict=True)]
    return [t / len(photos) for t in pairs]


def compare(label, make, operate, repeats, bar, pause=0.0):
    """One row of the table: seconds under each library for operate(library, *arrays)."""
    host = make()
    device = [asnumpy.array(a) for a in host]

    def ours():
        result = operate(asnumpy, *device)
        asnumpy.synchronize()
        return result

    got = ours()
    expected = operate(numpy, *host)
    if expected.dtype.kind == "f":
        scale = float(numpy.abs(expected).max())
        numpy.testing.assert_allclose(got.to_numpy(), expected, rtol=1e-4, atol=1e-5 * scale)
    else:
        numpy.testing.assert_array_equal(got.to_numpy(), expected)
    return (label, *median_times([ours, lambda: operate(numpy, *host)], repeats, bar, pause))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=len(PHOTOS))
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("demo-output"))
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    repeats = 2 if args.quick else 5
    sizes = (1024, 2048, 4096)
    cubes = ((100, 100, 100), (1000, 100, 100), (1000, 1000, 100))
    names = PHOTOS[: args.images]
    random = numpy.random.default_rng(0)
    rows = []
    steps = 2 * repeats * (len(names) + len(sizes) + len(cubes))
    with tqdm(total=steps, desc="demo", unit="run", dynamic_ncols=True) as bar:
        photos = [(name, load_photo(name)) for name in names]
        seconds = run_images(photos, args.out, repeats, bar)
        for n in sizes:
            rows.append(compare(
                f"matmul {n} x {n} float32",
                lambda n=n: [random.random((n, n), dtype=numpy.float32) for _ in range(2)],
                lambda np, a, b: np.matmul(a, b), repeats, bar, 0.2))  # fmt: skip
        for shape in cubes:
            rows.append(compare(
                f"add int32 {shape}",
                lambda shape=shape: [random.integers(-1000, 1000, shape, dtype=numpy.int32)
                                     for _ in range(2)],
                lambda np, a, b: np.add(a, b), repeats, bar))  # fmt: skip
    print(
        f"\nsame edges and images, bit for bit, on {len(names)} photographs; pictures in {args.out}/"
    )
    print(f"{'':34s}{'AsNumpy':>12s}{'NumPy':>12s}{'ratio':>9s}")
    ours, theirs = seconds
    label = "image pipeline, images / s"
    print(f"{label:34s}{1 / ours:12.1f}{1 / theirs:12.1f}{theirs / ours:8.1f}x")
    for label, ours, theirs in rows:
        print(f"{label:34s}{ours * 1e3:9.2f} ms{theirs * 1e3:9.2f} ms{theirs / ours:8.1f}x")


if __name__ == "__main__":
    main()
