"""Speeds against NumPy: ratios measured side by side in one run.

usage: run.py [--group overhead|calls|fusion|elementwise|reduction|pipeline|import] [--repeats N] [--json FILE]

Each row times AsNumpy and NumPy on the same random inputs, their samples interleaved; the figure is the
median of at least 20 samples. A sample is kept when a short fixed loop before and after it runs near its
best speed (neighbours on a shared machine slow it down for seconds at a time); the table says how many
were kept. A ratio below 1 is faster than NumPy. Rows with a bar say whether it is met; the exit status is
1 when one is not.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

import asnumpy
import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = pathlib.Path(__file__).resolve().parent
clock = time.perf_counter


class Gate:
    """Tells whether the machine runs at full speed, by a fixed loop of about 50 us."""

    def __init__(self):
        self.best = min(self.probe() for _ in range(200))

    @staticmethod
    def probe():
        start = clock()
        total = 0
        for i in range(1000):
            total += i
        return clock() - start

    def quiet(self):
        return self.probe() < 1.25 * self.best


class Bench:
    """Collects rows: (group, label, our seconds, NumPy's seconds, samples kept, bar)."""

    def __init__(self, repeats):
        self.repeats = repeats
        self.gate = Gate()
        self.pause = 0.0  # before a sample; the other library's threads may spin for a while after their work
        self.rows = []

    def sample(self, function, number):
        """Seconds a call, or None when the machine was disturbed."""
        time.sleep(self.pause)
        before = self.gate.quiet()
        start = clock()
        for _ in range(number):
            function()
        seconds = (clock() - start) / number
        return seconds if before and self.gate.quiet() else None

    def compare(self, group, label, ours, theirs, bar=None):
        """Times two callables alternately; each call must leave finished values."""
        number = max(1, min(2000, int(2e-3 / max(self.once(theirs), 1e-8))))
        self.once(ours)
        kept = ([], [])
        tries = 0
        while min(map(len, kept)) < self.repeats and tries < 6 * self.repeats:
            tries += 1
            for times, function in zip(kept, (ours, theirs), strict=True):
                seconds = self.sample(function, number)
                if seconds is not None:
                    times.append(seconds)
        if not all(kept):  # never quiet: better a noisy figure than none; 0 kept says so
            medians = [
                statistics.median(self.once(f) for _ in range(self.repeats)) for f in (ours, theirs)
            ]
            self.add(group, label, *medians, 0, bar)
            return
        self.add(
            group,
            label,
            statistics.median(kept[0]),
            statistics.median(kept[1]),
            min(map(len, kept)),
            bar,
        )

    @staticmethod
    def once(function):
        start = clock()
        function()
        return clock() - start

    def add(self, group, label, ours, theirs, kept, bar):
        self.rows.append({
            "group": group, "label": label, "asnumpy_s": ours, "numpy_s": theirs, "ratio": ours / theirs,
            "kept": kept, "bar": bar, "met": None if bar is None else ours / theirs <= bar,
        })  # fmt: skip
        verdict = (
            "" if bar is None else f"  bar {bar:5.2f} {'met' if self.rows[-1]['met'] else 'MISSED'}"
        )
        print(
            f"{group:12s}{label:34s}{human(ours)}{human(theirs)}{ours / theirs:8.2f} ({kept:3d} kept){verdict}",
            flush=True,
        )


def human(seconds):
    for unit, scale in (("s ", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:9.2f} {unit}"
    return f"{seconds * 1e9:9.1f} ns"


def pair(*arrays):
    """The same data for both libraries."""
    return [asnumpy.array(a) for a in arrays], list(arrays)


def both(bench, group, label, operate, arrays, bar=None):
    device, host = pair(*arrays)

    def ours():
        result = operate(asnumpy, *device)
        asnumpy.synchronize()
        return result

    bench.compare(group, label, ours, lambda: operate(numpy, *host), bar)


def overhead(bench):
    """Single operations on ten elements: the call is everything."""
    r = numpy.random.default_rng(0)
    a, b = r.random(10), r.random(10)
    rows = [
        ("a + b", lambda np, a, b: a + b, 0.35),
        ("a + 1.0", lambda np, a, b: a + 1.0, 0.25),
        ("np.sin(a)", lambda np, a, b: np.sin(a), 0.4),
        ("a.sum()", lambda np, a, b: a.sum(), 0.3),
        ("np.sum(a)", lambda np, a, b: np.sum(a), 0.3),
        ("a.mean()", lambda np, a, b: a.mean(), 0.15),
        ("np.std(a)", lambda np, a, b: np.std(a), 0.15),
        ("a[1:]", lambda np, a, b: a[1:], 0.8),
        ("a[5]", lambda np, a, b: a[5], 0.8),
        (
            "ten-operation chain",
            lambda np, a, b: (((((a + b) * a - b) * a + b) * a - b) * a + b) * a,
            0.25,
        ),
    ]
    device, host = pair(a, b)
    for label, f, bar in rows:
        bench.compare(
            "overhead", label, lambda f=f: f(asnumpy, *device), lambda f=f: f(numpy, *host), bar
        )


def fusion(bench):
    """Expressions over large arrays."""
    r = numpy.random.default_rng(0)
    for n in (100_000, 1_000_000, 10_000_000):
        a, b, c, d = (r.random(n) for _ in range(4))
        both(bench, "fusion", f"2*a + 3*b - a*b, {n:.0e} f64", lambda np, a, b: 2 * a + 3 * b - a * b, [a, b],
             0.25 if n == 10_000_000 else None)  # fmt: skip
        both(
            bench,
            "fusion",
            f"(a*b + c)*d - a, {n:.0e} f64",
            lambda np, a, b, c, d: (a * b + c) * d - a,
            [a, b, c, d],
        )
        both(
            bench,
            "fusion",
            f"sum((a-b)**2), {n:.0e} f64",
            lambda np, a, b: np.sum((a - b) ** 2),
            [a, b],
        )
    grid = r.random((1024, 1024))
    both(bench, "fusion", "five-point Jacobi, 1024^2 f64",
         lambda np, g: 0.25 * (g[:-2, 1:-1] + g[2:, 1:-1] + g[1:-1, :-2] + g[1:-1, 2:]), [grid])  # fmt: skip


def elementwise(bench):
    """One operation over a million elements."""
    r = numpy.random.default_rng(0)
    a, b = r.random(1_000_000), r.random(1_000_000)
    mask = r.random(1_000_000) > 0.5
    both(bench, "elementwise", "a + b, 1e6 f64", lambda np, a, b: a + b, [a, b])
    both(bench, "elementwise", "sqrt(a), 1e6 f64", lambda np, a: np.sqrt(a), [a])
    both(bench, "elementwise", "exp(a), 1e6 f64", lambda np, a: np.exp(a), [a])
    both(
        bench,
        "elementwise",
        "where(m, a, b), 1e6 f64",
        lambda np, m, a, b: np.where(m, a, b),
        [mask, a, b],
    )
    both(bench, "elementwise", "a[m], 1e6 f64", lambda np, m, a: a[m], [mask, a])


def reduction(bench):
    """Reductions, scans, sorts, products."""
    r = numpy.random.default_rng(0)
    a = r.random(1_000_000)
    g = r.random((10_000, 1000))
    both(bench, "reduction", "sum, 1e6 f64", lambda np, a: np.sum(a), [a])
    both(bench, "reduction", "max, 1e6 f64", lambda np, a: np.max(a), [a])
    both(bench, "reduction", "var, 1e6 f64", lambda np, a: np.var(a), [a])
    both(bench, "reduction", "mean axis 0, (1e4, 1e3)", lambda np, g: np.mean(g, axis=0), [g])
    both(bench, "reduction", "mean axis 1, (1e4, 1e3)", lambda np, g: np.mean(g, axis=1), [g])
    both(bench, "reduction", "cumsum, 1e6 f64", lambda np, a: np.cumsum(a), [a])
    both(bench, "reduction", "sort, 1e6 f64", lambda np, a: np.sort(a), [a])
    m = r.random((512, 512), dtype=numpy.float32)
    bench.pause = 0.2  # until the BLAS threads of the other library stop spinning
    both(bench, "reduction", "matmul 512 f32", lambda np, a, b: np.matmul(a, b), [m, m.copy()])
    bench.pause = 0.0


def pipeline(bench):
    """The demo's photographs."""
    sys.path.insert(0, str(ROOT / "examples"))
    import canny

    ours, theirs = canny.load_pipeline("asnumpy"), canny.load_pipeline("numpy")
    repeats, bench.repeats = bench.repeats, 20
    for name in ("astronaut.png", "chelsea.png", "retina.jpg"):
        photo = canny.load_photo(name)

        def run(photo=photo):
            ours.run(photo)
            asnumpy.synchronize()

        bench.compare(
            "pipeline", f"Canny, {name}", run, lambda photo=photo: theirs.run(photo), 0.25
        )
    bench.repeats = repeats


def importing(bench):
    """A fresh interpreter with the import, less one without."""

    def start(statement):
        begin = clock()
        subprocess.run([sys.executable, "-c", statement], check=True)
        return clock() - begin

    times = {"pass": [], "import numpy": [], "import asnumpy": []}
    for _ in range(bench.repeats):
        for statement, samples in times.items():
            samples.append(start(statement))
    empty, theirs, ours = (statistics.median(s) for s in times.values())
    bench.add("import", "import asnumpy", ours - empty, theirs - empty, bench.repeats, 1.2)


# Expressions over a, b (float64), f (float32), i (int64), m (bool), k (indices), A (5 x 4),
# M (4 x 4), all small, and s, a float64 scalar.
CALLS = """
-a | a * 2 | a ** 2 | a > b | a + f | a + i | i / 2 | i // 3 | s + a | A + A[0] | np.sqrt(s)
np.maximum(a, b) | np.where(m, a, b) | np.clip(a, 0.0, 1.0) | np.add(a, b, out=b) | np.abs(a)
a.max() | a.argmax() | a.any() | m.sum() | i.sum() | np.var(a) | A.sum(axis=0) | np.median(a)
A[1, 2] | A[1] | a[m] | a[k] | a[::-1] | a.reshape(2, 5) | a.T | float(a[0]) | a[5] + 1 | a.tolist()
np.zeros(10) | np.empty(10) | np.arange(10) | np.full(10, 2.0) | np.array([1.0, 2.0, 3.0]) | a.copy()
a.astype(np.float32) | np.concatenate([a, b]) | np.stack([a, b]) | np.roll(a, 1) | np.tile(a, 2)
M @ M | np.dot(a, b) | np.outer(a, b) | np.linalg.norm(a) | np.einsum("i,i->", a, b)
np.nonzero(m) | np.sort(a) | a.argsort() | np.cumsum(a) | np.diff(a) | np.pad(a, 1) | np.unique(i)
np.interp(a, i, b) | np.convolve(a, b) | np.percentile(a, 30) | np.histogram(a) | np.gradient(a)
"""


def calls(bench):
    """What programs call most, on ten elements."""
    r = numpy.random.default_rng(1)
    host = {"a": r.random(10), "b": r.random(10), "i": numpy.arange(10) + 1, "A": r.random((5, 4)),
            "M": r.random((4, 4)), "m": r.random(10) > 0.5, "k": numpy.array([1, 3, 5])}  # fmt: skip
    host["f"] = host["a"].astype(numpy.float32)
    device = {name: asnumpy.array(x) for name, x in host.items()}
    both = ((device, asnumpy), (host, numpy))
    for text in CALLS.replace("\n", "|").split("|"):
        if text.strip():
            code = f"lambda: {text.strip()}"
            ours, theirs = (
                eval(code, {**names, "np": module, "s": numpy.float64(1.5)})
                for names, module in both
            )
            bench.compare("calls", text.strip(), ours, theirs, 1.0)


GROUPS = {"overhead": overhead, "calls": calls, "fusion": fusion, "elementwise": elementwise, "reduction": reduction,
          "pipeline": pipeline, "import": importing}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--group", choices=GROUPS)
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--json", type=pathlib.Path, default=HERE / "results" / "latest.json")
    args = parser.parse_args()
    bench = Bench(args.repeats)
    print(f"{'group':12s}{'what':34s}{'AsNumpy':>12s}{'NumPy':>12s}{'ratio':>8s}")
    for name, group in GROUPS.items():
        if args.group in (None, name):
            group(bench)
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps({"numpy": numpy.__version__, "rows": bench.rows}, indent=1))
    missed = [r["label"] for r in bench.rows if r["met"] is False]
    print(
        f"{len(bench.rows)} rows, bars missed: {', '.join(missed) or 'none'}; written to {args.json}"
    )
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
